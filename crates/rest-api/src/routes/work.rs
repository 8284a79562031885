//! Beginning and ending a piece of work, each in one go.

use docket_core::command::{Begin, Begun, Finish, Finished, Learning};
use docket_core::model::{Fence, ItemRef, Name, Text, Ttl};
use docket_core::store::ProjectRef;
use serde::Deserialize;
use utoipa::ToSchema;

use super::evidence::ProofBody;
use super::links::LinkBody;
use super::transitions::{UserTrigger, target};
use crate::answer::{Answer, ok, with_version, without_proof};
use crate::extract::{Idempotency, ItemPath, MaybeJson};
use crate::gate::Caller;

/// How work on an item is begun.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schema(as = BeginWork)]
pub(crate) struct BeginBody {
    /// How long the lease runs; the workflow's default where it is not said.
    ttl_seconds: Option<Ttl>,
}

/// How a piece of work ends.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = FinishWork)]
pub(crate) struct FinishBody {
    /// The last word.
    comment: Option<Text>,
    /// What shows the work.
    #[serde(default)]
    links: Vec<LinkBody>,
    /// What the agent verified itself.
    #[serde(default)]
    criteria: Vec<ProofBody>,
    /// What was learned by it, at most 20: each becomes an entry of the knowledge.
    #[serde(default)]
    learnings: Vec<Learning>,
    /// What moves it; on to its next phase where neither trigger nor status is said.
    trigger: Option<UserTrigger>,
    /// The status it shall have.
    status: Option<Name>,
    /// The fence of the caller's claim.
    fence: Option<u64>,
    /// Whether it is only said what would happen.
    #[serde(default)]
    preview: bool,
}

/// Begin work on an item
///
/// Claims it and moves it into work, as one step. Notes that must be written first leave it where it is, claimed.
#[utoipa::path(
    post, path = "/items/{id}/begin", tag = "claims",
    params(("id" = ItemRef, Path, description = "The item")),
    request_body(content = BeginBody, example = json!({"ttlSeconds": 900})),
    responses((status = 200, description = "The claim, and how the item was brought into work", body = Begun)),
)]
pub(crate) async fn begin(
    caller: Caller,
    ItemPath(item): ItemPath,
    Idempotency(request): Idempotency,
    MaybeJson(body): MaybeJson<BeginBody>,
) -> Answer {
    let begin = Begin { project: ProjectRef::Any, item, ttl: body.ttl_seconds };
    ok(&caller.engine.run(caller.call(request), begin).await?)
}

/// Finish work on an item
///
/// The last comment, links, evidence and the move: all of it or nothing. With `preview` nothing is done, and the answer says what
/// would keep the item from moving. Where neither trigger nor status is said and the item has checks, it is handed in: it waits in review
/// and closes by itself when they hold (`handedIn`).
#[utoipa::path(
    post, path = "/items/{id}/finish", tag = "claims",
    params(("id" = ItemRef, Path, description = "The item")),
    request_body(content = FinishBody, example = json!({"preview": true, "trigger": "complete", "comment": "All queries are read."})),
    responses((status = 200, description = "What was done, or would be", body = Finished)),
)]
pub(crate) async fn finish(
    caller: Caller,
    ItemPath(item): ItemPath,
    Idempotency(request): Idempotency,
    MaybeJson(body): MaybeJson<FinishBody>,
) -> Answer {
    let said = body.trigger.is_some() || body.status.is_some();
    let finish = Finish {
        project: ProjectRef::Any,
        item,
        comment: body.comment,
        links: body.links.into_iter().map(Into::into).collect(),
        proofs: body.criteria.into_iter().map(Into::into).collect(),
        learnings: body.learnings,
        target: if said { Some(target(body.trigger, body.status)?) } else { None },
        fence: body.fence.map(Fence),
        preview: body.preview,
    };
    let mut finished = caller.engine.run(caller.call(request), finish).await?;
    let version = finished.moved.as_mut().map(|moved| {
        without_proof(&mut moved.by);
        moved.version
    });
    let response = ok(&finished)?;
    Ok(match version.filter(|_| finished.applied) {
        Some(version) => with_version(response, version),
        None => response,
    })
}
