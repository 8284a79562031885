//! What a command must see: always bounded, loaded in a fixed number of statements.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::limits;
use crate::model::{
    ApiKey, ApiKeyId, EdgeId, Handle, ItemId, ItemRef, LinkId, Name, NoteId, Priority, ProjectId, QuestionId, Role,
    RunId, SessionId, Slug, Tag,
};
use crate::store::{AnswerKey, KnowledgeReach};

/// How a project is named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub enum ProjectRef {
    /// None: the items named say it, or all are meant.
    #[default]
    Any,
    /// By id.
    Id(ProjectId),
    /// By slug.
    Slug(Slug),
}

/// Which edges are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EdgeReach {
    /// None.
    #[default]
    None,
    /// None, but how many touch each of the named items.
    Counted,
    /// Those that touch the named items, with the items at their other ends.
    Named,
    /// Those that touch any item shown, with the items at their other ends.
    Shown,
}

/// Which notes are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoteReach {
    /// None.
    #[default]
    None,
    /// Of every item shown before edges reached further, without bodies.
    Heads,
    /// Of the named items, with bodies.
    Bodies,
}

/// Which keys of callers are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KeyReach {
    /// None.
    #[default]
    None,
    /// These.
    Ids(Vec<ApiKeyId>),
    /// The one whose secret begins like this.
    Handle(Handle),
    /// Any one, if there ever was one: also one that was revoked.
    Any,
    /// All of them.
    All,
}

impl KeyReach {
    /// Whether a key is among them.
    pub fn shows(&self, key: &ApiKey) -> bool {
        match self {
            Self::None => false,
            Self::Ids(ids) => ids.contains(&key.id),
            Self::Handle(handle) => key.handle == *handle,
            Self::Any | Self::All => true,
        }
    }
}

/// What is shown around the named items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is asked for by itself")]
pub struct Around {
    /// Every ancestor.
    pub ancestors: bool,
    /// All descendants, this many at the most in all.
    pub subtree: Option<usize>,
    /// No more of these than there is room for in so many bytes of long texts, as [`super::fitting`] counts them: for who shows them.
    pub subtree_bytes: Option<usize>,
    /// The ids of open children of every named item and ancestor, this many at the most each.
    pub open_children: Option<usize>,
    /// Edges.
    pub edges: EdgeReach,
    /// Notes.
    pub notes: NoteReach,
    /// Everything that waits for the named items: what they block and their parents, and those of these in turn. Whatever waits
    /// for one of them by any way is on a way of these.
    pub waits: bool,
    /// What the named items give way to, as duplicates and as what is superseded, and what that gives way to in turn.
    pub gives_way: bool,
    /// Everything connected with the named items by `blocks` edges, in both directions.
    pub component: bool,
    /// Briefs, of every item shown before edges reached further.
    pub briefs: bool,
    /// The newest question on each named item.
    pub questions: bool,
    /// The newest comments on each named item, this many at the most.
    pub comments: Option<usize>,
    /// Links of the named items.
    pub links: bool,
    /// The newest session on each named item.
    pub sessions: bool,
    /// Runs of checks of the named items that wait or run.
    pub open_runs: bool,
}

/// Ready work to choose from, the best first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidates {
    /// The role to look in, if any.
    pub role: Option<Role>,
    /// Also work that was left: in work, held once, and offered.
    pub left: bool,
    /// Only direct children of this item.
    pub parent: Option<ItemId>,
    /// Only descendants of this item.
    pub under: Option<ItemId>,
    /// Only items with one of these tags.
    pub tags: Vec<Tag>,
    /// Only items of this type.
    pub item_type: Option<Name>,
    /// Also items under a live claim.
    pub include_claimed: bool,
    /// Only items that find-and-claim may hand out; otherwise all without open blockers.
    pub offered_only: bool,
    /// The most urgent and of those the oldest first, in place of the workflow's order, and only what is at least so urgent.
    /// There are no further pages then.
    pub urgent: Option<Priority>,
    /// Only what comes after this place: the rank, number and project of the last one seen. Several projects have items
    /// of one number.
    pub after: Option<(i64, u32, ProjectId)>,
    /// How many.
    pub limit: usize,
}

impl Candidates {
    /// Whether both ask for the same work, however much of it.
    fn is_like(&self, other: &Self) -> bool {
        let Self { role, left, parent, under, tags, item_type, include_claimed, offered_only, urgent, after, limit: _ } =
            self;
        (role, left, parent, under, tags) == (&other.role, &other.left, &other.parent, &other.under, &other.tags)
            && (item_type, include_claimed) == (&other.item_type, &other.include_claimed)
            && (offered_only, urgent, after) == (&other.offered_only, &other.urgent, &other.after)
    }
}

/// The projects that a caller may see; `None` is all of them.
pub type Visible = Option<BTreeSet<ProjectId>>;

/// What a command must see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// The projects that the caller may see. The limit is on what is named or asked for: items by whatever spelling,
    /// edges (both ends), notes, projects, claims, ready work, and the graph around an item. What edges and waits lead to
    /// is shown all the same, since a decision must take it into account; but no name resolves to it.
    pub visible: Visible,
    /// The project it is in.
    pub project: ProjectRef,
    /// Whether every project is shown, not only those of the items shown.
    pub every_project: bool,
    /// Items named by the caller.
    pub items: Vec<ItemRef>,
    /// What is shown around them.
    pub around: Around,
    /// Edges named by the caller, with the items at their ends.
    pub edge_ids: Vec<EdgeId>,
    /// Notes named by the caller, with their items.
    pub note_ids: Vec<NoteId>,
    /// Questions named by the caller, with their items.
    pub question_ids: Vec<QuestionId>,
    /// Links named by the caller, with their items.
    pub link_ids: Vec<LinkId>,
    /// Knowledge.
    pub knowledge: KnowledgeReach,
    /// Sessions named by the caller, with their items.
    pub session_ids: Vec<SessionId>,
    /// Runs named by the caller.
    pub run_ids: Vec<RunId>,
    /// Items that these agents hold a claim on, live or not, in the project.
    pub held_by: Vec<Name>,
    /// Ready work.
    pub candidates: Option<Candidates>,
    /// What live claims in the project touch and need.
    pub busy: bool,
    /// Keys of callers.
    pub keys: KeyReach,
    /// The answer stored for this request, if any.
    pub answer: Option<AnswerKey>,
}

impl Scope {
    /// Widens this scope so that its slice serves another unit of work too: both choose from the same ready work, for
    /// agents of their own. Says no, and stays as it was, where one slice cannot serve both.
    pub fn join(&mut self, other: &Self) -> bool {
        if !self.session_ids.is_empty() {
            return self.join_sessions(other);
        }
        let room = self.candidates.as_ref().is_some_and(|mine| mine.limit < limits::CANDIDATES_MOST);
        // An agent who asks twice gives up the older of two claims: for the second time it is clear which that is.
        let others = other.held_by.iter().all(|agent| !self.held_by.contains(agent));
        // What was answered under a request's name is shown to that request alone.
        if !room || !others || self.answer.is_some() || !self.is_like(other) {
            return false;
        }
        if let Some(mine) = &mut self.candidates {
            mine.limit += 1;
        }
        self.held_by.extend_from_slice(&other.held_by);
        true
    }

    /// The same for signs of life: each is of a session of its own, and of nothing else.
    fn join_sessions(&mut self, other: &Self) -> bool {
        let room = self.session_ids.len() + other.session_ids.len() <= limits::BEATS_TOGETHER;
        let others = !other.session_ids.is_empty() && other.session_ids.iter().all(|id| !self.session_ids.contains(id));
        // What is named, picked or held beside them could be of the same item.
        let alone = self.items.is_empty() && self.candidates.is_none() && self.held_by.is_empty();
        if !room || !others || !alone || self.answer.is_some() || !other.held_by.is_empty() || !self.is_like(other) {
            return false;
        }
        self.session_ids.extend_from_slice(&other.session_ids);
        true
    }

    /// Whether two scopes differ in nothing but whose claims and sessions are shown and how much ready work.
    fn is_like(&self, other: &Self) -> bool {
        // Taken apart by name: a field added later has to be compared too.
        let Self {
            visible,
            project,
            every_project,
            items,
            around,
            edge_ids,
            note_ids,
            question_ids,
            link_ids,
            knowledge,
            session_ids,
            run_ids,
            held_by: _,
            candidates,
            busy,
            keys,
            answer,
        } = self;
        let alike = match (candidates, &other.candidates) {
            (Some(mine), Some(theirs)) => mine.is_like(theirs),
            (mine, theirs) => mine == theirs,
        };
        alike
            && *visible == other.visible
            && *project == other.project
            && *every_project == other.every_project
            && *items == other.items
            && *around == other.around
            && *edge_ids == other.edge_ids
            && *note_ids == other.note_ids
            && *question_ids == other.question_ids
            && *link_ids == other.link_ids
            && *knowledge == other.knowledge
            && session_ids.is_empty() == other.session_ids.is_empty()
            && *run_ids == other.run_ids
            && *busy == other.busy
            && *keys == other.keys
            && *answer == other.answer
    }
}
