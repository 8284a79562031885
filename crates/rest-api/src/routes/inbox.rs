//! Everything that waits for a person.

use axum::extract::State;
use docket_core::model::{Slug, Timestamp};
use docket_core::query::Waits;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::answer::{self, Answer, ItemOut, ok, page};
use crate::extract::Query;
use crate::gate::Caller;
use crate::limits::PAGE_DEFAULT;

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct InboxQuery {
    /// In this project; in all where it is not said.
    project: Option<Slug>,
    /// How many, from 1 to 200; 50 where it is not said.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<i64>,
    /// Where the page begins: what the page before gave as `nextCursor`, with the same filter.
    cursor: Option<String>,
}

/// What waits for a person.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Inbox)]
pub(crate) struct InboxOut {
    /// The items, the oldest first.
    items: Vec<WaitingOut>,
    /// How many there are in all.
    total: u64,
    /// Where the next page begins; none on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// An item that waits for a person.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Waiting)]
pub(crate) struct WaitingOut {
    /// The item, without its long texts.
    item: ItemOut,
    /// Why it waits.
    waits: Vec<Waits>,
    /// Since when it has stood where it stands.
    since: Timestamp,
}

/// List what waits for a person
///
/// Open questions, criteria to sign off, reviews and calls for attention.
#[utoipa::path(
    get, path = "/inbox", tag = "people", params(InboxQuery),
    responses((status = 200, description = "The oldest first", body = InboxOut)),
)]
pub(crate) async fn list(State(shared): answer::State, caller: Caller, Query(query): Query<InboxQuery>) -> Answer {
    let limit = page(query.limit, PAGE_DEFAULT)?;
    let project = shared.scope(&caller, query.project.as_ref()).await?;
    let found = caller.engine.inbox(&project, limit, query.cursor.as_deref()).await?;
    let keys = shared.keys(&caller.engine, found.items.iter().map(|waiting| &waiting.item)).await;
    let items = found.items.into_iter().map(|waiting| WaitingOut {
        item: ItemOut::listed(waiting.item, &keys),
        waits: waiting.waits,
        since: waiting.since,
    });
    ok(&InboxOut { items: items.collect(), total: found.total, next_cursor: found.next })
}
