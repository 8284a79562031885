//! Reads. Each is one statement whose parts are named by `WITH`, so it sees the database as of one moment, and returns
//! one text: a JSON document of all rows it found.

mod around;
mod candidates;
mod contract;
mod events;
mod families;
mod find;
mod keys;
mod knowledge;
mod limit;
mod load;
mod names;
mod projects;
mod runs;
mod scan;
mod sessions;
mod statement;
mod tally;

pub(crate) use events::{Head, head, read_events};
pub(crate) use families::families;
pub(crate) use find::find;
pub(crate) use knowledge::{having, having_all, headed, list_entries, pending, places, postings, sketches, vectors};
pub(crate) use load::{load, lock};
pub(crate) use projects::all_projects;
pub(crate) use runs::{read_log, read_runs};
pub(crate) use scan::{notes_by_id, scan};
pub(crate) use sessions::find_sessions;
pub(crate) use tally::{next_expiry, tally_children, tally_claims};
