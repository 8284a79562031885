//! What a command works with: the database it found, the project it is about, and who acts.
//!
//! Nothing is opened before a command asks for it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use docket_core::command::SetProject;
use docket_core::engine::Call;
use docket_core::model::{
    ActorClaim, ActorKind, Attribution, DegradedMode, Item, ItemId, ItemRef, Key, Name, Project, ProjectId, RequestId,
    Slug, Verification,
};
use docket_core::query::thought_of;
use docket_core::store::{Around, ProjectRef, StoreError};
use docket_core::{Code, Engine, Error, Kind, Reason, echo, limits};
use docket_store_sqlite::{Durability, SqliteOptions, SqliteStore};
use tokio::sync::Notify;

use crate::args::Globals;
use crate::command::check::teller::Teller;
use crate::config::Configuration;
use crate::config::locate::{Location, Origin, Surroundings};
use crate::database::{Database, Opening};
use crate::exit::Failure;
use crate::names::Names;
use crate::output::Output;
use crate::telemetry::Telemetry;

/// How long this program tries to say that it gave runs up before it ends.
const GIVE_UP: Duration = Duration::from_secs(5);

/// What is known before anything is opened.
#[derive(Debug)]
pub(crate) struct Shell {
    pub(crate) globals: Globals,
    pub(crate) around: Surroundings,
    pub(crate) out: Output,
    /// What was opened, to be closed when the command has ended.
    pub(crate) opened: Mutex<Vec<Database>>,
    /// Told when checks are made: from then on this program does not just end when it is interrupted.
    pub(crate) proving: Arc<Notify>,
    /// Who makes them, for whom.
    pub(crate) making: Mutex<Option<(Engine, Caller)>>,
}

/// What a command does to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// It looks.
    Read,
    /// It writes: the configuration's rules are applied first.
    Write,
}

/// A database with its engine, and the project at hand.
pub(crate) struct Session {
    pub(crate) engine: Engine,
    pub(crate) database: Database,
    pub(crate) out: Output,
    /// All projects of the database.
    pub(crate) projects: Vec<Project>,
    caller: Caller,
    request: Option<RequestId>,
    chosen: Chosen,
    embedder: crate::config::embedder::EmbedderSettings,
}

/// Which project a command is about.
enum Chosen {
    /// This one; `true` when the caller named it.
    One(ProjectId, bool),
    /// None, and why.
    None(Box<Error>),
}

/// Who acts.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The local user.
    pub(crate) principal: Name,
    /// Who acts, as was said, else the local user.
    pub(crate) actor: Attribution,
    /// Whether somebody said it.
    pub(crate) explicit: bool,
    pub(crate) policy: DegradedMode,
}

impl Caller {
    /// The circumstances of one request.
    pub(crate) fn call(&self) -> Call {
        Call {
            by: Some(self.actor.clone()),
            policy: self.policy,
            ..Call::new(self.principal.clone(), uuid::Uuid::new_v4().as_u128())
        }
    }
}

impl Shell {
    /// The configuration of this place.
    pub(crate) fn configuration(&self) -> Result<Configuration, Failure> {
        let config = self.load()?;
        self.start_log(&config, None, false)?;
        Ok(config)
    }

    /// The same for a server, and where traces of its calls go.
    pub(crate) fn server_configuration(&self) -> Result<(Configuration, Option<Telemetry>), Failure> {
        let config = self.load()?;
        let telemetry = Telemetry::start(&self.around, &config)?;
        self.start_log(&config, telemetry.as_ref(), true)?;
        Ok((config, telemetry))
    }

    fn load(&self) -> Result<Configuration, Failure> {
        let explicit = self.globals.config.as_deref().or(self.around.docket_config.as_deref());
        Ok(Configuration::load(&self.around, explicit.map(Path::new))?)
    }

    fn start_log(&self, config: &Configuration, telemetry: Option<&Telemetry>, serves: bool) -> Result<(), Failure> {
        crate::logging::start(&self.around, config.log_level, config.log_json, telemetry, serves)?;
        for warning in &config.warnings {
            tracing::warn!("{}", crate::output::escape::line(warning));
        }
        Ok(())
    }

    /// Where the database is, or would be.
    pub(crate) fn location(&self) -> Result<Location, Failure> {
        self.around.database(self.globals.db.as_deref())
    }

    /// The project that the caller named.
    pub(crate) fn named_project(&self) -> Result<Option<Slug>, Failure> {
        let named = self.globals.project.as_deref().map(Slug::parse).transpose();
        Ok(named.map_err(|invalid| invalid.at("--project"))?)
    }

    /// Who acts.
    pub(crate) fn caller(&self, config: &Configuration) -> Result<Caller, Failure> {
        let user = self.around.user.as_deref().and_then(|user| Name::parse(user).ok());
        let principal = match user {
            Some(user) => user,
            None => Name::parse("local")?,
        };
        let said = self.globals.actor.as_deref().or(self.around.docket_actor.as_deref());
        let actor = match said {
            Some(said) => parse_actor(said)?,
            None => ActorClaim { id: principal.clone(), kind: ActorKind::User, parent: None, proof: None },
        };
        Ok(Caller {
            principal,
            actor: Attribution { actor, verification: Verification::unchecked() },
            explicit: said.is_some(),
            policy: config.identity.policy.unwrap_or_default(),
        })
    }

    /// Opens a database that is there.
    pub(crate) async fn open_store(&self, access: Access, durability: Durability) -> Result<Database, Failure> {
        let location = self.location()?;
        if location.place.is_missing()? {
            return Err(no_database(&location));
        }
        let read_only = access == Access::Read;
        let opening = Opening { read_only, durability, ..Opening::default() };
        let database = Database::open(&location.place, opening).await?;
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).push(database.clone());
        Ok(database)
    }

    /// Returns when somebody interrupts this program while it makes checks; otherwise it is ended by the signal itself.
    pub(crate) async fn interrupted(&self) {
        self.proving.notified().await;
        if crate::command::serve::stopped().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Gives up the runs that were left in the middle, so that nobody waits for them.
    pub(crate) async fn give_up_runs(&self) {
        let making = self.making.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((engine, caller)) = making else { return };
        let given_up = tokio::time::timeout(GIVE_UP, async { engine.give_up_runs(&caller.call()).await });
        if let Ok(Err(error)) = given_up.await {
            tracing::warn!(error = &error as &dyn std::error::Error, "a run that was left in the middle stays so");
        }
    }

    /// Lets go of what a command has opened: other processes are told of what it wrote before this one ends.
    pub(crate) async fn close(&self) {
        let opened = std::mem::take(&mut *self.opened.lock().unwrap_or_else(PoisonError::into_inner));
        for database in opened {
            match database {
                // Nobody has to be told about a file, and what was committed to it is there.
                Database::Sqlite(_) => {}
                Database::Postgres(store) => store.close().await,
            }
        }
    }

    /// Opens the database and finds the project. A command that writes applies the configuration's rules first.
    pub(crate) async fn session(&self, access: Access) -> Result<Session, Failure> {
        let config = self.configuration()?;
        let caller = self.caller(&config)?;
        let named = self.named_project()?;
        let request = self.globals.request_id.as_deref().map(RequestId::parse).transpose();
        let request = request.map_err(|invalid| invalid.at("--request-id"))?;
        let database = self.open_store(access, config.durability.unwrap_or_default()).await?;
        let store = database.store();
        let place = self.location()?.place;
        // A person at the terminal lets a check run by asking for it.
        let runs = crate::prover::here(&config, &self.around.cwd, &place, true)?;
        let mut session = Session {
            projects: store.projects().await?,
            engine: crate::embedding::limited(&Engine::new(store), &config).running(runs),
            embedder: config.embedder.clone(),
            database,
            out: self.out,
            caller,
            request,
            chosen: Chosen::None(Box::new(Error::not_found("no project"))),
        };
        session.chosen = choose(&session.projects, named.as_ref(), config.project.slug.as_ref())?;
        if let Chosen::One(id, true) = session.chosen {
            session.engine = session.engine.limited_to(session.engine.access().narrowed_to(id));
        }
        // Closing an item runs its checks: whoever waits for that sees which one it is.
        session.engine = session.engine.telling(Arc::new(Teller::quiet(self.out, &self.proving)));
        *self.making.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((session.engine.clone(), session.caller.clone()));
        let Ok(project) = session.project().cloned() else { return Ok(session) };
        match access {
            Access::Read => {
                if pending_rules(&config, &project)?.is_some() {
                    crate::output::remark(
                        "note: the configuration has rules that the next write will apply, or `docket project set` now",
                    );
                }
            }
            Access::Write => {
                let applied = apply_rules(&session.engine, &session.caller, &config, &project).await?;
                session
                    .projects
                    .iter_mut()
                    .filter(|known| known.id == applied.id)
                    .for_each(|known| *known = applied.clone());
            }
        }
        Ok(session)
    }
}

impl Session {
    /// The project at hand, for commands that need one.
    pub(crate) fn project(&self) -> Result<&Project, Failure> {
        match &self.chosen {
            Chosen::One(id, _) => self
                .projects
                .iter()
                .find(|project| project.id == *id)
                .ok_or_else(|| Error::not_found("no such project").into()),
            Chosen::None(error) => Err(Error::clone(error).into()),
        }
    }

    /// The same as the engine wants it.
    pub(crate) fn project_ref(&self) -> Result<ProjectRef, Failure> {
        Ok(ProjectRef::Id(self.project()?.id))
    }

    /// The engine without the limit to the project that was named: for what is about the database as a whole.
    pub(crate) fn everywhere(&self) -> Engine {
        self.engine.limited_to(docket_core::access::Access::default())
    }

    /// An engine that searches by meaning too, where the configuration names an embedder: for the few commands that want one.
    pub(crate) fn with_embedder(&self, engine: &Engine) -> Result<Engine, Failure> {
        Ok(match self.embedder.start()? {
            Some(embedder) => engine.with_embedder(embedder),
            None => engine.clone(),
        })
    }

    /// Where items named on the command line are looked up: keys and ids mean the same in the whole database, so it is
    /// one project only if the caller said so.
    pub(crate) fn scope(&self) -> ProjectRef {
        match &self.chosen {
            Chosen::One(id, true) => ProjectRef::Id(*id),
            Chosen::One(_, false) | Chosen::None(_) => ProjectRef::Any,
        }
    }

    /// The circumstances of one request.
    pub(crate) fn call(&self) -> Call {
        Call { request: self.request.clone(), ..self.caller.call() }
    }

    /// Who acts.
    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Items by key and title; those that are gone are left out.
    pub(crate) async fn names(&self, items: impl IntoIterator<Item = ItemId>) -> Result<Names, Failure> {
        let wanted: BTreeSet<ItemRef> = items.into_iter().map(ItemRef::Id).collect();
        let mut names = Names::default();
        for page in wanted.into_iter().collect::<Vec<_>>().chunks(limits::PAGE) {
            let seen = self.engine.show(&ProjectRef::Any, page, Around::default()).await?;
            seen.items.values().for_each(|item| names.add(item.id, self.key(item), &item.title));
        }
        Ok(names)
    }

    /// The failure of a move: where gates refuse it, with the names of what stands in the way.
    pub(crate) async fn refused(&self, error: Error) -> Failure {
        let blockers = error.refusals.iter().flat_map(|refusal| &refusal.blockers).map(|blocker| blocker.item);
        let open = error.refusals.iter().flat_map(|refusal| &refusal.open_items).copied();
        // Names are a courtesy: without them the refusal is as good.
        let names = self.names(blockers.chain(open)).await.unwrap_or_default();
        Failure::Refused(Box::new(error), names)
    }

    /// An item's short key.
    pub(crate) fn key(&self, item: &Item) -> Key {
        match self.projects.iter().find(|project| project.id == item.project) {
            Some(project) => project.key(item.number),
            // A project made since we looked; its items have a number all the same.
            None => Key {
                prefix: docket_core::model::KeyPrefix::parse("ITEM").unwrap_or_else(|_| unreachable!("a valid prefix")),
                number: item.number,
            },
        }
    }
}

/// Opens a file, with its path in what goes wrong.
pub(crate) async fn open(options: SqliteOptions) -> Result<Arc<SqliteStore>, Failure> {
    let path = options.path.clone();
    if path.is_dir() {
        return Err(Failure::environment(format!("{}: is a folder; a database is a file", path.display())));
    }
    // The store would say no more than that it cannot be opened.
    if let Err(error) = std::fs::File::open(&path)
        && error.kind() == std::io::ErrorKind::PermissionDenied
    {
        return Err(Failure::environment(format!("{}: cannot be read: {error}", path.display())));
    }
    if !options.read_only
        && let Some(warning) = on_network(&path)
    {
        crate::output::remark(&format!("docket: {warning}"));
    }
    SqliteStore::open_newest(options).await.map(Arc::new).map_err(|error| open_failure(&path, error))
}

/// What to say of a database that lies on a network file system.
pub(crate) fn on_network(path: &Path) -> Option<String> {
    docket_store_sqlite::network(path).map(|kind| {
        format!(
            "{} lies on a network file system ({kind}): use it from one machine alone, or a Postgres server for several; locks and \
             flushes are not kept there as SQLite needs them",
            path.display()
        )
    })
}

/// What to say of a database that cannot be opened.
pub(crate) fn open_failure(path: &Path, error: StoreError) -> Failure {
    if let Some(source) = std::error::Error::source(&error) {
        tracing::debug!(error = source, "the database cannot be opened");
    }
    let plain = crate::exit::plain(error);
    let message = format!("{}: {}", path.display(), plain.message);
    Error { message, ..plain }.into()
}

/// Gives a project the rules that the files ask for, where they differ from those it has.
pub(crate) async fn apply_rules(
    engine: &Engine,
    caller: &Caller,
    config: &Configuration,
    project: &Project,
) -> Result<Project, Failure> {
    let Some(set) = pending_rules(config, project)? else { return Ok(project.clone()) };
    match engine.run(caller.call(), set).await {
        Ok(set) => {
            tracing::info!(project = %set.project.slug, "the rules of the configuration were applied");
            Ok(set.project)
        }
        // A refusal is about the file; that the store cannot be written is not.
        Err(error) if error.code != Code::Unavailable => Err(cannot_apply(config, &error.message)),
        Err(error) => Err(error.into()),
    }
}

/// What the files ask for that a project does not have yet.
fn pending_rules(config: &Configuration, project: &Project) -> Result<Option<SetProject>, Failure> {
    let meant = config.project.slug.as_ref().is_none_or(|slug| *slug == project.slug);
    if !meant || !config.has_rules() {
        return Ok(None);
    }
    let workflow = config
        .workflow(Some(&project.workflow), project.workflow.preset.as_str())
        .map_err(|invalid| cannot_apply(config, &invalid.at("workflow").message))?;
    let set = SetProject {
        slug: project.slug.clone(),
        name: config.project.name.clone().filter(|name| *name != project.name),
        prefix: config.project.prefix.clone().filter(|prefix| *prefix != project.prefix),
        workflow: workflow.filter(|workflow| *workflow != project.workflow),
        schemas: config.schemas.clone().filter(|schemas| *schemas != project.schemas),
        archived: None,
        must_be_new: false,
    };
    let same = set.name.is_none() && set.prefix.is_none() && set.workflow.is_none() && set.schemas.is_none();
    Ok((!same).then_some(set))
}

fn cannot_apply(config: &Configuration, message: &str) -> Failure {
    let files: Vec<String> = config.files.iter().map(|file| file.display().to_string()).collect();
    Failure::environment(format!("{}: cannot be applied: {message}", files.join(", ")))
}

/// Which project is meant: the one named, the one the configuration names, or the only one.
fn choose(projects: &[Project], named: Option<&Slug>, configured: Option<&Slug>) -> Result<Chosen, Failure> {
    let by_slug = |slug: &Slug| projects.iter().find(|project| project.slug == *slug);
    if let Some(slug) = named {
        let project = by_slug(slug).ok_or_else(|| no_project(projects, slug))?;
        return Ok(Chosen::One(project.id, true));
    }
    if let Some(slug) = configured {
        return Ok(match by_slug(slug) {
            Some(project) => Chosen::One(project.id, false),
            // To take another for it would put work where nobody looks for it once the configured one is made.
            None => Chosen::None(Box::new(not_made(projects, slug))),
        });
    }
    let required = |message: &str| {
        Chosen::None(Box::new(Error::new(Kind::Permanent, Code::ProjectRequired, Reason::ProjectRequired, message)))
    };
    Ok(match thought_of(projects).as_slice() {
        [] => required("this database has no project yet: `docket project set SLUG` makes one"),
        [only] => Chosen::One(only.id, false),
        _ => required("this database has several projects: say which one is meant"),
    })
}

/// That a project is not there, and which ones are.
pub(crate) fn no_project(projects: &[Project], slug: &Slug) -> Error {
    let known: Vec<&str> = projects.iter().map(|project| project.slug.as_str()).collect();
    let known = if known.is_empty() { "none yet".to_owned() } else { known.join(", ") };
    Error::not_found(format!("no project \"{slug}\" in this database; it has: {known}")).at("project")
}

/// That a project is only in the configuration so far.
fn not_made(projects: &[Project], slug: &Slug) -> Error {
    let error = no_project(projects, slug);
    let message = format!("{}; the configuration names it: `docket init` makes it, with its rules", error.message);
    Error { message, ..error }
}

/// `KIND:NAME`.
fn parse_actor(text: &str) -> Result<ActorClaim, Failure> {
    let bad = |message: String| Failure::from(Error::validation(Reason::BadValue, message).at("actor"));
    let (kind, name) = text.split_once(':').ok_or_else(|| {
        bad(format!("--actor must be KIND:NAME, such as user:ann or subagent:parser-1, not \"{}\"", echo(text)))
    })?;
    let kind = match kind.to_ascii_lowercase().as_str() {
        "agent" => ActorKind::Subagent,
        "human" => ActorKind::User,
        other => other.parse().map_err(|_| {
            bad(format!("the kind of --actor must be user, orchestrator, subagent or external, not \"{}\"", echo(kind)))
        })?,
    };
    let id = Name::parse(name).map_err(|invalid| bad(format!("the name of --actor {}", invalid.message)))?;
    Ok(ActorClaim { id, kind, parent: None, proof: None })
}

fn no_database(location: &Location) -> Failure {
    let path = location.place.shown();
    Failure::environment(match location.origin {
        Origin::Named => format!("there is no database at {path}: `docket init` or `docket mcp` makes one"),
        Origin::Found | Origin::DataFolder => {
            format!("no Docket database here: run `docket init` (looked in this folder, those above, and {path})")
        }
    })
}

/// Makes the folder that a file is to lie in.
pub(crate) fn make_folder_of(file: &Path) -> Result<(), Failure> {
    let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return Ok(()) };
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::environment(format!("{}: the folder cannot be made: {error}", folder.display())))
}

/// A path from the command line, as seen from the working folder.
pub(crate) fn resolve(around: &Surroundings, path: &str) -> PathBuf {
    around.cwd.join(path)
}
