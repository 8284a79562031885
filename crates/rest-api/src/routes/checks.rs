//! The checks of an item: what must be shown before it counts as done, who lets it run, and having it made.

use docket_core::command::{Attest, ChecksSet, NewCheck, SetChecks};
use docket_core::model::{Fence, ItemRef, RequestId, Text, Tree};
use docket_core::prove::Wanted;
use docket_core::query::{ChecksShown, ProvedShown};
use docket_core::store::ProjectRef;
use docket_core::{Error, Reason};
use http::StatusCode;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::answer::{Answer, ok, tagged, with_version};
use crate::extract::{CheckPath, Expected, Idempotency, ItemPath, Json, MaybeJson};
use crate::failure::Failure;
use crate::gate::Caller;

/// Checks as they are wanted.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = ChecksBody)]
pub(crate) struct ChecksBody {
    /// The checks; an item has at most 50.
    checks: Vec<NewCheck>,
    /// The fence of the caller's claim.
    fence: Option<u64>,
}

/// Which checks may run.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schema(as = ChecksApproval)]
pub(crate) struct ApproveBody {
    /// These, by place; all, where none is named.
    only: Vec<usize>,
    /// The version of the item that was read; or say it by If-Match. It has to be said.
    version: Option<u64>,
}

/// A person's word on a check.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = Attestation)]
pub(crate) struct AttestBody {
    /// Whether it holds.
    passed: bool,
    /// What was seen.
    note: Option<Text>,
    /// The git tree that was looked at: the word counts for that one alone. Without one it counts until the check changes.
    #[schema(value_type = Option<String>)]
    tree: Option<Tree>,
}

/// Which checks are made.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schema(as = ChecksWanted)]
pub(crate) struct RunBody {
    /// These, by place; all that can be run, where none is named.
    only: Vec<usize>,
    /// Even where nothing changed since they were last made.
    again: bool,
}

/// Show an item's checks
///
/// Its `ETag` begins with the item's version.
#[utoipa::path(
    get, path = "/items/{id}/checks", tag = "checks",
    params(("id" = ItemRef, Path, description = "The item")),
    responses((status = 200, description = "The checks, and how each stands", body = ChecksShown)),
)]
pub(crate) async fn show(caller: Caller, ItemPath(item): ItemPath) -> Answer {
    let shown = caller.engine.checks_of(&ProjectRef::Any, &item).await?;
    tagged(StatusCode::OK, shown.version, &shown)
}

/// Write an item's checks
///
/// They take the place of those that were there; one that says the same keeps its approval and its result, and an edit voids
/// both. What a person asked for is taken away by a person alone. With `If-Match` only while the item still has that version: 412
/// otherwise.
#[utoipa::path(
    put, path = "/items/{id}/checks", tag = "checks",
    params(
        ("id" = ItemRef, Path, description = "The item"),
        ("If-Match" = Option<String>, Header, description = "An `ETag` of the item"),
    ),
    request_body(content = ChecksBody, example = json!({
        "checks": [{"desc": "The tests pass", "cmd": "cargo test", "timeout": 600}, {"desc": "Ann likes the errors"}],
    })),
    responses((status = 200, description = "The checks as they are now", body = ChecksShown)),
)]
pub(crate) async fn replace(
    caller: Caller,
    ItemPath(item): ItemPath,
    Idempotency(request): Idempotency,
    expected: Expected,
    Json(body): Json<ChecksBody>,
) -> Answer {
    write(&caller, request, item, body, expected, false).await
}

/// Add checks to an item
#[utoipa::path(
    post, path = "/items/{id}/checks", tag = "checks",
    params(
        ("id" = ItemRef, Path, description = "The item"),
        ("If-Match" = Option<String>, Header, description = "An `ETag` of the item"),
    ),
    request_body(content = ChecksBody, example = json!({
        "checks": [{"desc": "It is merged", "type": "pull_request", "repository": "acme/web", "number": 31}],
    })),
    responses((status = 200, description = "The checks as they are now", body = ChecksShown)),
)]
pub(crate) async fn add(
    caller: Caller,
    ItemPath(item): ItemPath,
    Idempotency(request): Idempotency,
    expected: Expected,
    Json(body): Json<ChecksBody>,
) -> Answer {
    write(&caller, request, item, body, expected, true).await
}

/// Let checks run
///
/// Exactly as they are: an edit voids it. It takes an operator who acts as a person, and somebody else than the check's author. What is
/// let run is what was read: say its version by `version` or `If-Match`; without it the answer is 422 (`missing_field`), and 409, or 412
/// with `If-Match`, where the item has changed since.
#[utoipa::path(
    post, path = "/items/{id}/checks/approve", tag = "checks",
    params(
        ("id" = ItemRef, Path, description = "The item"),
        ("If-Match" = Option<String>, Header, description = "An `ETag` of the item"),
    ),
    request_body(content = ApproveBody, example = json!({"only": [0], "version": 2})),
    responses((status = 200, description = "The checks as they are now", body = ChecksShown)),
)]
pub(crate) async fn approve(
    caller: Caller,
    ItemPath(item): ItemPath,
    Idempotency(request): Idempotency,
    expected: Expected,
    MaybeJson(body): MaybeJson<ApproveBody>,
) -> Answer {
    if let (Some(said), Some(header)) = (body.version, expected.0)
        && said != header
    {
        return Err(Error::validation(Reason::BadValue, "version and If-Match differ").at("version").into());
    }
    let read = body.version.or(expected.0);
    done(expected, caller.engine.approve_checks(caller.call(request), ProjectRef::Any, item, body.only, read).await)
}

/// Attest a check
///
/// A person's word on a check that only a person can make. It takes an operator who acts as a person.
#[utoipa::path(
    post, path = "/items/{id}/checks/{index}/attest", tag = "checks",
    params(
        ("id" = ItemRef, Path, description = "The item"),
        ("index" = usize, Path, description = "The check's place among those of the item, counted from 0"),
        ("If-Match" = Option<String>, Header, description = "An `ETag` of the item"),
    ),
    request_body(content = AttestBody, example = json!({"passed": true, "note": "Every error names its line."})),
    responses((status = 200, description = "The checks as they are now", body = ChecksShown)),
)]
pub(crate) async fn attest(
    caller: Caller,
    CheckPath(item, check): CheckPath,
    Idempotency(request): Idempotency,
    expected: Expected,
    Json(body): Json<AttestBody>,
) -> Answer {
    let AttestBody { passed, note, tree } = body;
    let expected_version = expected.0;
    let attest = Attest { project: ProjectRef::Any, item, check, passed, note, tree, expected_version };
    done(expected, caller.engine.run(caller.call(request), attest).await)
}

/// Have checks made
///
/// Commands are run by a runner beside the database, never by this server. What nobody lets run is refused at once
/// (`check_not_approved`). Otherwise the answer comes when the runs have ended, or after 20 seconds with 503: `no_runner` where none
/// has taken them, `still_running` where one is at them; whoever asks again then joins the same runs. A check of which nothing
/// changed since its last run is not made again, unless `again` says so. What they said is at `/runs/{run}/log`.
#[utoipa::path(
    post, path = "/items/{id}/checks/run", tag = "checks",
    params(("id" = ItemRef, Path, description = "The item")),
    request_body(content = RunBody, example = json!({"only": [0], "again": true})),
    responses((status = 200, description = "The runs, and how all checks stand now", body = ProvedShown)),
)]
pub(crate) async fn run(
    caller: Caller,
    ItemPath(item): ItemPath,
    Idempotency(request): Idempotency,
    MaybeJson(body): MaybeJson<RunBody>,
) -> Answer {
    let wanted = Wanted { only: body.only, again: body.again };
    let proved = caller.engine.run_checks(&caller.call(request), &ProjectRef::Any, &item, wanted).await?;
    Ok(with_version(ok(&proved)?, proved.now.version))
}

/// Writes checks, by a person's word where the caller may be one.
async fn write(
    caller: &Caller,
    request: Option<RequestId>,
    item: ItemRef,
    body: ChecksBody,
    expected: Expected,
    add: bool,
) -> Answer {
    let call = caller.call(request);
    let set = SetChecks {
        project: ProjectRef::Any,
        item,
        checks: body.checks,
        add,
        expected_version: expected.0,
        fence: body.fence.map(Fence),
        authority: caller.engine.authority_of(&call),
    };
    done(expected, caller.engine.run(call, set).await)
}

fn done(expected: Expected, ended: Result<ChecksSet, docket_core::Error>) -> Answer {
    let set = ended.map_err(|error| -> Failure { expected.failed(error) })?;
    let shown = ChecksShown::from(set);
    Ok(with_version(ok(&shown)?, shown.version))
}
