//! Lists of items: by what they are, and by words.

use axum::extract::State;
use docket_core::model::{ItemRef, Name, Priority, Role, Slug, Tag, Timestamp};
use docket_core::search::terms;
use docket_core::store::{Around, ClaimState, Filter, Order, ProjectRef, SortBy, TimeRange};
use docket_core::{Error, Reason};
use serde::{Deserialize, Serialize};
use utoipa::openapi::Required;
use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::{IntoParams, ToSchema};

use crate::answer::{self, Answer, ItemOut, ok, page};
use crate::app::Shared;
use crate::extract::Query;
use crate::gate::Caller;
use crate::limits::PAGE_DEFAULT;

/// Which items a list holds.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// In this project; in all where it is not said.
    project: Option<Slug>,
    /// Directly beneath this item; `root`: beneath none.
    #[param(value_type = Option<String>)]
    parent: Option<Beneath>,
    /// At this depth.
    depth: Option<u8>,
    /// In one of these roles, separated by commas.
    #[param(style = Form, explode = false)]
    roles: Vec<Role>,
    /// In this status.
    status: Option<Name>,
    /// Of this priority.
    priority: Option<Priority>,
    /// With one of these tags, separated by commas.
    #[param(style = Form, explode = false)]
    tags: Vec<Tag>,
    /// Of this type.
    item_type: Option<Name>,
    /// Claimed, unclaimed, or under a lease that has run out.
    claim: Option<ClaimState>,
    /// Held up by open blockers, or not.
    blocked: Option<bool>,
    /// With something that waits for a person, or nothing.
    inbox: Option<bool>,
    /// Held by this agent, by a claim that is live.
    held_by: Option<Name>,
    /// Words that title and summary hold.
    #[param(example = "parser")]
    q: Option<String>,
    /// Made later than this.
    created_after: Option<Timestamp>,
    /// Made earlier than this.
    created_before: Option<Timestamp>,
    /// Changed later than this.
    modified_after: Option<Timestamp>,
    /// Changed earlier than this.
    modified_before: Option<Timestamp>,
    /// The order.
    sort: SortBy,
    /// Which way it runs.
    order: Option<Order>,
    /// How many, from 1 to 200; 50 where it is not said.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<i64>,
    /// Where the page begins: what the page before gave as `nextCursor`, with the same filter and order.
    cursor: Option<String>,
}

/// The same of a search, which has words.
struct SearchQuery;

impl IntoParams for SearchQuery {
    fn into_params(parameter_in: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let mut parameters = ListQuery::into_params(parameter_in);
        for words in parameters.iter_mut().filter(|parameter| parameter.name == "q") {
            words.required = Required::True;
        }
        parameters
    }
}

/// What an item lies beneath.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
enum Beneath {
    Nothing,
    Item(ItemRef),
}

impl TryFrom<String> for Beneath {
    type Error = docket_core::Invalid;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text == "root" { Ok(Self::Nothing) } else { text.parse().map(Self::Item) }
    }
}

/// A page of items.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ItemPage {
    /// The items.
    pub(crate) items: Vec<ItemOut>,
    /// How many match in all.
    pub(crate) total: u64,
    /// Where the next page begins; none on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
}

/// List items
///
/// Pages name a place in the order: what is added, closed or removed meanwhile shifts nothing. An item whose place in the
/// order changes, such as one that is edited while pages by `modifiedAt` are read, is met where it is then.
#[utoipa::path(
    get, path = "/items", tag = "items", params(ListQuery),
    responses((status = 200, description = "A page of items", body = ItemPage)),
)]
pub(crate) async fn list(State(shared): answer::State, caller: Caller, Query(query): Query<ListQuery>) -> Answer {
    found(&shared, &caller, query, Order::Asc).await
}

/// Find items by words
///
/// Each word of `q` must begin a word of the title or the summary.
#[utoipa::path(
    get, path = "/search", tag = "items",
    params(SearchQuery),
    responses((status = 200, description = "A page of items", body = ItemPage)),
)]
pub(crate) async fn search(State(shared): answer::State, caller: Caller, Query(query): Query<ListQuery>) -> Answer {
    if query.q.is_none() {
        return Err(Error::validation(Reason::MissingField, "q is required").at("q").into());
    }
    found(&shared, &caller, query, Order::Desc).await
}

async fn found(shared: &Shared, caller: &Caller, query: ListQuery, order: Order) -> Answer {
    let limit = page(query.limit, PAGE_DEFAULT)?;
    let words = match &query.q {
        None => Vec::new(),
        Some(text) => {
            let words = terms(text);
            if words.is_empty() {
                return Err(Error::validation(Reason::Blank, "q has no word in it").at("q").into());
            }
            words
        }
    };
    let parent = match &query.parent {
        None => None,
        Some(Beneath::Nothing) => Some(None),
        Some(Beneath::Item(item)) => {
            let seen = caller.engine.show(&ProjectRef::Any, std::slice::from_ref(item), Around::default()).await?;
            Some(Some(seen.resolve(item).map_err(|error| error.at("parent"))?.id))
        }
    };
    let filter = Filter {
        project: shared.scope(caller, query.project.as_ref()).await?,
        parent,
        depth: query.depth,
        roles: query.roles,
        status: query.status,
        priority: query.priority,
        tags: query.tags,
        item_type: query.item_type,
        words,
        created: TimeRange { after: query.created_after, before: query.created_before },
        modified: TimeRange { after: query.modified_after, before: query.modified_before },
        claim: query.claim,
        blocked: query.blocked,
        inbox: query.inbox,
        held_by: query.held_by.map(|name| caller.call(None).meant(name)),
        sort: query.sort,
        order: query.order.unwrap_or(order),
        limit,
        count: true,
        ..Filter::default()
    };
    let found = caller.engine.list(&filter, query.cursor.as_deref()).await?;
    let items = shared.listed(&caller.engine, found.items).await;
    ok(&ItemPage { items, total: found.total, next_cursor: found.next })
}
