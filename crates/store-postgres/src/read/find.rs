//! Lists: items that match a filter, one page of them.

use docket_core::model::Tag;
use docket_core::store::code::Coded;
use docket_core::store::row::{ItemRow, Millis, models};
use docket_core::store::{
    ClaimState, Filter, Found, Mark, Order, Place, ProjectRef, SortBy, StoreError, Tie, TimeRange,
};
use serde::Deserialize;

use super::limit::Limit;
use super::statement::{NOW, Statement};
use crate::context::Context;
use crate::pool::Link;
use crate::row::{ITEM, LONG};
use crate::script::Script;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Page {
    now: Millis,
    count: u64,
    items: Vec<ItemRow>,
}

/// One page of items with the count of all.
pub(crate) async fn find(link: &mut Link, context: &Context, filter: &Filter) -> Result<Found, StoreError> {
    let page: Page = link.ask(compose(context, filter)).await?;
    context.clock.saw(page.now.into());
    Ok(Found { now: page.now.into(), items: models(page.items), total: page.count })
}

fn compose(context: &Context, filter: &Filter) -> Script {
    let mut script = Script::default();
    let mut statement = Statement::with_clock(&mut script, &context.clock);
    let fits = conditions(&mut script, filter);
    if filter.count || filter.limit == 0 {
        statement.result("count", &format!("(SELECT count(*) FROM items i WHERE {fits})"));
    }
    if filter.limit > 0 {
        let mut fits = vec![fits];
        add_after(&mut script, filter, &mut fits);
        let fits = fits.join(" AND ");
        let (limit, offset) = (script.page(filter.limit), script.page(filter.offset));
        let order = order(filter);
        // Only the page's rows are read whole, one by one, since a plan that does not know how few they are would go
        // through all; the rest is sorted by what the order needs.
        let page = format!(
            "SELECT o.id, row_number() OVER () AS place FROM ( \
             SELECT i.id FROM items i WHERE {fits} ORDER BY {order} LIMIT {limit} OFFSET {offset}) o"
        );
        let page = fitting(&mut script, page, filter.bytes);
        let rows = format!("({page}) k CROSS JOIN LATERAL (SELECT x.* FROM items x WHERE x.id = k.id OFFSET 0) i");
        statement.ordered_rows("items", ITEM, "k.place", &rows);
    }
    statement.finish(&mut script);
    script
}

/// The rows of a page up to the first that has no more room in so many bytes.
fn fitting(script: &mut Script, page: String, bytes: Option<usize>) -> String {
    let Some(bytes) = bytes else { return page };
    let bytes = script.page(bytes);
    format!(
        "SELECT f.id, f.place FROM (SELECT o.id, o.place, sum({LONG}) OVER ( \
            ORDER BY o.place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS earlier \
         FROM ({page}) o CROSS JOIN LATERAL (SELECT x.* FROM items x WHERE x.id = o.id OFFSET 0) i) f \
         WHERE coalesce(f.earlier, 0) <= {bytes}"
    )
}

/// The rows of a page, in their order, for other reads to build on.
pub(super) fn page(script: &mut Script, filter: &Filter, columns: &str) -> String {
    let mut fits = vec![conditions(script, filter)];
    add_after(script, filter, &mut fits);
    let (limit, offset) = (script.page(filter.limit), script.page(filter.offset));
    let (fits, order) = (fits.join(" AND "), order(filter));
    format!("SELECT {columns} FROM items i WHERE {fits} ORDER BY {order} LIMIT {limit} OFFSET {offset}")
}

/// What must hold of the items `i`.
fn conditions(script: &mut Script, filter: &Filter) -> String {
    let mut fits = vec!["true".to_owned()];
    if let Some(project) = Limit::of(script, &filter.visible).meant(script, &filter.project) {
        fits.push(project.holds("i.project_id"));
    }
    if !filter.words.is_empty() {
        let words = script.text(question(&filter.words));
        fits.push(format!("i.words @@ {words}::tsquery"));
    }
    if !filter.tags.is_empty() {
        let tags = script.texts(filter.tags.iter().map(Tag::as_str));
        fits.push(format!("i.tags <> '[]' AND i.tags ?| {tags}"));
    }
    match filter.parent {
        None => {}
        Some(None) => fits.push("i.parent_id IS NULL".to_owned()),
        Some(Some(parent)) => fits.push(format!("i.parent_id = {}", script.uuid(parent.as_uuid()))),
    }
    if let Some(depth) = filter.depth {
        fits.push(format!("i.depth = {}", script.int(depth.into())));
    }
    if !filter.roles.is_empty() {
        let roles = script.ints(filter.roles.iter().map(|role| role.code()));
        fits.push(format!("i.role = ANY({roles})"));
    }
    if let Some(status) = &filter.status {
        fits.push(format!("i.status = {}", script.text(status.as_str())));
    }
    if let Some(priority) = filter.priority {
        fits.push(format!("i.priority = {}", script.int(priority.code())));
    }
    if let Some(item_type) = &filter.item_type {
        fits.push(format!("i.item_type = {}", script.text(item_type.as_str())));
    }
    add_range(script, "i.created_at", filter.created, &mut fits);
    add_range(script, "i.modified_at", filter.modified, &mut fits);
    add_range(script, "i.role_changed_at", filter.role_changed, &mut fits);
    match filter.claim {
        None => {}
        Some(ClaimState::Claimed) => {
            fits.push(format!(
                "i.claimed_at IS NOT NULL AND (i.claim_expires_at IS NULL OR i.claim_expires_at > {NOW})"
            ));
        }
        Some(ClaimState::Expired) => fits.push(format!("i.claimed_at IS NOT NULL AND i.claim_expires_at <= {NOW}")),
        Some(ClaimState::Unclaimed) => fits.push("i.holder IS NULL".to_owned()),
    }
    match filter.blocked {
        None => {}
        Some(true) => fits.push("i.blockers > 0".to_owned()),
        Some(false) => fits.push("i.blockers = 0".to_owned()),
    }
    match filter.inbox {
        None => {}
        Some(true) => fits.push("i.inbox <> 0".to_owned()),
        Some(false) => fits.push("i.inbox = 0".to_owned()),
    }
    if let Some(holder) = &filter.held_by {
        let holder = script.text(holder.as_str());
        fits.push(format!("i.holder = {holder} AND (i.claim_expires_at IS NULL OR i.claim_expires_at > {NOW})"));
    }
    fits.join(" AND ")
}

/// Every word as the beginning of one, all of them: quoted, so that nothing in it is an operator.
fn question(words: &[String]) -> String {
    let quoted = words.iter().filter(|word| !word.is_empty());
    let quoted = quoted.map(|word| format!("'{}':*", word.replace('\\', "\\\\").replace('\'', "''")));
    quoted.collect::<Vec<_>>().join(" & ")
}

fn add_range(script: &mut Script, column: &str, range: TimeRange, fits: &mut Vec<String>) {
    for (limit, comparison) in [(range.after, ">"), (range.before, "<")] {
        if let Some(limit) = limit {
            let limit = script.int(limit.as_millis());
            fits.push(format!("{column} {comparison} {limit}"));
        }
    }
}

/// What comes after a place, in the order of the list. The leading comparison is one that an index can begin with.
fn add_after(script: &mut Script, filter: &Filter, fits: &mut Vec<String>) {
    let Some(Place(mark, tie)) = &filter.after else { return };
    let tie = match tie {
        Tie::Number(number) => script.int((*number).into()),
        Tie::Id(id) => script.uuid(id.as_uuid()),
    };
    let made = made(filter);
    let (later, earlier) = match filter.order {
        Order::Asc => (">", "<"),
        Order::Desc => ("<", ">"),
    };
    let (column, value, beyond) = match mark {
        Mark::Created => return fits.push(format!("{made} {later} {tie}")),
        Mark::Complexity(None) => return fits.push(format!("i.complexity IS NULL AND {made} > {tie}")),
        Mark::Title(title) => ("i.title", script.text(title.as_str()), later),
        // The most urgent priority has the lowest number.
        Mark::Priority(priority) => ("i.priority", script.int(priority.code()), earlier),
        Mark::Complexity(Some(complexity)) => ("i.complexity", script.int(complexity.get().into()), later),
        Mark::Modified(at) => ("i.modified_at", script.int(at.as_millis()), later),
    };
    let after = format!("{column} {beyond}= {value} AND ({column} {beyond} {value} OR {made} > {tie})");
    // What has no complexity comes last, whichever way the list runs.
    fits.push(if matches!(mark, Mark::Complexity(_)) { format!("({column} IS NULL OR {after})") } else { after });
}

/// What tells equals apart, in the order in which they were made: within a project their number, over several their id.
fn made(filter: &Filter) -> &'static str {
    match filter.project {
        ProjectRef::Any => "i.id",
        ProjectRef::Id(_) | ProjectRef::Slug(_) => "i.number",
    }
}

/// The order of a list.
fn order(filter: &Filter) -> String {
    let made = made(filter);
    let (direction, opposite) = match filter.order {
        Order::Asc => ("ASC", "DESC"),
        Order::Desc => ("DESC", "ASC"),
    };
    match filter.sort {
        SortBy::Title => format!("i.title {direction}, {made}"),
        // The most urgent priority has the lowest number.
        SortBy::Priority => format!("i.priority {opposite}, {made}"),
        SortBy::Complexity => format!("i.complexity IS NULL, i.complexity {direction}, {made}"),
        SortBy::CreatedAt => format!("{made} {direction}"),
        SortBy::ModifiedAt => format!("i.modified_at {direction}, {made}"),
    }
}
