//! Evidence for acceptance criteria.

use docket_core::command::{Proof, Verified, Verify};
use docket_core::model::{Authority, CriterionId, Fence, ItemRef, Text};
use docket_core::store::ProjectRef;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::answer::{Answer, ok, with_version};
use crate::extract::{Idempotency, ItemPath, Json};
use crate::gate::Caller;

/// What was found of criteria, all of it taken in or none.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = NewEvidence)]
pub(crate) struct EvidenceBody {
    /// Whose word it is; `agent` where it is not said. `human` is a person's sign-off: it takes an operator, and nobody who acts as
    /// an agent. Evidence of a `check` comes from running it.
    #[serde(default)]
    authority: Authority,
    /// What was found, at most 50.
    criteria: Vec<ProofBody>,
    /// The fence of the caller's claim.
    fence: Option<u64>,
}

/// What was found of one criterion.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = Proof)]
pub(crate) struct ProofBody {
    /// The criterion, such as `c1`.
    id: CriterionId,
    /// Whether it holds.
    passed: bool,
    /// What was seen.
    note: Option<Text>,
}

impl From<ProofBody> for Proof {
    fn from(body: ProofBody) -> Self {
        Self { criterion: body.id, passed: body.passed, note: body.note }
    }
}

/// Show that criteria hold, or that they do not
#[utoipa::path(
    post, path = "/items/{id}/evidence", tag = "contract",
    params(("id" = ItemRef, Path, description = "The item")),
    request_body(content = EvidenceBody, example = json!({
        "criteria": [{"id": "c1", "passed": true, "note": "200 of 200 queries were read"}],
    })),
    responses((status = 200, description = "How far the item is shown now", body = Verified)),
)]
pub(crate) async fn add(
    caller: Caller,
    ItemPath(item): ItemPath,
    Idempotency(request): Idempotency,
    Json(body): Json<EvidenceBody>,
) -> Answer {
    let verify = Verify {
        project: ProjectRef::Any,
        item,
        proofs: body.criteria.into_iter().map(Into::into).collect(),
        authority: body.authority,
        fence: body.fence.map(Fence),
    };
    let verified = caller.engine.run(caller.call(request), verify).await?;
    Ok(with_version(ok(&verified)?, verified.version))
}
