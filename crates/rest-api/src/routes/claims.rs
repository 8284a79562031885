//! Claims on an item: a lease that one agent holds at a time.

use axum::response::IntoResponse;
use docket_core::command::{Claim, ClaimOutcome, ClaimRequest, Held, ReleaseOutcome};
use docket_core::model::{ItemId, ItemRef, Ttl};
use docket_core::store::ProjectRef;
use docket_core::{Error, Reason};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::answer::{Answer, ok};
use crate::extract::{Idempotency, ItemPath, MaybeJson};
use crate::gate::Caller;

/// How an item is claimed.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schema(as = ClaimRequest)]
pub(crate) struct ClaimBody {
    /// How long; the workflow's default where it is not said.
    ttl_seconds: Option<Ttl>,
    /// Whether only work that is ready may be claimed.
    ready_only: bool,
}

/// A claim that the caller holds.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = HeldClaim)]
pub(crate) struct HeldOut {
    /// The claim; later writes may carry its fence.
    #[serde(flatten)]
    held: Held,
    /// Earlier claims that ended because the agent may hold no more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    auto_released: Vec<ItemId>,
}

/// Claim an item, or extend the lease
#[utoipa::path(
    put, path = "/items/{id}/claim", tag = "claims",
    params(("id" = ItemRef, Path, description = "The item")),
    request_body(content = ClaimBody, example = json!({"ttlSeconds": 600})),
    responses((status = 200, description = "The caller holds it", body = HeldOut)),
)]
pub(crate) async fn claim(
    caller: Caller,
    ItemPath(item): ItemPath,
    Idempotency(request): Idempotency,
    MaybeJson(body): MaybeJson<ClaimBody>,
) -> Answer {
    let asked = item.to_string();
    let claim = Claim {
        project: ProjectRef::Any,
        claims: vec![ClaimRequest { item, ttl: body.ttl_seconds }],
        releases: Vec::new(),
        ready_only: body.ready_only,
    };
    let claimed = caller.engine.run(caller.call(request), claim).await?;
    let auto_released = claimed.auto_released;
    let result = claimed.claims.into_iter().next().ok_or_else(|| Error::not_found("nothing was claimed"))?;
    let held = held(&asked, result.item, result.outcome)?;
    ok(&HeldOut { held, auto_released })
}

/// A claim, or the error that tells why there is none.
pub(crate) fn held(asked: &str, item: Option<ItemId>, outcome: ClaimOutcome) -> Result<Held, Error> {
    match (outcome.refusal(asked), outcome) {
        (None, ClaimOutcome::Held(held)) => Ok(*held),
        (Some(error), _) => Err(Error { contended_item: item, ..error }),
        (None, _) => Err(Error::not_found("nothing was claimed")),
    }
}

/// Give a claim up
#[utoipa::path(
    delete, path = "/items/{id}/claim", tag = "claims",
    params(("id" = ItemRef, Path, description = "The item")),
    responses((status = 204, description = "The caller holds it no longer")),
)]
pub(crate) async fn release(caller: Caller, ItemPath(item): ItemPath, Idempotency(request): Idempotency) -> Answer {
    let asked = item.to_string();
    let claim = Claim { project: ProjectRef::Any, claims: Vec::new(), releases: vec![item], ready_only: false };
    let claimed = caller.engine.run(caller.call(request), claim).await?;
    let result = claimed.releases.into_iter().next().ok_or_else(|| Error::not_found("nothing was released"))?;
    released(&asked, result.outcome)?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Nothing, or the error that tells why nothing was released.
pub(crate) fn released(asked: &str, outcome: ReleaseOutcome) -> Result<(), Error> {
    match outcome {
        ReleaseOutcome::Released => Ok(()),
        ReleaseOutcome::NotClaimedByYou => {
            Err(Error::conflict(Reason::NotClaimedByYou, format!("{asked} is not held by you")))
        }
        ReleaseOutcome::NotFound(error) => Err(*error),
    }
}
