//! Who runs checks for this process: put together from the configuration and where the program was started.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use docket_core::model::Name;
use docket_core::prove::{Here, Prover, Runs, Sleep, place_name};
use docket_runner::{CheckRunner, Environment, Runner, Settings, github};

use crate::config::Configuration;
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
        log_bytes: CheckRunner::LOG_BYTES,
        ..Settings::default()
    };
    let github = said.github_api.as_ref().map(|api| {
        let token = said.github_token_variable.as_ref().and_then(|name| std::env::var(name).ok());
        github::Client::new(github::Settings::new(api.as_str(), token))
    });
    let github = github.transpose().map_err(|error| Failure::environment(format!("[runner] github_api: {error}")))?;
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
    let beside = |suffix: &str| {
        let mut name = path.clone().into_os_string();
        name.push(suffix);
        PathBuf::from(name)
    };
    ["", "-wal", "-shm", "-journal"].map(beside).to_vec()
}

/// A name that no other process has at this time.
fn own_name() -> Result<Name, Failure> {
    let name = format!("{}:{}", host(), std::process::id());
    Ok(Name::parse(&name).or_else(|_| Name::parse(&format!("runner:{}", std::process::id())))?)
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
