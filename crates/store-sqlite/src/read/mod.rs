//! Reads. Each is one script, so one round trip, and sees the database as of one moment.

mod around;
mod candidates;
mod collect;
mod events;
mod find;
mod load;
mod names;
mod projects;
mod scan;
mod tally;

pub(crate) use events::{add_head, read_events, read_head_number};
pub(crate) use find::find;
pub(crate) use load::{Opening, Trouble, load};
pub(crate) use projects::all_projects;
pub(crate) use scan::{notes_by_id, scan};
pub(crate) use tally::{tally_children, tally_claims};

use docket_core::store::ProjectRef;

use crate::script::Script;

/// How near to what was named an item is. The nearest wins where it is several.
mod tier {
    /// Named by the caller.
    pub(super) const NAMED: u8 = 0;
    /// An ancestor of one.
    pub(super) const ANCESTOR: u8 = 1;
    /// Asked for in another way: beneath a named one, held, a candidate, at the end of a named edge, under a named note.
    pub(super) const BESIDE: u8 = 2;
    /// At the other end of an edge.
    pub(super) const REACHED: u8 = 3;
}

/// Shows the items `i` of a FROM clause, unless they are shown already.
fn show(script: &mut Script, tier: u8, from: &str) {
    script.add(&format!(
        "INSERT OR IGNORE INTO shown (pk, tier, id, project_id) SELECT i.pk, {tier}, i.id, i.project_id FROM {from}"
    ));
}

/// A subquery for the id of the project that was named; `None` when none was.
fn named_project(script: &mut Script, project: &ProjectRef) -> Option<String> {
    match project {
        ProjectRef::Any => None,
        ProjectRef::Id(id) => {
            let id = script.uuid(id.as_uuid());
            Some(format!("SELECT id FROM projects WHERE id = {id}"))
        }
        ProjectRef::Slug(slug) => {
            let slug = script.text(slug.as_str());
            Some(format!("SELECT id FROM projects WHERE slug = {slug}"))
        }
    }
}
