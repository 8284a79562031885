//! Reads. Each is one statement whose parts are named by `WITH`, so it sees the database as of one moment, and returns
//! one text: a JSON document of all rows it found.

mod around;
mod candidates;
mod collect;
mod events;
mod find;
mod keys;
mod limit;
mod load;
mod names;
mod projects;
mod scan;
mod statement;
mod tally;

pub(crate) use events::{Head, head, read_events};
pub(crate) use find::find;
pub(crate) use load::{load, lock};
pub(crate) use projects::all_projects;
pub(crate) use scan::{notes_by_id, scan};
pub(crate) use tally::{tally_children, tally_claims};
