//! Shapes that several answers share. Fields stand in the order in which this dialect writes them.

use docket_core::model::{
    ActorKind, Attribution, Edge, EdgeKind, Item, ItemId, Key, Name, Priority, Role, Tag, Timestamp, Title,
    Verification,
};
use docket_core::store::{ChildTally, ClaimTally, Slice};
use docket_core::workflow::{ExpectedNote, Workflow};
use docket_core::{Blocker, Error};
use serde::Serialize;
use serde_json::value::to_raw_value;

use super::properties::Properties;
use crate::session::Keys;

/// An entry of a batch that was not carried out, by its place.
#[derive(Serialize)]
pub(super) struct FailedAt {
    pub(super) index: usize,
    pub(super) error: String,
}

impl FailedAt {
    /// The failures of a batch, in the order of its entries.
    pub(super) fn list(mut failures: Vec<(usize, Error)>) -> Vec<Self> {
        failures.sort_by_key(|(index, _)| *index);
        failures.into_iter().map(|(index, error)| Self { index, error: error.message }).collect()
    }
}

/// An entry of a batch that was not carried out, by what the caller called it.
#[derive(Serialize)]
pub(super) struct FailedId {
    pub(super) id: String,
    pub(super) error: String,
}

/// An ancestor, for breadcrumbs.
#[derive(Serialize)]
pub(super) struct Ancestor<'a> {
    id: ItemId,
    title: &'a Title,
    depth: u8,
}

/// Ancestors of an item, the root first.
pub(super) fn ancestors<'a>(seen: &'a Slice, item: &Item) -> Vec<Ancestor<'a>> {
    seen.ancestors(item).into_iter().map(ancestor).collect()
}

/// One ancestor.
pub(super) fn ancestor(item: &Item) -> Ancestor<'_> {
    Ancestor { id: item.id, title: &item.title, depth: item.depth }
}

/// An item in short, for lists.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Minimal<'a> {
    id: ItemId,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<Key>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_id: Option<ItemId>,
    title: &'a Title,
    role: Role,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_label: Option<&'a Name>,
    priority: Priority,
    depth: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    tags: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    item_type: Option<&'a Name>,
}

impl<'a> Minimal<'a> {
    pub(super) fn of(item: &'a Item, keys: &Keys) -> Self {
        Self {
            id: item.id,
            key: keys.of(item),
            parent_id: item.parent,
            title: &item.title,
            role: item.role,
            status_label: item.status_label.as_ref(),
            priority: item.priority,
            depth: item.depth,
            tags: tags(&item.tags),
            item_type: item.item_type.as_ref(),
        }
    }
}

/// An item with all its fields.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Full<'a> {
    id: ItemId,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<Key>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_id: Option<ItemId>,
    title: &'a Title,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    summary: &'a str,
    role: Role,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_label: Option<&'a Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_role: Option<Role>,
    priority: Priority,
    complexity: Option<u8>,
    depth: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tags: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    item_type: Option<&'a Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    properties: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    requires_verification: bool,
    #[serde(skip_serializing_if = "<[Name]>::is_empty")]
    touches: &'a [Name],
    #[serde(skip_serializing_if = "<[Name]>::is_empty")]
    needs: &'a [Name],
    #[serde(skip_serializing_if = "<[Name]>::is_empty")]
    required_capabilities: &'a [Name],
    created_at: Timestamp,
    modified_at: Timestamp,
    role_changed_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ancestors: Option<Vec<Ancestor<'a>>>,
}

impl<'a> Full<'a> {
    /// `workflow` says which role the status stands for that the item returns to.
    pub(super) fn of(item: &'a Item, key: Option<Key>, workflow: Option<&Workflow>) -> Self {
        let before = item.previous_status.as_ref().and_then(|name| workflow?.status(name));
        Self {
            id: item.id,
            key,
            parent_id: item.parent,
            title: &item.title,
            description: item.description.as_ref().map(docket_core::model::Text::as_str),
            summary: item.summary.as_str(),
            role: item.role,
            status_label: item.status_label.as_ref(),
            previous_role: before.map(|status| status.role),
            priority: item.priority,
            complexity: item.complexity.map(docket_core::model::Complexity::get),
            depth: item.depth,
            metadata: item.metadata.as_ref().map(docket_core::model::Text::as_str),
            tags: tags(&item.tags),
            item_type: item.item_type.as_ref(),
            properties: properties(item),
            requires_verification: item.requires_verification,
            touches: &item.touches,
            needs: &item.needs,
            required_capabilities: &item.required_capabilities,
            created_at: item.created_at,
            modified_at: item.modified_at,
            role_changed_at: item.role_changed_at,
            ancestors: None,
        }
    }
}

/// Tags as this dialect writes them; none for none.
pub(super) fn tags(tags: &[Tag]) -> Option<String> {
    (!tags.is_empty()).then(|| tags.iter().map(Tag::as_str).collect::<Vec<_>>().join(","))
}

/// The caller's JSON with the traits in it again.
fn properties(item: &Item) -> Option<String> {
    let own = item.properties.as_ref().map(|text| text.as_str().to_owned());
    if item.traits.is_empty() {
        return own;
    }
    let mut object: Properties = own.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    object.put("traits".to_owned(), to_raw_value(&item.traits).ok()?);
    serde_json::to_string(&object).ok()
}

/// A note that a schema knows.
#[derive(Serialize)]
pub(super) struct Expected<'a> {
    key: &'a Name,
    role: Role,
    required: bool,
    description: &'a str,
    exists: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    filled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skill: Option<&'a str>,
}

/// The notes that a schema knows; `filled` says whether each also tells if there is anything in it.
pub(super) fn expected(notes: &[ExpectedNote], filled: bool) -> Vec<Expected<'_>> {
    notes.iter().map(|note| expected_note(note, filled)).collect()
}

fn expected_note(note: &ExpectedNote, filled: bool) -> Expected<'_> {
    Expected {
        key: &note.key,
        role: note.phase,
        required: note.required,
        description: &note.description,
        exists: note.exists,
        filled: filled.then_some(note.filled),
        skill: note.skill.as_deref(),
    }
}

/// Who acted and how far that was checked, as two fields beside each other.
#[derive(Serialize)]
pub(super) struct Actor<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    actor: Option<Claimed<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verification: Option<&'a Verification>,
}

/// Who says they acted. The proof is kept and never told: whoever reads a note could send it as their own.
#[derive(Serialize)]
struct Claimed<'a> {
    id: &'a Name,
    kind: ActorKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<&'a Name>,
}

impl<'a> Actor<'a> {
    pub(super) fn of(by: Option<&'a Attribution>) -> Self {
        let claimed =
            |by: &'a Attribution| Claimed { id: &by.actor.id, kind: by.actor.kind, parent: by.actor.parent.as_ref() };
        Self { actor: by.map(claimed), verification: by.map(|by| &by.verification) }
    }
}

/// Direct children by role.
#[derive(Serialize)]
pub(super) struct ChildCounts {
    queue: u64,
    work: u64,
    review: u64,
    blocked: u64,
    terminal: u64,
}

impl ChildCounts {
    pub(super) fn of(tally: &ChildTally) -> Self {
        let [queue, work, review, blocked, terminal] = tally.by_role;
        Self { queue, work, review, blocked, terminal }
    }
}

/// How claims stand, those without one left out where that is noise.
#[derive(Serialize)]
pub(super) struct ClaimSummary {
    active: u64,
    expired: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    unclaimed: Option<u64>,
}

impl ClaimSummary {
    pub(super) fn of(tally: ClaimTally, unclaimed: bool) -> Self {
        Self { active: tally.active, expired: tally.expired, unclaimed: unclaimed.then_some(tally.unclaimed) }
    }
}

/// A blocker that has not come far enough.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BlockerRow {
    from_item_id: ItemId,
    current_role: Role,
    required_role: Role,
}

/// Blockers that have not come far enough.
pub(super) fn blockers<'b>(blockers: impl IntoIterator<Item = &'b Blocker>) -> Vec<BlockerRow> {
    let row = |blocker: &Blocker| BlockerRow {
        from_item_id: blocker.item,
        current_role: blocker.current_role,
        required_role: blocker.required_role,
    };
    blockers.into_iter().map(row).collect()
}

/// A dependency as it was written: "is blocked by" keeps its ends where the author put them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Dependency {
    id: docket_core::model::EdgeId,
    pub(super) from_item_id: ItemId,
    pub(super) to_item_id: ItemId,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    unblock_at: Option<Role>,
}

impl Dependency {
    pub(super) fn of(edge: &Edge) -> Self {
        let (from, to) = if edge.inverse { (edge.to, edge.from) } else { (edge.from, edge.to) };
        Self { id: edge.id, from_item_id: from, to_item_id: to, kind: kind(edge), unblock_at: edge.unblock_at }
    }
}

fn kind(edge: &Edge) -> &'static str {
    match edge.kind {
        EdgeKind::Blocks if edge.inverse => "IS_BLOCKED_BY",
        EdgeKind::Blocks => "BLOCKS",
        EdgeKind::RelatesTo => "RELATES_TO",
        EdgeKind::Supersedes => "SUPERSEDES",
        EdgeKind::DuplicateOf => "DUPLICATE_OF",
    }
}
