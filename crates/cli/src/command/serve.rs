//! `docket serve`: REST, MCP and live events over HTTP, on one port.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use docket_core::model::{Project, ProjectId, Slug};
use docket_core::proof::ProofVerifier;
use docket_core::store::ProjectRef;
use docket_core::{Code, Engine, Error, Kind, Reason};
use docket_mcp_server::{HttpEndpoint, Settings as McpSettings, surfaces};
use docket_rest_api::{Answering, App, Caller, Endpoint, Gatekeeper, Hosts, Settings, serve};
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::mcp;
use crate::config::Configuration;
use crate::config::server::address;
use crate::database::{Database, Opening, Place};
use crate::exit::Failure;
use crate::gate;
use crate::session::{self, Shell, apply_rules, make_folder_of};

/// Where the server listens when nobody says otherwise.
const LISTEN: &str = "127.0.0.1:7420";

const HELP: &str = "\
REST is at /api/v1 with its description at /docs, MCP at /mcp and /mcp/NAME for each surface, live events at \
/api/v1/events/stream; /healthz, /readyz and /metrics are for whoever looks after it. The database is found, and made where it \
is missing, as by `docket mcp`; several servers may run on one database at the same time. SIGTERM and ^C let what is under \
way end; a second one does not.

Once there is a key (`docket key create`), or docket.toml says whose tokens are taken, every caller shows one. Until then \
everybody who can reach the address is you, and only loopback addresses are served. Which it is is settled at the start.

Examples:
  docket serve
  docket serve --listen 127.0.0.1:8080
  docket --db sqlite:/srv/work.db serve
  docket --db postgres://docket@db.example/work serve";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The address to listen on; port 0 takes a free one [default: 127.0.0.1:7420, or as docket.toml says]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
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
    let config = shell.configuration()?;
    let listen = match said.or(config.server.listen) {
        Some(listen) => listen,
        None => address(LISTEN)?,
    };
    raise_open_files();
    let caller = shell.caller(&config)?;
    let location = shell.location()?;
    let (database, engine, project) = open_database(shell, &config, &caller, &location.place).await?;
    let gate = gate(&engine, &caller, &config, listen).await?;
    let listener = TcpListener::bind(listen)
        .await
        .map_err(|error| Failure::environment(format!("{listen}: cannot be listened on: {error}")))?;
    let app = App::new(Settings {
        engine,
        gate,
        hosts: Hosts::new(config.server.hosts.iter().cloned()),
        limits: config.server.limits,
        project,
        mcp: Some(Arc::new(Mcp {
            endpoint: HttpEndpoint::new()?,
            project,
            require_actor: config.identity.require_actor.unwrap_or(false),
            verifier: mcp::verifier(&config).await?,
        })),
    });
    tell(shell, &listener, listen, &location.place)?;
    let served = serve(listener, app, stop()?).await;
    database.close().await;
    served.map_err(|error| Failure::environment(format!("serving broke off: {error}")))
}

/// Who is let in.
async fn gate(
    engine: &Engine,
    caller: &session::Caller,
    config: &Configuration,
    listen: SocketAddr,
) -> Result<Arc<dyn Gatekeeper>, Failure> {
    let tokens = config.identity.tokens.clone();
    if tokens.is_some() || engine.has_keys().await? {
        return gate::for_key_holders(engine, caller.policy, tokens, config.rate).await;
    }
    if !listen.ip().is_loopback() {
        return Err(Failure::environment(format!(
            "{listen} can be reached by others, and this server knows no keys: everybody would be a maintainer. Make a key \
             first (docket key create --profile maintainer), or listen on 127.0.0.1"
        )));
    }
    let local = Caller {
        principal: caller.principal.clone(),
        by: caller.explicit.then(|| caller.actor.clone()),
        policy: caller.policy,
        engine: engine.clone(),
    };
    Ok(gate::for_local_user(local, config.rate))
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
) -> Result<(Database, Engine, Option<ProjectId>), Failure> {
    if let Place::File(path) = place {
        make_folder_of(path)?;
    }
    let is_new = place.is_missing()?;
    let durability = config.durability.unwrap_or_default();
    let database = Database::open(place, Opening { create: true, durability, ..Opening::default() }).await?;
    if is_new {
        crate::output::remark(&format!("docket: made a new database, {}", place.shown()));
    }
    let store = database.store();
    let engine = Engine::new(Arc::clone(&store));
    let projects = store.projects().await?;
    let several: Vec<&Project> = projects.iter().collect();
    let named = shell.named_project()?;
    if several.len() > 1 && named.is_none() && config.project.slug.is_none() {
        return Ok((database, engine, None));
    }
    let slug: Slug = mcp::wanted(&projects, named, config)?;
    let project = match projects.into_iter().find(|project| project.slug == slug) {
        Some(project) => apply_rules(&engine, caller, config, &project).await?,
        None => mcp::make_project(&engine, caller, config, slug, mcp::preset_of(surfaces()[0])).await?,
    };
    Ok((database, engine, Some(project.id)))
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
    require_actor: bool,
    verifier: Arc<dyn ProofVerifier>,
}

impl Mcp {
    /// The project that calls are about: the one the address names, the one served, or the only one the caller sees.
    async fn project(&self, engine: &Engine, named: Option<Slug>) -> Result<ProjectId, Error> {
        let projects = engine.projects().await?;
        let required =
            |message: &str| Error::new(Kind::Permanent, Code::ProjectRequired, Reason::ProjectRequired, message);
        match (named, self.project, projects.as_slice()) {
            (Some(slug), _, known) => {
                let found = known.iter().find(|project| project.slug == slug);
                found.map(|project| project.id).ok_or_else(|| session::no_project(known, &slug))
            }
            (None, Some(id), _) => Ok(id),
            (None, None, [only]) => Ok(only.id),
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
            let project = self.project(&caller.engine, project).await?;
            // The tools are about one project: what another has is not found by its name.
            let engine = caller.engine.limited_to(caller.engine.access().narrowed_to(project));
            let settings = McpSettings {
                engine,
                project: ProjectRef::Id(project),
                principal: caller.principal,
                actor: caller.by,
                policy: caller.policy,
                verifier: Arc::clone(&self.verifier),
                require_actor: self.require_actor,
            };
            self.endpoint.answer(settings, surface.as_deref(), request).await
        })
    }

    fn close(&self) {
        self.endpoint.close();
    }
}
