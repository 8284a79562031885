//! `query_items`: one item in full, a filtered list, or an overview.

use docket_core::Error;
use docket_core::Reason;
use docket_core::model::{Item, ItemRef, Name, Priority, Timestamp};
use docket_core::query::OverviewEntry;
use docket_core::search::terms;
use docket_core::store::{Around, ClaimState, Filter, Found, Order, Slice, SortBy, TimeRange};
use rmcp::model::{JsonObject, Tool};
use serde::Serialize;
use serde_json::json;

use super::args::{end, item_ref, moment, name, one_of, role, tag};
use super::render::{Ancestor, ChildCounts, ClaimSummary, Full, Minimal, ancestors};
use super::schema::{self, Effect, count, flag, object, rows, shape, text, whole, word};
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::{Keys, Session};

const KNOWN: &[&str] = &[
    "operation",
    "id",
    "itemId",
    "parentId",
    "depth",
    "role",
    "priority",
    "tags",
    "type",
    "query",
    "createdAfter",
    "createdBefore",
    "modifiedAfter",
    "modifiedBefore",
    "roleChangedAfter",
    "roleChangedBefore",
    "sortBy",
    "sortOrder",
    "limit",
    "offset",
    "includeAncestors",
    "includeChildren",
    "claimStatus",
];

/// Rows of a list when nothing is said.
const SEARCH_ROWS: i64 = 50;
/// Roots of an overview when nothing is said.
const OVERVIEW_ROWS: i64 = 20;
/// Most rows of either.
const MOST_ROWS: i64 = 200;

#[derive(Clone, Copy)]
enum Operation {
    Get,
    Search,
    Overview,
}

const OPERATIONS: &[(&str, Operation)] =
    &[("get", Operation::Get), ("search", Operation::Search), ("overview", Operation::Overview)];
const SORTS: &[(&str, SortBy)] = &[
    ("title", SortBy::Title),
    ("priority", SortBy::Priority),
    ("complexity", SortBy::Complexity),
    ("createdAt", SortBy::CreatedAt),
    ("modifiedAt", SortBy::ModifiedAt),
];
const ORDERS: &[(&str, Order)] = &[("asc", Order::Asc), ("desc", Order::Desc)];
const CLAIMS: &[(&str, ClaimState)] =
    &[("claimed", ClaimState::Claimed), ("unclaimed", ClaimState::Unclaimed), ("expired", ClaimState::Expired)];

pub(super) fn tool() -> Tool {
    let input = object(
        json!({
            "operation": word(&["get", "search", "overview"], ""),
            "id": text("get: the item"),
            "itemId": text("overview: one item with its children; roots when absent"),
            "parentId": text("search: direct children of this item"),
            "depth": whole(0, None, "search"),
            "role": word(&["queue", "work", "review", "blocked", "terminal"], "search"),
            "priority": word(&["high", "medium", "low"], "search"),
            "tags": text("search: comma-separated, any of them"),
            "type": text("search"),
            "query": text("search: words of title and summary"),
            "createdAfter": text(""), "createdBefore": text(""),
            "modifiedAfter": text(""), "modifiedBefore": text(""),
            "roleChangedAfter": text(""), "roleChangedBefore": text(""),
            "sortBy": word(&["title", "priority", "complexity", "createdAt", "modifiedAt"], "default createdAt"),
            "sortOrder": word(&["asc", "desc"], "default desc"),
            "limit": whole(1, Some(MOST_ROWS), "default 50; overview 20"),
            "offset": whole(0, None, ""),
            "includeAncestors": flag("get, search: the way from the root"),
            "includeChildren": flag("overview of roots: their children"),
            "claimStatus": word(&["claimed", "unclaimed", "expired"], "search; adds isClaimed"),
        }),
        &["operation"],
    );
    let output = json!({
        "id": schema::word_out(), "key": schema::word_out(), "title": schema::word_out(), "role": schema::word_out(),
        "items": rows(), "total": count(), "returned": count(), "limit": count(), "offset": count(),
        "item": shape(), "childCounts": shape(), "children": rows(), "truncated": flag(""),
    });
    let about = "Read work items: get one in full, search with filters and pages (short rows), or overview of the roots or of one \
                 item with child counts by role.";
    schema::tool("query_items", about, Effect::Reads, input, output)
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    match fields.need("operation", one_of(OPERATIONS))? {
        Operation::Get => get(session, fields).await,
        Operation::Search => search(session, fields).await,
        Operation::Overview => overview(session, fields).await,
    }
}

async fn get(session: &Session, mut fields: Fields) -> Result<Answer, Error> {
    let id = fields.need("id", item_ref)?;
    let with_ancestors = fields.flag("includeAncestors")?.unwrap_or(false);
    end(&mut fields)?;
    let around = Around { ancestors: with_ancestors, ..Around::default() };
    let seen = session.engine().show(session.project(), std::slice::from_ref(&id), around).await?;
    let item = seen.resolve(&id)?;
    let project = seen.project_of(item)?;
    let mut full = Full::of(item, Some(project.key(item.number)), Some(&project.workflow));
    full.ancestors = with_ancestors.then(|| ancestors(&seen, item));
    Ok(Answer::of(&full))
}

#[derive(Serialize)]
struct SearchAnswer<'a> {
    items: Vec<SearchRow<'a>>,
    total: u64,
    returned: usize,
    limit: usize,
    offset: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SearchRow<'a> {
    #[serde(flatten)]
    item: Minimal<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_claimed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ancestors: Option<Vec<Ancestor<'a>>>,
}

async fn search(session: &Session, mut fields: Fields) -> Result<Answer, Error> {
    let with_ancestors = fields.flag("includeAncestors")?.unwrap_or(false);
    let (filter, finds_nothing) = filter(session, &mut fields).await?;
    end(&mut fields)?;
    let found = if finds_nothing { Found::default() } else { session.engine().find(&filter).await? };
    let seen: Option<Slice> = if with_ancestors && !found.items.is_empty() {
        Some(session.engine().with_ancestors(found.items.iter()).await?)
    } else {
        None
    };
    let keys = session.keys(found.items.iter()).await;
    let row = |item| SearchRow {
        item: Minimal::of(item, &keys),
        is_claimed: filter.claim.map(|_| item.live_claim(found.now).is_some()),
        ancestors: with_ancestors.then(|| seen.as_ref().map(|seen| ancestors(seen, item)).unwrap_or_default()),
    };
    let items: Vec<SearchRow<'_>> = found.items.iter().map(row).collect();
    let (limit, offset) = (filter.limit, filter.offset);
    Ok(Answer::of(&SearchAnswer { returned: items.len(), items, total: found.total, limit, offset }))
}

/// What is asked for, and whether it is certain that nothing matches.
async fn filter(session: &Session, fields: &mut Fields) -> Result<(Filter, bool), Error> {
    let question = fields.parsed("query", |text| Ok(text.to_owned()))?;
    let words = question.as_deref().map(terms).unwrap_or_default();
    let finds_nothing = question.is_some() && words.is_empty();
    let mut filter = Filter {
        visible: None,
        project: session.project().clone(),
        parent: None,
        depth: depth(fields)?,
        roles: fields.parsed("role", role)?.into_iter().collect(),
        status: None,
        priority: fields.parsed("priority", str::parse::<Priority>)?,
        tags: fields.split_some("tags", tag)?.unwrap_or_default(),
        item_type: fields.parsed("type", name)?,
        words,
        created: range(fields, "createdAfter", "createdBefore")?,
        modified: range(fields, "modifiedAfter", "modifiedBefore")?,
        role_changed: range(fields, "roleChangedAfter", "roleChangedBefore")?,
        claim: fields.parsed("claimStatus", one_of(CLAIMS))?,
        blocked: None,
        inbox: None,
        held_by: None,
        sort: fields.parsed("sortBy", one_of(SORTS))?.unwrap_or_default(),
        order: fields.parsed("sortOrder", one_of(ORDERS))?.unwrap_or_default(),
        limit: session.engine().page(clamped(fields, "limit", SEARCH_ROWS, 1, MOST_ROWS)?),
        bytes: None,
        after: None,
        offset: clamped(fields, "offset", 0, 0, i64::from(u32::MAX))?,
        count: true,
    };
    if let Some(parent) = fields.parsed("parentId", item_ref)? {
        let seen = session.engine().show(session.project(), std::slice::from_ref(&parent), Around::default()).await?;
        filter.parent = Some(Some(seen.resolve(&parent).map_err(|error| error.at("parentId"))?.id));
    }
    Ok((filter, finds_nothing))
}

fn depth(fields: &mut Fields) -> Result<Option<u8>, Error> {
    let Some(depth) = fields.whole("depth")? else { return Ok(None) };
    u8::try_from(depth).map(Some).map_err(|_| {
        Error::validation(Reason::BadValue, format!("depth must be from 0 to 255, not {depth}")).at("depth")
    })
}

/// A number brought inside its bounds; the answer says what it became.
pub(super) fn clamped(fields: &mut Fields, name: &str, default: i64, least: i64, most: i64) -> Result<usize, Error> {
    let number = fields.whole(name)?.unwrap_or(default).clamp(least, most);
    Ok(usize::try_from(number).unwrap_or_default())
}

fn range(fields: &mut Fields, after: &str, before: &str) -> Result<TimeRange, Error> {
    let range = TimeRange { after: fields.parsed(after, moment)?, before: fields.parsed(before, moment)? };
    let empty = |(from, to): (Timestamp, Timestamp)| from >= to;
    if range.after.zip(range.before).is_some_and(empty) {
        return Err(Error::validation(Reason::BadValue, format!("{after} must be before {before}")).at(after));
    }
    Ok(range)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ScopedAnswer<'a> {
    item: Full<'a>,
    child_counts: ChildCounts,
    children: Vec<Minimal<'a>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

#[derive(Serialize)]
struct GlobalAnswer<'a> {
    items: Vec<RootRow<'a>>,
    total: usize,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RootRow<'a> {
    #[serde(flatten)]
    root: CountedRow<'a>,
    claim_summary: ClaimSummary,
    #[serde(skip_serializing_if = "Option::is_none")]
    children: Option<Vec<CountedRow<'a>>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CountedRow<'a> {
    #[serde(flatten)]
    item: Minimal<'a>,
    #[serde(skip_serializing_if = "<[Name]>::is_empty")]
    traits: &'a [Name],
    child_counts: ChildCounts,
}

async fn overview(session: &Session, mut fields: Fields) -> Result<Answer, Error> {
    let with_children = fields.flag("includeChildren")?.unwrap_or(false);
    let item = fields.parsed("itemId", item_ref)?;
    let limit = clamped(&mut fields, "limit", OVERVIEW_ROWS, 1, MOST_ROWS)?;
    end(&mut fields)?;
    if let Some(id) = item {
        return scoped(session, &id, limit).await;
    }
    let overview = session.engine().overview(session.project(), limit, with_children).await?;
    let keys = session.keys(overview.entries.iter().map(|entry| &entry.item)).await;
    let items: Vec<RootRow<'_>> = overview.entries.iter().map(|entry| root_row(entry, with_children, &keys)).collect();
    Ok(Answer::of(&GlobalAnswer { total: items.len(), items, truncated: overview.truncated }))
}

fn root_row<'a>(entry: &'a OverviewEntry, with_children: bool, keys: &Keys) -> RootRow<'a> {
    let children =
        || entry.children.iter().map(|(child, tally)| counted(child, ChildCounts::of(tally), keys)).collect();
    RootRow {
        root: counted(&entry.item, ChildCounts::of(&entry.tally), keys),
        claim_summary: ClaimSummary::of(entry.tally.claims, true),
        children: with_children.then(children),
        truncated: entry.truncated,
    }
}

fn counted<'a>(item: &'a Item, child_counts: ChildCounts, keys: &Keys) -> CountedRow<'a> {
    CountedRow { item: Minimal::of(item, keys), traits: &item.traits, child_counts }
}

async fn scoped(session: &Session, id: &ItemRef, limit: usize) -> Result<Answer, Error> {
    let entry = session.engine().overview_of(session.project(), id, limit).await?;
    // The rules are needed only to name the role that an item put aside returns to.
    let rules = match &entry.item.previous_status {
        None => None,
        Some(_) => Some(session.engine().show(session.project(), std::slice::from_ref(id), Around::default()).await?),
    };
    let workflow = rules.as_ref().and_then(|seen| seen.project_of(&entry.item).ok()).map(|project| &project.workflow);
    let keys = session.keys(std::iter::once(&entry.item)).await;
    Ok(Answer::of(&ScopedAnswer {
        item: Full::of(&entry.item, keys.of(&entry.item), workflow),
        child_counts: ChildCounts::of(&entry.tally),
        children: entry.children.iter().map(|(child, _)| Minimal::of(child, &keys)).collect(),
        truncated: entry.truncated,
    }))
}
