//! Reads. A list is one statement whose parts are named by `WITH`, so it sees the database as of one moment, and returns
//! one text: a JSON document of all rows it found. A scope is looked up in steps ([`look`]), in one transaction.

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
mod look;
mod names;
mod projects;
mod runs;
mod scan;
mod sessions;
mod statement;
mod tally;

pub(crate) use events::{head_script, read_events};
pub(crate) use families::families;
pub(crate) use find::find;
pub(crate) use knowledge::{having, having_all, headed, list_entries, pending, places, postings, sketches, vectors};
pub(crate) use load::{is_quick, load};
pub(crate) use projects::all_projects;
pub(crate) use runs::{read_log, read_runs};
pub(crate) use scan::{notes_by_id, scan};
pub(crate) use sessions::find_sessions;
pub(crate) use tally::{next_expiry, tally_children, tally_claims};

#[cfg(test)]
#[path = "plan_tests.rs"]
mod plan_tests;
#[cfg(test)]
#[path = "ready_plan_tests.rs"]
mod ready_plan_tests;
