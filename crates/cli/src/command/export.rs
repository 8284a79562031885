//! `docket export`: all rows as lines of JSON, to be kept in git or moved to another database.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use docket_core::Error;
use docket_core::model::{ItemId, ProjectId};
use docket_store_sqlite::Durability;
use serde::Serialize;

use super::jsonl;
use super::progress::Progress;
use super::snapshot::Snapshot;
use crate::exit::Failure;
use crate::session::{Access, Shell, resolve};

const HELP: &str = "\
The file is sorted and has no derived numbers, so that it can be kept in git and compared. Leases, \
credentials and the history of events are not in it; `docket backup` keeps those too. With --project only \
that project is written.

Examples:
  docket export work.jsonl
  docket --project web export | gzip > web.jsonl.gz";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The file to write [default: standard output]
    path: Option<String>,
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
            crate::output::escape::line(&done.path)
        )]
    })
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
