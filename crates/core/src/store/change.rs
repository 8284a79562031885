//! What a decision wants persisted: whole or not at all.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use crate::model::{
    ApiKeyId, Brief, Comment, Edge, EdgeId, Event, Item, ItemId, Link, LinkId, Name, Note, NoteId, Project, ProjectId,
    Question, RequestId, Run, Session, StoredKey, Text, Timestamp,
};
use crate::store::KnowledgeChanges;

/// Names a stored answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AnswerKey {
    /// Who asked.
    pub principal: Name,
    /// What was called.
    pub operation: Cow<'static, str>,
    /// The caller's name for the request.
    pub request: RequestId,
}

/// An answer as it was first given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAnswer {
    /// Its name.
    pub key: AnswerKey,
    /// A digest of the request, to tell a retry from another request under the same name.
    pub digest: [u8; 32],
    /// The answer.
    pub answer: Value,
    /// When it may be forgotten.
    pub expires_at: Timestamp,
}

/// Which groups of an item's columns a change set writes. Groups keep a small change from rewriting every index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "a set of groups, each written by a statement of its own")]
pub struct Touched {
    /// Title, texts, tags, parent, depth and the like.
    pub content: bool,
    /// Title or summary: what search knows.
    pub words: bool,
    /// The version and the time of the change.
    pub stamp: bool,
    /// Status, role, outcome and label.
    pub state: bool,
    /// The claim and the fence.
    pub claim: bool,
    /// The derived numbers.
    pub derived: bool,
}

impl Touched {
    /// Whether more than the claim is written, by which other work may have become ready or less so.
    pub fn needs_another_look(self) -> bool {
        self.content || self.words || self.state || self.derived
    }

    /// What either writes.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            content: self.content || other.content,
            words: self.words || other.words,
            stamp: self.stamp || other.stamp,
            state: self.state || other.state,
            claim: self.claim || other.claim,
            derived: self.derived || other.derived,
        }
    }

    /// Whether anything is written.
    pub fn any(self) -> bool {
        self.content || self.words || self.stamp || self.state || self.claim || self.derived
    }
}

/// One item as it shall be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemChange {
    /// The row as it shall be.
    pub item: Item,
    /// The version that was read; the commit is refused if it moved on.
    pub read_version: u64,
    /// The fence that was read.
    pub read_fence: u64,
    /// Which columns are written.
    pub touched: Touched,
}

/// The open question of an item that moved on without an answer: it is cancelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedQuestion {
    /// The item.
    pub item: ItemId,
    /// Who moved it.
    pub by: Name,
    /// When.
    pub at: Timestamp,
}

/// A session that has not ended, as it shall be. The commit is refused if it has ended since it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionChange {
    /// The row as it shall be.
    pub session: Session,
    /// Whether it ends; otherwise only its heartbeat and its progress are written, which no index holds.
    pub ends: bool,
}

/// A run as it shall be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunChange {
    /// The run.
    pub run: Run,
    /// Its log, where it has ended; otherwise what is there stays.
    pub log: Option<Text>,
}

/// What one unit of work writes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChangeSet {
    /// Projects made or changed.
    pub projects: Vec<Project>,
    /// The number each project's next item gets.
    pub next_numbers: BTreeMap<ProjectId, u32>,
    /// New items, parents before children.
    pub new_items: Vec<Item>,
    /// Changed items.
    pub changed_items: Vec<ItemChange>,
    /// Removed items; their notes and edges go with them.
    pub removed_items: Vec<ItemId>,
    /// New edges.
    pub new_edges: Vec<Edge>,
    /// Removed edges.
    pub removed_edges: Vec<EdgeId>,
    /// Notes written, by item and key.
    pub notes: Vec<Note>,
    /// Notes removed.
    pub removed_notes: Vec<NoteId>,
    /// Briefs written, by item.
    pub briefs: Vec<(ItemId, Brief)>,
    /// Questions made or ended, by id.
    pub questions: Vec<Question>,
    /// Open questions whose items moved on.
    pub passed_questions: Vec<PassedQuestion>,
    /// New comments.
    pub comments: Vec<Comment>,
    /// New links.
    pub links: Vec<Link>,
    /// Removed links.
    pub removed_links: Vec<LinkId>,
    /// What is written of knowledge.
    pub knowledge: KnowledgeChanges,
    /// New sessions; after those that end, since an item has one at the most that has not.
    pub new_sessions: Vec<Session>,
    /// Sessions that were heard of, or end.
    pub changed_sessions: Vec<SessionChange>,
    /// Runs made or changed, by id.
    pub runs: Vec<RunChange>,
    /// Keys made or changed, by id.
    pub keys: Vec<StoredKey>,
    /// When keys were last used.
    pub keys_used: Vec<(ApiKeyId, Timestamp)>,
    /// The record of it.
    pub events: Vec<Event>,
    /// The answer to keep for a retry.
    pub answer: Option<StoredAnswer>,
}

impl ChangeSet {
    /// Whether there is nothing in it but changed items and the record of that.
    pub(super) fn is_of_changed_items(&self) -> bool {
        // Taken apart by name: what is added later has to be looked at too.
        let Self {
            projects,
            next_numbers,
            new_items,
            changed_items: _,
            removed_items,
            new_edges,
            removed_edges,
            notes,
            removed_notes,
            briefs,
            questions,
            passed_questions,
            comments,
            links,
            removed_links,
            knowledge,
            new_sessions,
            // Signs of life of their own: what was shown of other sessions stays true.
            changed_sessions,
            runs,
            keys,
            keys_used,
            events: _,
            answer,
        } = self;
        let items = new_items.is_empty() && removed_items.is_empty() && next_numbers.is_empty() && projects.is_empty();
        let edges = new_edges.is_empty() && removed_edges.is_empty();
        let notes = notes.is_empty() && removed_notes.is_empty();
        let briefs = briefs.is_empty() && questions.is_empty() && passed_questions.is_empty();
        let talk = runs.is_empty() && comments.is_empty() && links.is_empty() && removed_links.is_empty();
        let sessions = new_sessions.is_empty() && changed_sessions.iter().all(|change| !change.ends);
        let keys = keys.is_empty() && keys_used.is_empty();
        items && edges && notes && briefs && talk && sessions && knowledge.is_empty() && keys && answer.is_none()
    }

    /// Adds what a later unit decided over a slice that [followed](super::Slice::follow) this one.
    pub fn append(&mut self, later: Self) {
        let Self {
            projects,
            next_numbers,
            new_items,
            changed_items,
            removed_items,
            new_edges,
            removed_edges,
            notes,
            removed_notes,
            briefs,
            questions,
            passed_questions,
            comments,
            links,
            removed_links,
            knowledge,
            new_sessions,
            changed_sessions,
            runs,
            events,
            answer,
            keys,
            keys_used,
        } = later;
        for change in changed_items {
            match self.changed_items.iter_mut().find(|known| known.item.id == change.item.id) {
                Some(known) => {
                    known.item = change.item;
                    known.touched = known.touched.and(change.touched);
                }
                None => self.changed_items.push(change),
            }
        }
        self.projects.extend(projects);
        self.next_numbers.extend(next_numbers);
        self.new_items.extend(new_items);
        self.removed_items.extend(removed_items);
        self.new_edges.extend(new_edges);
        self.removed_edges.extend(removed_edges);
        self.notes.extend(notes);
        self.removed_notes.extend(removed_notes);
        self.briefs.extend(briefs);
        self.questions.extend(questions);
        self.passed_questions.extend(passed_questions);
        self.comments.extend(comments);
        self.links.extend(links);
        self.removed_links.extend(removed_links);
        self.knowledge.append(knowledge);
        self.new_sessions.extend(new_sessions);
        self.changed_sessions.extend(changed_sessions);
        self.runs.extend(runs);
        self.events.extend(events);
        self.answer = answer.or(self.answer.take());
        self.keys.extend(keys);
        self.keys_used.extend(keys_used);
    }
}
