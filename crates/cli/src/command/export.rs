//! `docket export` and `docket import`: all rows as lines of JSON, to be kept in git or moved to another database.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;

use docket_core::command::Imported;
use docket_core::model::{ItemId, ProjectId};
use docket_core::{Error, Reason, limits};
use docket_store_sqlite::Durability;
use serde::Serialize;
use std::collections::BTreeSet;

use super::jsonl::{self, Reader};
use super::progress::Progress;
use super::snapshot::Snapshot;
use crate::exit::Failure;
use crate::session::{Access, Shell, resolve};

/// Largest import.
const IMPORT_BYTES: u64 = 512 * 1024 * 1024;
/// Longest line of an import: a text at its limit, every character of it escaped, and room for the rest.
const LINE_BYTES: usize = limits::TEXT_BYTES * 6 * 4;

const EXPORT_HELP: &str = "\
The file is sorted and has no derived numbers, so that it can be kept in git and compared. Leases, \
credentials and the history of events are not in it; `docket backup` keeps those too. With --project only \
that project is written.

Examples:
  docket export work.jsonl
  docket --project web export | gzip > web.jsonl.gz";

const IMPORT_HELP: &str = "\
Ids and keys stay as they were. A project that is there already keeps its rules and takes in the items; an \
item that is there already is refused. Errors name the line.

Examples:
  docket import work.jsonl
  docket import work.jsonl --create      in a fresh clone
  zcat web.jsonl.gz | docket import -";

#[derive(Debug, clap::Args)]
#[command(after_help = EXPORT_HELP)]
pub(crate) struct Args {
    /// The file to write [default: standard output]
    path: Option<String>,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = IMPORT_HELP
)]
pub(crate) struct ImportArgs {
    /// The file to read; - reads standard input
    path: String,
    /// Make the database when there is none
    #[arg(long)]
    create: bool,
}

/// What was written.
#[derive(Serialize)]
struct Exported {
    path: String,
    projects: usize,
    items: usize,
    edges: usize,
    notes: usize,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    crate::logging::start(&shell.around, None)?;
    let store = shell.open_store(Access::Read, Durability::Full).await?;
    let progress = Progress::new(shell.out, "reading rows", None);
    let mut snapshot = Snapshot::take(&store, true, &progress).await?;
    drop(progress);
    store.close().await;
    if let Some(slug) = shell.named_project()? {
        let project = snapshot.projects.iter().find(|project| project.slug == slug);
        let project = project.ok_or_else(|| Error::not_found(format!("no project \"{slug}\" in this database")))?.id;
        narrow(&mut snapshot, project);
    }
    let lines = jsonl::write(&snapshot)?;
    let Some(path) = args.path.as_deref().filter(|path| *path != "-") else {
        return crate::output::print(&lines);
    };
    let path = resolve(&shell.around, path);
    write_file(&path, &lines)
        .map_err(|error| Failure::environment(format!("{}: cannot be written: {error}", path.display())))?;
    let done = Exported {
        path: path.display().to_string(),
        projects: snapshot.projects.len(),
        items: snapshot.items.len(),
        edges: snapshot.edges.len(),
        notes: snapshot.notes.len(),
    };
    shell.out.answer(&done, |_| {
        vec![format!(
            "wrote {}, {}, {} and {} to {}",
            super::count(done.projects, "project"),
            super::count(done.items, "item"),
            super::count(done.edges, "edge"),
            super::count(done.notes, "note"),
            done.path
        )]
    })
}

pub(crate) async fn import(shell: &Shell, args: ImportArgs) -> Result<(), Failure> {
    let (import, lines) = if args.path == "-" {
        read(std::io::stdin().lock(), "standard input")?
    } else {
        let path = resolve(&shell.around, &args.path);
        let shown = path.display().to_string();
        let file = std::fs::File::open(&path)
            .map_err(|error| Failure::environment(format!("{shown}: cannot be read: {error}")))?;
        read(BufReader::new(file), &shown)?
    };
    if args.create {
        super::init::make_database(shell, &shell.around.cwd).await?;
    }
    let session = shell.session(Access::Write).await?;
    let total = import.items.len() + import.edges.len() + import.notes.len();
    let progress = Progress::new(shell.out, "taking in rows", Some(total));
    let imported: Imported = match session.engine.run(session.call(), import).await {
        Ok(imported) => imported,
        Err(error) => {
            let line = lines.line_of(&error);
            return Err(at_line(&lines.shown, line, error).into());
        }
    };
    progress.at(total);
    drop(progress);
    session.store.close().await;
    shell.out.answer(&imported, |_| {
        vec![format!(
            "took in {}, {}, {} and {}",
            super::count(imported.projects, "project"),
            super::count(imported.items, "item"),
            super::count(imported.edges, "edge"),
            super::count(imported.notes, "note")
        )]
    })
}

/// Where the rows of a file were.
struct Lines {
    shown: String,
    reader: Reader,
}

impl Lines {
    fn line_of(&self, error: &Error) -> Option<usize> {
        self.reader.line_of(error)
    }
}

fn read(source: impl BufRead, shown: &str) -> Result<(docket_core::command::Import, Lines), Failure> {
    let mut source = source.take(IMPORT_BYTES);
    let mut reader = Reader::default();
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        let got = (&mut source).take(LINE_BYTES as u64 + 1).read_until(b'\n', &mut bytes);
        got.map_err(|error| Failure::environment(format!("{shown}: cannot be read: {error}")))?;
        if bytes.is_empty() {
            break;
        }
        let taken = match std::str::from_utf8(&bytes) {
            _ if bytes.len() > LINE_BYTES => {
                Err(Error::validation(Reason::TooLong, format!("is longer than {LINE_BYTES} bytes")))
            }
            Err(_) => Err(Error::validation(Reason::BadUtf8, "is not UTF-8 text")),
            Ok(line) if line.trim().is_empty() => Ok(()),
            Ok(line) => reader.line(number, line),
        };
        taken.map_err(|error| at_line(shown, Some(number), error))?;
    }
    if source.limit() == 0 {
        return Err(Error::validation(Reason::TooLong, format!("{shown} is larger than {IMPORT_BYTES} bytes")).into());
    }
    let import = reader.take_import().map_err(|(line, error)| at_line(shown, Some(line), error))?;
    Ok((import, Lines { shown: shown.to_owned(), reader }))
}

fn at_line(shown: &str, line: Option<usize>, error: Error) -> Error {
    let message = match line {
        Some(line) => format!("{shown}:{line}: {}", error.message),
        None => format!("{shown}: {}", error.message),
    };
    Error { message, ..error }
}

/// Keeps one project, and the edges inside it.
fn narrow(snapshot: &mut Snapshot, project: ProjectId) {
    snapshot.projects.retain(|known| known.id == project);
    snapshot.items.retain(|item| item.project == project);
    let kept: BTreeSet<ItemId> = snapshot.items.iter().map(|item| item.id).collect();
    snapshot.notes.retain(|note| kept.contains(&note.item));
    let touching =
        |edge: &docket_core::model::Edge| [edge.from, edge.to].iter().filter(|end| kept.contains(end)).count();
    let crossing = snapshot.edges.iter().filter(|edge| touching(edge) == 1).count();
    snapshot.edges.retain(|edge| touching(edge) == 2);
    if crossing > 0 {
        crate::output::remark(&format!("note: {} to other projects left out", super::count(crossing, "edge")));
    }
}

/// Writes a file whole, or leaves the one that is there.
fn write_file(path: &Path, lines: &[String]) -> std::io::Result<()> {
    let mut half = path.as_os_str().to_owned();
    half.push(format!(".{}.part", std::process::id()));
    let half = std::path::PathBuf::from(half);
    let written = || -> std::io::Result<()> {
        let mut file = std::io::BufWriter::new(std::fs::File::create(&half)?);
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
