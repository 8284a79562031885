//! `find`: lists of every kind. Each fits a budget; what was cut is said, with the cursor that gets it.

use std::collections::BTreeMap;

use docket_core::model::{Item, ItemId, ItemRef, Priority, Timestamp};
use docket_core::query::NextQuery;
use docket_core::search::terms;
use docket_core::store::{Around, ClaimState, Filter, Order, ProjectRef, SortBy, TimeRange};
use docket_core::{Error, Reason};
use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

use super::budget::{Budget, Page, Row, fitted, write};
use super::checks;
use super::common::{project, project_of_item};
use super::item_args::{names as read_names, tags};
use super::reports::{activity, events, health, inbox, overview, projects};
use super::schema::{self, Effect, flag, text, text_of, texts, whole, word};
use super::sessions;
use super::split::Split;
use super::view;
use super::why::why;
use crate::answer::Answer;
use crate::args::{moment, name, one_of, role};
use crate::input::Fields;
use crate::session::{Keys, Session};

const KNOWN: &[&str] = &[
    "what",
    "query",
    "id",
    "parent",
    "under",
    "roles",
    "status",
    "tags",
    "type",
    "priority",
    "claim",
    "blocked",
    "attention",
    "capabilities",
    "actor",
    "state",
    "health",
    "verbs",
    "since",
    "sort",
    "order",
    "fields",
    "limit",
    "maxTokens",
    "cursor",
    "project",
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    List,
    Search,
    Tree,
    Queue,
    Blocked,
    Why,
    Overview,
    Health,
    Inbox,
    Activity,
    Estimate,
    Projects,
    Events,
    Knowledge,
    Sessions,
    Runs,
    Log,
}

impl What {
    /// Whether it is about every project that the caller may see where none is named: what people have to decide and what is
    /// looked for is one list over all of them, and an item says where it belongs.
    fn spans_projects(self, fields: &Fields) -> bool {
        match self {
            Self::Search | Self::Inbox | Self::Sessions | Self::Tree | Self::Activity | Self::Runs | Self::Log => true,
            Self::Why => fields.has("id"),
            Self::List
            | Self::Queue
            | Self::Blocked
            | Self::Overview
            | Self::Health
            | Self::Estimate
            | Self::Projects
            | Self::Events
            | Self::Knowledge => false,
        }
    }
}

const WHATS: &[(&str, What)] = &[
    ("list", What::List),
    ("search", What::Search),
    ("tree", What::Tree),
    ("queue", What::Queue),
    ("blocked", What::Blocked),
    ("why", What::Why),
    ("overview", What::Overview),
    ("health", What::Health),
    ("inbox", What::Inbox),
    ("activity", What::Activity),
    ("estimate", What::Estimate),
    ("projects", What::Projects),
    ("events", What::Events),
    ("knowledge", What::Knowledge),
    ("sessions", What::Sessions),
    ("runs", What::Runs),
    ("log", What::Log),
];

const CLAIMS: &[(&str, ClaimState)] =
    &[("claimed", ClaimState::Claimed), ("unclaimed", ClaimState::Unclaimed), ("expired", ClaimState::Expired)];

const SORTS: &[(&str, SortBy)] = &[
    ("title", SortBy::Title),
    ("priority", SortBy::Priority),
    ("complexity", SortBy::Complexity),
    ("createdAt", SortBy::CreatedAt),
    ("modifiedAt", SortBy::ModifiedAt),
];

pub(super) const ORDERS: &[(&str, Order)] = &[("asc", Order::Asc), ("desc", Order::Desc)];

pub(super) fn tool() -> Tool {
    let whats: Vec<&str> = WHATS.iter().map(|(word, _)| *word).collect();
    let properties = json!({
        "what": word(&whats),
        "query": text(), "id": text(), "parent": text_of("\"\": roots"), "under": text(),
        "roles": texts(), "status": text(), "tags": texts(), "type": text(), "priority": text(),
        "claim": word(&["claimed", "unclaimed", "expired"]),
        "blocked": flag(), "attention": flag(), "capabilities": texts(), "verbs": texts(), "since": text(),
        "actor": text(), "state": text(), "health": text(),
        "sort": word(&["title", "priority", "complexity", "createdAt", "modifiedAt"]),
        "order": word(&["asc", "desc"]),
        "fields": texts(), "limit": whole(), "maxTokens": whole(), "cursor": text(),
    });
    let about = "Lists. queue: what start hands out, best first. why: what keeps items (id, or all open) from being ready. \
                 tree: beneath id. inbox: what waits for a person. activity, runs (of checks): of id. log: of run id. \
                 estimate: how long such work took. knowledge: by query, or one by id. cut: pass \
                 cursor.";
    schema::tool("find", about, Effect::Reads, properties, &["what"])
}

/// What every list needs.
pub(super) struct Ask<'s> {
    pub(super) session: &'s Session,
    pub(super) project: ProjectRef,
    pub(super) budget: Budget,
    pub(super) cursor: Option<String>,
    pub(super) fields: Vec<&'static str>,
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    let what = fields.need("what", one_of(WHATS))?;
    if what == What::Projects {
        let budget = Budget::read(&mut fields)?;
        let cursor = fields.parsed("cursor", |text| Ok(text.to_owned()))?;
        fields.end()?;
        return projects(session, budget, cursor).await;
    }
    let shown = fields.texts("fields", field)?;
    let ask = Ask {
        session,
        budget: Budget::read(&mut fields)?,
        cursor: fields.parsed("cursor", |text| Ok(text.to_owned()))?,
        fields: shown.unwrap_or_else(|| view::USUAL.to_vec()),
        project: if what.spans_projects(&fields) {
            project_of_item(session, &mut fields).await?
        } else {
            project(session, &mut fields).await?
        },
    };
    match what {
        What::List | What::Search => list(&ask, &mut fields, what == What::Search).await,
        What::Tree => tree(&ask, &mut fields).await,
        What::Queue => queue(&ask, &mut fields).await,
        What::Blocked => blocked(&ask, &mut fields).await,
        What::Why => why(&ask, &mut fields).await,
        What::Overview => {
            fields.end()?;
            overview(&ask).await
        }
        What::Health => {
            fields.end()?;
            health(&ask).await
        }
        What::Inbox => {
            fields.end()?;
            inbox(&ask).await
        }
        What::Activity => activity(&ask, &mut fields).await,
        What::Events => events(&ask, &mut fields).await,
        What::Knowledge => super::learn::find(&ask, &mut fields).await,
        What::Sessions => sessions::list(&ask, &mut fields).await,
        What::Runs => checks::runs(&ask, &mut fields).await,
        What::Log => checks::log(&ask, &mut fields).await,
        What::Estimate => {
            let able = read_names(&mut fields, "capabilities")?;
            let tags = tags(&mut fields)?;
            fields.end()?;
            let estimate = session.engine().estimate(&ask.project, &tags, &able).await?;
            let mut split = Split::default();
            split.say("estimate", estimate);
            Ok(split.answer())
        }
        What::Projects => Ok(Split::default().answer()),
    }
}

impl Ask<'_> {
    /// The keys of items.
    pub(super) async fn keys(&self, items: Vec<&Item>) -> Keys {
        self.session.keys(items.into_iter()).await
    }

    pub(super) fn row(&self, keys: &Keys, item: &Item, now: Timestamp) -> Row {
        let name = keys.of(item).map_or_else(|| item.id.to_string(), |key| key.to_string());
        let mut said = Split::default();
        said.say("key", &name);
        let view = view::item(item, now, &self.fields);
        said.trusted.extend(view.trusted);
        said.untrusted.extend(view.untrusted);
        Row { name, said }
    }

    pub(super) async fn answer<F>(&self, fetch: impl Fn(usize) -> F) -> Result<Answer, Error>
    where
        F: Future<Output = Result<Page, Error>>,
    {
        let mut split = Split::default();
        write(&mut split, fitted(self.budget, fetch).await?);
        Ok(split.answer())
    }

    /// The same for a list that was read whole: its cursor counts rows.
    pub(super) async fn answer_whole(&self, rows: Vec<Row>, total: Option<u64>) -> Result<Answer, Error> {
        let from = match &self.cursor {
            None => 0,
            Some(cursor) => cursor.parse().ok().filter(|from| *from < rows.len()).ok_or_else(|| {
                Error::validation(Reason::BadCursor, "cursor is none that this list ended with").at("cursor")
            })?,
        };
        let page = |limit: usize| {
            let kept: Vec<Row> = rows.iter().skip(from).take(limit).cloned().collect();
            let end = from + kept.len();
            let next = (end < rows.len()).then(|| end.to_string());
            std::future::ready(Ok(Page { rows: kept, next, total }))
        };
        self.answer(page).await
    }
}

/// A field of a row.
fn field(text: &str) -> Result<&'static str, docket_core::Invalid> {
    view::known_fields().find(|known| *known == text).ok_or_else(|| {
        let known: Vec<&str> = view::known_fields().collect();
        let message = format!("must be one of {}, not \"{}\"", known.join(", "), docket_core::echo(text));
        docket_core::Invalid::new(Reason::UnknownValue, message)
    })
}

/// The parent that children are listed of: `""` stands for none, so for the roots.
async fn parent(ask: &Ask<'_>, fields: &mut Fields) -> Result<Option<Option<ItemId>>, Error> {
    match fields.raw_text("parent")? {
        None => Ok(None),
        Some(text) if text.is_empty() => Ok(Some(None)),
        Some(text) => {
            let item = text.parse::<ItemRef>().map_err(|invalid| Error::from(invalid.at("parent")))?;
            let mentioned = std::slice::from_ref(&item);
            let seen = ask.session.engine().show(&ask.project, mentioned, Around::default()).await?;
            Ok(Some(Some(seen.resolve(&item).map_err(|error| error.at("parent"))?.id)))
        }
    }
}

async fn list(ask: &Ask<'_>, fields: &mut Fields, search: bool) -> Result<Answer, Error> {
    let query = fields.text("query")?;
    if search && query.is_none() {
        return Err(fields.missing("query"));
    }
    let words = query.as_deref().map(terms).unwrap_or_default();
    if query.is_some() && words.is_empty() {
        return Err(Error::validation(Reason::BadValue, "query has no word to look for").at("query"));
    }
    let since = fields.parsed("since", moment)?;
    let filter = Filter {
        project: ask.project.clone(),
        parent: parent(ask, fields).await?,
        roles: fields.texts("roles", role)?.unwrap_or_default(),
        status: fields.parsed("status", name)?,
        priority: fields.parsed("priority", str::parse::<Priority>)?,
        tags: tags(fields)?,
        item_type: fields.parsed("type", name)?,
        words,
        modified: TimeRange { after: since, before: None },
        claim: fields.parsed("claim", one_of(CLAIMS))?,
        blocked: fields.flag("blocked")?,
        inbox: fields.flag("attention")?,
        sort: fields.parsed("sort", one_of(SORTS))?.unwrap_or(SortBy::CreatedAt),
        order: fields.parsed("order", one_of(ORDERS))?.unwrap_or(Order::Desc),
        count: true,
        ..Filter::default()
    };
    fields.end()?;
    ask.answer(|limit| {
        let filter = Filter { limit, ..filter.clone() };
        async move {
            let page = ask.session.engine().list(&filter, ask.cursor.as_deref()).await?;
            let keys = ask.session.keys(page.items.iter()).await;
            let rows = page.items.iter().map(|item| ask.row(&keys, item, page.now)).collect();
            Ok(Page { rows, next: page.next, total: Some(page.total) })
        }
    })
    .await
}

async fn tree(ask: &Ask<'_>, fields: &mut Fields) -> Result<Answer, Error> {
    let root = fields.need("id", str::parse::<ItemRef>)?;
    fields.end()?;
    let around = Around { subtree: Some(docket_core::limits::SUBTREE), ..Around::default() };
    let seen = ask.session.engine().show(&ask.project, std::slice::from_ref(&root), around).await?;
    let root = seen.resolve(&root)?;
    let keys = ask.session.keys(seen.items.values()).await;
    let mut beneath: BTreeMap<ItemId, Vec<&Item>> = BTreeMap::new();
    for item in seen.items.values() {
        if let Some(parent) = item.parent {
            beneath.entry(parent).or_default().push(item);
        }
    }
    let mut rows = Vec::new();
    // Depth first, children by number: the order in which people read a tree.
    let mut stack = vec![root];
    while let Some(item) = stack.pop() {
        let mut row = ask.row(&keys, item, seen.now);
        row.said.say("depth", item.depth - root.depth);
        rows.push(row);
        let mut children = beneath.remove(&item.id).unwrap_or_default();
        children.sort_by_key(|child| std::cmp::Reverse((child.position, child.number)));
        stack.extend(children);
    }
    let total = (!seen.subtree.truncated).then_some(rows.len() as u64);
    let mut answer = ask.answer_whole(rows, total).await?;
    if seen.subtree.truncated
        && let Some(trusted) = answer.structured.get_mut("trusted").and_then(Value::as_object_mut)
    {
        // What is shown is not all of it, on whichever page.
        trusted.insert("truncated".to_owned(), Value::Bool(true));
        answer.text = answer.structured.to_string();
    }
    Ok(answer)
}

async fn queue(ask: &Ask<'_>, fields: &mut Fields) -> Result<Answer, Error> {
    let roles = fields.texts("roles", role)?.unwrap_or_default();
    if roles.len() > 1 {
        let message = "roles of a queue is one role at the most: ask for each of them, or list them";
        return Err(Error::validation(Reason::TooMany, message).at("roles"));
    }
    let role = roles.first().copied();
    let claim = fields.parsed("claim", one_of(CLAIMS))?;
    if claim.is_some_and(|claim| claim != ClaimState::Claimed) {
        let message =
            "claim of a queue can only be claimed, which shows what is held beside what is free: list takes the others";
        return Err(Error::validation(Reason::BadValue, message).at("claim"));
    }
    let include_claimed = claim.is_some();
    let able = read_names(fields, "capabilities")?;
    // A role, or what is claimed, is asked for by somebody who looks around; otherwise what `work start` would hand out.
    let looks_around = (role.is_some() || include_claimed) && able.is_empty();
    let query = NextQuery {
        role,
        parent: fields.parsed("parent", str::parse::<ItemRef>)?,
        under: fields.parsed("under", str::parse::<ItemRef>)?,
        tags: tags(fields)?,
        item_type: fields.parsed("type", name)?,
        include_claimed,
        agent: (!looks_around).then(|| ask.session.agent(able.into_iter().collect())),
        ..NextQuery::of(ask.project.clone(), 0)
    };
    fields.end()?;
    ask.answer(|limit| {
        let query = NextQuery { limit, ..query.clone() };
        async move {
            let page = ask.session.engine().next(&query, ask.cursor.as_deref()).await?;
            let keys = ask.keys(page.items.iter().map(|ready| &ready.item).collect()).await;
            let row = |ready: &docket_core::query::Ready| {
                let mut row = ask.row(&keys, &ready.item, page.now);
                row.said.say("claimed", ready.is_claimed.then_some(true));
                row
            };
            Ok(Page { rows: page.items.iter().map(row).collect(), next: page.next, total: None })
        }
    })
    .await
}

async fn blocked(ask: &Ask<'_>, fields: &mut Fields) -> Result<Answer, Error> {
    let parent = fields.parsed("parent", str::parse::<ItemRef>)?;
    fields.end()?;
    let parent = parent.as_ref();
    ask.answer(|limit| async move {
        let page = ask.session.engine().blocked(&ask.project, parent, limit, ask.cursor.as_deref()).await?;
        let all = page.items.iter().flat_map(|held| held.blockers.iter().map(|by| &by.item).chain([&held.item]));
        let keys = ask.keys(all.collect()).await;
        let row = |held: &docket_core::query::BlockedItem| {
            let mut row = ask.row(&keys, &held.item, page.now);
            row.said.say("putAside", held.explicit.then_some(true));
            let open = held.blockers.iter().filter(|by| !by.satisfied);
            let by: Vec<Value> =
                open.map(|by| json!({ "item": keys.of(&by.item), "is": by.item.role, "must": by.threshold })).collect();
            row.said.trusted.remove("blockers");
            row.said.say("blockers", by);
            row
        };
        Ok(Page { rows: page.items.iter().map(row).collect(), next: page.next, total: None })
    })
    .await
}
