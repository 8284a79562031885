//! Items.

use docket_core::model::{
    Claim, Complexity, Derived, Fence, Item, ItemId, Name, Outcome, Priority, ProjectId, Role, Summary, Tag, Text,
    Title,
};
use docket_core::store::code::Code;
use serde::Deserialize;

use super::{Flag, Millis};

/// A row `i` of `items`, in the order of [`ItemRow`].
pub(crate) const ITEM: &str = "json_array(hex(i.id), hex(i.project_id), i.number, nullif(hex(i.parent_id), ''), i.depth, \
    i.title, i.description, i.summary, i.status, i.role, i.outcome, i.previous_status, i.status_label, i.priority, \
    i.complexity, i.item_type, json(nullif(i.tags, '[]')), json(nullif(i.traits, '[]')), i.metadata, i.properties, i.requires_verification, \
    json(nullif(i.touches, '[]')), json(nullif(i.needs, '[]')), json(nullif(i.required_capabilities, '[]')), \
    CASE WHEN i.holder IS NOT NULL THEN json_array(i.holder, i.claimed_at, i.claim_expires_at, i.original_claimed_at, \
    i.claim_ttl) END, i.fence, i.version, i.created_at, i.modified_at, i.role_changed_at, i.blockers, i.moot, i.unblocks, \
    i.rank, i.offered)";

/// A list; nothing where it is empty, which most are, so that SQL need not parse it.
type List<T> = Option<Vec<T>>;

/// What [`ITEM`] says.
#[derive(Debug, Deserialize)]
pub(crate) struct ItemRow {
    id: ItemId,
    project: ProjectId,
    number: u32,
    parent: Option<ItemId>,
    depth: u8,
    title: Title,
    description: Option<Text>,
    summary: Summary,
    status: Name,
    role: Code<Role>,
    outcome: Option<Code<Outcome>>,
    previous_status: Option<Name>,
    status_label: Option<Name>,
    priority: Code<Priority>,
    complexity: Option<Complexity>,
    item_type: Option<Name>,
    tags: List<Tag>,
    traits: List<Name>,
    metadata: Option<Text>,
    properties: Option<Text>,
    requires_verification: Flag,
    touches: List<Name>,
    needs: List<Name>,
    required_capabilities: List<Name>,
    claim: Option<ClaimRow>,
    fence: Fence,
    version: u64,
    created_at: Millis,
    modified_at: Millis,
    role_changed_at: Millis,
    blockers: u32,
    moot: u32,
    unblocks: u32,
    rank: i64,
    offered: Flag,
}

#[derive(Debug, Deserialize)]
struct ClaimRow {
    holder: Name,
    claimed_at: Millis,
    expires_at: Option<Millis>,
    original_claimed_at: Millis,
    ttl_seconds: u32,
}

impl From<ItemRow> for Item {
    fn from(row: ItemRow) -> Self {
        Self {
            id: row.id,
            project: row.project,
            number: row.number,
            parent: row.parent,
            depth: row.depth,
            title: row.title,
            description: row.description,
            summary: row.summary,
            status: row.status,
            role: row.role.0,
            outcome: row.outcome.map(|outcome| outcome.0),
            previous_status: row.previous_status,
            status_label: row.status_label,
            priority: row.priority.0,
            complexity: row.complexity,
            item_type: row.item_type,
            tags: row.tags.unwrap_or_default(),
            traits: row.traits.unwrap_or_default(),
            metadata: row.metadata,
            properties: row.properties,
            requires_verification: row.requires_verification.0,
            touches: row.touches.unwrap_or_default(),
            needs: row.needs.unwrap_or_default(),
            required_capabilities: row.required_capabilities.unwrap_or_default(),
            claim: row.claim.map(Claim::from),
            fence: row.fence,
            version: row.version,
            created_at: row.created_at.into(),
            modified_at: row.modified_at.into(),
            role_changed_at: row.role_changed_at.into(),
            derived: Derived {
                blockers: row.blockers,
                moot: row.moot,
                unblocks: row.unblocks,
                rank: row.rank,
                offered: row.offered.0,
            },
        }
    }
}

impl From<ClaimRow> for Claim {
    fn from(row: ClaimRow) -> Self {
        Self {
            holder: row.holder,
            claimed_at: row.claimed_at.into(),
            expires_at: row.expires_at.map(Into::into),
            original_claimed_at: row.original_claimed_at.into(),
            ttl_seconds: row.ttl_seconds,
        }
    }
}
