//! Notes, with and without their bodies.

use crate::model::{Attribution, ItemId, Name, Note, NoteHead, NoteId, Role, Text};
use crate::store::code::Code;
use serde::Deserialize;

use super::{Flag, Millis};

/// A row of `notes`.
#[derive(Debug, Deserialize)]
pub struct NoteRow {
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

/// A row of `notes` without its body.
#[derive(Debug, Deserialize)]
pub struct HeadRow {
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
