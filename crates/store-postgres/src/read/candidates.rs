//! Ready work, the best first, and what keeps others from it: candidates, held items, live claims.

use std::fmt::Write as _;

use docket_core::model::{Name, Tag};
use docket_core::store::code::{Coded, TERMINAL};
use docket_core::store::{Candidates, Scope};
use uuid::Uuid;

use super::contract;
use super::limit::Limit;
use super::sessions;
use super::statement::{NOW, Statement, each};
use crate::script::Script;

/// Work `r` that was begun and left, as its index spells it.
const LEFT: &str = "(r.role = 1 AND r.fence > 0 AND r.offered)";

/// Whether rows are locked as they are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Locking {
    /// They are looked at.
    No,
    /// They are locked, and those that another transaction holds are passed over.
    SkipTaken,
}

/// What concerns the project as a whole. Returns the parts whose items are shown. Of ready work only what was `picked`
/// before, where a unit of work has locked it.
pub(super) fn add_of_project(
    script: &mut Script,
    statement: &mut Statement,
    scope: &Scope,
    limit: &Limit,
    picked: Option<&[Uuid]>,
) -> Vec<&'static str> {
    let mut shown = Vec::new();
    if scope.held_by.is_empty() && !scope.busy && scope.candidates.is_none() {
        return shown;
    }
    add_meant(script, statement, scope, limit);
    if add_held(script, statement, scope) {
        statement.ids("held", "id", "pk", "held");
        shown.push("held");
    }
    if scope.busy {
        add_busy(statement);
    }
    if let Some(wanted) = &scope.candidates {
        let select = if let Some(ids) = picked {
            among(script, wanted, ids)
        } else {
            let most = wanted.limit.saturating_add(1);
            best(script, statement, wanted, most, ["free", "unblocked", "left_there", "lapsed"], Locking::No)
        };
        statement.part("picked (id, rank, number, project_id)", &select);
        statement.ids("picked", "id", "rank, number, project_id", "picked");
        shown.push("picked");
    }
    shown
}

/// Locks what the agents hold, with the named items, and ready work that nobody else has locked.
pub(super) fn add_locks(script: &mut Script, statement: &mut Statement, scope: &Scope, limit: &Limit) {
    let mut sources = vec!["SELECT id FROM named"];
    if !scope.held_by.is_empty() || scope.candidates.is_some() {
        add_meant(script, statement, scope, limit);
    }
    if add_held(script, statement, scope) {
        sources.push("SELECT id FROM held");
    }
    if !scope.note_ids.is_empty() {
        let ids = script.uuids(scope.note_ids.iter().map(|id| id.as_uuid()));
        let seen = limit.and_item("n.item_id");
        statement.part("noted (id)", &format!("SELECT n.item_id FROM notes n WHERE n.id = ANY({ids}){seen}"));
        sources.push("SELECT id FROM noted");
    }
    if let Some(select) = contract::named_questions(script, scope, limit) {
        statement.part("asked (question, id)", &select);
        sources.push("SELECT id FROM asked");
    }
    if let Some(select) = contract::named_links(script, scope, limit) {
        statement.part("attached (link, id)", &select);
        sources.push("SELECT id FROM attached");
    }
    if let Some(select) = sessions::named_sessions(script, scope, limit) {
        statement.part("attempted (session, id)", &select);
        sources.push("SELECT id FROM attempted");
    }
    // In the order of their ids, so that two units that want the same rows do not wait for each other.
    statement.part(
        "mine (id)",
        &format!(
            "SELECT r.id FROM items r WHERE r.id IN ({}) ORDER BY r.id FOR NO KEY UPDATE OF r",
            sources.join(" UNION ")
        ),
    );
    statement.ids("mine", "id", "id", "mine");
    let Some(wanted) = &scope.candidates else { return };
    let most = wanted.limit;
    let taken =
        best(script, statement, wanted, most, ["free", "unblocked", "left_there", "lapsed"], Locking::SkipTaken);
    statement.part("taken (id, rank, number, project_id)", &taken);
    statement.ids("taken", "id", "rank, number, project_id", "taken");
    let names = ["free_there", "unblocked_there", "left_to_see", "lapsed_there"];
    let there = best(script, statement, wanted, most, names, Locking::No);
    statement.part("there (id, rank, number, project_id)", &there);
    statement.result("skipped", "(SELECT count(*) FROM there) > (SELECT count(*) FROM taken)");
}

/// The part `meant`: the project that was named, else those of the named items, else all that may be seen.
fn add_meant(script: &mut Script, statement: &mut Statement, scope: &Scope, limit: &Limit) {
    match limit.named(script, &scope.project) {
        Some(named) => statement.part("meant (id)", &named.select()),
        None if scope.items.is_empty() => statement.part("meant (id)", &limit.projects()),
        None => statement.part("meant (id)", "SELECT DISTINCT project_id FROM named"),
    }
}

/// The part `held`: what the agents hold a claim on.
fn add_held(script: &mut Script, statement: &mut Statement, scope: &Scope) -> bool {
    let theirs = match scope.held_by.as_slice() {
        [] => return false,
        [holder] => format!("i.holder = {}", script.text(holder.as_str())),
        holders => format!("i.holder = ANY({})", script.texts(holders.iter().map(Name::as_str))),
    };
    statement.part(
        "held (id, pk)",
        &format!("SELECT i.id, i.pk FROM items i WHERE {theirs} AND i.project_id IN (SELECT id FROM meant)"),
    );
    true
}

/// What live claims touch and need.
fn add_busy(statement: &mut Statement) {
    statement.rows(
        "busy",
        "json_build_array(i.id, i.project_id, i.touches, i.needs)",
        &format!(
            "meant m JOIN items i ON i.project_id = m.id AND i.claimed_at IS NOT NULL \
             AND (i.touches <> '[]' OR i.needs <> '[]') AND (i.claim_expires_at IS NULL OR i.claim_expires_at > {NOW})"
        ),
    );
}

/// Ready work, the best first, as far as it was locked before.
fn among(script: &mut Script, wanted: &Candidates, ids: &[Uuid]) -> String {
    let fits = conditions(script, wanted);
    let ids = script.uuids(ids.iter().copied());
    let [one, two, three] = order(wanted);
    format!(
        "SELECT r.id, {one}, {two}, {three} FROM items r WHERE r.id = ANY({ids}) AND r.role <> {TERMINAL} AND {} AND {} \
         AND {} AND {fits} ORDER BY {one}, {two}, {three}",
        ready(wanted),
        free(wanted),
        meant(wanted)
    )
}

/// What candidates `r` are put in order by: what a part calls their rank, number and project.
fn order(wanted: &Candidates) -> [&'static str; 3] {
    match wanted.urgent {
        None => ["r.rank", "r.number", "r.project_id"],
        Some(_) => ["r.priority", "r.created_at", "r.id"],
    }
}

/// Ready work, the best first, `most` of it.
///
/// Where the whole project is meant, ready items without a claim come in order from their own index, and only as many as
/// are wanted, and so does work that was begun and left; to those come the claims that ran out. So neither live claims nor
/// blocked items are ever looked at, however many there are. Beneath one item, its children or descendants are looked
/// through.
fn best(
    script: &mut Script,
    statement: &mut Statement,
    wanted: &Candidates,
    most: usize,
    [free_name, unblocked_name, left_name, lapsed_name]: [&str; 4],
    locking: Locking,
) -> String {
    let most = Script::limit(most);
    let fits = conditions(script, wanted);
    let meant = meant(wanted);
    let (first, lock) = match locking {
        Locking::No => ("", ""),
        // What has to be waited for comes first: nobody waits while it holds ready work.
        Locking::SkipTaken => ("AND (SELECT count(*) FROM mine) >= 0", "FOR NO KEY UPDATE OF r SKIP LOCKED"),
    };
    let [one, two, three] = order(wanted);
    // Within a project no two have a rank and a number in common.
    let last = if wanted.urgent.is_some() { format!(", {three}") } else { String::new() };
    let end = format!("{first} ORDER BY {one}, {two}{last} LIMIT {most} {lock}");
    let mut branches = Vec::new();
    let mut add = |name: &str, statement: &mut Statement, select: &str| {
        statement.part(&format!("{name} (id, rank, number, project_id)"), select);
        branches.push(format!("SELECT id, rank, number, project_id FROM {name}"));
    };
    if let Some(beneath) = beneath(script, wanted) {
        let select = format!(
            "SELECT r.id, {one}, {two}, {three} FROM items r WHERE {beneath} AND r.role <> {TERMINAL} \
             AND r.project_id IN (SELECT id FROM meant) AND {} AND {} AND {meant} AND {fits} {end}",
            ready(wanted),
            free(wanted)
        );
        add(free_name, statement, &select);
    } else {
        let mut ways = Vec::new();
        if let Some(role) = wanted.role.map(Coded::code) {
            ways.push((free_name, format!("r.role = {role} AND r.offered AND r.holder IS NULL")));
            if !wanted.offered_only {
                let unblocked = "NOT r.offered AND r.blockers = 0 AND r.holder IS NULL";
                ways.push((unblocked_name, format!("r.role = {role} AND {unblocked}")));
            }
        }
        if wanted.left {
            ways.push((left_name, format!("{LEFT} AND r.holder IS NULL")));
        }
        let lapsed = if wanted.include_claimed { "true".to_owned() } else { format!("r.claim_expires_at <= {NOW}") };
        ways.push((lapsed_name, format!("r.claimed_at IS NOT NULL AND {lapsed} AND {} AND {meant}", ready(wanted))));
        for (name, way) in ways {
            let select = format!(
                "SELECT x.* FROM meant m CROSS JOIN LATERAL ( \
                 SELECT r.id, {one}, {two}, {three} FROM items r WHERE r.project_id = m.id AND {way} \
                 AND r.role <> {TERMINAL} AND {fits} {end}) x"
            );
            add(name, statement, &select);
        }
    }
    format!(
        "SELECT id, rank, number, project_id FROM ({}) b ORDER BY rank, number, project_id LIMIT {most}",
        branches.join(" UNION ALL ")
    )
}

fn ready(wanted: &Candidates) -> &'static str {
    if wanted.offered_only { "r.offered" } else { "(r.offered OR r.blockers = 0)" }
}

/// Whether nobody has a claim on `r`. A claim without an expiry lives until it is released: no comparison with NULL holds.
fn free(wanted: &Candidates) -> String {
    if wanted.include_claimed {
        "true".to_owned()
    } else {
        format!("(r.holder IS NULL OR r.claim_expires_at <= {NOW})")
    }
}

/// Where a candidate `r` must stand.
fn meant(wanted: &Candidates) -> String {
    let role = wanted.role.map(|role| format!("r.role = {}", role.code()));
    let ways: Vec<String> = role.into_iter().chain(wanted.left.then(|| LEFT.to_owned())).collect();
    if ways.is_empty() { "false".to_owned() } else { format!("({})", ways.join(" OR ")) }
}

/// What else a candidate `r` must be, claims aside.
fn conditions(script: &mut Script, wanted: &Candidates) -> String {
    let mut fits = "true".to_owned();
    // Writing into a String does not fail.
    if let Some(item_type) = &wanted.item_type {
        let item_type = script.text(item_type.as_str());
        let _ = write!(fits, " AND r.item_type = {item_type}");
    }
    if !wanted.tags.is_empty() {
        let tags = script.texts(wanted.tags.iter().map(Tag::as_str));
        let _ = write!(fits, " AND r.tags ?| {tags}");
    }
    if let Some(least) = wanted.urgent {
        let _ = write!(fits, " AND r.priority <= {}", least.code());
    } else if let Some((rank, number, project)) = wanted.after {
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
        let children = each("down", "items", "c", "c.parent_id = down.id");
        format!(
            "r.parent_id IN (WITH RECURSIVE down (id) AS (SELECT {under}::uuid UNION SELECT c.id FROM {children}) \
             SELECT id FROM down)"
        )
    });
    match (parent, inside) {
        (None, None) => None,
        (Some(parent), None) => Some(format!("r.parent_id = {parent}")),
        (None, Some(inside)) => Some(inside),
        (Some(parent), Some(inside)) => Some(format!("r.parent_id = {parent} AND {inside}")),
    }
}
