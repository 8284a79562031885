//! How projects stand: roots with how their children stand.

use axum::extract::State;
use docket_core::limits;
use docket_core::model::{Item, ItemRef, Slug};
use docket_core::query::OverviewEntry;
use docket_core::store::{ChildTally, ProjectRef};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::answer::{self, Answer, ItemOut, ok, page};
use crate::app::Shared;
use crate::extract::{ItemPath, Query};
use crate::gate::Caller;
use crate::keys::Keys;
use crate::limits::PAGE_DEFAULT;

/// An item with how its direct children stand.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OverviewEntry)]
pub(crate) struct EntryOut {
    /// The item.
    item: ItemOut,
    /// How its direct children stand.
    tally: ChildTally,
    /// Its direct children with how theirs stand, where that was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    children: Vec<ChildOut>,
    /// Whether there are more children than are shown.
    truncated: bool,
}

/// A child with how its own children stand.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OverviewChild)]
pub(crate) struct ChildOut {
    /// The item.
    item: ItemOut,
    /// How its direct children stand.
    tally: ChildTally,
}

/// Items with how their children stand.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Overview)]
pub(crate) struct OverviewOut {
    /// The items, the newest first.
    entries: Vec<EntryOut>,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct OverviewQuery {
    /// Of this project; of all where it is not said.
    project: Option<Slug>,
    /// Whether direct children are shown.
    children: bool,
    /// How many roots, from 1 to 200; 50 where it is not said.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<i64>,
}

/// Show how projects stand
#[utoipa::path(
    get, path = "/overview", tag = "projects", params(OverviewQuery),
    responses((status = 200, description = "Roots, the newest first", body = OverviewOut)),
)]
pub(crate) async fn overview(
    State(shared): answer::State,
    caller: Caller,
    Query(query): Query<OverviewQuery>,
) -> Answer {
    let limit = page(query.limit, PAGE_DEFAULT)?;
    let project = shared.scope(&caller, query.project.as_ref()).await?;
    let overview = caller.engine.overview(&project, limit, query.children).await?;
    let keys = keys(&shared, &caller, overview.entries.iter()).await;
    ok(&OverviewOut { entries: overview.entries.into_iter().map(|entry| out(entry, &keys)).collect() })
}

/// Show how an item's children stand
#[utoipa::path(
    get, path = "/items/{id}/overview", tag = "items",
    params(("id" = ItemRef, Path, description = "The item")),
    responses((status = 200, description = "The item with its direct children", body = EntryOut)),
)]
pub(crate) async fn of_item(State(shared): answer::State, caller: Caller, ItemPath(item): ItemPath) -> Answer {
    let entry = caller.engine.overview_of(&ProjectRef::Any, &item, limits::PAGE).await?;
    let keys = keys(&shared, &caller, std::iter::once(&entry)).await;
    ok(&out(entry, &keys))
}

async fn keys<'e>(shared: &Shared, caller: &Caller, entries: impl Iterator<Item = &'e OverviewEntry> + Send) -> Keys {
    let items: Vec<&Item> = entries.map(|entry| &entry.item).collect();
    shared.keys(&caller.engine, items.into_iter()).await
}

fn out(entry: OverviewEntry, keys: &Keys) -> EntryOut {
    let child = |(item, tally)| ChildOut { item: ItemOut::listed(item, keys), tally };
    EntryOut {
        item: ItemOut::listed(entry.item, keys),
        tally: entry.tally,
        children: entry.children.into_iter().map(child).collect(),
        truncated: entry.truncated,
    }
}
