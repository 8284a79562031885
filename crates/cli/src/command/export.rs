//! `docket export`: all rows as lines of JSON, to be kept in git or moved to another database.

use std::fs::{OpenOptions, Permissions};
use std::io::Write;
use std::path::{Path, PathBuf};

use docket_core::command::Imported;
use docket_core::{Error, Reason};
use docket_store_sqlite::Durability;
use serde::Serialize;

use super::import::IMPORT_BYTES;
use super::progress::Progress;
use super::snapshot;
use crate::database::Place;
use crate::exit::Failure;
use crate::session::{Access, Shell, resolve};

const HELP: &str = "\
The file is sorted and has no derived numbers, so that it can be kept in git and compared. Leases, \
credentials, the history of events, and runs of checks with their logs are not in it; `docket backup` keeps those too. With --project only \
that project is written. The file appears whole or not at all; a device or a pipe is written to as it is.

Examples:
  docket export work.jsonl
  docket --project web export | gzip > web.jsonl.gz";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The file to write [default: standard output]
    path: Option<String>,
    /// Write over a file that is there
    #[arg(long)]
    force: bool,
}

/// Where the lines go.
enum Sink {
    /// To standard output.
    Out,
    /// Into what is no file of its own, such as a device or a pipe.
    Through(PathBuf),
    /// Into a file, with the permissions of the one that is there.
    File(PathBuf, Option<Permissions>),
}

/// What was written.
#[derive(Serialize)]
struct Exported {
    path: String,
    #[serde(flatten)]
    rows: Imported,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    crate::logging::start(&shell.around, None, false, None, false)?;
    let sink = sink(shell, &args)?;
    let store = shell.open_store(Access::Read, Durability::Full).await?;
    let progress = Progress::new(shell.out, "reading rows");
    let mut snapshot = snapshot::take(&store, true, &progress).await?;
    drop(progress);
    store.close().await;
    if let Some(slug) = shell.named_project()? {
        let project = snapshot.projects.iter().find(|project| project.slug == slug);
        let project = project.ok_or_else(|| Error::not_found(format!("no project \"{slug}\" in this database")))?.id;
        let crossing = snapshot.narrow(project);
        if crossing > 0 {
            crate::output::remark(&format!("note: {} to other projects left out", super::count(crossing, "edge")));
        }
    }
    let rows = snapshot.rows()?;
    let lines = rows.iter().map(crate::output::json::compact).collect::<Result<Vec<String>, _>>()?;
    tell_of_size(&lines);
    let (path, written) = match sink {
        Sink::Out => return crate::output::print(&lines),
        Sink::Through(path) => {
            let written = write_through(&path, &lines);
            (path, written)
        }
        Sink::File(path, permissions) => {
            let written = write_file(&path, permissions, &lines);
            (path, written)
        }
    };
    written.map_err(|error| match error.kind() {
        std::io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
        _ => Failure::environment(format!("{}: cannot be written: {error}", path.display())),
    })?;
    let done = Exported { path: path.display().to_string(), rows: snapshot.counts() };
    shell.out.answer(&done, |_| {
        vec![format!("wrote {} to {}", super::counts(&done.rows), crate::output::escape::line(&done.path))]
    })
}

/// Says so where the file is larger than what is taken in again: who keeps it as a backup should hear of it today.
fn tell_of_size(lines: &[String]) {
    let bytes: u64 = lines.iter().map(|line| line.len() as u64 + 1).sum();
    if bytes > IMPORT_BYTES {
        crate::output::remark(&format!(
            "warning: the export has {bytes} bytes, and `docket import` takes {IMPORT_BYTES} at the most: export project by \
             project with --project, or move the database by `docket backup` and `docket restore`"
        ));
    }
}

/// Finds out where the lines go, before anything is read.
fn sink(shell: &Shell, args: &Args) -> Result<Sink, Failure> {
    let Some(path) = args.path.as_deref().filter(|path| *path != "-") else { return Ok(Sink::Out) };
    let path = resolve(&shell.around, path);
    let cannot = |error| Failure::environment(format!("{}: cannot be written: {error}", path.display()));
    let there = match std::fs::metadata(&path) {
        Ok(there) => there,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Sink::File(target(path.clone()).map_err(cannot)?, None));
        }
        Err(error) => return Err(cannot(error)),
    };
    if there.is_dir() {
        return Err(Failure::environment(format!("{}: is a folder; name a file", path.display())));
    }
    if is_standard_output(&there) {
        return Ok(Sink::Out);
    }
    if !there.is_file() {
        return Ok(Sink::Through(path));
    }
    let file = std::fs::canonicalize(&path).map_err(cannot)?;
    let place = shell.location()?.place;
    let database = if let Place::File(path) = &place { std::fs::canonicalize(path).ok() } else { None };
    if database.is_some_and(|database| database == file) {
        let message = format!("{} is the database itself: name another file", path.display());
        return Err(Error::conflict(Reason::Duplicate, message).into());
    }
    if !args.force {
        let message = format!("{} is there already: name a new file, or --force to write over it", path.display());
        return Err(Error::conflict(Reason::Duplicate, message).into());
    }
    Ok(Sink::File(file, Some(there.permissions())))
}

/// What a link leads to that leads to nothing yet; anything else is itself.
fn target(mut path: PathBuf) -> std::io::Result<PathBuf> {
    // A ring of links was an error before.
    while path.is_symlink() {
        let next = std::fs::read_link(&path)?;
        path = path.parent().map_or_else(|| next.clone(), |folder| folder.join(&next));
    }
    Ok(path)
}

/// Whether it is where standard output goes, such as `/dev/stdout`.
#[cfg(unix)]
fn is_standard_output(there: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let own = std::fs::metadata("/dev/stdout");
    // Two may have opened the same device; to write there is the same either way.
    own.is_ok_and(|own| (own.dev(), own.ino()) == (there.dev(), there.ino()))
}

#[cfg(not(unix))]
fn is_standard_output(_: &std::fs::Metadata) -> bool {
    false
}

/// Writes into what is there and stays.
fn write_through(path: &Path, lines: &[String]) -> std::io::Result<()> {
    let mut file = std::io::BufWriter::new(OpenOptions::new().write(true).open(path)?);
    for line in lines {
        writeln!(file, "{line}")?;
    }
    file.flush()
}

/// Writes a file whole, or leaves the one that is there.
fn write_file(path: &Path, permissions: Option<Permissions>, lines: &[String]) -> std::io::Result<()> {
    let mut half = path.as_os_str().to_owned();
    half.push(format!(".{}.part", std::process::id()));
    let half = PathBuf::from(half);
    let written = || -> std::io::Result<()> {
        let file = std::fs::File::create(&half)?;
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        let mut file = std::io::BufWriter::new(file);
        for line in lines {
            writeln!(file, "{line}")?;
        }
        file.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
        std::fs::rename(&half, path)
    };
    let done = written();
    if done.is_err() {
        // Half a file is of no use to anybody.
        _ = std::fs::remove_file(&half);
    }
    done
}
