//! What a command was shown: rows as of one moment, with the database's time.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::access::Access;
use crate::error::{Error, Reason, echo};
use crate::limits;
use crate::model::{
    ApiKeyId, Brief, Comment, Edge, EdgeId, Item, ItemId, ItemRef, Key, Link, LinkId, Name, Note, NoteHead, Project,
    ProjectId, Question, QuestionId, Role, Run, RunId, Session, SessionId, StoredKey, Timestamp,
};
use crate::store::{ChangeSet, ItemChange, KnowledgeSeen, StoredAnswer};

/// A list that may have been cut short. A cut list never decides a gate in the caller's favour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capped<T> {
    /// What was loaded.
    pub rows: Vec<T>,
    /// Whether there is more.
    pub truncated: bool,
}

impl<T> Default for Capped<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), truncated: false }
    }
}

impl<T> Capped<T> {
    /// Keeps `limit` of what was loaded with one row to spare.
    pub fn cut(mut rows: Vec<T>, limit: usize) -> Self {
        let truncated = rows.len() > limit;
        rows.truncate(limit);
        Self { rows, truncated }
    }
}

/// What a caller's spelling of an item turned out to mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// Exactly this item.
    One(ItemId),
    /// No item.
    Missing,
    /// Several items; some of their keys.
    Ambiguous(Vec<Key>),
}

/// What a live claim keeps others from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Busy {
    /// The claimed item.
    pub item: ItemId,
    /// Its project: paths and resources of another are others.
    pub project: ProjectId,
    /// Path globs it changes.
    pub touches: Vec<Name>,
    /// Resources it uses alone.
    pub needs: Vec<Name>,
}

impl Busy {
    /// What a claim on an item keeps others from.
    pub fn of(item: &Item) -> Self {
        Self { item: item.id, project: item.project, touches: item.touches.clone(), needs: item.needs.clone() }
    }
}

/// A `blocks` edge, for the search of cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitEdge {
    /// The blocker.
    pub from: ItemId,
    /// The blocked.
    pub to: ItemId,
    /// How far the blocker must come.
    pub threshold: Role,
}

/// Everything that waits for some items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitGraph {
    /// `blocks` edges.
    pub edges: Vec<WaitEdge>,
    /// Parents with their children.
    pub children: Vec<(ItemId, ItemId)>,
    /// Whether the walk was cut short.
    pub truncated: bool,
}

/// Everything that some items give way to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WayGraph {
    /// Items with what each gives way to.
    pub pairs: Vec<(ItemId, ItemId)>,
    /// Whether the walk was cut short.
    pub truncated: bool,
}

/// Rows as of one moment.
#[derive(Clone, Debug, Default)]
pub struct Slice {
    /// The database's time; it never goes backwards.
    pub now: Timestamp,
    /// How often more was looked at after the first scope.
    pub looks: usize,
    /// The project the scope named.
    pub project: Option<ProjectId>,
    /// That project and those of all items shown.
    pub projects: BTreeMap<ProjectId, Arc<Project>>,
    /// The number the next item of each project gets.
    pub next_numbers: BTreeMap<ProjectId, u32>,
    /// What the caller's spellings mean.
    pub refs: BTreeMap<ItemRef, Resolution>,
    /// Every item shown.
    pub items: BTreeMap<ItemId, Item>,
    /// Open children by parent.
    pub open_children: BTreeMap<ItemId, Capped<ItemId>>,
    /// Descendants of all named items, parents before children.
    pub subtree: Capped<ItemId>,
    /// Edges shown.
    pub edges: BTreeMap<EdgeId, Edge>,
    /// How many edges touch an item, shown or not, for the named ones where that was asked for.
    pub degrees: BTreeMap<ItemId, usize>,
    /// Notes shown, without bodies, by item.
    pub note_heads: BTreeMap<ItemId, Vec<NoteHead>>,
    /// Notes shown with bodies.
    pub notes: Vec<Note>,
    /// Briefs shown.
    pub briefs: BTreeMap<ItemId, Brief>,
    /// Questions shown: those that were named, and the newest of the named items.
    pub questions: BTreeMap<QuestionId, Question>,
    /// Comments shown, the newest first, by item.
    pub comments: BTreeMap<ItemId, Capped<Comment>>,
    /// Links shown, the oldest first.
    pub links: BTreeMap<LinkId, Link>,
    /// Knowledge shown.
    pub knowledge: KnowledgeSeen,
    /// Sessions shown: those that were named, and the newest of the named items.
    pub sessions: BTreeMap<SessionId, Session>,
    /// Runs shown.
    pub runs: BTreeMap<RunId, Run>,
    /// What the named items wait for.
    pub waits: Option<WaitGraph>,
    /// What the named items give way to. Few scopes ask for it: the others carry no room for it about.
    pub gives_way: Option<Box<WayGraph>>,
    /// `blocks` edges connected with the named items.
    pub component: Capped<Edge>,
    /// Items the agents hold a claim on.
    pub held: Vec<ItemId>,
    /// Ready work, the best first.
    pub candidates: Capped<ItemId>,
    /// How much ready work earlier looks brought.
    pub passed_over: usize,
    /// What live claims keep others from.
    pub busy: Vec<Busy>,
    /// Keys shown.
    pub keys: BTreeMap<ApiKeyId, StoredKey>,
    /// The answer stored for this request.
    pub answer: Option<StoredAnswer>,
}

impl Slice {
    /// The item a spelling means, or the error to tell the caller.
    pub fn resolve(&self, item: &ItemRef) -> Result<&Item, Error> {
        match self.refs.get(item) {
            Some(Resolution::One(id)) => self.items.get(id).ok_or_else(|| no_such_item(item)),
            Some(Resolution::Ambiguous(keys)) => {
                let shown: Vec<String> = keys.iter().take(limits::AMBIGUOUS_SHOWN).map(Key::to_string).collect();
                let more = if keys.len() > shown.len() { " and more" } else { "" };
                Err(Error::validation(
                    Reason::AmbiguousId,
                    format!("\"{item}\" is ambiguous: it could be {}{more}", shown.join(", ")),
                ))
            }
            Some(Resolution::Missing) | None => Err(no_such_item(item)),
        }
    }

    /// The project a new item goes into.
    pub fn selected_project(&self) -> Result<&Arc<Project>, Error> {
        self.project.and_then(|id| self.projects.get(&id)).ok_or_else(|| Error::not_found("no such project"))
    }

    /// The rules an item is under.
    pub fn project_of(&self, item: &Item) -> Result<&Arc<Project>, Error> {
        self.projects.get(&item.project).ok_or_else(|| Error::not_found("no such project"))
    }

    /// Notes of an item, without bodies.
    pub fn heads(&self, item: ItemId) -> &[NoteHead] {
        self.note_heads.get(&item).map_or(&[], Vec::as_slice)
    }

    /// The newest question on an item.
    pub fn question_of(&self, item: ItemId) -> Option<&Question> {
        self.questions.values().filter(|question| question.item == item).max_by_key(|question| question.id)
    }

    /// The newest session on an item.
    pub fn session_of(&self, item: ItemId) -> Option<&Session> {
        self.sessions.values().filter(|session| session.item == item).max_by_key(|session| session.id)
    }

    /// Ancestors of an item, the root first.
    pub fn ancestors(&self, item: &Item) -> Vec<&Item> {
        let mut chain = Vec::new();
        let mut next = item.parent;
        while let Some(parent) = next.and_then(|id| self.items.get(&id)) {
            chain.push(parent);
            next = parent.parent;
            if chain.len() > usize::from(limits::DEPTH) {
                break;
            }
        }
        chain.reverse();
        chain
    }

    /// Takes in what a unit decided over this slice, so that the next can be decided over it as if it had been loaded
    /// after the first. Says no where it cannot show that: only claims that were placed can be followed.
    pub fn follow(&mut self, changes: &ChangeSet) -> bool {
        let placed = |change: &ItemChange| {
            // A claim that ended would make its item ready work again.
            change.item.claim.is_some()
                && !change.touched.needs_another_look()
                && self.items.contains_key(&change.item.id)
        };
        if !changes.is_of_changed_items() || !changes.changed_items.iter().all(placed) {
            return false;
        }
        for change in &changes.changed_sessions {
            self.sessions.insert(change.session.id, change.session.clone());
        }
        for ItemChange { item, .. } in &changes.changed_items {
            if !(item.touches.is_empty() && item.needs.is_empty()) {
                self.busy.retain(|busy| busy.item != item.id);
                self.busy.push(Busy::of(item));
            }
            self.candidates.rows.retain(|candidate| *candidate != item.id);
            if !self.held.contains(&item.id) {
                self.held.push(item.id);
            }
            self.items.insert(item.id, item.clone());
        }
        true
    }

    /// Leaves out what the caller may not see: for answers, after everything was taken into account.
    pub(crate) fn hide(&mut self, access: &Access) {
        if access.projects.is_none() {
            return;
        }
        self.items.retain(|_, item| access.sees(item.project));
        let items = &self.items;
        self.briefs.retain(|item, _| items.contains_key(item));
        self.questions.retain(|_, question| items.contains_key(&question.item));
        self.comments.retain(|item, _| items.contains_key(item));
        self.links.retain(|_, link| items.contains_key(&link.item));
        self.knowledge.entries.retain(|_, entry| access.sees(entry.project));
        let entries = &self.knowledge.entries;
        self.knowledge.links.retain(|link| entries.contains_key(&link.entry));
        self.sessions.retain(|_, session| items.contains_key(&session.item));
        self.edges.retain(|_, edge| items.contains_key(&edge.from) && items.contains_key(&edge.to));
        self.projects.retain(|id, _| access.sees(*id));
        self.next_numbers.retain(|id, _| access.sees(*id));
        self.waits = None;
        self.gives_way = None;
    }

    /// Takes in what a further look brought.
    pub fn absorb(&mut self, more: Self) {
        self.looks += 1;
        self.now = self.now.max(more.now);
        self.project = self.project.or(more.project);
        self.projects.extend(more.projects);
        self.next_numbers.extend(more.next_numbers);
        self.refs.extend(more.refs);
        self.items.extend(more.items);
        self.open_children.extend(more.open_children);
        self.edges.extend(more.edges);
        self.note_heads.extend(more.note_heads);
        self.notes.extend(more.notes);
        self.waits = more.waits.or(self.waits.take());
        self.gives_way = more.gives_way.or(self.gives_way.take());
        self.held.extend(more.held);
        self.passed_over += self.candidates.rows.len();
        self.candidates = more.candidates;
        self.degrees.extend(more.degrees);
        self.briefs.extend(more.briefs);
        self.questions.extend(more.questions);
        self.comments.extend(more.comments);
        self.links.extend(more.links);
        self.knowledge.absorb(more.knowledge);
        self.sessions.extend(more.sessions);
        self.runs.extend(more.runs);
        self.busy.extend(more.busy);
        self.keys.extend(more.keys);
        self.answer = self.answer.take().or(more.answer);
        if !more.subtree.rows.is_empty() || more.subtree.truncated {
            self.subtree = more.subtree;
        }
        if !more.component.rows.is_empty() || more.component.truncated {
            self.component = more.component;
        }
    }
}

fn no_such_item(item: &ItemRef) -> Error {
    Error::not_found(format!("no item \"{}\"", echo(&item.to_string())))
}
