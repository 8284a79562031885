//! `docket mcp`: serves one connection over standard input and output.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use docket_core::access::{Access, Profile};
use docket_core::command::SetProject;
use docket_core::model::{ActorKind, Project, Slug, Verb};
use docket_core::proof::{ProofVerifier, Unchecked};
use docket_core::query::thought_of;
use docket_core::store::{EventFilter, ProjectRef};
use docket_core::workflow::Workflow;
use docket_core::{Code, Engine, Error, Invalid, Kind, Reason};
use docket_identity::JwksVerifier;
use docket_mcp_server::{Settings, names_projects, serve_stdio, surface, surfaces};
use tokio::task::JoinSet;

use crate::config::Configuration;
use crate::database::{Database, Opening, Place};
use crate::embedding;
use crate::exit::Failure;
use crate::session::{Caller, Shell, apply_rules, make_folder_of, no_project};

/// The project that is made when nobody names one and there is none.
pub(super) const DEFAULT_PROJECT: &str = "default";

/// How long it waits when the database turns it away.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// How long to leave the events alone after a look at them: where many write, each process would ask at every commit.
const BREATH: Duration = Duration::from_millis(300);

const HELP: &str = "\
The database is made when it is missing, and so is its first project, or the one that docket.toml names; \
`docket project set` makes others. Only the protocol is written to standard \
output; the log goes to standard error. Several servers may run on one database at the same time.

Examples:
  docket mcp
  docket mcp --project web --actor subagent:parser-1 --profile worker
  docket --db sqlite:/srv/work.db mcp --surface task-orchestrator";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The set of tools to serve
    #[arg(long, value_name = "NAME", default_value = surfaces()[0])]
    surface: String,
    /// How much the connection may do: viewer, planner, worker, operator or maintainer [default: maintainer; on the surface docket
    /// operator, where --actor is an agent]
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    // A wrong name is told before anything is made.
    let surface = surface(&args.surface)?;
    let asked = args.profile.as_deref().map(str::parse::<Profile>).transpose();
    let asked = asked.map_err(|invalid: Invalid| invalid.at("--profile"))?;
    let config = shell.configuration()?;
    let caller = shell.caller(&config)?;
    let location = shell.location()?;
    // So are keys that cannot be had: a database that nobody can use would stay behind.
    let verifier = verifier(&config).await?;
    let database = open_or_make(&config, &location.place).await?;
    let store = database.store();
    let runs = crate::prover::here(&config, &shell.around.cwd, &location.place, false)?;
    let engine = embedding::equipped(&Engine::new(Arc::clone(&store)), &config)?.running(runs);
    let background = embedding::start(&engine);
    let projects = store.projects().await?;
    let named = shell.named_project()?;
    // Tools that name projects themselves are about all of them, unless somebody chose one.
    let is_native = args.surface == surfaces()[0];
    let spans = names_projects(&args.surface) && named.is_none() && config.project.slug.is_none();
    let project = if spans && thought_of(&projects).len() > 1 {
        None
    } else {
        let slug = wanted(&projects, named, &config)?;
        Some(match projects.into_iter().find(|project| project.slug == slug) {
            Some(project) => apply_rules(&engine, &caller, &config, &project).await?,
            None => make_project(&engine, &caller, &config, slug, preset_of(&args.surface)).await?,
        })
    };
    if let Some(project) = &project {
        tell_other_rules(&args.surface, project);
    }
    let slug = project.as_ref().map(|project| project.slug.as_str()).unwrap_or_default();
    tracing::info!(database = location.place.shown(), project = slug, surface = args.surface, "serving");
    // What another project has is not found by its name, where the tools are about one.
    let engine = match &project {
        Some(project) if !spans => engine.limited_to(engine.access().narrowed_to(project.id)),
        Some(_) | None => engine,
    };
    let profile = asked.unwrap_or_else(|| profile_of(&caller, is_native));
    let settings = Settings {
        // This program itself goes on as whoever started it: it makes checks, whatever its caller may do.
        engine: engine.limited_to(Access { profile, ..engine.access().clone() }),
        // Who speaks the native tools and names none means the project that was there at first.
        project: project
            .as_ref()
            .filter(|_| !spans || is_native)
            .map_or(ProjectRef::Any, |project| ProjectRef::Id(project.id)),
        principal: caller.principal.clone(),
        actor: caller.explicit.then(|| caller.actor.clone()),
        policy: caller.policy,
        verifier,
        require_actor: config.identity.require_actor.unwrap_or(false),
    };
    // What was handed in before and nobody has shown yet is made now, beside the connection, and what others let run later.
    let (maker, queue) = (engine, settings.project.clone());
    // Whatever it is at when it ends is given up by this.
    *shell.making.lock().unwrap_or_else(PoisonError::into_inner) = Some((maker.clone(), caller.clone()));
    let served = tokio::select! {
        served = serve_stdio(settings, surface) => served,
        () = make_what_waits(&maker, &caller, &queue) => Ok(()),
        stopped = super::serve::stopped() => {
            stopped?;
            Ok(())
        }
        failure = database.lost() => return Err(failure),
    };
    shell.give_up_runs().await;
    if let Some(background) = background {
        background.abort();
    }
    database.close().await;
    served.map_err(|error| {
        tracing::debug!(error = &error as &dyn std::error::Error, "the connection ended");
        Failure::environment(format!("the connection ended: {error}"))
    })
}

/// What a connection may do where nobody said it. An agent neither removes nor switches rules off, which its tools would let it
/// do in its user's name; tools of other systems have their own way of removing, and agents that were set up for it.
fn profile_of(caller: &Caller, is_native: bool) -> Profile {
    match caller.actor.actor.kind {
        ActorKind::Orchestrator | ActorKind::Subagent | ActorKind::External if is_native => Profile::Operator,
        ActorKind::User | ActorKind::Orchestrator | ActorKind::Subagent | ActorKind::External => Profile::Maintainer,
    }
}

/// Opens the database, and makes it where it is missing.
pub(super) async fn open_or_make(config: &Configuration, place: &Place) -> Result<Database, Failure> {
    if let Place::File(path) = place {
        make_folder_of(path)?;
    }
    let is_new = place.is_missing()?;
    let durability = config.durability.unwrap_or_default();
    let database = Database::open(place, Opening { create: true, durability, ..Opening::default() }).await?;
    if is_new {
        crate::output::remark(&format!("docket: made a new database, {}", place.shown()));
    }
    Ok(database)
}

/// Makes what waits, and again whenever somebody lets checks run, in whichever process. Never ends.
async fn make_what_waits(engine: &Engine, caller: &Caller, queue: &ProjectRef) {
    if !engine.runs_checks() {
        std::future::pending::<()>().await;
    }
    // A run that is under way goes on while the next look begins; with this they all end.
    let mut making = JoinSet::new();
    let mut head = engine.head().await.unwrap_or(0);
    loop {
        let (maker, call, queue_too) = (engine.clone(), caller.call(), queue.clone());
        making.spawn(async move {
            if let Err(error) = maker.make_waiting(&call, &queue_too).await {
                tracing::warn!(error = &error as &dyn std::error::Error, "checks that waited were not made");
            }
        });
        head = allowed_after(engine, queue, head).await;
        while making.try_join_next().is_some() {}
    }
}

/// Waits until somebody lets checks run; says up to where that was looked for.
async fn allowed_after(engine: &Engine, queue: &ProjectRef, mut head: u64) -> u64 {
    loop {
        let look = async {
            let newest = engine.changed(head).await?;
            let allowed = EventFilter {
                project: queue.clone(),
                verbs: vec![Verb::ChecksApproved],
                after: Some(head),
                limit: 1,
                ..EventFilter::default()
            };
            Ok::<_, Error>((newest, !engine.events(&allowed).await?.is_empty()))
        };
        match look.await {
            Ok((newest, true)) => return newest,
            Ok((newest, false)) => {
                head = newest;
                tokio::time::sleep(BREATH).await;
            }
            Err(error) => {
                tracing::debug!(error = &error as &dyn std::error::Error, "the events cannot be read");
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        }
    }
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

/// Tells whoever gives agents the tools of another system that the project does not have that system's rules.
pub(super) fn tell_other_rules(surface: &str, project: &Project) {
    let is_dialect = Workflow::PRESETS.contains(&surface);
    if is_dialect && project.workflow.preset.as_str() != surface {
        crate::output::remark(&format!(
            "docket: the project \"{slug}\" has the workflow {preset}, so items move by other rules than agents of {surface} \
             expect; `docket project set {slug} --preset {surface}` changes that",
            slug = project.slug,
            preset = project.workflow.preset,
        ));
    }
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
    match thought_of(projects).as_slice() {
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
        archived: None,
        // Another server that starts at the same moment may have made it: then it is as good as ours.
        must_be_new: false,
    };
    Ok(engine.run(caller.call(), set).await?.project)
}
