//! Ready work, the best first, and what keeps others from it: candidates, held items, live claims.

use std::fmt::Write as _;

use docket_core::store::code::{Coded, TERMINAL};
use docket_core::store::{Candidates, Scope};

use super::limit::Limit;
use super::statement::{NOW, Statement};
use crate::script::Script;

/// Work `r` that was begun and left, as its index spells it.
const LEFT: &str = "(r.role = 1 AND r.fence > 0 AND r.offered = 1)";

/// What concerns the project as a whole. Returns the parts whose items are shown.
pub(super) fn add_of_project(
    script: &mut Script,
    statement: &mut Statement,
    scope: &Scope,
    limit: &Limit,
) -> Vec<&'static str> {
    let mut shown = Vec::new();
    if scope.held_by.is_empty() && !scope.busy && scope.candidates.is_none() {
        return shown;
    }
    // The project that was named, else those of the named items, else all that may be seen.
    match limit.named(script, &scope.project) {
        Some(named) => statement.view("meant (id)", named.select()),
        None if scope.items.is_empty() => statement.view("meant (id)", &limit.projects()),
        None => statement.part("meant (id)", "SELECT DISTINCT project_id FROM named"),
    }
    if !scope.held_by.is_empty() {
        let theirs = match scope.held_by.as_slice() {
            [holder] => format!("i.holder = {}", script.text(holder.as_str())),
            holders => format!("i.holder IN (SELECT value FROM json_each({}))", script.json(&holders)),
        };
        statement.part(
            "held (id, pk)",
            &format!(
                "SELECT i.id, i.pk FROM meant m CROSS JOIN items i INDEXED BY items_held \
                 ON {theirs} AND i.project_id = m.id"
            ),
        );
        statement.ids("held", "id", "pk", "held");
        shown.push("held");
    }
    if scope.busy {
        add_busy(statement);
    }
    if let Some(wanted) = &scope.candidates {
        add_candidates(script, statement, wanted);
        shown.push("picked");
    }
    shown
}

/// What live claims touch and need.
fn add_busy(statement: &mut Statement) {
    let claims = |live: &str| {
        format!(
            "SELECT i.id, i.project_id, i.touches, i.needs FROM meant m CROSS JOIN items i INDEXED BY items_busy \
             ON i.project_id = m.id AND i.holder IS NOT NULL AND (i.touches <> '[]' OR i.needs <> '[]') AND {live}"
        )
    };
    statement.rows(
        "busy",
        "json_array(hex(id), hex(project_id), json(touches), json(needs))",
        &format!(
            "({} UNION ALL {})",
            claims("i.claim_expires_at IS NULL"),
            claims(&format!("i.claim_expires_at > {NOW}"))
        ),
    );
}

/// Ready work, the best first, one more than was asked for.
///
/// Where the whole project is meant, ready items without a claim come in order from their own index, and only as many as
/// are wanted, and so does work that was begun and left; to those come the claims that ran out. So neither live claims nor
/// blocked items are ever looked at, however many there are. Beneath one item, its children or descendants are looked
/// through.
fn add_candidates(script: &mut Script, statement: &mut Statement, wanted: &Candidates) {
    let most = script.limit(wanted.limit.saturating_add(1));
    let fits = conditions(script, wanted);
    let meant = meant(wanted);
    let ready = if wanted.offered_only { "r.offered = 1" } else { "(r.offered = 1 OR r.blockers = 0)" };
    // A claim without an expiry lives until it is released: no comparison with NULL holds.
    let free = if wanted.include_claimed { "1" } else { &format!("r.claim_expires_at <= {NOW}") };
    let mut branches = Vec::new();
    if let Some(beneath) = beneath(script, wanted) {
        let free = if wanted.include_claimed { "1" } else { &format!("(r.holder IS NULL OR {free})") };
        branches.push(format!(
            "SELECT r.id, r.rank, r.number, r.project_id FROM {beneath} \
             WHERE r.project_id IN (SELECT id FROM meant) AND {ready} AND {free} AND {meant} AND {fits}"
        ));
    } else {
        let mut in_order = |index: &str, condition: &str| {
            branches.push(format!(
                "SELECT i.id, i.rank, i.number, i.project_id FROM meant m CROSS JOIN items i ON i.pk IN ( \
                    SELECT r.pk FROM items r INDEXED BY {index} WHERE r.project_id = m.id AND {condition} \
                    AND r.holder IS NULL AND {fits} ORDER BY r.rank, r.number LIMIT {most})"
            ));
        };
        if let Some(role) = wanted.role {
            let of_role = format!("r.role = {} AND r.role <> {TERMINAL}", role.code());
            in_order("items_ready", &format!("r.offered = 1 AND {of_role}"));
            if !wanted.offered_only {
                in_order("items_ready", &format!("r.offered = 0 AND r.blockers = 0 AND {of_role}"));
            }
        }
        if wanted.left {
            in_order("items_left", LEFT);
        }
        branches.push(format!(
            "SELECT r.id, r.rank, r.number, r.project_id FROM meant m CROSS JOIN items r INDEXED BY items_claimed \
             ON r.project_id = m.id AND r.holder IS NOT NULL AND {free} \
             WHERE {ready} AND {meant} AND {fits}"
        ));
    }
    statement.part(
        "picked (id, rank, number, project_id)",
        &format!(
            "SELECT id, rank, number, project_id FROM ({}) ORDER BY rank, number, project_id LIMIT {most}",
            branches.join(" UNION ALL ")
        ),
    );
    statement.ids("picked", "id", "rank, number, project_id", "picked");
}

/// Where a candidate `r` must stand.
fn meant(wanted: &Candidates) -> String {
    let role = wanted.role.map(|role| format!("r.role = {}", role.code()));
    let ways: Vec<String> = role.into_iter().chain(wanted.left.then(|| LEFT.to_owned())).collect();
    if ways.is_empty() { "0".to_owned() } else { format!("({})", ways.join(" OR ")) }
}

/// What else a candidate `r` must be, claims aside.
fn conditions(script: &mut Script, wanted: &Candidates) -> String {
    let mut fits = "1".to_owned();
    // Writing into a String does not fail.
    if let Some(item_type) = &wanted.item_type {
        let item_type = script.text(item_type.as_str());
        let _ = write!(fits, " AND r.item_type = {item_type}");
    }
    if !wanted.tags.is_empty() {
        let tags = script.json(&wanted.tags);
        let _ = write!(
            fits,
            " AND EXISTS (SELECT 1 FROM item_tags t WHERE t.item_pk = r.pk AND t.tag IN (SELECT value FROM json_each({tags})))"
        );
    }
    if let Some((rank, number, project)) = wanted.after {
        let (rank, number, project) = (script.int(rank), script.int(number.into()), script.uuid(project.as_uuid()));
        let _ = write!(fits, " AND (r.rank, r.number, r.project_id) > ({rank}, {number}, {project})");
    }
    fits
}

/// Where the candidates `r` lie, if only in a part of the tree.
fn beneath(script: &mut Script, wanted: &Candidates) -> Option<String> {
    let under = wanted.under.map(|id| script.uuid(id.as_uuid()));
    let parent = wanted.parent.map(|id| script.uuid(id.as_uuid()));
    let inside = under.map(|under| {
        format!(
            "(WITH RECURSIVE down (id) AS (SELECT {under} UNION \
             SELECT c.id FROM down CROSS JOIN items c ON c.parent_id = down.id) SELECT id FROM down) d"
        )
    });
    match (parent, inside) {
        (None, None) => None,
        (Some(parent), None) => Some(format!("(SELECT {parent} AS id) d CROSS JOIN items r ON r.parent_id = d.id")),
        (None, Some(inside)) => Some(format!("{inside} CROSS JOIN items r ON r.parent_id = d.id")),
        (Some(parent), Some(inside)) => {
            Some(format!("{inside} CROSS JOIN items r ON r.parent_id = d.id AND +r.parent_id = {parent}"))
        }
    }
}
