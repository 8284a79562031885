//! Who runs checks for this process: put together from the configuration and where the program was started.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use docket_core::model::Name;
use docket_core::prove::{Here, Prover, Runs, Sleep, place_name};
use docket_runner::{CheckRunner, Environment, Runner, Settings, github};

use crate::config::runner::RunnerSettings;
use crate::config::{Configuration, DOCKET_TOML, TASK_ORCHESTRATOR};
use crate::database::Place;
use crate::exit::Failure;

/// The folder that a database is made in where nobody says where.
const OWN_FOLDER: &str = ".docket";
/// What SQLite adds to the name of a database for what it has to roll back.
const JOURNAL: &str = "-journal";

/// Checks that are run in this process.
pub(crate) fn here(
    config: &Configuration,
    cwd: &Path,
    database: &Place,
    asking_approves: bool,
) -> Result<Runs, Failure> {
    Ok(Runs::Here(Here { prover: prover(config, cwd, database)?, asking_approves, sleep: sleep() }))
}

/// The clock of whoever waits for checks.
pub(crate) fn sleep() -> Sleep {
    Arc::new(|time| Box::pin(tokio::time::sleep(time)))
}

/// The folder that checks are run in.
pub(crate) fn root(config: &Configuration, cwd: &Path) -> PathBuf {
    config.runner.repository.clone().unwrap_or_else(|| work_tree(cwd))
}

/// One who runs checks in the work tree of this place.
pub(crate) fn prover(config: &Configuration, cwd: &Path, database: &Place) -> Result<Arc<dyn Prover>, Failure> {
    prover_in(config, root(config, cwd), database)
}

/// One who runs checks in a work tree.
pub(crate) fn prover_in(config: &Configuration, root: PathBuf, database: &Place) -> Result<Arc<dyn Prover>, Failure> {
    let said = &config.runner;
    let environment = Environment { keep: said.keep.clone(), ..Environment::default() };
    let settings = Settings {
        environment,
        writable: said.writable.clone(),
        apart: files_of(database),
        own: own_of(config, &root, database),
        unmade: unmade_of(&root, database),
        log_bytes: CheckRunner::LOG_BYTES,
        ..Settings::default()
    };
    let github = github_of(said)?;
    let place = place_of(&root);
    let runner = CheckRunner::new(own_name()?, Runner::new(settings), root, place, said.allow.clone(), github);
    Ok(Arc::new(runner.with_room_for(said.jobs_per_worktree.unwrap_or(1))))
}

/// What a work tree is called among all that share a database; nothing, where there is no git.
fn place_of(root: &Path) -> Option<Name> {
    // However it was reached: by a link, or from a folder inside.
    let root = root.canonicalize().ok().filter(|root| root.join(".git").exists())?;
    Some(place_name(&host(), &root))
}

/// The root of the work tree that a folder lies in; the folder itself, where there is no git.
fn work_tree(cwd: &Path) -> PathBuf {
    cwd.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(cwd).to_owned()
}

/// The files of a database: what is noted in them is no change of the work, wherever they lie.
fn files_of(database: &Place) -> Vec<PathBuf> {
    let Place::File(path) = database else { return Vec::new() };
    ["", "-wal", "-shm", JOURNAL].map(|suffix| beside(path, suffix)).to_vec()
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(suffix);
    PathBuf::from(name)
}

/// What checks are kept from writing, wherever it lies: the database, with its folder where that is for nothing else, and the files
/// that say what may run.
fn own_of(config: &Configuration, root: &Path, database: &Place) -> Vec<PathBuf> {
    let files = files_of(database);
    let folder = files.first().and_then(|file| file.parent()).filter(|folder| folder.ends_with(OWN_FOLDER));
    let said = config.files.iter().cloned().chain([root.join(DOCKET_TOML)]);
    folder.map(Path::to_owned).into_iter().chain(said).chain(files).collect()
}

/// What checks are kept from making: what SQLite would roll back before anything else is read, and files that say what may run and
/// which rules hold. A log of the database that is not its own is the store's to refuse; and it is there while checks run.
fn unmade_of(root: &Path, database: &Place) -> Vec<PathBuf> {
    let journal = match database {
        Place::File(path) => Some(beside(path, JOURNAL)),
        Place::Server(_) => None,
    };
    [DOCKET_TOML, TASK_ORCHESTRATOR].map(|name| root.join(name)).into_iter().chain(journal).collect()
}

/// What is shown to whoever is asked about pull requests, where the operator says so. A variable that is named and not there is an
/// error: without a token, a server denies that there is what only few may see.
pub(crate) fn github_token(said: &RunnerSettings) -> Result<Option<String>, Failure> {
    // Where nobody is asked, nothing is shown to anybody.
    let Some(name) = said.github_token_variable.as_ref().filter(|_| said.github_api.is_some()) else { return Ok(None) };
    let token = std::env::var(name).ok().filter(|token| !token.trim().is_empty());
    let missing =
        || Failure::environment(format!("[runner] github_token_variable: {name} is not set in the environment"));
    token.map(Some).ok_or_else(missing)
}

/// Whoever is asked about pull requests; or why nobody is.
fn github_of(said: &RunnerSettings) -> Result<Result<github::Client, String>, Failure> {
    let Some(api) = &said.github_api else {
        let why = "no server is configured that could be asked: name it by [runner] github_api in docket.toml";
        return Ok(Err(why.to_owned()));
    };
    let token = match github_token(said) {
        Ok(token) => token,
        // Whoever starts an agent need not have the token that the file names: other checks are made all the same.
        Err(missing) => return Ok(Err(missing.to_string())),
    };
    let client = github::Client::new(github::Settings::new(api.as_str(), token));
    client.map(Ok).map_err(|error| Failure::environment(format!("[runner] github_api: {error}")))
}

/// A name that no other process has, before it or after: containers have their numbers and often their hosts in common, and what a
/// runner could not make is not offered to its name again.
fn own_name() -> Result<Name, Failure> {
    let mut random = [0; 4];
    getrandom::fill(&mut random)
        .map_err(|error| Failure::environment(format!("the system gives no randomness: {error}")))?;
    let own = format!("{:08x}", u32::from_be_bytes(random));
    let name = format!("{}:{}:{own}", host(), std::process::id());
    Ok(Name::parse(&name).or_else(|_| Name::parse(&format!("runner:{}:{own}", std::process::id())))?)
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
