//! Items and contracts in arguments: the fields of a new item, those of a change, and a brief.

use docket_core::command::{BriefText, Change, Learning, NewCriterion, NewItem, NewLink, Patch, Proof};
use docket_core::model::{Authority, Complexity, CriterionId, Fence, ItemRef, Name, Priority, Tag, Text, Title, Url};
use docket_core::{Error, Invalid, Reason};
use serde_json::Value;

use crate::args::{fence, long_text, moment, name, tag};
use crate::input::{Fields, Given, wrong_type};

/// The fields that a new item and a change share.
macro_rules! item_fields {
    ($($more:literal),*) => {
        &[
            "title", "intent", "description", "summary", "type", "label", "priority", "complexity", "tags", "traits",
            "dueAt", "estimateMinutes", "position", "attention", "touches", "needs", "capabilities", "metadata",
            "properties", "requiresVerification" $(, $more)*
        ]
    };
}

/// Fields of an item of `plan`.
pub(super) const NEW: &[&str] = item_fields!["ref", "parent", "status", "brief", "notes", "blockedBy", "children"];
/// Fields of a change that is for several items.
pub(super) const PATCH: &[&str] = item_fields!["parent"];
/// Fields of a change of one item.
pub(super) const OWN_PATCH: &[&str] = item_fields!["id", "parent", "fence", "version"];
const BRIEF: &[&str] =
    &["objective", "context", "acceptanceCriteria", "constraints", "verification", "handoffExpectations"];
const CRITERION: &[&str] = &["id", "text", "verifier", "hard", "instructions"];
const PROOF: &[&str] = &["id", "passed", "note"];
const LEARNED: &[&str] = &["title", "body", "tags"];
const LINK: &[&str] = &["kind", "ref", "url", "title"];

/// A new item, its place in the tree aside.
pub(super) fn new_item(fields: &mut Fields) -> Result<NewItem, Error> {
    let title = fields.need("title", Title::parse)?;
    let brief = match fields.value("brief") {
        None => None,
        Some(value) => Some(brief(&fields.at("brief"), value)?),
    };
    Ok(NewItem {
        intent: fields.free("intent", long_text)?,
        description: fields.free("description", long_text)?,
        summary: fields.free("summary", docket_core::model::Summary::parse)?,
        status: fields.parsed("status", name)?,
        status_label: fields.free("label", name)?,
        priority: fields.parsed("priority", str::parse::<Priority>)?.unwrap_or_default(),
        complexity: number(fields, "complexity", Complexity::parse)?,
        item_type: fields.parsed("type", name)?,
        tags: fields.texts("tags", tag)?.unwrap_or_default(),
        traits: fields.texts("traits", name)?.unwrap_or_default(),
        metadata: fields.free("metadata", long_text)?,
        properties: fields.free("properties", long_text)?,
        requires_verification: fields.flag("requiresVerification")?.unwrap_or(false),
        attention: fields.free("attention", long_text)?,
        due_at: fields.parsed("dueAt", moment)?,
        estimate_minutes: number(fields, "estimateMinutes", minutes)?,
        position: number(fields, "position", place)?,
        touches: fields.texts("touches", name)?.unwrap_or_default(),
        needs: fields.texts("needs", name)?.unwrap_or_default(),
        required_capabilities: fields.texts("capabilities", name)?.unwrap_or_default(),
        brief,
        ..NewItem::titled(title)
    })
}

/// A change of an item. What is absent stays; `null` clears what can be empty.
pub(super) fn patch(fields: &mut Fields, item: ItemRef) -> Result<Patch, Error> {
    Ok(Patch {
        title: fields.parsed("title", Title::parse)?,
        intent: fields.change_free("intent", long_text)?,
        description: fields.change_free("description", long_text)?,
        summary: fields.free("summary", docket_core::model::Summary::parse)?,
        status_label: fields.change("label", name)?,
        priority: fields.parsed("priority", str::parse::<Priority>)?,
        complexity: change_number(fields, "complexity", Complexity::parse)?,
        parent: fields.change("parent", str::parse::<ItemRef>)?,
        item_type: fields.change("type", name)?,
        tags: list(fields, "tags", tag)?,
        traits: list(fields, "traits", name)?,
        metadata: fields.change_free("metadata", long_text)?,
        properties: fields.change_free("properties", long_text)?,
        requires_verification: fields.flag("requiresVerification")?,
        attention: fields.change_free("attention", long_text)?,
        due_at: fields.change("dueAt", moment)?,
        estimate_minutes: change_number(fields, "estimateMinutes", minutes)?,
        position: change_number(fields, "position", place)?,
        touches: list(fields, "touches", name)?,
        needs: list(fields, "needs", name)?,
        required_capabilities: list(fields, "capabilities", name)?,
        ..Patch::of(item)
    })
}

/// The same for one item, which may say what it was when it was read and under which claim it is written.
pub(super) fn own_patch(fields: &mut Fields) -> Result<Patch, Error> {
    let item = fields.need("id", str::parse::<ItemRef>)?;
    let (fence, expected_version) = (fence(fields)?, version(fields)?);
    Ok(Patch { fence, expected_version, ..patch(fields, item)? })
}

/// The version that an item must still have.
pub(super) fn version(fields: &mut Fields) -> Result<Option<u64>, Error> {
    number(fields, "version", |version| {
        u64::try_from(version).map_err(|_| Invalid::new(Reason::BadValue, "must not be negative"))
    })
}

/// What is written of a brief.
pub(super) fn brief(path: &str, value: Value) -> Result<BriefText, Error> {
    let mut fields = Fields::inside(path, value, BRIEF)?;
    let criteria = match fields.given("acceptanceCriteria") {
        Given::Absent => Change::Keep,
        Given::Null => Change::Clear,
        Given::Value(Value::Array(list)) => {
            let at = fields.at("acceptanceCriteria");
            let lines = list.into_iter().enumerate().map(|(index, line)| criterion(&format!("{at}[{index}]"), line));
            Change::Set(lines.collect::<Result<_, Error>>()?)
        }
        Given::Value(other) => return Err(wrong_type(&fields.at("acceptanceCriteria"), "an array", &other)),
    };
    let constraints = match fields.given("constraints") {
        Given::Absent => Change::Keep,
        Given::Null => Change::Clear,
        Given::Value(value) => {
            fields.put("constraints", value);
            Change::Set(fields.texts("constraints", long_text)?.unwrap_or_default())
        }
    };
    Ok(BriefText {
        objective: fields.change_free("objective", long_text)?,
        context: fields.change_free("context", long_text)?,
        acceptance_criteria: criteria,
        constraints,
        verification: fields.change_free("verification", long_text)?,
        handoff_expectations: fields.change_free("handoffExpectations", long_text)?,
    })
}

/// A criterion: a line of text, or an object.
fn criterion(path: &str, value: Value) -> Result<NewCriterion, Error> {
    if let Value::String(line) = &value {
        let text = Text::parse(line).map_err(|invalid| Error::from(invalid.at(path)))?;
        return Ok(NewCriterion::saying(text));
    }
    let mut fields = Fields::inside(path, value, CRITERION)?;
    Ok(NewCriterion {
        id: fields.parsed("id", str::parse::<CriterionId>)?,
        text: fields.need("text", long_text)?,
        verifier: fields.parsed("verifier", str::parse::<Authority>)?,
        hard: fields.flag("hard")?,
        instructions: fields.change_free("instructions", long_text)?,
    })
}

/// What was found of criteria, under `verify`.
pub(super) fn proofs(fields: &mut Fields) -> Result<Vec<Proof>, Error> {
    let list = fields.list("verify")?.unwrap_or_default();
    let read = |(index, value): (usize, Value)| {
        let mut proof = Fields::inside(&format!("verify[{index}]"), value, PROOF)?;
        Ok(Proof {
            criterion: proof.need("id", str::parse::<CriterionId>)?,
            passed: proof.flag("passed")?.ok_or_else(|| proof.missing("passed"))?,
            note: proof.free("note", long_text)?,
        })
    };
    list.into_iter().enumerate().map(read).collect()
}

/// The same error, with the names that evidence has here.
pub(super) fn of_proofs(error: Error) -> Error {
    let field = error.field.as_deref().and_then(|field| field.strip_prefix("criteria["));
    let Some((index, rest)) = field.and_then(|field| field.split_once(']')) else { return error };
    let field = format!("verify[{index}]{}", if rest.is_empty() { ".id" } else { rest });
    Error { field: Some(field), ..error }
}

/// What was learned, under `learned`.
pub(super) fn learnings(fields: &mut Fields) -> Result<Vec<Learning>, Error> {
    let list = fields.list("learned")?.unwrap_or_default();
    let read = |(index, value): (usize, Value)| {
        let mut learned = Fields::inside(&format!("learned[{index}]"), value, LEARNED)?;
        Ok(Learning {
            title: learned.need("title", Title::parse)?,
            body: learned.need("body", long_text)?,
            tags: tags(&mut learned)?,
        })
    };
    list.into_iter().enumerate().map(read).collect()
}

/// Links to things outside, under `links`.
pub(super) fn links(fields: &mut Fields) -> Result<Vec<NewLink>, Error> {
    let list = fields.list("links")?.unwrap_or_default();
    let read = |(index, value): (usize, Value)| {
        let mut link = Fields::inside(&format!("links[{index}]"), value, LINK)?;
        Ok(NewLink {
            kind: link.need("kind", name)?,
            reference: link.need("ref", name)?,
            url: link.need("url", Url::parse)?,
            title: link.free("title", Title::parse)?,
        })
    };
    list.into_iter().enumerate().map(read).collect()
}

/// The fence of the caller's claim, as later writes carry it.
pub(super) fn own_fence(fields: &mut Fields) -> Result<Option<Fence>, Error> {
    fence(fields)
}

/// A whole number parsed into a type.
pub(super) fn number<T>(
    fields: &mut Fields,
    name: &str,
    parse: impl FnOnce(i64) -> Result<T, Invalid>,
) -> Result<Option<T>, Error> {
    let Some(number) = fields.whole(name)? else { return Ok(None) };
    parse(number).map(Some).map_err(|invalid| invalid.at(&fields.at(name)).into())
}

fn change_number<T>(
    fields: &mut Fields,
    name: &str,
    parse: impl FnOnce(i64) -> Result<T, Invalid>,
) -> Result<Change<T>, Error> {
    match fields.given(name) {
        Given::Absent => Ok(Change::Keep),
        Given::Null => Ok(Change::Clear),
        Given::Value(value) => {
            fields.put(name, value);
            Ok(number(fields, name, parse)?.map_or(Change::Keep, Change::Set))
        }
    }
}

/// A list that replaces the one that is there; `null` empties it.
fn list<T>(
    fields: &mut Fields,
    name: &str,
    parse: impl Fn(&str) -> Result<T, Invalid>,
) -> Result<Option<Vec<T>>, Error> {
    match fields.given(name) {
        Given::Absent => Ok(None),
        Given::Null => Ok(Some(Vec::new())),
        Given::Value(value) => {
            fields.put(name, value);
            fields.texts(name, parse)
        }
    }
}

fn minutes(number: i64) -> Result<u32, Invalid> {
    u32::try_from(number).map_err(|_| Invalid::new(Reason::BadValue, "must be minutes, 0 or more"))
}

fn place(number: i64) -> Result<i32, Invalid> {
    i32::try_from(number).map_err(|_| Invalid::new(Reason::BadValue, "must be a number of 32 bits"))
}

/// Tags and names that a call selects by.
pub(super) fn tags(fields: &mut Fields) -> Result<Vec<Tag>, Error> {
    Ok(fields.texts("tags", tag)?.unwrap_or_default())
}

/// Names, such as capabilities or statuses.
pub(super) fn names(fields: &mut Fields, field: &str) -> Result<Vec<Name>, Error> {
    Ok(fields.texts(field, name)?.unwrap_or_default())
}
