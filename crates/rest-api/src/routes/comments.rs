//! Comments on an item: not keyed, never changed.

use docket_core::command::{Remark, Remarked};
use docket_core::model::{Comment, Fence, ItemRef, Text};
use docket_core::query::Includes;
use docket_core::store::ProjectRef;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::answer::{Answer, json, ok, page};
use crate::extract::{Idempotency, ItemPath, Json, Query};
use crate::gate::Caller;
use crate::limits::PAGE_DEFAULT;

/// A comment to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = NewComment)]
pub(crate) struct CommentBody {
    /// What it says.
    comment: Text,
    /// The fence of the caller's claim.
    fence: Option<u64>,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct CommentsQuery {
    /// How many, from 1 to 200; 50 where it is not said.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<i64>,
}

/// The newest comments on an item.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Comments {
    /// The comments, the newest first.
    comments: Vec<Comment>,
    /// Whether there are older ones; all of them are among the item's events.
    truncated: bool,
}

/// List the comments on an item
#[utoipa::path(
    get, path = "/items/{id}/comments", tag = "people",
    params(("id" = ItemRef, Path, description = "The item"), CommentsQuery),
    responses((status = 200, description = "The newest first", body = Comments)),
)]
pub(crate) async fn list(caller: Caller, ItemPath(item): ItemPath, Query(query): Query<CommentsQuery>) -> Answer {
    let includes = Includes { comments: Some(page(query.limit, PAGE_DEFAULT)?), ..Includes::default() };
    let comments = caller.engine.dossier(&ProjectRef::Any, &item, includes).await?.comments;
    ok(&Comments { comments: comments.rows, truncated: comments.truncated })
}

/// Comment on an item
#[utoipa::path(
    post, path = "/items/{id}/comments", tag = "people",
    params(("id" = ItemRef, Path, description = "The item")),
    request_body(content = CommentBody, example = json!({"comment": "The grammar changed on Monday."})),
    responses((status = 201, description = "Made", body = Remarked)),
)]
pub(crate) async fn add(
    caller: Caller,
    ItemPath(item): ItemPath,
    Idempotency(request): Idempotency,
    Json(body): Json<CommentBody>,
) -> Answer {
    let remark = Remark {
        project: ProjectRef::Any,
        item,
        comment: Some(body.comment),
        links: Vec::new(),
        fence: body.fence.map(Fence),
    };
    json(StatusCode::CREATED, &caller.engine.run(caller.call(request), remark).await?)
}
