//! Counts of children and claims, and the next end of one, from indexes alone.

use std::collections::BTreeMap;
use std::time::Duration;

use docket_core::model::{ItemId, Timestamp};
use docket_core::store::code::role_codes;
use docket_core::store::row::{ChildCounts, ClaimCounts, Millis};
use docket_core::store::{ChildTally, ClaimTally, ProjectRef, StoreError, Visible};
use serde::Deserialize;

use super::limit::Limit;
use super::statement::{NOW, Statement, each};
use crate::context::Context;
use crate::pool::Link;
use crate::script::Script;

/// How the direct children of each of these items stand, or so many of each role; every one of them has an entry.
pub(crate) async fn tally_children(
    link: &mut Link,
    context: &Context,
    parents: &[ItemId],
    most: Option<u64>,
) -> Result<BTreeMap<ItemId, ChildTally>, StoreError> {
    let counted: ChildCounts = link.ask(compose_children(context, parents, most)).await?;
    context.clock.saw(counted.now());
    Ok(counted.tallies(parents))
}

fn compose_children(context: &Context, parents: &[ItemId], most: Option<u64>) -> Script {
    let mut script = Script::default();
    let mut statement = Statement::with_clock(&mut script, &context.clock);
    let parents = script.uuids(parents.iter().map(|id| id.as_uuid()));
    statement.part("parents (id)", &format!("SELECT DISTINCT unnest({parents})"));
    match most {
        None => add_children(&mut statement),
        Some(most) => add_some_children(&mut statement, most),
    }
    statement.finish(&mut script);
    script
}

/// How the direct children of what the part `parents` holds stand.
pub(super) fn add_children(statement: &mut Statement) {
    let children = each("parents p", "items", "c", "c.parent_id = p.id");
    statement.rows(
        "roles",
        "json_build_array(id, role, children)",
        &format!("(SELECT p.id, c.role, count(*) AS children FROM {children} GROUP BY p.id, c.role) t"),
    );
    let claimed = each("parents p", "items", "c", "c.parent_id = p.id AND c.claimed_at IS NOT NULL");
    statement.rows(
        "claims",
        "json_build_array(id, claimed, expired)",
        &format!(
            "(SELECT p.id, count(*) AS claimed, count(*) FILTER (WHERE c.claim_expires_at <= {NOW}) AS expired \
             FROM {claimed} GROUP BY p.id) t"
        ),
    );
}

/// The same with no more than so many of each role, and so many claims: each count ends there.
fn add_some_children(statement: &mut Statement, most: u64) {
    let roles = role_codes().map(|role| format!("({role}::smallint)")).join(", ");
    statement.rows(
        "roles",
        "json_build_array(id, role, children)",
        &format!(
            "(SELECT p.id, r.role, n.children FROM parents p CROSS JOIN (VALUES {roles}) r (role) \
             CROSS JOIN LATERAL (SELECT count(*) AS children FROM (SELECT 1 FROM items c \
             WHERE c.parent_id = p.id AND c.role = r.role LIMIT {most}) s) n) t"
        ),
    );
    statement.rows(
        "claims",
        "json_build_array(id, claimed, expired)",
        &format!(
            "(SELECT p.id, n.claimed, n.expired FROM parents p CROSS JOIN LATERAL ( \
             SELECT count(*) AS claimed, count(*) FILTER (WHERE s.at <= {NOW}) AS expired FROM ( \
             SELECT c.claim_expires_at AS at FROM items c \
             WHERE c.parent_id = p.id AND c.claimed_at IS NOT NULL LIMIT {most}) s) n) t"
        ),
    );
}

/// How many claims are live and expired, in a project or in all, and how many items have none.
pub(crate) async fn tally_claims(
    link: &mut Link,
    context: &Context,
    project: &ProjectRef,
    visible: &Visible,
) -> Result<ClaimTally, StoreError> {
    let counted: ClaimCounts = link.ask(compose_claims(context, project, visible)).await?;
    context.clock.saw(counted.now());
    Ok(counted.tally())
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

#[derive(Debug, Deserialize)]
struct Ending {
    now: Millis,
    next: Option<Millis>,
}

/// How long it is until the next live claim runs out by itself.
pub(crate) async fn next_expiry(
    link: &mut Link,
    context: &Context,
    project: &ProjectRef,
    visible: &Visible,
) -> Result<Option<Duration>, StoreError> {
    let ending: Ending = link.ask(compose_expiry(context, project, visible)).await?;
    let now: Timestamp = ending.now.into();
    context.clock.saw(now);
    let left = |next: Timestamp| u64::try_from(next.as_millis() - now.as_millis()).unwrap_or(0);
    Ok(ending.next.map(|next| Duration::from_millis(left(next.into()))))
}

fn compose_expiry(context: &Context, project: &ProjectRef, visible: &Visible) -> Script {
    let mut script = Script::default();
    let mut statement = Statement::with_clock(&mut script, &context.clock);
    let limit = Limit::of(&mut script, visible);
    let meant = limit.meant(&mut script, project).map_or_else(|| limit.projects(), |set| set.select());
    // The first of each project: the index gives the order within one alone.
    let first = format!(
        "SELECT i.claim_expires_at FROM items i WHERE i.project_id = m.id AND i.claimed_at IS NOT NULL \
         AND i.claim_expires_at > {NOW} ORDER BY i.claim_expires_at LIMIT 1"
    );
    statement.part("meant (id)", &meant);
    statement.result("next", &format!("(SELECT min(({first})) FROM meant m)"));
    statement.finish(&mut script);
    script
}
