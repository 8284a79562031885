//! What is shown around the named items: relatives, edges, notes, and the graphs they wait in.

use docket_core::limits;
use docket_core::store::code::{BLOCKS, DUPLICATE_OF, SUPERSEDES, TERMINAL};
use docket_core::store::{Around, EdgeReach, NoteReach, Scope};
use uuid::Uuid;

use super::look::{Look, once, table};
use super::names::Named;
use crate::error::Trouble;
use crate::row::{EDGE, HEAD, LONG, NOTE};
use crate::script::Script;

/// Relatives of the named items, and which open children they have. Returns what is shown of them.
pub(super) fn relatives(look: &mut Look<'_>, around: &Around, named: &Named) -> Result<Vec<Uuid>, Trouble> {
    let mut shown = if around.ancestors { ancestors(look, named)? } else { Vec::new() };
    if let Some(most) = around.open_children {
        let parents = once(named.ids.iter().chain(&shown).copied());
        open_children(look, &parents, most)?;
    }
    if let Some(most) = around.subtree {
        shown.extend(subtree(look, named, most, around.subtree_bytes)?);
    }
    Ok(shown)
}

fn ancestors(look: &mut Look<'_>, named: &Named) -> Result<Vec<Uuid>, Trouble> {
    if named.parents.is_empty() {
        return Ok(Vec::new());
    }
    let mut script = Script::default();
    let parents = table(&mut script, &named.parents);
    script.add(format!(
        "WITH RECURSIVE up (id) AS (SELECT id FROM {parents} \
         UNION SELECT i.parent_id FROM up CROSS JOIN items i ON i.id = up.id WHERE i.parent_id IS NOT NULL) \
         SELECT id FROM up"
    ));
    look.ids(&script)
}

fn open_children(look: &mut Look<'_>, parents: &[Uuid], most: usize) -> Result<(), Trouble> {
    if parents.is_empty() {
        return Ok(());
    }
    let mut script = Script::default();
    let parents = table(&mut script, parents);
    let most = script.limit(most.saturating_add(1));
    script.add(format!(
        "SELECT json_array(hex(n.id), (SELECT group_concat(hex(o.id), '') FROM (SELECT c.id FROM items c \
         WHERE c.parent_id = n.id AND c.role < {TERMINAL} LIMIT {most}) o)) FROM {parents} n"
    ));
    look.rows("children", &script)?;
    Ok(())
}

/// Breadth first up to the limit, then parents before children. `UNION` meets each item once, however many of the named
/// ones it lies beneath.
fn subtree(look: &mut Look<'_>, named: &Named, most: usize, bytes: Option<usize>) -> Result<Vec<Uuid>, Trouble> {
    if named.ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut script = Script::default();
    let roots = table(&mut script, &named.ids);
    let most = script.limit(most.saturating_add(1));
    let down = match bytes {
        None => "down".to_owned(),
        Some(bytes) => {
            let bytes = script.limit(bytes);
            format!(
                "(SELECT d.id, d.depth, d.number, sum({LONG}) OVER ( \
                    ORDER BY d.depth, d.number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS earlier \
                 FROM down d CROSS JOIN items i ON i.id = d.id) WHERE coalesce(earlier, 0) <= {bytes}"
            )
        }
    };
    script.add(format!(
        "WITH RECURSIVE down (id, depth, number) AS ( \
            SELECT c.id, c.depth, c.number FROM {roots} n CROSS JOIN items c ON c.parent_id = n.id \
            UNION SELECT c.id, c.depth, c.number FROM down CROSS JOIN items c ON c.parent_id = down.id \
            LIMIT {most}) SELECT id FROM {down} ORDER BY depth, number"
    ));
    let found = look.ids(&script)?;
    look.pack("subtree", &found);
    Ok(found)
}

/// Edges and notes that were named themselves: which edges those are, and the items that are shown with them.
pub(super) fn named_parts(look: &mut Look<'_>, scope: &Scope) -> Result<(Vec<Uuid>, Vec<Uuid>), Trouble> {
    let (mut edges, mut items) = (Vec::new(), Vec::new());
    if !scope.edge_ids.is_empty() {
        let (mut script, limit) = look.begin();
        let ids = script.uuids(scope.edge_ids.iter().map(|id| id.as_uuid()));
        let seen = limit.and_item("e.from_id") + &limit.and_item("e.to_id");
        script.add(format!(
            "SELECT e.id, e.from_id, e.to_id FROM json_each({ids}) j CROSS JOIN edges e ON e.id = unhex(j.value){seen}"
        ));
        for edge in look.ids(&script)?.chunks_exact(3) {
            edges.push(edge[0]);
            items.extend_from_slice(&edge[1..]);
        }
    }
    if !scope.note_ids.is_empty() {
        let (mut script, limit) = look.begin();
        let ids = script.uuids(once(scope.note_ids.iter().map(|id| id.as_uuid())));
        let seen = limit.and_item("n.item_id");
        script.add(format!(
            "SELECT {NOTE}, n.item_id FROM json_each({ids}) j CROSS JOIN notes n ON n.id = unhex(j.value){seen}"
        ));
        items.extend(look.rows("notes", &script)?);
    }
    Ok((edges, items))
}

/// Notes of the items shown, or of the named ones.
pub(super) fn notes(look: &mut Look<'_>, reach: NoteReach, near: &[Uuid], named: &Named) -> Result<(), Trouble> {
    let (result, row, items) = match reach {
        NoteReach::None => return Ok(()),
        NoteReach::Heads => ("heads", HEAD, near),
        NoteReach::Bodies => ("bodies", NOTE, named.ids.as_slice()),
    };
    look.attached(result, row, "notes n ON n.item_id = s.id", items)
}

/// Edges of the items shown or named, and those that were named themselves. Returns the items that they lead to.
pub(super) fn edges(
    look: &mut Look<'_>,
    reach: EdgeReach,
    near: &[Uuid],
    named: &Named,
    themselves: &[Uuid],
) -> Result<Vec<Uuid>, Trouble> {
    let from = match reach {
        EdgeReach::None | EdgeReach::Counted => &[],
        EdgeReach::Named => named.ids.as_slice(),
        EdgeReach::Shown => near,
    };
    if reach == EdgeReach::Counted && !named.ids.is_empty() {
        let mut script = Script::default();
        let items = table(&mut script, &named.ids);
        let count = |end: &str| format!("(SELECT count(*) FROM edges e WHERE e.{end} = n.id)");
        script.add(format!("SELECT json_array(hex(n.id), {} + {}) FROM {items} n", count("from_id"), count("to_id")));
        look.rows("degrees", &script)?;
    }
    let mut script = Script::default();
    let mut sources = Vec::new();
    if !from.is_empty() {
        let items = table(&mut script, from);
        for end in ["from_id", "to_id"] {
            sources
                .push(format!("SELECT {EDGE}, e.from_id, e.to_id FROM {items} s CROSS JOIN edges e ON e.{end} = s.id"));
        }
    }
    if !themselves.is_empty() {
        let ids = table(&mut script, themselves);
        sources.push(format!("SELECT {EDGE}, e.from_id, e.to_id FROM {ids} s CROSS JOIN edges e ON e.id = s.id"));
    }
    if sources.is_empty() {
        return Ok(Vec::new());
    }
    // One between two items shown is found from both ends: it is kept by its id, and costs less than to tell it apart here.
    script.add(sources.join(" UNION ALL "));
    look.rows("edges", &script)
}

/// Everything that waits for the named items: what they block and what they lie in, and in turn. A walk that way never goes
/// through the children of anything, of which there may be many. Edges and parents are packed, for a walk may be long.
pub(super) fn waits(look: &mut Look<'_>, named: &Named) -> Result<(), Trouble> {
    if named.ids.is_empty() {
        return Ok(());
    }
    let mut script = Script::default();
    let items = table(&mut script, &named.ids);
    let most = script.limit(limits::GRAPH_NODES);
    script.add(format!(
        "WITH RECURSIVE waited (id) AS MATERIALIZED (WITH RECURSIVE w (id) AS (SELECT id FROM {items} \
         UNION SELECT e.to_id FROM w CROSS JOIN edges e ON e.from_id = w.id AND e.kind = {BLOCKS} \
         UNION SELECT c.parent_id FROM w CROSS JOIN items c ON c.id = w.id WHERE c.parent_id IS NOT NULL \
         LIMIT {most} + 1) SELECT id FROM w) \
         SELECT json_object('waits_cut', (SELECT count(*) > {most} FROM waited), \
         'wait_edges', (SELECT group_concat(hex(e.from_id) || hex(e.to_id) || coalesce(e.unblock_at, {TERMINAL}), '') \
          FROM waited w CROSS JOIN edges e ON e.from_id = w.id AND e.kind = {BLOCKS}), \
         'wait_children', (SELECT group_concat(hex(c.parent_id) || hex(c.id), '') \
          FROM waited w CROSS JOIN items c ON c.id = w.id WHERE c.parent_id IS NOT NULL))"
    ));
    look.results(&script)
}

/// Everything that the named items give way to, and what that gives way to in turn. Pairs are packed, for a walk may be long.
pub(super) fn gives_way(look: &mut Look<'_>, named: &Named) -> Result<(), Trouble> {
    if named.ids.is_empty() {
        return Ok(());
    }
    let mut script = Script::default();
    let items = table(&mut script, &named.ids);
    let most = script.limit(limits::GRAPH_NODES);
    script.add(format!(
        "WITH RECURSIVE ahead (id) AS MATERIALIZED (WITH RECURSIVE w (id) AS (SELECT id FROM {items} \
         UNION SELECT e.to_id FROM w CROSS JOIN edges e ON e.from_id = w.id AND e.kind = {DUPLICATE_OF} \
         UNION SELECT e.from_id FROM w CROSS JOIN edges e ON e.to_id = w.id AND e.kind = {SUPERSEDES} \
         LIMIT {most} + 1) SELECT id FROM w) \
         SELECT json_object('ways_cut', (SELECT count(*) > {most} FROM ahead), \
         'ways', (SELECT group_concat(pair, '') FROM ( \
          SELECT hex(w.id) || hex(e.to_id) AS pair \
          FROM ahead w CROSS JOIN edges e ON e.from_id = w.id AND e.kind = {DUPLICATE_OF} \
          UNION ALL SELECT hex(w.id) || hex(e.from_id) \
          FROM ahead w CROSS JOIN edges e ON e.to_id = w.id AND e.kind = {SUPERSEDES})))"
    ));
    look.results(&script)
}

/// Everything connected with the named items by edges that hold work up, along and against them.
pub(super) fn component(look: &mut Look<'_>, named: &Named) -> Result<(), Trouble> {
    if named.ids.is_empty() {
        return Ok(());
    }
    let (mut script, limit) = look.begin();
    let items = table(&mut script, &named.ids);
    let most = script.limit(limits::GRAPH_NODES);
    let (from, to) = (limit.and_item("e.from_id"), limit.and_item("e.to_id"));
    script.add(format!(
        "WITH RECURSIVE connected (id) AS MATERIALIZED (WITH RECURSIVE w (id) AS (SELECT id FROM {items} \
         UNION SELECT e.from_id FROM w CROSS JOIN edges e ON e.to_id = w.id AND e.kind = {BLOCKS}{from} \
         UNION SELECT e.to_id FROM w CROSS JOIN edges e ON e.from_id = w.id AND e.kind = {BLOCKS}{to} \
         LIMIT {most} + 1) SELECT id FROM w) \
         SELECT json_object('component_cut', (SELECT count(*) > {most} FROM connected), \
         'component', (SELECT json_group_array({EDGE}) FROM connected w CROSS JOIN edges e ON e.to_id = w.id AND e.kind = {BLOCKS}{from}))"
    ));
    look.results(&script)
}
