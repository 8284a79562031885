//! Ready work, the best first, and what keeps others from it: candidates, held items, live claims.

use docket_core::model::Name;
use docket_core::store::{Candidates, Scope};

use super::{named_project, show, tier};
use crate::row::code::{TERMINAL, of_role};
use crate::script::Script;

const NOW: &str = "(SELECT now FROM clock)";

/// The projects that "the project" means: the one named, else those of the named items, else all.
pub(super) fn projects_meant(script: &mut Script, scope: &Scope) -> String {
    named_project(script, &scope.project).unwrap_or_else(|| {
        if scope.items.is_empty() {
            "SELECT id FROM projects".to_owned()
        } else {
            format!("SELECT DISTINCT project_id AS id FROM shown WHERE tier = {}", tier::NAMED)
        }
    })
}

/// Shows what an agent holds, live or not.
pub(super) fn add_held(script: &mut Script, projects: &str, holder: &Name) {
    let holder = script.text(holder.as_str());
    let held = format!("items i WHERE i.holder = {holder} AND i.project_id IN ({projects})");
    script.add(&format!("SELECT 'held', group_concat(hex(i.id), '' ORDER BY i.pk) FROM {held}"));
    show(script, tier::BESIDE, &held);
}

/// What live claims touch and need.
pub(super) fn add_busy(script: &mut Script, projects: &str) {
    for live in ["i.claim_expires_at IS NULL".to_owned(), format!("i.claim_expires_at > {NOW}")] {
        script.add(&format!(
            "SELECT 'busy', i.id, i.touches, i.needs FROM ({projects}) p \
             CROSS JOIN items i INDEXED BY items_claimed ON i.project_id = p.id AND i.holder IS NOT NULL AND {live} \
             WHERE i.touches <> '[]' OR i.needs <> '[]'"
        ));
    }
}

/// Shows ready work, the best first, one more than was asked for.
///
/// Where the whole project is meant, ready items without a claim come in order from their own index, and only as many as
/// are wanted; to those come the claims that ran out. So neither live claims nor blocked items are ever looked at,
/// however many there are. Beneath one item, its children or descendants are looked through.
pub(super) fn add_candidates(script: &mut Script, projects: &str, wanted: &Candidates) {
    let most = script.size(wanted.limit.saturating_add(1));
    let fits = conditions(script, wanted);
    let ready = if wanted.offered_only { "r.offered = 1" } else { "(r.offered = 1 OR r.blockers = 0)" };
    // A claim without an expiry lives until it is released: no comparison with NULL holds.
    let free = if wanted.include_claimed { "1" } else { &format!("r.claim_expires_at <= {NOW}") };
    let mut branches = Vec::new();
    if let Some(beneath) = beneath(script, wanted) {
        let free = if wanted.include_claimed { "1" } else { &format!("(r.holder IS NULL OR {free})") };
        branches.push(format!(
            "SELECT r.id, r.rank, r.number, r.pk FROM {beneath} \
             WHERE r.project_id IN ({projects}) AND {ready} AND {free} AND {fits}"
        ));
    } else {
        let offers: &[u8] = if wanted.offered_only { &[1] } else { &[1, 0] };
        for offered in offers {
            let unblocked = if *offered == 1 { "1" } else { "r.blockers = 0" };
            branches.push(format!(
                "SELECT i.id, i.rank, i.number, i.pk FROM ({projects}) p CROSS JOIN items i ON i.pk IN ( \
                    SELECT r.pk FROM items r {} WHERE r.project_id = p.id AND r.offered = {offered} AND {unblocked} \
                    AND r.holder IS NULL AND r.role <> {TERMINAL} AND {fits} ORDER BY r.rank, r.number LIMIT {most})",
                "INDEXED BY items_ready"
            ));
        }
        branches.push(format!(
            "SELECT r.id, r.rank, r.number, r.pk FROM ({projects}) p \
             CROSS JOIN items r INDEXED BY items_claimed ON r.project_id = p.id AND r.holder IS NOT NULL AND {free} \
             WHERE {ready} AND {fits}"
        ));
    }
    script.add("DELETE FROM picked");
    script.add(&format!(
        "INSERT INTO picked (id) SELECT id FROM ({}) ORDER BY rank, number, pk LIMIT {most}",
        branches.join(" UNION ALL ")
    ));
    show(script, tier::BESIDE, "picked k CROSS JOIN items i ON i.id = k.id");
    script.add("SELECT 'picked', group_concat(hex(id), '' ORDER BY place) FROM picked");
}

/// What a candidate `r` must be, claims aside.
fn conditions(script: &mut Script, wanted: &Candidates) -> String {
    let mut fits = format!("r.role = {}", of_role(wanted.role));
    if let Some(item_type) = &wanted.item_type {
        let item_type = script.text(item_type.as_str());
        fits.push_str(&format!(" AND r.item_type = {item_type}"));
    }
    if !wanted.tags.is_empty() {
        let tags = script.json(&wanted.tags);
        fits.push_str(&format!(
            " AND EXISTS (SELECT 1 FROM item_tags t WHERE t.item_pk = r.pk AND t.tag IN (SELECT value FROM json_each({tags})))"
        ));
    }
    if let Some((rank, number)) = wanted.after {
        let (rank, number) = (script.int(rank), script.int(number.into()));
        fits.push_str(&format!(" AND (r.rank, r.number) > ({rank}, {number})"));
    }
    fits
}

/// Where the candidates `r` lie, if only in a part of the tree.
fn beneath(script: &mut Script, wanted: &Candidates) -> Option<String> {
    let under = wanted.under.map(|id| script.uuid(id.as_uuid()));
    let parent = wanted.parent.map(|id| script.uuid(id.as_uuid()));
    let inside = under.map(|under| {
        format!(
            "(WITH RECURSIVE down (id) AS (SELECT {under} UNION ALL \
             SELECT c.id FROM down CROSS JOIN items c ON c.parent_id = down.id) SELECT id FROM down) d"
        )
    });
    match (parent, inside) {
        (None, None) => None,
        (Some(parent), None) => Some(format!("(SELECT {parent} AS id) d CROSS JOIN items r ON r.parent_id = d.id")),
        (None, Some(inside)) => Some(format!("{inside} CROSS JOIN items r ON r.parent_id = d.id")),
        (Some(parent), Some(inside)) => {
            Some(format!("{inside} CROSS JOIN items r ON r.parent_id = d.id AND r.parent_id = {parent}"))
        }
    }
}
