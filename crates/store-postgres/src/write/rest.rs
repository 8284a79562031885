//! Everything but items and their contracts: projects, edges, notes, events, stored answers.

use docket_core::model::{Edge, Event, ItemId, Note, Project, Timestamp};
use docket_core::store::code::Coded;
use docket_core::store::{ChangeSet, Slice, StoredAnswer};
use ulid::Ulid;
use uuid::Uuid;

use super::Writes;
use super::rows::{Cell, Column, Kind, Rows};
use crate::options::ANSWERS_SWEPT;
use crate::script::{Script, json};

const PROJECT: [Column; 8] = [
    ("id", Kind::Id),
    ("slug", Kind::Text),
    ("prefix", Kind::Text),
    ("name", Kind::Text),
    ("next_number", Kind::Int),
    ("version", Kind::Int),
    ("created_at", Kind::Int),
    ("archived_at", Kind::Int),
];
const RULES: [Column; 3] = [("project_id", Kind::Id), ("workflow", Kind::Json), ("schemas", Kind::Json)];
const NUMBER: [Column; 3] = [("id", Kind::Id), ("next_number", Kind::Int), ("read_number", Kind::Int)];
const EDGE: [Column; 7] = [
    ("id", Kind::Id),
    ("kind", Kind::Int),
    ("from_id", Kind::Id),
    ("to_id", Kind::Id),
    ("unblock_at", Kind::Int),
    ("inverse", Kind::Bool),
    ("created_at", Kind::Int),
];
const NOTE: [Column; 9] = [
    ("id", Kind::Id),
    ("item_id", Kind::Id),
    ("key", Kind::Text),
    ("phase", Kind::Int),
    ("filled", Kind::Bool),
    ("created_at", Kind::Int),
    ("modified_at", Kind::Int),
    ("attribution", Kind::Json),
    ("body", Kind::Text),
];
const EVENT: [Column; 10] = [
    ("id", Kind::Id),
    ("unit", Kind::Id),
    ("at", Kind::Int),
    ("project_id", Kind::Id),
    ("item_id", Kind::Id),
    ("other_id", Kind::Id),
    ("verb", Kind::Int),
    ("principal", Kind::Text),
    ("attribution", Kind::Json),
    ("data", Kind::Json),
];

/// Projects, and the numbers their next items get. A project that exists keeps its number unless a new one is given: two
/// units that would give the same number to two items are told apart by the number they read.
pub(super) fn add_projects(script: &mut Script, writes: &mut Writes, changes: &ChangeSet, seen: &Slice) {
    let numbered = |project: &Project| changes.next_numbers.contains_key(&project.id);
    for (rows, number) in [(true, "excluded.next_number"), (false, "projects.next_number")] {
        let projects = changes.projects.iter().filter(|project| numbered(project) == rows);
        let projects = projects.map(|project| {
            self::project(project, changes.next_numbers.get(&project.id).copied().unwrap_or(project.next_number))
        });
        if let Some(rows) = Rows::bind(script, &PROJECT, projects.collect()) {
            let otherwise = format!(
                "ON CONFLICT (id) DO UPDATE SET slug = excluded.slug, prefix = excluded.prefix, name = excluded.name, \
                 version = excluded.version, archived_at = excluded.archived_at, next_number = {number}"
            );
            writes.add(rows.insert("projects", &PROJECT, &otherwise));
        }
    }
    if let Some(rows) = Rows::bind(script, &RULES, changes.projects.iter().map(rules).collect()) {
        let otherwise =
            "ON CONFLICT (project_id) DO UPDATE SET workflow = excluded.workflow, schemas = excluded.schemas";
        writes.add(rows.insert("rules", &RULES, otherwise));
    }
    let alone = changes.next_numbers.iter().filter(|(id, _)| changes.projects.iter().all(|project| project.id != **id));
    let numbers: Vec<Vec<Cell>> = alone
        .map(|(id, next)| {
            let read = seen.next_numbers.get(id).copied().map(i64::from);
            vec![id.as_uuid().into(), (*next).into(), read.into()]
        })
        .collect();
    let count = numbers.len();
    if let Some(rows) = Rows::bind(script, &NUMBER, numbers) {
        let unchanged = "projects.next_number = coalesce(r.read_number, projects.next_number)";
        writes.add_counted(rows.update("projects", &NUMBER[1..2], unchanged), count);
    }
}

/// Edges: those that go and those that come.
pub(super) fn add_edges(script: &mut Script, writes: &mut Writes, changes: &ChangeSet) {
    if !changes.removed_edges.is_empty() {
        let ids = script.uuids(changes.removed_edges.iter().map(|id| id.as_uuid()));
        writes.add(format!("DELETE FROM edges WHERE id = ANY({ids})"));
    }
    if let Some(rows) = Rows::bind(script, &EDGE, changes.new_edges.iter().map(edge).collect()) {
        writes.add(rows.insert("edges", &EDGE, ""));
    }
}

/// Notes: those that go and those that are written. A note written again keeps its id and its birthday.
pub(super) fn add_notes(script: &mut Script, writes: &mut Writes, changes: &ChangeSet) {
    if !changes.removed_notes.is_empty() {
        let ids = script.uuids(changes.removed_notes.iter().map(|id| id.as_uuid()));
        writes.add(format!("DELETE FROM notes WHERE id = ANY({ids})"));
    }
    if let Some(rows) = Rows::bind(script, &NOTE, changes.notes.iter().map(note).collect()) {
        let otherwise = "ON CONFLICT (item_id, key) DO UPDATE SET phase = excluded.phase, filled = excluded.filled, \
                         modified_at = excluded.modified_at, attribution = excluded.attribution, body = excluded.body";
        writes.add(rows.insert("notes", &NOTE, otherwise));
    }
}

/// Events, numbered in the order given, after it was announced that numbers will be taken.
pub(super) fn add_events(script: &mut Script, writes: &mut Writes, events: &[Event]) {
    if let Some(rows) = Rows::bind(script, &EVENT, events.iter().map(event).collect()) {
        // A row of the join exists only after both sides were computed, and its number is taken after that.
        let announced = "(SELECT docket_announce() AS done OFFSET 0) a CROSS JOIN";
        writes.add(rows.insert_after("events", &EVENT, announced, ""));
    }
}

/// The answer to keep; a few that have expired go, unless another transaction is at them.
pub(super) fn add_answer(script: &mut Script, writes: &mut Writes, answer: &StoredAnswer, now: Timestamp) {
    let (now, swept) = (script.int(now.as_millis()), Script::limit(ANSWERS_SWEPT));
    let principal = script.text(answer.key.principal.as_str());
    let operation = script.text(answer.key.operation.as_ref());
    let request = script.text(answer.key.request.as_str());
    let key = format!("({principal}, {operation}, {request})");
    writes.add(format!(
        "DELETE FROM answers WHERE ctid = ANY (ARRAY (SELECT ctid FROM answers WHERE expires_at <= {now} \
         AND (principal, operation, request) <> {key} LIMIT {swept} FOR UPDATE SKIP LOCKED))"
    ));
    let digest = script.bytes(answer.digest);
    let expires_at = script.int(answer.expires_at.as_millis());
    let answer = script.text(json(&answer.answer));
    writes.add(format!(
        "INSERT INTO answers (principal, operation, request, digest, expires_at, answer) \
         VALUES ({principal}, {operation}, {request}, {digest}, {expires_at}, {answer}) \
         ON CONFLICT (principal, operation, request) DO UPDATE SET digest = excluded.digest, \
         expires_at = excluded.expires_at, answer = excluded.answer"
    ));
}

fn project(project: &Project, next_number: u32) -> Vec<Cell> {
    vec![
        project.id.as_uuid().into(),
        project.slug.as_str().into(),
        project.prefix.as_str().into(),
        project.name.as_str().into(),
        next_number.into(),
        project.version.into(),
        project.created_at.as_millis().into(),
        project.archived_at.map(Timestamp::as_millis).into(),
    ]
}

fn rules(project: &Project) -> Vec<Cell> {
    vec![project.id.as_uuid().into(), json(&project.workflow).into(), json(&project.schemas).into()]
}

fn edge(edge: &Edge) -> Vec<Cell> {
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

fn note(note: &Note) -> Vec<Cell> {
    vec![
        note.id.as_uuid().into(),
        note.item.as_uuid().into(),
        note.key.as_str().into(),
        note.phase.code().into(),
        (!note.body.is_blank()).into(),
        note.created_at.as_millis().into(),
        note.modified_at.as_millis().into(),
        note.by.as_ref().map(json).into(),
        note.body.as_str().into(),
    ]
}

fn event(event: &Event) -> Vec<Cell> {
    let bytes = |id: Ulid| Cell::from(Uuid::from_u128(id.0));
    vec![
        bytes(event.id.0),
        bytes(event.unit.0),
        event.at.as_millis().into(),
        event.project.as_uuid().into(),
        event.item.map(ItemId::as_uuid).into(),
        event.other.map(ItemId::as_uuid).into(),
        event.verb.code().into(),
        event.principal.as_str().into(),
        event.by.as_ref().map(json).into(),
        json(&event.data).into(),
    ]
}
