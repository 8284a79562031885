//! Tasks as rows of lists: the fields there are, how many of them are told, and how lists are cut.

use std::collections::BTreeMap;

use docket_core::contract::{is_complete, score};
use docket_core::model::{Inbox, Item, ItemId, Key, KeyPrefix, ProjectId, Slug, Timestamp};
use docket_core::query::Moot;
use docket_core::{Error, Invalid, Reason, echo, limits};
use serde_json::{Map, Value, json};

use crate::session::Session;

/// Most rows of a list.
pub(super) const MOST: usize = limits::PAGE;

/// Fields that no projection leaves out: which task it is, where it stands, and what keeps it.
const ALWAYS: &[&str] = &["id", "status", "blocked", "superseded", "duplicate", "needsAttention", "openQuestion"];

/// Fields that a projection may ask for.
const FIELDS: &[&str] = &[
    "id",
    "key",
    "title",
    "status",
    "priority",
    "project",
    "projectId",
    "parentTaskId",
    "assignee",
    "labels",
    "blocked",
    "superseded",
    "duplicate",
    "needsAttention",
    "needsAttentionReason",
    "openQuestion",
    "briefComplete",
    "briefScore",
    "intent",
    "description",
    "dueAt",
    "estimateMinutes",
    "rank",
    "requiredCapabilities",
    "createdAt",
    "updatedAt",
];

/// A field that may be asked for.
pub(super) fn field(text: &str) -> Result<&'static str, Invalid> {
    FIELDS.iter().copied().find(|field| *field == text.trim()).ok_or_else(|| {
        let message = format!("must be one of {}, not \"{}\"", FIELDS.join(", "), echo(text));
        Invalid::new(Reason::UnknownValue, message)
    })
}

/// Which fields of a task are told.
#[derive(Clone, Debug, Default)]
pub(super) struct Shown {
    /// All of them.
    pub(super) full: bool,
    /// Only these, and those that are always told.
    pub(super) only: Option<Vec<&'static str>>,
}

/// What rows say beside the tasks themselves: what projects are called, and which tasks other work has made redundant.
#[derive(Clone, Debug)]
pub(super) struct Names {
    projects: BTreeMap<ProjectId, (Slug, KeyPrefix)>,
    moot: BTreeMap<ItemId, Moot>,
}

impl Names {
    /// The names of all projects that the caller may see.
    pub(super) async fn load(session: &Session) -> Result<Self, Error> {
        let projects = session.engine().projects().await?;
        let projects = projects.into_iter().map(|project| (project.id, (project.slug, project.prefix))).collect();
        Ok(Self { projects, moot: BTreeMap::new() })
    }

    /// The same, for rows of these tasks.
    pub(super) async fn of<'i>(session: &Session, items: impl Iterator<Item = &'i Item>) -> Result<Self, Error> {
        let moot = session.engine().moot(items).await?;
        Ok(Self { moot, ..Self::load(session).await? })
    }

    /// The key of a task.
    pub(super) fn key(&self, item: &Item) -> Option<Key> {
        self.projects.get(&item.project).map(|(_, prefix)| Key { prefix: prefix.clone(), number: item.number })
    }

    /// The slug of a task's project.
    pub(super) fn slug(&self, item: &Item) -> Option<&Slug> {
        self.projects.get(&item.project).map(|(slug, _)| slug)
    }

    /// The slugs of these tasks' projects, by id.
    pub(super) fn labels<'i>(&self, items: impl Iterator<Item = &'i Item>) -> Value {
        let projects: BTreeMap<String, &Slug> =
            items.filter_map(|item| Some((item.project.to_string(), self.slug(item)?))).collect();
        json!({ "projects": projects })
    }
}

/// A task as a row.
pub(super) fn row(item: &Item, names: &Names, now: Timestamp, shown: &Shown) -> Map<String, Value> {
    let mut row = Map::new();
    let asked = |field: &str| match &shown.only {
        Some(only) => only.contains(&field),
        None => shown.full,
    };
    let usual = |field: &str| shown.only.as_ref().is_none_or(|only| only.contains(&field));
    let mut put = |field: &str, wanted: bool, value: Value| {
        if (wanted || ALWAYS.contains(&field)) && !value.is_null() {
            row.insert(field.to_owned(), value);
        }
    };
    put("id", true, json!(item.id));
    put("key", usual("key"), json!(names.key(item)));
    put("title", usual("title"), json!(item.title));
    put("status", true, json!(item.status));
    put("priority", usual("priority"), json!(item.priority));
    put("project", usual("project"), json!(names.slug(item)));
    put("projectId", asked("projectId"), json!(item.project));
    put("parentTaskId", usual("parentTaskId"), json!(item.parent));
    put("assignee", usual("assignee"), json!(item.live_claim(now).map(|claim| &claim.holder)));
    put("labels", usual("labels"), some(&item.tags));
    put("blocked", true, json!(item.derived.blockers > 0));
    let moot = names.moot.get(&item.id).copied().unwrap_or_default();
    put("superseded", true, yes(moot.superseded));
    put("duplicate", true, yes(moot.duplicate));
    put("needsAttention", true, yes(item.attention.is_some()));
    put("needsAttentionReason", asked("needsAttentionReason"), json!(item.attention));
    put("openQuestion", true, yes(item.derived.inbox.has(Inbox::QUESTION)));
    put("briefComplete", usual("briefComplete"), json!(is_complete(item)));
    put("briefScore", asked("briefScore"), json!(score(item)));
    put("intent", asked("intent"), json!(item.intent));
    put("description", asked("description"), json!(item.description));
    put("dueAt", usual("dueAt"), json!(item.due_at));
    put("estimateMinutes", asked("estimateMinutes"), json!(item.estimate_minutes));
    put("rank", asked("rank"), json!(item.position));
    put("requiredCapabilities", usual("requiredCapabilities"), some(&item.required_capabilities));
    put("createdAt", asked("createdAt"), json!(item.created_at));
    put("updatedAt", asked("updatedAt"), json!(item.modified_at));
    row
}

/// One task, as an answer to a write tells it.
pub(super) async fn written(session: &Session, item: &Item) -> Result<Value, Error> {
    let names = Names::of(session, std::iter::once(item)).await?;
    // The claim of what was just written is told by reads; its time is not known here.
    let mut row = row(item, &names, Timestamp::MAX, &Shown::default());
    // An answer to a write has no long texts to score by.
    row.remove("briefComplete");
    Ok(Value::Object(row))
}

/// Says of an answer that its list was cut, and what to do about it.
pub(super) fn say_cut(answer: &mut Map<String, Value>, cut: u64) {
    if cut > 0 {
        answer.insert("cut".to_owned(), json!(cut));
        answer.insert(
            "hint".to_owned(),
            json!(format!("{cut} more rows were left out: narrow the question with filters")),
        );
    }
}

/// Keeps as many rows as a list may have; says how many went.
pub(super) fn trim<T>(rows: &mut Vec<T>) -> u64 {
    let cut = rows.len().saturating_sub(MOST);
    rows.truncate(MOST);
    cut as u64
}

/// A flag that is only told when it is up.
fn yes(flag: bool) -> Value {
    if flag { json!(true) } else { Value::Null }
}

/// A list that is only told when something is in it.
fn some<T: serde::Serialize>(list: &[T]) -> Value {
    if list.is_empty() { Value::Null } else { json!(list) }
}
