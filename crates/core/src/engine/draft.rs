//! The working copy of a decision: reads see earlier changes of the same unit, and everything derived follows at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::Call;
use super::difference::{changed_fields, fields, touched};
use crate::error::{Error, Reason};
use crate::limits;
use crate::model::{
    Attribution, Claim, Edge, EdgeEffect, EdgeId, Event, EventId, Ids, Item, ItemId, Name, Note, NoteHead, NoteId,
    Project, ProjectId, Role, Timestamp, UnitId, Verb,
};
use crate::rank::rank;
use crate::readiness::is_offered;
use crate::store::{Capped, ChangeSet, ItemChange, Slice};
use crate::workflow::{Resolved, Status};

/// A unit of work in the making.
#[derive(Debug)]
pub struct Draft<'a> {
    /// What was shown.
    pub seen: &'a Slice,
    /// Who calls.
    pub call: &'a Call,
    /// The database's time.
    pub now: Timestamp,
    ids: Ids,
    unit: UnitId,
    items: BTreeMap<ItemId, Item>,
    new_items: Vec<ItemId>,
    removed_items: BTreeSet<ItemId>,
    new_edges: BTreeMap<EdgeId, Edge>,
    removed_edges: BTreeSet<EdgeId>,
    touching: BTreeMap<ItemId, Vec<EdgeId>>,
    /// Children inside the subtree that was shown, as they lay before.
    children: BTreeMap<ItemId, Vec<ItemId>>,
    notes: BTreeMap<(ItemId, Name), Note>,
    removed_notes: BTreeMap<(ItemId, Name), NoteId>,
    next_numbers: BTreeMap<ProjectId, u32>,
    projects: BTreeMap<ProjectId, Arc<Project>>,
    recorded: BTreeMap<ItemId, Item>,
    events: Vec<Event>,
}

impl<'a> Draft<'a> {
    /// A working copy of what was shown.
    pub fn new(call: &'a Call, seen: &'a Slice) -> Self {
        let mut ids = Ids::new(seen.now, call.seed);
        let unit = UnitId(ids.ulid());
        let mut touching: BTreeMap<ItemId, Vec<EdgeId>> = BTreeMap::new();
        for edge in seen.edges.values() {
            touching.entry(edge.from).or_default().push(edge.id);
            touching.entry(edge.to).or_default().push(edge.id);
        }
        let mut children: BTreeMap<ItemId, Vec<ItemId>> = BTreeMap::new();
        for item in seen.subtree.rows.iter().filter_map(|id| seen.items.get(id)) {
            if let Some(parent) = item.parent {
                children.entry(parent).or_default().push(item.id);
            }
        }
        Self {
            seen,
            call,
            now: seen.now,
            ids,
            unit,
            items: BTreeMap::new(),
            new_items: Vec::new(),
            removed_items: BTreeSet::new(),
            new_edges: BTreeMap::new(),
            removed_edges: BTreeSet::new(),
            touching,
            children,
            notes: BTreeMap::new(),
            removed_notes: BTreeMap::new(),
            next_numbers: BTreeMap::new(),
            projects: BTreeMap::new(),
            recorded: BTreeMap::new(),
            events: Vec::new(),
        }
    }

    /// A new id, in creation order.
    pub fn new_uuid(&mut self) -> uuid::Uuid {
        self.ids.uuid()
    }

    /// An item as it stands in this unit.
    pub fn item(&self, id: ItemId) -> Option<&Item> {
        if self.removed_items.contains(&id) {
            return None;
        }
        self.items.get(&id).or_else(|| self.seen.items.get(&id))
    }

    /// An item that must be there.
    pub fn expect(&self, id: ItemId) -> Result<&Item, Error> {
        self.item(id).ok_or_else(|| Error::not_found(format!("no item \"{id}\"")))
    }

    /// The rules an item is under.
    pub fn project_of(&self, item: &Item) -> Result<Arc<Project>, Error> {
        self.project(item.project).ok_or_else(|| Error::not_found("no such project"))
    }

    /// A project as it stands in this unit.
    pub fn project(&self, id: ProjectId) -> Option<Arc<Project>> {
        self.projects.get(&id).or_else(|| self.seen.projects.get(&id)).cloned()
    }

    /// The schema an item is under, if any.
    pub fn schema<'p>(&self, project: &'p Project, item: &Item) -> Option<Resolved<'p>> {
        project.schemas.resolve(item)
    }

    /// The edges that touch an item.
    pub fn edges_of(&self, id: ItemId) -> Vec<&Edge> {
        self.touching
            .get(&id)
            .into_iter()
            .flatten()
            .filter(|edge| !self.removed_edges.contains(edge))
            .filter_map(|edge| self.new_edges.get(edge).or_else(|| self.seen.edges.get(edge)))
            .collect()
    }

    /// The notes on an item, without bodies.
    pub fn note_heads(&self, id: ItemId) -> Vec<NoteHead> {
        let written = self.notes.range((id, first_name())..).take_while(|((item, _), _)| *item == id);
        let mut heads: Vec<NoteHead> = self
            .seen
            .heads(id)
            .iter()
            .filter(|head| {
                let key = (id, head.key.clone());
                !self.notes.contains_key(&key) && !self.removed_notes.contains_key(&key)
            })
            .cloned()
            .collect();
        heads.extend(written.map(|(_, note)| note.head()));
        heads
    }

    /// Whether a child of `parent` would still be open. A list that was cut short held more than a batch can close.
    pub fn has_open_child(&self, parent: ItemId) -> bool {
        let open = self.open_children(parent);
        open.truncated || !open.rows.is_empty()
    }

    /// Children that would still be open. Where the descendants gate is on this answers for all descendants: nothing
    /// open can lie beneath something closed.
    pub fn open_children(&self, parent: ItemId) -> Capped<ItemId> {
        let (seen, truncated) = match self.seen.open_children.get(&parent) {
            Some(open) => (open.rows.as_slice(), open.truncated),
            None => (self.children.get(&parent).map_or(&[][..], Vec::as_slice), self.seen.subtree.truncated),
        };
        let still_open = |id: &&ItemId| match self.items.get(*id).or_else(|| self.seen.items.get(*id)) {
            Some(child) => child.role.is_open() && child.parent == Some(parent) && !self.removed_items.contains(*id),
            // Only its id was shown, because it is open.
            None => !self.removed_items.contains(*id),
        };
        let mut rows: Vec<ItemId> = seen.iter().filter(still_open).copied().collect();
        let changed = self.items.values().filter(|item| item.parent == Some(parent) && item.role.is_open());
        let added: Vec<ItemId> = changed.map(|item| item.id).filter(|id| !rows.contains(id)).collect();
        rows.extend(added);
        Capped { rows, truncated }
    }

    /// Whether an item lies beneath another, as the tree stands in this unit.
    pub fn is_beneath(&self, item: ItemId, ancestor: ItemId) -> bool {
        let mut next = self.item(item).and_then(|item| item.parent);
        for _ in 0..=limits::DEPTH {
            match next {
                Some(id) if id == ancestor => return true,
                Some(id) => next = self.item(id).and_then(|item| item.parent),
                None => return false,
            }
        }
        true
    }

    /// Everything beneath an item, parents before children, as the tree stands in this unit.
    pub fn beneath(&self, id: ItemId) -> Vec<ItemId> {
        let mut children: BTreeMap<ItemId, Vec<ItemId>> = BTreeMap::new();
        let shown = self.seen.subtree.rows.iter().filter(|row| !self.items.contains_key(row));
        for item in shown.chain(self.items.keys()).filter_map(|row| self.item(*row)) {
            if let Some(parent) = item.parent {
                children.entry(parent).or_default().push(item.id);
            }
        }
        let mut found = vec![id];
        let mut index = 0;
        while let Some(next) = found.get(index).copied() {
            found.extend(children.remove(&next).unwrap_or_default());
            index += 1;
        }
        found.remove(0);
        found
    }

    /// The number of the next item of a project.
    pub fn take_number(&mut self, project: ProjectId) -> u32 {
        let next = self
            .next_numbers
            .entry(project)
            .or_insert_with(|| self.seen.next_numbers.get(&project).copied().unwrap_or(1));
        let number = *next;
        *next += 1;
        number
    }

    /// The number the next item of a project would get.
    pub fn next_number(&self, project: ProjectId) -> u32 {
        self.next_numbers.get(&project).or_else(|| self.seen.next_numbers.get(&project)).copied().unwrap_or(1)
    }

    /// Leaves out the numbers up to this one: an import brings items that have them.
    pub fn pass_number(&mut self, project: ProjectId, taken: u32) -> Result<(), Error> {
        let after = taken
            .checked_add(1)
            .ok_or_else(|| Error::validation(Reason::BadValue, format!("{taken} is too large a number for an item")))?;
        let next = self.next_number(project).max(after);
        self.next_numbers.insert(project, next);
        Ok(())
    }

    /// Makes a project, or gives one new rules.
    pub fn put_project(&mut self, project: Project) {
        let data = serde_json::to_value(&project).unwrap_or(Value::Null);
        self.push_event(Verb::ProjectSet, project.id, None, None, None, data);
        self.projects.insert(project.id, Arc::new(project));
    }

    /// Adds an item.
    pub fn add_item(&mut self, item: Item, by: Option<&Attribution>) {
        let id = item.id;
        self.new_items.push(id);
        self.items.insert(id, item);
        self.refresh(id);
        let data = self.items.get(&id).map_or(Value::Null, |item| Value::Object(fields(item)));
        if let Some(item) = self.items.get(&id) {
            self.recorded.insert(id, item.clone());
            self.push_event(Verb::Created, item.project, Some(id), None, by, data);
        }
    }

    /// Changes an item's content; its version grows with the first change of the unit.
    pub fn edit(&mut self, id: ItemId, change: impl FnOnce(&mut Item)) {
        self.change(id, |item, now| {
            change(item);
            item.modified_at = now;
        });
        self.grow_version(id);
        self.refresh(id);
    }

    /// Places, extends or ends a claim; the item's version stays.
    pub fn set_claim(&mut self, id: ItemId, claim: Option<Claim>, new_hands: bool) {
        self.change(id, |item, _| {
            item.claim = claim;
            if new_hands {
                item.fence.0 += 1;
            }
        });
    }

    /// Moves an item to a status, with everything that follows for its neighbours.
    pub fn set_status(&mut self, id: ItemId, to: &Status, label: Option<Name>) {
        let before = self.effects_of(id);
        self.change(id, |item, now| {
            item.previous_status = match (item.role, to.role) {
                (Role::Blocked, Role::Blocked) => item.previous_status.take(),
                (_, Role::Blocked) => Some(item.status.clone()),
                (_, Role::Queue | Role::Work | Role::Review | Role::Terminal) => None,
            };
            if item.role != to.role {
                item.role_changed_at = now;
            }
            item.status = to.name.clone();
            item.role = to.role;
            item.outcome = to.outcome;
            item.status_label = label;
            item.modified_at = now;
            if !to.role.is_open() {
                item.claim = None;
            }
        });
        self.grow_version(id);
        self.apply_effects(&before, -1);
        let after = self.effects_of(id);
        self.apply_effects(&after, 1);
        self.refresh(id);
    }

    /// Removes an item, its notes and its edges.
    pub fn remove_item(&mut self, id: ItemId, by: Option<&Attribution>) {
        let effects = self.effects_of(id);
        self.apply_effects(&effects, -1);
        let edges: Vec<EdgeId> = self.edges_of(id).iter().map(|edge| edge.id).collect();
        self.removed_edges.extend(edges);
        let Some(item) = self.item(id) else { return };
        let (project, title) = (item.project, item.title.to_string());
        self.push_event(Verb::Removed, project, Some(id), None, by, serde_json::json!({ "title": title }));
        self.items.remove(&id);
        self.removed_items.insert(id);
    }

    /// Adds an edge; both ends must be known.
    pub fn add_edge(&mut self, edge: &Edge, by: Option<&Attribution>) {
        self.touching.entry(edge.from).or_default().push(edge.id);
        self.touching.entry(edge.to).or_default().push(edge.id);
        self.new_edges.insert(edge.id, edge.clone());
        let effect = self.effect_of(edge);
        self.apply_effects(&effect, 1);
        self.record_edge(Verb::Linked, edge, by);
    }

    /// Removes an edge.
    pub fn remove_edge(&mut self, id: EdgeId, by: Option<&Attribution>) -> bool {
        let Some(edge) = self.new_edges.get(&id).or_else(|| self.seen.edges.get(&id)).cloned() else { return false };
        if self.removed_edges.contains(&id) {
            return false;
        }
        let effect = self.effect_of(&edge);
        self.apply_effects(&effect, -1);
        self.removed_edges.insert(id);
        self.record_edge(Verb::Unlinked, &edge, by);
        true
    }

    /// Writes a note, by item and key; an earlier note of the key keeps its id and its birthday.
    pub fn put_note(&mut self, item: ItemId, mut note: Note, by: Option<&Attribution>) -> NoteId {
        let key = (item, note.key.clone());
        let earlier = self.notes.get(&key).map(|note| (note.id, note.created_at)).or_else(|| {
            self.seen.heads(item).iter().find(|head| head.key == note.key).map(|head| (head.id, head.created_at))
        });
        if let Some((id, created_at)) = earlier.filter(|_| !self.removed_notes.contains_key(&key)) {
            note.id = id;
            note.created_at = created_at;
        }
        self.removed_notes.remove(&key);
        let id = note.id;
        if let Some(project) = self.item(item).map(|item| item.project) {
            let data = serde_json::to_value(&note).unwrap_or(Value::Null);
            self.push_event(Verb::Noted, project, Some(item), None, by, data);
        }
        self.notes.insert(key, note);
        id
    }

    /// Removes a note.
    pub fn remove_note(&mut self, head: &NoteHead, by: Option<&Attribution>) -> bool {
        let key = (head.item, head.key.clone());
        if self.removed_notes.contains_key(&key) {
            return false;
        }
        if let Some(project) = self.item(head.item).map(|item| item.project) {
            let data = serde_json::json!({ "id": head.id, "key": head.key });
            self.push_event(Verb::NoteRemoved, project, Some(head.item), None, by, data);
        }
        self.notes.remove(&key);
        self.removed_notes.insert(key, head.id);
        true
    }

    /// Records what was done to an item since it was last recorded: the changed fields as they are now.
    pub fn record(&mut self, verb: Verb, id: ItemId, by: Option<&Attribution>, extra: Map<String, Value>) {
        let Some(now) = self.item(id).cloned() else { return };
        let before = self.recorded.get(&id).or_else(|| self.seen.items.get(&id));
        let mut data = extra;
        if let Some(before) = before {
            let set = changed_fields(before, &now);
            if !set.is_empty() {
                data.insert("set".to_owned(), Value::Object(set));
            }
        }
        self.push_event(verb, now.project, Some(id), None, by, Value::Object(data));
        self.recorded.insert(id, now);
    }

    /// What is to be persisted. Empty when nothing was recorded: then nothing changed.
    pub fn finish(self) -> ChangeSet {
        if self.events.is_empty() {
            return ChangeSet::default();
        }
        let new: BTreeSet<ItemId> = self.new_items.iter().copied().collect();
        let changed_items = self
            .items
            .iter()
            .filter(|(id, _)| !new.contains(id))
            .filter_map(|(id, item)| {
                let before = self.seen.items.get(id)?;
                let touched = touched(before, item);
                touched.any().then(|| ItemChange {
                    item: item.clone(),
                    read_version: before.version,
                    read_fence: before.fence.0,
                    touched,
                })
            })
            .collect();
        let seen_edge = |id: &EdgeId| self.seen.edges.contains_key(id);
        ChangeSet {
            projects: self.projects.values().map(|project| Project::clone(project)).collect(),
            next_numbers: self.next_numbers,
            new_items: self.new_items.iter().filter_map(|id| self.items.get(id).cloned()).collect(),
            changed_items,
            removed_items: self.removed_items.into_iter().filter(|id| !new.contains(id)).collect(),
            new_edges: self.new_edges.into_values().filter(|edge| !self.removed_edges.contains(&edge.id)).collect(),
            removed_edges: self.removed_edges.iter().copied().filter(seen_edge).collect(),
            notes: self.notes.into_values().collect(),
            removed_notes: self.removed_notes.into_values().collect(),
            events: self.events,
            ..ChangeSet::default()
        }
    }

    fn record_edge(&mut self, verb: Verb, edge: &Edge, by: Option<&Attribution>) {
        let Some(project) = self.item(edge.to).map(|item| item.project) else { return };
        let data = serde_json::to_value(edge).unwrap_or(Value::Null);
        self.push_event(verb, project, Some(edge.to), Some(edge.from), by, data);
    }

    pub(crate) fn push_event(
        &mut self,
        verb: Verb,
        project: ProjectId,
        item: Option<ItemId>,
        other: Option<ItemId>,
        by: Option<&Attribution>,
        data: Value,
    ) {
        let id = EventId(self.ids.ulid());
        self.events.push(Event {
            seq: 0,
            id,
            unit: self.unit,
            at: self.now,
            project,
            item,
            other,
            verb,
            principal: self.call.principal.clone(),
            by: by.or(self.call.by.as_ref()).cloned(),
            data,
        });
    }

    fn change(&mut self, id: ItemId, change: impl FnOnce(&mut Item, Timestamp)) {
        let now = self.now;
        if let Some(item) = self.items.get_mut(&id) {
            change(item, now);
        } else if let Some(item) = self.seen.items.get(&id).filter(|_| !self.removed_items.contains(&id)) {
            let mut item = item.clone();
            change(&mut item, now);
            self.items.insert(id, item);
        }
    }

    fn grow_version(&mut self, id: ItemId) {
        let read = self.seen.items.get(&id).map(|item| item.version);
        if let (Some(item), Some(read)) = (self.items.get_mut(&id), read) {
            item.version = read + 1;
        }
    }

    /// Makes the derived flags of an item follow its fields.
    fn refresh(&mut self, id: ItemId) {
        let Some(project) = self.item(id).and_then(|item| self.project(item.project)) else { return };
        self.change(id, |item, _| {
            item.derived.offered = is_offered(&project.workflow, item);
            item.derived.rank = rank(&project.workflow, item);
        });
    }

    fn effect_of(&self, edge: &Edge) -> Vec<(ItemId, ItemId, EdgeEffect)> {
        match (self.item(edge.from), self.item(edge.to)) {
            (Some(from), Some(to)) => vec![(edge.from, edge.to, edge.effect(from, to))],
            (Some(_) | None, Some(_) | None) => Vec::new(),
        }
    }

    fn effects_of(&self, id: ItemId) -> Vec<(ItemId, ItemId, EdgeEffect)> {
        self.edges_of(id).into_iter().flat_map(|edge| self.effect_of(edge)).collect()
    }

    fn apply_effects(&mut self, effects: &[(ItemId, ItemId, EdgeEffect)], sign: i32) {
        for (from, to, effect) in effects {
            let add = |number: &mut u32, flag: bool| *number = number.saturating_add_signed(sign * i32::from(flag));
            if effect.blocks_to || effect.to_is_moot {
                self.change(*to, |item, _| {
                    add(&mut item.derived.blockers, effect.blocks_to);
                    add(&mut item.derived.moot, effect.to_is_moot);
                });
                self.refresh(*to);
            }
            if effect.from_unblocks || effect.from_is_moot {
                self.change(*from, |item, _| {
                    add(&mut item.derived.unblocks, effect.from_unblocks);
                    add(&mut item.derived.moot, effect.from_is_moot);
                });
                self.refresh(*from);
            }
        }
    }
}

/// Sorts before every note key: names are never empty and hold no control characters.
fn first_name() -> Name {
    Name::parse("!").unwrap_or_else(|_| unreachable!("a valid name"))
}
