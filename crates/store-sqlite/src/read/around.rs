//! What is shown around the named items: ancestors, descendants, edges, notes, and the graphs they wait in.

use docket_core::limits;
use docket_core::store::{Around, EdgeReach, NoteReach, Scope};

use super::{show, tier};
use crate::row::code::{BLOCKS, TERMINAL};
use crate::row::{EDGE_COLUMNS, HEAD_COLUMNS, NOTE_COLUMNS};
use crate::script::Script;

/// Shows relatives: first ancestors, so that one who also lies beneath another named item counts as an ancestor.
pub(super) fn add_relatives(script: &mut Script, around: &Around) {
    if around.ancestors {
        show(
            script,
            tier::ANCESTOR,
            "(WITH RECURSIVE up (id) AS ( \
                SELECT i.parent_id FROM shown s CROSS JOIN items i ON i.pk = s.pk WHERE i.parent_id IS NOT NULL \
                UNION SELECT i.parent_id FROM up CROSS JOIN items i ON i.id = up.id WHERE i.parent_id IS NOT NULL \
             ) SELECT id FROM up) a CROSS JOIN items i ON i.id = a.id",
        );
    }
    if let Some(most) = around.subtree {
        add_subtree(script, most);
    }
    if let Some(most) = around.open_children {
        let most = script.size(most.saturating_add(1));
        script.add(&format!(
            "SELECT 'children', s.id, (SELECT group_concat(hex(c.id), '') FROM (SELECT c.id FROM items c \
             WHERE c.parent_id = s.id AND c.role < {TERMINAL} LIMIT {most}) c) \
             FROM shown s WHERE s.tier <= {}",
            tier::ANCESTOR
        ));
    }
    if let Some(most) = around.open_descendants {
        let most = script.size(most.saturating_add(1));
        script.add(&format!(
            "SELECT 'descendants', s.id, (SELECT group_concat(hex(o.id), '') FROM ( \
                WITH RECURSIVE down (id, role) AS ( \
                    SELECT c.id, c.role FROM items c WHERE c.parent_id = s.id \
                    UNION ALL SELECT c.id, c.role FROM down CROSS JOIN items c ON c.parent_id = down.id \
                ) SELECT id FROM down WHERE role < {TERMINAL} LIMIT {most}) o) \
             FROM shown s WHERE s.tier = {}",
            tier::NAMED
        ));
    }
}

/// Descendants, breadth first up to the limit, then parents before children. `UNION` meets each once, however many of the
/// named items it lies beneath.
fn add_subtree(script: &mut Script, most: usize) {
    let most = script.size(most.saturating_add(1));
    script.add("DELETE FROM tree");
    script.add(&format!(
        "INSERT INTO tree (id) WITH RECURSIVE down (id, depth, number) AS ( \
            SELECT c.id, c.depth, c.number FROM shown s CROSS JOIN items c ON c.parent_id = s.id WHERE s.tier = {} \
            UNION SELECT c.id, c.depth, c.number FROM down CROSS JOIN items c ON c.parent_id = down.id \
            LIMIT {most} \
         ) SELECT id FROM down ORDER BY depth, number",
        tier::NAMED
    ));
    show(script, tier::BESIDE, "tree t CROSS JOIN items i ON i.id = t.id");
    script.add("SELECT 'tree', group_concat(hex(id), '' ORDER BY place) FROM tree");
}

/// Named edges and notes; the items they are on are shown.
pub(super) fn add_named(script: &mut Script, scope: &Scope) {
    script.add("DELETE FROM linked");
    if !scope.edge_ids.is_empty() {
        let ids = script.uuids(scope.edge_ids.iter().map(|id| id.as_uuid()));
        script.add(&format!(
            "INSERT OR IGNORE INTO linked (pk) \
             SELECT e.pk FROM json_each({ids}) j CROSS JOIN edges e ON e.id = unhex(j.value)"
        ));
        add_ends(script, tier::BESIDE);
    }
    if !scope.note_ids.is_empty() {
        let ids = script.uuids(scope.note_ids.iter().map(|id| id.as_uuid()));
        let notes = format!("json_each({ids}) j CROSS JOIN notes n ON n.id = unhex(j.value)");
        show(script, tier::BESIDE, &format!("{notes} CROSS JOIN items i ON i.id = n.item_id"));
        script.add(&format!("SELECT 'note', {NOTE_COLUMNS} FROM {notes}"));
    }
}

/// Notes and edges of what is shown; what the edges lead to is shown last.
pub(super) fn add_attached(script: &mut Script, scope: &Scope) {
    match scope.around.notes {
        NoteReach::None => {}
        NoteReach::Heads => script.add(&format!(
            "SELECT 'head', {HEAD_COLUMNS} FROM shown s CROSS JOIN notes n ON n.item_id = s.id"
        )),
        NoteReach::Bodies => script.add(&format!(
            "SELECT 'body', {NOTE_COLUMNS} FROM shown s CROSS JOIN notes n ON n.item_id = s.id WHERE s.tier = {}",
            tier::NAMED
        )),
    }
    let reach = match scope.around.edges {
        EdgeReach::None => None,
        EdgeReach::Named => Some(tier::NAMED),
        EdgeReach::Shown => Some(tier::BESIDE),
    };
    if let Some(reach) = reach {
        for end in ["from_id", "to_id"] {
            script.add(&format!(
                "INSERT OR IGNORE INTO linked (pk) \
                 SELECT e.pk FROM shown s CROSS JOIN edges e ON e.{end} = s.id WHERE s.tier <= {reach}"
            ));
        }
        add_ends(script, tier::REACHED);
    }
    if reach.is_some() || !scope.edge_ids.is_empty() {
        script.add(&format!("SELECT 'edge', {EDGE_COLUMNS} FROM linked l CROSS JOIN edges e ON e.pk = l.pk"));
    }
}

fn add_ends(script: &mut Script, tier: u8) {
    for end in ["from_id", "to_id"] {
        show(script, tier, &format!("linked l CROSS JOIN edges e ON e.pk = l.pk CROSS JOIN items i ON i.id = e.{end}"));
    }
}

/// Everything the named items wait for. Edges and children come packed into one text each: a walk may be long, and a row
/// costs more than what is in it.
pub(super) fn add_waits(script: &mut Script) {
    let most = script.size(limits::GRAPH_NODES);
    script.add("DELETE FROM walked");
    script.add(&format!(
        "INSERT INTO walked (id) WITH RECURSIVE w (id) AS ( \
            SELECT id FROM shown WHERE tier = {} \
            UNION SELECT e.from_id FROM w CROSS JOIN edges e ON e.to_id = w.id AND e.kind = {BLOCKS} \
            UNION SELECT c.id FROM w CROSS JOIN items c ON c.parent_id = w.id \
            LIMIT {most} + 1 \
         ) SELECT id FROM w",
        tier::NAMED
    ));
    script.add(&format!("SELECT 'waits', count(*) > {most} FROM walked"));
    script.add(&format!(
        "SELECT 'wait-edges', group_concat(hex(e.from_id) || hex(e.to_id) || coalesce(e.unblock_at, {TERMINAL}), '') \
         FROM walked w CROSS JOIN edges e ON e.to_id = w.id AND e.kind = {BLOCKS}"
    ));
    script.add(
        "SELECT 'wait-children', group_concat(hex(c.parent_id) || hex(c.id), '') \
         FROM walked w CROSS JOIN items c ON c.parent_id = w.id",
    );
}

/// Everything connected with the named items by edges that hold work up, along and against them.
pub(super) fn add_component(script: &mut Script) {
    let most = script.size(limits::GRAPH_NODES);
    script.add("DELETE FROM walked");
    script.add(&format!(
        "INSERT INTO walked (id) WITH RECURSIVE w (id) AS ( \
            SELECT id FROM shown WHERE tier = {} \
            UNION SELECT e.from_id FROM w CROSS JOIN edges e ON e.to_id = w.id AND e.kind = {BLOCKS} \
            UNION SELECT e.to_id FROM w CROSS JOIN edges e ON e.from_id = w.id AND e.kind = {BLOCKS} \
            LIMIT {most} + 1 \
         ) SELECT id FROM w",
        tier::NAMED
    ));
    script.add(&format!("SELECT 'component-cut', count(*) > {most} FROM walked"));
    script.add(&format!(
        "SELECT 'component', {EDGE_COLUMNS} FROM walked w CROSS JOIN edges e ON e.to_id = w.id AND e.kind = {BLOCKS}"
    ));
}
