//! Notes, with and without their bodies.

use docket_core::model::{ItemId, Note, NoteHead, NoteId};
use docket_core::store::StoreError;

use super::{Cells, code};

/// The columns of a note in the order in which [`read_note`] takes them; `n` is the table.
pub(crate) const NOTE_COLUMNS: &str =
    "n.id, n.item_id, n.key, n.phase, n.body, n.attribution, n.created_at, n.modified_at";

/// The columns of a note without its body in the order in which [`read_head`] takes them; `n` is the table.
pub(crate) const HEAD_COLUMNS: &str = "n.id, n.item_id, n.key, n.phase, n.filled, n.created_at";

/// Reads [`NOTE_COLUMNS`].
pub(crate) fn read_note(cells: &mut Cells<'_>) -> Result<Note, StoreError> {
    Ok(Note {
        id: NoteId::from_uuid(cells.uuid()?),
        item: ItemId::from_uuid(cells.uuid()?),
        key: cells.parsed()?,
        phase: code::role(cells.get()?)?,
        body: cells.parsed()?,
        by: cells.maybe_json()?,
        created_at: cells.time()?,
        modified_at: cells.time()?,
    })
}

/// Reads [`HEAD_COLUMNS`].
pub(crate) fn read_head(cells: &mut Cells<'_>) -> Result<NoteHead, StoreError> {
    Ok(NoteHead {
        id: NoteId::from_uuid(cells.uuid()?),
        item: ItemId::from_uuid(cells.uuid()?),
        key: cells.parsed()?,
        phase: code::role(cells.get()?)?,
        filled: cells.get()?,
        created_at: cells.time()?,
    })
}
