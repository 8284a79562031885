//! `docket doctor`: looks at the whole database and says what is wrong with it.

use std::collections::BTreeMap;

use docket_core::Reason;
use docket_core::doctor::{Check, Finding, Refile, Repair, Rows, examine, misfiled, unfiled};
use docket_core::model::{Item, ItemId, Key};
use docket_core::store::StoreError;
use docket_store_sqlite::Durability;
use serde::Serialize;

use super::progress::Progress;
use super::snapshot;
use crate::database::{Database, Place};
use crate::exit::{FOUND, Failure, plain};
use crate::output::{Paint, escape};
use crate::session::{Access, Shell, on_network};

/// How often is repaired and looked again while others write.
const ROUNDS: usize = 3;
/// Findings that a person is shown; programs get all.
const SHOWN: usize = 50;

const HELP: &str = "\
First the file itself, then everything that is derived: blockers, ranks, readiness, depths, key numbers and \
what items are found by are computed anew and compared. Ends with exit code 1 when something was found and is still \
so. It may run while others work.

Examples:
  docket doctor
  docket doctor --repair
  docket --db sqlite:backup.db doctor --json";

#[derive(Debug, clap::Args)]
#[command(
    after_help = HELP
)]
pub(crate) struct Args {
    /// Put right what can be computed; everything else is only told
    #[arg(long)]
    repair: bool,
}

/// What was found.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    database: String,
    items: usize,
    edges: usize,
    /// What may become a danger, and is nothing that is wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    /// What is wrong with the file.
    file: Vec<String>,
    /// What does not agree in it.
    rows: Vec<Finding>,
    /// How many of the rows' findings were put right.
    repaired: usize,
}

impl Report {
    fn repairable(&self) -> usize {
        self.rows.iter().filter(|finding| finding.repairable).count()
    }

    fn is_healthy(&self) -> bool {
        self.file.is_empty() && self.rows.is_empty()
    }
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    crate::logging::start(&shell.around, None, false, None, false)?;
    let place = shell.location()?.place;
    let warnings = match &place {
        Place::File(path) => on_network(path).into_iter().collect(),
        Place::Server(_) => Vec::new(),
    };
    let mut report = Report { database: place.shown(), warnings, ..Report::default() };
    let keys = match look_and_mend(shell, &args, &mut report).await {
        Ok(keys) => keys,
        // What is too damaged to be read is no failure of ours to look: it is what was found.
        Err(Failure::Engine(error)) if error.reason == Reason::StoreCorrupt => {
            // Where the file itself was found damaged, that says more.
            if report.file.is_empty() {
                report.file.push(error.message);
            }
            BTreeMap::new()
        }
        Err(failure) => return Err(failure),
    };
    shell.out.answer(&report, |paint| render(&report, &keys, paint))?;
    if report.is_healthy() { Ok(()) } else { Err(Failure::Told(FOUND)) }
}

async fn look_and_mend(shell: &Shell, args: &Args, report: &mut Report) -> Result<BTreeMap<ItemId, Key>, Failure> {
    let access = if args.repair { Access::Write } else { Access::Read };
    let store = shell.open_store(access, Durability::Full).await?;
    let progress = Progress::new(shell.out, "looking at the file");
    report.file = match store.integrity().await {
        Ok(found) => found,
        // It could not be looked at to the end: the store says where it stopped.
        Err(error @ StoreError::Corrupt(_)) => vec![plain(error).message],
        Err(error) => return Err(error.into()),
    };
    drop(progress);
    let cleared = args.repair && (store.clear_search().await? | store.recount().await?);
    let (mut items, mut keys) = look(shell, &store, report).await?;
    for _ in 0..ROUNDS {
        let before = report.repairable();
        if before == 0 || !args.repair {
            break;
        }
        for repair in Repair::of(&report.rows, &items) {
            store.store().execute(Box::new(repair)).await?;
        }
        for refile in Refile::of(&store.misfiled().await?) {
            store.store().execute(Box::new(refile)).await?;
        }
        (items, keys) = look(shell, &store, report).await?;
        report.repaired += before.saturating_sub(report.repairable());
    }
    if cleared {
        report.file = store.integrity().await?;
    }
    store.close().await;
    Ok(keys)
}

/// Looks at all rows; returns the items, and their keys.
async fn look(
    shell: &Shell,
    store: &Database,
    report: &mut Report,
) -> Result<(Vec<Item>, BTreeMap<ItemId, Key>), Failure> {
    let progress = Progress::new(shell.out, "looking at rows");
    let snapshot = snapshot::take(store, false, &progress).await?;
    drop(progress);
    report.items = snapshot.items.len();
    report.edges = snapshot.edges.len();
    report.rows = examine(Rows {
        projects: &snapshot.projects,
        items: &snapshot.items,
        edges: &snapshot.edges,
        briefs: &snapshot.briefs,
        questions: &snapshot.questions,
        sessions: &snapshot.sessions,
    });
    report.rows.extend(unfiled(store.unfiled().await?));
    report.rows.extend(misfiled(&store.misfiled().await?));
    let projects: BTreeMap<_, _> = snapshot.projects.iter().map(|project| (project.id, project)).collect();
    let keys = snapshot.items.iter().filter_map(|item| Some((item.id, projects.get(&item.project)?.key(item.number))));
    let keys = keys.collect();
    Ok((snapshot.items, keys))
}

fn render(report: &Report, keys: &BTreeMap<ItemId, Key>, paint: Paint) -> Vec<String> {
    let warnings = report.warnings.iter().map(|warning| format!("warning: {}", escape::line(warning)));
    let file = report.file.iter().map(|found| format!("{} {}", paint.bad("file:"), escape::line(found)));
    let mut lines: Vec<String> = warnings.chain(file).collect();
    for finding in report.rows.iter().take(SHOWN) {
        let item = finding.item.map(|id| keys.get(&id).map_or_else(|| id.to_string(), ToString::to_string));
        let item = item.map_or_else(String::new, |item| format!("{} ", paint.key(&item)));
        lines.push(format!("{} {item}{}", paint.bad("row:"), escape::line(&finding.message)));
    }
    if report.rows.len() > SHOWN {
        lines.push(paint.dim(&format!("and {} more; --json shows all", report.rows.len() - SHOWN)));
    }
    let (items, edges) = (super::count(report.items, "item"), super::count(report.edges, "edge"));
    let looked = format!("{items} and {edges} in {}", escape::line(&report.database));
    if report.repaired > 0 {
        lines.push(paint.good(&format!("repaired {}", super::count(report.repaired, "finding"))));
    }
    if report.is_healthy() {
        lines.push(format!("{} {looked}", paint.good("nothing is wrong:")));
        return lines;
    }
    if report.repairable() > 0 {
        lines.push(paint.dim("`docket doctor --repair` puts right what can be computed"));
    }
    // What is in a status that went away is moved out of it: nothing is damaged.
    let damaged = |finding: &Finding| !finding.repairable && finding.check != Check::Status;
    if !report.file.is_empty() || report.rows.iter().any(damaged) {
        let rest = "`docket export` saves what can still be read; `docket restore` puts a whole backup in its place";
        lines.push(paint.dim(rest));
    }
    lines
}
