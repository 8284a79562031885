//! A task as this dialect shows it.

use docket_core::Error;
use docket_core::model::{Item, ItemRef, Priority, Role, Timestamp};
use serde_json::{Value, json};

use crate::input::Fields;
use crate::session::Keys;

/// The task that a call is about.
pub(super) fn need_task(fields: &mut Fields) -> Result<ItemRef, Error> {
    fields.need("taskId", str::parse::<ItemRef>)
}

/// Where a task stands: ready work under a live claim is `claimed`.
fn state(item: &Item, now: Timestamp) -> &str {
    if item.role == Role::Queue && item.live_claim(now).is_some() { "claimed" } else { item.status.as_str() }
}

/// A smaller number is more urgent.
pub(super) fn number_of(priority: Priority) -> i64 {
    match priority {
        Priority::High => 100,
        Priority::Medium => 500,
        Priority::Low => 900,
    }
}

/// A task in an answer.
pub(super) fn told(item: &Item, now: Timestamp, keys: &Keys) -> Value {
    let mut task = json!({
        "id": item.id,
        "key": keys.of(item),
        "state": state(item, now),
        "priority": number_of(item.priority),
        "createdAt": item.created_at,
        "title": item.title,
        "version": item.version,
    });
    for (name, text) in [("intent", &item.intent), ("description", &item.description)] {
        if let Some(text) = text {
            task[name] = json!(text);
        }
    }
    if !item.summary.as_str().is_empty() {
        task["summary"] = json!(item.summary);
    }
    if !item.tags.is_empty() {
        task["tags"] = json!(item.tags);
    }
    task
}

/// Characters of a title, and of any other text of a task, in a list.
const TITLE_CHARS: usize = 200;
const TEXT_CHARS: usize = 600;

/// A task in a list: its long texts are cut, and which is said; claiming it shows them whole.
pub(super) fn listed(item: &Item, now: Timestamp, keys: &Keys) -> Value {
    let mut task = told(item, now, keys);
    let mut cut = Vec::new();
    for (name, most) in
        [("title", TITLE_CHARS), ("intent", TEXT_CHARS), ("description", TEXT_CHARS), ("summary", TEXT_CHARS)]
    {
        let end = task[name].as_str().and_then(|text| text.char_indices().nth(most).map(|(end, _)| (text, end)));
        if let Some(short) = end.and_then(|(text, end)| text.get(..end)).map(str::to_owned) {
            task[name] = json!(short);
            cut.push(name);
        }
    }
    if !cut.is_empty() {
        task["truncated"] = json!(cut);
    }
    task
}
