//! What is shown around the named items: relatives, edges, notes, and the graphs they wait in.

use docket_core::limits;
use docket_core::store::code::{BLOCKS, DUPLICATE_OF, SUPERSEDES, TERMINAL};
use docket_core::store::{Around, EdgeReach, NoteReach, Scope};

use super::limit::Limit;
use super::statement::{Statement, each, packed};
use crate::row::{EDGE, HEAD, LONG, NOTE};
use crate::script::Script;

/// Relatives. Returns the parts whose items are shown.
pub(super) fn add_relatives(script: &mut Script, statement: &mut Statement, around: &Around) -> Vec<&'static str> {
    let mut shown = Vec::new();
    if around.ancestors {
        let parents = each("up", "items", "i", "i.id = up.id");
        statement.part(
            "above (id)",
            &format!(
                "WITH RECURSIVE up (id) AS (SELECT parent_id FROM named WHERE parent_id IS NOT NULL \
                 UNION SELECT i.parent_id FROM {parents} WHERE i.parent_id IS NOT NULL) SELECT id FROM up"
            ),
        );
        shown.push("above");
    }
    if let Some(most) = around.subtree {
        // Breadth first up to the limit, then parents before children. `UNION` meets each item once, however many of the
        // named ones it lies beneath. Postgres computes no more of a recursion than is fetched of it.
        let most = script.page(most.saturating_add(1));
        let first = each("named n", "items", "c", "c.parent_id = n.id");
        let further = each("down", "items", "c", "c.parent_id = down.id");
        let all = if around.subtree_bytes.is_some() { "all_beneath" } else { "beneath" };
        statement.part(
            &format!("{all} (id, depth, number)"),
            &format!(
                "WITH RECURSIVE down (id, depth, number) AS (SELECT c.id, c.depth, c.number FROM {first} \
                 UNION SELECT c.id, c.depth, c.number FROM {further}) SELECT id, depth, number FROM down LIMIT {most}"
            ),
        );
        if let Some(bytes) = around.subtree_bytes {
            let bytes = script.page(bytes);
            let rows = each("all_beneath d", "items", "i", "i.id = d.id");
            statement.part(
                "beneath (id, depth, number)",
                &format!(
                    "SELECT f.id, f.depth, f.number FROM (SELECT d.id, d.depth, d.number, sum({LONG}) OVER ( \
                        ORDER BY d.depth, d.number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS earlier \
                     FROM {rows}) f WHERE coalesce(f.earlier, 0) <= {bytes}"
                ),
            );
        }
        statement.ids("subtree", "id", "depth, number", "beneath");
        shown.push("beneath");
    }
    if let Some(most) = around.open_children {
        let most = script.page(most.saturating_add(1));
        let parents = if around.ancestors {
            "(SELECT id FROM named UNION SELECT id FROM above)"
        } else {
            "(SELECT id FROM named)"
        };
        statement.rows(
            "children",
            &format!(
                "json_build_array(n.id, (SELECT string_agg({}, '' ORDER BY o.role, o.number) FROM ( \
                 SELECT c.id, c.role, c.number FROM items c WHERE c.parent_id = n.id AND c.role < {TERMINAL} \
                 ORDER BY c.role, c.number LIMIT {most}) o))",
                packed("o.id")
            ),
            &format!("{parents} n"),
        );
    }
    shown
}

/// Edges and notes that were named themselves. Returns the parts whose items are shown.
pub(super) fn add_named(
    script: &mut Script,
    statement: &mut Statement,
    scope: &Scope,
    limit: &Limit,
) -> Vec<&'static str> {
    let mut shown = Vec::new();
    if !scope.edge_ids.is_empty() {
        let ids = script.uuids(scope.edge_ids.iter().map(|id| id.as_uuid()));
        let seen = limit.and_item("e.from_id") + &limit.and_item("e.to_id");
        statement.part(
            "named_edges (id, from_id, to_id)",
            &format!("SELECT e.id, e.from_id, e.to_id FROM edges e WHERE e.id = ANY({ids}){seen}"),
        );
        statement.part("named_ends (id)", "SELECT from_id FROM named_edges UNION SELECT to_id FROM named_edges");
        shown.push("named_ends");
    }
    if !scope.note_ids.is_empty() {
        let ids = script.uuids(scope.note_ids.iter().map(|id| id.as_uuid()));
        let seen = limit.and_item("n.item_id");
        statement.part(
            "named_notes (note, id)",
            &format!("SELECT n.id, n.item_id FROM notes n WHERE n.id = ANY({ids}){seen}"),
        );
        statement.rows("notes", NOTE, &each("named_notes m", "notes", "n", "n.id = m.note"));
        shown.push("named_notes");
    }
    shown
}

/// Notes and edges of the part `near`. Whether edges lead on to the part `linked`.
pub(super) fn add_attached(statement: &mut Statement, scope: &Scope) -> bool {
    match scope.around.notes {
        NoteReach::None => {}
        NoteReach::Heads => statement.rows("heads", HEAD, &each("near s", "notes", "n", "n.item_id = s.id")),
        NoteReach::Bodies => statement.rows("bodies", NOTE, &each("named s", "notes", "n", "n.item_id = s.id")),
    }
    if scope.around.edges == EdgeReach::Counted {
        let count = |end: &str| format!("(SELECT count(*) FROM edges e WHERE e.{end} = n.id)");
        statement.rows(
            "degrees",
            &format!("json_build_array(n.id, {} + {})", count("from_id"), count("to_id")),
            "named n",
        );
    }
    let from = match scope.around.edges {
        EdgeReach::None | EdgeReach::Counted => None,
        EdgeReach::Named => Some("named"),
        EdgeReach::Shown => Some("near"),
    };
    let mut sources = Vec::new();
    if let Some(from) = from {
        for end in ["from_id", "to_id"] {
            let edges = each(&format!("{from} s"), "edges", "e", &format!("e.{end} = s.id"));
            sources.push(format!("SELECT e.id, e.from_id, e.to_id FROM {edges}"));
        }
    }
    if !scope.edge_ids.is_empty() {
        sources.push("SELECT id, from_id, to_id FROM named_edges".to_owned());
    }
    if sources.is_empty() {
        return false;
    }
    statement.part("linked (id, from_id, to_id)", &sources.join(" UNION "));
    statement.rows("edges", EDGE, &each("linked l", "edges", "e", "e.id = l.id"));
    true
}

/// Everything that waits for the named items: what they block and what they lie in, and in turn. A walk that way never goes
/// through the children of anything, of which there may be many. Edges and parents are packed, for a walk may be long.
pub(super) fn add_waits(statement: &mut Statement) {
    let most = Script::limit(limits::GRAPH_NODES);
    // One step of the recursion may name it once only: both ways on are one subquery.
    statement.part(
        "waited (id)",
        &format!(
            "WITH RECURSIVE w (id) AS (SELECT id FROM named UNION SELECT x.id FROM w CROSS JOIN LATERAL ( \
                SELECT e.to_id AS id FROM edges e WHERE e.from_id = w.id AND e.kind = {BLOCKS} \
                UNION ALL SELECT c.parent_id FROM items c WHERE c.id = w.id AND c.parent_id IS NOT NULL) x \
             ) SELECT id FROM w LIMIT {most} + 1"
        ),
    );
    statement.result("waits_cut", &format!("(SELECT count(*) > {most} FROM waited)"));
    statement.result(
        "wait_edges",
        &format!(
            "(SELECT string_agg({} || {} || coalesce(e.unblock_at, {TERMINAL}), '') \
             FROM {})",
            packed("e.from_id"),
            packed("e.to_id"),
            each("waited w", "edges", "e", &format!("e.from_id = w.id AND e.kind = {BLOCKS}"))
        ),
    );
    statement.result(
        "wait_children",
        &format!(
            "(SELECT string_agg({} || {}, '') FROM {})",
            packed("c.parent_id"),
            packed("c.id"),
            each("waited w", "items", "c", "c.id = w.id AND c.parent_id IS NOT NULL")
        ),
    );
}

/// Everything that the named items give way to, and what that gives way to in turn. Pairs are packed, for a walk may be long.
pub(super) fn add_gives_way(statement: &mut Statement) {
    let most = Script::limit(limits::GRAPH_NODES);
    // One step of the recursion may name it once only: both ways on are one subquery.
    statement.part(
        "ahead (id)",
        &format!(
            "WITH RECURSIVE w (id) AS (SELECT id FROM named UNION SELECT x.id FROM w CROSS JOIN LATERAL ( \
                SELECT e.to_id AS id FROM edges e WHERE e.from_id = w.id AND e.kind = {DUPLICATE_OF} \
                UNION ALL SELECT e.from_id FROM edges e WHERE e.to_id = w.id AND e.kind = {SUPERSEDES}) x \
             ) SELECT id FROM w LIMIT {most} + 1"
        ),
    );
    statement.result("ways_cut", &format!("(SELECT count(*) > {most} FROM ahead)"));
    statement.result(
        "ways",
        &format!(
            "(SELECT string_agg(p.pair, '') FROM (SELECT {item} || {to} AS pair FROM {duplicates} \
              UNION ALL SELECT {item} || {from} FROM {superseded}) p)",
            item = packed("w.id"),
            to = packed("e.to_id"),
            from = packed("e.from_id"),
            duplicates = each("ahead w", "edges", "e", &format!("e.from_id = w.id AND e.kind = {DUPLICATE_OF}")),
            superseded = each("ahead w", "edges", "e", &format!("e.to_id = w.id AND e.kind = {SUPERSEDES}")),
        ),
    );
}

/// Everything connected with the named items by edges that hold work up, along and against them.
pub(super) fn add_component(statement: &mut Statement, limit: &Limit) {
    let most = Script::limit(limits::GRAPH_NODES);
    let (from, to) = (limit.and_item("e.from_id"), limit.and_item("e.to_id"));
    statement.part(
        "connected (id)",
        &format!(
            "WITH RECURSIVE w (id) AS (SELECT id FROM named UNION SELECT x.id FROM w CROSS JOIN LATERAL ( \
                SELECT e.from_id AS id FROM edges e WHERE e.to_id = w.id AND e.kind = {BLOCKS}{from} \
                UNION ALL SELECT e.to_id FROM edges e WHERE e.from_id = w.id AND e.kind = {BLOCKS}{to}) x \
             ) SELECT id FROM w LIMIT {most} + 1"
        ),
    );
    statement.result("component_cut", &format!("(SELECT count(*) > {most} FROM connected)"));
    let edges = each("connected w", "edges", "e", &format!("e.to_id = w.id AND e.kind = {BLOCKS}{from}"));
    statement.rows("component", EDGE, &edges);
}
