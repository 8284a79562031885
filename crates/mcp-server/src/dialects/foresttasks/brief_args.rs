//! Briefs in arguments: six sections, whole or in part.

use docket_core::command::{BriefText, Change, NewCriterion};
use docket_core::model::{Authority, CriterionId, Text};
use docket_core::{Error, Reason};
use serde_json::Value;

use crate::input::{Fields, Given, wrong_type};

/// What a brief is made of.
pub(super) const SECTIONS: &[&str] =
    &["objective", "context", "acceptanceCriteria", "constraints", "verification", "handoffExpectations"];
const CRITERION: &[&str] = &["id", "text", "verifier", "hard", "instructions"];

/// The brief that takes the place of what was there: `null` is an empty one.
pub(super) fn brief(fields: &mut Fields) -> Result<BriefText, Error> {
    match fields.given("brief") {
        Given::Absent => Err(fields.missing("brief")),
        Given::Null => Ok(BriefText::default()),
        Given::Value(value) => sections("brief", value),
    }
}

/// What is merged into a brief: at least one section.
pub(super) fn patch(fields: &mut Fields) -> Result<BriefText, Error> {
    let value = fields.value("patch").ok_or_else(|| fields.missing("patch"))?;
    let patch = sections("patch", value)?;
    if patch.is_empty() {
        let message = format!("patch must name at least one section of {}", SECTIONS.join(", "));
        return Err(Error::validation(Reason::TooFew, message).at("patch"));
    }
    Ok(patch)
}

fn sections(path: &str, value: Value) -> Result<BriefText, Error> {
    let mut read = Fields::inside(path, value, SECTIONS)?;
    Ok(BriefText {
        objective: read.change("objective", Text::parse)?,
        context: read.change("context", Text::parse)?,
        acceptance_criteria: lines(&mut read, "acceptanceCriteria", criterion)?,
        constraints: lines(&mut read, "constraints", line)?,
        verification: read.change("verification", Text::parse)?,
        handoff_expectations: read.change("handoffExpectations", Text::parse)?,
    })
}

fn lines<T>(
    read: &mut Fields,
    name: &str,
    parse: impl Fn(&str, Value) -> Result<T, Error>,
) -> Result<Change<Vec<T>>, Error> {
    let path = read.at(name);
    match read.given(name) {
        Given::Absent => Ok(Change::Keep),
        Given::Null => Ok(Change::Clear),
        Given::Value(Value::Array(list)) => {
            let entries = list.into_iter().enumerate().map(|(index, value)| parse(&format!("{path}[{index}]"), value));
            Ok(Change::Set(entries.collect::<Result<_, _>>()?))
        }
        Given::Value(other) => Err(wrong_type(&path, "an array or null", &other)),
    }
}

fn line(path: &str, value: Value) -> Result<Text, Error> {
    match value {
        Value::String(text) => Text::parse(&text).map_err(|invalid| invalid.at(path).into()),
        other => Err(wrong_type(path, "a string", &other)),
    }
}

/// A line alone, or a line with what is said about it.
fn criterion(path: &str, value: Value) -> Result<NewCriterion, Error> {
    if let Value::String(_) = value {
        return line(path, value).map(NewCriterion::saying);
    }
    let mut read = Fields::inside(path, value, CRITERION)?;
    Ok(NewCriterion {
        id: read.parsed("id", str::parse::<CriterionId>)?,
        text: read.need("text", Text::parse)?,
        verifier: read.parsed("verifier", str::parse::<Authority>)?,
        hard: read.flag("hard")?,
        instructions: read.change("instructions", Text::parse)?,
    })
}
