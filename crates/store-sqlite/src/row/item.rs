//! Items.

use docket_core::model::{Claim, Complexity, Derived, Fence, Item, ItemId, ProjectId};
use docket_core::store::StoreError;

use super::{Cells, as_number, code};
use crate::error::corrupt;

/// The columns of an item in the order in which [`read_item`] takes them; `i` is the table.
pub(crate) const ITEM_COLUMNS: &str = "i.id, i.project_id, i.number, i.parent_id, i.depth, i.title, i.description, \
    i.summary, i.status, i.role, i.outcome, i.previous_status, i.status_label, i.priority, i.complexity, i.item_type, \
    i.tags, i.traits, i.metadata, i.properties, i.requires_verification, i.touches, i.needs, i.required_capabilities, \
    i.holder, i.claimed_at, i.claim_expires_at, i.original_claimed_at, i.claim_ttl, i.fence, i.version, i.created_at, \
    i.modified_at, i.role_changed_at, i.blockers, i.moot, i.unblocks, i.rank, i.offered";

/// Reads [`ITEM_COLUMNS`].
pub(crate) fn read_item(cells: &mut Cells<'_>) -> Result<Item, StoreError> {
    Ok(Item {
        id: ItemId::from_uuid(cells.uuid()?),
        project: ProjectId::from_uuid(cells.uuid()?),
        number: cells.number()?,
        parent: cells.maybe_uuid()?.map(ItemId::from_uuid),
        depth: cells.number()?,
        title: cells.parsed()?,
        description: cells.maybe_parsed()?,
        summary: cells.parsed()?,
        status: cells.parsed()?,
        role: code::role(cells.get()?)?,
        outcome: cells.get::<Option<i64>>()?.map(code::outcome).transpose()?,
        previous_status: cells.maybe_parsed()?,
        status_label: cells.maybe_parsed()?,
        priority: code::priority(cells.get()?)?,
        complexity: cells.get::<Option<i64>>()?.map(complexity).transpose()?,
        item_type: cells.maybe_parsed()?,
        tags: cells.list()?,
        traits: cells.list()?,
        metadata: cells.maybe_parsed()?,
        properties: cells.maybe_parsed()?,
        requires_verification: cells.get()?,
        touches: cells.list()?,
        needs: cells.list()?,
        required_capabilities: cells.list()?,
        claim: read_claim(cells)?,
        fence: Fence(cells.number()?),
        version: cells.number()?,
        created_at: cells.time()?,
        modified_at: cells.time()?,
        role_changed_at: cells.time()?,
        derived: Derived {
            blockers: cells.number()?,
            moot: cells.number()?,
            unblocks: cells.number()?,
            rank: cells.get()?,
            offered: cells.get()?,
        },
    })
}

fn read_claim(cells: &mut Cells<'_>) -> Result<Option<Claim>, StoreError> {
    let holder = cells.maybe_parsed()?;
    let claimed_at = cells.maybe_time()?;
    let expires_at = cells.maybe_time()?;
    let original_claimed_at = cells.maybe_time()?;
    let ttl: Option<i64> = cells.get()?;
    let Some(holder) = holder else { return Ok(None) };
    let (Some(claimed_at), Some(original_claimed_at), Some(ttl)) = (claimed_at, original_claimed_at, ttl) else {
        return Err(corrupt("a claim lacks its times"));
    };
    Ok(Some(Claim { holder, claimed_at, expires_at, original_claimed_at, ttl_seconds: as_number(ttl)? }))
}

fn complexity(value: i64) -> Result<Complexity, StoreError> {
    Complexity::parse(value).map_err(|error| corrupt(format!("a stored complexity {error}")))
}
