//! `create_work_tree`: a root, its children, the dependencies between them and their notes, all or nothing.

use docket_core::command::{Create, Created, CreatedItem, End, NewEdge, NewItem, NewNote, Parent};
use docket_core::model::{EdgeId, ItemId, Key, Name, NoteId, Role, Text};
use docket_core::{Error, Reason, echo, limits};
use rmcp::model::{JsonObject, Tool};
use serde::Serialize;
use serde_json::{Value, json};

use super::args::{
    NOTE_KEY_CHARS, PHASES, THRESHOLDS, actor, at_most, check_many, item_ref, name, one_of, request_id, role_of,
};
use super::item_args::{CHILD, ROOT, new_item};
use super::manage_dependencies::{DependencyType, TYPES};
use super::manage_items::item_fields;
use super::render::{Expected, expected, tags};
use super::schema::{self, Effect, flag, list, object, rows, shape, text, word};
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

const KNOWN: &[&str] = &["root", "parentId", "children", "deps", "createNotes", "notes", "actor", "requestId"];
const DEP: &[&str] = &["from", "to", "type", "unblockAt"];
const NOTE: &[&str] = &["itemRef", "key", "role", "body"];

/// The local name of the root.
const ROOT_REF: &str = "root";

/// Most children of one call: its root counts too.
const CHILDREN: usize = limits::BATCH - 1;

pub(super) fn tool() -> Tool {
    let mut child = item_fields();
    child["ref"] = text("its name in deps and notes");
    let dep = json!({
        "from": text(""), "to": text(""),
        "type": word(&["BLOCKS", "IS_BLOCKED_BY", "RELATES_TO"], "default BLOCKS"),
        "unblockAt": word(&["queue", "work", "review", "terminal"], ""),
    });
    let note = json!({
        "itemRef": text(""), "key": text(""), "role": word(&["queue", "work", "review"], ""), "body": text(""),
    });
    let input = object(
        json!({
            "root": object(item_fields(), &["title"]),
            "parentId": text("an item to plant the tree beneath"),
            "children": list(&object(child, &["ref", "title"]), ""),
            "deps": list(&object(dep, &["from", "to"]), "between refs; \"root\" is the root"),
            "createNotes": flag("also a blank note for each that a schema knows"),
            "notes": list(&object(note, &["itemRef", "key", "role"]), "with their text; role must be the schema's"),
            "actor": schema::actor("recorded on the notes"),
            "requestId": schema::request_id(),
        }),
        &["root"],
    );
    let output = json!({ "root": shape(), "children": rows(), "dependencies": rows(), "notes": rows() });
    let about =
        "Create a root item with children, dependencies and notes in one atomic call. All items start in queue.";
    schema::tool("create_work_tree", about, Effect::Writes, input, output)
}

/// A dependency as the caller wrote it, for the answer.
struct Written {
    from: String,
    to: String,
    kind: DependencyType,
    unblock_at: Option<Role>,
}

#[derive(Serialize)]
struct TreeAnswer<'a> {
    root: Option<TreeRow<'a>>,
    children: Vec<TreeRow<'a>>,
    dependencies: Vec<DepRow<'a>>,
    notes: Vec<NoteRow<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TreeRow<'a> {
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    local: Option<&'a str>,
    id: ItemId,
    key: &'a Key,
    title: &'a str,
    role: Role,
    depth: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    tags: Option<String>,
    schema_match: bool,
    expected_notes: Vec<Expected<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DepRow<'a> {
    id: EdgeId,
    from_ref: &'a str,
    to_ref: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    unblock_at: Option<Role>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NoteRow<'a> {
    item_ref: &'a str,
    key: &'a Name,
    role: Role,
    id: NoteId,
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    let request = request_id(&mut fields)?;
    let by = actor(session, &mut fields, "actor")?;
    let parent = fields.parsed("parentId", item_ref)?;
    let root = fields.value("root").ok_or_else(|| fields.missing("root"))?;
    let mut root = new_item(&mut Fields::inside("root", root, ROOT)?)?;
    root.local = Some(ROOT_REF.to_owned());
    root.parent = parent.map(Parent::Existing);
    let mut items = vec![root];
    items.extend(children(&mut fields)?);
    let written = dependencies(&mut fields)?;
    let notes = notes(&mut fields)?;
    let blank_notes = fields.flag("createNotes")?.unwrap_or(false);
    let edges = written.iter().map(edge).collect();
    let command =
        Create { project: session.project().clone(), items, edges, notes, blank_notes, room_below: true, atomic: true };
    let created = session.engine().run(session.call(by, request), command).await.map_err(placed)?;
    Ok(answer(&created, &written))
}

/// The same error, with the places that items and edges have in the call.
fn placed(error: Error) -> Error {
    let error = error.called("edges", "deps").called("items[0].parentId", "parentId").called("items[0]", ROOT_REF);
    let field = error.field.as_deref().and_then(|field| field.strip_prefix("items["));
    let child = field.and_then(|field| field.split_once(']')).and_then(|(index, rest)| {
        let index = index.parse::<usize>().ok()?.checked_sub(1)?;
        Some(format!("children[{index}]{rest}"))
    });
    let field = child.or_else(|| error.field.clone());
    // The message of an error is all that agents of this surface are sure to read.
    let place = field.as_deref().filter(|field| field.starts_with("deps["));
    let message = place.map_or_else(|| error.message.clone(), |place| format!("{place}: {}", error.message));
    Error { field, message, ..error }
}

fn children(fields: &mut Fields) -> Result<Vec<NewItem>, Error> {
    let entries = fields.list("children")?.unwrap_or_default();
    if entries.len() > CHILDREN {
        let message = format!(
            "children must be at most {CHILDREN} entries, not {}: with the root they are one batch of {}",
            entries.len(),
            limits::BATCH
        );
        return Err(Error::validation(Reason::BatchTooLarge, message).at("children"));
    }
    let mut items: Vec<NewItem> = Vec::with_capacity(entries.len());
    for (index, value) in entries.into_iter().enumerate() {
        let mut child = Fields::inside(&format!("children[{index}]"), value, CHILD)?;
        let local = child.need_text("ref")?;
        if local == ROOT_REF || items.iter().any(|item| item.local.as_ref() == Some(&local)) {
            let field = child.at("ref");
            let message = format!("{field} must be unique and not \"root\": \"{}\" is taken", echo(&local));
            return Err(Error::validation(Reason::Duplicate, message).at(field));
        }
        let mut item = new_item(&mut child)?;
        item.local = Some(local);
        item.parent = Some(Parent::Local(ROOT_REF.to_owned()));
        items.push(item);
    }
    Ok(items)
}

fn dependencies(fields: &mut Fields) -> Result<Vec<Written>, Error> {
    let entries = fields.list("deps")?.unwrap_or_default();
    check_many("deps", entries.len())?;
    let read = |(index, value): (usize, Value)| {
        let mut dep = Fields::inside(&format!("deps[{index}]"), value, DEP)?;
        Ok(Written {
            from: dep.need_text("from")?,
            to: dep.need_text("to")?,
            kind: dep.parsed("type", one_of(TYPES))?.unwrap_or_default(),
            unblock_at: dep.parsed("unblockAt", role_of(THRESHOLDS))?,
        })
    };
    entries.into_iter().enumerate().map(read).collect()
}

fn notes(fields: &mut Fields) -> Result<Vec<NewNote>, Error> {
    let entries = fields.list("notes")?.unwrap_or_default();
    check_many("notes", entries.len())?;
    let read = |(index, value): (usize, Value)| {
        let mut note = Fields::inside(&format!("notes[{index}]"), value, NOTE)?;
        let local = note.need_text("itemRef")?;
        let key = note.need("key", at_most(NOTE_KEY_CHARS, name))?;
        let phase = note.need("role", role_of(PHASES))?;
        let body = note.raw_text("body")?.unwrap_or_default();
        let body = Text::parse(&body).map_err(|invalid| invalid.at(&note.at("body")))?;
        Ok(NewNote { local, key, phase, body })
    };
    entries.into_iter().enumerate().map(read).collect()
}

fn edge(written: &Written) -> NewEdge {
    let (from, to) = (End::Local(written.from.clone()), End::Local(written.to.clone()));
    let (kind, inverse) = written.kind.edge();
    let (from, to) = if inverse { (to, from) } else { (from, to) };
    NewEdge { from, to, kind, unblock_at: written.unblock_at, inverse }
}

fn answer(created: &Created, written: &[Written]) -> Answer {
    let mut rows = created.items.iter().flatten().map(row);
    let root = rows.next().map(|root| TreeRow { local: None, ..root });
    let children = rows.collect();
    let dependencies = created
        .edges
        .iter()
        .zip(written)
        .map(|(edge, written)| DepRow {
            id: edge.id,
            from_ref: &written.from,
            to_ref: &written.to,
            kind: written.kind.as_str(),
            unblock_at: edge.unblock_at,
        })
        .collect();
    let notes = created
        .notes
        .iter()
        .map(|note| NoteRow { item_ref: &note.local, key: &note.key, role: note.phase, id: note.id })
        .collect();
    Answer::of(&TreeAnswer { root, children, dependencies, notes })
}

fn row(created: &CreatedItem) -> TreeRow<'_> {
    let item = &created.item;
    TreeRow {
        local: created.local.as_deref(),
        id: item.id,
        key: &created.key,
        title: item.title.as_str(),
        role: item.role,
        depth: item.depth,
        tags: tags(&item.tags),
        schema_match: created.schema_match,
        expected_notes: expected(&created.expected_notes, false),
    }
}
