//! `docket mcp`: serves one connection over standard input and output.

use std::sync::Arc;

use docket_core::command::SetProject;
use docket_core::model::{Project, Slug};
use docket_core::proof::{ProofVerifier, Unchecked};
use docket_core::store::ProjectRef;
use docket_core::workflow::Workflow;
use docket_core::{Code, Engine, Error, Kind, Reason};
use docket_identity::JwksVerifier;
use docket_mcp_server::{Settings, serve_stdio, surface, surfaces};

use crate::config::Configuration;
use crate::database::{Database, Opening, Place};
use crate::exit::Failure;
use crate::session::{Caller, Shell, apply_rules, make_folder_of, no_project};

/// The project that is made when nobody names one and there is none.
pub(super) const DEFAULT_PROJECT: &str = "default";

const HELP: &str = "\
The database is made when it is missing, and so is its first project, or the one that docket.toml names; \
`docket project set` makes others. Only the protocol is written to standard \
output; the log goes to standard error. Several servers may run on one database at the same time.

Examples:
  docket mcp
  docket mcp --project web --actor subagent:parser-1
  docket --db sqlite:/srv/work.db mcp --surface task-orchestrator";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The set of tools to serve
    #[arg(long, value_name = "NAME", default_value = surfaces()[0])]
    surface: String,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    // A wrong name is told before anything is made.
    let surface = surface(&args.surface)?;
    let config = shell.configuration()?;
    let caller = shell.caller(&config)?;
    let location = shell.location()?;
    if let Place::File(path) = &location.place {
        make_folder_of(path)?;
    }
    let is_new = location.place.is_missing()?;
    let durability = config.durability.unwrap_or_default();
    let database = Database::open(&location.place, Opening { create: true, durability, ..Opening::default() }).await?;
    if is_new {
        crate::output::remark(&format!("docket: made a new database, {}", location.place.shown()));
    }
    let store = database.store();
    let engine = Engine::new(Arc::clone(&store));
    let projects = store.projects().await?;
    let slug = wanted(&projects, shell.named_project()?, &config)?;
    let project = match projects.into_iter().find(|project| project.slug == slug) {
        Some(project) => apply_rules(&engine, &caller, &config, &project).await?,
        None => make_project(&engine, &caller, &config, slug, preset_of(&args.surface)).await?,
    };
    tracing::info!(database = location.place.shown(), project = %project.slug, surface = args.surface, "serving");
    let settings = Settings {
        // The tools are about one project: what another has is not found by its name.
        engine: engine.limited_to(engine.access().narrowed_to(project.id)),
        project: ProjectRef::Id(project.id),
        principal: caller.principal.clone(),
        actor: caller.explicit.then(|| caller.actor.clone()),
        policy: caller.policy,
        verifier: verifier(&config).await?,
        require_actor: config.identity.require_actor.unwrap_or(false),
    };
    let served = serve_stdio(settings, surface).await;
    database.close().await;
    served.map_err(|error| {
        tracing::debug!(error = &error as &dyn std::error::Error, "the connection ended");
        Failure::environment(format!("the connection ended: {error}"))
    })
}

/// How proofs of actors are checked.
pub(super) async fn verifier(config: &Configuration) -> Result<Arc<dyn ProofVerifier>, Failure> {
    let Some(settings) = config.identity.proofs.clone() else { return Ok(Arc::new(Unchecked)) };
    match JwksVerifier::new(settings).await {
        Ok(verifier) => Ok(Arc::new(verifier)),
        Err(error) => Err(Failure::environment(format!("proofs of actors cannot be verified: {error}"))),
    }
}

/// The preset that goes with a surface.
pub(super) fn preset_of(surface: &str) -> &'static str {
    Workflow::PRESETS.into_iter().find(|preset| *preset == surface).unwrap_or(Workflow::PRESETS[0])
}

/// The project to serve: the one named, the one the configuration names, the only one, or a new one.
pub(super) fn wanted(projects: &[Project], named: Option<Slug>, config: &Configuration) -> Result<Slug, Failure> {
    if let Some(slug) = named {
        let known = projects.is_empty() || projects.iter().any(|project| project.slug == slug);
        // A slip of the pen would be an empty project that nobody looks at.
        return if known || config.project.slug.as_ref() == Some(&slug) {
            Ok(slug)
        } else {
            Err(no_project(projects, &slug).into())
        };
    }
    if let Some(slug) = config.project.slug.clone() {
        return Ok(slug);
    }
    match projects {
        [] => Ok(Slug::parse(DEFAULT_PROJECT)?),
        [only] => Ok(only.slug.clone()),
        several => {
            let known: Vec<&str> = several.iter().map(|project| project.slug.as_str()).collect();
            let message = format!("this database has several projects ({}): say which one is meant", known.join(", "));
            Err(Error::new(Kind::Permanent, Code::ProjectRequired, Reason::ProjectRequired, message).into())
        }
    }
}

/// Makes a project with the rules of the configuration, over a preset.
pub(super) async fn make_project(
    engine: &Engine,
    caller: &Caller,
    config: &Configuration,
    slug: Slug,
    preset: &str,
) -> Result<Project, Failure> {
    let meant = config.project.slug.as_ref().is_none_or(|configured| *configured == slug);
    let ours = if meant { config.clone() } else { Configuration::default() };
    let workflow = match ours.workflow(None, preset)? {
        Some(workflow) => workflow,
        None => Workflow::preset(preset)?,
    };
    let set = SetProject {
        slug,
        name: ours.project.name,
        prefix: ours.project.prefix,
        workflow: Some(workflow),
        schemas: ours.schemas,
        // Another server that starts at the same moment may have made it: then it is as good as ours.
        must_be_new: false,
    };
    Ok(engine.run(caller.call(), set).await?.project)
}
