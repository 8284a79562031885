//! `query_notes`: one note, or the notes of an item.

use docket_core::model::{ItemId, ItemRef, Name, Note, NoteId, Role, Timestamp};
use docket_core::{Code, Error};
use rmcp::model::{JsonObject, Tool};
use serde::Serialize;
use serde_json::json;

use super::args::{PHASES, end, item_ref, one_of, role_of};
use super::render::Actor;
use super::schema::{self, Effect, count, flag, object, rows, text, word, word_out};
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

const KNOWN: &[&str] = &["operation", "id", "itemId", "role", "includeBody"];

#[derive(Clone, Copy)]
enum Operation {
    Get,
    List,
}

const OPERATIONS: &[(&str, Operation)] = &[("get", Operation::Get), ("list", Operation::List)];

pub(super) fn tool() -> Tool {
    let input = object(
        json!({
            "operation": word(&["get", "list"], ""),
            "id": text("get: note UUID"),
            "itemId": text("list: the item"),
            "role": word(&["queue", "work", "review"], "list: only this phase"),
            "includeBody": flag("list: default true; false saves tokens"),
        }),
        &["operation"],
    );
    let output = json!({ "notes": rows(), "total": count(), "id": word_out(), "key": word_out(), "body": word_out() });
    schema::tool("query_notes", "Read one note, or the notes of an item.", Effect::Reads, input, output)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NoteRow<'a> {
    id: NoteId,
    item_id: ItemId,
    key: &'a Name,
    role: Role,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'a str>,
    created_at: Timestamp,
    modified_at: Timestamp,
    #[serde(flatten)]
    by: Actor<'a>,
}

impl<'a> NoteRow<'a> {
    fn of(note: &'a Note, body: bool) -> Self {
        Self {
            id: note.id,
            item_id: note.item,
            key: &note.key,
            role: note.phase,
            body: body.then(|| note.body.as_str()),
            created_at: note.created_at,
            modified_at: note.modified_at,
            by: Actor::of(note.by.as_ref()),
        }
    }
}

#[derive(Serialize)]
struct ListAnswer<'a> {
    notes: Vec<NoteRow<'a>>,
    total: usize,
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    match fields.need("operation", one_of(OPERATIONS))? {
        Operation::Get => {
            let id = fields.need("id", str::parse::<NoteId>)?;
            end(&mut fields)?;
            let note = session.engine().note(id).await?;
            Ok(Answer::of(&NoteRow::of(&note, true)))
        }
        Operation::List => list(session, fields).await,
    }
}

async fn list(session: &Session, mut fields: Fields) -> Result<Answer, Error> {
    let item = fields.need("itemId", item_ref)?;
    let phase = fields.parsed("role", role_of(PHASES))?;
    let body = fields.flag("includeBody")?.unwrap_or(true);
    end(&mut fields)?;
    let notes =
        none_of_unknown(&item, session.engine().notes_of(session.project(), &item).await.map(|(_, notes)| notes))?;
    let of_phase = |note: &&Note| phase.is_none_or(|phase| note.phase == phase);
    let notes: Vec<NoteRow<'_>> = notes.iter().filter(of_phase).map(|note| NoteRow::of(note, body)).collect();
    Ok(Answer::of(&ListAnswer { total: notes.len(), notes }))
}

/// Nothing belongs to an item that is not there: a list about a full id that names none is empty, not an error.
pub(super) fn none_of_unknown<T: Default>(item: &ItemRef, found: Result<T, Error>) -> Result<T, Error> {
    match (item, found) {
        (ItemRef::Id(_), Err(error)) if error.code == Code::NotFound => Ok(T::default()),
        (ItemRef::Id(_) | ItemRef::Key(_) | ItemRef::Prefix(_), found) => found,
    }
}
