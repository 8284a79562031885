//! `kb`: the knowledge base of the organisation: what was learned, by whoever learned it.

use docket_core::command::{AddEntries, CiteEntries, EditEntry, Learning};
use docket_core::limits;
use docket_core::model::{Authority, Entry, EntryId, Title};
use docket_core::query::{KnowledgeQuery, ListedEntry, ReviewState};
use docket_core::store::{EntryFilter, ProjectRef};
use docket_core::{Error, Reason};
use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

use super::args::{Act, choose, limit, long_text, need_task, request_id as named_request, tag};
use super::schema::{self, Effect, object, request_id, text, texts, whole};
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

#[derive(Clone, Copy)]
enum What {
    Search,
    Get,
    List,
    Add,
    Update,
    Link,
}

const ACTS: &[Act<What>] = &[
    Act { word: "search", means: What::Search, fields: &["query", "tags", "limit", "project"] },
    Act { word: "get", means: What::Get, fields: &["entryId"] },
    Act { word: "list", means: What::List, fields: &["tags", "limit", "cursor", "project"] },
    Act { word: "add", means: What::Add, fields: &["title", "body", "tags", "taskId", "project", "requestId"] },
    Act { word: "update", means: What::Update, fields: &["entryId", "title", "body", "tags", "version", "requestId"] },
    Act { word: "link", means: What::Link, fields: &["entryId", "taskId", "requestId"] },
];

pub(super) fn tool() -> Tool {
    let input = object(
        json!({
            "action": schema::word(&["search", "get", "list", "add", "update", "link"], ""),
            "query": text("search"),
            "entryId": text("get, update, link"),
            "title": text("add, update"),
            "body": text("add, update"),
            "tags": texts("search, list: any of them; add, update: its tags"),
            "taskId": text("add: the task it was learned from; link: the task it helped with"),
            "version": whole(1, None, "update: refused if the entry has another by now"),
            "limit": whole(1, Some(50), "search, list"),
            "cursor": text("list"),
            "project": text("search, list, add: slug or id"),
            "requestId": request_id(),
        }),
        &["action"],
    );
    let about = "The knowledge base of the organisation: search it before you begin, add what you learned. Entries are text by \
                 others, under `untrusted`; `unreviewed` ones nobody has vouched for. `truncated`: get shows the whole text.";
    schema::plain_tool("kb", about, Effect::Writes, input)
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let (what, mut fields) = choose(arguments, "action", ACTS, None)?;
    let request = named_request(&mut fields)?;
    let engine = session.engine();
    match what {
        What::Search => search(session, &mut fields).await,
        What::Get => {
            let view = engine.entry(fields.need("entryId", str::parse::<EntryId>)?).await?;
            let mut told = entry(&view.entry, None);
            told["links"] = view.links.iter().map(|link| json!({ "taskId": link.item, "kind": link.kind })).collect();
            Ok(Answer::of(&json!({ "entry": told })))
        }
        What::List => list(session, &mut fields).await,
        What::Add => {
            let learning = Learning {
                title: fields.need("title", Title::parse)?,
                body: fields.need("body", long_text)?,
                tags: fields.texts("tags", tag)?.unwrap_or_default(),
            };
            let item = if fields.has("taskId") { Some(need_task(&mut fields, "taskId")?) } else { None };
            let project =
                if item.is_some() { session.project().clone() } else { project(session, &mut fields).await? };
            let add = AddEntries { project, entries: vec![learning], item, authority: Authority::Agent };
            let added =
                engine.run(session.call(None, request), add).await.map_err(|error| error.called("entries[0]", ""))?;
            Ok(Answer::of(&json!({ "entryId": added.entries.first(), "reviewState": ReviewState::Unreviewed })))
        }
        What::Update => {
            let edit = EditEntry {
                entry: fields.need("entryId", str::parse::<EntryId>)?,
                title: fields.parsed("title", Title::parse)?,
                body: fields.parsed("body", long_text)?,
                tags: fields.texts("tags", tag)?,
                expected_version: version(&mut fields)?,
                authority: Authority::Agent,
            };
            let edited = engine.run(session.call(None, request), edit).await?.entry;
            Ok(Answer::of(&json!({ "entry": entry(&edited, None) })))
        }
        What::Link => {
            let cite = CiteEntries {
                project: session.project().clone(),
                item: need_task(&mut fields, "taskId")?,
                entries: vec![fields.need("entryId", str::parse::<EntryId>)?],
                used: true,
            };
            let cited = engine.run(session.call(None, request), cite).await?;
            Ok(Answer::of(&json!({ "taskId": cited.item, "linked": !cited.changed.is_empty() })))
        }
    }
}

async fn search(session: &Session, fields: &mut Fields) -> Result<Answer, Error> {
    let query = fields.need_text("query")?;
    let filter = filter(session, fields).await?;
    let limit = limit(fields, limits::KNOWLEDGE_PAGE)?;
    let found = session.engine().search_knowledge(&KnowledgeQuery { filter, query, minimum: 0.0, limit }).await?;
    let rows: Vec<Value> = found.hits.iter().map(|hit| short(&hit.entry, Some(hit.score), hit.truncated)).collect();
    let mut told = json!({ "mode": found.mode, "entries": rows });
    if let Some(degraded) = found.degraded {
        told["degraded"] = json!(degraded);
    }
    if found.partial {
        told["partial"] = json!(true);
    }
    Ok(Answer::of(&told))
}

async fn list(session: &Session, fields: &mut Fields) -> Result<Answer, Error> {
    let filter = filter(session, fields).await?;
    let limit = limit(fields, limits::KNOWLEDGE_PAGE)?;
    let cursor = fields.text("cursor")?;
    let page = session.engine().list_knowledge(&filter, limit, cursor.as_deref()).await?;
    let rows = page.entries.into_iter().map(ListedEntry::from);
    let rows: Vec<Value> = rows.map(|row| short(&row.entry, None, row.truncated)).collect();
    let mut told = json!({ "entries": rows });
    if let Some(next) = page.next {
        told["nextCursor"] = json!(next);
    }
    Ok(Answer::of(&told))
}

async fn filter(session: &Session, fields: &mut Fields) -> Result<EntryFilter, Error> {
    let tags = fields.texts("tags", tag)?.unwrap_or_default();
    // The base is the organisation's: all that may be seen, unless a project is named.
    let project = if fields.has("project") { project(session, fields).await? } else { ProjectRef::Any };
    Ok(EntryFilter { project, tags, ..EntryFilter::default() })
}

/// The project that a call names: here it is called `project`, and not `projectId`. Else the connection's, or the only one.
async fn project(session: &Session, fields: &mut Fields) -> Result<ProjectRef, Error> {
    let named = fields.parsed("project", |word| Ok(word.trim().to_owned()))?;
    session.engine().select_project(named.as_deref(), session.project()).await
}

fn version(fields: &mut Fields) -> Result<Option<u64>, Error> {
    let version = fields.whole("version")?;
    let bad = |_| Error::validation(Reason::BadValue, "version must not be negative").at("version");
    version.map(|version| u64::try_from(version).map_err(bad)).transpose()
}

/// An entry in a list, and whether its text was cut.
fn short(row: &Entry, score: Option<f64>, truncated: bool) -> Value {
    let mut told = entry(row, score);
    if truncated {
        told["truncated"] = json!(true);
    }
    told
}

/// An entry: what the server knows of it, and apart from that what somebody wrote.
fn entry(entry: &Entry, score: Option<f64>) -> Value {
    let mut told = json!({
        "id": entry.id,
        "reviewState": ReviewState::of(entry),
        "source": entry.source,
        "version": entry.version,
        "updatedAt": entry.updated_at,
    });
    if let Some(score) = score {
        told["score"] = json!(score);
    }
    if let Some(item) = entry.source_item {
        told["sourceTaskId"] = json!(item);
    }
    told["untrusted"] = json!({ "title": entry.title, "body": entry.body, "tags": entry.tags, "author": entry.author, "updatedBy": entry.updated_by });
    told
}
