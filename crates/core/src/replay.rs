//! Rebuilds rows from events alone: state and record are one, and this is how that is shown.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::model::{Derived, Edge, EdgeId, Event, Item, ItemId, Name, Note, Project, ProjectId, Verb};

/// Rows as the events tell them; derived numbers are zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replayed {
    /// Projects.
    pub projects: BTreeMap<ProjectId, Project>,
    /// Items.
    pub items: BTreeMap<ItemId, Item>,
    /// Edges.
    pub edges: BTreeMap<EdgeId, Edge>,
    /// Notes.
    pub notes: BTreeMap<(ItemId, Name), Note>,
}

/// An event that does not fit the ones before it.
#[derive(Debug, thiserror::Error)]
#[error("event {seq} ({verb}) does not fit the events before it: {what}")]
pub struct BadEvent {
    /// Its number.
    pub seq: u64,
    /// Its verb.
    pub verb: &'static str,
    /// What is the matter.
    pub what: String,
}

impl Replayed {
    /// Takes one event in; events come in commit order.
    pub fn apply(&mut self, event: &Event) -> Result<(), BadEvent> {
        let bad = |what: &str| BadEvent { seq: event.seq, verb: event.verb.as_str(), what: what.to_owned() };
        match event.verb {
            Verb::ProjectSet => {
                let project: Project = parse(&event.data).ok_or_else(|| bad("no project in it"))?;
                self.projects.insert(project.id, project);
            }
            Verb::Created => {
                let item = whole_item(&event.data).ok_or_else(|| bad("no item in it"))?;
                self.items.insert(item.id, item);
            }
            Verb::Edited | Verb::Moved | Verb::Claimed | Verb::Released => {
                let id = event.item.ok_or_else(|| bad("no item named"))?;
                let before = self.items.get(&id).ok_or_else(|| bad("its item is not there"))?;
                let after = changed_item(before, &event.data).ok_or_else(|| bad("its fields do not fit an item"))?;
                self.items.insert(id, after);
            }
            Verb::Removed => {
                let id = event.item.ok_or_else(|| bad("no item named"))?;
                self.items.remove(&id).ok_or_else(|| bad("its item is not there"))?;
                self.edges.retain(|_, edge| edge.from != id && edge.to != id);
                self.notes.retain(|(item, _), _| *item != id);
            }
            Verb::Noted => {
                let note: Note = parse(&event.data).ok_or_else(|| bad("no note in it"))?;
                self.notes.insert((note.item, note.key.clone()), note);
            }
            Verb::NoteRemoved => {
                let id = event.item.ok_or_else(|| bad("no item named"))?;
                let key: Name = event.data.get("key").and_then(parse).ok_or_else(|| bad("no key in it"))?;
                self.notes.remove(&(id, key)).ok_or_else(|| bad("its note is not there"))?;
            }
            Verb::Linked => {
                let edge: Edge = parse(&event.data).ok_or_else(|| bad("no edge in it"))?;
                self.edges.insert(edge.id, edge);
            }
            Verb::Unlinked => {
                let edge: Edge = parse(&event.data).ok_or_else(|| bad("no edge in it"))?;
                self.edges.remove(&edge.id).ok_or_else(|| bad("its edge is not there"))?;
            }
            // Keys cannot be rebuilt: their secrets are in no event.
            Verb::KeySet => {}
        }
        Ok(())
    }
}

fn parse<T: serde::de::DeserializeOwned>(value: &Value) -> Option<T> {
    serde_json::from_value(value.clone()).ok()
}

fn whole_item(data: &Value) -> Option<Item> {
    let fields = data.as_object()?.clone();
    with_derived(fields)
}

fn changed_item(before: &Item, data: &Value) -> Option<Item> {
    let Some(Value::Object(set)) = data.get("set") else { return Some(before.clone()) };
    let Ok(Value::Object(mut fields)) = serde_json::to_value(before) else { return None };
    for (key, value) in set {
        if value.is_null() {
            fields.remove(key);
        } else {
            fields.insert(key.clone(), value.clone());
        }
    }
    with_derived(fields)
}

fn with_derived(mut fields: Map<String, Value>) -> Option<Item> {
    fields.insert("derived".to_owned(), serde_json::to_value(Derived::default()).ok()?);
    parse(&Value::Object(fields))
}
