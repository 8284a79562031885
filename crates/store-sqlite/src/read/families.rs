//! Families: items with some of their children and counts of all of them, as of one moment.

use docket_core::store::row::FamilyRows;
use docket_core::store::{Families, Heads, StoreError};

use super::statement::Statement;
use super::{find, tally};
use crate::context::Context;
use crate::pool::Link;
use crate::row::ITEM;
use crate::script::Script;

/// Items with as many of each one's direct children, and how the children of all of these stand.
pub(crate) fn families(
    link: &mut Link,
    context: &Context,
    of: &Heads,
    children: usize,
) -> Result<Families, StoreError> {
    let rows: FamilyRows = link.ask(&compose(context, of, children))?;
    context.clock.saw(rows.now());
    Ok(rows.families())
}

pub(super) fn compose(context: &Context, of: &Heads, children: usize) -> Script {
    let mut script = Script::default();
    let mut statement = Statement::with_clock(&mut script, &context.clock);
    let heads = match of {
        Heads::Page(filter) => find::page(&mut script, filter, "i.pk, i.id"),
        Heads::These(ids) => {
            let ids = script.uuids(ids.iter().map(|id| id.as_uuid()));
            format!("SELECT i.pk, i.id FROM json_each({ids}) m CROSS JOIN items i ON i.id = unhex(m.value)")
        }
    };
    statement.part("heads (pk, id)", &heads);
    let most = script.limit(children);
    // The oldest of each, by the index alone; only they are read whole.
    statement.part(
        "below (pk, id)",
        &format!(
            "SELECT c.pk, c.id FROM heads h CROSS JOIN items c ON c.pk IN (SELECT x.pk FROM items x INDEXED BY items_children \
             WHERE x.parent_id = h.id ORDER BY x.number LIMIT {most})"
        ),
    );
    statement.part("parents (id)", "SELECT id FROM heads UNION SELECT id FROM below");
    statement.rows("items", ITEM.as_str(), "heads h CROSS JOIN items i ON i.pk = h.pk");
    statement.rows("children", ITEM.as_str(), "below f CROSS JOIN items i ON i.pk = f.pk");
    tally::add_children(&mut statement);
    statement.finish(&mut script);
    script
}
