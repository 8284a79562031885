//! `plan`: one item, many, or a whole tree with edges, notes and briefs, all or nothing; or an outline in Markdown.

use docket_core::command::{Create, Created, CreatedItem, End, NewEdge, NewItem, NewNote, Parent};
use docket_core::model::{EdgeKind, ItemRef, Role, Text};
use docket_core::store::ProjectRef;
use docket_core::{Error, Reason, limits};
use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

use super::common::{Writer, project};
use super::item_args::{NEW, new_item};
use super::schema::{self, Effect, flag, objects, text, text_of};
use super::split::Split;
use crate::answer::Answer;
use crate::args::{PHASES, THRESHOLDS, check_batch, name, role_of};
use crate::input::{Fields, wrong_type};
use crate::session::Session;

const KNOWN: &[&str] =
    &["items", "edges", "markdown", "parent", "status", "blankNotes", "dryRun", "project", "actor", "requestId"];
const EDGE: &[&str] = &["from", "to", "kind", "unblockAt"];
const NOTE: &[&str] = &["key", "phase", "body"];

pub(super) fn tool() -> Tool {
    let properties = json!({
        "items": objects("{title, ref, parent, children:[items], blockedBy:[refs], status, notes:[{key,phase,body}], brief, intent, description, summary, type, label, priority, complexity, tags, traits, dueAt, estimateMinutes, position, attention, touches, needs, capabilities, metadata, properties, requiresVerification}"),
        "edges": objects("{from,to,kind,unblockAt}"),
        "markdown": text_of("an outline instead of items"),
        "parent": text(), "status": text(), "blankNotes": flag(), "dryRun": flag(),
    });
    let about = "Create items, trees, edges, notes and briefs, all or nothing. A ref names an item within the call, \
                 as a key or id does. parent: of all that name none.";
    schema::tool("plan", about, Effect::Writes, properties, &[])
}

/// What a plan is made of, as it is read.
#[derive(Default)]
struct Plan {
    items: Vec<NewItem>,
    edges: Vec<NewEdge>,
    notes: Vec<NewNote>,
    /// Ends of edges that were written before all names were known.
    held_up: Vec<(String, String)>,
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    let writer = Writer::read(session, &mut fields)?;
    let dry = fields.flag("dryRun")?.unwrap_or(false);
    let project = project(session, &mut fields).await?;
    if fields.has("markdown") {
        return super::markdown::import(session, &writer, project, fields, dry).await;
    }
    let command = read(&mut fields, project)?;
    let created = if dry {
        session.engine().rehearse(writer.call(session), &command).await?
    } else {
        session.engine().run(writer.call(session), command).await?
    };
    Ok(answer(&created, dry))
}

fn read(fields: &mut Fields, project: ProjectRef) -> Result<Create, Error> {
    let entries = fields.list("items")?.ok_or_else(|| fields.missing("items"))?;
    check_batch("items", entries.len())?;
    let parent = fields.parsed("parent", str::parse::<ItemRef>)?.map(Parent::Existing);
    let status = fields.parsed("status", name)?;
    let mut plan = Plan::default();
    for (index, entry) in entries.into_iter().enumerate() {
        plan.take(&format!("items[{index}]"), entry, parent.clone(), 0)?;
    }
    // Only now are all names known.
    for (from, to) in std::mem::take(&mut plan.held_up) {
        let edge = NewEdge {
            from: plan.end("blockedBy", &from)?,
            to: End::Local(to),
            kind: EdgeKind::Blocks,
            unblock_at: None,
            inverse: false,
        };
        plan.edges.push(edge);
    }
    for (index, entry) in fields.list("edges")?.unwrap_or_default().into_iter().enumerate() {
        let edge = plan.edge(&format!("edges[{index}]"), entry)?;
        plan.edges.push(edge);
    }
    for item in &mut plan.items {
        item.status = item.status.take().or_else(|| status.clone());
    }
    let blank_notes = fields.flag("blankNotes")?.unwrap_or(false);
    let Plan { items, edges, notes, .. } = plan;
    check_batch("items", items.len())?;
    Ok(Create { project, items, edges, notes, blank_notes, room_below: false, atomic: true })
}

impl Plan {
    /// Takes an item in, and everything beneath it.
    fn take(&mut self, path: &str, entry: Value, parent: Option<Parent>, depth: usize) -> Result<(), Error> {
        if depth > usize::from(limits::DEPTH) {
            return Err(Error::validation(Reason::TooDeep, format!("{path} lies too deep")).at(path));
        }
        let mut fields = Fields::inside(path, entry, NEW)?;
        let mut item = new_item(&mut fields)?;
        let given = fields.parsed("ref", |text| Ok(text.to_owned()))?;
        // Every item has a name here: notes and edges are written by it.
        let local = given.unwrap_or_else(|| format!("#{path}"));
        item.parent = match fields.parsed("parent", |text| Ok(text.to_owned()))? {
            None => parent,
            Some(named) if self.knows(&named) => Some(Parent::Local(named)),
            Some(named) => {
                let item = named.parse::<ItemRef>().map_err(|_| {
                    let message = format!("{path}.parent must be a key, an id, or a ref of an item before it");
                    Error::validation(Reason::NotFound, message).at(format!("{path}.parent"))
                })?;
                Some(Parent::Existing(item))
            }
        };
        item.local = Some(local.clone());
        self.items.push(item);
        check_batch("items", self.items.len())?;
        for blocker in fields.texts("blockedBy", |text| Ok(text.to_owned()))?.unwrap_or_default() {
            self.held_up.push((blocker, local.clone()));
        }
        for (index, note) in fields.list("notes")?.unwrap_or_default().into_iter().enumerate() {
            let mut note = Fields::inside(&format!("{path}.notes[{index}]"), note, NOTE)?;
            let body = note.raw_text("body")?.unwrap_or_default();
            self.notes.push(NewNote {
                local: local.clone(),
                key: note.need("key", name)?,
                phase: note.parsed("phase", role_of(PHASES))?.unwrap_or(Role::Queue),
                body: Text::parse(&body).map_err(|invalid| invalid.at(&note.at("body")))?,
            });
        }
        for (index, child) in fields.list("children")?.unwrap_or_default().into_iter().enumerate() {
            let at = format!("{path}.children[{index}]");
            self.take(&at, child, Some(Parent::Local(local.clone())), depth + 1)?;
        }
        Ok(())
    }

    fn knows(&self, local: &str) -> bool {
        self.items.iter().any(|item| item.local.as_deref() == Some(local))
    }

    /// The end of an edge: an item of this call, or one that is there.
    fn end(&self, field: &str, text: &str) -> Result<End, Error> {
        if self.knows(text) {
            return Ok(End::Local(text.to_owned()));
        }
        text.parse::<ItemRef>().map(End::Existing).map_err(|invalid| invalid.at(field).into())
    }

    fn edge(&self, path: &str, entry: Value) -> Result<NewEdge, Error> {
        if !entry.is_object() {
            return Err(wrong_type(path, "a JSON object", &entry));
        }
        let mut edge = Fields::inside(path, entry, EDGE)?;
        let (from, to) = (edge.need_text("from")?, edge.need_text("to")?);
        Ok(NewEdge {
            from: self.end(&edge.at("from"), &from)?,
            to: self.end(&edge.at("to"), &to)?,
            kind: edge.parsed("kind", str::parse::<EdgeKind>)?.unwrap_or(EdgeKind::Blocks),
            unblock_at: edge.parsed("unblockAt", role_of(THRESHOLDS))?,
            inverse: false,
        })
    }
}

fn answer(created: &Created, dry: bool) -> Answer {
    let mut split = Split::default();
    split.say("dryRun", dry.then_some(true));
    let mut refs = serde_json::Map::new();
    let mut rows = Vec::new();
    for made in created.items.iter().flatten() {
        rows.push(row(made));
        // A ref is the caller's own word, and comes back as one.
        if let Some(local) = made.local.as_ref().filter(|local| !local.starts_with('#')) {
            refs.insert(local.clone(), json!(made.key));
        }
    }
    split.say("items", rows);
    split.say("edges", created.edges.iter().map(|edge| edge.id).collect::<Vec<_>>());
    split.say("notes", Some(created.notes.len()).filter(|count| *count > 0));
    split.quote("refs", refs);
    split.answer()
}

fn row(made: &CreatedItem) -> Value {
    let mut told = serde_json::Map::new();
    super::split::put(&mut told, "key", &made.key);
    super::split::put(&mut told, "status", &made.item.status);
    let owed = made.expected_notes.iter().filter(|note| note.required && !note.filled);
    super::split::put(&mut told, "missingNotes", owed.map(|note| &note.key).collect::<Vec<_>>());
    Value::Object(told)
}
