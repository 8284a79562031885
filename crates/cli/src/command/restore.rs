//! `docket restore`: puts a backup in the place of the database. What was there is kept.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use docket_core::{Error, Reason};
use docket_store_sqlite::files::{BESIDE, beside};
use docket_store_sqlite::{SqliteOptions, SqliteStore, verify_backup};
use serde::Serialize;

use super::progress::Progress;
use crate::config::locate::exists;
use crate::exit::Failure;
use crate::output::escape;
use crate::session::{Shell, make_folder_of, open_failure, resolve};

const HELP: &str = "\
The backup is looked at first: one that is damaged, or of a newer docket, is refused. A database that is \
there is kept beside it under another name, and is only replaced with --force. A server that is still running \
answers nothing from then on, neither from the old database nor from the new one: start it again afterwards.

Examples:
  docket restore /var/backups/docket-monday.db
  docket --db sqlite:other.db restore monday.db --force";

#[derive(Debug, clap::Args)]
#[command(
    after_help = HELP
)]
pub(crate) struct Args {
    /// The backup
    path: String,
    /// Replace the database that is there
    #[arg(long)]
    force: bool,
}

/// What was put in place.
#[derive(Serialize)]
struct Restored {
    database: String,
    backup: String,
    /// Where the database is now that was there before.
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced: Option<String>,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    crate::logging::start(&shell.around, None, false, None, false)?;
    let place = shell.location()?.place;
    let database = place
        .file("pg_restore puts a backup back that pg_dump made; `docket import` reads what `docket export` wrote")?;
    let database = database.to_owned();
    let backup = resolve(&shell.around, &args.path);
    if !exists(&backup)? {
        return Err(Failure::environment(format!("{}: there is no such file", backup.display())));
    }
    if is_same(&backup, &database) {
        return Err(Error::conflict(Reason::Duplicate, "the backup and the database are the same file").into());
    }
    let there = exists(&database)?;
    if there && !args.force {
        let message = format!(
            "there is a database at {}: --force replaces it (it is kept under another name)",
            database.display()
        );
        return Err(Error::conflict(Reason::Duplicate, message).into());
    }
    let progress = Progress::new(shell.out, "looking at the backup");
    let wrong = verify_backup(&backup).await.map_err(|error| open_failure(&backup, error))?;
    drop(progress);
    if !wrong.is_empty() {
        let shown: Vec<String> = wrong.iter().take(5).map(|found| escape::line(found)).collect();
        return Err(Failure::environment(format!("{}: the backup is damaged: {}", backup.display(), shown.join("; "))));
    }
    make_folder_of(&database)?;
    let half = beside(&database, &format!(".{}.part", std::process::id()));
    let copied = copy(&backup, &half);
    if copied.is_err() {
        // Half a copy is of no use to anybody.
        _ = std::fs::remove_file(&half);
    }
    copied.map_err(|error| Failure::environment(format!("{}: cannot be written: {error}", half.display())))?;
    let replaced = if there { Some(set_aside(&database).await?) } else { None };
    let named =
        clear_logs(&database).and_then(|()| std::fs::rename(&half, &database)).and_then(|()| sync_folder(&database));
    named.map_err(|error| Failure::environment(format!("{}: cannot be put in place: {error}", database.display())))?;
    let done = Restored {
        database: database.display().to_string(),
        backup: backup.display().to_string(),
        replaced: replaced.map(|path| path.display().to_string()),
    };
    shell.out.answer(&done, |_| {
        let mut lines = vec![format!("restored {} from {}", escape::line(&done.database), escape::line(&done.backup))];
        lines.extend(
            done.replaced.iter().map(|path| format!("the database that was there is now {}", escape::line(path))),
        );
        lines
    })
}

fn is_same(a: &Path, b: &Path) -> bool {
    matches!((std::fs::canonicalize(a), std::fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}

/// Copies a file and puts it on the disk for good.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::copy(from, to)?;
    File::open(to)?.sync_all()
}

/// Gives the database that is there another name, its log with it, so that nothing is lost.
async fn set_aside(database: &Path) -> Result<PathBuf, Failure> {
    // Closing it brings its log home, unless it is damaged or somebody else has it open: then the log goes with it.
    if let Ok(store) = SqliteStore::open(SqliteOptions::new(database)).await {
        store.close().await;
        let real = database.canonicalize().unwrap_or_else(|_| database.to_owned());
        if exists(&beside(&real, "-wal"))? {
            crate::output::remark(
                "warning: another process has the database open: it refuses everything from now on, until it is started again",
            );
        }
    }
    let millis = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_millis());
    let aside = beside(database, &format!(".replaced-{millis}"));
    let moved = || -> std::io::Result<()> {
        for suffix in BESIDE {
            match std::fs::rename(beside(database, suffix), beside(&aside, suffix)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        // A second name, so that there is never a moment without a database.
        std::fs::hard_link(database, &aside).or_else(|_| std::fs::rename(database, &aside))
    };
    moved().map_err(|error| Failure::environment(format!("{}: cannot be set aside: {error}", database.display())))?;
    Ok(aside)
}

/// A log or a journal that is left from another database would be taken for this one's.
fn clear_logs(database: &Path) -> std::io::Result<()> {
    for suffix in BESIDE {
        match std::fs::remove_file(beside(database, suffix)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

fn sync_folder(file: &Path) -> std::io::Result<()> {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => File::open(folder)?.sync_all(),
        Some(_) | None => Ok(()),
    }
}
