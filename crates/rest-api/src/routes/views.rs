//! What is to be known of an item before it is moved, and of the caller.

use axum::extract::State;
use docket_core::model::{ActorClaim, ItemRef, Name, Role, Slug, Timestamp, Trigger};
use docket_core::query::{Prospect, Why, WhyPage};
use docket_core::readiness::Obstacle;
use docket_core::store::ProjectRef;
use docket_core::workflow::{ExpectedNote, Guide};
use docket_core::{Blocker, limits};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::answer::{self, Answer, ItemOut, ok, page};
use crate::app::Shared;
use crate::extract::{ItemPath, Query};
use crate::gate::Caller;

/// One item with its contract and its claim.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ContextOut {
    /// The item, with who holds it.
    item: ItemOut,
    /// Its ancestors, the root first.
    ancestors: Vec<ItemOut>,
    /// Whether a schema holds for it.
    has_schema: bool,
    /// Every note that its schema knows.
    expected_notes: Vec<ExpectedNote>,
    /// Required notes of the present phase that are missing or blank.
    missing: Vec<Name>,
    /// What to write next.
    guide: Guide,
    /// Whether nothing is missing to leave the present phase.
    can_advance: bool,
    /// The moment all this was so.
    now: Timestamp,
}

/// Where an item stands on its way.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StandingOut {
    /// The item.
    item: ItemOut,
    /// What is to be expected of its next move.
    prospect: ProspectOut,
    /// The trigger of the next move along the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_trigger: Option<Trigger>,
    /// The role it leads to.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_role: Option<Role>,
    /// What holds it up.
    blockers: Vec<Blocker>,
    /// Its place among the phases it goes through, from 1.
    position: u8,
    /// How many phases it goes through.
    phases: u8,
}

/// What is to be expected of an item's next move.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Prospect)]
pub(crate) enum ProspectOut {
    /// It can go on.
    Ready,
    /// Blockers hold it up.
    Waiting,
    /// It was put aside.
    Aside,
    /// It is closed.
    Closed,
}

/// Items with everything that keeps them from being handed out.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reasons {
    /// The items.
    items: Vec<WhyOut>,
    /// Where the next page begins; none on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// One item with everything that keeps it from being handed out.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Why)]
pub(crate) struct WhyOut {
    /// The item.
    item: ItemOut,
    /// What stands in the way; empty when it is ready.
    obstacles: Vec<Obstacle>,
    /// Notes that its next move will owe.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing_notes: Vec<Name>,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct ProjectQuery {
    /// In this project; in all where it is not said.
    pub(crate) project: Option<Slug>,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct WhyQuery {
    /// In this project; in all where it is not said.
    project: Option<Slug>,
    /// How many, from 1 to 200; 200 where it is not said.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<i64>,
    /// Where the page begins: what the page before gave as `nextCursor`.
    cursor: Option<String>,
}

/// Who is calling.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Me {
    /// Who we know is calling.
    principal: Name,
    /// Who is said to act.
    #[serde(skip_serializing_if = "Option::is_none")]
    actor: Option<ActorClaim>,
}

/// Show an item's contract and claim
#[utoipa::path(
    get, path = "/items/{id}/context", tag = "items",
    params(("id" = ItemRef, Path, description = "The item")),
    responses((status = 200, description = "What its phase asks for, and who holds it", body = ContextOut)),
)]
pub(crate) async fn context(State(shared): answer::State, caller: Caller, ItemPath(item): ItemPath) -> Answer {
    let context = caller.engine.context(&ProjectRef::Any, &item).await?;
    let can_advance = context.can_advance();
    let keys = shared.keys(&caller.engine, std::iter::once(&context.item)).await;
    ok(&ContextOut {
        item: ItemOut::whole(context.item, &keys),
        ancestors: context.ancestors.into_iter().map(|item| ItemOut::listed(item, &keys)).collect(),
        has_schema: context.has_schema,
        expected_notes: context.expected_notes,
        missing: context.missing,
        guide: context.guide,
        can_advance,
        now: context.now,
    })
}

/// Show where an item stands on its way
#[utoipa::path(
    get, path = "/items/{id}/standing", tag = "items",
    params(("id" = ItemRef, Path, description = "The item")),
    responses((status = 200, description = "The next move, and what holds it up", body = StandingOut)),
)]
pub(crate) async fn standing(State(shared): answer::State, caller: Caller, ItemPath(item): ItemPath) -> Answer {
    let standing = caller.engine.standing(&ProjectRef::Any, &item).await?;
    let prospect = match standing.prospect() {
        Prospect::Ready(..) => ProspectOut::Ready,
        Prospect::Waiting => ProspectOut::Waiting,
        Prospect::Aside => ProspectOut::Aside,
        Prospect::Closed => ProspectOut::Closed,
    };
    let keys = shared.keys(&caller.engine, std::iter::once(&standing.item)).await;
    ok(&StandingOut {
        item: ItemOut::listed(standing.item, &keys),
        prospect,
        next_trigger: standing.next.map(|(trigger, _)| trigger),
        next_role: standing.next.map(|(_, role)| role),
        blockers: standing.blockers,
        position: standing.position,
        phases: standing.phases,
    })
}

/// Say why an item is not ready
#[utoipa::path(
    get, path = "/items/{id}/why", tag = "queue",
    params(("id" = ItemRef, Path, description = "The item")),
    responses((status = 200, description = "Every reason, with the act that would clear it", body = Reasons)),
)]
pub(crate) async fn why_item(State(shared): answer::State, caller: Caller, ItemPath(item): ItemPath) -> Answer {
    let why = caller.engine.why(&ProjectRef::Any, &item).await?;
    ok(&reasons(&shared, &caller, WhyPage { items: why, next: None }).await)
}

/// Say why nothing is ready
#[utoipa::path(
    get, path = "/why", tag = "queue", params(WhyQuery),
    responses((status = 200, description = "Open items, the oldest first, with every reason", body = Reasons)),
)]
pub(crate) async fn why(State(shared): answer::State, caller: Caller, Query(query): Query<WhyQuery>) -> Answer {
    let project = shared.scope(&caller, query.project.as_ref()).await?;
    let why = caller.engine.why_open(&project, page(query.limit, limits::PAGE)?, query.cursor.as_deref()).await?;
    ok(&reasons(&shared, &caller, why).await)
}

async fn reasons(shared: &Shared, caller: &Caller, page: WhyPage) -> Reasons {
    let keys = shared.keys(&caller.engine, page.items.iter().map(|why| &why.item)).await;
    let out = |why: Why| WhyOut {
        item: ItemOut::listed(why.item, &keys),
        obstacles: why.obstacles,
        missing_notes: why.missing_notes,
    };
    Reasons { items: page.items.into_iter().map(out).collect(), next_cursor: page.next }
}

/// Say who is calling
#[utoipa::path(
    get, path = "/me", tag = "server",
    responses((status = 200, description = "As the server knows the caller", body = Me)),
)]
pub(crate) async fn me(caller: Caller) -> Answer {
    let actor = caller.by.map(|by| ActorClaim { proof: None, ..by.actor });
    ok(&Me { principal: caller.principal, actor })
}
