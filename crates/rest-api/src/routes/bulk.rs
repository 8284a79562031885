//! Many at once. Where a request says `atomic` one bad entry refuses all; otherwise the good ones are done, and each entry is
//! answered with what was done or with its own error.

use axum::extract::State;
use docket_core::Error;
use docket_core::command::{
    Advance, Applied, Claim, ClaimRequest, Create, Edit, Held, Link, MoveRequest, MoveResult, NewItem, NotePut, Parent,
    PutNotes, Remove, RemovedItem,
};
use docket_core::model::{Fence, ItemId, ItemRef, Name, RequestId, Role, Slug, Text, Ttl};
use docket_core::store::ProjectRef;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::claims::{held, released};
use super::edges::{EdgeBody, Edges, holding};
use super::item::CreatedOut;
use super::item_body::{ListedItemBody, ListedPatchBody, PatchBody};
use super::notes::NoteOut;
use super::transitions::{UserTrigger, target};
use crate::answer::{self, Answer, ItemOut, json, ok, without_proof};
use crate::app::Shared;
use crate::extract::{Idempotency, Json};
use crate::gate::Caller;

/// How one entry of a batch ended.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Each<T> {
    /// It was not done.
    Failed {
        /// Why.
        error: Box<Error>,
    },
    /// It was done.
    Done(T),
}

impl<T> From<Result<T, Error>> for Each<T> {
    fn from(ended: Result<T, Error>) -> Self {
        match ended {
            Ok(done) => Self::Done(done),
            Err(error) => Self::Failed { error: Box::new(error) },
        }
    }
}

/// How every entry ended, in order.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Results<T> {
    /// One for each entry.
    results: Vec<Each<T>>,
}

/// Items to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewItems {
    /// Where they go; may be left out where there is one project.
    project: Option<Slug>,
    /// Whether one bad item refuses all.
    #[serde(default)]
    atomic: bool,
    /// The items, at most 200.
    items: Vec<ListedItemBody>,
}

/// Changes of items.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ItemPatches {
    /// Whether one bad change refuses all.
    #[serde(default)]
    atomic: bool,
    /// The changes, in order, at most 200.
    items: Vec<ListedPatchBody>,
}

/// One change of many items.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SamePatch {
    /// Whether one item that cannot be changed refuses all.
    #[serde(default)]
    atomic: bool,
    /// The items, at most 200.
    ids: Vec<ItemRef>,
    /// What changes of each of them.
    patch: PatchBody,
}

/// Items to be removed.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Removals {
    /// Whether one that cannot be removed refuses all.
    #[serde(default)]
    atomic: bool,
    /// Whether what lies beneath them goes too.
    #[serde(default)]
    recursive: bool,
    /// The items, at most 200.
    items: Vec<ItemRef>,
    /// The fence of the caller's claim on each of them.
    fence: Option<u64>,
}

/// Moves.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Moves {
    /// Whether one refused move refuses all.
    #[serde(default)]
    atomic: bool,
    /// The moves, in order, at most 200; each sees what the ones before it did.
    transitions: Vec<ListedTransition>,
}

/// A move of one item among others: exactly one of `trigger` and `status`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ListedTransition {
    /// The item.
    item: ItemRef,
    /// What moves it along.
    trigger: Option<UserTrigger>,
    /// The status it shall have.
    status: Option<Name>,
    /// A word about it, kept with the event.
    summary: Option<Text>,
    /// The fence of the caller's claim.
    fence: Option<u64>,
    /// The version it must still have.
    expected_version: Option<u64>,
}

/// Claims and releases.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = Claims)]
pub(crate) struct ClaimsBody {
    /// What is to be claimed.
    #[serde(default)]
    claims: Vec<ListedClaim>,
    /// What is to be released.
    #[serde(default)]
    releases: Vec<ItemRef>,
    /// Whether only work that is ready may be claimed.
    #[serde(default)]
    ready_only: bool,
}

/// One item to be claimed.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ListedClaim {
    /// The item.
    item: ItemRef,
    /// How long; the workflow's default where it is not said.
    ttl_seconds: Option<Ttl>,
}

/// How claims and releases ended, each in order.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClaimsOut {
    /// The claims.
    claims: Vec<Each<Held>>,
    /// The releases.
    releases: Vec<Each<ReleasedOut>>,
    /// Earlier claims that ended because the agent may hold no more.
    auto_released: Vec<ItemId>,
}

/// A claim that was given up.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ReleasedOut {
    /// The item as it was spelled.
    asked: String,
    /// The item.
    #[serde(skip_serializing_if = "Option::is_none")]
    released: Option<ItemId>,
}

/// Notes to be written.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewNotes {
    /// Whether one bad note refuses all.
    #[serde(default)]
    atomic: bool,
    /// The notes, at most 200; the last of several with one key wins.
    notes: Vec<ListedNote>,
}

/// One note to be written.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ListedNote {
    /// The item.
    item: ItemRef,
    /// The note's name there.
    key: Name,
    /// The text.
    body: Text,
    /// The phase it belongs to.
    phase: Option<Role>,
    /// The fence of the caller's claim.
    fence: Option<u64>,
}

/// Edges to be made, all or none.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewEdges {
    /// The edges, at most 800.
    edges: Vec<EdgeBody>,
    /// The fence of the caller's claim on `fenceOf`.
    fence: Option<u64>,
    /// The item that the fence belongs to.
    fence_of: Option<ItemRef>,
}

/// Make many items
#[utoipa::path(
    post, path = "/bulk/items", tag = "bulk",
    request_body(content = NewItems, example = json!({"items": [{"title": "One"}, {"title": "Another", "priority": "low"}]})),
    responses((status = 200, description = "One for each item, in order", body = Results<CreatedOut>)),
)]
pub(crate) async fn create(
    State(shared): answer::State,
    caller: Caller,
    Idempotency(request): Idempotency,
    Json(body): Json<NewItems>,
) -> Answer {
    let project = shared.project(&caller, body.project.as_ref()).await?;
    let mut items = Vec::with_capacity(body.items.len());
    for item in &body.items {
        items.push(NewItem { parent: item.parent.clone().map(Parent::Existing), ..item.new_item()? });
    }
    let create = Create {
        project,
        items,
        edges: Vec::new(),
        notes: Vec::new(),
        blank_notes: false,
        room_below: false,
        atomic: body.atomic,
    };
    let created = caller.engine.run(caller.call(request), create).await?;
    let mut results: Vec<Each<CreatedOut>> = Vec::with_capacity(created.items.len());
    for made in created.items {
        results.push(match made {
            Ok(made) => Each::Done(shared.created(&caller, made).await),
            Err(error) => Err(error).into(),
        });
    }
    ok(&Results { results })
}

/// Change many items
#[utoipa::path(
    patch, path = "/bulk/items", tag = "bulk",
    request_body(content = ItemPatches, example = json!({"items": [{"item": "DEFA-2", "priority": "high"}]})),
    responses((status = 200, description = "One for each change, in order", body = Results<ItemOut>)),
)]
pub(crate) async fn change(
    State(shared): answer::State,
    caller: Caller,
    Idempotency(request): Idempotency,
    Json(body): Json<ItemPatches>,
) -> Answer {
    let patches = body
        .items
        .iter()
        .map(|patch| patch.patch(patch.item.clone(), patch.expected_version))
        .collect::<Result<_, _>>();
    edited(&shared, &caller, request, Edit { project: ProjectRef::Any, patches: patches?, atomic: body.atomic }).await
}

/// Change many items in the same way
#[utoipa::path(
    post, path = "/bulk/items/patch", tag = "bulk",
    request_body(content = SamePatch, example = json!({"ids": ["DEFA-2", "DEFA-3"], "patch": {"priority": "low"}})),
    responses((status = 200, description = "One for each item, in order", body = Results<ItemOut>)),
)]
pub(crate) async fn patch(
    State(shared): answer::State,
    caller: Caller,
    Idempotency(request): Idempotency,
    Json(body): Json<SamePatch>,
) -> Answer {
    let patches = body.ids.iter().map(|item| body.patch.patch(item.clone(), None)).collect::<Result<_, _>>()?;
    edited(&shared, &caller, request, Edit { project: ProjectRef::Any, patches, atomic: body.atomic }).await
}

async fn edited(shared: &Shared, caller: &Caller, request: Option<RequestId>, edit: Edit) -> Answer {
    let edited = caller.engine.run(caller.call(request), edit).await?;
    let keys = shared.keys(&caller.engine, edited.items.iter().filter_map(|item| item.as_ref().ok())).await;
    let results = edited.items.into_iter().map(|item| item.map(|item| ItemOut::whole(item, &keys)).into());
    ok(&Results { results: results.collect() })
}

/// Remove many items
#[utoipa::path(
    post, path = "/bulk/items/remove", tag = "bulk",
    request_body(content = Removals, example = json!({"items": ["DEFA-9"], "recursive": true})),
    responses((status = 200, description = "One for each item, in order", body = Results<RemovedItem>)),
)]
pub(crate) async fn remove(caller: Caller, Idempotency(request): Idempotency, Json(body): Json<Removals>) -> Answer {
    let remove = Remove {
        project: ProjectRef::Any,
        items: body.items,
        expected_version: None,
        fence: body.fence.map(Fence),
        recursive: body.recursive,
        atomic: body.atomic,
    };
    let removed = caller.engine.run(caller.call(request), remove).await?;
    ok(&Results { results: removed.items.into_iter().map(Each::from).collect() })
}

/// Move many items
#[utoipa::path(
    post, path = "/bulk/transitions", tag = "bulk",
    request_body(content = Moves, example = json!({"transitions": [{"item": "DEFA-2", "trigger": "start"}]})),
    responses((status = 200, description = "One for each move, in order", body = Results<Applied>)),
)]
pub(crate) async fn advance(caller: Caller, Idempotency(request): Idempotency, Json(body): Json<Moves>) -> Answer {
    let mut moves = Vec::with_capacity(body.transitions.len());
    for (at, wanted) in body.transitions.into_iter().enumerate() {
        moves.push(MoveRequest {
            item: wanted.item,
            target: target(wanted.trigger, wanted.status).map_err(|error| {
                let field = error.field.clone().unwrap_or_default();
                Error { field: Some(format!("transitions[{at}].{field}")), ..error }
            })?,
            summary: wanted.summary,
            by: None,
            fence: wanted.fence.map(Fence),
            expected_version: wanted.expected_version,
        });
    }
    let advance = Advance { project: ProjectRef::Any, moves, atomic: body.atomic };
    let advanced = caller.engine.run(caller.call(request), advance).await?;
    let results = advanced.results.into_iter().map(|result| match result {
        MoveResult::Applied(mut applied) => {
            without_proof(&mut applied.by);
            Each::Done(*applied)
        }
        MoveResult::Refused(refused) => Each::Failed { error: Box::new(refused.error) },
    });
    ok(&Results { results: results.collect() })
}

/// Claim and release many items
#[utoipa::path(
    post, path = "/bulk/claims", tag = "bulk",
    request_body(content = ClaimsBody, example = json!({"claims": [{"item": "DEFA-2", "ttlSeconds": 60}], "releases": ["DEFA-2"]})),
    responses((status = 200, description = "One for each, in order", body = ClaimsOut)),
)]
pub(crate) async fn claim(caller: Caller, Idempotency(request): Idempotency, Json(body): Json<ClaimsBody>) -> Answer {
    let claim = Claim {
        project: ProjectRef::Any,
        claims: body
            .claims
            .into_iter()
            .map(|claim| ClaimRequest { item: claim.item, ttl: claim.ttl_seconds })
            .collect(),
        releases: body.releases,
        ready_only: body.ready_only,
    };
    let claimed = caller.engine.run(caller.call(request), claim).await?;
    let claims = claimed.claims.into_iter().map(|result| held(&result.asked, result.item, result.outcome).into());
    let releases = claimed.releases.into_iter().map(|result| match released(&result.asked, result.outcome) {
        Ok(()) => Ok(ReleasedOut { asked: result.asked, released: result.item }).into(),
        Err(error) => Err(error).into(),
    });
    ok(&ClaimsOut { claims: claims.collect(), releases: releases.collect(), auto_released: claimed.auto_released })
}

/// Write many notes
#[utoipa::path(
    put, path = "/bulk/notes", tag = "bulk",
    request_body(content = NewNotes, example = json!({"notes": [{"item": "DEFA-2", "key": "plan", "body": "First the lexer."}]})),
    responses((status = 200, description = "One for each note, in order", body = Results<NoteOut>)),
)]
pub(crate) async fn put_notes(caller: Caller, Idempotency(request): Idempotency, Json(body): Json<NewNotes>) -> Answer {
    let notes = body.notes.into_iter().map(|note| NotePut {
        item: note.item,
        key: note.key,
        phase: note.phase,
        body: note.body,
        by: None,
        fence: note.fence.map(Fence),
    });
    let put = PutNotes { project: ProjectRef::Any, notes: notes.collect(), atomic: body.atomic };
    let put = caller.engine.run(caller.call(request), put).await?;
    let owed = put.items;
    let results = put.notes.into_iter().map(|note| {
        note.map(|mut note| {
            without_proof(&mut note.by);
            NoteOut { owes: owed.get(&note.item).cloned(), note }
        })
        .into()
    });
    ok(&Results { results: results.collect() })
}

/// Make many edges
#[utoipa::path(
    post, path = "/bulk/edges", tag = "bulk",
    request_body(content = NewEdges, example = json!({"edges": [{"from": "DEFA-2", "to": "DEFA-3", "kind": "relates-to"}]})),
    responses((status = 201, description = "All of them", body = Edges)),
)]
pub(crate) async fn link(caller: Caller, Idempotency(request): Idempotency, Json(body): Json<NewEdges>) -> Answer {
    let holding = holding(body.fence, body.fence_of)?;
    let link = Link { project: ProjectRef::Any, edges: body.edges.into_iter().map(Into::into).collect(), holding };
    let linked = caller.engine.run(caller.call(request), link).await?;
    json(StatusCode::CREATED, &Edges { edges: linked.edges })
}
