//! Where things are: the database and the configuration, looked for from the working folder upwards.
//!
//! A git worktree is another checkout of the same work, so it finds what its main checkout has. Git itself is not
//! called: its small files say where that is, on both sides.

use std::path::{Path, PathBuf};

use docket_core::echo;

use super::node::ConfigError;
use super::telemetry::Variables;
use crate::database::Place;
use crate::exit::Failure;

/// The folder that a database is made in where nobody says where.
pub(crate) const OWN_FOLDER: &str = ".docket";
/// What a database is called there, and in the user's own folder.
const DATABASE: &str = "docket.db";

/// Everything around the process that decides where things are. Read once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Surroundings {
    pub(crate) cwd: PathBuf,
    pub(crate) docket_db: Option<String>,
    pub(crate) docket_actor: Option<String>,
    pub(crate) docket_config: Option<String>,
    pub(crate) agent_config_dir: Option<String>,
    pub(crate) degraded_mode_policy: Option<String>,
    pub(crate) log_filter: Option<String>,
    pub(crate) telemetry: Variables,
    pub(crate) data_folder: Option<PathBuf>,
    pub(crate) user: Option<String>,
}

/// How the database was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The caller named it.
    Named,
    /// It lies in this folder, one above, or the main checkout.
    Found,
    /// Nothing was found: the user's own folder.
    DataFolder,
}

/// Where the database is, or would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) place: Place,
    pub(crate) origin: Origin,
}

impl Surroundings {
    /// Reads the environment. Text that is not UTF-8 is refused; an empty variable counts as none.
    pub(crate) fn read() -> Result<Self, Failure> {
        let cwd = std::env::current_dir()
            .map_err(|error| Failure::environment(format!("the working folder cannot be read: {error}")))?;
        let home = std::env::home_dir().filter(|home| home.is_absolute());
        let data = variable("XDG_DATA_HOME")?.map(PathBuf::from).filter(|folder| folder.is_absolute());
        let data_folder =
            data.or_else(|| home.map(|home| home.join(".local/share"))).map(|folder| folder.join("docket"));
        Ok(Self {
            cwd,
            docket_db: variable("DOCKET_DB")?,
            docket_actor: variable("DOCKET_ACTOR")?,
            docket_config: variable("DOCKET_CONFIG")?,
            agent_config_dir: variable("AGENT_CONFIG_DIR")?,
            degraded_mode_policy: variable("DEGRADED_MODE_POLICY")?,
            log_filter: match variable("DOCKET_LOG")? {
                Some(filter) => Some(filter),
                None => variable("RUST_LOG")?,
            },
            telemetry: Variables {
                endpoint: variable("OTEL_EXPORTER_OTLP_ENDPOINT")?,
                traces_endpoint: variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")?,
                protocol: match variable("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")? {
                    Some(protocol) => Some(protocol),
                    None => variable("OTEL_EXPORTER_OTLP_PROTOCOL")?,
                },
                exporter: variable("OTEL_TRACES_EXPORTER")?,
                disabled: variable("OTEL_SDK_DISABLED")?,
            },
            data_folder,
            user: os_user()?,
        })
    }

    /// The first folder upwards that has this file.
    pub(crate) fn find_up(&self, file: impl AsRef<Path>) -> Result<Option<PathBuf>, ConfigError> {
        for folder in folders(&self.cwd) {
            let file = folder.join(&file);
            if exists(&file)? {
                return Ok(Some(file));
            }
        }
        Ok(None)
    }

    /// Where the database is: as named, else found upwards, else in the user's data folder.
    pub(crate) fn database(&self, named: Option<&str>) -> Result<Location, Failure> {
        if let Some(named) = named.or(self.docket_db.as_deref()) {
            return Ok(Location { place: parse_database(&self.cwd, named)?, origin: Origin::Named });
        }
        if let Some(path) = self.find_up(database_in(""))? {
            return Ok(Location { place: Place::File(path), origin: Origin::Found });
        }
        match &self.data_folder {
            Some(folder) => Ok(Location { place: Place::File(folder.join(DATABASE)), origin: Origin::DataFolder }),
            None => Err(Failure::environment(
                "no Docket database here, and neither HOME nor XDG_DATA_HOME says where your own would be: \
                 run `docket init`, or name a database with --db",
            )),
        }
    }
}

/// The database's place inside a folder of work.
pub(crate) fn database_in(folder: impl AsRef<Path>) -> PathBuf {
    folder.as_ref().join(OWN_FOLDER).join(DATABASE)
}

/// What `--db` names: `postgres://…`, `sqlite:PATH`, or a bare path.
fn parse_database(cwd: &Path, named: &str) -> Result<Place, Failure> {
    let scheme = named.split_once(':').filter(|(scheme, _)| {
        // One letter is a drive of Windows.
        scheme.len() > 1
            && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c))
    });
    let path = match scheme {
        None => named,
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("sqlite") => rest.strip_prefix("//").unwrap_or(rest),
        Some((scheme, _)) if scheme.eq_ignore_ascii_case("postgres") || scheme.eq_ignore_ascii_case("postgresql") => {
            return Ok(Place::Server(named.to_owned()));
        }
        Some((scheme, _)) => {
            return Err(Failure::environment(format!(
                "--db: \"{}\" is not a kind of database that this version knows; known: sqlite:PATH, a plain path, or \
                 postgres://USER@HOST/DATABASE",
                echo(scheme)
            )));
        }
    };
    match path {
        "" => Err(Failure::environment("--db names no file: write sqlite:PATH, or a plain path")),
        ":memory:" => {
            Err(Failure::environment("--db: a database in memory would be gone with the process: name a file"))
        }
        path if path.contains('\0') => Err(Failure::environment("--db: a path cannot hold a NUL character")),
        path => Ok(Place::File(cwd.join(path))),
    }
}

/// The folders to look in: upwards from `start`, and from a git worktree also upwards from the same place in its main
/// checkout.
pub(crate) fn folders(start: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    let mut push = |folder: &Path| {
        if !folders.iter().any(|known| known == folder) {
            folders.push(folder.to_owned());
        }
    };
    for folder in start.ancestors() {
        push(folder);
        if let Some(main) = main_checkout(folder) {
            let inside = start.strip_prefix(folder).map_or_else(|_| main.clone(), |inside| main.join(inside));
            inside.ancestors().for_each(&mut push);
        }
    }
    folders
}

/// The main checkout of a folder that is the root of a git worktree, where git's own folder there says so, too: a file in a work tree
/// is anybody's. A submodule, whose `.git` is a file as well, is no worktree.
fn main_checkout(folder: &Path) -> Option<PathBuf> {
    let (_, common) = docket_runner::linked(folder)?;
    let name = common.file_name()?.to_str()?;
    // A bare repository has no checkout of its own, unless it is hidden in the folder of all checkouts.
    name.starts_with('.').then(|| common.parent().map(Path::to_owned)).flatten()
}

/// Whether a file is there. A folder that may not be looked into is an error: what is behind it might be the right one.
pub(crate) fn exists(file: &Path) -> Result<bool, ConfigError> {
    match std::fs::metadata(file) {
        Ok(_) => Ok(true),
        Err(error) => match error.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => Ok(false),
            _ => Err(ConfigError {
                file: file.to_owned(),
                place: None,
                key: String::new(),
                message: match error.kind() {
                    std::io::ErrorKind::PermissionDenied => {
                        format!(
                            "cannot be looked at: {error}; run it from a folder that this user may enter, such as /"
                        )
                    }
                    _ => format!("cannot be looked at: {error}"),
                },
            }),
        },
    }
}

fn variable(name: &str) -> Result<Option<String>, Failure> {
    match std::env::var(name) {
        Ok(value) => Ok(Some(value).filter(|value| !value.is_empty())),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => {
            Err(Failure::bad_utf8(format!("the environment variable {name} is not UTF-8 text")))
        }
    }
}

/// The name under which the operating system knows us.
fn os_user() -> Result<Option<String>, Failure> {
    for name in ["USER", "LOGNAME", "USERNAME"] {
        if let Some(user) = variable(name)? {
            return Ok(Some(user));
        }
    }
    Ok(user_by_number())
}

/// Services and containers often have no variable for it; the owner of our own process entry says it too.
#[cfg(unix)]
fn user_by_number() -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let number = std::fs::metadata("/proc/self").ok()?.uid().to_string();
    let known = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = known.lines().find_map(|line| {
        let mut parts = line.split(':');
        let name = parts.next()?;
        (parts.nth(1)? == number).then(|| name.to_owned())
    });
    Some(name.unwrap_or_else(|| format!("uid-{number}")))
}

#[cfg(not(unix))]
fn user_by_number() -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worktree_that_the_other_side_knows_nothing_of_is_none() {
        let made = tempfile::tempdir().expect("a folder");
        let root = made.path().canonicalize().expect("a path");
        let (tree, own) = (root.join("elsewhere/tree"), root.join("main/.git/worktrees/tree"));
        std::fs::create_dir_all(&tree).expect("a folder");
        std::fs::create_dir_all(&own).expect("a folder");
        let write = |file: PathBuf, text: &str| std::fs::write(file, text).expect("a file");
        write(own.join("commondir"), "../..\n");
        write(tree.join(".git"), &format!("gitdir: {}\n", own.display()));
        // What a file in a work tree names may have been put there for it.
        assert!(!folders(&tree).contains(&root.join("main")));
        write(own.join("gitdir"), "/another/place/.git\n");
        assert!(!folders(&tree).contains(&root.join("main")));
        write(own.join("gitdir"), &format!("{}\n", tree.join(".git").display()));
        assert!(folders(&tree).contains(&root.join("main")));
    }
}
