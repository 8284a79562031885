//! Notes, with and without their bodies.

use docket_core::model::{Attribution, ItemId, Name, Note, NoteHead, NoteId, Role, Text};
use docket_core::store::code::Code;
use serde::Deserialize;

use super::{Flag, Millis};

/// A row `n` of `notes`, in the order of [`NoteRow`].
pub(crate) const NOTE: &str = "json_array(hex(n.id), hex(n.item_id), n.key, n.phase, n.body, json(n.attribution), \
    n.created_at, n.modified_at)";

/// A row `n` of `notes` without its body, in the order of [`HeadRow`].
pub(crate) const HEAD: &str = "json_array(hex(n.id), hex(n.item_id), n.key, n.phase, n.filled, n.created_at)";

/// What [`NOTE`] says.
#[derive(Debug, Deserialize)]
pub(crate) struct NoteRow {
    id: NoteId,
    item: ItemId,
    key: Name,
    phase: Code<Role>,
    body: Text,
    by: Option<Attribution>,
    created_at: Millis,
    modified_at: Millis,
}

impl From<NoteRow> for Note {
    fn from(row: NoteRow) -> Self {
        Self {
            id: row.id,
            item: row.item,
            key: row.key,
            phase: row.phase.0,
            body: row.body,
            by: row.by,
            created_at: row.created_at.into(),
            modified_at: row.modified_at.into(),
        }
    }
}

/// What [`HEAD`] says.
#[derive(Debug, Deserialize)]
pub(crate) struct HeadRow {
    id: NoteId,
    item: ItemId,
    key: Name,
    phase: Code<Role>,
    filled: Flag,
    created_at: Millis,
}

impl From<HeadRow> for NoteHead {
    fn from(row: HeadRow) -> Self {
        Self {
            id: row.id,
            item: row.item,
            key: row.key,
            phase: row.phase.0,
            filled: row.filled.0,
            created_at: row.created_at.into(),
        }
    }
}
