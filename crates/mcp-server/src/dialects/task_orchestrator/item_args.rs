//! Item objects in arguments: the fields of a new item, and those of a change.

use docket_core::command::{Change, NewItem, Patch};
use docket_core::model::{Complexity, Name, Priority, Summary, Text, Title};
use docket_core::{Error, Reason};
use serde_json::{Map, Value};

use super::args::{SUMMARY_CHARS, TITLE_CHARS, at_most, fence, item_ref, long_text, name, tag};
use super::properties::Properties;
use crate::input::{Fields, Given, wrong_type};

/// The fields that every item object may have.
macro_rules! common_fields {
    ($($more:literal),*) => {
        &[
            "title", "description", "summary", "priority", "complexity", "tags", "type", "traits",
            "requiresVerification", "touches", "needs", "requiredCapabilities" $(, $more)*
        ]
    };
}

/// Fields of an item of `create`.
pub(super) const CREATE: &[&str] = common_fields!["role", "statusLabel", "parentId", "metadata", "properties"];
/// Fields of an item of `update`. `role` is known, to be refused with a word about what to do instead.
pub(super) const UPDATE: &[&str] =
    common_fields!["id", "role", "statusLabel", "parentId", "metadata", "properties", "fence"];
/// Fields of a tree's root.
pub(super) const ROOT: &[&str] = common_fields![];
/// Fields of a tree's child.
pub(super) const CHILD: &[&str] = common_fields!["ref"];

/// A new item, its place in the tree aside. Fields that the object's list does not know are never there.
pub(super) fn new_item(fields: &mut Fields) -> Result<NewItem, Error> {
    let title = fields.need("title", at_most(TITLE_CHARS, Title::parse))?;
    let (properties, mut traits) = match fields.value("properties") {
        None => (None, Vec::new()),
        Some(value) => split_properties(&fields.at("properties"), &value)?,
    };
    add_all(&mut traits, fields.split("traits", name)?.unwrap_or_default());
    Ok(NewItem {
        description: fields.free("description", long_text)?,
        summary: fields.free("summary", at_most(SUMMARY_CHARS, Summary::parse))?,
        role: fields.parsed("role", super::args::role)?,
        status_label: fields.free("statusLabel", name)?,
        priority: fields.parsed("priority", str::parse::<Priority>)?.unwrap_or_default(),
        complexity: complexity(fields)?,
        item_type: fields.parsed("type", name)?,
        tags: fields.split("tags", tag)?.unwrap_or_default(),
        traits,
        metadata: fields.free("metadata", long_text)?,
        properties,
        requires_verification: fields.flag("requiresVerification")?.unwrap_or(false),
        touches: fields.texts("touches", name)?.unwrap_or_default(),
        needs: fields.texts("needs", name)?.unwrap_or_default(),
        required_capabilities: fields.texts("requiredCapabilities", name)?.unwrap_or_default(),
        ..NewItem::titled(title)
    })
}

/// A change of an item. Absent fields stay; `null` and a blank text clear what can be empty, and `null` leaves what cannot.
pub(super) fn patch(fields: &mut Fields) -> Result<Patch, Error> {
    let id = fields.need("id", item_ref)?;
    if fields.has("role") {
        let field = fields.at("role");
        return Err(Error::validation(
            Reason::BadValue,
            format!("{field} cannot be set by an update: use advance_item with start, complete, block, hold, resume, cancel or reopen"),
        )
        .at(field));
    }
    let (properties, in_properties) = match fields.given("properties") {
        Given::Absent => (Change::Keep, None),
        Given::Null => (Change::Clear, Some(Vec::new())),
        Given::Value(value) => {
            let (own, traits) = split_properties(&fields.at("properties"), &value)?;
            (own.map_or(Change::Clear, Change::Set), Some(traits))
        }
    };
    // Traits live inside the properties there: writing the one writes the other.
    let own = cleared(fields, "traits", |fields| fields.split("traits", name))?;
    let traits = match (in_properties, own) {
        (Some(mut traits), Some(more)) => {
            add_all(&mut traits, more);
            Some(traits)
        }
        (traits, None) | (None, traits) => traits,
    };
    Ok(Patch {
        fence: fence(fields)?,
        title: fields.parsed("title", at_most(TITLE_CHARS, Title::parse))?,
        description: fields.change_text("description", long_text)?,
        summary: match fields.change_text("summary", at_most(SUMMARY_CHARS, Summary::parse))? {
            Change::Keep => None,
            Change::Clear => Some(Summary::parse("")?),
            Change::Set(summary) => Some(summary),
        },
        status_label: fields.change_text("statusLabel", name)?,
        priority: fields.parsed("priority", str::parse::<Priority>)?,
        complexity: changed_complexity(fields)?,
        parent: fields.change("parentId", item_ref)?,
        item_type: fields.change("type", name)?,
        tags: cleared(fields, "tags", |fields| fields.split_some("tags", tag))?,
        traits,
        metadata: fields.change_text("metadata", long_text)?,
        properties,
        requires_verification: fields.flag("requiresVerification")?,
        touches: cleared(fields, "touches", |fields| fields.texts("touches", name))?,
        needs: cleared(fields, "needs", |fields| fields.texts("needs", name))?,
        required_capabilities: cleared(fields, "requiredCapabilities", |fields| {
            fields.texts("requiredCapabilities", name)
        })?,
        ..Patch::of(id)
    })
}

fn complexity(fields: &mut Fields) -> Result<Option<Complexity>, Error> {
    let Some(number) = fields.whole("complexity")? else { return Ok(None) };
    Complexity::parse(number).map(Some).map_err(|invalid| invalid.at(&fields.at("complexity")).into())
}

fn changed_complexity(fields: &mut Fields) -> Result<Change<Complexity>, Error> {
    match fields.given("complexity") {
        Given::Absent => Ok(Change::Keep),
        Given::Null => Ok(Change::Clear),
        Given::Value(value) => {
            fields.put("complexity", value);
            Ok(complexity(fields)?.map_or(Change::Keep, Change::Set))
        }
    }
}

/// A list that `null` clears.
fn cleared<T>(
    fields: &mut Fields,
    name: &str,
    read: impl FnOnce(&mut Fields) -> Result<Option<Vec<T>>, Error>,
) -> Result<Option<Vec<T>>, Error> {
    match fields.given(name) {
        Given::Absent => Ok(None),
        Given::Null => Ok(Some(Vec::new())),
        Given::Value(value) => {
            fields.put(name, value);
            read(fields)
        }
    }
}

/// The caller's JSON object without its traits, and the traits.
fn split_properties(field: &str, value: &Value) -> Result<(Option<Text>, Vec<Name>), Error> {
    let Value::String(text) = value else { return Err(wrong_type(field, "a string that holds a JSON object", value)) };
    if text.trim().is_empty() {
        return Ok((None, Vec::new()));
    }
    let no_object =
        || Error::validation(Reason::BadJson, format!("{field} must be a JSON object, written as a string")).at(field);
    let mut object: Map<String, Value> = serde_json::from_str(text).map_err(|_| no_object())?;
    let own = |text: &str| long_text(text).map(Some).map_err(|invalid| Error::from(invalid.at(field)));
    let Some(inner) = object.remove("traits") else { return Ok((own(text)?, Vec::new())) };
    let inside = format!("{field}.traits");
    let Value::Array(list) = &inner else { return Err(wrong_type(&inside, "an array of strings", &inner)) };
    let mut traits = Vec::new();
    for value in list {
        let Value::String(text) = value else { return Err(wrong_type(&inside, "an array of strings", value)) };
        add_all(&mut traits, vec![name(text).map_err(|invalid| invalid.at(&inside))?]);
    }
    if object.is_empty() {
        return Ok((None, traits));
    }
    let mut rest: Properties = serde_json::from_str(text).map_err(|_| no_object())?;
    rest.remove("traits");
    let rest = serde_json::to_string(&rest).map_err(|_| no_object())?;
    Ok((own(&rest)?, traits))
}

fn add_all(names: &mut Vec<Name>, more: Vec<Name>) {
    for name in more {
        if !names.contains(&name) {
            names.push(name);
        }
    }
}
