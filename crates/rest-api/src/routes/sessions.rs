//! Sessions: attempts at items, from their beginning to their end.

use axum::extract::State;
use docket_core::command::{Beat, BeginSession, CancelSession, FinishSession, Heartbeat, SessionBegun, SessionEnded};
use docket_core::model::{Health, ItemRef, Name, Progress, Runtime, SessionId, SessionState, Slug, Text, Ttl};
use docket_core::query::{SessionQuery, SessionView};
use docket_core::store::ProjectRef;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::answer::{self, Answer, json, ok, page, with_version, without_proof};
use crate::extract::{Idempotency, ItemPath, Json, MaybeJson, Query, TextPath};
use crate::gate::Caller;
use crate::limits::PAGE_DEFAULT;

/// How a session is begun.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schema(as = BeginSession)]
pub(crate) struct BeginBody {
    /// Who the caller believes to be; where it is another, nothing is begun.
    expected_actor: Option<Name>,
    /// What runs it: at most 32 names with texts of at most 1,024 bytes, numbers or flags.
    #[schema(value_type = std::collections::BTreeMap<String, serde_json::Value>)]
    runtime: Runtime,
    /// How long the claim lasts; the workflow's default where it is not said.
    ttl_seconds: Option<Ttl>,
}

/// How a session is finished.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = FinishSession)]
pub(crate) struct FinishBody {
    /// What was done, for whoever reviews it.
    summary: Text,
    /// Where the work is: a commit, a branch.
    head: Option<Name>,
}

/// Why a session is given up.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = CancelSession)]
pub(crate) struct CancelBody {
    /// Why.
    reason: Text,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct SessionsQuery {
    /// In this project; in all where it is not said.
    project: Option<Slug>,
    /// On this item.
    item: Option<ItemRef>,
    /// Of this agent.
    actor: Option<Name>,
    /// In this state.
    state: Option<SessionState>,
    /// Of this health. Such a list may have a page that is not full and goes on all the same.
    health: Option<Health>,
    /// How many, from 1 to 200; 50 where it is not said.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<i64>,
    /// Where the page begins: what the page before gave as `nextCursor`.
    cursor: Option<String>,
}

/// Sessions.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Sessions {
    /// The sessions, the newest first.
    sessions: Vec<SessionView>,
    /// Where the next page begins; none on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// Begin a session on an item
///
/// Claims it, moves it into work and notes the attempt, as one step. An item has one session at a time that has not ended.
#[utoipa::path(
    post, path = "/items/{id}/sessions", tag = "sessions",
    params(("id" = ItemRef, Path, description = "The item")),
    request_body(content = BeginBody, example = json!({"runtime": {"model": "small", "attempt": 1}})),
    responses((status = 201, description = "The session, with its claim", body = SessionBegun)),
)]
pub(crate) async fn begin(
    caller: Caller,
    ItemPath(item): ItemPath,
    Idempotency(request): Idempotency,
    MaybeJson(body): MaybeJson<BeginBody>,
) -> Answer {
    let begin = BeginSession {
        project: ProjectRef::Any,
        item,
        expected_actor: body.expected_actor,
        runtime: body.runtime,
        ttl: body.ttl_seconds,
    };
    let made = caller.engine.run(caller.call(request), begin).await?;
    json(StatusCode::CREATED, &made)
}

/// List sessions
///
/// How each fares is derived: `active`, `stalled`, `awaiting_review`, `lost`, `finished` or `cancelled`.
#[utoipa::path(
    get, path = "/sessions", tag = "sessions",
    params(SessionsQuery),
    responses((status = 200, description = "The newest first", body = Sessions)),
)]
pub(crate) async fn list(State(shared): answer::State, caller: Caller, Query(query): Query<SessionsQuery>) -> Answer {
    let wanted = SessionQuery {
        project: shared.scope(&caller, query.project.as_ref()).await?,
        item: query.item,
        actor: query.actor.map(|name| caller.call(None).meant(name)),
        state: query.state,
        health: query.health,
        limit: page(query.limit, PAGE_DEFAULT)?,
    };
    let found = caller.engine.sessions(&wanted, query.cursor.as_deref()).await?;
    ok(&Sessions { sessions: found.sessions, next_cursor: found.next })
}

/// Show a session
#[utoipa::path(
    get, path = "/sessions/{session}", tag = "sessions",
    params(("session" = SessionId, Path, description = "The session")),
    responses((status = 200, description = "The session, and how it fares", body = SessionView)),
)]
pub(crate) async fn show(caller: Caller, TextPath(session): TextPath<SessionId>) -> Answer {
    ok(&caller.engine.session(session).await?)
}

/// Say that a session goes on
///
/// Extends its claim, and says how far it has come. A session whose claim is gone is refused with `claim_lost`.
#[utoipa::path(
    post, path = "/sessions/{session}/heartbeat", tag = "sessions",
    params(("session" = SessionId, Path, description = "The session")),
    request_body(content = Progress, example = json!({"text": "The lexer is done", "percent": 40, "step": "parse"})),
    responses((status = 200, description = "The session, and until when its claim lasts", body = Beat)),
)]
pub(crate) async fn heartbeat(
    caller: Caller,
    TextPath(session): TextPath<SessionId>,
    Idempotency(request): Idempotency,
    MaybeJson(progress): MaybeJson<Progress>,
) -> Answer {
    let beat = Heartbeat { session, progress: Some(progress) };
    ok(&caller.engine.run(caller.call(request), beat).await?)
}

/// Finish a session
///
/// Moves its item into review by the same gates as any move, and releases the claim. It closes nothing.
#[utoipa::path(
    post, path = "/sessions/{session}/finish", tag = "sessions",
    params(("session" = SessionId, Path, description = "The session")),
    request_body(content = FinishBody, example = json!({"summary": "All queries are read by index.", "head": "3f9c1a7"})),
    responses((status = 200, description = "The session, and where its item stands now", body = SessionEnded)),
)]
pub(crate) async fn finish(
    caller: Caller,
    TextPath(session): TextPath<SessionId>,
    Idempotency(request): Idempotency,
    Json(body): Json<FinishBody>,
) -> Answer {
    let finish = FinishSession { session, summary: body.summary, head: body.head };
    let mut ended = caller.engine.run(caller.call(request), finish).await?;
    if let Some(moved) = &mut ended.moved {
        without_proof(&mut moved.by);
    }
    Ok(with_version(ok(&ended)?, ended.version))
}

/// Give a session up
///
/// Ends the session alone: its claim is released, and its item stays where it is.
#[utoipa::path(
    post, path = "/sessions/{session}/cancel", tag = "sessions",
    params(("session" = SessionId, Path, description = "The session")),
    request_body(content = CancelBody, example = json!({"reason": "It needs a database that is not here"})),
    responses((status = 200, description = "The session, and where its item stands", body = SessionEnded)),
)]
pub(crate) async fn cancel(
    caller: Caller,
    TextPath(session): TextPath<SessionId>,
    Idempotency(request): Idempotency,
    Json(body): Json<CancelBody>,
) -> Answer {
    let ended = caller.engine.run(caller.call(request), CancelSession { session, reason: body.reason }).await?;
    Ok(with_version(ok(&ended)?, ended.version))
}
