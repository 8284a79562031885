//! Types of items with the notes they ask for, and the workflows that ship.

use axum::extract::State;
use docket_core::Error;
use docket_core::model::{Name, Project, Slug};
use docket_core::store::ProjectRef;
use docket_core::workflow::{Lifecycle, NoteLimits, NoteRule, Schemas, Trait, Workflow};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

use super::projects;
use super::views::ProjectQuery;
use crate::answer::{self, Answer, ok};
use crate::app::Shared;
use crate::extract::{Query, TextPath};
use crate::gate::Caller;

/// A word in an address.
#[derive(Debug)]
pub(crate) struct Word(String);

impl std::str::FromStr for Word {
    type Err = docket_core::Invalid;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Name::parse(text).map(|name| Self(name.into()))
    }
}

/// What one type of item asks for.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeType {
    /// Its name: what an item says as `itemType`, or has among its tags.
    name: String,
    /// Whether it holds for items that no other type holds for.
    fallback: bool,
    /// What closing its children does to it; the workflow's default where it is silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    lifecycle: Option<Lifecycle>,
    /// Traits every item of the type has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    default_traits: Vec<Name>,
    /// Its notes, in order.
    notes: Vec<NoteRule>,
}

/// The types of a project's items.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeTypes {
    /// The project.
    project: Slug,
    /// Its types.
    types: Vec<NodeType>,
    /// Traits that items can take on beside their type.
    traits: BTreeMap<String, Trait>,
    /// Those that every item has, whatever its type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    default_traits: Vec<Name>,
    /// What happens to a note that is longer than its rule allows.
    note_limits: NoteLimits,
}

/// How items of a type move.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TypeWorkflow {
    /// The project.
    project: Slug,
    /// The type, with the notes it asks for in each phase.
    node_type: NodeType,
    /// Statuses and switches.
    workflow: Workflow,
}

/// The workflows that ship.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Workflows {
    /// The presets, the default first.
    workflows: Vec<Workflow>,
}

/// List the types of items
#[utoipa::path(
    get, path = "/node-types", tag = "types", params(ProjectQuery),
    responses((status = 200, description = "Types and traits with the notes they ask for", body = NodeTypes)),
)]
pub(crate) async fn list(State(shared): answer::State, caller: Caller, Query(query): Query<ProjectQuery>) -> Answer {
    let project = project(&shared, &caller, query.project.as_ref()).await?;
    ok(&NodeTypes {
        types: project.schemas.types.keys().filter_map(|name| node_type(&project.schemas, name)).collect(),
        project: project.slug,
        traits: project.schemas.traits,
        default_traits: project.schemas.default_traits,
        note_limits: project.schemas.note_limits,
    })
}

/// Show a type of items
#[utoipa::path(
    get, path = "/node-types/{name}", tag = "types",
    params(("name" = Name, Path, description = "The type"), ProjectQuery),
    responses((status = 200, description = "The notes it asks for", body = NodeType)),
)]
pub(crate) async fn show(
    State(shared): answer::State,
    caller: Caller,
    TextPath(Word(name)): TextPath<Word>,
    Query(query): Query<ProjectQuery>,
) -> Answer {
    let project = project(&shared, &caller, query.project.as_ref()).await?;
    let found = node_type(&project.schemas, &name);
    ok(&found.ok_or_else(|| no_type(&name))?)
}

/// Show the workflow of a type of items
///
/// The statuses an item goes through, with the notes that each phase asks of this type.
#[utoipa::path(
    get, path = "/node-types/{name}/workflow", tag = "types",
    params(("name" = Name, Path, description = "The type"), ProjectQuery),
    responses((status = 200, description = "The workflow as data, and the type's notes", body = TypeWorkflow)),
)]
pub(crate) async fn workflow(
    State(shared): answer::State,
    caller: Caller,
    TextPath(Word(name)): TextPath<Word>,
    Query(query): Query<ProjectQuery>,
) -> Answer {
    let project = project(&shared, &caller, query.project.as_ref()).await?;
    let found = node_type(&project.schemas, &name).ok_or_else(|| no_type(&name))?;
    ok(&TypeWorkflow { project: project.slug, node_type: found, workflow: project.workflow })
}

/// List the workflows that ship
#[utoipa::path(
    get, path = "/workflows", tag = "types",
    responses((status = 200, description = "The presets, the default first", body = Workflows)),
)]
pub(crate) async fn workflows(_: Caller) -> Answer {
    let workflows = Workflow::PRESETS.iter().map(|name| Workflow::preset(name)).collect::<Result<_, _>>();
    ok(&Workflows { workflows: workflows.map_err(Error::from)? })
}

/// Show a workflow that ships
#[utoipa::path(
    get, path = "/workflows/{name}", tag = "types",
    params(("name" = String, Path, description = "The preset", example = "standard")),
    responses((status = 200, description = "Statuses and switches", body = Workflow)),
)]
pub(crate) async fn preset(_: Caller, TextPath(Word(name)): TextPath<Word>) -> Answer {
    let found = Workflow::PRESETS.contains(&name.as_str()).then(|| Workflow::preset(&name));
    let missing = || Error::not_found(format!("no workflow \"{}\" ships", docket_core::echo(&name)));
    ok(&found.ok_or_else(missing)?.map_err(Error::from)?)
}

/// The project whose types are meant.
async fn project(shared: &Shared, caller: &Caller, named: Option<&Slug>) -> Result<Project, Error> {
    if let Some(slug) = named {
        return projects::find(caller, slug).await;
    }
    let ProjectRef::Id(id) = shared.project(caller, None).await? else {
        return Err(Error::not_found("no such project"));
    };
    let projects = caller.engine.projects().await?;
    projects.into_iter().find(|project| project.id == id).ok_or_else(|| Error::not_found("no such project"))
}

fn no_type(name: &str) -> Error {
    Error::not_found(format!("no type \"{}\" in this project", docket_core::echo(name)))
}

fn node_type(schemas: &Schemas, name: &str) -> Option<NodeType> {
    let schema = schemas.types.get(name)?;
    Some(NodeType {
        name: name.to_owned(),
        fallback: name == Schemas::FALLBACK,
        lifecycle: schema.lifecycle,
        default_traits: schema.default_traits.clone(),
        notes: schema.notes.clone(),
    })
}
