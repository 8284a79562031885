//! Items.

use crate::model::{
    Claim, Complexity, Derived, Fence, Inbox, Item, ItemId, Name, Outcome, Priority, ProjectId, Role, Sections,
    Summary, Tag, Text, Title,
};
use crate::store::code::Code;
use serde::Deserialize;

use super::{Flag, Millis};

/// A list; nothing where it is empty, which most are, so that SQL need not parse it.
type List<T> = Option<Vec<T>>;

/// A row of `items`.
#[derive(Debug, Deserialize)]
pub struct ItemRow {
    id: ItemId,
    project: ProjectId,
    number: u32,
    parent: Option<ItemId>,
    depth: u8,
    title: Title,
    description: Option<Text>,
    summary: Summary,
    intent: Option<Text>,
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
    attention: Option<Text>,
    due_at: Option<Millis>,
    estimate_minutes: Option<u32>,
    position: Option<i32>,
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
    sections: u8,
    inbox: u8,
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
            intent: row.intent,
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
            attention: row.attention,
            due_at: row.due_at.map(Into::into),
            estimate_minutes: row.estimate_minutes,
            position: row.position,
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
                sections: Sections(row.sections),
                inbox: Inbox(row.inbox),
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
