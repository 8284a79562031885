//! `remove`: items, notes, edges, links or knowledge, for good.

use docket_core::access::{Needs, REMOVES, Reach};
use docket_core::command::{Holding, Remove, RemoveEntries, RemoveLinks, RemoveNotes, Unlink};
use docket_core::model::{EdgeId, EntryId, ItemRef, LinkId, NoteId};
use docket_core::store::ProjectRef;
use docket_core::{Error, Reason};
use rmcp::model::{JsonObject, Tool};
use serde_json::{Map, Value, json};

use super::common::{Writer, project_of_item, say_one};
use super::error::{error_value, items_of};
use super::item_args::{own_fence, version};
use super::names::Names;
use super::schema::{self, Effect, flag, object, texts, whole};
use super::split::{Split, put};
use crate::answer::Answer;
use crate::args::{check_batch, name};
use crate::input::Fields;
use crate::session::Session;

const KNOWN: &[&str] = &[
    "items",
    "recursive",
    "version",
    "fence",
    "notes",
    "notesOf",
    "edges",
    "edgesOf",
    "links",
    "entries",
    "dryRun",
    "project",
    "actor",
    "requestId",
];
/// For the least that it can do; less than that is refused all of it, as it is offered none.
pub(super) const NEEDS: Needs = Needs::new(REMOVES, Reach::Item);
const NOTES_OF: &[&str] = &["id", "key"];
const EDGES_OF: &[&str] = &["id", "to"];

pub(super) fn tool() -> Tool {
    let properties = json!({
        "items": texts(), "recursive": flag(), "version": whole(), "fence": whole(),
        "notes": texts(), "notesOf": object("{id,key}"),
        "edges": texts(), "edgesOf": object("{id,to}"),
        "links": texts(), "entries": texts(),
        "dryRun": flag(),
    });
    let about = "Remove for good: items (recursive: with all beneath), notes, edges, links or knowledge entries by id, or those of an \
                 item. One kind a call, all or none.";
    schema::tool("remove", about, Effect::Destroys, properties, &[])
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    session.engine().may("remove", NEEDS)?;
    let writer = Writer::read(session, &mut fields)?;
    let kinds = ["items", "notes", "notesOf", "edges", "edgesOf", "links", "entries"];
    let given: Vec<&str> = kinds.into_iter().filter(|kind| fields.has(kind)).collect();
    let [kind] = given.as_slice() else {
        return Err(say_one("items", &kinds.join(", ")));
    };
    let dry = fields.flag("dryRun")?.unwrap_or(false);
    if dry && *kind != "items" {
        return Err(Error::validation(Reason::BadValue, "dryRun goes with items alone").at("dryRun"));
    }
    let project = project_of_item(session, &mut fields).await?;
    match *kind {
        "items" => items(session, &writer, project, &mut fields, dry).await,
        "notes" | "notesOf" => notes(session, &writer, project, &mut fields).await,
        "edges" | "edgesOf" => edges(session, &writer, project, &mut fields).await,
        "entries" => {
            let entries = some(&mut fields, "entries", str::parse::<EntryId>)?;
            fields.end()?;
            let removed = session.engine().run(writer.call(session), RemoveEntries { entries }).await?;
            Ok(count(removed.removed.len()))
        }
        _ => {
            let links = some(&mut fields, "links", str::parse::<LinkId>)?;
            let fence = own_fence(&mut fields)?;
            let removed = session.engine().run(writer.call(session), RemoveLinks { links, fence }).await?;
            Ok(count(removed.removed.len()))
        }
    }
}

async fn items(
    session: &Session,
    writer: &Writer,
    project: ProjectRef,
    fields: &mut Fields,
    dry: bool,
) -> Result<Answer, Error> {
    let items = some(fields, "items", str::parse::<ItemRef>)?;
    // They have no keys afterwards.
    let names = match session.engine().show(&project, &items, docket_core::store::Around::default()).await {
        Ok(seen) => Names::of(session, seen.items.into_keys().collect()).await,
        Err(_) => Names::default(),
    };
    let command = Remove {
        project,
        items,
        expected_version: version(fields)?,
        fence: own_fence(fields)?,
        recursive: fields.flag("recursive")?.unwrap_or(false),
        atomic: true,
    };
    let removed = if dry {
        session.engine().rehearse(writer.call(session), &command).await?
    } else {
        session.engine().run(writer.call(session), command).await?
    };
    let row = |done: &Result<docket_core::command::RemovedItem, Error>| {
        let mut told = Map::new();
        match done {
            Ok(gone) => {
                put(&mut told, "key", names.get(gone.item));
                put(&mut told, "descendants", Some(gone.descendants).filter(|count| *count > 0));
            }
            Err(error) => put(&mut told, "error", error_value(error, &names)),
        }
        Value::Object(told)
    };
    let mut split = Split::default();
    split.say("dryRun", dry.then_some(true));
    split.say("items", removed.items.iter().map(row).collect::<Vec<_>>());
    Ok(split.answer())
}

async fn notes(session: &Session, writer: &Writer, project: ProjectRef, fields: &mut Fields) -> Result<Answer, Error> {
    let fence = own_fence(fields)?;
    let (ids, of) = match fields.value("notesOf") {
        None => (some(fields, "notes", str::parse::<NoteId>)?, None),
        Some(value) => {
            let mut of = Fields::inside("notesOf", value, NOTES_OF)?;
            (Vec::new(), Some((of.need("id", str::parse::<ItemRef>)?, of.parsed("key", name)?)))
        }
    };
    let removed =
        session.engine().run(writer.call(session), RemoveNotes { project, ids, of, missing_ok: false, fence }).await?;
    let mut split = Split::default();
    split.trusted.insert("removed".to_owned(), json!(removed.removed));
    let names = Names::of(session, removed.failed.iter().flat_map(|(_, error)| items_of(error)).collect()).await;
    let failed = removed.failed.iter().map(|(id, error)| json!({ "id": id, "error": error_value(error, &names) }));
    split.say("failed", failed.collect::<Vec<_>>());
    Ok(split.answer())
}

async fn edges(session: &Session, writer: &Writer, project: ProjectRef, fields: &mut Fields) -> Result<Answer, Error> {
    let fence = own_fence(fields)?;
    let Some(value) = fields.value("edgesOf") else {
        // An edge has two ends, and a fence is that of one item.
        if fence.is_some() {
            let message = "fence does not go with edges: say edgesOf, with the item that you hold as id";
            return Err(Error::validation(Reason::BadValue, message).at("fence"));
        }
        let edges = some(fields, "edges", str::parse::<EdgeId>)?;
        let [edge] = edges.as_slice() else {
            let message = "edges must name one edge; edgesOf names all of an item, or those between two";
            return Err(Error::validation(Reason::BatchTooLarge, message).at("edges"));
        };
        let gone = session.engine().run(writer.call(session), Unlink::Edge(*edge)).await?;
        return Ok(count(gone.edges.len()));
    };
    let mut of = Fields::inside("edgesOf", value, EDGES_OF)?;
    let item = of.need("id", str::parse::<ItemRef>)?;
    let holding = fence.map(|fence| Holding { item: item.clone(), fence });
    let unlink = match of.parsed("to", str::parse::<ItemRef>)? {
        None => Unlink::Of { project, item, kind: None },
        Some(to) => Unlink::Between { project, from: item, to, kind: None, either_way: true },
    };
    Ok(count(session.engine().run(writer.call(session), unlink.held_by(holding)).await?.edges.len()))
}

/// A list of names with at least one entry.
fn some<T>(
    fields: &mut Fields,
    name: &str,
    parse: impl Fn(&str) -> Result<T, docket_core::Invalid>,
) -> Result<Vec<T>, Error> {
    let list = fields.texts(name, parse)?.unwrap_or_default();
    if list.is_empty() {
        return Err(Error::validation(Reason::TooFew, format!("{name} must not be empty")).at(name));
    }
    check_batch(name, list.len())?;
    Ok(list)
}

fn count(removed: usize) -> Answer {
    let mut split = Split::default();
    split.trusted.insert("removed".to_owned(), json!(removed));
    split.answer()
}
