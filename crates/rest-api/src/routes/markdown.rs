//! Items out of a Markdown text.

use docket_core::command::{ImportMarkdown, MarkdownImported};
use docket_core::model::{ItemRef, Name, Slug, Text};
use docket_core::store::ProjectRef;
use http::StatusCode;
use serde::Deserialize;
use utoipa::ToSchema;

use super::projects::{self, Named};
use crate::answer::{Answer, json};
use crate::extract::{Idempotency, Json, TextPath};
use crate::gate::Caller;

/// A text whose headings and list items become items.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = MarkdownImport)]
pub(crate) struct MarkdownBody {
    /// The text.
    markdown: Text,
    /// What the outermost items lie beneath.
    parent: Option<ItemRef>,
    /// The status of what is not done; the workflow's initial one where it is not said.
    status: Option<Name>,
    /// Whether it is only said what would be made.
    #[serde(default)]
    preview: bool,
}

/// Make items of a Markdown text
///
/// Headings and nested lists become trees, ticked boxes become closed items. All of it or nothing: what cannot be read is told with
/// its line. With `preview` nothing is made.
#[utoipa::path(
    post, path = "/projects/{slug}/import-markdown", tag = "projects",
    params(("slug" = Slug, Path, description = "The project")),
    request_body(content = MarkdownBody, example = json!({"markdown": "- [ ] Compiler\n  - [ ] Lexer\n  - [ ] Parser\n", "preview": true})),
    responses(
        (status = 200, description = "What would be made", body = MarkdownImported),
        (status = 201, description = "What was made", body = MarkdownImported),
    ),
)]
pub(crate) async fn import(
    caller: Caller,
    TextPath(Named(slug)): TextPath<Named>,
    Idempotency(request): Idempotency,
    Json(body): Json<MarkdownBody>,
) -> Answer {
    let import = ImportMarkdown {
        project: ProjectRef::Id(projects::find(&caller, &slug).await?.id),
        markdown: body.markdown,
        parent: body.parent,
        status: body.status,
        preview: body.preview,
    };
    let imported = caller.engine.run(caller.call(request), import).await?;
    json(if imported.applied { StatusCode::CREATED } else { StatusCode::OK }, &imported)
}
