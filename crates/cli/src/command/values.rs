//! Values of options: what several verbs parse alike. Meaning is the model's; here it is only spelled.

use std::io::Read;
use std::time::Duration;

use docket_core::model::{Fence, ItemRef, Name, Role, Tag, Text, Timestamp};
use docket_core::store::Order;
use docket_core::wire::{Fault, NAMES, from_value, look_over};
use docket_core::workflow::Workflow;
use docket_core::{Error, Invalid, Reason, echo, limits};

use crate::config::locate::Surroundings;
use crate::exit::Failure;
use crate::session::resolve;

/// Longest time that `--wait` may ask for.
const LONGEST_WAIT: Duration = Duration::from_hours(24);

/// An item as the caller spelled it.
pub(super) fn item(text: &str) -> Result<ItemRef, Failure> {
    text.parse().map_err(|invalid: Invalid| invalid.at("ITEM").into())
}

/// Several items.
pub(super) fn items(texts: &[String]) -> Result<Vec<ItemRef>, Failure> {
    texts.iter().map(|text| item(text)).collect()
}

/// A name, for the option that it was given with.
pub(super) fn name(text: &str, option: &str) -> Result<Name, Failure> {
    let name = Name::parse(text).map_err(|invalid| invalid.at(option))?;
    warn_of(name.as_str());
    Ok(name)
}

/// Names, for the option that they were given with.
pub(super) fn names(texts: &[String], option: &str) -> Result<Vec<Name>, Failure> {
    texts.iter().map(|text| name(text, option)).collect()
}

/// Tags.
pub(super) fn tags(texts: &[String]) -> Result<Vec<Tag>, Failure> {
    texts.iter().map(|text| Tag::parse(text).map_err(|invalid| invalid.at("--tags").into())).collect()
}

/// Tells of a name that looks like another: it is taken, for it may be meant.
fn warn_of(name: &str) {
    if docket_core::is_confusable(name) {
        let shown: String = name.chars().flat_map(char::escape_default).collect();
        crate::output::remark(&format!(
            "docket: warning: a word in \"{}\" mixes letters of two scripts that look alike: {}",
            echo(name),
            echo(&shown)
        ));
    }
}

/// A fence, as a claim gave it out.
pub(super) fn fence(number: Option<u64>) -> Option<Fence> {
    number.map(Fence)
}

/// A whole number of seconds, or of another unit: `90`, `90s`, `15m`, `2h`, `1d`.
pub(super) fn seconds(text: &str) -> Result<i64, Invalid> {
    let bad = || {
        Invalid::new(Reason::BadValue, format!("must be a time such as 90, 90s, 15m, 2h or 1d, not \"{}\"", echo(text)))
    };
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text.get(digits.len()..).unwrap_or_default() {
        "" | "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => return Err(bad()),
    };
    digits.parse::<i64>().ok().and_then(|number| number.checked_mul(unit)).ok_or_else(bad)
}

/// How long to wait.
pub(super) fn patience(text: Option<&str>) -> Result<Duration, Failure> {
    let Some(text) = text else { return Ok(Duration::ZERO) };
    let seconds = seconds(text).map_err(|invalid| invalid.at("--wait"))?;
    let wait = u64::try_from(seconds).map(Duration::from_secs).ok().filter(|wait| *wait <= LONGEST_WAIT);
    wait.ok_or_else(|| Error::validation(Reason::BadValue, "--wait must be from 0 to 1d").at("--wait").into())
}

/// A moment: a time with a zone, or how long ago.
pub(super) fn moment(text: &str, option: &str) -> Result<Timestamp, Failure> {
    if let Ok(moment) = text.parse() {
        return Ok(moment);
    }
    let ago = seconds(text).ok().filter(|ago| *ago >= 0).and_then(|ago| ago.checked_mul(1000)).ok_or_else(|| {
        Invalid::new(
            Reason::BadValue,
            format!("must be a time such as 2026-01-31T12:00:00Z, or how long ago, such as 2h, not \"{}\"", echo(text)),
        )
        .at(option)
    })?;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
    Ok(Timestamp::from_millis(now.saturating_sub(ago)))
}

/// Which way a list runs.
pub(super) fn order(text: &str) -> Result<Order, String> {
    match text.to_ascii_lowercase().as_str() {
        "asc" => Ok(Order::Asc),
        "desc" => Ok(Order::Desc),
        _ => Err("must be asc or desc".to_owned()),
    }
}

/// How many are shown at the most.
pub(super) fn limit(text: &str) -> Result<u16, String> {
    let known = text.parse().ok().filter(|number| (1..=limits::PAGE).contains(&usize::from(*number)));
    known.ok_or_else(|| format!("must be a whole number from 1 to {}", limits::PAGE))
}

/// A number; which ones there are is the model's to say.
pub(super) fn complexity(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| "must be a whole number from 1 to 10".to_owned())
}

/// How far a blocker must come.
pub(super) fn unblock_at(text: &str) -> Result<Role, String> {
    let known = text.parse().ok().filter(|role| *role != Role::Blocked);
    known.ok_or_else(|| "must be queue, work, review or terminal".to_owned())
}

/// A status of a workflow.
pub(super) fn status(workflow: &Workflow, text: &str) -> Result<Name, Failure> {
    let name = name(text, "status")?;
    if workflow.status(&name).is_some() {
        return Ok(name);
    }
    let message = format!("there is no status \"{}\"; there are: {}", echo(text), statuses(workflow));
    Err(Error::validation(Reason::UnknownValue, message).at("status").into())
}

/// The statuses of a workflow.
pub(super) fn statuses(workflow: &Workflow) -> String {
    workflow.statuses.iter().map(|status| status.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// A long text: as it is, out of a file, or from standard input where the file is `-`.
pub(super) fn text(
    around: &Surroundings,
    given: Option<&str>,
    file: Option<&str>,
    field: &str,
) -> Result<Option<Text>, Failure> {
    let text = match (given, file) {
        (Some("-"), None) | (None, Some("-")) => read(std::io::stdin().lock(), "standard input")?,
        (Some(text), _) => text.to_owned(),
        (None, Some(path)) => {
            let path = resolve(around, path);
            let shown = path.display().to_string();
            let file = std::fs::File::open(&path)
                .map_err(|error| Failure::environment(format!("{shown}: cannot be read: {error}")))?;
            read(file, &shown)?
        }
        (None, None) => return Ok(None),
    };
    Text::parse(&text).map(Some).map_err(|invalid| invalid.at(field).into())
}

/// A request as JSON, out of a file or from standard input where it is `-`. It is read as strictly as over the network.
pub(super) fn json<T: serde::de::DeserializeOwned>(
    around: &Surroundings,
    file: &str,
    option: &str,
) -> Result<T, Failure> {
    let text = text(around, None, Some(file), option)?;
    let text = text.as_ref().map(Text::as_str).unwrap_or_default();
    let bad = |reason, message: String| Failure::from(Error::validation(reason, message).at(option));
    look_over(text.as_bytes()).map_err(|fault| match fault {
        Fault::NotJson => bad(Reason::BadJson, format!("{option} is not JSON")),
        Fault::Twice(name) => bad(Reason::Duplicate, format!("\"{}\" stands twice in one object", echo(&name))),
        Fault::TooMany => bad(Reason::TooMany, format!("{option} has more than {NAMES} names")),
    })?;
    let value = serde_json::from_str(text).map_err(|_| bad(Reason::BadJson, format!("{option} is not JSON")))?;
    Ok(from_value(value)?)
}

/// Reads no more than a text may hold, and one byte to know that there is more.
fn read(source: impl Read, shown: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    source
        .take(limits::TEXT_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::environment(format!("{shown}: cannot be read: {error}")))?;
    let cut = bytes.len() > limits::TEXT_BYTES;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        // What was cut off may be the rest of a character: that it is too long is said in any case.
        Err(error) if cut => Ok(String::from_utf8_lossy(error.as_bytes()).into_owned()),
        Err(_) => Err(Failure::bad_utf8(format!("{shown} is not UTF-8 text"))),
    }
}

#[cfg(test)]
mod tests {
    use super::{moment, seconds};

    #[test]
    fn times_have_units() {
        for (text, length) in
            [("0", 0), ("90", 90), ("90s", 90), ("15m", 900), ("2h", 7200), ("1d", 86_400), ("-1", -1)]
        {
            assert_eq!(seconds(text).expect(text), length, "{text}");
        }
        for text in
            ["", "s", "1w", "0.5", "1e18", "९", "1 h", "99999999999999999999", "9223372036854775807d", "+", "1hh"]
        {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_moment_has_a_zone_or_lies_in_the_past() {
        assert_eq!(moment("2026-01-31T12:00:00Z", "--since").expect("a time").to_string(), "2026-01-31T12:00:00.000Z");
        assert!(moment("2h", "--since").expect("a time") < moment("1h", "--since").expect("a time"));
        for text in ["2026-01-31T12:00:00", "yesterday", "-2h", ""] {
            assert!(moment(text, "--since").is_err(), "{text}");
        }
    }
}
