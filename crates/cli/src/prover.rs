//! Who runs checks for this process: put together from the configuration and where the program was started.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use docket_core::model::Name;
use docket_core::prove::{Here, Prover, Runs, Sleep, place_name};
use docket_runner::{CheckRunner, Environment, Runner, Settings, github};
use docket_store_sqlite::files::{self, JOURNAL};

use crate::config::locate::{OWN_FOLDER, database_in, folders};
use crate::config::runner::RunnerSettings;
use crate::config::{Configuration, DOCKET_TOML, TASK_ORCHESTRATOR};
use crate::database::Place;
use crate::exit::Failure;

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
    prover_in(config, root(config, cwd), cwd, database)
}

/// One who runs checks in a work tree, for whoever was started somewhere.
pub(crate) fn prover_in(
    config: &Configuration,
    root: PathBuf,
    cwd: &Path,
    database: &Place,
) -> Result<Arc<dyn Prover>, Failure> {
    let said = &config.runner;
    let looked_in = looked_in(config, &root, cwd);
    let environment = Environment { keep: said.keep.clone(), ..Environment::default() };
    let settings = Settings {
        environment,
        writable: said.writable.clone(),
        apart: files_of(database),
        own: own_of(config, &looked_in, database),
        unmade: unmade_of(&looked_in, database),
        pointers: looked_in.iter().map(|folder| folder.join(".git")).collect(),
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
    match database {
        Place::File(path) => files::files_of(path),
        Place::Server(_) => Vec::new(),
    }
}

/// The folders in which whoever begins here looks for a database and for configuration, as far as a check may write there.
fn looked_in(config: &Configuration, root: &Path, cwd: &Path) -> Vec<PathBuf> {
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let written: Vec<PathBuf> =
        std::iter::once(root).chain(config.runner.writable.iter().map(PathBuf::as_path)).map(whole).collect();
    let beside = config.files.iter().filter_map(|file| file.parent()).map(Path::to_owned);
    let looked = folders(cwd).into_iter().chain(folders(root)).chain(beside);
    let is_written = |folder: &PathBuf| written.iter().any(|place| whole(folder).starts_with(place));
    looked.filter(is_written).chain([root.to_owned()]).collect()
}

/// The files in these folders that say what may run and which rules hold.
fn said_in(folders: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    folders.iter().flat_map(|folder| [DOCKET_TOML, TASK_ORCHESTRATOR].map(|name| folder.join(name)))
}

/// What checks are kept from writing, wherever it lies: the database, with its folder where that is for nothing else, and the files
/// that say what may run.
fn own_of(config: &Configuration, looked_in: &[PathBuf], database: &Place) -> Vec<PathBuf> {
    let files = files_of(database);
    let folder = files.first().and_then(|file| file.parent()).filter(|folder| folder.ends_with(OWN_FOLDER));
    let said = config.files.iter().cloned().chain(said_in(looked_in));
    folder.map(Path::to_owned).into_iter().chain(said).chain(files).collect()
}

/// What checks are kept from making: what SQLite would roll back before anything else is read, files that say what may run and
/// which rules hold, and a database that would be found before this one. A log of the database that is not its own is the store's to
/// refuse; and it is there while checks run.
fn unmade_of(looked_in: &[PathBuf], database: &Place) -> Vec<PathBuf> {
    let journals = files_of(database).into_iter().filter(|file| file.to_string_lossy().ends_with(JOURNAL));
    said_in(looked_in).chain(looked_in.iter().map(database_in)).chain(journals).collect()
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
