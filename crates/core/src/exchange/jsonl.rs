//! The form of an export: one JSON object a line, first a header, then projects, items, edges, notes, briefs, questions,
//! comments, links, sessions and knowledge.
//!
//! It is made to be kept in git: rows are sorted by what people call them, keys stand in one order, and what the program
//! computes or what only matters while it runs (derived numbers, leases, credentials) is left out.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::Snapshot;
use crate::command::Import;
use crate::error::{Error, Reason, echo};
use crate::model::{
    Brief, Comment, Derived, Edge, Entry, EntryLink, Item, ItemId, Key, Link, Note, Project, ProjectId, Question,
    Session,
};
use crate::workflow::Stored;

/// The version of the form that is written. The first had no briefs, questions, comments and links, and no fields of items
/// and projects that came with them, the second no sessions and no knowledge; whoever reads only that must not take in half.
const VERSION: u64 = 3;
/// The oldest version that is still read: everything in it is in the newest one too.
const OLDEST: u64 = 1;
/// The kinds of rows, as an error lists them.
const KINDS: &str = "project, item, edge, note, brief, question, comment, link, session, entry or entryLink";
/// The name of a link of an entry, which has no id of its own.
const ENTRY_LINK: &str = "entryLink";
/// The name that a header has instead of a row's.
const HEADER: &str = "docket";

impl Snapshot {
    /// All rows of an export, one a line.
    pub fn rows(&self) -> Result<Vec<Value>, Error> {
        let mut projects: Vec<&Project> = self.projects.iter().collect();
        projects.sort_by(|a, b| a.slug.cmp(&b.slug));
        let places: BTreeMap<ProjectId, usize> =
            projects.iter().enumerate().map(|(place, project)| (project.id, place)).collect();
        let place = |item: &Item| (places.get(&item.project).copied().unwrap_or(usize::MAX), item.number);
        let mut items: Vec<&Item> = self.items.iter().collect();
        items.sort_by_key(|item| place(item));
        let order: BTreeMap<ItemId, usize> = items.iter().enumerate().map(|(place, item)| (item.id, place)).collect();
        let place_of = |id: &ItemId| order.get(id).copied().unwrap_or(usize::MAX);
        let mut edges: Vec<&Edge> = self.edges.iter().collect();
        edges.sort_by_key(|edge| (place_of(&edge.from), edge.kind, place_of(&edge.to), edge.id));
        let mut notes: Vec<&Note> = self.notes.iter().collect();
        notes.sort_by(|a, b| (place_of(&a.item), &a.key).cmp(&(place_of(&b.item), &b.key)));

        let mut lines = vec![json!({ HEADER: VERSION })];
        for project in &projects {
            lines.push(line("project", object(project)?));
        }
        for item in items {
            let mut row = object(item)?;
            row.remove("derived");
            row.remove("claim");
            if let Some(project) = projects.iter().find(|project| project.id == item.project) {
                row.insert("key".to_owned(), json!(project.key(item.number)));
            }
            lines.push(line("item", row));
        }
        for edge in edges {
            lines.push(line("edge", object(edge)?));
        }
        for note in notes {
            let mut row = Value::Object(object(note)?);
            without_proof(&mut row);
            lines.push(line("note", into_object(row)));
        }
        self.push_contracts(&mut lines, place_of)?;
        self.push_knowledge(&mut lines)?;
        Ok(lines)
    }

    /// Knowledge, in the order in which it was made.
    fn push_knowledge(&self, lines: &mut Vec<Value>) -> Result<(), Error> {
        let mut entries: Vec<&Entry> = self.entries.iter().collect();
        entries.sort_by_key(|entry| entry.id);
        for entry in entries {
            lines.push(line("entry", object(entry)?));
        }
        let mut ties: Vec<&EntryLink> = self.entry_links.iter().collect();
        ties.sort_by_key(|tie| tie.key());
        for link in ties {
            lines.push(line(ENTRY_LINK, object(link)?));
        }
        Ok(())
    }

    /// Briefs, questions, comments, links and sessions, in the order of their items, and in the order they were made.
    fn push_contracts(&self, lines: &mut Vec<Value>, place_of: impl Fn(&ItemId) -> usize) -> Result<(), Error> {
        let mut briefs: Vec<&(ItemId, Brief)> = self.briefs.iter().collect();
        briefs.sort_by_key(|(item, _)| place_of(item));
        for (item, brief) in briefs {
            let mut row = object(brief)?;
            row.insert("item".to_owned(), json!(item));
            lines.push(line("brief", row));
        }
        let mut questions: Vec<&Question> = self.questions.iter().collect();
        questions.sort_by_key(|question| (place_of(&question.item), question.id));
        for question in questions {
            lines.push(line("question", object(question)?));
        }
        let mut comments: Vec<&Comment> = self.comments.iter().collect();
        comments.sort_by_key(|comment| (place_of(&comment.item), comment.id));
        for comment in comments {
            lines.push(line("comment", object(comment)?));
        }
        let mut outside: Vec<&Link> = self.links.iter().collect();
        outside.sort_by_key(|link| (place_of(&link.item), link.id));
        for link in outside {
            lines.push(line("link", object(link)?));
        }
        let mut sessions: Vec<&Session> = self.sessions.iter().collect();
        sessions.sort_by_key(|session| (place_of(&session.item), session.id));
        for session in sessions {
            lines.push(line("session", object(session)?));
        }
        Ok(())
    }
}

/// How an error about a brief begins.
const BRIEF_OF: &str = "brief of item ";

/// What a brief is called, since it has no id of its own.
fn brief_of(item: &str) -> String {
    format!("{BRIEF_OF}{item}")
}

/// An import in the making: what each row was said in which line.
#[derive(Debug, Default)]
pub struct Reader {
    import: Import,
    lines: BTreeMap<String, usize>,
    keys: Vec<(usize, ItemId, Key)>,
    has_header: bool,
}

impl Reader {
    /// Takes in one line.
    pub fn line(&mut self, number: usize, text: &str) -> Result<(), Error> {
        let bad = |message: String| Error::validation(Reason::BadJson, message);
        let row: Value = serde_json::from_str(text).map_err(|error| bad(format!("is not JSON: {error}")))?;
        let mut fields = match row {
            Value::Object(fields) if fields.len() == 1 => fields.into_iter(),
            _ => return Err(bad(format!("must be an object with one key: {HEADER}, {KINDS}"))),
        };
        let Some((kind, value)) = fields.next() else { return Err(bad("is empty".to_owned())) };
        if kind == HEADER {
            return self.header(number, &value);
        }
        if !self.has_header {
            return Err(bad(format!("is no export of docket: the first line must be {{\"{HEADER}\":{VERSION}}}")));
        }
        self.row(number, &kind, value)
    }

    /// The line that an error of the engine is about, if it names a row.
    pub fn line_of(&self, error: &Error) -> Option<usize> {
        // A brief has no id but its item's.
        let of_brief = error.message.strip_prefix(BRIEF_OF).and_then(|rest| rest.split(':').next());
        if let Some(line) = of_brief.and_then(|item| self.lines.get(&brief_of(item))) {
            return Some(*line);
        }
        let words = error.message.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
        words.filter(|word| matches!(word.len(), 26 | 36)).find_map(|id| self.lines.get(id).copied())
    }

    /// The rows, once all lines are there.
    pub fn take_import(&mut self) -> Result<Import, (usize, Error)> {
        if !self.has_header {
            return Err((1, Error::validation(Reason::BadJson, "the file is empty")));
        }
        let import = std::mem::take(&mut self.import);
        let projects: BTreeMap<ProjectId, &Project> =
            import.projects.iter().map(|project| (project.id, project)).collect();
        let items: BTreeMap<ItemId, &Item> = import.items.iter().map(|item| (item.id, item)).collect();
        for (line, id, key) in &self.keys {
            let item = items.get(id);
            let right = item.and_then(|item| Some(projects.get(&item.project)?.key(item.number)));
            if right.is_some_and(|right| right != *key) {
                let message = format!("the key {key} is not that of its project and number");
                return Err((*line, Error::validation(Reason::BadValue, message)));
            }
        }
        Ok(import)
    }

    fn header(&mut self, number: usize, version: &Value) -> Result<(), Error> {
        if number != 1 {
            return Err(Error::validation(Reason::BadValue, "a header stands only in the first line"));
        }
        if !version.as_u64().is_some_and(|version| (OLDEST..=VERSION).contains(&version)) {
            let message = format!(
                "is of version {}; this docket reads versions {OLDEST} to {VERSION}",
                echo(&version.to_string())
            );
            return Err(Error::validation(Reason::BadValue, message));
        }
        self.has_header = true;
        Ok(())
    }

    fn row(&mut self, number: usize, kind: &str, value: Value) -> Result<(), Error> {
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
        let id = match kind {
            "brief" => brief_of(text("item")),
            ENTRY_LINK => format!("link of entry {} with item {} ({})", text("entry"), text("item"), text("kind")),
            _ => text("id").to_owned(),
        };
        if let Some(before) = self.lines.insert(id.clone(), number) {
            let what = if matches!(kind, "brief" | ENTRY_LINK) { "a " } else { "the id " };
            let message = format!("{what}{} was in line {before} already", echo(&id));
            return Err(Error::validation(Reason::Duplicate, message));
        }
        match kind {
            "project" => {
                let mut project: Project = parse(&value)?;
                // An export of before means what the row did that it was made of.
                if let Some(Ok(Stored(workflow))) = value.get("workflow").cloned().map(Stored::read) {
                    project.workflow = workflow;
                }
                self.import.projects.push(project);
            }
            "edge" => self.import.edges.push(parse(&value)?),
            "note" => self.import.notes.push(parse(&value)?),
            "question" => self.import.questions.push(parse(&value)?),
            "comment" => self.import.comments.push(parse(&value)?),
            "link" => self.import.links.push(parse(&value)?),
            "entry" => self.import.entries.push(parse(&value)?),
            ENTRY_LINK => self.import.entry_links.push(parse(&value)?),
            "session" => self.import.sessions.push(parse(&value)?),
            "brief" => {
                let mut fields = into_object(value);
                let item = fields
                    .remove("item")
                    .ok_or_else(|| Error::validation(Reason::MissingField, "a brief names its item").at("item"))?;
                let item: ItemId = serde_json::from_value(item)
                    .map_err(|error| Error::validation(Reason::BadValue, echo(&error.to_string())).at("item"))?;
                self.import.briefs.push((item, parse(&Value::Object(fields))?));
            }
            "item" => {
                let mut fields = into_object(value);
                let key = fields.remove("key").and_then(|key| serde_json::from_value::<Key>(key).ok());
                let derived = serde_json::to_value(Derived::default()).unwrap_or_default();
                fields.insert("derived".to_owned(), derived);
                let item: Item = parse(&Value::Object(fields))?;
                if let Some(key) = key {
                    self.keys.push((number, item.id, key));
                }
                self.import.items.push(item);
            }
            other => {
                let message = format!("\"{}\" is no kind of row: it must be {KINDS}", echo(other));
                return Err(Error::validation(Reason::UnknownField, message));
            }
        }
        Ok(())
    }
}

/// A row, with every field that it has known to the model: a slip of the pen is no reason to lose a value.
fn parse<T: DeserializeOwned + Serialize>(value: &Value) -> Result<T, Error> {
    if !value.is_object() {
        return Err(Error::validation(Reason::BadJson, "a row must be an object"));
    }
    let row: T = serde_json::from_value(value.clone())
        .map_err(|error| Error::validation(Reason::BadValue, echo(&error.to_string())))?;
    let kept = serde_json::to_value(&row).unwrap_or_default();
    match lost(value, &kept) {
        None => Ok(row),
        Some(field) => {
            let field = echo(&field);
            Err(Error::validation(Reason::UnknownField, format!("unknown field \"{field}\"")).at(field))
        }
    }
}

/// The first field of a row that did not get into the model, however deep.
fn lost(given: &Value, kept: &Value) -> Option<String> {
    match (given, kept) {
        (Value::Object(given), Value::Object(kept)) => {
            given.iter().filter(|(_, value)| !is_empty(value)).find_map(|(key, value)| match kept.get(key) {
                None => Some(key.clone()),
                Some(kept) => lost(value, kept).map(|inner| format!("{key}.{inner}")),
            })
        }
        (Value::Array(given), Value::Array(kept)) => {
            let mut pairs = given.iter().zip(kept).enumerate();
            pairs.find_map(|(at, (given, kept))| lost(given, kept).map(|inner| format!("{at}.{inner}")))
        }
        _ => None,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

fn object<T: Serialize>(row: &T) -> Result<Map<String, Value>, Error> {
    // Rows are plain data: they can always be written.
    let value =
        serde_json::to_value(row).map_err(|_| Error::validation(Reason::BadValue, "a row cannot be written"))?;
    Ok(into_object(value))
}

fn into_object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

/// Takes the credential of a note's author out: whoever reads a file has no use for it but a bad one.
fn without_proof(note: &mut Value) {
    if let Some(actor) = note.pointer_mut("/by/actor").and_then(Value::as_object_mut) {
        actor.remove("proof");
    }
}

fn line(kind: &str, row: Map<String, Value>) -> Value {
    json!({ kind: sorted(Value::Object(row)) })
}

/// The same with the keys of all objects in one order, whatever the order in which they were put in.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<String, Value> = fields.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            Value::Object(fields.into_iter().collect())
        }
        Value::Array(values) => Value::Array(values.into_iter().map(sorted).collect()),
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => plain,
    }
}
