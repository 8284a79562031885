//! The work contract of an item, and how far it is shown.

use docket_core::command::{BriefSet, BriefText, Change, NewCriterion, SetBrief};
use docket_core::contract::Verdict;
use docket_core::model::{Authority, Brief, Fence, ItemRef, RequestId, Text};
use docket_core::query::{Dossier, Includes};
use docket_core::store::ProjectRef;
use http::StatusCode;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::answer::{Answer, ok, tagged, with_version};
use crate::extract::{Expected, Idempotency, ItemPath, Json};
use crate::failure::Failure;
use crate::gate::Caller;

/// What is written of a brief. A criterion may be its text alone; one that is there keeps its name and its evidence: it is known
/// by its id, or by saying the same.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = BriefBody)]
pub(crate) struct BriefBody {
    /// The goal, in a sentence.
    #[serde(default)]
    #[schema(value_type = Option<Text>)]
    objective: Change<Text>,
    /// What one must know: background, places, paths.
    #[serde(default)]
    #[schema(value_type = Option<Text>)]
    context: Change<Text>,
    /// Done is when each of these is true; at most 50.
    #[serde(default)]
    #[schema(value_type = Option<Vec<NewCriterion>>)]
    acceptance_criteria: Change<Vec<NewCriterion>>,
    /// What must or must never be; at most 50.
    #[serde(default)]
    #[schema(value_type = Option<Vec<Text>>)]
    constraints: Change<Vec<Text>>,
    /// How to prove that it works.
    #[serde(default)]
    #[schema(value_type = Option<Text>)]
    verification: Change<Text>,
    /// What to leave for review.
    #[serde(default)]
    #[schema(value_type = Option<Text>)]
    handoff_expectations: Change<Text>,
    /// The fence of the caller's claim.
    fence: Option<u64>,
}

/// Show an item's brief
///
/// Its `ETag` begins with the item's version.
#[utoipa::path(
    get, path = "/items/{id}/brief", tag = "contract",
    params(("id" = ItemRef, Path, description = "The item")),
    responses((status = 200, description = "The brief, how complete it is, and how far it is shown", body = BriefSet)),
)]
pub(crate) async fn show(caller: Caller, ItemPath(item): ItemPath) -> Answer {
    let Dossier { item, brief, score, verdict, .. } = dossier(&caller, &item).await?;
    let brief: Brief = brief.unwrap_or_default();
    let shown = BriefSet { item: item.id, brief, score, verdict, version: item.version };
    tagged(StatusCode::OK, item.version, &shown)
}

/// Write an item's brief
///
/// It takes the place of what was there. With `If-Match` only while the item still has that version: 412 otherwise.
#[utoipa::path(
    put, path = "/items/{id}/brief", tag = "contract",
    params(
        ("id" = ItemRef, Path, description = "The item"),
        ("If-Match" = Option<String>, Header, description = "An `ETag` of the item"),
    ),
    request_body(content = BriefBody, example = json!({
        "objective": "Queries are read into a tree",
        "acceptanceCriteria": ["Every query of the sample file is read", {"text": "Ann likes the errors", "verifier": "human"}],
    })),
    responses((status = 200, description = "The brief as it is now", body = BriefSet)),
)]
pub(crate) async fn replace(
    caller: Caller,
    ItemPath(item): ItemPath,
    Idempotency(request): Idempotency,
    expected: Expected,
    Json(body): Json<BriefBody>,
) -> Answer {
    let fence = body.fence;
    write(&caller, request, set(item, body.into(), true, expected, fence)).await
}

/// Change sections of an item's brief
///
/// What is not said stays; null empties a section. A list of criteria is written whole: those that are to stay are said again.
#[utoipa::path(
    patch, path = "/items/{id}/brief", tag = "contract",
    params(
        ("id" = ItemRef, Path, description = "The item"),
        ("If-Match" = Option<String>, Header, description = "An `ETag` of the item"),
    ),
    request_body(content = BriefBody, example = json!({"context": "The grammar is in grammar.md", "verification": null})),
    responses((status = 200, description = "The brief as it is now", body = BriefSet)),
)]
pub(crate) async fn merge(
    caller: Caller,
    ItemPath(item): ItemPath,
    Idempotency(request): Idempotency,
    expected: Expected,
    Json(body): Json<BriefBody>,
) -> Answer {
    let fence = body.fence;
    write(&caller, request, set(item, body.into(), false, expected, fence)).await
}

/// Clear an item's brief
#[utoipa::path(
    delete, path = "/items/{id}/brief", tag = "contract",
    params(
        ("id" = ItemRef, Path, description = "The item"),
        ("If-Match" = Option<String>, Header, description = "An `ETag` of the item"),
    ),
    responses((status = 200, description = "The brief, which is empty now", body = BriefSet)),
)]
pub(crate) async fn clear(
    caller: Caller,
    ItemPath(item): ItemPath,
    Idempotency(request): Idempotency,
    expected: Expected,
) -> Answer {
    write(&caller, request, set(item, BriefText::default(), true, expected, None)).await
}

/// Say how far an item is shown
#[utoipa::path(
    get, path = "/items/{id}/verdict", tag = "contract",
    params(("id" = ItemRef, Path, description = "The item")),
    responses((status = 200, description = "In sum, and for each criterion", body = Verdict)),
)]
pub(crate) async fn verdict(caller: Caller, ItemPath(item): ItemPath) -> Answer {
    let dossier = dossier(&caller, &item).await?;
    Ok(with_version(ok(&dossier.verdict)?, dossier.item.version))
}

async fn dossier(caller: &Caller, item: &ItemRef) -> Result<Dossier, docket_core::Error> {
    caller.engine.dossier(&ProjectRef::Any, item, Includes::default()).await
}

fn set(item: ItemRef, brief: BriefText, replace: bool, expected: Expected, fence: Option<u64>) -> SetBrief {
    SetBrief {
        project: ProjectRef::Any,
        item,
        brief,
        replace,
        expected_version: expected.0,
        fence: fence.map(Fence),
        authority: Authority::Agent,
    }
}

/// Writes a brief, by a person's word where the caller may be one.
async fn write(caller: &Caller, request: Option<RequestId>, set: SetBrief) -> Answer {
    let call = caller.call(request);
    let expected = Expected(set.expected_version);
    let set = SetBrief { authority: caller.engine.authority_of(&call), ..set };
    done(expected, caller.engine.run(call, set).await)
}

fn done(expected: Expected, ended: Result<BriefSet, docket_core::Error>) -> Answer {
    let set: BriefSet = ended.map_err(|error| -> Failure { expected.failed(error) })?;
    Ok(with_version(ok(&set)?, set.version))
}

impl From<BriefBody> for BriefText {
    fn from(body: BriefBody) -> Self {
        Self {
            objective: body.objective,
            context: body.context,
            acceptance_criteria: body.acceptance_criteria,
            constraints: body.constraints,
            verification: body.verification,
            handoff_expectations: body.handoff_expectations,
        }
    }
}
