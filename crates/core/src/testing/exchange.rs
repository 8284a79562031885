//! A world that goes out and comes in: what an export of a store would hold, and an import of it.

use serde_json::Value;

use super::World;
use crate::error::Error;
use crate::exchange::{Reader, Snapshot};
use crate::workflow::{Schemas, Workflow};

impl World {
    /// A world with nothing in it, not even a project.
    pub fn empty() -> Self {
        let mut world = Self::new(Workflow::standard(), Schemas::default());
        world.projects.clear();
        world.events.clear();
        world
    }

    /// All rows, as an export takes them.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            entries: self.entries.values().cloned().collect(),
            entry_links: self.entry_links.values().cloned().collect(),
            projects: self.projects.values().cloned().collect(),
            items: self.items.values().cloned().collect(),
            edges: self.edges.values().cloned().collect(),
            notes: self.notes.values().cloned().collect(),
            briefs: self.briefs.iter().map(|(item, brief)| (*item, brief.clone())).collect(),
            questions: self.questions.values().cloned().collect(),
            comments: self.comments.values().cloned().collect(),
            links: self.links.values().cloned().collect(),
            sessions: self.sessions.values().cloned().collect(),
        }
    }

    /// The lines of an export.
    pub fn export(&self) -> Vec<Value> {
        self.snapshot().rows().unwrap_or_else(|error| panic!("rows that cannot be written: {error:?}"))
    }

    /// Takes lines in and says how many rows those were; an error with the line it is about, if that is known.
    #[expect(clippy::result_large_err, reason = "a test asks for both")]
    pub fn import(&mut self, rows: &[Value]) -> Result<usize, (Option<usize>, Error)> {
        let mut reader = Reader::default();
        for (at, row) in rows.iter().enumerate() {
            reader.line(at + 1, &row.to_string()).map_err(|error| (Some(at + 1), error))?;
        }
        let import = reader.take_import().map_err(|(line, error)| (Some(line), error))?;
        let call = self.call(None);
        self.run(&call, &import).map(|counts| counts.rows()).map_err(|error| (reader.line_of(&error), error))
    }
}
