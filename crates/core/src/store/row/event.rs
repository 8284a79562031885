//! Events.

use crate::model::{Attribution, Event, EventId, ItemId, Name, ProjectId, UnitId, Verb};
use crate::store::code::Code;
use serde::Deserialize;
use serde_json::Value;
use ulid::Ulid;
use uuid::Uuid;

use super::Millis;

/// A row of `events`.
#[derive(Debug, Deserialize)]
pub struct EventRow {
    seq: u64,
    id: Uuid,
    unit: Uuid,
    at: Millis,
    project: ProjectId,
    item: Option<ItemId>,
    other: Option<ItemId>,
    verb: Code<Verb>,
    principal: Name,
    by: Option<Attribution>,
    data: Value,
}

impl From<EventRow> for Event {
    fn from(row: EventRow) -> Self {
        Self {
            seq: row.seq,
            id: EventId(Ulid(row.id.as_u128())),
            unit: UnitId(Ulid(row.unit.as_u128())),
            at: row.at.into(),
            project: row.project,
            item: row.item,
            other: row.other,
            verb: row.verb.0,
            principal: row.principal,
            by: row.by,
            data: row.data,
        }
    }
}
