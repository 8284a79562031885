//! `annotate`: what is said beside an item: a note, a comment with links, an edge, or a flag for somebody's attention.

use docket_core::command::{EdgeSpec, Edit, Holding, Link, NotePut, Patch, PutNotes, Remark};
use docket_core::model::{EdgeKind, ItemRef, Text};
use docket_core::store::ProjectRef;
use docket_core::{Error, Reason};
use rmcp::model::{JsonObject, Tool};
use serde_json::{Map, Value, json};

use super::common::{Writer, need_item, project_of_item, say_one};
use super::error::{error_value, items_of};
use super::item_args::{links, own_fence};
use super::names::Names;
use super::schema::{self, Effect, objects, text, whole};
use super::split::{Split, put};
use crate::answer::Answer;
use crate::args::{PHASES, THRESHOLDS, check_batch, long_text, name, role_of};
use crate::input::Fields;
use crate::session::Session;

const KNOWN: &[&str] =
    &["id", "notes", "comment", "links", "edges", "attention", "fence", "project", "actor", "requestId"];
const NOTE: &[&str] = &["key", "phase", "body"];
const EDGE: &[&str] = &["to", "from", "kind", "unblockAt"];

pub(super) fn tool() -> Tool {
    let properties = json!({
        "id": text(),
        "notes": objects("{key,phase,body}; one a key"),
        "comment": text(),
        "links": objects("{kind,ref,url,title}"),
        "edges": objects("{to|from,kind:blocks|relates-to|supersedes|duplicate-of,unblockAt:role}"),
        "attention": { "type": ["string", "null"] },
        "fence": whole(),
    });
    let about = "Say something about an item, one kind a call: notes, comment and links, edges, or attention (why a \
                 person must look; null clears).";
    schema::tool("annotate", about, Effect::Writes, properties, &["id"])
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    let writer = Writer::read(session, &mut fields)?;
    let item = need_item(&mut fields)?;
    let remark = fields.has("comment") || fields.has("links");
    let said = [fields.has("notes"), remark, fields.has("edges"), fields.has("attention")];
    if said.iter().filter(|given| **given).count() != 1 {
        return Err(say_one("notes", "notes, comment and links, edges, attention"));
    }
    let project = project_of_item(session, &mut fields).await?;
    match said {
        [true, ..] => notes(session, &writer, project, item, &mut fields).await,
        [_, true, ..] => comment(session, &writer, project, item, &mut fields).await,
        [_, _, true, _] => edges(session, &writer, project, item, &mut fields).await,
        [..] => attention(session, &writer, project, item, &mut fields).await,
    }
}

async fn notes(
    session: &Session,
    writer: &Writer,
    project: ProjectRef,
    item: ItemRef,
    fields: &mut Fields,
) -> Result<Answer, Error> {
    let fence = own_fence(fields)?;
    let list = some(fields, "notes")?;
    let read = |(index, value): (usize, Value)| {
        let mut note = Fields::inside(&format!("notes[{index}]"), value, NOTE)?;
        let body = note.raw_text("body")?.ok_or_else(|| note.missing("body"))?;
        Ok(NotePut {
            item: item.clone(),
            key: note.need("key", name)?,
            phase: note.parsed("phase", role_of(PHASES))?,
            body: Text::parse(&body).map_err(|invalid| Error::from(invalid.at(&note.at("body"))))?,
            by: None,
            fence,
        })
    };
    let notes = list.into_iter().enumerate().map(read).collect::<Result<_, Error>>()?;
    fields.end()?;
    let put_notes = PutNotes { project, notes, atomic: true };
    let done = session.engine().run(writer.call(session), put_notes).await?;
    let mentioned: Vec<_> = done.notes.iter().filter_map(|note| note.as_ref().err()).flat_map(items_of).collect();
    let names = Names::of(session, mentioned).await;
    let rows = done.notes.iter().map(|note| {
        let mut told = Map::new();
        match note {
            Ok(note) => {
                put(&mut told, "id", note.id);
                put(&mut told, "phase", note.phase);
                put(&mut told, "tooLong", note.warning.is_some().then_some(true));
            }
            Err(error) => put(&mut told, "error", error_value(error, &names)),
        }
        Value::Object(told)
    });
    let mut split = Split::default();
    split.say("notes", rows.collect::<Vec<_>>());
    let progress = done.items.values().find_map(|item| item.guide.progress);
    split.say("missing", progress.map(|progress| progress.remaining).filter(|remaining| *remaining > 0));
    Ok(split.answer())
}

async fn comment(
    session: &Session,
    writer: &Writer,
    project: ProjectRef,
    item: ItemRef,
    fields: &mut Fields,
) -> Result<Answer, Error> {
    let remark = Remark {
        project,
        item,
        comment: fields.parsed("comment", long_text)?,
        links: links(fields)?,
        fence: own_fence(fields)?,
    };
    fields.end()?;
    let remarked = session.engine().run(writer.call(session), remark).await?;
    let mut split = Split::default();
    split.say("comment", remarked.comment);
    split.say("links", remarked.links);
    Ok(split.answer())
}

async fn edges(
    session: &Session,
    writer: &Writer,
    project: ProjectRef,
    item: ItemRef,
    fields: &mut Fields,
) -> Result<Answer, Error> {
    let holding = own_fence(fields)?.map(|fence| Holding { item: item.clone(), fence });
    let list = some(fields, "edges")?;
    let read = |(index, value): (usize, Value)| {
        let mut edge = Fields::inside(&format!("edges[{index}]"), value, EDGE)?;
        let (to, from) = (edge.parsed("to", str::parse::<ItemRef>)?, edge.parsed("from", str::parse::<ItemRef>)?);
        let (from, to) = match (from, to) {
            (None, Some(to)) => (item.clone(), to),
            (Some(from), None) => (from, item.clone()),
            (Some(_), Some(_)) | (None, None) => return Err(say_one(&edge.at("to"), "to and from")),
        };
        Ok(EdgeSpec {
            from,
            to,
            kind: edge.parsed("kind", str::parse::<EdgeKind>)?.unwrap_or(EdgeKind::Blocks),
            unblock_at: edge.parsed("unblockAt", role_of(THRESHOLDS))?,
            inverse: false,
        })
    };
    let edges = list.into_iter().enumerate().map(read).collect::<Result<_, Error>>()?;
    fields.end()?;
    let linked = session.engine().run(writer.call(session), Link { project, edges, holding }).await?;
    let mut split = Split::default();
    split.say("edges", linked.edges.iter().map(|edge| edge.id).collect::<Vec<_>>());
    Ok(split.answer())
}

async fn attention(
    session: &Session,
    writer: &Writer,
    project: ProjectRef,
    item: ItemRef,
    fields: &mut Fields,
) -> Result<Answer, Error> {
    let patch =
        Patch { attention: fields.change("attention", long_text)?, fence: own_fence(fields)?, ..Patch::of(item) };
    fields.end()?;
    let edit = Edit { project, patches: vec![patch], atomic: true };
    let edited = session.engine().run(writer.call(session), edit).await?;
    let item = edited.items.into_iter().next();
    let item = item.unwrap_or_else(|| Err(Error::conflict(Reason::StoreFailed, "the change was not decided")))?;
    let mut split = Split::default();
    split.say("needsAttention", item.attention.is_some());
    split.say("version", item.version);
    Ok(split.answer())
}

/// A list with at least one entry.
fn some(fields: &mut Fields, name: &str) -> Result<Vec<Value>, Error> {
    let list = fields.list(name)?.unwrap_or_default();
    if list.is_empty() {
        return Err(Error::validation(Reason::TooFew, format!("{name} must not be empty")).at(name));
    }
    check_batch(name, list.len())?;
    Ok(list)
}
