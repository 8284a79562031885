//! Edges.

use crate::model::{Edge, EdgeId, EdgeKind, ItemId, Role};
use crate::store::code::Code;
use serde::Deserialize;

use super::{Flag, Millis};

/// A row of `edges`.
#[derive(Debug, Deserialize)]
pub struct EdgeRow {
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
