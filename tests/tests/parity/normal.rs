//! What no two stores can share is made alike, so that their answers can be compared as texts.

use std::collections::BTreeMap;

use docket_core::model::QuestionId;

/// Makes texts of two stores alike: an id becomes its place among all that were seen, a time and a span become a letter.
#[derive(Default)]
pub(super) struct Normal(BTreeMap<String, usize>);

impl Normal {
    pub(super) fn text(&mut self, text: &str) -> String {
        let mut made = String::with_capacity(text.len());
        let mut rest = text;
        // Ids, times and numbers begin with one of these: whatever comes before is taken over in one go.
        while let Some(at) = rest.bytes().position(|byte| byte.is_ascii_hexdigit()) {
            made.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some(length) = id_length(rest) {
                let next = self.0.len();
                let number = *self.0.entry(rest[..length].to_owned()).or_insert(next);
                made.push('#');
                made.push_str(&number.to_string());
                rest = &rest[length..];
            } else if let Some(length) = time_length(rest) {
                made.push('T');
                rest = &rest[length..];
            } else if rest.starts_with(|c: char| c.is_ascii_digit()) {
                let length = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
                let is_span = made.ends_with("Ms\":") || made.ends_with("_ms\":") || made.ends_with("_ms: Some(");
                made.push_str(if length >= 12 || is_span { "N" } else { &rest[..length] });
                rest = &rest[length..];
            } else {
                made.push_str(&rest[..1]);
                rest = &rest[1..];
            }
        }
        made.push_str(rest);
        made
    }
}

/// How long an id is that a text begins with.
fn id_length(text: &str) -> Option<usize> {
    let has_hyphens = text.as_bytes().get(8) == Some(&b'-') && text.as_bytes().get(13) == Some(&b'-');
    if has_hyphens && text.get(..36).is_some_and(|id| uuid::Uuid::try_parse(id).is_ok()) {
        return Some(36);
    }
    (text.starts_with('0') && text.get(..26).is_some_and(|id| id.parse::<QuestionId>().is_ok())).then_some(26)
}

/// How long a time is that a text begins with.
fn time_length(text: &str) -> Option<usize> {
    let shape = b"0000-00-00T00:00:00";
    let bytes = text.as_bytes().get(..shape.len())?;
    let fits = bytes.iter().zip(shape).all(|(byte, wanted)| match wanted {
        b'0' => byte.is_ascii_digit(),
        other => byte == other,
    });
    fits.then(|| text.find('Z').map(|end| end + 1))?
}

#[test]
fn what_is_made_alike_is_what_two_stores_cannot_share() {
    let mut normal = Normal::default();
    let (one, two) = (uuid::Uuid::new_v4(), uuid::Uuid::new_v4());
    let text = format!("{one} 2026-01-02T03:04:05.678Z {two} {one} é 17 \"retryAfterMs\":900 Timestamp(1700000000000)");
    assert_eq!(normal.text(&text), "#0 T #1 #0 é 17 \"retryAfterMs\":N Timestamp(N)");
    let text = format!("bad{two} 01ARZ3NDEKTSV4RRFFQ69G5FAV deaf");
    assert_eq!(normal.text(&text), "bad#1 #2 deaf");
}
