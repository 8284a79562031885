//! Edges between items.

use axum::extract::State;
use docket_core::command::{EdgeSpec, Holding, Link, Unlink};
use docket_core::model::{Edge, EdgeId, EdgeKind, Fence, ItemId, ItemRef, Role};
use docket_core::query::Chain;
use docket_core::store::ProjectRef;
use docket_core::{Error, Reason};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::answer::{self, Answer, ItemOut, json, ok};
use crate::extract::{Idempotency, ItemPath, Json, Query, TextPath};
use crate::gate::Caller;

/// An edge to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = NewEdge)]
pub(crate) struct EdgeBody {
    /// Where it begins: the blocker, the replacement, the duplicate.
    from: ItemRef,
    /// Where it ends.
    to: ItemRef,
    /// What it says; `blocks` where it is not said.
    kind: Option<EdgeKind>,
    /// How far the blocker must come; `terminal` where it is not said.
    unblock_at: Option<Role>,
}

impl From<EdgeBody> for EdgeSpec {
    fn from(body: EdgeBody) -> Self {
        Self {
            from: body.from,
            to: body.to,
            kind: body.kind.unwrap_or(EdgeKind::Blocks),
            unblock_at: body.unblock_at,
            inverse: false,
        }
    }
}

/// An edge to be made alone.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AloneEdge {
    /// Where it begins: the blocker, the replacement, the duplicate.
    from: ItemRef,
    /// Where it ends.
    to: ItemRef,
    /// What it says; `blocks` where it is not said.
    kind: Option<EdgeKind>,
    /// How far the blocker must come; `terminal` where it is not said.
    unblock_at: Option<Role>,
    /// The fence of the caller's claim on `fenceOf`.
    fence: Option<u64>,
    /// The item that the fence belongs to.
    fence_of: Option<ItemRef>,
}

/// Edges.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Edges {
    /// The edges.
    pub(crate) edges: Vec<Edge>,
}

/// The edges of an item, with the items at their ends.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EdgesOfItem {
    /// The item.
    item: ItemOut,
    /// Every edge that touches it.
    edges: Vec<Edge>,
    /// The items at their other ends.
    ends: Vec<ItemOut>,
    /// Everything connected by `blocks` edges, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    chain: Option<ChainOut>,
}

/// Everything connected with an item by `blocks` edges.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Chain)]
pub(crate) struct ChainOut {
    /// Blockers before what they block.
    items: Vec<ItemId>,
    /// The number of edges on the longest way through.
    depth: usize,
    /// Whether the walk was cut short.
    truncated: bool,
}

impl From<Chain> for ChainOut {
    fn from(chain: Chain) -> Self {
        Self { items: chain.items, depth: chain.depth, truncated: chain.truncated }
    }
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct EdgesQuery {
    /// Whether everything connected by `blocks` edges is shown too.
    graph: bool,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct BetweenQuery {
    /// Where they begin.
    #[param(value_type = String)]
    from: ItemRef,
    /// Where they end.
    #[param(value_type = String)]
    to: ItemRef,
    /// Of this kind; of any where it is not said.
    kind: Option<EdgeKind>,
    /// The fence of the caller's claim on `fenceOf`.
    fence: Option<u64>,
    /// The item that the fence belongs to.
    #[param(value_type = Option<String>)]
    fence_of: Option<ItemRef>,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct HoldingQuery {
    /// The fence of the caller's claim on `fenceOf`.
    fence: Option<u64>,
    /// The item that the fence belongs to.
    #[param(value_type = Option<String>)]
    fence_of: Option<ItemRef>,
}

/// The item that a caller holds, with its fence. An edge has two ends, so a fence alone would not say whose it is.
pub(crate) fn holding(fence: Option<u64>, item: Option<ItemRef>) -> Result<Option<Holding>, Error> {
    match (fence, item) {
        (None, None) => Ok(None),
        (Some(fence), Some(item)) => Ok(Some(Holding { item, fence: Fence(fence) })),
        (Some(_), None) => {
            Err(Error::validation(Reason::MissingField, "fence needs fenceOf: whose it is").at("fenceOf"))
        }
        (None, Some(_)) => Err(Error::validation(Reason::MissingField, "fenceOf needs fence").at("fence")),
    }
}

/// Show an item's edges
#[utoipa::path(
    get, path = "/items/{id}/edges", tag = "edges",
    params(("id" = ItemRef, Path, description = "The item"), EdgesQuery),
    responses((status = 200, description = "Its edges with the items at their ends", body = EdgesOfItem)),
)]
pub(crate) async fn of_item(
    State(shared): answer::State,
    caller: Caller,
    ItemPath(item): ItemPath,
    Query(query): Query<EdgesQuery>,
) -> Answer {
    let found = caller.engine.dependencies(&ProjectRef::Any, &item, query.graph).await?;
    let keys = shared.keys(&caller.engine, found.ends.values().chain(std::iter::once(&found.item))).await;
    let touched: Vec<ItemId> = found.edges.iter().map(|edge| edge.other(found.item.id)).collect();
    let ends = found.ends.into_values().filter(|end| touched.contains(&end.id));
    ok(&EdgesOfItem {
        ends: ends.map(|end| ItemOut::listed(end, &keys)).collect(),
        item: ItemOut::listed(found.item, &keys),
        edges: found.edges,
        chain: found.chain.map(ChainOut::from),
    })
}

/// Make an edge
///
/// One that could never be finished, because items would wait for each other, is refused.
#[utoipa::path(
    post, path = "/edges", tag = "edges",
    request_body(content = AloneEdge, example = json!({"from": "DEFA-1", "to": "DEFA-3", "unblockAt": "review"})),
    responses((status = 201, description = "Made", body = Edge)),
)]
pub(crate) async fn create(caller: Caller, Idempotency(request): Idempotency, Json(body): Json<AloneEdge>) -> Answer {
    let holding = holding(body.fence, body.fence_of)?;
    let edge = EdgeBody { from: body.from, to: body.to, kind: body.kind, unblock_at: body.unblock_at };
    let link = Link { project: ProjectRef::Any, edges: vec![edge.into()], holding };
    let linked = caller.engine.run(caller.call(request), link).await?;
    let edge = linked.edges.into_iter().next().ok_or_else(|| Error::not_found("nothing was made"))?;
    json(StatusCode::CREATED, &edge)
}

/// Remove the edges between two items
#[utoipa::path(
    delete, path = "/edges", tag = "edges", params(BetweenQuery),
    responses((status = 200, description = "Those that are gone", body = Edges)),
)]
pub(crate) async fn remove_between(
    caller: Caller,
    Idempotency(request): Idempotency,
    Query(query): Query<BetweenQuery>,
) -> Answer {
    let unlink = Unlink::Between {
        project: ProjectRef::Any,
        from: query.from,
        to: query.to,
        kind: query.kind,
        either_way: false,
    };
    let unlink = unlink.held_by(holding(query.fence, query.fence_of)?);
    let unlinked = caller.engine.run(caller.call(request), unlink).await?;
    ok(&Edges { edges: unlinked.edges })
}

/// Remove an edge
#[utoipa::path(
    delete, path = "/edges/{edge}", tag = "edges",
    params(("edge" = EdgeId, Path, description = "The edge"), HoldingQuery),
    responses((status = 200, description = "The edge that is gone", body = Edge)),
)]
pub(crate) async fn remove(
    caller: Caller,
    TextPath(edge): TextPath<EdgeId>,
    Idempotency(request): Idempotency,
    Query(query): Query<HoldingQuery>,
) -> Answer {
    let unlink = Unlink::Edge(edge).held_by(holding(query.fence, query.fence_of)?);
    let unlinked = caller.engine.run(caller.call(request), unlink).await?;
    let gone = unlinked.edges.into_iter().next();
    ok(&gone.ok_or_else(|| Error::not_found(format!("no edge \"{edge}\"")))?)
}
