//! Events.

use docket_core::model::{Event, EventId, ItemId, ProjectId, UnitId};
use docket_core::store::StoreError;
use ulid::Ulid;

use super::{Cells, code};

/// The columns of an event in the order in which [`read_event`] takes them; `v` is the table.
pub(crate) const EVENT_COLUMNS: &str =
    "v.seq, v.id, v.unit, v.at, v.project_id, v.item_id, v.other_id, v.verb, v.principal, v.attribution, v.data";

/// Reads [`EVENT_COLUMNS`].
pub(crate) fn read_event(cells: &mut Cells<'_>) -> Result<Event, StoreError> {
    Ok(Event {
        seq: cells.number()?,
        id: EventId(Ulid(cells.uuid()?.as_u128())),
        unit: UnitId(Ulid(cells.uuid()?.as_u128())),
        at: cells.time()?,
        project: ProjectId::from_uuid(cells.uuid()?),
        item: cells.maybe_uuid()?.map(ItemId::from_uuid),
        other: cells.maybe_uuid()?.map(ItemId::from_uuid),
        verb: code::verb(cells.get()?)?,
        principal: cells.parsed()?,
        by: cells.maybe_json()?,
        data: cells.json()?,
    })
}
