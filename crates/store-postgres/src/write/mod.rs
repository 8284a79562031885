//! A change set as one statement.
//!
//! Every write is a part of it. Parts see the database as it was before all of them, and references between their rows are
//! checked after the last: so their order does not matter, save where one names another, and no row may be written by two.
//! What was read is compared: items by version and fence, a project's next number by itself. Under the turns of `queue.rs`
//! a difference is rare; it means that the unit has to be decided again.

mod contract;
mod items;
mod keys;
mod knowledge;
mod rest;
mod rows;
mod sessions;

use docket_core::model::Timestamp;
use docket_core::store::{ChangeSet, Slice};

use crate::error::Trouble;
use crate::pool::Link;
use crate::script::Script;

/// The parts of a statement.
#[derive(Debug, Default)]
struct Writes {
    parts: Vec<String>,
    counted: Vec<usize>,
    /// How many rows all counted parts together have to write.
    wanted: usize,
}

impl Writes {
    /// Adds a write. Returns the name of the part, for another that must come after it.
    fn add(&mut self, statement: String) -> String {
        let name = part_name(self.parts.len());
        self.parts.push(statement);
        name
    }

    /// Adds a write that returns a row for each of `count` rows, unless one has changed since it was read. Returns the name
    /// of the part.
    fn add_counted(&mut self, statement: String, count: usize) -> String {
        self.counted.push(self.parts.len());
        self.wanted += count;
        self.add(statement)
    }

    fn finish(self, script: &mut Script) -> usize {
        let parts: Vec<String> =
            self.parts.iter().enumerate().map(|(place, part)| format!("{} AS ({part})", part_name(place))).collect();
        let count = |place: &usize| format!("(SELECT count(*) FROM {})", part_name(*place));
        let counts: Vec<String> = self.counted.iter().map(count).collect();
        let counts = if counts.is_empty() { "0".to_owned() } else { counts.join(" + ") };
        script.set(format!("WITH {} SELECT ({counts})::text", parts.join(", ")));
        self.wanted
    }
}

fn part_name(place: usize) -> String {
    format!("w{place}")
}

/// Writes a change set; says no when something has changed since it was read, and then the transaction must be undone.
pub(crate) async fn write(link: &mut Link, changes: &ChangeSet, seen: &Slice, now: Timestamp) -> Result<bool, Trouble> {
    let mut script = Script::default();
    let mut writes = Writes::default();
    rest::add_projects(&mut script, &mut writes, changes, seen);
    items::add_new(&mut script, &mut writes, &changes.new_items);
    items::add_changed(&mut script, &mut writes, &changes.changed_items);
    rest::add_edges(&mut script, &mut writes, changes);
    rest::add_notes(&mut script, &mut writes, changes);
    contract::add_briefs(&mut script, &mut writes, changes);
    contract::add_questions(&mut script, &mut writes, changes);
    contract::add_talk(&mut script, &mut writes, changes);
    knowledge::add_knowledge(&mut script, &mut writes, changes);
    sessions::add_sessions(&mut script, &mut writes, changes);
    contract::add_runs(&mut script, &mut writes, changes);
    items::add_removed(&mut script, &mut writes, &changes.removed_items);
    keys::add_keys(&mut script, &mut writes, changes);
    if let Some(answer) = &changes.answer {
        rest::add_answer(&mut script, &mut writes, answer, now);
    }
    rest::add_events(&mut script, &mut writes, &changes.events);
    if writes.parts.is_empty() {
        return Ok(true);
    }
    let wanted = writes.finish(&mut script);
    let written: usize = link.ask(script).await?;
    Ok(written == wanted)
}
