//! `manage_notes`: writes notes by item and key, and removes them.

use std::collections::BTreeMap;

use docket_core::command::{NotePut, PutNotes, RemoveNotes, WrittenNote};
use docket_core::model::{Attribution, ItemId, Name, NoteId, RequestId, Role, Text};
use docket_core::workflow::{Guide, NoteProgress};
use docket_core::{Error, Reason, echo};
use rmcp::model::{JsonObject, Tool};
use serde::Serialize;
use serde_json::{Value, json};

use super::args::{
    NOTE_KEY_CHARS, PHASES, Sorted, actor, at_most, check_batch, end, fence, item_ref, name, need_batch, no_fence,
    one_of, request_id, role_of, sort_out,
};
use super::render::{Actor, FailedAt, FailedId};
use super::schema::{self, Effect, count, list, object, rows, shape, short_text, text, texts, whole, word};
use crate::answer::Answer;
use crate::input::{Fields, wrong_type};
use crate::session::Session;

const KNOWN: &[&str] = &["operation", "notes", "ids", "itemId", "key", "fence", "actor", "requestId"];
const NOTE: &[&str] = &["itemId", "key", "role", "body", "actor", "fence"];

#[derive(Clone, Copy)]
enum Operation {
    Upsert,
    Delete,
}

const OPERATIONS: &[(&str, Operation)] = &[("upsert", Operation::Upsert), ("delete", Operation::Delete)];

pub(super) fn tool() -> Tool {
    let note = json!({
        "itemId": text(""),
        "key": short_text(NOTE_KEY_CHARS, "to 255 bytes"),
        "role": word(&["queue", "work", "review"], "the phase it belongs to"),
        "body": text(""),
        "actor": schema::actor(""),
        "fence": schema::fence(),
    });
    let input = object(
        json!({
            "operation": word(&["upsert", "delete"], ""),
            "notes": list(&object(note, &["itemId", "key", "role"]), "upsert"),
            "ids": texts("delete: note UUIDs"),
            "itemId": text("delete: all notes of this item"),
            "key": text("delete: with itemId, only this note"),
            "fence": whole(0, None, "delete: from your claim on their item"),
            "actor": schema::actor("of all notes that name none"),
            "requestId": schema::request_id(),
        }),
        &["operation"],
    );
    let output = json!({
        "notes": rows(), "upserted": count(), "deleted": count(), "failed": count(), "failures": rows(), "itemContext": shape(),
    });
    let about = "Write notes (one per item and key; writing again replaces the body and keeps the id) or delete them. The answer says \
                 what each item's phase still needs.";
    schema::tool("manage_notes", about, Effect::Destroys, input, output)
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    let operation = fields.need("operation", one_of(OPERATIONS))?;
    let request = request_id(&mut fields)?;
    let by = actor(session, &mut fields, "actor")?;
    match operation {
        Operation::Upsert => upsert(session, fields, by, request).await,
        Operation::Delete => delete(session, fields, by, request).await,
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UpsertAnswer<'a> {
    notes: Vec<WrittenRow<'a>>,
    upserted: usize,
    failed: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failures: Vec<FailedAt>,
    item_context: BTreeMap<ItemId, ContextRow<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WrittenRow<'a> {
    id: NoteId,
    item_id: ItemId,
    key: &'a Name,
    role: Role,
    #[serde(flatten)]
    by: Actor<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ContextRow<'a> {
    guidance_pointer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skill_pointer: Option<&'a str>,
    note_progress: Option<NoteProgress>,
}

async fn upsert(
    session: &Session,
    mut fields: Fields,
    by: Option<Attribution>,
    request: Option<RequestId>,
) -> Result<Answer, Error> {
    no_fence(&mut fields, "each entry of notes has its own")?;
    let entries = need_batch(&mut fields, "notes")?;
    end(&mut fields)?;
    for (index, entry) in entries.iter().enumerate() {
        let stated = by.is_some() || entry.get("actor").is_some_and(|actor| !actor.is_null());
        session.check_stated(stated, || format!("notes[{index}].actor"))?;
    }
    let Sorted { good, bad: mut failures } =
        sort_out(entries.into_iter().enumerate().map(|(index, value)| read_note(session, index, value)));
    let (places, notes): (Vec<usize>, Vec<NotePut>) = good.into_iter().unzip();
    let mut written: Vec<WrittenNote> = Vec::with_capacity(notes.len());
    let mut contexts = BTreeMap::new();
    if !notes.is_empty() {
        let call = session.call_of_parts(by, notes.first().and_then(|note| note.by.as_ref()), request);
        let command = PutNotes { project: session.project().clone(), notes, atomic: false };
        let put = session.engine().run(call, command).await?;
        contexts = put.items;
        for (place, result) in places.into_iter().zip(put.notes) {
            match result {
                Ok(note) => written.push(note),
                Err(error) => failures.push((place, error)),
            }
        }
    }
    let notes: Vec<WrittenRow<'_>> = written.iter().map(written_row).collect();
    let item_context = contexts.iter().map(|(id, item)| (*id, context_row(&item.guide))).collect();
    Ok(Answer::of(&UpsertAnswer {
        upserted: notes.len(),
        notes,
        failed: failures.len(),
        failures: FailedAt::list(failures),
        item_context,
    }))
}

fn written_row(note: &WrittenNote) -> WrittenRow<'_> {
    WrittenRow {
        id: note.id,
        item_id: note.item,
        key: &note.key,
        role: note.phase,
        by: Actor::of(note.by.as_ref()),
        warning: note.warning.as_deref(),
    }
}

fn context_row(guide: &Guide) -> ContextRow<'_> {
    ContextRow {
        guidance_pointer: guide.guidance.as_deref(),
        skill_pointer: guide.skill.as_deref(),
        note_progress: guide.progress,
    }
}

fn read_note(session: &Session, index: usize, value: Value) -> Result<NotePut, Error> {
    let mut note = Fields::inside(&format!("notes[{index}]"), value, NOTE)?;
    let item = note.need("itemId", item_ref)?;
    let key = note.need("key", at_most(NOTE_KEY_CHARS, name))?;
    let phase = Some(note.need("role", role_of(PHASES))?);
    let body = note.raw_text("body")?.unwrap_or_default();
    let body = Text::parse(&body).map_err(|invalid| invalid.at(&note.at("body")))?;
    Ok(NotePut { item, key, phase, body, by: actor(session, &mut note, "actor")?, fence: fence(&mut note)? })
}

#[derive(Serialize)]
struct DeleteAnswer {
    deleted: usize,
    failed: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failures: Vec<FailedId>,
}

async fn delete(
    session: &Session,
    mut fields: Fields,
    by: Option<Attribution>,
    request: Option<RequestId>,
) -> Result<Answer, Error> {
    let entries = fields.list("ids")?.unwrap_or_default();
    check_batch("ids", entries.len())?;
    let item = fields.parsed("itemId", item_ref)?;
    let key = fields.parsed("key", name)?;
    let fence = fence(&mut fields)?;
    end(&mut fields)?;
    if entries.is_empty() && item.is_none() {
        let hint = if key.is_some() { "key needs itemId" } else { "give ids or itemId" };
        return Err(Error::validation(Reason::MissingField, format!("nothing to delete: {hint}")).at("ids"));
    }
    if key.is_some() && item.is_none() {
        return Err(Error::validation(Reason::MissingField, "key needs itemId: it narrows no ids").at("itemId"));
    }
    let mut failures: Vec<FailedId> = Vec::new();
    let mut ids: Vec<NoteId> = Vec::with_capacity(entries.len());
    for (index, value) in entries.iter().enumerate() {
        match read_note_id(index, value) {
            Ok(id) => ids.push(id),
            Err(error) => {
                let id = value.as_str().map_or_else(|| "unknown".to_owned(), echo);
                failures.push(FailedId { id, error: error.message });
            }
        }
    }
    let mut deleted = 0;
    let of = item.map(|item| (item, key));
    if !ids.is_empty() || of.is_some() {
        let command = RemoveNotes { project: session.project().clone(), ids, of, missing_ok: true, fence };
        let removed = session.engine().run(session.call(by, request), command).await?;
        deleted = removed.removed;
        let failed = removed.failed.into_iter();
        failures.extend(failed.map(|(id, error)| FailedId { id: id.to_string(), error: error.message }));
    }
    Ok(Answer::of(&DeleteAnswer { deleted, failed: failures.len(), failures }))
}

fn read_note_id(index: usize, value: &Value) -> Result<NoteId, Error> {
    let field = format!("ids[{index}]");
    let Value::String(text) = value else { return Err(wrong_type(&field, "a string", value)) };
    text.parse().map_err(|invalid: docket_core::Invalid| invalid.at(&field).into())
}
