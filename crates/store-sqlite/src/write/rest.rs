//! Everything but items: projects, edges, notes, events, stored answers.

use docket_core::model::{Attribution, Event, Timestamp};
use docket_core::store::{ChangeSet, StoredAnswer};
use docket_core::workflow::{Schemas, Workflow};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use crate::options::ANSWERS_SWEPT;
use crate::row::code::Coded;
use crate::script::{Hex, Script};

#[derive(Serialize)]
struct ProjectRow<'c> {
    id: Hex,
    slug: &'c str,
    prefix: &'c str,
    name: &'c str,
    next_number: u32,
    version: u64,
    created_at: i64,
    workflow: &'c Workflow,
    schemas: &'c Schemas,
}

#[derive(Serialize)]
struct EdgeRow {
    id: Hex,
    kind: i64,
    from_id: Hex,
    to_id: Hex,
    unblock_at: Option<i64>,
    inverse: bool,
    created_at: i64,
}

#[derive(Serialize)]
struct NoteRow<'c> {
    id: Hex,
    item_id: Hex,
    key: &'c str,
    phase: i64,
    filled: bool,
    created_at: i64,
    modified_at: i64,
    attribution: Option<&'c Attribution>,
    body: &'c str,
}

#[derive(Serialize)]
struct EventRow<'c> {
    id: Hex,
    unit: Hex,
    at: i64,
    project_id: Hex,
    item_id: Option<Hex>,
    other_id: Option<Hex>,
    verb: i64,
    principal: &'c str,
    attribution: Option<&'c Attribution>,
    data: &'c Value,
}

/// Projects, and the numbers their next items get. A project that exists keeps its number: that moves by itself.
pub(super) fn add_projects(script: &mut Script, changes: &ChangeSet) {
    if !changes.projects.is_empty() {
        let rows: Vec<ProjectRow<'_>> = changes
            .projects
            .iter()
            .map(|project| ProjectRow {
                id: Hex(project.id.as_uuid()),
                slug: project.slug.as_str(),
                prefix: project.prefix.as_str(),
                name: project.name.as_str(),
                next_number: project.next_number,
                version: project.version,
                created_at: project.created_at.as_millis(),
                workflow: &project.workflow,
                schemas: &project.schemas,
            })
            .collect();
        let rows = script.json(&rows);
        script.add(&format!(
            "INSERT INTO projects (id, slug, prefix, name, next_number, version, created_at) \
             SELECT unhex(j.value ->> 'id'), j.value ->> 'slug', j.value ->> 'prefix', j.value ->> 'name', \
             j.value ->> 'next_number', j.value ->> 'version', j.value ->> 'created_at' FROM jsonb_each({rows}) j \
             WHERE true ON CONFLICT (id) DO UPDATE SET slug = excluded.slug, prefix = excluded.prefix, \
             name = excluded.name, version = excluded.version"
        ));
        script.add(&format!(
            "INSERT INTO rules (project_id, workflow, schemas) \
             SELECT unhex(j.value ->> 'id'), j.value -> 'workflow', j.value -> 'schemas' FROM jsonb_each({rows}) j \
             WHERE true ON CONFLICT (project_id) DO UPDATE SET workflow = excluded.workflow, schemas = excluded.schemas"
        ));
    }
    if !changes.next_numbers.is_empty() {
        let rows: Vec<(Hex, u32)> = changes.next_numbers.iter().map(|(id, next)| (Hex(id.as_uuid()), *next)).collect();
        let rows = script.json(&rows);
        script.add(&format!(
            "UPDATE projects SET next_number = j.value ->> 1 FROM jsonb_each({rows}) j \
             WHERE projects.id = unhex(j.value ->> 0)"
        ));
    }
}

/// Edges: those that go, then those that come.
pub(super) fn add_edges(script: &mut Script, changes: &ChangeSet) {
    if !changes.removed_edges.is_empty() {
        let ids = script.uuids(changes.removed_edges.iter().map(|id| id.as_uuid()));
        script.add(&format!("DELETE FROM edges WHERE id IN (SELECT unhex(value) FROM json_each({ids}))"));
    }
    if changes.new_edges.is_empty() {
        return;
    }
    let rows: Vec<EdgeRow> = changes
        .new_edges
        .iter()
        .map(|edge| EdgeRow {
            id: Hex(edge.id.as_uuid()),
            kind: edge.kind.code(),
            from_id: Hex(edge.from.as_uuid()),
            to_id: Hex(edge.to.as_uuid()),
            unblock_at: edge.unblock_at.map(Coded::code),
            inverse: edge.inverse,
            created_at: edge.created_at.as_millis(),
        })
        .collect();
    let rows = script.json(&rows);
    script.add(&format!(
        "INSERT INTO edges (id, kind, from_id, to_id, unblock_at, inverse, created_at) \
         SELECT unhex(j.value ->> 'id'), j.value ->> 'kind', unhex(j.value ->> 'from_id'), unhex(j.value ->> 'to_id'), \
         j.value ->> 'unblock_at', j.value ->> 'inverse', j.value ->> 'created_at' FROM jsonb_each({rows}) j ORDER BY j.key"
    ));
}

/// Notes: those that go, then those that are written. A note written again keeps its id and its birthday.
pub(super) fn add_notes(script: &mut Script, changes: &ChangeSet) {
    if !changes.removed_notes.is_empty() {
        let ids = script.uuids(changes.removed_notes.iter().map(|id| id.as_uuid()));
        script.add(&format!("DELETE FROM notes WHERE id IN (SELECT unhex(value) FROM json_each({ids}))"));
    }
    if changes.notes.is_empty() {
        return;
    }
    let rows: Vec<NoteRow<'_>> = changes
        .notes
        .iter()
        .map(|note| NoteRow {
            id: Hex(note.id.as_uuid()),
            item_id: Hex(note.item.as_uuid()),
            key: note.key.as_str(),
            phase: note.phase.code(),
            filled: !note.body.is_blank(),
            created_at: note.created_at.as_millis(),
            modified_at: note.modified_at.as_millis(),
            attribution: note.by.as_ref(),
            body: note.body.as_str(),
        })
        .collect();
    let rows = script.json(&rows);
    script.add(&format!(
        "INSERT INTO notes (id, item_id, key, phase, filled, created_at, modified_at, attribution, body) \
         SELECT unhex(j.value ->> 'id'), unhex(j.value ->> 'item_id'), j.value ->> 'key', j.value ->> 'phase', \
         j.value ->> 'filled', j.value ->> 'created_at', j.value ->> 'modified_at', j.value ->> 'attribution', \
         j.value ->> 'body' FROM jsonb_each({rows}) j WHERE true ON CONFLICT (item_id, key) DO UPDATE SET \
         phase = excluded.phase, filled = excluded.filled, modified_at = excluded.modified_at, \
         attribution = excluded.attribution, body = excluded.body"
    ));
}

/// Events, numbered in the order given.
pub(super) fn add_events(script: &mut Script, events: &[Event]) {
    let ulid = |id: ulid::Ulid| Hex(Uuid::from_u128(id.0));
    let rows: Vec<EventRow<'_>> = events
        .iter()
        .map(|event| EventRow {
            id: ulid(event.id.0),
            unit: ulid(event.unit.0),
            at: event.at.as_millis(),
            project_id: Hex(event.project.as_uuid()),
            item_id: event.item.map(|id| Hex(id.as_uuid())),
            other_id: event.other.map(|id| Hex(id.as_uuid())),
            verb: event.verb.code(),
            principal: event.principal.as_str(),
            attribution: event.by.as_ref(),
            data: &event.data,
        })
        .collect();
    let rows = script.json(&rows);
    script.add(&format!(
        "INSERT INTO events (id, unit, at, project_id, item_id, other_id, verb, principal, attribution, data) \
         SELECT unhex(j.value ->> 'id'), unhex(j.value ->> 'unit'), j.value ->> 'at', unhex(j.value ->> 'project_id'), \
         unhex(j.value ->> 'item_id'), unhex(j.value ->> 'other_id'), j.value ->> 'verb', j.value ->> 'principal', \
         j.value ->> 'attribution', j.value -> 'data' FROM jsonb_each({rows}) j ORDER BY j.key"
    ));
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
