//! Tasks in arguments: the fields of a new one, and those of a change.

use docket_core::command::{Change, NewItem, Parent, Patch};
use docket_core::model::{ItemRef, Priority, Text, Title};
use docket_core::{Error, Reason};

use super::args::{item_ref, long_text, moment, name, status, tag};
use crate::input::{Fields, Given};

/// Fields of a change.
pub(super) const EDITABLE: &[&str] = &[
    "title",
    "intent",
    "description",
    "priority",
    "labels",
    "parentTaskId",
    "dueAt",
    "estimateMinutes",
    "rank",
    "requiredCapabilities",
    "needsAttention",
    "needsAttentionReason",
];

/// A new task.
pub(super) fn new_task(fields: &mut Fields) -> Result<NewItem, Error> {
    Ok(NewItem {
        intent: fields.free("intent", long_text)?,
        description: fields.free("description", long_text)?,
        priority: fields.parsed("priority", str::parse::<Priority>)?.unwrap_or_default(),
        status: fields.parsed("status", status)?,
        tags: fields.texts("labels", tag)?.unwrap_or_default(),
        parent: fields.parsed("parentTaskId", item_ref)?.map(Parent::Existing),
        due_at: fields.parsed("dueAt", moment)?,
        estimate_minutes: number(fields, "estimateMinutes")?,
        required_capabilities: fields.texts("requiredCapabilities", name)?.unwrap_or_default(),
        ..NewItem::titled(fields.need("title", Title::parse)?)
    })
}

/// A change of one task. Absent fields stay; `null` clears what can be empty.
pub(super) fn patch(fields: &mut Fields, task: ItemRef) -> Result<Patch, Error> {
    for field in ["title", "priority"] {
        kept(fields, field)?;
    }
    Ok(Patch {
        title: fields.parsed("title", Title::parse)?,
        intent: fields.change_free("intent", long_text)?,
        description: fields.change_free("description", long_text)?,
        priority: fields.parsed("priority", str::parse::<Priority>)?,
        tags: changed(fields, "labels", tag)?,
        parent: fields.change("parentTaskId", item_ref)?,
        due_at: fields.change("dueAt", moment)?,
        estimate_minutes: changed_number(fields, "estimateMinutes")?,
        position: changed_number(fields, "rank")?,
        required_capabilities: changed(fields, "requiredCapabilities", name)?,
        attention: attention(fields)?,
        ..Patch::of(task)
    })
}

/// Refuses to clear what every task has.
fn kept(fields: &mut Fields, name: &str) -> Result<(), Error> {
    match fields.given(name) {
        Given::Absent => Ok(()),
        Given::Null => {
            let field = fields.at(name);
            let message = format!("{field} cannot be cleared: leave it out to keep it");
            Err(Error::validation(Reason::BadValue, message).at(field))
        }
        Given::Value(value) => {
            fields.put(name, value);
            Ok(())
        }
    }
}

/// A flag for people: up only with a reason, and down without one.
fn attention(fields: &mut Fields) -> Result<Change<Text>, Error> {
    let needs = fields.flag("needsAttention")?;
    let reason = fields.parsed("needsAttentionReason", long_text)?;
    let field = fields.at("needsAttentionReason");
    let refused =
        |reason, message: &str| Err(Error::validation(reason, format!("{field} {message}")).at(field.clone()));
    match (needs, reason) {
        (Some(true), Some(reason)) => Ok(Change::Set(reason)),
        (Some(true), None) => refused(Reason::MissingField, "is required when needsAttention is true"),
        (Some(false), None) => Ok(Change::Clear),
        (None, None) => Ok(Change::Keep),
        (Some(false) | None, Some(_)) => refused(Reason::BadValue, "goes with needsAttention: true alone"),
    }
}

fn changed<T>(
    fields: &mut Fields,
    field: &str,
    parse: impl Fn(&str) -> Result<T, docket_core::Invalid>,
) -> Result<Option<Vec<T>>, Error> {
    match fields.given(field) {
        Given::Absent => Ok(None),
        Given::Null => Ok(Some(Vec::new())),
        Given::Value(value) => {
            fields.put(field, value);
            fields.texts(field, parse)
        }
    }
}

fn changed_number<T: TryFrom<i64>>(fields: &mut Fields, field: &str) -> Result<Change<T>, Error> {
    match fields.given(field) {
        Given::Absent => Ok(Change::Keep),
        Given::Null => Ok(Change::Clear),
        Given::Value(value) => {
            fields.put(field, value);
            Ok(number(fields, field)?.map_or(Change::Keep, Change::Set))
        }
    }
}

/// A whole number that its type can hold.
pub(super) fn number<T: TryFrom<i64>>(fields: &mut Fields, field: &str) -> Result<Option<T>, Error> {
    let Some(number) = fields.whole(field)? else { return Ok(None) };
    let path = fields.at(field);
    T::try_from(number)
        .map(Some)
        .map_err(|_| Error::validation(Reason::BadValue, format!("{path} is out of range: {number}")).at(path.clone()))
}
