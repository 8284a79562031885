//! The writes of knowledge: entries made, changed, reviewed, removed, and linked with items.

mod add;
mod cite;
mod edit;
mod remove;
mod review;

pub use add::{AddEntries, EntriesAdded, Learning};
pub(super) use add::{check_learnings, learn};
pub use cite::{CiteEntries, EntriesCited};
pub use edit::{EditEntry, EntryEdited};
pub use remove::{EntriesRemoved, RemoveEntries};
pub use review::{EntriesReviewed, ReadEntry, ReviewEntries, ReviewedEntry};

use crate::error::{Error, Reason};
use crate::limits;
use crate::model::{Entry, EntryId, Tag, Text};
use crate::store::Slice;

/// An entry that was named, or the error to tell the caller.
fn named(seen: &Slice, id: EntryId) -> Result<&Entry, Error> {
    seen.knowledge.entries.get(&id).ok_or_else(|| no_such_entry(id))
}

/// What to say of an entry that is not there, or may not be seen.
pub(crate) fn no_such_entry(id: EntryId) -> Error {
    Error::not_found(format!("no entry \"{id}\""))
}

/// Refuses a text that says nothing, and too many tags.
fn check_texts(body: &Text, tags: &[Tag]) -> Result<(), Error> {
    if body.is_blank() {
        return Err(Error::validation(Reason::Blank, "body must not be blank").at("body"));
    }
    if tags.len() > limits::TAGS {
        let message = format!("tags must be at most {}, not {}", limits::TAGS, tags.len());
        return Err(Error::validation(Reason::TooMany, message).at("tags"));
    }
    Ok(())
}

/// Each tag once, in the order given.
fn unique(tags: &[Tag]) -> Vec<Tag> {
    let mut kept: Vec<Tag> = Vec::with_capacity(tags.len());
    for tag in tags {
        if !kept.contains(tag) {
            kept.push(tag.clone());
        }
    }
    kept
}
