//! Projects and the rules of their items.

use std::sync::Arc;

use axum::extract::State;
use docket_core::Error;
use docket_core::command::{SetProject, SetSettings};
use docket_core::model::{
    Attribution, ItemId, Key, KeyPrefix, Name, Project, ProjectId, Role, Slug, Timestamp, Title, Trigger,
};
use docket_core::query::Stalled;
use docket_core::store::{ClaimTally, ProjectRef};
use docket_core::workflow::{Guide, Schemas, Settings, Workflow};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::answer::{self, Answer, ItemOut, json, ok, page, without_proof};
use crate::app::{Shared, is_meant, no_project};
use crate::extract::{Idempotency, Json, Query, TextPath};
use crate::gate::Caller;
use crate::limits::PAGE_DEFAULT;

/// A project in an address.
#[derive(Debug)]
pub(crate) struct Named(pub(crate) Slug);

impl std::str::FromStr for Named {
    type Err = docket_core::Invalid;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Slug::parse(text).map(Self)
    }
}

/// A new project.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewProject {
    /// Its name in addresses.
    slug: Slug,
    /// Its name for people.
    name: Option<Title>,
    /// The first half of its keys; made from the slug where it is not said.
    prefix: Option<KeyPrefix>,
    /// The workflow to begin with: `standard`, `task-orchestrator`, `foresttasks` or `cairn`.
    preset: Option<String>,
    /// Its workflow, in place of a preset.
    workflow: Option<Workflow>,
    /// What notes its items need.
    schemas: Option<Schemas>,
}

/// What changes of a project.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ProjectPatch {
    /// Its name for people.
    name: Option<Title>,
    /// Its workflow; a project with items keeps its statuses and its ranking.
    workflow: Option<Workflow>,
    /// What notes its items need.
    schemas: Option<Schemas>,
    /// Whether it is put away: what is in it stays to be read, and nothing in it can be changed.
    archived: Option<bool>,
}

/// All projects that the caller sees.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Projects {
    /// The projects, by slug.
    projects: Vec<Project>,
}

/// What is going on in a project.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HealthOut {
    /// Items in work, then in review; of each role the oldest, a page of them at the most.
    active: Vec<ItemOut>,
    /// How many are in work or in review.
    active_total: u64,
    /// Items that were put aside, the oldest, a page of them at the most.
    blocked: Vec<ItemOut>,
    /// How many were put aside.
    blocked_total: u64,
    /// Active items that cannot go on because notes are missing, of those that are listed.
    stalled: Vec<StalledOut>,
    /// How claims stand.
    claims: ClaimTally,
}

/// Work that cannot go on because notes are missing.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StalledOut {
    /// The item.
    item: ItemId,
    /// Its key.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<Key>,
    /// Required notes of its phase that are missing or blank.
    missing: Vec<Name>,
    /// What to write next.
    guide: Guide,
}

/// One move of the past.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MoveOut {
    /// What moved.
    item: ItemId,
    /// From where.
    from: Role,
    /// To where.
    to: Role,
    /// By what.
    trigger: Trigger,
    /// When.
    at: Timestamp,
    /// Who said they moved it.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<Attribution>,
}

/// What happened in a project since somebody last looked.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ActivityOut {
    /// Items in work, then in review.
    active: Vec<ItemOut>,
    /// Active items that cannot go on because notes are missing.
    stalled: Vec<StalledOut>,
    /// Moves, the newest first.
    moves: Vec<MoveOut>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ActivityQuery {
    /// Since when.
    #[param(example = "2026-01-31T12:00:00Z")]
    since: Timestamp,
    /// How many moves, from 1 to 200; 50 where it is not said.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<i64>,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct ProjectsQuery {
    /// Also those that were put away.
    include_archived: bool,
}

/// The project of this slug or id, if the caller sees it.
pub(crate) async fn find(caller: &Caller, slug: &Slug) -> Result<Project, Error> {
    let projects = caller.engine.projects().await?;
    projects.into_iter().find(|project| is_meant(project, slug)).ok_or_else(|| no_project(slug))
}

/// List projects
#[utoipa::path(
    get, path = "/projects", tag = "projects", params(ProjectsQuery),
    responses((status = 200, description = "Those that the caller sees; without those put away, unless they are asked for", body = Projects)),
)]
pub(crate) async fn list(caller: Caller, Query(query): Query<ProjectsQuery>) -> Answer {
    let mut projects = caller.engine.projects().await?;
    projects.retain(|project| query.include_archived || project.archived_at.is_none());
    ok(&Projects { projects })
}

/// Make a project
#[utoipa::path(
    post, path = "/projects", tag = "projects",
    request_body(content = NewProject, example = json!({"slug": "web", "name": "Web shop", "prefix": "WEB"})),
    responses((status = 201, description = "Made", body = Project)),
)]
pub(crate) async fn create(caller: Caller, Idempotency(request): Idempotency, Json(body): Json<NewProject>) -> Answer {
    let workflow = match (body.workflow, &body.preset) {
        (None, None) => None,
        (None, Some(preset)) => Some(Workflow::preset(preset).map_err(|invalid| Error::from(invalid.at("preset")))?),
        (Some(workflow), None) => Some(workflow),
        (Some(_), Some(_)) => {
            let message = "preset goes without workflow: say one of them";
            return Err(Error::validation(docket_core::Reason::BadValue, message).at("preset").into());
        }
    };
    let set = SetProject {
        slug: body.slug,
        name: body.name,
        prefix: body.prefix,
        workflow,
        schemas: body.schemas,
        archived: None,
        must_be_new: true,
    };
    let set = caller.engine.run(caller.call(request), set).await?;
    json(StatusCode::CREATED, &set.project)
}

/// Show a project
#[utoipa::path(
    get, path = "/projects/{slug}", tag = "projects",
    params(("slug" = Slug, Path, description = "The project")),
    responses((status = 200, description = "The project with its rules", body = Project)),
)]
pub(crate) async fn show(caller: Caller, TextPath(Named(slug)): TextPath<Named>) -> Answer {
    ok(&find(&caller, &slug).await?)
}

/// Change a project
#[utoipa::path(
    patch, path = "/projects/{slug}", tag = "projects",
    params(("slug" = Slug, Path, description = "The project")),
    request_body(content = ProjectPatch, example = json!({"name": "The work at hand"})),
    responses((status = 200, description = "The project as it is now", body = Project)),
)]
pub(crate) async fn change(
    caller: Caller,
    TextPath(Named(slug)): TextPath<Named>,
    Idempotency(request): Idempotency,
    Json(body): Json<ProjectPatch>,
) -> Answer {
    let slug = find(&caller, &slug).await?.slug;
    let set = SetProject {
        slug,
        name: body.name,
        prefix: None,
        workflow: body.workflow,
        schemas: body.schemas,
        archived: body.archived,
        must_be_new: false,
    };
    ok(&caller.engine.run(caller.call(request), set).await?.project)
}

/// Show the settings of a project
#[utoipa::path(
    get, path = "/projects/{slug}/settings", tag = "projects",
    params(("slug" = Slug, Path, description = "The project")),
    responses((status = 200, description = "The switches of its workflow", body = Settings)),
)]
pub(crate) async fn settings(caller: Caller, TextPath(Named(slug)): TextPath<Named>) -> Answer {
    ok(&Settings::of(&find(&caller, &slug).await?.workflow))
}

/// Change settings of a project
///
/// What is left out stays as it is. A `docket.toml` whose `[workflow]` is the project's goes before: it is applied again when a server starts with it.
#[utoipa::path(
    patch, path = "/projects/{slug}/settings", tag = "projects",
    params(("slug" = Slug, Path, description = "The project")),
    request_body(content = Settings, example = json!({"claims": {"ttlSeconds": 1800}})),
    responses((status = 200, description = "The switches of its workflow as they are now", body = Settings)),
)]
pub(crate) async fn change_settings(
    caller: Caller,
    TextPath(Named(slug)): TextPath<Named>,
    Idempotency(request): Idempotency,
    Json(settings): Json<Settings>,
) -> Answer {
    let slug = find(&caller, &slug).await?.slug;
    let set = caller.engine.run(caller.call(request), SetSettings { slug, settings }).await?;
    ok(&Settings::of(&set.project.workflow))
}

/// Show a project's workflow
#[utoipa::path(
    get, path = "/projects/{slug}/workflow", tag = "projects",
    params(("slug" = Slug, Path, description = "The project")),
    responses((status = 200, description = "Statuses and switches", body = Workflow)),
)]
pub(crate) async fn workflow(caller: Caller, TextPath(Named(slug)): TextPath<Named>) -> Answer {
    ok(&find(&caller, &slug).await?.workflow)
}

/// Show what is going on in a project
#[utoipa::path(
    get, path = "/projects/{slug}/health", tag = "projects",
    params(("slug" = Slug, Path, description = "The project")),
    responses((status = 200, description = "Active, blocked and stalled work, and how claims stand", body = HealthOut)),
)]
pub(crate) async fn health(
    State(shared): answer::State,
    caller: Caller,
    TextPath(Named(slug)): TextPath<Named>,
) -> Answer {
    let project = ProjectRef::Id(find(&caller, &slug).await?.id);
    let health = caller.engine.health(&project).await?;
    let stalled = stalled(&shared, &caller, health.stalled).await;
    ok(&HealthOut {
        active: shared.listed(&caller.engine, health.active).await,
        active_total: health.active_total,
        blocked: shared.listed(&caller.engine, health.blocked).await,
        blocked_total: health.blocked_total,
        stalled,
        claims: health.claims,
    })
}

/// Show what happened in a project
#[utoipa::path(
    get, path = "/projects/{slug}/activity", tag = "projects",
    params(("slug" = Slug, Path, description = "The project"), ActivityQuery),
    responses((status = 200, description = "Active work, and the moves since then", body = ActivityOut)),
)]
pub(crate) async fn activity(
    State(shared): answer::State,
    caller: Caller,
    TextPath(Named(slug)): TextPath<Named>,
    Query(query): Query<ActivityQuery>,
) -> Answer {
    let limit = page(query.limit, PAGE_DEFAULT)?;
    let project: ProjectId = find(&caller, &slug).await?.id;
    let resume = caller.engine.resume(&ProjectRef::Id(project), query.since, limit).await?;
    let moves = resume.transitions.into_iter().map(|past| {
        let mut by = past.by;
        without_proof(&mut by);
        MoveOut { item: past.item, from: past.from, to: past.to, trigger: past.trigger, at: past.at, by }
    });
    ok(&ActivityOut {
        moves: moves.collect(),
        stalled: stalled(&shared, &caller, resume.stalled).await,
        active: shared.listed(&caller.engine, resume.active).await,
    })
}

async fn stalled(shared: &Arc<Shared>, caller: &Caller, stalled: Vec<Stalled>) -> Vec<StalledOut> {
    let keys = shared.keys(&caller.engine, stalled.iter().map(|stalled| &stalled.item)).await;
    let out = |stalled: Stalled| StalledOut {
        key: keys.of(&stalled.item),
        item: stalled.item.id,
        missing: stalled.missing,
        guide: stalled.guide,
    };
    stalled.into_iter().map(out).collect()
}
