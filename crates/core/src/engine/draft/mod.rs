//! The working copy of a decision: reads see earlier changes of the same unit, and everything derived follows at once.
//!
//! Here is what a unit does and what becomes of it; `look.rs` is how things stand meanwhile, `follow.rs` what follows.

mod bring;
mod contract;
mod follow;
mod knowledge;
mod look;
mod session;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::Call;
use super::difference::{changed_fields, fields, touched};
use crate::checks::Look;
use crate::error::{Error, Reason};
use crate::model::{
    Attribution, Brief, Claim, Comment, Edge, EdgeId, Event, EventId, Ids, Item, ItemId, Link, LinkId, Name, Note,
    NoteHead, NoteId, Project, ProjectId, Question, QuestionId, Role, Session, SessionId, Timestamp, UnitId, Verb,
};
use crate::store::{ChangeSet, ItemChange, KnowledgeChanges, PassedQuestion, RunChange, SessionChange, Slice};
use crate::workflow::Status;

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
    briefs: BTreeMap<ItemId, Brief>,
    questions: BTreeMap<QuestionId, Question>,
    passed_questions: Vec<PassedQuestion>,
    comments: Vec<Comment>,
    links: Vec<Link>,
    removed_links: Vec<LinkId>,
    knowledge: KnowledgeChanges,
    new_sessions: Vec<Session>,
    changed_sessions: BTreeMap<SessionId, SessionChange>,
    runs: Vec<RunChange>,
    looks: BTreeMap<ItemId, Look>,
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
            briefs: BTreeMap::new(),
            questions: BTreeMap::new(),
            passed_questions: Vec::new(),
            comments: Vec::new(),
            links: Vec::new(),
            removed_links: Vec::new(),
            knowledge: KnowledgeChanges::default(),
            new_sessions: Vec::new(),
            changed_sessions: BTreeMap::new(),
            runs: Vec::new(),
            looks: call.looks.clone(),
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
        self.pass_question(id);
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
        self.briefs.remove(&id);
        self.passed_questions.retain(|passed| passed.item != id);
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
        if let Some(passed) = self.passed_questions.iter().find(|passed| passed.item == id) {
            data.insert("questionCancelled".to_owned(), Value::from(passed.by.as_str()));
        }
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
    pub fn finish(mut self) -> ChangeSet {
        if self.events.is_empty() {
            return ChangeSet::default();
        }
        let knowledge = self.take_knowledge();
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
            briefs: self.briefs.into_iter().collect(),
            questions: self.questions.into_values().collect(),
            passed_questions: self.passed_questions,
            comments: self.comments,
            links: self.links,
            removed_links: self.removed_links,
            knowledge,
            new_sessions: self.new_sessions,
            changed_sessions: self.changed_sessions.into_values().collect(),
            runs: self.runs,
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
}
