//! Links from an item to things outside: commits, pull requests, documents.

use axum::response::IntoResponse;
use docket_core::command::{NewLink, Remark, Remarked, RemoveLinks};
use docket_core::model::{Fence, ItemRef, Link, LinkId, Name, Title, Url};
use docket_core::query::Includes;
use docket_core::store::ProjectRef;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::notes::FenceQuery;
use crate::answer::{Answer, json, ok};
use crate::extract::{Idempotency, ItemPath, Json, Query, TextPath};
use crate::gate::Caller;

/// Links to be added, all or none.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewLinks {
    /// The links; one that is there already stays as it is. An item has at most 200.
    links: Vec<LinkBody>,
    /// The fence of the caller's claim.
    fence: Option<u64>,
}

/// A link to be added.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = NewLink)]
pub(crate) struct LinkBody {
    /// What sort of thing it leads to, such as `pr`, `commit` or `doc`.
    kind: Name,
    /// What that thing is called where it is: a commit's digest, a number.
    #[serde(rename = "ref")]
    reference: Name,
    /// Where it is.
    url: Url,
    /// What it is called for people.
    title: Option<Title>,
}

impl From<LinkBody> for NewLink {
    fn from(body: LinkBody) -> Self {
        Self { kind: body.kind, reference: body.reference, url: body.url, title: body.title }
    }
}

/// The links of an item.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Links {
    /// The links.
    links: Vec<Link>,
}

/// List an item's links
#[utoipa::path(
    get, path = "/items/{id}/links", tag = "people",
    params(("id" = ItemRef, Path, description = "The item")),
    responses((status = 200, description = "All of them", body = Links)),
)]
pub(crate) async fn list(caller: Caller, ItemPath(item): ItemPath) -> Answer {
    let includes = Includes { links: true, ..Includes::default() };
    let links = caller.engine.dossier(&ProjectRef::Any, &item, includes).await?.links;
    ok(&Links { links })
}

/// Link an item to things outside
#[utoipa::path(
    post, path = "/items/{id}/links", tag = "people",
    params(("id" = ItemRef, Path, description = "The item")),
    request_body(content = NewLinks, example = json!({
        "links": [{"kind": "pr", "ref": "7", "url": "https://example.com/pull/7", "title": "The parser"}],
    })),
    responses((status = 201, description = "Their ids, in order", body = Remarked)),
)]
pub(crate) async fn add(
    caller: Caller,
    ItemPath(item): ItemPath,
    Idempotency(request): Idempotency,
    Json(body): Json<NewLinks>,
) -> Answer {
    let remark = Remark {
        project: ProjectRef::Any,
        item,
        comment: None,
        links: body.links.into_iter().map(Into::into).collect(),
        fence: body.fence.map(Fence),
    };
    json(StatusCode::CREATED, &caller.engine.run(caller.call(request), remark).await?)
}

/// Remove a link
#[utoipa::path(
    delete, path = "/links/{link}", tag = "people",
    params(("link" = LinkId, Path, description = "The link"), FenceQuery),
    responses((status = 204, description = "Gone")),
)]
pub(crate) async fn remove(
    caller: Caller,
    TextPath(link): TextPath<LinkId>,
    Idempotency(request): Idempotency,
    Query(query): Query<FenceQuery>,
) -> Answer {
    let fence = query.fence.map(Fence);
    caller.engine.run(caller.call(request), RemoveLinks { links: vec![link], fence }).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
