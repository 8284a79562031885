//! Edges.

use docket_core::model::{Edge, EdgeId, ItemId};
use docket_core::store::StoreError;

use super::{Cells, code};

/// The columns of an edge in the order in which [`read_edge`] takes them; `e` is the table.
pub(crate) const EDGE_COLUMNS: &str = "e.id, e.kind, e.from_id, e.to_id, e.unblock_at, e.inverse, e.created_at";

/// Reads [`EDGE_COLUMNS`].
pub(crate) fn read_edge(cells: &mut Cells<'_>) -> Result<Edge, StoreError> {
    Ok(Edge {
        id: EdgeId::from_uuid(cells.uuid()?),
        kind: code::edge(cells.get()?)?,
        from: ItemId::from_uuid(cells.uuid()?),
        to: ItemId::from_uuid(cells.uuid()?),
        unblock_at: cells.get::<Option<i64>>()?.map(code::role).transpose()?,
        inverse: cells.get()?,
        created_at: cells.time()?,
    })
}
