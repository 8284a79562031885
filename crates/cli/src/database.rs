//! The database that a command works on: a file or a server. What differs between the two is decided here.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use docket_core::Error;
use docket_core::model::{EntryId, ItemId};
use docket_core::store::{Store, StoreError};
use docket_store_postgres::{PostgresOptions, PostgresStore};
use docket_store_sqlite::{Durability, Lost, SqliteOptions, SqliteStore};

use crate::exit::Failure;

/// What `--db` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A SQLite file.
    File(PathBuf),
    /// A Postgres database, by its address.
    Server(String),
}

impl Place {
    /// The place as it is shown and logged: never with a password.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Server(url) => without_password(url),
        }
    }

    /// The place as `--db` takes it, without a password: that belongs into `PGPASSWORD` or a password file.
    pub(crate) fn word(&self) -> String {
        match self {
            Self::File(path) => format!("sqlite:{}", path.display()),
            Self::Server(url) => without_password(url),
        }
    }

    /// The file, for what can only be done with one. `instead` says what to do about a server.
    pub(crate) fn file(&self, instead: &str) -> Result<&Path, Failure> {
        match self {
            Self::File(path) => Ok(path),
            Self::Server(_) => Err(Failure::environment(format!("this is a Postgres database: {instead}"))),
        }
    }

    /// Whether a file is known not to be there. A server is asked when it is opened.
    pub(crate) fn is_missing(&self) -> Result<bool, Failure> {
        match self {
            Self::File(path) => Ok(!crate::config::locate::exists(path)?),
            Self::Server(_) => Ok(false),
        }
    }
}

/// How a database is opened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Opening {
    /// Whether to make it when there is none.
    pub(crate) create: bool,
    /// Whether to read alone.
    pub(crate) read_only: bool,
    /// What an acknowledged write survives, in a file; a server has its own settings for that.
    pub(crate) durability: Durability,
}

/// An open database.
#[derive(Clone, Debug)]
pub(crate) enum Database {
    /// A SQLite file.
    Sqlite(Arc<SqliteStore>),
    /// A Postgres database.
    Postgres(Arc<PostgresStore>),
}

impl Database {
    /// Opens it, with its place in what goes wrong.
    pub(crate) async fn open(place: &Place, opening: Opening) -> Result<Self, Failure> {
        match place {
            Place::File(path) => {
                let options = SqliteOptions::new(path)
                    .create(opening.create)
                    .read_only(opening.read_only)
                    .durability(opening.durability);
                crate::session::open(options).await.map(Self::Sqlite)
            }
            Place::Server(url) => {
                let opened = async {
                    let options = PostgresOptions::parse(url)?.create(opening.create).read_only(opening.read_only);
                    PostgresStore::open_newest(options).await
                };
                opened.await.map(|store| Self::Postgres(Arc::new(store))).map_err(|error| refused(place, error))
            }
        }
    }

    /// The store behind it.
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::Sqlite(store) => Arc::clone(store) as Arc<dyn Store>,
            Self::Postgres(store) => Arc::clone(store) as Arc<dyn Store>,
        }
    }

    /// Everything that is wrong with what it keeps beside the rows.
    pub(crate) async fn integrity(&self) -> Result<Vec<String>, StoreError> {
        match self {
            Self::Sqlite(store) => store.integrity().await,
            Self::Postgres(store) => store.integrity().await,
        }
    }

    /// Items that are not found by their words and tags.
    pub(crate) async fn unfiled(&self) -> Result<Vec<ItemId>, StoreError> {
        match self {
            Self::Sqlite(store) => store.unfiled().await,
            Self::Postgres(store) => store.unfiled().await,
        }
    }

    /// Entries of the knowledge that are not found by what they should be found by.
    pub(crate) async fn misfiled(&self) -> Result<Vec<EntryId>, StoreError> {
        match self {
            Self::Sqlite(store) => store.misfiled().await,
            Self::Postgres(store) => store.misfiled().await,
        }
    }

    /// Counts the knowledge anew, where its count is wrong.
    pub(crate) async fn recount(&self) -> Result<bool, StoreError> {
        match self {
            Self::Sqlite(store) => store.recount().await,
            Self::Postgres(store) => store.recount().await,
        }
    }

    /// Empties a search index that is a table of its own and damaged, so that it can be filled anew.
    pub(crate) async fn clear_search(&self) -> Result<bool, StoreError> {
        match self {
            Self::Sqlite(store) => store.clear_search().await,
            Self::Postgres(_) => Ok(false),
        }
    }

    /// Returns when the disk beneath a file did not keep what was written, or another file is in its place: this process must not go
    /// on then, and whoever looks after it starts it again. What a server's disk does is the server's.
    pub(crate) async fn lost(&self) -> Failure {
        let lost = match self {
            Self::Sqlite(store) => store.lost().await,
            Self::Postgres(_) => std::future::pending().await,
        };
        let said = match lost {
            Lost::Disk => {
                "the disk did not keep what was written: this process ends. Look after the disk, then run `docket doctor`"
            }
            Lost::Replaced => {
                "the database file was replaced or moved away while this process had it open: it ends. Start it again to serve what is \
                 there now"
            }
        };
        Failure::environment(said.to_owned())
    }

    /// Finishes what runs, and closes it.
    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(store) => store.close().await,
            Self::Postgres(store) => store.close().await,
        }
    }
}

/// What to say of a server's database that cannot be opened.
fn refused(place: &Place, error: StoreError) -> Failure {
    if let Some(source) = std::error::Error::source(&error) {
        tracing::debug!(error = source, "the database cannot be opened");
    }
    let hint = match &error {
        // It says where it looked.
        StoreError::Away(_) => return crate::exit::plain(error).into(),
        StoreError::Foreign => {
            ": its schema is empty, or holds tables of something else. `docket init` makes Docket's tables in an empty one"
        }
        _ => "",
    };
    let plain = crate::exit::plain(error);
    let message = format!("{}: {}{hint}", place.shown(), plain.message);
    Error { message, ..plain }.into()
}

/// An address without the password in it.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let shown = match authority.rsplit_once('@') {
        Some((user, host)) => {
            let user = user.split(':').next().unwrap_or_default();
            format!("{user}@{host}")
        }
        None => authority.to_owned(),
    };
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let query = query.map(|query| {
        let kept: Vec<&str> = query.split('&').filter(|pair| !pair.starts_with("password=")).collect();
        kept.join("&")
    });
    let query = query.filter(|query| !query.is_empty()).map_or_else(String::new, |query| format!("?{query}"));
    format!("{scheme}://{shown}{path}{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        for (url, shown) in [
            ("postgres://ann:se:cret@db/work", "postgres://ann@db/work"),
            ("postgres://ann:p%40ss@db:5433/work?sslmode=require", "postgres://ann@db:5433/work?sslmode=require"),
            (
                "postgres://db/work?user=ann&password=secret&sslmode=require",
                "postgres://db/work?user=ann&sslmode=require",
            ),
            ("postgres:///work?password=secret", "postgres:///work"),
            ("postgres://ann@db", "postgres://ann@db"),
        ] {
            assert_eq!(without_password(url), shown);
            assert_eq!(Place::Server(url.to_owned()).word(), shown);
        }
    }
}
