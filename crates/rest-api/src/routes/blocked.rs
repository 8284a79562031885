//! What is held up, and by what.

use axum::extract::State;
use docket_core::model::{ItemRef, Role, Slug};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::answer::{self, Answer, ItemOut, ok, page};
use crate::extract::Query;
use crate::gate::Caller;
use crate::limits::PAGE_DEFAULT;

/// One blocker of an item.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BlockedBy)]
pub(crate) struct BlockedByOut {
    /// The blocker.
    item: ItemOut,
    /// How far it must come.
    threshold: Role,
    /// Whether it has come that far.
    satisfied: bool,
}

/// An item that is held up.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BlockedItem)]
pub(crate) struct BlockedOut {
    /// The item.
    item: ItemOut,
    /// Whether somebody put it aside; otherwise blockers hold it up.
    explicit: bool,
    /// All its blockers, those that hold it up no longer among them.
    blockers: Vec<BlockedByOut>,
    /// Its ancestors, the root first.
    ancestors: Vec<ItemOut>,
}

/// What is held up.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BlockedList {
    /// Items that were put aside, then items that wait for blockers.
    items: Vec<BlockedOut>,
    /// Where the next page begins; none on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct BlockedQuery {
    /// In this project; in all where it is not said.
    project: Option<Slug>,
    /// Directly beneath this item.
    #[param(value_type = Option<String>)]
    parent: Option<ItemRef>,
    /// How many, from 1 to 200; 50 where it is not said.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<i64>,
    /// Where the page begins: what the page before gave as `nextCursor`, with the same filter.
    cursor: Option<String>,
}

/// Show what is held up, and by what
#[utoipa::path(
    get, path = "/blocked", tag = "queue", params(BlockedQuery),
    responses((status = 200, description = "A page of what is held up", body = BlockedList)),
)]
pub(crate) async fn blocked(State(shared): answer::State, caller: Caller, Query(query): Query<BlockedQuery>) -> Answer {
    let project = shared.scope(&caller, query.project.as_ref()).await?;
    let limit = page(query.limit, PAGE_DEFAULT)?;
    let found = caller.engine.blocked(&project, query.parent.as_ref(), limit, query.cursor.as_deref()).await?;
    let shown = found
        .items
        .iter()
        .flat_map(|blocked| std::iter::once(&blocked.item).chain(blocked.blockers.iter().map(|blocker| &blocker.item)));
    let shown: Vec<_> = shown.collect();
    let keys = shared.keys(&caller.engine, shown.into_iter()).await;
    let items = found.items.into_iter().map(|blocked| BlockedOut {
        item: ItemOut::listed(blocked.item, &keys),
        explicit: blocked.explicit,
        blockers: blocked
            .blockers
            .into_iter()
            .map(|blocker| BlockedByOut {
                item: ItemOut::listed(blocker.item, &keys),
                threshold: blocker.threshold,
                satisfied: blocker.satisfied,
            })
            .collect(),
        ancestors: blocked.ancestors.into_iter().map(|item| ItemOut::listed(item, &keys)).collect(),
    });
    ok(&BlockedList { items: items.collect(), next_cursor: found.next })
}
