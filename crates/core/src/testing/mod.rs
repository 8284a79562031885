//! A world of plain rows for tests of decisions: it shows a command exactly what its scope names and no more, so that
//! a scope that forgets something fails here before it fails in a database.
//!
//! It is a model to compare with, not a store: it is never compiled into a program.
#![expect(clippy::missing_panics_doc, reason = "tests stop at the first thing that is wrong")]

pub mod acts;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::engine::{Call, Command, Decision, decide};
use crate::error::Error;
use crate::limits;
use crate::model::{
    ApiKeyId, DegradedMode, Derived, Edge, EdgeId, EdgeKind, Event, Item, ItemId, ItemRef, KeyPrefix, Name, Note,
    Project, ProjectId, Slug, StoredKey, Timestamp,
};
use crate::rank::rank;
use crate::readiness::is_offered;
use crate::replay::Replayed;
use crate::store::{
    Busy, Capped, ChangeSet, EdgeReach, NoteReach, ProjectRef, Resolution, Scope, Slice, WaitEdge, WaitGraph,
};
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
            principal: name("local"),
            by: actor.map(attribution),
            policy: DegradedMode::default(),
            request: None,
            requester: None,
            access: Arc::default(),
            seed: self.calls.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835),
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
        let mut shown: BTreeSet<ItemId> = named.union(&by_note).copied().collect();
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
                .map(|item| Busy { item: item.id, touches: item.touches.clone(), needs: item.needs.clone() })
                .collect();
        }
        for id in shown {
            seen.items.insert(id, self.items[&id].clone());
        }
        for (id, project) in &self.projects {
            if (scope.every_project && within(id))
                || seen.project == Some(*id)
                || seen.items.values().any(|item| item.project == *id)
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
        fresh.derived.offered = is_offered(workflow, &fresh);
        fresh.derived.rank = rank(workflow, &fresh);
        fresh.derived
    }

    fn check_waits(&self) {
        let parents_wait = self.projects.values().any(|project| project.workflow.has_gate(crate::Gate::Descendants));
        let waits = crate::graph::Waits::new(Some(&self.wait_graph(None)), parents_wait).expect("a whole graph");
        assert_eq!(waits.find_cycle(), None, "work that can never finish");
    }

    fn check_replay(&self) {
        let mut replayed = Replayed::default();
        for event in &self.events {
            replayed.apply(event).expect("an event that fits");
        }
        let plain: BTreeMap<ItemId, Item> =
            self.items.iter().map(|(id, item)| (*id, Item { derived: Derived::default(), ..item.clone() })).collect();
        assert_eq!(replayed.items, plain, "items rebuilt from events");
        assert_eq!(replayed.edges, self.edges, "edges rebuilt from events");
        assert_eq!(replayed.notes, self.notes, "notes rebuilt from events");
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

    fn around(&self, scope: &Scope, named: &BTreeSet<ItemId>, shown: &mut BTreeSet<ItemId>, seen: &mut Slice) {
        let around = scope.around;
        if around.ancestors {
            for id in named {
                let mut next = self.items[id].parent;
                while let Some(parent) = next {
                    shown.insert(parent);
                    next = self.items[&parent].parent;
                }
            }
        }
        if let Some(limit) = around.open_children {
            for id in shown.iter() {
                let open = self.items.values().filter(|item| item.parent == Some(*id) && item.role.is_open());
                seen.open_children.insert(*id, Capped::cut(open.map(|item| item.id).collect(), limit));
            }
        }
        if let Some(limit) = around.subtree {
            let mut all = Vec::new();
            for below in named.iter().flat_map(|id| self.beneath(*id)) {
                if !all.contains(&below) {
                    all.push(below);
                }
            }
            seen.subtree = Capped::cut(all, limit);
            shown.extend(&seen.subtree.rows);
        }
        self.show_notes(scope, named, shown, seen);
        let reach: BTreeSet<ItemId> = match around.edges {
            EdgeReach::None => BTreeSet::new(),
            EdgeReach::Named => named.clone(),
            EdgeReach::Shown => shown.clone(),
        };
        for edge in self.edges.values().filter(|edge| reach.contains(&edge.from) || reach.contains(&edge.to)) {
            seen.edges.insert(edge.id, edge.clone());
            shown.extend([edge.from, edge.to]);
        }
        if around.waits {
            seen.waits = Some(self.wait_graph(Some(named)));
        }
    }

    fn show_notes(&self, scope: &Scope, named: &BTreeSet<ItemId>, shown: &BTreeSet<ItemId>, seen: &mut Slice) {
        for note in self.notes.values() {
            let with_heads = scope.around.notes == NoteReach::Heads && shown.contains(&note.item);
            if with_heads || (scope.note_ids.contains(&note.id) && shown.contains(&note.item)) {
                seen.note_heads.entry(note.item).or_default().push(note.head());
            }
            if scope.around.notes == NoteReach::Bodies && named.contains(&note.item) {
                seen.notes.push(note.clone());
            }
        }
    }

    fn beneath(&self, id: ItemId) -> Vec<ItemId> {
        let mut found = vec![id];
        let mut index = 0;
        while let Some(next) = found.get(index).copied() {
            found.extend(self.items.values().filter(|item| item.parent == Some(next)).map(|item| item.id));
            index += 1;
        }
        found.remove(0);
        found
    }

    fn wait_graph(&self, from: Option<&BTreeSet<ItemId>>) -> WaitGraph {
        let mut graph = WaitGraph::default();
        let mut reached: Vec<ItemId> =
            from.map_or_else(|| self.items.keys().copied().collect(), |named| named.iter().copied().collect());
        let mut index = 0;
        while let Some(id) = reached.get(index).copied() {
            for edge in self.edges.values().filter(|edge| edge.kind == EdgeKind::Blocks && edge.to == id) {
                graph.edges.push(WaitEdge { from: edge.from, to: edge.to, threshold: edge.threshold() });
                if !reached.contains(&edge.from) {
                    reached.push(edge.from);
                }
            }
            for child in self.items.values().filter(|item| item.parent == Some(id)) {
                graph.children.push((id, child.id));
                if !reached.contains(&child.id) {
                    reached.push(child.id);
                }
            }
            index += 1;
        }
        graph
    }

    fn candidates(&self, scope: &Scope, shown: &mut BTreeSet<ItemId>, seen: &mut Slice) {
        let (Some(wanted), Some(project)) = (&scope.candidates, seen.project) else { return };
        let beneath = wanted.under.map(|id| self.beneath(id));
        let mut found: Vec<&Item> = self
            .items
            .values()
            .filter(|item| item.project == project && item.role == wanted.role)
            .filter(|item| if wanted.offered_only { item.derived.offered } else { item.derived.blockers == 0 })
            .filter(|item| wanted.include_claimed || item.live_claim(self.now).is_none())
            .filter(|item| wanted.parent.is_none_or(|parent| item.parent == Some(parent)))
            .filter(|item| beneath.as_ref().is_none_or(|ids| ids.contains(&item.id)))
            .filter(|item| wanted.tags.is_empty() || item.tags.iter().any(|tag| wanted.tags.contains(tag)))
            .filter(|item| wanted.item_type.as_ref().is_none_or(|kind| item.item_type.as_ref() == Some(kind)))
            .filter(|item| wanted.after.is_none_or(|after| (item.derived.rank, item.number) > after))
            .collect();
        found.sort_by_key(|item| (item.derived.rank, item.number));
        seen.candidates = Capped::cut(found.into_iter().map(|item| item.id).collect(), wanted.limit);
        shown.extend(&seen.candidates.rows);
    }
}
