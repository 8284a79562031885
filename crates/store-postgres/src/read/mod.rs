//! Reads. Each is one statement whose parts are named by `WITH`, so it sees the database as of one moment, and returns
//! one text: a JSON document of all rows it found.

mod around;
mod candidates;
mod collect;
mod events;
mod find;
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

use docket_core::store::ProjectRef;

use crate::script::Script;

/// A subquery for the id of the project that was named; `None` when none was.
fn named_project(script: &mut Script, project: &ProjectRef) -> Option<String> {
    match project {
        ProjectRef::Any => None,
        ProjectRef::Id(id) => {
            let id = script.uuid(id.as_uuid());
            Some(format!("SELECT {id}::uuid AS id"))
        }
        ProjectRef::Slug(slug) => {
            let slug = script.text(slug.as_str());
            Some(format!("SELECT id FROM projects WHERE slug = {slug}"))
        }
    }
}
