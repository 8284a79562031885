//! `docket serve`: REST, MCP and live events over HTTP, on one port.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use docket_core::limits;
use docket_core::model::{ProjectId, Slug};
use docket_core::proof::ProofVerifier;
use docket_core::prove::{Runs, Sleep};
use docket_core::query::thought_of;
use docket_core::store::ProjectRef;
use docket_core::{Code, Engine, Error, Kind, Reason};
use docket_mcp_server::{Guide, HttpEndpoint, Settings as McpSettings, names_projects, surface, surfaces};
use docket_rest_api::{
    Actors, Adopt, Answering, App, Caller, Endpoint, Gatekeeper, Hosts, Lasting, Page, Settings, serve,
};
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::mcp;
use crate::config::Configuration;
use crate::config::server::{Server, address};
use crate::database::{Database, Place};
use crate::embedding;
use crate::exit::Failure;
use crate::gate;
use crate::session::{self, Shell, apply_rules};
use crate::telemetry;

/// Where the server listens when nobody says otherwise.
const LISTEN: &str = "127.0.0.1:7420";
/// What the guide to the work is called, of every set of tools.
const WORKFLOW: &str = "agent-workflow";

const HELP: &str = "\
REST is at /api/v1 with its description at /docs, MCP at /mcp and /mcp/NAME for each surface, live events at \
/api/v1/events/stream; /healthz, /readyz and /metrics are for whoever looks after it. The database is found, and made where it \
is missing, as by `docket mcp`; several servers may run on one database at the same time. SIGTERM and ^C let what is under \
way end; a second one does not.

Once a key was made (`docket key create`), or docket.toml says whose tokens are taken, every caller shows one. Until then \
everybody who can reach the address is you; so only loopback addresses are served, only where `[server]` names no hosts and no \
public_url, and nothing that says it came through a proxy. The first key counts from the moment it is made, by whichever process, \
without a restart. When the last one is revoked, nobody is let in until there is another.

Examples:
  docket serve
  docket serve --listen 127.0.0.1:8080 --surface task-orchestrator
  docket --db sqlite:/srv/work.db serve
  docket --db postgres://docket@db.example/work serve";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The address to listen on; port 0 takes a free one [default: 127.0.0.1:7420, or as docket.toml says]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// The set of tools that /mcp has; a first project gets the workflow that goes with it
    #[arg(long, value_name = "NAME", default_value = surfaces()[0])]
    surface: String,
}

/// What is told once the server listens.
#[derive(Serialize)]
struct Listening {
    url: String,
    database: String,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    // Wrong addresses are told before anything is made.
    let said = args.listen.as_deref().map(address).transpose().map_err(|invalid| invalid.at("--listen"))?;
    surface(&args.surface)?;
    let (config, telemetry) = shell.server_configuration()?;
    let listen = match said.or(config.server.listen) {
        Some(listen) => listen,
        None => address(LISTEN)?,
    };
    raise_open_files();
    let caller = shell.caller(&config)?;
    let location = shell.location()?;
    let stopping = Arc::new(watch::Sender::new(false));
    let sleep = sleep_until(&stopping);
    let (database, engine, project) =
        open_database(shell, &config, &caller, &location.place, &args.surface, sleep).await?;
    let gate = gate(&engine, &caller, &config, listen).await?;
    let verifier = mcp::verifier(&config).await?;
    let require_actor = config.identity.require_actor.unwrap_or(false);
    let listener = TcpListener::bind(listen)
        .await
        .map_err(|error| Failure::environment(format!("{listen}: cannot be listened on: {error}")))?;
    let app = App::new(Settings {
        engine: engine.clone(),
        gate,
        actors: Actors { verifier: Arc::clone(&verifier), required: require_actor },
        public_url: config.server.public_url.clone(),
        hosts: Hosts::new(config.server.hosts.iter().cloned()),
        limits: config.server.limits,
        project,
        pages: pages(&args.surface)?,
        mcp: Some(Arc::new(Mcp {
            endpoint: HttpEndpoint::new()?,
            project,
            surface: args.surface,
            chosen: shell.named_project()?.is_some() || config.project.slug.is_some(),
            require_actor,
            verifier,
        })),
        adopt: telemetry.as_ref().map(|_| telemetry::adopt as Adopt),
    });
    let background = embedding::start(&engine);
    tell(shell, &listener, listen, &location.place)?;
    let (stop, lost) = (stop()?, std::sync::OnceLock::new());
    let until = async {
        tokio::select! {
            () = stop => {}
            failure = database.lost() => { _ = lost.set(failure); }
        }
        stopping.send_replace(true);
    };
    let served = serve(listener, app, until).await;
    if let Some(background) = background {
        background.abort();
    }
    database.close().await;
    if let Some(telemetry) = telemetry {
        telemetry.close().await;
    }
    match lost.into_inner() {
        Some(failure) => Err(failure),
        None => served.map_err(|error| Failure::environment(format!("serving broke off: {error}"))),
    }
}

/// What agents read of each set of tools, for people too. The plain addresses are for what `/mcp` has, or for the first that has such
/// a text at all. A set without a guide to the work has what its clients are told when they connect.
fn pages(served: &str) -> Result<Vec<Page>, Error> {
    let others = surfaces().iter().copied().filter(|other| *other != served);
    let mut pages: Vec<Page> = Vec::new();
    for name in std::iter::once(served).chain(others) {
        let surface = surface(name)?;
        let told = Guide { name: WORKFLOW, title: "How agents work here", text: surface.instructions() };
        let has_guide = surface.guides().iter().any(|guide| guide.name == WORKFLOW);
        for guide in Some(&told).filter(|_| !has_guide).into_iter().chain(surface.guides()) {
            let is_taken = pages.iter().any(|page| page.name == guide.name);
            let address = if is_taken { format!("{}-{name}", guide.name) } else { guide.name.to_owned() };
            let title = format!("{} ({name})", guide.title);
            let about = format!("For whoever uses the tools of `{name}`, which are at `/mcp/{name}`.");
            pages.push(Page { name: address, title, about, text: guide.text });
        }
    }
    Ok(pages)
}

/// Who is let in.
async fn gate(
    engine: &Engine,
    caller: &session::Caller,
    config: &Configuration,
    listen: SocketAddr,
) -> Result<Arc<dyn Gatekeeper>, Failure> {
    let tokens = config.identity.tokens.clone();
    let (has_keys, reached) = (engine.has_keys().await?, reached(&config.server, listen));
    if tokens.is_some() || reached.is_some() && has_keys {
        return gate::for_key_holders(engine, caller.policy, tokens, config.rate).await;
    }
    if let Some((how, otherwise)) = reached {
        return Err(Failure::environment(format!(
            "{how}, and this server has no keys that hold: everybody would be a maintainer. Make a key first (docket key create --profile \
             maintainer), or {otherwise}"
        )));
    }
    if !has_keys && !engine.is_keyless().await? {
        tracing::warn!("no key holds any more: nobody is let in until there is another (docket key create)");
    }
    let local = Caller {
        principal: caller.principal.clone(),
        by: caller.explicit.then(|| caller.actor.clone()),
        policy: caller.policy,
        engine: engine.clone(),
        pass: Arc::new(Lasting),
    };
    gate::for_this_machine(engine, local, config.rate).await
}

/// How others reach this server, and what to change where they should not. Whoever names hosts or an address has put a proxy
/// before it, and what comes through that comes from this machine.
fn reached(server: &Server, listen: SocketAddr) -> Option<(String, &'static str)> {
    if !listen.ip().is_loopback() {
        return Some((format!("{listen} can be reached by others"), "listen on 127.0.0.1"));
    }
    let named = !server.hosts.is_empty() || server.public_url.is_some();
    let how = "[server] hosts and public_url say that others reach this server by a name";
    named.then(|| (how.to_owned(), "take both out of docket.toml"))
}

fn tell(shell: &Shell, listener: &TcpListener, listen: SocketAddr, database: &Place) -> Result<(), Failure> {
    let address = listener.local_addr().unwrap_or(listen);
    let told = Listening { url: format!("http://{address}"), database: database.shown() };
    tracing::info!(%address, database = %told.database, "serving");
    shell.out.answer_line(&told, |paint| {
        format!("serving {} (REST at /docs, MCP at /mcp) from {}", paint.bold(&told.url), told.database)
    })
}

/// Opens the database, makes it where it is missing, and finds the project that is meant when a request names none.
async fn open_database(
    shell: &Shell,
    config: &Configuration,
    caller: &session::Caller,
    place: &Place,
    surface: &str,
    sleep: Sleep,
) -> Result<(Database, Engine, Option<ProjectId>), Failure> {
    let database = mcp::open_or_make(config, place).await?;
    let store = database.store();
    // Whatever is reached over the network runs nothing itself.
    let patience = std::time::Duration::from_millis(limits::RUN_WAIT_MS);
    let engine = embedding::equipped(&Engine::new(Arc::clone(&store)), config)?;
    // What nobody lets run is refused at once, as far as this file knows what runners make without approval.
    let allowed = config.runner.allow.clone();
    let engine = engine.running(Runs::Elsewhere { patience, sleep, allowed });
    let projects = store.projects().await?;
    let named = shell.named_project()?;
    if thought_of(&projects).len() > 1 && named.is_none() && config.project.slug.is_none() {
        return Ok((database, engine, None));
    }
    let slug: Slug = mcp::wanted(&projects, named, config)?;
    let project = match projects.into_iter().find(|project| project.slug == slug) {
        Some(project) => apply_rules(&engine, caller, config, &project).await?,
        None => mcp::make_project(&engine, caller, config, slug, mcp::preset_of(surface)).await?,
    };
    mcp::tell_other_rules(surface, &project);
    Ok((database, engine, Some(project.id)))
}

/// The clock of whoever waits for checks: when the server is told to stop, the time is over.
fn sleep_until(stopping: &Arc<watch::Sender<bool>>) -> Sleep {
    let stopping = Arc::clone(stopping);
    Arc::new(move |time| {
        let mut stopped = stopping.subscribe();
        Box::pin(async move {
            // The sender lives as long as the server serves.
            _ = tokio::time::timeout(time, stopped.wait_for(|stopped| *stopped)).await;
        })
    })
}

/// Returns when this process is told to stop.
pub(crate) async fn stopped() -> Result<(), Failure> {
    stop()?.await;
    Ok(())
}

/// Resolves when the server is told to stop; told again, the process ends at once.
fn stop() -> Result<impl Future<Output = ()> + Send, Failure> {
    let cannot = |error| Failure::environment(format!("signals cannot be waited for: {error}"));
    let mut term = signal(SignalKind::terminate()).map_err(cannot)?;
    let mut int = signal(SignalKind::interrupt()).map_err(cannot)?;
    Ok(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
        tokio::spawn(async move {
            tokio::select! {
                _ = term.recv() => {}
                _ = int.recv() => {}
            }
            std::process::exit(130);
        });
    })
}

/// Connections are files, and the usual limit on those is less than the limit on connections.
fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let now = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: now.maximum, maximum: now.maximum }) {
        tracing::debug!(%error, "the limit on open files stays as it is");
    }
}

/// MCP behind the same port.
struct Mcp {
    endpoint: HttpEndpoint,
    project: Option<ProjectId>,
    /// The tools where the address names none.
    surface: String,
    /// Whether somebody chose that project; otherwise it is only the usual one.
    chosen: bool,
    require_actor: bool,
    verifier: Arc<dyn ProofVerifier>,
}

impl Mcp {
    /// The project that calls are about: the one the address names, the one served, or the only one the caller sees. None
    /// where nobody chose one and the tools name projects themselves.
    async fn project(&self, engine: &Engine, surface: &str, named: Option<Slug>) -> Result<Option<ProjectId>, Error> {
        if named.is_none() && !self.chosen && names_projects(surface) {
            return Ok(None);
        }
        let projects = engine.projects().await?;
        let required =
            |message: &str| Error::new(Kind::Permanent, Code::ProjectRequired, Reason::ProjectRequired, message);
        match (named, self.project, thought_of(&projects).as_slice()) {
            (Some(slug), _, _) => {
                let found = projects.iter().find(|project| project.slug == slug);
                found.map(|project| Some(project.id)).ok_or_else(|| session::no_project(&projects, &slug))
            }
            (None, Some(id), _) => Ok(Some(id)),
            (None, None, [only]) => Ok(Some(only.id)),
            (None, None, _) => {
                Err(required("there are several projects: say which one is meant, as /mcp?project=SLUG"))
            }
        }
    }
}

impl Endpoint for Mcp {
    fn answer(
        &self,
        caller: Caller,
        surface: Option<String>,
        project: Option<Slug>,
        request: http::Request<http_body_util::Full<Bytes>>,
    ) -> Answering<'_> {
        Box::pin(async move {
            let surface = surface.as_deref().unwrap_or(&self.surface);
            let project = self.project(&caller.engine, surface, project).await?;
            // What another project has is not found by its name, where the tools are about one.
            let engine = match project {
                Some(project) => caller.engine.limited_to(caller.engine.access().narrowed_to(project)),
                None => caller.engine,
            };
            let settings = McpSettings {
                engine,
                project: project.map_or(ProjectRef::Any, ProjectRef::Id),
                principal: caller.principal,
                actor: caller.by,
                policy: caller.policy,
                verifier: Arc::clone(&self.verifier),
                require_actor: self.require_actor,
            };
            self.endpoint.answer(settings, Some(surface), request).await
        })
    }

    fn stop(&self) {
        self.endpoint.stop();
    }

    fn close(&self) {
        self.endpoint.close();
    }
}
