//! Counts of children and claims, from indexes alone.

use std::collections::BTreeMap;

use docket_core::model::{ItemId, Role};
use docket_core::store::{ChildTally, ClaimTally, ProjectRef, StoreError};

use super::named_project;
use crate::context::Context;
use crate::error::{corrupt, store_error};
use crate::pool::Link;
use crate::row::{Cells, as_number, code};
use crate::script::Script;

/// How the direct children of each of these items stand; every one of them has an entry.
pub(crate) async fn tally_children(
    link: &mut Link,
    context: &Context,
    parents: &[ItemId],
) -> Result<BTreeMap<ItemId, ChildTally>, StoreError> {
    let rows = link.run(compose_children(context, parents)).await.map_err(store_error)?;
    let mut tallies: BTreeMap<ItemId, ChildTally> = parents.iter().map(|id| (*id, ChildTally::default())).collect();
    for row in &rows {
        let mut cells = Cells::new(row);
        let kind: &str = cells.get()?;
        if kind == "now" {
            context.clock.saw(cells.time()?);
            continue;
        }
        let parent = ItemId::from_uuid(cells.uuid()?);
        let tally = tallies.entry(parent).or_default();
        if kind == "roles" {
            let role = code::role(cells.get()?)?;
            let place = Role::ALL.iter().position(|known| *known == role).ok_or_else(|| corrupt("no such role"))?;
            tally.by_role[place] = cells.number()?;
        } else {
            tally.claims.active = cells.number()?;
            tally.claims.expired = cells.number()?;
        }
    }
    for tally in tallies.values_mut() {
        let claimed = tally.claims.active + tally.claims.expired;
        tally.claims.unclaimed = tally.by_role.iter().sum::<u64>().saturating_sub(claimed);
    }
    Ok(tallies)
}

pub(crate) fn compose_children(context: &Context, parents: &[ItemId]) -> Script {
    let mut script = Script::default();
    let parents = script.uuids(parents.iter().map(|id| id.as_uuid()));
    let children = format!("(SELECT DISTINCT unhex(value) AS id FROM json_each({parents})) p CROSS JOIN items c");
    script.add("BEGIN");
    context.clock.read(&mut script);
    script.add(&format!(
        "SELECT 'roles', p.id, c.role, count(*) FROM {children} ON c.parent_id = p.id GROUP BY p.id, c.role"
    ));
    script.add(&format!(
        "SELECT 'claims', p.id, total(c.claim_expires_at IS NULL OR c.claim_expires_at > (SELECT now FROM clock)) , \
         total(c.claim_expires_at <= (SELECT now FROM clock)) \
         FROM {children} INDEXED BY items_claimed_children ON c.parent_id = p.id AND c.holder IS NOT NULL GROUP BY p.id"
    ));
    script.add("COMMIT");
    script
}

/// How many claims are live and expired, in a project or in all, and how many items have none.
pub(crate) async fn tally_claims(
    link: &mut Link,
    context: &Context,
    project: &ProjectRef,
) -> Result<ClaimTally, StoreError> {
    let rows = link.run(compose_claims(context, project)).await.map_err(store_error)?;
    let mut counts = [0_i64; 3];
    for row in &rows {
        let mut cells = Cells::new(row);
        match cells.get::<&str>()? {
            "now" => context.clock.saw(cells.time()?),
            _ => counts = [cells.get()?, cells.get()?, cells.get()?],
        }
    }
    let [all, claimed, expired] = counts;
    Ok(ClaimTally {
        active: as_number(claimed - expired)?,
        expired: as_number(expired)?,
        unclaimed: as_number(all - claimed)?,
    })
}

pub(crate) fn compose_claims(context: &Context, project: &ProjectRef) -> Script {
    let mut script = Script::default();
    script.add("BEGIN");
    context.clock.read(&mut script);
    let (all, claimed) = match named_project(&mut script, project) {
        Some(named) => (format!("project_id = ({named})"), format!("project_id = ({named}) AND holder IS NOT NULL")),
        None => ("1".to_owned(), "holder IS NOT NULL".to_owned()),
    };
    script.add(&format!(
        "SELECT 'claims', (SELECT count(*) FROM items WHERE {all}), \
         (SELECT count(*) FROM items INDEXED BY items_claimed WHERE {claimed}), \
         (SELECT count(*) FROM items INDEXED BY items_claimed \
          WHERE {claimed} AND claim_expires_at <= (SELECT now FROM clock))"
    ));
    script.add("COMMIT");
    script
}
