//! Lists: items that match a filter, one page of them.
//!
//! SQLite knows nothing of how values are spread here, so the way to the rows is chosen for it: by the words, tags or
//! relatives asked for first, then by the narrowest index, and by the order of the list when nothing narrows it.

use docket_core::store::code::Coded;
use docket_core::store::{ClaimState, Filter, Found, Order, ProjectRef, SortBy, StoreError, TimeRange};
use serde::Deserialize;

use super::limit::Limit;
use super::statement::{NOW, Statement};
use crate::context::Context;
use crate::pool::Link;
use crate::row::{ITEM, ItemRow, Millis, models};
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

pub(super) fn compose(context: &Context, filter: &Filter) -> Script {
    let mut script = Script::default();
    let mut statement = Statement::with_clock(&mut script, &context.clock);
    let way = Way::choose(filter);
    let (from, fits) = clauses(&mut script, filter, way);
    if filter.count || filter.limit == 0 {
        statement.result("count", &format!("(SELECT count(*) FROM {from} WHERE {fits})"));
    }
    if filter.limit > 0 {
        let (limit, offset) = (script.limit(filter.limit), script.limit(filter.offset));
        let order = order(filter);
        // Only the page's rows are read whole; the rest is sorted by what the order needs.
        statement.rows(
            "items",
            ITEM,
            &format!(
                "(SELECT i.pk FROM {from} WHERE {fits} ORDER BY {order} LIMIT {limit} OFFSET {offset}) k \
                 CROSS JOIN items i ON i.pk = k.pk"
            ),
        );
    }
    statement.finish(&mut script);
    script
}

/// The way to the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Words,
    Tags,
    Parent,
    /// By an index that begins with the project.
    Index(&'static str),
    /// In the order in which items were made.
    Made,
}

impl Way {
    fn choose(filter: &Filter) -> Self {
        let modified = filter.modified.after.is_some() || filter.modified.before.is_some();
        if !filter.words.is_empty() {
            Self::Words
        } else if matches!(filter.parent, Some(Some(_))) {
            Self::Parent
        } else if !filter.tags.is_empty() {
            Self::Tags
        } else if matches!(filter.claim, Some(ClaimState::Claimed | ClaimState::Expired)) {
            Self::Index("items_claimed")
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
            let words = script.text(words.join(" AND "));
            format!(
                "(SELECT rowid AS pk FROM items_fts WHERE items_fts MATCH {words}) w CROSS JOIN items i ON i.pk = w.pk"
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
}

fn add_range(script: &mut Script, column: &str, range: TimeRange, fits: &mut Vec<String>) {
    for (limit, comparison) in [(range.after, ">"), (range.before, "<")] {
        if let Some(limit) = limit {
            let limit = script.int(limit.as_millis());
            fits.push(format!("{column} {comparison} {limit}"));
        }
    }
}

/// The order of a list. Within a project items are numbered in the order in which they were made; across projects their
/// rows are.
fn order(filter: &Filter) -> String {
    let made = match filter.project {
        ProjectRef::Any => "i.pk",
        ProjectRef::Id(_) | ProjectRef::Slug(_) => "i.number",
    };
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
