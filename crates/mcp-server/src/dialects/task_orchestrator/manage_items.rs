//! `manage_items`: makes, changes and removes items.

use std::collections::BTreeSet;

use docket_core::command::{Create, CreatedItem, Edit, NewItem, Parent, Patch, Remove};
use docket_core::model::{Attribution, Item, ItemId, ItemRef, Key, Name, Priority, RequestId, Role, Timestamp};
use docket_core::{Error, Reason};
use rmcp::model::{JsonObject, Tool};
use serde::Serialize;
use serde_json::{Value, json};

use super::args::{
    SUMMARY_CHARS, Sorted, TITLE_CHARS, actor, end, fence, item_ref, name, need_batch, no_fence, one_of, request_id,
    sort_out,
};
use super::item_args::{CREATE, UPDATE, new_item, patch};
use super::render::{Expected, FailedAt, FailedId, expected, tags};
use super::schema::{self, Effect, clearable, count, flag, list, object, rows, short_text, text, texts, whole, word};
use crate::answer::Answer;
use crate::input::{Fields, wrong_type};
use crate::session::Session;

const KNOWN: &[&str] = &[
    "operation",
    "items",
    "ids",
    "parentId",
    "traits",
    "recursive",
    "requiresVerification",
    "fence",
    "actor",
    "requestId",
];

#[derive(Clone, Copy)]
enum Operation {
    Create,
    Update,
    Delete,
}

const OPERATIONS: &[(&str, Operation)] =
    &[("create", Operation::Create), ("update", Operation::Update), ("delete", Operation::Delete)];

/// Fields that a new item has wherever it is made.
pub(super) fn item_fields() -> Value {
    json!({
        "title": short_text(TITLE_CHARS, "to 1,024 bytes"),
        "description": text(""),
        "summary": short_text(SUMMARY_CHARS, ""),
        "priority": word(&["high", "medium", "low"], ""),
        "complexity": whole(1, Some(10), ""),
        "tags": text("comma-separated"),
        "type": text(""),
        "traits": text("comma-separated"),
        "requiresVerification": flag(""),
        "touches": texts(""),
        "needs": texts(""),
        "requiredCapabilities": texts(""),
    })
}

/// The same with a word on each and what only this tool knows.
fn described_fields() -> Value {
    let mut item = item_fields();
    item["id"] = text("update: the item");
    item["description"] = clearable("");
    item["summary"]["type"] = json!(["string", "null"]);
    item["complexity"]["type"] = json!(["integer", "null"]);
    item["priority"]["description"] = json!("default medium");
    item["tags"] = clearable("comma-separated, lower case");
    item["type"] = clearable("selects the schema: required notes and lifecycle");
    item["traits"] = text("comma-separated; add notes to the schema");
    item["touches"] = texts("path globs it changes; overlapping work is not handed out together");
    item["needs"] = texts("shared resources it uses alone");
    item["requiredCapabilities"] = texts("what an agent must offer to be handed it");
    item["role"] = word(&["queue", "work", "review", "blocked", "terminal"], "create only; default queue");
    item["statusLabel"] = clearable("");
    item["parentId"] = clearable("update: null moves to the root");
    item["metadata"] = clearable("");
    item["properties"] = clearable("a JSON object as a string");
    item["fence"] = schema::fence();
    item
}

pub(super) fn tool() -> Tool {
    let input = object(
        json!({
            "operation": word(&["create", "update", "delete"], ""),
            "items": list(&object(described_fields(), &[]), "create (title needed) and update (id needed)"),
            "ids": texts("delete: the items"),
            "parentId": text("create: parent of all items that name none"),
            "traits": text("create: traits of all items that name none"),
            "recursive": flag("delete: with everything beneath"),
            "requiresVerification": flag("ignored: set it on each item"),
            "fence": whole(0, None, "delete: from your claim on each of ids"),
            "actor": schema::actor(""),
            "requestId": schema::request_id(),
        }),
        &["operation"],
    );
    let output = json!({
        "items": rows(), "ids": { "type": "array", "items": { "type": "string" } },
        "created": count(), "updated": count(), "deleted": count(), "descendantsDeleted": count(), "failed": count(), "failures": rows(),
    });
    let about = "Create, update or delete work items in a batch; each entry succeeds or fails on its own. Depth follows from \
                 the parent. Updates change only the fields given; null or an empty text clears where allowed. Roles change by advance_item alone.";
    schema::tool("manage_items", about, Effect::Destroys, input, output)
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    let operation = fields.need("operation", one_of(OPERATIONS))?;
    let request = request_id(&mut fields)?;
    let by = actor(session, &mut fields, "actor")?;
    // Documented as accepted and without effect.
    fields.value("requiresVerification");
    match operation {
        Operation::Create => create(session, fields, by, request).await,
        Operation::Update => update(session, fields, by, request).await,
        Operation::Delete => delete(session, fields, by, request).await,
    }
}

#[derive(Serialize)]
struct CreateAnswer<'a> {
    items: Vec<CreatedRow<'a>>,
    created: usize,
    failed: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failures: Vec<FailedAt>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CreatedRow<'a> {
    id: ItemId,
    key: &'a Key,
    title: &'a str,
    depth: u8,
    role: Role,
    priority: Priority,
    requires_verification: bool,
    tags: Option<String>,
    #[serde(rename = "type")]
    item_type: Option<&'a Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_notes: Option<Vec<Expected<'a>>>,
}

impl<'a> CreatedRow<'a> {
    fn of(created: &'a CreatedItem) -> Self {
        let item = &created.item;
        Self {
            id: item.id,
            key: &created.key,
            title: item.title.as_str(),
            depth: item.depth,
            role: item.role,
            priority: item.priority,
            requires_verification: item.requires_verification,
            tags: tags(&item.tags),
            item_type: item.item_type.as_ref(),
            expected_notes: created.schema_match.then(|| expected(&created.expected_notes, false)),
        }
    }
}

async fn create(
    session: &Session,
    mut fields: Fields,
    by: Option<Attribution>,
    request: Option<RequestId>,
) -> Result<Answer, Error> {
    no_fence(&mut fields, "nobody holds a new item")?;
    let entries = need_batch(&mut fields, "items")?;
    let parent = fields.parsed("parentId", item_ref)?;
    let traits = fields.split("traits", name)?.unwrap_or_default();
    end(&mut fields)?;
    let read = entries.into_iter().enumerate().map(|(index, value)| read_new(index, value, parent.as_ref(), &traits));
    let Sorted { good, bad: mut failures } = sort_out(read);
    let (places, items): (Vec<usize>, Vec<NewItem>) = good.into_iter().unzip();
    let mut made: Vec<CreatedItem> = Vec::with_capacity(items.len());
    if !items.is_empty() {
        let command = Create {
            project: session.project().clone(),
            items,
            edges: Vec::new(),
            notes: Vec::new(),
            blank_notes: false,
            room_below: false,
            atomic: false,
        };
        let created = session.engine().run(session.call(by, request), command).await?;
        for (place, result) in places.into_iter().zip(created.items) {
            match result {
                Ok(item) => made.push(item),
                Err(error) => failures.push((place, error)),
            }
        }
    }
    let items: Vec<CreatedRow<'_>> = made.iter().map(CreatedRow::of).collect();
    Ok(Answer::of(&CreateAnswer {
        created: items.len(),
        items,
        failed: failures.len(),
        failures: FailedAt::list(failures),
    }))
}

fn read_new(index: usize, value: Value, parent: Option<&ItemRef>, traits: &[Name]) -> Result<NewItem, Error> {
    let mut fields = Fields::inside(&format!("items[{index}]"), value, CREATE)?;
    let own = fields.parsed("parentId", item_ref)?;
    let names_traits = fields.has("traits");
    let mut item = new_item(&mut fields)?;
    item.parent = own.or_else(|| parent.cloned()).map(Parent::Existing);
    if !names_traits && item.traits.is_empty() {
        item.traits = traits.to_vec();
    }
    Ok(item)
}

#[derive(Serialize)]
struct UpdateAnswer {
    items: Vec<UpdatedRow>,
    updated: usize,
    failed: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failures: Vec<FailedId>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UpdatedRow {
    id: ItemId,
    modified_at: Timestamp,
    requires_verification: bool,
}

async fn update(
    session: &Session,
    mut fields: Fields,
    by: Option<Attribution>,
    request: Option<RequestId>,
) -> Result<Answer, Error> {
    no_fence(&mut fields, "each entry of items has its own")?;
    let entries = need_batch(&mut fields, "items")?;
    // Where it means something, null does too: it moves to the root.
    if fields.has("parentId") {
        let message = "parentId does not go with update: each entry of items has its own";
        return Err(Error::validation(Reason::BadValue, message).at("parentId"));
    }
    end(&mut fields)?;
    let called: Vec<String> = entries.iter().map(called).collect();
    let read = entries
        .into_iter()
        .enumerate()
        .map(|(index, value)| patch(&mut Fields::inside(&format!("items[{index}]"), value, UPDATE)?));
    let Sorted { good, bad: mut failures } = sort_out(read);
    let (places, patches): (Vec<usize>, Vec<Patch>) = good.into_iter().unzip();
    let mut items = Vec::with_capacity(patches.len());
    if !patches.is_empty() {
        let command = Edit { project: session.project().clone(), patches, atomic: false };
        let edited = session.engine().run(session.call(by, request), command).await?;
        for (place, result) in places.into_iter().zip(edited.items) {
            match result {
                Ok(Item { id, modified_at, requires_verification, .. }) => {
                    items.push(UpdatedRow { id, modified_at, requires_verification });
                }
                Err(error) => failures.push((place, error)),
            }
        }
    }
    failures.sort_by_key(|(place, _)| *place);
    let failures: Vec<FailedId> = failures
        .into_iter()
        .map(|(place, error)| FailedId { id: called.get(place).cloned().unwrap_or_default(), error: error.message })
        .collect();
    Ok(Answer::of(&UpdateAnswer { updated: items.len(), items, failed: failures.len(), failures }))
}

/// What the caller calls the item of a change, for failures.
fn called(entry: &Value) -> String {
    entry.get("id").and_then(Value::as_str).map_or_else(|| "unknown".to_owned(), docket_core::echo)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DeleteAnswer {
    ids: Vec<String>,
    deleted: usize,
    failed: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    descendants_deleted: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failures: Vec<FailedId>,
}

async fn delete(
    session: &Session,
    mut fields: Fields,
    by: Option<Attribution>,
    request: Option<RequestId>,
) -> Result<Answer, Error> {
    let entries = need_batch(&mut fields, "ids")?;
    let recursive = fields.flag("recursive")?.unwrap_or(false);
    let fence = fence(&mut fields)?;
    end(&mut fields)?;
    let called: Vec<String> =
        entries.iter().map(|entry| entry.as_str().map_or_else(|| "unknown".to_owned(), docket_core::echo)).collect();
    let read = entries.iter().enumerate().map(|(index, value)| {
        let field = format!("ids[{index}]");
        let Value::String(text) = value else { return Err(wrong_type(&field, "a string", value)) };
        item_ref(text).map_err(|invalid| Error::from(invalid.at(&field)))
    });
    let Sorted { good, bad: mut failures } = sort_out(read);
    let (places, items): (Vec<usize>, Vec<ItemRef>) = good.into_iter().unzip();
    let (mut ids, mut deleted, mut roots) = (Vec::new(), 0, BTreeSet::new());
    if !items.is_empty() {
        let command = Remove {
            project: session.project().clone(),
            items,
            expected_version: None,
            fence,
            recursive,
            atomic: false,
        };
        let removed = session.engine().run(session.call(by, request), command).await?;
        for (place, result) in places.into_iter().zip(removed.items) {
            match result {
                Ok(removed) => {
                    ids.push(called[place].clone());
                    deleted += removed.descendants + usize::from(!removed.already);
                    roots.insert(removed.item);
                }
                Err(error) => failures.push((place, error)),
            }
        }
    }
    failures.sort_by_key(|(place, _)| *place);
    let failures: Vec<FailedId> = failures
        .into_iter()
        .map(|(place, error)| FailedId { id: called[place].clone(), error: removal_text(&error) })
        .collect();
    // One that was named as well is a root, whichever of them went first.
    let descendants_deleted = Some(deleted - roots.len()).filter(|beneath| recursive && *beneath > 0);
    Ok(Answer::of(&DeleteAnswer { ids, deleted, failed: failures.len(), descendants_deleted, failures }))
}

/// Names the switch of this tool that would help.
fn removal_text(error: &Error) -> String {
    match error.reason {
        Reason::HasChildren => format!("{} (recursive: true)", error.message),
        _ => error.message.clone(),
    }
}
