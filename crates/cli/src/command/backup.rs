//! `docket backup`: whole copies of the database.

use std::path::Path;

use docket_core::{Error, Reason};
use docket_store_sqlite::Durability;
use serde::Serialize;

use super::progress::Progress;
use crate::config::locate::exists;
use crate::database::Database;
use crate::exit::Failure;
use crate::output::escape;
use crate::session::{Access, Shell, resolve};

const HELP: &str = "\
The copy is of one moment; others may go on working meanwhile. The file appears whole or not at all, and one \
that is there is never overwritten. A database on a Postgres server is backed up by pg_dump.

Examples:
  docket backup /var/backups/docket-monday.db";

/// What to do about a server.
const USE_PG_DUMP: &str =
    "pg_dump makes backups of it, and pg_restore puts them back; `docket export` writes the rows as text";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The file to make
    path: String,
}

/// What was written.
#[derive(Serialize)]
struct BackedUp {
    database: String,
    backup: String,
    bytes: u64,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    crate::logging::start(&shell.around, None, false, None, false)?;
    shell.location()?.place.file(USE_PG_DUMP)?;
    let path = resolve(&shell.around, &args.path);
    if exists(&path)? {
        return Err(Error::conflict(
            Reason::Duplicate,
            format!("{} is there already: name a new file", path.display()),
        )
        .into());
    }
    if !path.parent().is_some_and(Path::is_dir) {
        return Err(Failure::environment(format!("{}: its folder is not there", path.display())));
    }
    let Database::Sqlite(store) = shell.open_store(Access::Read, Durability::Full).await? else {
        return Err(Failure::environment(USE_PG_DUMP));
    };
    let progress = Progress::new(shell.out, "copying");
    store.backup_to(&path).await?;
    drop(progress);
    store.close().await;
    let bytes = std::fs::metadata(&path).map_or(0, |file| file.len());
    let done = BackedUp { database: shell.location()?.place.shown(), backup: path.display().to_string(), bytes };
    shell
        .out
        .answer(&done, |_| vec![format!("wrote {} ({} KiB)", escape::line(&done.backup), done.bytes.div_ceil(1024))])
}
