//! Counts of children and claims, from indexes alone.

use std::collections::BTreeMap;

use docket_core::model::{ItemId, Role};
use docket_core::store::code::Code;
use docket_core::store::{ChildTally, ClaimTally, ProjectRef, StoreError, Visible};
use serde::Deserialize;

use super::limit::Limit;
use super::statement::{NOW, Statement};
use crate::context::Context;
use crate::pool::Link;
use crate::row::Millis;
use crate::script::Script;

#[derive(Debug, Deserialize)]
struct Children {
    now: Millis,
    /// How many children each parent has in a role.
    roles: Vec<(ItemId, Code<Role>, u64)>,
    /// How many claims on the children of each parent there are, and how many of them have run out.
    claims: Vec<(ItemId, u64, u64)>,
}

/// How the direct children of each of these items stand; every one of them has an entry.
pub(crate) async fn tally_children(
    link: &mut Link,
    context: &Context,
    parents: &[ItemId],
) -> Result<BTreeMap<ItemId, ChildTally>, StoreError> {
    let counted: Children = link.ask(compose_children(context, parents)).await?;
    context.clock.saw(counted.now.into());
    let mut tallies: BTreeMap<ItemId, ChildTally> = parents.iter().map(|id| (*id, ChildTally::default())).collect();
    for (parent, role, count) in counted.roles {
        let tally = tallies.entry(parent).or_default();
        for (place, known) in Role::ALL.into_iter().enumerate() {
            if known == role.0 {
                tally.by_role[place] = count;
            }
        }
        tally.claims.unclaimed += count;
    }
    for (parent, claimed, expired) in counted.claims {
        let claims = &mut tallies.entry(parent).or_default().claims;
        claims.unclaimed = claims.unclaimed.saturating_sub(claimed);
        claims.expired = expired;
        claims.active = claimed.saturating_sub(expired);
    }
    Ok(tallies)
}

fn compose_children(context: &Context, parents: &[ItemId]) -> Script {
    let mut script = Script::default();
    let mut statement = Statement::with_clock(&mut script, &context.clock);
    let parents = script.uuids(parents.iter().map(|id| id.as_uuid()));
    statement.part("parents (id)", &format!("SELECT DISTINCT unnest({parents})"));
    statement.rows(
        "roles",
        "json_build_array(id, role, children)",
        "(SELECT p.id, c.role, count(*) AS children FROM parents p \
         JOIN items c ON c.parent_id = p.id GROUP BY p.id, c.role) t",
    );
    statement.rows(
        "claims",
        "json_build_array(id, claimed, expired)",
        &format!(
            "(SELECT p.id, count(*) AS claimed, count(*) FILTER (WHERE c.claim_expires_at <= {NOW}) AS expired \
             FROM parents p JOIN items c ON c.parent_id = p.id AND c.claimed_at IS NOT NULL GROUP BY p.id) t"
        ),
    );
    statement.finish(&mut script);
    script
}

#[derive(Debug, Deserialize)]
struct Claims {
    now: Millis,
    all: u64,
    claimed: u64,
    expired: u64,
}

/// How many claims are live and expired, in a project or in all, and how many items have none.
pub(crate) async fn tally_claims(
    link: &mut Link,
    context: &Context,
    project: &ProjectRef,
    visible: &Visible,
) -> Result<ClaimTally, StoreError> {
    let counted: Claims = link.ask(compose_claims(context, project, visible)).await?;
    context.clock.saw(counted.now.into());
    Ok(ClaimTally {
        active: counted.claimed.saturating_sub(counted.expired),
        expired: counted.expired,
        unclaimed: counted.all.saturating_sub(counted.claimed),
    })
}

fn compose_claims(context: &Context, project: &ProjectRef, visible: &Visible) -> Script {
    let mut script = Script::default();
    let mut statement = Statement::with_clock(&mut script, &context.clock);
    let limit = Limit::of(&mut script, visible);
    let meant = limit.meant(&mut script, project).map_or_else(|| limit.projects(), |set| set.select());
    let claimed = "items i ON i.project_id = m.id AND i.claimed_at IS NOT NULL";
    statement.part("meant (id)", &meant);
    statement.result("all", "(SELECT count(*) FROM meant m JOIN items i ON i.project_id = m.id)");
    statement.result("claimed", &format!("(SELECT count(*) FROM meant m JOIN {claimed})"));
    statement
        .result("expired", &format!("(SELECT count(*) FROM meant m JOIN {claimed} AND i.claim_expires_at <= {NOW})"));
    statement.finish(&mut script);
    script
}
