//! Reads that say only what changed since an earlier one. The token that stands for the earlier read holds everything that
//! is needed to tell: no server remembers anything, so it is good after a restart and on another replica.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::error::{Error, Reason};

/// What tokens mean; those of another version are taken for none.
const VERSION: u8 = 2;
/// How much of a section's digest is kept.
const MARK_BYTES: usize = 6;

/// A part of a read that is sent or left out as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are those in the answer")]
pub enum Section {
    Guard,
    Task,
    Parent,
    Brief,
    Verdict,
    Question,
    Links,
    Relations,
    Activity,
    Subtasks,
    Comments,
    Notes,
    Raw,
    Rows,
    Checks,
}

impl Section {
    /// All of them, in the order of their bits.
    pub const ALL: [Self; 15] = [
        Self::Guard,
        Self::Task,
        Self::Parent,
        Self::Brief,
        Self::Verdict,
        Self::Question,
        Self::Links,
        Self::Relations,
        Self::Activity,
        Self::Subtasks,
        Self::Comments,
        Self::Notes,
        Self::Raw,
        Self::Rows,
        Self::Checks,
    ];

    /// The section as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Guard => "guard",
            Self::Task => "task",
            Self::Parent => "parent",
            Self::Brief => "brief",
            Self::Verdict => "verdict",
            Self::Question => "question",
            Self::Links => "links",
            Self::Relations => "relations",
            Self::Activity => "activity",
            Self::Subtasks => "subtasks",
            Self::Comments => "comments",
            Self::Notes => "notes",
            Self::Raw => "raw",
            Self::Rows => "rows",
            Self::Checks => "checks",
        }
    }

    fn bit(self) -> u16 {
        1 << (self as u16)
    }
}

/// What is to be sent of a read.
#[derive(Clone, Debug, PartialEq)]
pub struct Delta {
    /// Stands for this read.
    pub token: String,
    /// Whether it is told against an earlier read; otherwise everything is sent.
    pub since: bool,
    /// The sections that differ from the earlier read, those that are gone included.
    pub changed: Vec<Section>,
    /// The sections to send: all, or those that differ. One that is gone is null.
    pub sections: BTreeMap<Section, Value>,
}

impl Delta {
    /// Compares a read with the one that a token stands for. `subject` is what is read: a token of another subject finds
    /// everything changed. `asked` are the sections that were asked for, there or not.
    pub fn new(
        subject: &str,
        asked: &[Section],
        sections: BTreeMap<Section, Value>,
        since: Option<&str>,
    ) -> Result<Self, Error> {
        let marks: BTreeMap<Section, Vec<u8>> =
            sections.iter().map(|(section, value)| (*section, mark(subject, *section, value))).collect();
        let token = seal(&marks);
        let Some(before) = since.map(open).transpose()?.flatten() else {
            return Ok(Self { token, since: false, changed: Vec::new(), sections });
        };
        let mut changed = Vec::new();
        let mut sent = BTreeMap::new();
        for section in Section::ALL {
            match (sections.get(&section), before.get(&section)) {
                (Some(value), known) if known != marks.get(&section) => {
                    changed.push(section);
                    sent.insert(section, value.clone());
                }
                (None, Some(_)) if asked.contains(&section) => {
                    changed.push(section);
                    sent.insert(section, Value::Null);
                }
                (Some(_) | None, _) => {}
            }
        }
        Ok(Self { token, since: true, changed, sections: sent })
    }

    /// Whether nothing differs from the earlier read.
    pub fn is_unchanged(&self) -> bool {
        self.since && self.changed.is_empty()
    }
}

fn mark(subject: &str, section: Section, value: &Value) -> Vec<u8> {
    let mut digest = Sha256::new();
    digest.update(subject.as_bytes());
    digest.update([0, section as u8]);
    digest.update(value.to_string().as_bytes());
    digest.finalize().into_iter().take(MARK_BYTES).collect()
}

fn seal(marks: &BTreeMap<Section, Vec<u8>>) -> String {
    let present = marks.keys().fold(0, |all, section| all | section.bit());
    let mut bytes = vec![VERSION];
    bytes.extend(present.to_be_bytes());
    bytes.extend(marks.values().flatten());
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// What a token says of each section of its read; nothing where it is of another version of this program.
fn open(token: &str) -> Result<Option<BTreeMap<Section, Vec<u8>>>, Error> {
    let bad = || {
        let message = "is no token that a read ended with: hand it back as it was given, or read without one";
        Error::validation(Reason::BadCursor, message).at("since")
    };
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(token).map_err(|_| bad())?;
    let (version, rest) = bytes.split_first().ok_or_else(bad)?;
    if *version != VERSION {
        return Ok(None);
    }
    let (present, marks) = rest.split_first_chunk::<2>().ok_or_else(bad)?;
    let present = u16::from_be_bytes(*present);
    let there: Vec<Section> = Section::ALL.into_iter().filter(|section| present & section.bit() != 0).collect();
    if marks.len() != there.len() * MARK_BYTES {
        return Err(bad());
    }
    Ok(Some(there.into_iter().zip(marks.chunks(MARK_BYTES).map(<[u8]>::to_vec)).collect()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(pairs: &[(Section, Value)]) -> BTreeMap<Section, Value> {
        pairs.iter().cloned().collect()
    }

    const ASKED: [Section; 3] = [Section::Guard, Section::Brief, Section::Question];

    #[test]
    fn what_is_the_same_is_unchanged_and_what_differs_is_sent() {
        let first = read(&[(Section::Guard, json!({ "a": 1 })), (Section::Brief, json!("b"))]);
        let full = Delta::new("x", &ASKED, first.clone(), None).expect("a read");
        assert!(!full.since && !full.is_unchanged() && full.sections == first);
        let same = Delta::new("x", &ASKED, first.clone(), Some(&full.token)).expect("a read");
        assert!(same.is_unchanged() && same.sections.is_empty() && same.token == full.token);
        let second = read(&[(Section::Guard, json!({ "a": 2 })), (Section::Question, json!("q"))]);
        let delta = Delta::new("x", &ASKED, second, Some(&full.token)).expect("a read");
        assert_eq!(delta.changed, [Section::Guard, Section::Brief, Section::Question]);
        assert_eq!(delta.sections[&Section::Brief], Value::Null, "it is gone");
    }

    #[test]
    fn a_token_of_something_else_finds_everything_changed() {
        let first = read(&[(Section::Guard, json!(1))]);
        let token = Delta::new("x", &ASKED, first.clone(), None).expect("a read").token;
        let other = Delta::new("y", &ASKED, first.clone(), Some(&token)).expect("a read");
        assert_eq!(other.changed, [Section::Guard]);
        // A section that was not asked for this time is not gone.
        let brief = read(&[(Section::Guard, json!(1)), (Section::Brief, json!(2))]);
        let token = Delta::new("x", &ASKED, brief, None).expect("a read").token;
        assert!(Delta::new("x", &[Section::Guard], first, Some(&token)).expect("a read").is_unchanged());
    }

    #[test]
    fn what_was_made_up_is_refused_and_another_version_is_none() {
        let first = read(&[(Section::Guard, json!(1))]);
        for made_up in ["", "!", "Ag", "AgAB", "AgABAAAA"] {
            let refused = Delta::new("x", &ASKED, first.clone(), Some(made_up)).expect_err(made_up);
            assert_eq!((refused.reason, refused.field.as_deref()), (Reason::BadCursor, Some("since")));
        }
        assert!(!Delta::new("x", &ASKED, first, Some("AQAB")).expect("a read").since);
    }
}
