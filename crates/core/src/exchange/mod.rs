//! All rows of a database, out and in again: what `docket export` writes and `docket import` reads, whatever the shell.

mod jsonl;

use std::collections::BTreeSet;

pub use jsonl::Reader;

use crate::engine::Engine;
use crate::error::{Code, Error, Kind, Reason};
use crate::model::{Edge, Item, ItemId, Note, Project, ProjectId};
use crate::store::{ScanRows, ScanTable};

/// How often a scan is begun anew while others write.
const TRIES: usize = 5;

/// All rows, as of one moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Projects.
    pub projects: Vec<Project>,
    /// Items.
    pub items: Vec<Item>,
    /// Edges.
    pub edges: Vec<Edge>,
    /// Notes, where they were asked for.
    pub notes: Vec<Note>,
}

impl Snapshot {
    /// Reads all rows as of one moment: a scan goes page by page, and is begun anew when somebody wrote meanwhile.
    pub async fn take(engine: &Engine, with_notes: bool) -> Result<Self, Error> {
        for _ in 0..TRIES {
            if let Some(snapshot) = Self::attempt(engine, with_notes, |_| {}).await? {
                return Ok(snapshot);
            }
        }
        let message = "others write all the time: try again when it is quieter, or make a backup";
        Err(Error {
            retry_after_ms: Some(1000),
            ..Error::new(Kind::Transient, Code::Unavailable, Reason::StoreBusy, message)
        })
    }

    /// Reads all rows once; nothing when somebody wrote meanwhile. `seen` is told how many there are so far.
    pub async fn attempt(engine: &Engine, with_notes: bool, seen: impl Fn(usize)) -> Result<Option<Self>, Error> {
        let before = engine.head().await?;
        let mut snapshot = Self { projects: engine.projects().await?, ..Self::default() };
        let notes = with_notes.then_some(ScanTable::Notes);
        for table in [ScanTable::Items, ScanTable::Edges].into_iter().chain(notes) {
            let mut after = None;
            loop {
                let page = engine.scan(table, after).await?;
                match page.rows {
                    ScanRows::Items(rows) => snapshot.items.extend(rows),
                    ScanRows::Edges(rows) => snapshot.edges.extend(rows),
                    ScanRows::Notes(rows) => snapshot.notes.extend(rows),
                }
                seen(snapshot.items.len() + snapshot.edges.len() + snapshot.notes.len());
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
        }
        Ok((engine.head().await? == before).then_some(snapshot))
    }

    /// Keeps one project, and the edges inside it. Says how many edges led out of it.
    pub fn narrow(&mut self, project: ProjectId) -> usize {
        self.projects.retain(|known| known.id == project);
        self.items.retain(|item| item.project == project);
        let kept: BTreeSet<ItemId> = self.items.iter().map(|item| item.id).collect();
        self.notes.retain(|note| kept.contains(&note.item));
        let touching = |edge: &Edge| [edge.from, edge.to].iter().filter(|end| kept.contains(end)).count();
        let crossing = self.edges.iter().filter(|edge| touching(edge) == 1).count();
        self.edges.retain(|edge| touching(edge) == 2);
        crossing
    }
}
