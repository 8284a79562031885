//! Edges.

use docket_core::model::{Edge, EdgeId, EdgeKind, ItemId, Role};
use docket_core::store::code::Code;
use serde::Deserialize;

use super::{Flag, Millis};

/// A row `e` of `edges`, in the order of [`EdgeRow`].
pub(crate) const EDGE: &str =
    "json_array(hex(e.id), e.kind, hex(e.from_id), hex(e.to_id), e.unblock_at, e.inverse, e.created_at)";

/// What [`EDGE`] says.
#[derive(Debug, Deserialize)]
pub(crate) struct EdgeRow {
    id: EdgeId,
    kind: Code<EdgeKind>,
    from: ItemId,
    to: ItemId,
    unblock_at: Option<Code<Role>>,
    inverse: Flag,
    created_at: Millis,
}

impl From<EdgeRow> for Edge {
    fn from(row: EdgeRow) -> Self {
        Self {
            id: row.id,
            kind: row.kind.0,
            from: row.from,
            to: row.to,
            unblock_at: row.unblock_at.map(|role| role.0),
            inverse: row.inverse.0,
            created_at: row.created_at.into(),
        }
    }
}
