//! Ready work: show it, and claim the best of it, at once or when there is some.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::extract::State;
use docket_core::command::{ClaimNext, Held, Started, Wanted};
use docket_core::model::{ItemId, ItemRef, Name, Role, Slug, Tag, Ttl};
use docket_core::query::{Agent, NextQuery, Nothing};
use docket_core::{Error, Reason, limits};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::answer::{self, Answer, ItemOut, ok, page};
use crate::extract::{Idempotency, MaybeJson, Query};
use crate::gate::Caller;
use crate::turn::Turn;

/// How many items the queue shows when nobody says how many.
const SHOWN: usize = 10;

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct QueueQuery {
    /// Of this project; may be left out where there is one.
    project: Option<Slug>,
    /// In this role. Where it is not said: what `POST /queue/claim` would hand out, in that order, which is the queue and work
    /// that was begun and left.
    role: Option<Role>,
    /// What the agent can do, separated by commas: work that needs more is left out, unless a role is named.
    #[param(style = Form, explode = false)]
    capabilities: BTreeSet<Name>,
    /// Directly beneath this item.
    #[param(value_type = Option<String>)]
    parent: Option<ItemRef>,
    /// Anywhere beneath this item.
    #[param(value_type = Option<String>)]
    under: Option<ItemRef>,
    /// With one of these tags, separated by commas.
    #[param(style = Form, explode = false)]
    tags: Vec<Tag>,
    /// Of this type.
    item_type: Option<Name>,
    /// Also what is claimed.
    include_claimed: bool,
    /// How many, from 1 to 200; 10 where it is not said.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<i64>,
    /// Where the page begins: what the page before gave as `nextCursor`, with the same filter.
    cursor: Option<String>,
}

/// Ready work, the best first.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Queue {
    /// The items.
    items: Vec<ReadyOut>,
    /// Where the next page begins; none on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// An item that could be worked on.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ReadyItem)]
pub(crate) struct ReadyOut {
    /// The item.
    item: ItemOut,
    /// Whether somebody is on it.
    is_claimed: bool,
}

/// What work is wanted, and for how long.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct ClaimNextBody {
    /// Of this project; may be left out where there is one.
    project: Option<Slug>,
    /// In this role; where it is not said, in the queue and among work that was begun and left.
    role: Option<Role>,
    /// Directly beneath this item.
    parent: Option<ItemRef>,
    /// Anywhere beneath this item.
    under: Option<ItemRef>,
    /// With one of these tags.
    tags: Vec<Tag>,
    /// Of this type.
    item_type: Option<Name>,
    /// What the agent can do: work that needs more is left to others.
    capabilities: BTreeSet<Name>,
    /// Whether it is moved into work at once.
    start: bool,
    /// Only work that was begun and left: its lease has run out, or it was given back.
    abandoned: bool,
    /// How long; the workflow's default where it is not said.
    ttl_seconds: Option<Ttl>,
    /// How long to wait for work when there is none, at most 60,000.
    #[schema(minimum = 0, maximum = 60000)]
    wait_ms: u64,
}

/// What was found.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Offer)]
pub(crate) struct OfferOut {
    /// The claim, if there was work.
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<Held>,
    /// The item it is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<ItemOut>,
    /// How it was brought into work, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<Started>,
    /// Why there was no work, where there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<Nothing>,
    /// How many ready items were passed over, because they collide with live claims or ask for more.
    passed_over: usize,
    /// Earlier claims that ended because the agent may hold no more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    auto_released: Vec<ItemId>,
}

/// Show ready work
#[utoipa::path(
    get, path = "/queue", tag = "queue", params(QueueQuery),
    responses((status = 200, description = "The best first", body = Queue)),
)]
pub(crate) async fn queue(State(shared): answer::State, caller: Caller, Query(query): Query<QueueQuery>) -> Answer {
    let looks_around = (query.role.is_some() || query.include_claimed) && query.capabilities.is_empty();
    let name = caller.call(None).holder().ok();
    let wanted = NextQuery {
        project: shared.project(&caller, query.project.as_ref()).await?,
        role: query.role,
        parent: query.parent,
        under: query.under,
        tags: query.tags,
        item_type: query.item_type,
        include_claimed: query.include_claimed,
        agent: (!looks_around).then_some(Agent { name, capabilities: query.capabilities }),
        urgent: None,
        limit: page(query.limit, SHOWN)?,
    };
    if let Some(slug) = &query.project {
        shared.scope(&caller, Some(slug)).await?;
    }
    let ready = caller.engine.next(&wanted, query.cursor.as_deref()).await?;
    let keys = shared.keys(&caller.engine, ready.items.iter().map(|ready| &ready.item)).await;
    let items = ready
        .items
        .into_iter()
        .map(|ready| ReadyOut { item: ItemOut::listed(ready.item, &keys), is_claimed: ready.is_claimed });
    ok(&Queue { items: items.collect(), next_cursor: ready.next })
}

/// Claim the best ready work
///
/// Two agents never get the same item. With `start` it is moved into work at once. With `waitMs` the answer comes when there is work, or when the time is over.
#[utoipa::path(
    post, path = "/queue/claim", tag = "queue",
    request_body(content = ClaimNextBody, example = json!({"tags": ["backend"], "ttlSeconds": 900, "waitMs": 1000})),
    responses((status = 200, description = "The claim; nothing where nothing is ready", body = OfferOut)),
)]
pub(crate) async fn claim_next(
    State(shared): answer::State,
    caller: Caller,
    turn: Turn,
    Idempotency(request): Idempotency,
    MaybeJson(body): MaybeJson<ClaimNextBody>,
) -> Answer {
    if body.wait_ms > limits::WAIT_MS {
        let message = format!("waitMs must be at most {}, not {}", limits::WAIT_MS, body.wait_ms);
        return Err(Error::validation(Reason::BadValue, message).at("waitMs").into());
    }
    let patience = Duration::from_millis(body.wait_ms);
    let _waiting = if patience.is_zero() { None } else { Some(turn.wait()?) };
    let place = if patience.is_zero() { None } else { Some(shared.turns.look(patience).await?) };
    let project = shared.project(&caller, body.project.as_ref()).await?;
    let command = ClaimNext {
        project: project.clone(),
        wanted: Wanted {
            role: body.role,
            parent: body.parent,
            under: body.under,
            tags: body.tags,
            item_type: body.item_type,
            capabilities: body.capabilities,
            abandoned: body.abandoned,
            start: body.start,
        },
        ttl: body.ttl_seconds,
    };
    drop(place);
    // Whoever waits when the server stops is told that there is nothing yet, and asks another one.
    let shared = &shared;
    let sleep = move |time: Duration| async move {
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            () = shared.stopped() => {}
        }
    };
    let offer = caller.engine.claim_next_waiting(caller.call(request), command, patience, sleep).await?;
    let outcome = caller.engine.nothing(&project, body.role, &offer).await?;
    let item = match offer.item {
        Some(item) => Some(shared.whole(&caller.engine, *item).await),
        None => None,
    };
    ok(&OfferOut {
        held: offer.held.map(|held| *held),
        item,
        started: offer.started.map(|started| *started),
        outcome,
        passed_over: offer.passed_over,
        auto_released: offer.auto_released,
    })
}
