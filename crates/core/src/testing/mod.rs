//! A world of plain rows for tests of decisions: it shows a command exactly what its scope names and no more, so that
//! a scope that forgets something fails here before it fails in a database.
//!
//! It is a model to compare with, not a store: it is never compiled into a program.
#![expect(clippy::missing_panics_doc, reason = "tests stop at the first thing that is wrong")]

pub mod acts;
mod exchange;
mod knowledge;
mod passes;
pub mod rows;
mod show;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::engine::{Call, Command, Decision, decide};
use crate::error::Error;
use crate::limits;
use crate::model::{
    ApiKeyId, Brief, Comment, CommentId, Derived, Edge, EdgeId, Entry, EntryId, EntryLink, EntryTie, Event, Item,
    ItemId, ItemRef, KeyPrefix, Link, LinkId, Name, Note, Project, ProjectId, Question, QuestionId, QuestionState, Run,
    RunId, Session, SessionId, Slug, StoredKey, Timestamp, Verb,
};
use crate::rank::rank;
use crate::readiness::is_offered;
use crate::replay::Replayed;
use crate::store::{Busy, ChangeSet, ProjectRef, Resolution, Scope, Slice};
use crate::workflow::{Schemas, Workflow};

pub use words::{attribution, name, required, title};

/// Rows, and the clock that goes with them.
#[derive(Clone, Debug)]
pub struct World {
    /// The time.
    pub now: Timestamp,
    /// Projects.
    pub projects: BTreeMap<ProjectId, Project>,
    /// Items.
    pub items: BTreeMap<ItemId, Item>,
    /// Edges.
    pub edges: BTreeMap<EdgeId, Edge>,
    /// Notes.
    pub notes: BTreeMap<(ItemId, Name), Note>,
    /// Briefs.
    pub briefs: BTreeMap<ItemId, Brief>,
    /// Questions.
    pub questions: BTreeMap<QuestionId, Question>,
    /// Comments.
    pub comments: BTreeMap<CommentId, Comment>,
    /// Links.
    pub links: BTreeMap<LinkId, Link>,
    /// Entries of the knowledge.
    pub entries: BTreeMap<EntryId, Entry>,
    /// Their links.
    pub entry_links: BTreeMap<(EntryId, ItemId, EntryTie), EntryLink>,
    /// Sessions.
    pub sessions: BTreeMap<SessionId, Session>,
    /// Runs of checks.
    pub runs: BTreeMap<RunId, Run>,
    /// Keys.
    pub keys: BTreeMap<ApiKeyId, StoredKey>,
    /// Everything that was recorded.
    pub events: Vec<Event>,
    calls: u128,
}

impl World {
    /// An empty world with one project of this workflow, named `test`.
    pub fn new(workflow: Workflow, schemas: Schemas) -> Self {
        let mut world = Self {
            now: Timestamp::from_millis(1_700_000_000_000),
            projects: BTreeMap::new(),
            items: BTreeMap::new(),
            edges: BTreeMap::new(),
            notes: BTreeMap::new(),
            briefs: BTreeMap::new(),
            questions: BTreeMap::new(),
            comments: BTreeMap::new(),
            links: BTreeMap::new(),
            entries: BTreeMap::new(),
            entry_links: BTreeMap::new(),
            sessions: BTreeMap::new(),
            runs: BTreeMap::new(),
            keys: BTreeMap::new(),
            events: Vec::new(),
            calls: 0,
        };
        let slug = Slug::parse("test").expect("a slug");
        let set = crate::command::SetProject {
            slug,
            name: None,
            prefix: Some(KeyPrefix::parse("T").expect("a prefix")),
            workflow: Some(workflow),
            schemas: Some(schemas),
            archived: None,
            must_be_new: true,
        };
        let call = world.call(None);
        world.run(&call, &set).expect("a project");
        world
    }

    /// Rows that were read elsewhere, to be checked.
    pub fn of(
        now: Timestamp,
        projects: Vec<Project>,
        items: Vec<Item>,
        edges: Vec<Edge>,
        notes: Vec<Note>,
        events: Vec<Event>,
    ) -> Self {
        Self {
            now,
            projects: projects.into_iter().map(|project| (project.id, project)).collect(),
            items: items.into_iter().map(|item| (item.id, item)).collect(),
            edges: edges.into_iter().map(|edge| (edge.id, edge)).collect(),
            notes: notes.into_iter().map(|note| ((note.item, note.key.clone()), note)).collect(),
            briefs: BTreeMap::new(),
            questions: BTreeMap::new(),
            comments: BTreeMap::new(),
            links: BTreeMap::new(),
            entries: BTreeMap::new(),
            entry_links: BTreeMap::new(),
            sessions: BTreeMap::new(),
            runs: BTreeMap::new(),
            keys: BTreeMap::new(),
            events,
            calls: 0,
        }
    }

    /// The project every test is in.
    pub fn project() -> ProjectRef {
        ProjectRef::Slug(Slug::parse("test").expect("a slug"))
    }

    /// A call by this actor, or by nobody in particular.
    pub fn call(&mut self, actor: Option<&str>) -> Call {
        self.calls += 1;
        Call {
            by: actor.map(attribution),
            ..Call::new(name("local"), self.calls.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
        }
    }

    /// Runs a command the way a store does, minus the disk.
    pub fn run<C: Command>(&mut self, call: &Call, command: &C) -> Result<C::Output, Error> {
        // No two commands are decided in the same moment, as with a real clock, nearly.
        self.now = Timestamp::from_millis(self.now.as_millis() + 1);
        call.access.check(C::NEEDS)?;
        let mut seen = self.slice(&call.limited(command.scope(call)));
        for _ in 0..limits::LOOK_ROUNDS {
            match decide(call, command, &seen)? {
                Decision::Look(scope) => seen.absorb(self.slice(&call.limited(*scope))),
                Decision::Done(changes, answer) => {
                    self.apply(&changes);
                    return Ok(answer);
                }
            }
        }
        panic!("{} looks without end", C::NAME);
    }

    /// Lets time pass.
    pub fn pass(&mut self, seconds: u32) {
        self.now = self.now.plus_seconds(seconds);
    }

    /// Exactly what a scope names.
    pub fn slice(&self, scope: &Scope) -> Slice {
        let mut seen = Slice { now: self.now, ..Slice::default() };
        let within = |project: &ProjectId| scope.visible.as_ref().is_none_or(|projects| projects.contains(project));
        let visible = |id: &ItemId| within(&self.items[id].project);
        seen.project = self.find_project(&scope.project).filter(within);
        let mut named: BTreeSet<ItemId> = BTreeSet::new();
        for item in &scope.items {
            let resolution = self.resolve(item, within);
            if let Resolution::One(id) = resolution {
                named.insert(id);
            }
            seen.refs.insert(item.clone(), resolution);
        }
        let named_edges = scope.edge_ids.iter().filter_map(|id| self.edges.get(id));
        for edge in named_edges.filter(|edge| visible(&edge.from) && visible(&edge.to)) {
            seen.edges.insert(edge.id, edge.clone());
            for end in [edge.from, edge.to] {
                seen.items.insert(end, self.items[&end].clone());
            }
        }
        let by_note: BTreeSet<ItemId> = self
            .notes
            .values()
            .filter(|note| scope.note_ids.contains(&note.id) && visible(&note.item))
            .map(|note| note.item)
            .collect();
        let by_question = self.questions.values().filter(|question| scope.question_ids.contains(&question.id));
        let by_link = self.links.values().filter(|link| scope.link_ids.contains(&link.id));
        let by_session = self.sessions.values().filter(|session| scope.session_ids.contains(&session.id));
        let by_talk = by_question.map(|question| question.item).chain(by_link.map(|link| link.item));
        let by_talk = by_talk.chain(by_session.map(|session| session.item)).filter(visible);
        let mut shown: BTreeSet<ItemId> = named.union(&by_note).copied().chain(by_talk).collect();
        self.around(scope, &named, &mut shown, &mut seen);
        let is_held = |item: &&Item| item.claim.as_ref().is_some_and(|claim| scope.held_by.contains(&claim.holder));
        seen.held = self.items.values().filter(is_held).map(|item| item.id).filter(visible).collect();
        shown.extend(&seen.held);
        self.candidates(scope, &mut shown, &mut seen);
        seen.keys.clone_from(&self.keys);
        seen.keys.retain(|_, stored| scope.keys.shows(&stored.key));
        if scope.busy {
            seen.busy = self
                .items
                .values()
                .filter(|item| {
                    within(&item.project)
                        && item.live_claim(self.now).is_some()
                        && !(item.touches.is_empty() && item.needs.is_empty())
                })
                .map(Busy::of)
                .collect();
        }
        for id in shown {
            seen.items.insert(id, self.items[&id].clone());
        }
        self.show_knowledge(scope, within, &mut seen);
        for (id, project) in &self.projects {
            if (scope.every_project && within(id))
                || seen.project == Some(*id)
                || seen.items.values().any(|item| item.project == *id)
                || seen.knowledge.entries.values().any(|entry| entry.project == *id)
            {
                seen.projects.insert(*id, Arc::new(project.clone()));
                seen.next_numbers.insert(*id, project.next_number);
            }
        }
        seen
    }

    /// Persists a change set.
    pub fn apply(&mut self, changes: &ChangeSet) {
        for project in &changes.projects {
            self.projects.insert(project.id, project.clone());
        }
        for (id, next) in &changes.next_numbers {
            self.projects.get_mut(id).expect("a known project").next_number = *next;
        }
        for id in &changes.removed_items {
            self.items.remove(id).expect("an item to remove");
            self.edges.retain(|_, edge| edge.from != *id && edge.to != *id);
            self.notes.retain(|(item, _), _| item != id);
            self.briefs.remove(id);
            self.questions.retain(|_, question| question.item != *id);
            self.comments.retain(|_, comment| comment.item != *id);
            self.links.retain(|_, link| link.item != *id);
            self.entry_links.retain(|_, link| link.item != *id);
            self.sessions.retain(|_, session| session.item != *id);
            self.runs.retain(|_, run| run.item != *id);
        }
        for item in &changes.new_items {
            assert!(self.items.insert(item.id, item.clone()).is_none(), "an item made twice");
        }
        for change in &changes.changed_items {
            let before = self.items.insert(change.item.id, change.item.clone()).expect("an item to change");
            assert_eq!(before.version, change.read_version);
            assert_eq!(before.fence.0, change.read_fence);
        }
        for id in &changes.removed_edges {
            self.edges.remove(id);
        }
        for edge in &changes.new_edges {
            self.edges.insert(edge.id, edge.clone());
        }
        for id in &changes.removed_notes {
            self.notes.retain(|_, note| note.id != *id);
        }
        for note in &changes.notes {
            self.notes.insert((note.item, note.key.clone()), note.clone());
        }
        self.briefs.extend(changes.briefs.iter().cloned());
        for passed in &changes.passed_questions {
            let open = |question: &&mut Question| question.item == passed.item && question.state == QuestionState::Open;
            for question in self.questions.values_mut().filter(open) {
                question.state = QuestionState::Cancelled;
                question.ended_by = Some(passed.by.clone());
                question.ended_at = Some(passed.at);
            }
        }
        self.questions.extend(changes.questions.iter().map(|question| (question.id, question.clone())));
        self.comments.extend(changes.comments.iter().map(|comment| (comment.id, comment.clone())));
        self.links.extend(changes.links.iter().map(|link| (link.id, link.clone())));
        self.links.retain(|id, _| !changes.removed_links.contains(id));
        self.apply_knowledge(&changes.knowledge);
        for change in &changes.changed_sessions {
            let before = self.sessions.insert(change.session.id, change.session.clone()).expect("a session to change");
            assert!(before.is_open(), "a session that ended stays as it is");
            assert_eq!(change.ends, !change.session.is_open(), "what is written is what changed");
        }
        self.sessions.extend(changes.new_sessions.iter().map(|session| (session.id, session.clone())));
        self.runs.extend(changes.runs.iter().map(|change| (change.run.id, change.run.clone())));
        self.keys.extend(changes.keys.iter().map(|stored| (stored.key.id, stored.clone())));
        for event in &changes.events {
            self.events.push(Event { seq: self.events.len() as u64 + 1, ..event.clone() });
        }
    }

    /// Everything that must hold after every command; panics with what does not.
    pub fn check(&self) {
        for item in self.items.values() {
            let project = &self.projects[&item.project];
            let status = project.workflow.status(&item.status).expect("a status of the workflow");
            assert_eq!(
                (status.role, status.outcome),
                (item.role, item.outcome),
                "{} stands where its status says",
                item.title
            );
            assert!(item.role.is_open() || item.claim.is_none(), "{} is closed and claimed", item.title);
            let depth = item.parent.map_or(0, |parent| self.items[&parent].depth + 1);
            assert_eq!(item.depth, depth, "the depth of {}", item.title);
            assert!(item.depth <= project.workflow.max_depth);
            assert_eq!(item.derived, self.derived(item), "what {} keeps of its surroundings", item.title);
            let keeps_whole = project.workflow.has_gate(crate::Gate::Descendants);
            if let (true, Some(parent)) = (keeps_whole && item.role.is_open(), item.parent) {
                assert!(self.items[&parent].role.is_open(), "{} is open beneath a closed parent", item.title);
            }
        }
        for edge in self.edges.values() {
            assert!(self.items.contains_key(&edge.from) && self.items.contains_key(&edge.to), "an edge without an end");
        }
        self.check_waits();
        self.check_sessions();
        self.check_replay();
    }

    /// What an item should keep of its surroundings, from scratch.
    pub fn derived(&self, item: &Item) -> Derived {
        let mut fresh = Item { derived: Derived::default(), ..item.clone() };
        for edge in self.edges.values().filter(|edge| edge.from == item.id || edge.to == item.id) {
            let effect = edge.effect(&self.items[&edge.from], &self.items[&edge.to]);
            if edge.to == item.id {
                fresh.derived.blockers += u32::from(effect.blocks_to);
                fresh.derived.moot += u32::from(effect.to_is_moot);
            } else {
                fresh.derived.unblocks += u32::from(effect.from_unblocks);
                fresh.derived.moot += u32::from(effect.from_is_moot);
            }
        }
        let workflow = &self.projects[&item.project].workflow;
        fresh.derived.sections = self.briefs.get(&item.id).map(Brief::sections).unwrap_or_default();
        let open = |question: &&Question| question.item == item.id && question.state == QuestionState::Open;
        let asked = self.questions.values().filter(open).count();
        assert!(asked <= 1, "{} has one open question at the most", item.title);
        fresh.derived.inbox = crate::contract::inbox(workflow, &fresh, asked == 1);
        fresh.derived.offered = is_offered(workflow, &fresh);
        fresh.derived.rank = rank(workflow, &fresh);
        fresh.derived
    }

    fn check_sessions(&self) {
        let mut open = BTreeSet::new();
        for session in self.sessions.values() {
            assert!(session.ends_as_it_says(), "a session that ended as it says");
            assert_eq!(session.project, self.items[&session.item].project, "a session in the project of its item");
            assert!(!session.is_open() || open.insert(session.item), "one session at a time");
            assert!(session.fence <= self.items[&session.item].fence, "a fence that was given out");
        }
    }

    fn check_waits(&self) {
        let parents_wait = self.projects.values().any(|project| project.workflow.has_gate(crate::Gate::Descendants));
        let waits = crate::graph::Waits::new(Some(&self.wait_graph(None)), parents_wait).expect("a whole graph");
        assert_eq!(waits.find_cycle(), None, "work that can never finish");
        let mut ways = crate::graph::Ways::default();
        for edge in self.edges.values() {
            ways.add(edge);
        }
        assert_eq!(ways.find_ring(), None, "work that all gives way to each other");
    }

    fn check_replay(&self) {
        let mut replayed = Replayed::default();
        for event in &self.events {
            let was = event.item.and_then(|id| replayed.items.get(&id)).filter(|_| event.verb == Verb::Moved).cloned();
            replayed.apply(event).expect("an event that fits");
            let shut = was.map(|was| passes::passed_by(&replayed, &was, event)).unwrap_or_default();
            assert!(shut.is_empty(), "event {} moved past a shut gate: {shut:?} of {:?}", event.seq, event.data);
        }
        let plain: BTreeMap<ItemId, Item> =
            self.items.iter().map(|(id, item)| (*id, Item { derived: Derived::default(), ..item.clone() })).collect();
        assert_eq!(replayed.items, plain, "items rebuilt from events");
        assert_eq!(replayed.edges, self.edges, "edges rebuilt from events");
        assert_eq!(replayed.notes, self.notes, "notes rebuilt from events");
        assert_eq!(replayed.briefs, self.briefs, "briefs rebuilt from events");
        assert_eq!(replayed.questions, self.questions, "questions rebuilt from events");
        assert_eq!(replayed.comments, self.comments, "comments rebuilt from events");
        assert_eq!(replayed.links, self.links, "links rebuilt from events");
        assert_eq!(replayed.entries, self.entries, "entries rebuilt from events");
        assert_eq!(replayed.entry_links, self.entry_links, "links of entries rebuilt from events");
        assert_eq!(replayed.sessions, self.sessions, "sessions rebuilt from events");
        assert_eq!(replayed.runs, self.runs, "runs rebuilt from events");
    }

    fn find_project(&self, wanted: &ProjectRef) -> Option<ProjectId> {
        match wanted {
            ProjectRef::Any => None,
            ProjectRef::Id(id) => self.projects.contains_key(id).then_some(*id),
            ProjectRef::Slug(slug) => {
                self.projects.values().find(|project| project.slug == *slug).map(|project| project.id)
            }
        }
    }

    fn resolve(&self, item: &ItemRef, sees: impl Fn(&ProjectId) -> bool) -> Resolution {
        let matches: Vec<&Item> = self
            .items
            .values()
            .filter(|known| sees(&known.project))
            .filter(|known| match item {
                ItemRef::Id(id) => known.id == *id,
                ItemRef::Key(key) => self.projects[&known.project].key(known.number) == *key,
                ItemRef::Prefix(digits) => known.id.as_uuid().simple().to_string().starts_with(digits),
            })
            .collect();
        match matches.as_slice() {
            [] => Resolution::Missing,
            [one] => Resolution::One(one.id),
            many => {
                Resolution::Ambiguous(many.iter().map(|item| self.projects[&item.project].key(item.number)).collect())
            }
        }
    }
}
