//! Lists: items that match a filter, one page of them.
//!
//! SQLite knows nothing of how values are spread here, so the way to the rows is chosen for it: by the words, tags or
//! relatives asked for first, then by the narrowest index, and by the order of the list when nothing narrows it.

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
pub(crate) fn find(link: &mut Link, context: &Context, filter: &Filter) -> Result<Found, StoreError> {
    let page: Page = link.ask(&compose(context, filter))?;
    context.clock.saw(page.now.into());
    Ok(Found { now: page.now.into(), items: models(page.items), total: page.count })
}

pub(super) fn compose(context: &Context, filter: &Filter) -> Script {
    let mut script = Script::default();
    let mut statement = Statement::with_clock(&mut script, &context.clock);
    let way = Way::choose(filter);
    let (mut from, mut fits) = clauses(&mut script, filter, way);
    let counted = filter.count || filter.limit == 0;
    if way == Way::Words && counted && filter.limit > 0 {
        // Each look into the index of words asks all of its segments, and a large one has many: the count and the page are of
        // what one look found.
        statement.part("found (pk)", &format!("SELECT i.pk FROM {from} WHERE {fits}"));
        statement.result("count", "(SELECT count(*) FROM found)");
        (from, fits) = ("found f CROSS JOIN items i ON i.pk = f.pk".to_owned(), "1".to_owned());
    } else if counted {
        statement.result("count", &format!("(SELECT count(*) FROM {from} WHERE {fits})"));
    }
    if filter.limit > 0 {
        let mut fits = vec![fits];
        add_after(&mut script, filter, &mut fits);
        let fits = fits.join(" AND ");
        let (limit, offset) = (script.limit(filter.limit), script.limit(filter.offset));
        let order = order(filter);
        // Only the page's rows are read whole; the rest is sorted by what the order needs.
        let page = format!("SELECT i.pk FROM {from} WHERE {fits} ORDER BY {order} LIMIT {limit} OFFSET {offset}");
        let page = fitting(&mut script, page, filter.bytes);
        statement.rows("items", ITEM.as_str(), &format!("({page}) k CROSS JOIN items i ON i.pk = k.pk"));
    }
    statement.finish(&mut script);
    script
}

/// The rows of a page up to the first that has no more room in so many bytes.
fn fitting(script: &mut Script, page: String, bytes: Option<usize>) -> String {
    let Some(bytes) = bytes else { return page };
    let bytes = script.limit(bytes);
    format!(
        "SELECT f.pk FROM (SELECT o.pk, sum({LONG}) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS earlier \
         FROM ({page}) o CROSS JOIN items i ON i.pk = o.pk) f WHERE coalesce(f.earlier, 0) <= {bytes}"
    )
}

/// The rows of a page, in their order, for other reads to build on.
pub(super) fn page(script: &mut Script, filter: &Filter, columns: &str) -> String {
    let (from, fits) = clauses(script, filter, Way::choose(filter));
    let mut fits = vec![fits];
    add_after(script, filter, &mut fits);
    let (limit, offset) = (script.limit(filter.limit), script.limit(filter.offset));
    let (fits, order) = (fits.join(" AND "), order(filter));
    format!("SELECT {columns} FROM {from} WHERE {fits} ORDER BY {order} LIMIT {limit} OFFSET {offset}")
}

/// The way to the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Words,
    Tags,
    Parent,
    /// By an index that begins with the project, or with the holder and the project.
    Index(&'static str),
    /// In the order in which items were made.
    Made,
}

impl Way {
    fn choose(filter: &Filter) -> Self {
        let modified = filter.modified.after.is_some() || filter.modified.before.is_some();
        if !filter.words.is_empty() {
            Self::Words
        } else if filter.held_by.is_some() {
            Self::Index("items_held")
        } else if matches!(filter.parent, Some(Some(_))) {
            Self::Parent
        } else if !filter.tags.is_empty() {
            Self::Tags
        } else if matches!(filter.claim, Some(ClaimState::Claimed | ClaimState::Expired)) {
            Self::Index("items_claimed")
        } else if filter.inbox == Some(true) {
            Self::Index("items_inbox")
        } else if filter.blocked == Some(true) {
            Self::Index("items_blocked")
        } else if filter.item_type.is_some() {
            Self::Index("items_type")
        } else if filter.parent == Some(None) {
            Self::Index("items_roots")
        } else if !filter.roles.is_empty() {
            Self::Index("items_role")
        } else if modified || filter.sort == SortBy::ModifiedAt {
            Self::Index("items_modified")
        } else {
            Self::Made
        }
    }
}

/// The FROM and WHERE clauses for the items `i`.
fn clauses(script: &mut Script, filter: &Filter, way: Way) -> (String, String) {
    let mut fits = vec!["1".to_owned()];
    let project = Limit::of(script, &filter.visible).meant(script, &filter.project);
    let from = match way {
        Way::Words => {
            let words: Vec<String> =
                filter.words.iter().map(|word| format!("\"{}\"*", word.replace('"', "\"\""))).collect();
            let (words, each) = (script.text(words.join(" AND ")), script.json(&filter.words));
            // What the index has not taken in yet is little, and looked through. Each word must begin one of the item's there, too.
            format!(
                "(SELECT rowid AS pk FROM items_fts WHERE items_fts MATCH {words} UNION ALL \
                 SELECT pk FROM items_unindexed waiting WHERE NOT EXISTS \
                 (SELECT 1 FROM json_each({each}) asked WHERE instr(' ' || waiting.words, ' ' || asked.value) = 0)) w \
                 CROSS JOIN items i ON i.pk = w.pk"
            )
        }
        Way::Tags => {
            let tags = script.json(&filter.tags);
            format!(
                "(SELECT DISTINCT item_pk AS pk FROM item_tags WHERE tag IN (SELECT value FROM json_each({tags}))) g \
                 CROSS JOIN items i ON i.pk = g.pk"
            )
        }
        Way::Parent => "items i INDEXED BY items_children".to_owned(),
        Way::Index(index) => match &project {
            Some(_) => format!("items i INDEXED BY {index}"),
            None => format!("projects p CROSS JOIN items i INDEXED BY {index} ON i.project_id = p.id"),
        },
        Way::Made => "items i".to_owned(),
    };
    if let Some(project) = project {
        let by_index = matches!(way, Way::Index(_) | Way::Made);
        let column = if by_index { "i.project_id" } else { "+i.project_id" };
        fits.push(project.holds(column));
    }
    if !filter.tags.is_empty() && way != Way::Tags {
        let tags = script.json(&filter.tags);
        fits.push(format!(
            "EXISTS (SELECT 1 FROM item_tags t WHERE t.item_pk = i.pk AND t.tag IN (SELECT value FROM json_each({tags})))"
        ));
    }
    add_conditions(script, filter, &mut fits);
    (from, fits.join(" AND "))
}

fn add_conditions(script: &mut Script, filter: &Filter, fits: &mut Vec<String>) {
    match filter.parent {
        None => {}
        Some(None) => fits.push("i.parent_id IS NULL".to_owned()),
        Some(Some(parent)) => {
            let parent = script.uuid(parent.as_uuid());
            fits.push(format!("i.parent_id = {parent}"));
        }
    }
    if let Some(depth) = filter.depth {
        let depth = script.int(depth.into());
        fits.push(format!("i.depth = {depth}"));
    }
    if !filter.roles.is_empty() {
        let roles: Vec<i64> = filter.roles.iter().map(|role| role.code()).collect();
        let roles = script.json(&roles);
        fits.push(format!("i.role IN (SELECT value FROM json_each({roles}))"));
    }
    if let Some(status) = &filter.status {
        let status = script.text(status.as_str());
        fits.push(format!("i.status = {status}"));
    }
    if let Some(priority) = filter.priority {
        let priority = script.int(priority.code());
        fits.push(format!("i.priority = {priority}"));
    }
    if let Some(item_type) = &filter.item_type {
        let item_type = script.text(item_type.as_str());
        fits.push(format!("i.item_type = {item_type}"));
    }
    add_range(script, "i.created_at", filter.created, fits);
    add_range(script, "i.modified_at", filter.modified, fits);
    add_range(script, "i.role_changed_at", filter.role_changed, fits);
    match filter.claim {
        None => {}
        Some(ClaimState::Claimed) => {
            fits.push(format!("i.holder IS NOT NULL AND (i.claim_expires_at IS NULL OR i.claim_expires_at > {NOW})"));
        }
        Some(ClaimState::Expired) => fits.push(format!("i.holder IS NOT NULL AND i.claim_expires_at <= {NOW}")),
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
