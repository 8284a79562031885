//! How long work like this has taken.

use docket_core::model::{Name, Slug, Tag};
use docket_core::query::Estimate;
use docket_core::store::ProjectRef;
use serde::Deserialize;
use utoipa::IntoParams;

use super::projects::{self, Named};
use crate::answer::{Answer, ok};
use crate::extract::{Query, TextPath};
use crate::gate::Caller;

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct EstimateQuery {
    /// Of work with all of these tags, separated by commas.
    #[param(style = Form, explode = false)]
    tags: Vec<Tag>,
    /// Of work that asks for all of these capabilities, separated by commas.
    #[param(style = Form, explode = false)]
    capabilities: Vec<Name>,
}

/// Say how long work has taken
///
/// By what was lately finished in the project: the newest 1,000 moves are looked at.
#[utoipa::path(
    get, path = "/projects/{slug}/estimate", tag = "projects",
    params(("slug" = Slug, Path, description = "The project"), EstimateQuery),
    responses((status = 200, description = "The middle and the slow end, in minutes", body = Estimate)),
)]
pub(crate) async fn show(
    caller: Caller,
    TextPath(Named(slug)): TextPath<Named>,
    Query(query): Query<EstimateQuery>,
) -> Answer {
    let project = ProjectRef::Id(projects::find(&caller, &slug).await?.id);
    ok(&caller.engine.estimate(&project, &query.tags, &query.capabilities).await?)
}
