//! Arguments that several verbs share.

use docket_core::model::{ItemId, ItemRef, Project, SessionId};
use docket_core::{Error, Invalid, Reason, limits};
use rmcp::model::JsonObject;
use serde_json::Value;
use ulid::Ulid;
use uuid::Uuid;

pub(super) use crate::args::{long_text, name};
use crate::input::Fields;

/// How many rows a list has where nothing is said.
const ROWS: usize = limits::PAGE;
/// The letters of a ULID.
const ULID_CHARS: usize = 26;

/// A task's name: its prefix and the lower-case ULID of its id, or any other spelling of an item.
pub(super) fn task_ref(text: &str) -> Result<ItemRef, Invalid> {
    let ulid =
        text.rsplit('-').next().filter(|part| part.len() == ULID_CHARS).and_then(|part| Ulid::from_string(part).ok());
    match ulid {
        Some(ulid) => Ok(ItemRef::Id(ItemId::from_uuid(Uuid::from_u128(ulid.0)))),
        None => text.parse(),
    }
}

/// A task as a call names it.
pub(super) struct NamedTask {
    /// Where.
    pub(super) field: String,
    /// How.
    pub(super) spelled: String,
    /// The same as the engine spells it.
    pub(super) meant: String,
}

/// The tasks that a call names.
pub(super) fn named(arguments: &JsonObject) -> Vec<NamedTask> {
    let one = |field: String, value: &Value| {
        let spelled = value.as_str()?.to_owned();
        Some(NamedTask { field, meant: task_ref(&spelled).ok()?.to_string(), spelled })
    };
    let of_field = |field: &str| arguments.get(field).and_then(|value| one(field.to_owned(), value));
    let deps = arguments.get("deps").and_then(Value::as_array).into_iter().flatten().take(limits::BATCH);
    let deps = deps.enumerate().filter_map(|(at, dep)| one(format!("deps[{at}]"), dep));
    ["id", "task"].into_iter().filter_map(of_field).chain(deps).collect()
}

/// A task's id as this dialect spells it.
pub(super) fn task_id(project: &Project, item: ItemId) -> String {
    let ulid = Ulid(item.as_uuid().as_u128()).to_string().to_ascii_lowercase();
    format!("{}-{ulid}", project.prefix)
}

/// The task that a call is about.
pub(super) fn need_task(fields: &mut Fields, field: &str) -> Result<ItemRef, Error> {
    fields.need(field, task_ref)
}

/// The session that a call is about.
pub(super) fn need_session(fields: &mut Fields) -> Result<SessionId, Error> {
    fields.need("session", str::parse::<SessionId>)
}

/// How many rows are wanted, and where they begin.
pub(super) fn page(fields: &mut Fields) -> Result<(usize, Option<String>), Error> {
    let limit = match fields.whole("limit")? {
        None => ROWS,
        Some(limit) => usize::try_from(limit).ok().filter(|limit| (1..=ROWS).contains(limit)).ok_or_else(|| {
            Error::validation(Reason::BadValue, format!("limit must be from 1 to {ROWS}")).at("limit")
        })?,
    };
    Ok((limit, fields.parsed("cursor", |text| Ok(text.to_owned()))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_named_by_the_same_bits_in_every_spelling() {
        let uuid = Uuid::from_u128(0x0199_f3a2_7c1e_7d3b_8f00_2a4b_5c6d_7e8f);
        let id = ItemRef::Id(ItemId::from_uuid(uuid));
        let text = Ulid(uuid.as_u128()).to_string();
        for spelled in [format!("PROJ-{}", text.to_ascii_lowercase()), format!("PROJ-{text}"), text, uuid.to_string()] {
            assert_eq!(task_ref(&spelled), Ok(id.clone()), "{spelled}");
        }
        assert_eq!(task_ref("PROJ-17"), "PROJ-17".parse());
        assert_eq!(task_ref("0199f3"), "0199f3".parse());
        assert!(task_ref("PROJ-").is_err() && task_ref("").is_err() && task_ref("PROJ-01j8x2k7q7f3az").is_err());
    }
}
