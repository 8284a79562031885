//! Everything but items: projects, edges, notes, events, stored answers.

use docket_core::model::{Edge, Event, ItemId, Note, Project, Timestamp};
use docket_core::store::{ChangeSet, StoredAnswer};
use ulid::Ulid;
use uuid::Uuid;

use super::rows::Rows;
use crate::options::ANSWERS_SWEPT;
use crate::row::code::Coded;
use crate::script::{Script, Value};

const PROJECT: [&str; 7] = ["id", "slug", "prefix", "name", "next_number", "version", "created_at"];
const RULES: [&str; 3] = ["project_id", "workflow", "schemas"];
const NUMBER: [&str; 2] = ["id", "next_number"];
const EDGE: [&str; 7] = ["id", "kind", "from_id", "to_id", "unblock_at", "inverse", "created_at"];
const NOTE: [&str; 9] = ["id", "item_id", "key", "phase", "filled", "created_at", "modified_at", "attribution", "body"];
const EVENT: [&str; 10] =
    ["id", "unit", "at", "project_id", "item_id", "other_id", "verb", "principal", "attribution", "data"];

/// Projects, and the numbers their next items get. A project that exists keeps its number: that moves by itself.
pub(super) fn add_projects(script: &mut Script, changes: &ChangeSet) {
    let projects = changes.projects.iter().map(project).collect();
    if let Some(rows) = Rows::bind(script, &PROJECT, projects) {
        let otherwise = "ON CONFLICT (id) DO UPDATE SET slug = excluded.slug, prefix = excluded.prefix, \
                         name = excluded.name, version = excluded.version";
        rows.insert(script, "projects", &PROJECT, otherwise);
    }
    let rules = changes.projects.iter().map(rules).collect();
    if let Some(rows) = Rows::bind(script, &RULES, rules) {
        let otherwise =
            "ON CONFLICT (project_id) DO UPDATE SET workflow = excluded.workflow, schemas = excluded.schemas";
        rows.insert(script, "rules", &RULES, otherwise);
    }
    let numbers = changes.next_numbers.iter().map(|(id, next)| vec![id.as_uuid().into(), (*next).into()]).collect();
    if let Some(rows) = Rows::bind(script, &NUMBER, numbers) {
        rows.update(script, "projects", &NUMBER[1..], "true");
    }
}

/// Edges: those that go, then those that come.
pub(super) fn add_edges(script: &mut Script, changes: &ChangeSet) {
    if !changes.removed_edges.is_empty() {
        let ids = script.uuids(changes.removed_edges.iter().map(|id| id.as_uuid()));
        script.add(&format!("DELETE FROM edges WHERE id IN (SELECT unhex(value) FROM json_each({ids}))"));
    }
    if let Some(rows) = Rows::bind(script, &EDGE, changes.new_edges.iter().map(edge).collect()) {
        rows.insert(script, "edges", &EDGE, "");
    }
}

/// Notes: those that go, then those that are written. A note written again keeps its id and its birthday.
pub(super) fn add_notes(script: &mut Script, changes: &ChangeSet) {
    if !changes.removed_notes.is_empty() {
        let ids = script.uuids(changes.removed_notes.iter().map(|id| id.as_uuid()));
        script.add(&format!("DELETE FROM notes WHERE id IN (SELECT unhex(value) FROM json_each({ids}))"));
    }
    if let Some(rows) = Rows::bind(script, &NOTE, changes.notes.iter().map(note).collect()) {
        let otherwise = "ON CONFLICT (item_id, key) DO UPDATE SET phase = excluded.phase, filled = excluded.filled, \
                         modified_at = excluded.modified_at, attribution = excluded.attribution, body = excluded.body";
        rows.insert(script, "notes", &NOTE, otherwise);
    }
}

/// Events, numbered in the order given.
pub(super) fn add_events(script: &mut Script, events: &[Event]) {
    if let Some(rows) = Rows::bind(script, &EVENT, events.iter().map(event).collect()) {
        rows.insert(script, "events", &EVENT, "");
    }
}

/// The answer to keep; a few that have expired go.
pub(super) fn add_answer(script: &mut Script, answer: &StoredAnswer, now: Timestamp) {
    let (now, swept) = (script.int(now.as_millis()), script.limit(ANSWERS_SWEPT));
    script.add(&format!(
        "DELETE FROM answers WHERE pk IN \
         (SELECT pk FROM answers WHERE expires_at <= {now} LIMIT {swept})"
    ));
    let principal = script.text(answer.key.principal.as_str());
    let operation = script.text(answer.key.operation);
    let request = script.text(answer.key.request.as_str());
    let digest = script.blob(answer.digest);
    let expires_at = script.int(answer.expires_at.as_millis());
    let answer = script.json(&answer.answer);
    script.add(&format!(
        "REPLACE INTO answers (principal, operation, request, digest, expires_at, answer) \
         VALUES ({principal}, {operation}, {request}, {digest}, {expires_at}, {answer})"
    ));
}

fn project(project: &Project) -> Vec<Value> {
    vec![
        project.id.as_uuid().into(),
        project.slug.as_str().into(),
        project.prefix.as_str().into(),
        project.name.as_str().into(),
        project.next_number.into(),
        project.version.into(),
        project.created_at.as_millis().into(),
    ]
}

fn rules(project: &Project) -> Vec<Value> {
    vec![project.id.as_uuid().into(), Value::json(&project.workflow), Value::json(&project.schemas)]
}

fn edge(edge: &Edge) -> Vec<Value> {
    vec![
        edge.id.as_uuid().into(),
        edge.kind.code().into(),
        edge.from.as_uuid().into(),
        edge.to.as_uuid().into(),
        edge.unblock_at.map(Coded::code).into(),
        edge.inverse.into(),
        edge.created_at.as_millis().into(),
    ]
}

fn note(note: &Note) -> Vec<Value> {
    vec![
        note.id.as_uuid().into(),
        note.item.as_uuid().into(),
        note.key.as_str().into(),
        note.phase.code().into(),
        (!note.body.is_blank()).into(),
        note.created_at.as_millis().into(),
        note.modified_at.as_millis().into(),
        note.by.as_ref().map(Value::json).into(),
        note.body.as_str().into(),
    ]
}

fn event(event: &Event) -> Vec<Value> {
    let bytes = |id: Ulid| Value::from(Uuid::from_u128(id.0));
    vec![
        bytes(event.id.0),
        bytes(event.unit.0),
        event.at.as_millis().into(),
        event.project.as_uuid().into(),
        event.item.map(ItemId::as_uuid).into(),
        event.other.map(ItemId::as_uuid).into(),
        event.verb.code().into(),
        event.principal.as_str().into(),
        event.by.as_ref().map(Value::json).into(),
        Value::json(&event.data),
    ]
}
