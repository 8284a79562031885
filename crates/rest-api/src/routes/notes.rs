//! Notes on an item: keyed documents, one a key.

use axum::response::IntoResponse;
use docket_core::Error;
use docket_core::command::{ItemNotes, NotePut, PutNotes, RemoveNotes, WrittenNote};
use docket_core::model::{Fence, ItemRef, Note, Role, Text};
use docket_core::store::ProjectRef;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::answer::{Answer, note_out, ok, without_proof};
use crate::extract::{Idempotency, ItemPath, Json, NotePath, Query};
use crate::gate::Caller;

/// What a note says.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NoteBody {
    /// The text.
    body: Text,
    /// The phase it belongs to: queue, work or review. The schema's, else the item's own, where it is not said.
    phase: Option<Role>,
    /// The fence of the caller's claim.
    fence: Option<u64>,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct FenceQuery {
    /// The fence of the caller's claim.
    pub(super) fence: Option<u64>,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct NotesQuery {
    /// Where the page begins: what the page before gave as `nextCursor`.
    cursor: Option<String>,
}

/// Notes of an item, by key.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Notes)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NotePage {
    /// The notes.
    notes: Vec<Note>,
    /// How many the item has in all.
    total: u64,
    /// Where the next page begins; none on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// A note that was written.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = NoteWritten)]
pub(crate) struct NoteOut {
    /// The note.
    pub(crate) note: WrittenNote,
    /// What its item still owes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) owes: Option<ItemNotes>,
}

/// List an item's notes
///
/// By key, 200 on a page at the most; a page of long ones ends sooner.
#[utoipa::path(
    get, path = "/items/{id}/notes", tag = "notes",
    params(("id" = ItemRef, Path, description = "The item"), NotesQuery),
    responses((status = 200, description = "A page of whole notes", body = NotePage)),
)]
pub(crate) async fn list(caller: Caller, ItemPath(item): ItemPath, Query(query): Query<NotesQuery>) -> Answer {
    let page = caller.engine.note_page(&ProjectRef::Any, &item, query.cursor.as_deref()).await?;
    let notes = page.notes.into_iter().map(note_out).collect();
    ok(&NotePage { notes, total: page.total, next_cursor: page.next })
}

/// Show a note
#[utoipa::path(
    get, path = "/items/{id}/notes/{key}", tag = "notes",
    params(
        ("id" = ItemRef, Path, description = "The item"),
        ("key" = docket_core::model::Name, Path, description = "The note's name there"),
    ),
    responses((status = 200, description = "The note", body = Note)),
)]
pub(crate) async fn show(caller: Caller, NotePath(item, key): NotePath) -> Answer {
    let note = caller.engine.note_of(&ProjectRef::Any, &item, &key).await?;
    ok(&note_out(note.ok_or_else(|| no_note(&key))?))
}

/// Write a note
#[utoipa::path(
    put, path = "/items/{id}/notes/{key}", tag = "notes",
    params(
        ("id" = ItemRef, Path, description = "The item"),
        ("key" = docket_core::model::Name, Path, description = "The note's name there"),
    ),
    request_body(content = NoteBody, example = json!({"body": "The lexer gives tokens with their place."})),
    responses((status = 200, description = "Written", body = NoteOut)),
)]
pub(crate) async fn put(
    caller: Caller,
    NotePath(item, key): NotePath,
    Idempotency(request): Idempotency,
    Json(body): Json<NoteBody>,
) -> Answer {
    let note = NotePut { item, key, phase: body.phase, body: body.body, by: None, fence: body.fence.map(Fence) };
    let put = PutNotes { project: ProjectRef::Any, notes: vec![note], atomic: true };
    let mut put = caller.engine.run(caller.call(request), put).await?;
    let mut note = put.notes.pop().ok_or_else(|| Error::not_found("nothing was written"))??;
    without_proof(&mut note.by);
    let owes = put.items.remove(&note.item);
    ok(&NoteOut { note, owes })
}

/// Remove a note
#[utoipa::path(
    delete, path = "/items/{id}/notes/{key}", tag = "notes",
    params(
        ("id" = ItemRef, Path, description = "The item"),
        ("key" = docket_core::model::Name, Path, description = "The note's name there"),
        FenceQuery,
    ),
    responses((status = 204, description = "Gone")),
)]
pub(crate) async fn remove(
    caller: Caller,
    NotePath(item, key): NotePath,
    Idempotency(request): Idempotency,
    Query(query): Query<FenceQuery>,
) -> Answer {
    let remove = RemoveNotes {
        project: ProjectRef::Any,
        ids: Vec::new(),
        of: Some((item, Some(key.clone()))),
        missing_ok: false,
        fence: query.fence.map(Fence),
    };
    let removed = caller.engine.run(caller.call(request), remove).await?;
    if removed.removed == 0 {
        return Err(no_note(&key).into());
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn no_note(key: &docket_core::model::Name) -> Error {
    Error::not_found(format!("no note \"{}\" on this item", docket_core::echo(key.as_str()))).at("key")
}
