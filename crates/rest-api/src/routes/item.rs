//! One item: make, show, change, remove.

use axum::extract::State;
use axum::response::IntoResponse;
use docket_core::Error;
use docket_core::command::{Create, CreatedItem, Edit, NewItem, Parent, Remove, RemovedItem};
use docket_core::model::{Fence, ItemRef};
use docket_core::store::{Around, ProjectRef};
use docket_core::workflow::ExpectedNote;
use http::header::LOCATION;
use http::{HeaderValue, StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::item_body::{NewItemBody, PatchBody};
use crate::answer::{self, Answer, ItemOut, Tagged, ok, tagged};
use crate::app::Shared;
use crate::extract::{Expected, Idempotency, ItemPath, Json, Query, Unchanged};
use crate::failure::Failure;
use crate::gate::Caller;
use crate::kept::Question;

/// An item that was made.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CreatedItem)]
pub(crate) struct CreatedOut {
    /// Its name in the request.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    local: Option<String>,
    /// The item.
    #[schema(value_type = ItemOut)]
    item: ItemOut,
    /// Whether a schema holds for it.
    schema_match: bool,
    /// The notes that its schema knows.
    expected_notes: Vec<ExpectedNote>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct RemoveQuery {
    /// Whether what lies beneath goes too.
    #[serde(default)]
    recursive: bool,
    /// The fence of the caller's claim.
    fence: Option<u64>,
}

impl Shared {
    /// An item that was made.
    pub(crate) async fn created(&self, caller: &Caller, made: CreatedItem) -> CreatedOut {
        CreatedOut {
            local: made.local,
            item: self.whole(&caller.engine, made.item).await,
            schema_match: made.schema_match,
            expected_notes: made.expected_notes,
        }
    }
}

/// Make an item
#[utoipa::path(
    post, path = "/items", tag = "items",
    request_body(content = NewItemBody, example = json!({"title": "Write the parser", "priority": "high", "tags": ["backend"]})),
    responses((status = 201, description = "Made; `Location` is its address", body = CreatedOut)),
)]
pub(crate) async fn create(
    State(shared): answer::State,
    caller: Caller,
    Idempotency(request): Idempotency,
    Json(body): Json<NewItemBody>,
) -> Answer {
    let project = shared.project(&caller, body.project.as_ref()).await?;
    let item = NewItem { parent: body.parent.clone().map(Parent::Existing), ..body.new_item()? };
    let create = Create {
        project,
        items: vec![item],
        edges: Vec::new(),
        notes: Vec::new(),
        blank_notes: false,
        room_below: false,
        atomic: true,
    };
    let created = caller.engine.run(caller.call(request), create).await?;
    let made = created.items.into_iter().next().ok_or_else(|| Error::not_found("nothing was made"))??;
    let (id, version) = (made.item.id, made.item.version);
    let mut response = tagged(StatusCode::CREATED, version, &shared.created(&caller, made).await)?;
    if let Ok(place) = HeaderValue::from_str(&format!("{}/items/{id}", super::BASE)) {
        response.headers_mut().insert(LOCATION, place);
    }
    Ok(response)
}

/// Show an item
///
/// Its `ETag` begins with its version; `If-None-Match` answers 304 while nothing of it has changed.
#[utoipa::path(
    get, path = "/items/{id}", tag = "items",
    params(
        ("id" = docket_core::model::ItemRef, Path, description = "The item"),
        ("If-None-Match" = Option<String>, Header, description = "An `ETag` of the item"),
    ),
    responses((status = 200, description = "The item, with who holds it", body = ItemOut), (status = 304, description = "Unchanged")),
)]
pub(crate) async fn show(
    State(shared): answer::State,
    caller: Caller,
    ItemPath(item): ItemPath,
    unchanged: Unchanged,
) -> Answer {
    let shown = shown(&shared, &caller, item).await?;
    if unchanged.has(&shown.tag) {
        return Ok((StatusCode::NOT_MODIFIED, [(http::header::ETAG, shown.tag)]).into_response());
    }
    Ok(shown.answer(StatusCode::OK))
}

/// An item as it is shown: as it was the last time, where nothing was committed since.
async fn shown(shared: &Shared, caller: &Caller, item: ItemRef) -> Result<Tagged, Failure> {
    // Before the item is read: what is committed after it is another mark.
    let mark = caller.engine.commit_mark();
    let question = Question { visible: caller.engine.access().projects.clone(), item };
    if let Some(kept) = mark.and_then(|mark| shared.kept.find(mark, &question)) {
        return Ok(kept);
    }
    let seen = caller.engine.show(&ProjectRef::Any, std::slice::from_ref(&question.item), Around::default()).await?;
    let item = seen.resolve(&question.item)?.clone();
    let version = item.version;
    let out = shared.whole(&caller.engine, item).await;
    let shown = Tagged::of(version, &out)?;
    if let Some(mark) = mark.filter(|_| out.is_named()) {
        shared.kept.keep(mark, question, &shown);
    }
    Ok(shown)
}

/// Change an item
///
/// With `If-Match` only while it still has that version: 412 otherwise.
#[utoipa::path(
    patch, path = "/items/{id}", tag = "items",
    params(
        ("id" = docket_core::model::ItemRef, Path, description = "The item"),
        ("If-Match" = Option<String>, Header, description = "An `ETag` of the item"),
    ),
    request_body(content = PatchBody, example = json!({"summary": "Reads what the lexer gives", "complexity": 3})),
    responses((status = 200, description = "The item as it is now, without its long texts", body = ItemOut)),
)]
pub(crate) async fn change(
    State(shared): answer::State,
    caller: Caller,
    ItemPath(item): ItemPath,
    Idempotency(request): Idempotency,
    expected: Expected,
    Json(body): Json<PatchBody>,
) -> Answer {
    let edit = Edit { project: ProjectRef::Any, patches: vec![body.patch(item, expected.0)?], atomic: true };
    let edited = caller.engine.run(caller.call(request), edit).await.map_err(|error| expected.failed(error))?;
    let item = edited.items.into_iter().next().ok_or_else(|| Error::not_found("nothing was changed"))??;
    let version = item.version;
    tagged(StatusCode::OK, version, &shared.whole(&caller.engine, item).await)
}

/// Remove an item
#[utoipa::path(
    delete, path = "/items/{id}", tag = "items",
    params(
        ("id" = docket_core::model::ItemRef, Path, description = "The item"),
        ("If-Match" = Option<String>, Header, description = "An `ETag` of the item"),
        RemoveQuery,
    ),
    responses((status = 200, description = "What went", body = RemovedItem)),
)]
pub(crate) async fn remove(
    caller: Caller,
    ItemPath(item): ItemPath,
    Idempotency(request): Idempotency,
    expected: Expected,
    Query(query): Query<RemoveQuery>,
) -> Answer {
    let remove = Remove {
        project: ProjectRef::Any,
        items: vec![item],
        expected_version: expected.0,
        fence: query.fence.map(Fence),
        recursive: query.recursive,
        atomic: true,
    };
    let removed = caller.engine.run(caller.call(request), remove).await.map_err(|error| expected.failed(error))?;
    let removed = removed.items.into_iter().next().ok_or_else(|| Error::not_found("nothing was removed"))??;
    ok(&removed)
}
