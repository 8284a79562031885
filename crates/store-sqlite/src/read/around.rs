//! What is shown around the named items: relatives, edges, notes, and the graphs they wait in.

use docket_core::limits;
use docket_core::store::code::{BLOCKS, TERMINAL};
use docket_core::store::{Around, EdgeReach, NoteReach, Scope};

use super::limit::Limit;
use super::statement::Statement;
use crate::row::{EDGE, HEAD, NOTE};
use crate::script::Script;

/// Relatives. Returns the parts whose items are shown.
pub(super) fn add_relatives(script: &mut Script, statement: &mut Statement, around: &Around) -> Vec<&'static str> {
    let mut shown = Vec::new();
    if around.ancestors {
        statement.part(
            "above (id)",
            "WITH RECURSIVE up (id) AS (SELECT parent_id FROM named WHERE parent_id IS NOT NULL \
             UNION SELECT i.parent_id FROM up CROSS JOIN items i ON i.id = up.id WHERE i.parent_id IS NOT NULL) \
             SELECT id FROM up",
        );
        shown.push("above");
    }
    if let Some(most) = around.subtree {
        // Breadth first up to the limit, then parents before children. `UNION` meets each item once, however many of the
        // named ones it lies beneath.
        let most = script.limit(most.saturating_add(1));
        statement.part(
            "beneath (id, depth, number)",
            &format!(
                "WITH RECURSIVE down (id, depth, number) AS ( \
                    SELECT c.id, c.depth, c.number FROM named n CROSS JOIN items c ON c.parent_id = n.id \
                    UNION SELECT c.id, c.depth, c.number FROM down CROSS JOIN items c ON c.parent_id = down.id \
                    LIMIT {most}) SELECT id, depth, number FROM down"
            ),
        );
        statement.ids("subtree", "id", "depth, number", "beneath");
        shown.push("beneath");
    }
    if let Some(most) = around.open_children {
        let most = script.limit(most.saturating_add(1));
        let parents = if around.ancestors {
            "(SELECT id FROM named UNION SELECT id FROM above)"
        } else {
            "(SELECT id FROM named)"
        };
        statement.rows(
            "children",
            &format!(
                "json_array(hex(n.id), (SELECT group_concat(hex(o.id), '') FROM (SELECT c.id FROM items c \
                 WHERE c.parent_id = n.id AND c.role < {TERMINAL} LIMIT {most}) o))"
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
            "named_edges (pk, from_id, to_id)",
            &format!(
                "SELECT e.pk, e.from_id, e.to_id FROM json_each({ids}) j \
                 CROSS JOIN edges e ON e.id = unhex(j.value){seen}"
            ),
        );
        statement.part("named_ends (id)", "SELECT from_id FROM named_edges UNION SELECT to_id FROM named_edges");
        shown.push("named_ends");
    }
    if !scope.note_ids.is_empty() {
        let ids = script.uuids(scope.note_ids.iter().map(|id| id.as_uuid()));
        let seen = limit.and_item("n.item_id");
        statement.part(
            "named_notes (pk, id)",
            &format!(
                "SELECT n.pk, n.item_id FROM json_each({ids}) j CROSS JOIN notes n ON n.id = unhex(j.value){seen}"
            ),
        );
        statement.rows("notes", NOTE, "(SELECT DISTINCT pk FROM named_notes) m CROSS JOIN notes n ON n.pk = m.pk");
        shown.push("named_notes");
    }
    shown
}

/// Notes and edges of the part `near`. Whether edges lead on to the part `linked`.
pub(super) fn add_attached(statement: &mut Statement, scope: &Scope) -> bool {
    match scope.around.notes {
        NoteReach::None => {}
        NoteReach::Heads => statement.rows("heads", HEAD, "near s CROSS JOIN notes n ON n.item_id = s.id"),
        NoteReach::Bodies => statement.rows("bodies", NOTE, "named s CROSS JOIN notes n ON n.item_id = s.id"),
    }
    if scope.around.edges == EdgeReach::Counted {
        let count = |end: &str| format!("(SELECT count(*) FROM edges e WHERE e.{end} = n.id)");
        statement.rows(
            "degrees",
            &format!("json_array(hex(n.id), {} + {})", count("from_id"), count("to_id")),
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
            sources.push(format!("SELECT e.pk, e.from_id, e.to_id FROM {from} s CROSS JOIN edges e ON e.{end} = s.id"));
        }
    }
    if !scope.edge_ids.is_empty() {
        sources.push("SELECT pk, from_id, to_id FROM named_edges".to_owned());
    }
    if sources.is_empty() {
        return false;
    }
    statement.part("linked (pk, from_id, to_id)", &sources.join(" UNION "));
    statement.rows("edges", EDGE, "linked l CROSS JOIN edges e ON e.pk = l.pk");
    true
}

/// Everything that waits for the named items: what they block and what they lie in, and in turn. A walk that way never goes
/// through the children of anything, of which there may be many. Edges and parents are packed, for a walk may be long.
pub(super) fn add_waits(script: &mut Script, statement: &mut Statement) {
    let most = script.limit(limits::GRAPH_NODES);
    statement.part(
        "waited (id)",
        &format!(
            "WITH RECURSIVE w (id) AS (SELECT id FROM named \
             UNION SELECT e.to_id FROM w CROSS JOIN edges e ON e.from_id = w.id AND e.kind = {BLOCKS} \
             UNION SELECT c.parent_id FROM w CROSS JOIN items c ON c.id = w.id WHERE c.parent_id IS NOT NULL \
             LIMIT {most} + 1) SELECT id FROM w"
        ),
    );
    statement.result("waits_cut", &format!("(SELECT count(*) > {most} FROM waited)"));
    statement.result(
        "wait_edges",
        &format!(
            "(SELECT group_concat(hex(e.from_id) || hex(e.to_id) || coalesce(e.unblock_at, {TERMINAL}), '') \
             FROM waited w CROSS JOIN edges e ON e.from_id = w.id AND e.kind = {BLOCKS})"
        ),
    );
    statement.result(
        "wait_children",
        "(SELECT group_concat(hex(c.parent_id) || hex(c.id), '') \
         FROM waited w CROSS JOIN items c ON c.id = w.id WHERE c.parent_id IS NOT NULL)",
    );
}

/// Everything connected with the named items by edges that hold work up, along and against them.
pub(super) fn add_component(script: &mut Script, statement: &mut Statement, limit: &Limit) {
    let most = script.limit(limits::GRAPH_NODES);
    let (from, to) = (limit.and_item("e.from_id"), limit.and_item("e.to_id"));
    statement.part(
        "connected (id)",
        &format!(
            "WITH RECURSIVE w (id) AS (SELECT id FROM named \
             UNION SELECT e.from_id FROM w CROSS JOIN edges e ON e.to_id = w.id AND e.kind = {BLOCKS}{from} \
             UNION SELECT e.to_id FROM w CROSS JOIN edges e ON e.from_id = w.id AND e.kind = {BLOCKS}{to} \
             LIMIT {most} + 1) SELECT id FROM w"
        ),
    );
    statement.result("component_cut", &format!("(SELECT count(*) > {most} FROM connected)"));
    statement.rows(
        "component",
        EDGE,
        &format!("connected w CROSS JOIN edges e ON e.to_id = w.id AND e.kind = {BLOCKS}{from}"),
    );
}
