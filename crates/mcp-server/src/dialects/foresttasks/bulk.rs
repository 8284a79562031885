//! `bulk`: many tasks at once: changed all or none, changed each on its own, removed, or made of a Markdown text.

use docket_core::command::{Edit, ImportMarkdown, ImportedItem, Patch, Remove};
use docket_core::engine::Call;
use docket_core::model::{Item, ItemRef, Timestamp};
use docket_core::{Error, Reason};
use rmcp::model::{JsonObject, Tool};
use serde_json::{Map, Value, json};

use super::args::{Act, choose, item_ref, long_text, need_batch, one_of, project, request_id as named_request, status};
use super::error::{TASK, of_bulk, renamed, told};
use super::rows::{Names, Shown, row, say_cut, trim};
use super::schema::{self, Effect, list, object, request_id, text, word};
use super::task_args::{EDITABLE, patch};
use crate::answer::Answer;
use crate::input::{Fields, wrong_type};
use crate::session::Session;

#[derive(Clone, Copy)]
enum Deed {
    Update,
    Batch,
    Remove,
    Import,
}

const ACTS: &[Act<Deed>] = &[
    Act { word: "update", means: Deed::Update, fields: &["ids", "patch", "requestId"] },
    Act { word: "batch", means: Deed::Batch, fields: &["ids", "patch", "requestId"] },
    Act { word: "remove", means: Deed::Remove, fields: &["ids", "requestId"] },
    Act {
        word: "import",
        means: Deed::Import,
        fields: &["markdown", "mode", "projectId", "parentTaskId", "status", "requestId"],
    },
];

const MODES: &[(&str, bool)] = &[("preview", true), ("apply", false)];

pub(super) fn tool() -> Tool {
    let input = object(
        json!({
            "action": word(&["update", "batch", "remove", "import"], ""),
            "ids": list(&text(""), "update, batch, remove: 1 to 200 tasks"),
            "patch": { "type": "object", "description": "update, batch: fields as in task {action:\"update\"}" },
            "markdown": text("import: headings, lists and task boxes become tasks"),
            "mode": word(&["preview", "apply"], "import"),
            "projectId": text("import: slug or UUID; may be left out where there is one project"),
            "parentTaskId": text("import: what they lie beneath"),
            "status": text("import: of what is not ticked off"),
            "requestId": request_id(),
        }),
        &["action"],
    );
    let about = "Many tasks at once. update: one patch for all of them, all or none. batch: each on its own, with a result \
                 each. remove: all or none; one with other tasks beneath it is refused. import: tasks from Markdown, all or none.";
    schema::plain_tool("bulk", about, Effect::Destroys, input)
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let (deed, mut fields) = choose(arguments, "action", ACTS, None)?;
    let request = named_request(&mut fields)?;
    let call = session.call(None, request);
    match deed {
        Deed::Update => update(session, call, fields).await,
        Deed::Batch => batch(session, call, fields).await,
        Deed::Remove => remove(session, call, fields).await,
        Deed::Import => import(session, call, fields).await,
    }
}

async fn update(session: &Session, call: Call, mut fields: Fields) -> Result<Answer, Error> {
    let read = ids(&mut fields)?.into_iter().map(|(_, task)| task).collect::<Result<Vec<ItemRef>, Error>>()?;
    let patches = changes(&mut fields, read.into_iter())?;
    let edit = Edit { project: session.project().clone(), patches, atomic: true };
    let edited = session.engine().run(call, edit).await.map_err(of_bulk)?.items;
    let names = Names::load(session).await?;
    let tasks: Vec<Value> = edited.into_iter().flatten().map(|item| told_row(&item, &names)).collect();
    Ok(Answer::of(&json!({ "updated": tasks.len(), "tasks": tasks })))
}

async fn batch(session: &Session, call: Call, mut fields: Fields) -> Result<Answer, Error> {
    let read = ids(&mut fields)?;
    let patches = changes(&mut fields, read.iter().filter_map(|(_, task)| task.as_ref().ok().cloned()))?;
    let mut edited = if patches.is_empty() {
        Vec::new().into_iter()
    } else {
        let edit = Edit { project: session.project().clone(), patches, atomic: false };
        session.engine().run(call, edit).await.map_err(of_bulk)?.items.into_iter()
    };
    let names = Names::load(session).await?;
    let (mut updated, mut failed) = (0_usize, 0_usize);
    let mut results = Vec::with_capacity(read.len());
    for (asked, task) in read {
        let outcome = match task {
            Ok(_) => {
                let edited = edited.next().unwrap_or_else(|| Err(Error::not_found("nothing was changed")));
                edited.map_err(of_bulk)
            }
            Err(error) => Err(error),
        };
        results.push(match outcome {
            Ok(item) => {
                updated += 1;
                json!({ "id": item.id, "ok": true, "task": told_row(&item, &names) })
            }
            Err(error) => {
                failed += 1;
                json!({ "id": docket_core::echo(&asked), "ok": false, "error": told(&error) })
            }
        });
    }
    Ok(Answer::of(&json!({ "updated": updated, "failed": failed, "results": results })))
}

async fn remove(session: &Session, call: Call, mut fields: Fields) -> Result<Answer, Error> {
    let items = ids(&mut fields)?.into_iter().map(|(_, task)| task).collect::<Result<_, Error>>()?;
    let remove = Remove {
        project: session.project().clone(),
        items,
        expected_version: None,
        fence: None,
        recursive: false,
        atomic: true,
    };
    let removed = session.engine().run(call, remove).await?.items;
    let mut gone: Vec<Value> = Vec::new();
    for one in removed.into_iter().flatten() {
        if !gone.contains(&json!(one.item)) {
            gone.push(json!(one.item));
        }
    }
    Ok(Answer::of(&json!({ "removed": gone.len(), "ids": gone })))
}

async fn import(session: &Session, call: Call, mut fields: Fields) -> Result<Answer, Error> {
    let markdown = fields.need("markdown", long_text)?;
    let preview = fields.need("mode", one_of(MODES))?;
    let import = ImportMarkdown {
        project: project(session, &mut fields).await?,
        markdown,
        parent: fields.parsed("parentTaskId", item_ref)?,
        status: fields.parsed("status", status)?,
        preview,
    };
    let imported = session.engine().run(call, import).await.map_err(|error| renamed(error, TASK))?;
    let mut tasks: Vec<Value> = imported.items.iter().map(told_import).collect();
    let mut answer = Map::new();
    answer.insert("mode".to_owned(), json!(if preview { "preview" } else { "apply" }));
    answer.insert("applied".to_owned(), json!(imported.applied));
    answer.insert("total".to_owned(), json!(tasks.len()));
    say_cut(&mut answer, trim(&mut tasks));
    answer.insert("tasks".to_owned(), Value::Array(tasks));
    Ok(Answer::of(&answer))
}

fn told_import(item: &ImportedItem) -> Value {
    let mut told = Map::new();
    let mut put = |field: &str, value: Value| {
        if !value.is_null() {
            told.insert(field.to_owned(), value);
        }
    };
    put("line", json!(item.line));
    put("id", json!(item.item));
    put("key", json!(item.key));
    put("title", json!(item.title));
    put("depth", json!(item.depth));
    put("status", json!(item.status));
    put("parentLine", json!(item.parent_line));
    Value::Object(told)
}

fn told_row(item: &Item, names: &Names) -> Value {
    let mut row = row(item, names, Timestamp::MAX, &Shown::default());
    // An answer to a write has no long texts to score by.
    row.remove("briefComplete");
    Value::Object(row)
}

/// A task as it was spelled, and what that was read as.
type Spelled = (String, Result<ItemRef, Error>);

/// The tasks that a call names, each as it was spelled and as what it was read.
fn ids(fields: &mut Fields) -> Result<Vec<Spelled>, Error> {
    let list = need_batch(fields, "ids")?;
    let mut seen: Vec<Spelled> = Vec::with_capacity(list.len());
    for (index, value) in list.into_iter().enumerate() {
        let field = format!("ids[{index}]");
        let Value::String(text) = value else { return Err(wrong_type(&field, "a string", &value)) };
        if seen.iter().any(|(known, _)| *known == text) {
            let message = format!("{field} is named twice");
            return Err(Error::validation(Reason::Duplicate, message).at(field));
        }
        let task = item_ref(&text).map_err(|invalid| Error::from(invalid.at(&field)));
        seen.push((text, task));
    }
    Ok(seen)
}

/// The change that a call asks for, the same for each of these tasks.
fn changes(fields: &mut Fields, tasks: impl Iterator<Item = ItemRef>) -> Result<Vec<Patch>, Error> {
    let value = fields.value("patch").ok_or_else(|| fields.missing("patch"))?;
    tasks.map(|task| patch(&mut Fields::inside("patch", value.clone(), EDITABLE)?, task)).collect()
}
