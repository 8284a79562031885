//! What a decision wants persisted: whole or not at all.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::model::{
    ApiKeyId, Edge, EdgeId, Event, Item, ItemId, Name, Note, NoteId, Project, ProjectId, RequestId, StoredKey,
    Timestamp,
};

/// Names a stored answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AnswerKey {
    /// Who asked.
    pub principal: Name,
    /// What was asked for.
    pub operation: &'static str,
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
        self.events.extend(events);
        self.answer = answer.or(self.answer.take());
        self.keys.extend(keys);
        self.keys_used.extend(keys_used);
    }
}
