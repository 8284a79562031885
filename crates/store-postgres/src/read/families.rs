//! Families: items with some of their children and counts of all of them, as of one moment.

use docket_core::store::row::FamilyRows;
use docket_core::store::{Families, Heads, StoreError};

use super::statement::{Statement, each};
use super::{find, tally};
use crate::context::Context;
use crate::pool::Link;
use crate::row::ITEM;
use crate::script::Script;

/// Items with as many of each one's direct children, and how the children of all of these stand.
pub(crate) async fn families(
    link: &mut Link,
    context: &Context,
    of: &Heads,
    children: usize,
) -> Result<Families, StoreError> {
    let rows: FamilyRows = link.ask(compose(context, of, children)).await?;
    context.clock.saw(rows.now());
    Ok(rows.families())
}

fn compose(context: &Context, of: &Heads, children: usize) -> Script {
    let mut script = Script::default();
    let mut statement = Statement::with_clock(&mut script, &context.clock);
    let heads = match of {
        Heads::Page(filter) => {
            format!("SELECT o.id, row_number() OVER () FROM ({}) o", find::page(&mut script, filter, "i.id"))
        }
        Heads::These(ids) => {
            let ids = script.uuids(ids.iter().map(|id| id.as_uuid()));
            format!("SELECT m.id, m.place FROM unnest({ids}) WITH ORDINALITY m (id, place)")
        }
    };
    statement.part("heads (id, place)", &heads);
    let most = script.page(children);
    // The oldest of each, by the index alone; only they are read whole.
    statement.part(
        "below (id)",
        &format!(
            "SELECT c.id FROM heads h CROSS JOIN LATERAL \
             (SELECT x.id FROM items x WHERE x.parent_id = h.id ORDER BY x.number LIMIT {most}) c"
        ),
    );
    statement.part("parents (id)", "SELECT id FROM heads UNION SELECT id FROM below");
    statement.ordered_rows("items", ITEM, "h.place", &each("heads h", "items", "i", "i.id = h.id"));
    statement.rows("children", ITEM, &each("below f", "items", "i", "i.id = f.id"));
    tally::add_children(&mut statement);
    statement.finish(&mut script);
    script
}
