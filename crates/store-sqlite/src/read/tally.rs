//! Counts of children and claims, and the next end of one, from indexes alone.

use std::collections::BTreeMap;
use std::time::Duration;

use docket_core::model::{ItemId, Timestamp};
use docket_core::store::code::role_codes;
use docket_core::store::row::{ChildCounts, ClaimCounts, Millis};
use docket_core::store::{ChildTally, ClaimTally, ProjectRef, StoreError, Visible};
use serde::Deserialize;

use super::limit::Limit;
use super::statement::{NOW, Statement};
use crate::context::Context;
use crate::pool::Link;
use crate::script::Script;

/// How the direct children of each of these items stand, or so many of each role; every one of them has an entry.
pub(crate) fn tally_children(
    link: &mut Link,
    context: &Context,
    parents: &[ItemId],
    most: Option<u64>,
) -> Result<BTreeMap<ItemId, ChildTally>, StoreError> {
    let counted: ChildCounts = link.ask(&compose_children(context, parents, most))?;
    context.clock.saw(counted.now());
    Ok(counted.tallies(parents))
}

pub(super) fn compose_children(context: &Context, parents: &[ItemId], most: Option<u64>) -> Script {
    let mut script = Script::default();
    let mut statement = Statement::with_clock(&mut script, &context.clock);
    let parents = script.uuids(parents.iter().map(|id| id.as_uuid()));
    statement.part("parents (id)", &format!("SELECT DISTINCT unhex(value) FROM json_each({parents})"));
    match most {
        None => add_children(&mut statement),
        Some(most) => add_some_children(&mut statement, most),
    }
    statement.finish(&mut script);
    script
}

/// How the direct children of what the part `parents` holds stand.
pub(super) fn add_children(statement: &mut Statement) {
    statement.rows(
        "roles",
        "json_array(hex(id), role, children)",
        "(SELECT p.id, c.role, count(*) AS children FROM parents p \
         CROSS JOIN items c ON c.parent_id = p.id GROUP BY p.id, c.role)",
    );
    statement.rows(
        "claims",
        "json_array(hex(id), claimed, expired)",
        &format!(
            "(SELECT p.id, count(*) AS claimed, count(*) FILTER (WHERE c.claim_expires_at <= {NOW}) AS expired \
             FROM parents p CROSS JOIN items c INDEXED BY items_claimed_children \
             ON c.parent_id = p.id AND c.holder IS NOT NULL GROUP BY p.id)"
        ),
    );
}

/// The same with no more than so many of each role, and so many claims: each count ends there.
fn add_some_children(statement: &mut Statement, most: u64) {
    let counted = role_codes().map(|role| {
        format!(
            "SELECT p.id, {role} AS role, (SELECT count(*) FROM (SELECT 1 FROM items c \
             WHERE c.parent_id = p.id AND c.role = {role} LIMIT {most})) AS children FROM parents p"
        )
    });
    let counted = format!("({})", counted.join(" UNION ALL "));
    statement.rows("roles", "json_array(hex(id), role, children)", &counted);
    let claimed = format!(
        "SELECT c.claim_expires_at AS at FROM items c INDEXED BY items_claimed_children \
         WHERE c.parent_id = p.id AND c.holder IS NOT NULL LIMIT {most}"
    );
    statement.rows(
        "claims",
        "json_array(hex(id), claimed, expired)",
        &format!(
            "(SELECT p.id, (SELECT count(*) FROM ({claimed})) AS claimed, \
             (SELECT count(*) FROM ({claimed}) WHERE at <= {NOW}) AS expired FROM parents p)"
        ),
    );
}

/// How many claims are live and expired, in a project or in all, and how many items have none.
pub(crate) fn tally_claims(
    link: &mut Link,
    context: &Context,
    project: &ProjectRef,
    visible: &Visible,
) -> Result<ClaimTally, StoreError> {
    let counted: ClaimCounts = link.ask(&compose_claims(context, project, visible))?;
    context.clock.saw(counted.now());
    Ok(counted.tally())
}

pub(super) fn compose_claims(context: &Context, project: &ProjectRef, visible: &Visible) -> Script {
    let mut script = Script::default();
    let mut statement = Statement::with_clock(&mut script, &context.clock);
    let limit = Limit::of(&mut script, visible);
    let meant = limit.meant(&mut script, project).map_or_else(|| limit.projects(), |set| set.select().to_owned());
    let claimed = "items i INDEXED BY items_claimed ON i.project_id = m.id AND i.holder IS NOT NULL";
    statement.part("meant (id)", &meant);
    statement.result("all", "(SELECT count(*) FROM meant m CROSS JOIN items i ON i.project_id = m.id)");
    statement.result("claimed", &format!("(SELECT count(*) FROM meant m CROSS JOIN {claimed})"));
    statement.result(
        "expired",
        &format!("(SELECT count(*) FROM meant m CROSS JOIN {claimed} AND i.claim_expires_at <= {NOW})"),
    );
    statement.finish(&mut script);
    script
}

#[derive(Debug, Deserialize)]
struct Ending {
    now: Millis,
    next: Option<Millis>,
}

/// How long it is until the next live claim runs out by itself.
pub(crate) fn next_expiry(
    link: &mut Link,
    context: &Context,
    project: &ProjectRef,
    visible: &Visible,
) -> Result<Option<Duration>, StoreError> {
    let ending: Ending = link.ask(&compose_expiry(context, project, visible))?;
    let now: Timestamp = ending.now.into();
    context.clock.saw(now);
    let left = |next: Timestamp| u64::try_from(next.as_millis() - now.as_millis()).unwrap_or(0);
    Ok(ending.next.map(|next| Duration::from_millis(left(next.into()))))
}

pub(super) fn compose_expiry(context: &Context, project: &ProjectRef, visible: &Visible) -> Script {
    let mut script = Script::default();
    let mut statement = Statement::with_clock(&mut script, &context.clock);
    let limit = Limit::of(&mut script, visible);
    let meant = limit.meant(&mut script, project).map_or_else(|| limit.projects(), |set| set.select().to_owned());
    // The first of each project: the index gives the order within one alone.
    let first = format!(
        "SELECT i.claim_expires_at FROM items i INDEXED BY items_claimed WHERE i.project_id = m.id AND i.holder IS NOT NULL \
         AND i.claim_expires_at > {NOW} ORDER BY i.claim_expires_at LIMIT 1"
    );
    statement.part("meant (id)", &meant);
    statement.result("next", &format!("(SELECT min(({first})) FROM meant m)"));
    statement.finish(&mut script);
    script
}
