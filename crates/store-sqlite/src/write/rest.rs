//! Everything but items and their contracts: projects, edges, notes, events, stored answers.

use std::sync::LazyLock;

use docket_core::model::{Edge, Event, ItemId, Note, Project, Timestamp};
use docket_core::store::code::Coded;
use docket_core::store::{ChangeSet, StoredAnswer};
use ulid::Ulid;
use uuid::Uuid;

use super::rows;
use crate::options::ANSWERS_SWEPT;
use crate::script::{Script, Value};

static PROJECT: LazyLock<String> = LazyLock::new(|| {
    let columns = ["id", "slug", "prefix", "name", "next_number", "version", "created_at", "archived_at"];
    let otherwise = "ON CONFLICT (id) DO UPDATE SET slug = excluded.slug, prefix = excluded.prefix, \
                     name = excluded.name, version = excluded.version, archived_at = excluded.archived_at";
    rows::insert("projects", &columns, otherwise)
});
static RULES: LazyLock<String> = LazyLock::new(|| {
    let otherwise = "ON CONFLICT (project_id) DO UPDATE SET workflow = excluded.workflow, schemas = excluded.schemas";
    rows::insert("rules", &["project_id", "workflow", "schemas"], otherwise)
});
static SET_NUMBER: LazyLock<String> = LazyLock::new(|| rows::update("projects", &["next_number"]));
static EDGE: LazyLock<String> = LazyLock::new(|| {
    rows::insert("edges", &["id", "kind", "from_id", "to_id", "unblock_at", "inverse", "created_at"], "")
});
static NOTE: LazyLock<String> = LazyLock::new(|| {
    let columns = ["id", "item_id", "key", "phase", "filled", "created_at", "modified_at", "attribution", "body"];
    let otherwise = "ON CONFLICT (item_id, key) DO UPDATE SET phase = excluded.phase, filled = excluded.filled, \
                     modified_at = excluded.modified_at, attribution = excluded.attribution, body = excluded.body";
    rows::insert("notes", &columns, otherwise)
});
static EVENT: LazyLock<String> = LazyLock::new(|| {
    let columns = ["id", "unit", "at", "project_id", "item_id", "other_id", "verb", "principal", "attribution", "data"];
    rows::insert("events", &columns, "")
});

/// Projects, and the numbers their next items get. A project that exists keeps its number: that moves by itself.
pub(super) fn add_projects(script: &mut Script, changes: &ChangeSet) {
    script.put(&PROJECT, changes.projects.iter().map(project));
    script.put(&RULES, changes.projects.iter().map(rules));
    script.put(&SET_NUMBER, changes.next_numbers.iter().map(|(id, next)| vec![(*next).into(), id.as_uuid().into()]));
}

/// Edges: those that go, then those that come.
pub(super) fn add_edges(script: &mut Script, changes: &ChangeSet) {
    script.put("DELETE FROM edges WHERE id = ?", changes.removed_edges.iter().map(|id| vec![id.as_uuid().into()]));
    script.put(&EDGE, changes.new_edges.iter().map(edge));
}

/// Notes: those that go, then those that are written. A note written again keeps its id and its birthday.
pub(super) fn add_notes(script: &mut Script, changes: &ChangeSet) {
    script.put("DELETE FROM notes WHERE id = ?", changes.removed_notes.iter().map(|id| vec![id.as_uuid().into()]));
    script.put(&NOTE, changes.notes.iter().map(note));
}

/// Events, numbered in the order given.
pub(super) fn add_events(script: &mut Script, events: &[Event]) {
    script.put(&EVENT, events.iter().map(event));
}

/// The answer to keep; a few that have expired go.
pub(super) fn add_answer(script: &mut Script, answer: &StoredAnswer, now: Timestamp) {
    // They run out in the order of their keys. A limit as an expression: SQLite compiles a statement anew for each value of a
    // bare parameter that limits it.
    script.put(
        "DELETE FROM answers WHERE pk IN (SELECT pk FROM answers ORDER BY pk LIMIT (? + 0)) AND expires_at <= ?",
        [vec![ANSWERS_SWEPT.into(), now.as_millis().into()]],
    );
    script.put(
        "REPLACE INTO answers (principal, operation, request, digest, expires_at, answer) VALUES (?, ?, ?, ?, ?, ?)",
        [vec![
            answer.key.principal.as_str().into(),
            answer.key.operation.as_ref().into(),
            answer.key.request.as_str().into(),
            Value::Blob(answer.digest.to_vec()),
            answer.expires_at.as_millis().into(),
            Value::json(&answer.answer),
        ]],
    );
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
        project.archived_at.map(Timestamp::as_millis).into(),
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
