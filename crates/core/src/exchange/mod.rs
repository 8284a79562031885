//! All rows of a database, out and in again: what `docket export` writes and `docket import` reads, whatever the shell.

mod jsonl;

use std::collections::BTreeSet;

pub use jsonl::Reader;

use crate::command::Imported;
use crate::engine::Engine;
use crate::error::{Code, Error, Kind, Reason};
use crate::model::{
    Brief, Comment, Edge, Entry, EntryLink, Item, ItemId, Link, Note, Project, ProjectId, Question, Session,
};
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
    /// Notes, where texts were asked for.
    pub notes: Vec<Note>,
    /// Briefs.
    pub briefs: Vec<(ItemId, Brief)>,
    /// Questions.
    pub questions: Vec<Question>,
    /// Comments, where texts were asked for.
    pub comments: Vec<Comment>,
    /// Links, where texts were asked for.
    pub links: Vec<Link>,
    /// Entries of the knowledge, where texts were asked for.
    pub entries: Vec<Entry>,
    /// Their links.
    pub entry_links: Vec<EntryLink>,
    /// Sessions.
    pub sessions: Vec<Session>,
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
        for table in Self::tables(with_notes) {
            let mut after = None;
            loop {
                let page = engine.scan(table, after).await?;
                snapshot.add(page.rows);
                seen(snapshot.counts().rows());
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
        }
        Ok((engine.head().await? == before).then_some(snapshot))
    }

    /// The tables that are scanned, in this order: those that derived numbers come from, and the rest where texts are asked
    /// for.
    pub fn tables(with_notes: bool) -> impl Iterator<Item = ScanTable> {
        let always = [ScanTable::Items, ScanTable::Edges, ScanTable::Briefs, ScanTable::Questions, ScanTable::Sessions];
        let texts =
            [ScanTable::Notes, ScanTable::Comments, ScanTable::Links, ScanTable::Entries, ScanTable::EntryLinks];
        always.into_iter().chain(texts.into_iter().filter(move |_| with_notes))
    }

    /// Takes in a page of a scan.
    pub fn add(&mut self, rows: ScanRows) {
        match rows {
            ScanRows::Items(rows) => self.items.extend(rows),
            ScanRows::Edges(rows) => self.edges.extend(rows),
            ScanRows::Notes(rows) => self.notes.extend(rows),
            ScanRows::Briefs(rows) => self.briefs.extend(rows),
            ScanRows::Questions(rows) => self.questions.extend(rows),
            ScanRows::Comments(rows) => self.comments.extend(rows),
            ScanRows::Links(rows) => self.links.extend(rows),
            ScanRows::Entries(rows) => self.entries.extend(rows),
            ScanRows::EntryLinks(rows) => self.entry_links.extend(rows),
            ScanRows::Sessions(rows) => self.sessions.extend(rows),
        }
    }

    /// How many rows there are of each kind: what an import of them would say.
    pub fn counts(&self) -> Imported {
        Imported {
            projects: self.projects.len(),
            items: self.items.len(),
            edges: self.edges.len(),
            notes: self.notes.len(),
            briefs: self.briefs.len(),
            questions: self.questions.len(),
            comments: self.comments.len(),
            links: self.links.len(),
            entries: self.entries.len(),
            entry_links: self.entry_links.len(),
            sessions: self.sessions.len(),
        }
    }

    /// Keeps one project, and the edges inside it. Says how many edges led out of it.
    pub fn narrow(&mut self, project: ProjectId) -> usize {
        self.projects.retain(|known| known.id == project);
        self.items.retain(|item| item.project == project);
        let kept: BTreeSet<ItemId> = self.items.iter().map(|item| item.id).collect();
        self.notes.retain(|note| kept.contains(&note.item));
        self.briefs.retain(|(item, _)| kept.contains(item));
        self.questions.retain(|question| kept.contains(&question.item));
        self.comments.retain(|comment| kept.contains(&comment.item));
        self.links.retain(|link| kept.contains(&link.item));
        self.entries.retain(|entry| entry.project == project);
        self.entry_links.retain(|link| kept.contains(&link.item));
        self.sessions.retain(|session| kept.contains(&session.item));
        let touching = |edge: &Edge| [edge.from, edge.to].iter().filter(|end| kept.contains(end)).count();
        let crossing = self.edges.iter().filter(|edge| touching(edge) == 1).count();
        self.edges.retain(|edge| touching(edge) == 2);
        crossing
    }
}
