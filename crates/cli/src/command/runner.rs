//! `docket runner`: makes the checks that wait in the database, beside a server that runs nothing itself.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use docket_core::limits;
use docket_core::model::{Key, Run, RunEnd, RunId, RunState};
use docket_core::prove::Listener;

use super::crew::{Crew, Orders};
use crate::exit::Failure;
use crate::output::escape;
use crate::session::{Access, Shell};

const HELP: &str = "\
Checks are run in the work tree that it is started in, or that [runner] repository in docket.toml names, and with --worktrees \
also in those that git links to it. They are of one project: the one that is named, or the only one. It makes what was ordered \
in its own work trees or through a server, and asks about pull requests wherever they were ordered. Several checks are made at \
once, but only one command at a time in one work tree, unless [runner] jobs_per_worktree says more. It runs what somebody has \
approved exactly as it is (`docket check approve`), and what [runner] allow lets run without that. Several runners may \
share one database: each run is made once.

Examples:
  docket runner
  docket --db postgres://docket@db/docket runner --project web
  docket runner --worktrees --jobs 4       also in the work trees that are linked to this one
  docket runner --once                     make what waits, then end";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// Make what waits now, then end
    #[arg(long)]
    once: bool,
    /// Make checks in the work trees that are linked to this one, too; those that are added later are found
    #[arg(long)]
    worktrees: bool,
    /// How many checks to make at once, at the most; as many as there are cores, unless docket.toml says otherwise
    #[arg(long, value_name = "NUMBER", value_parser = jobs)]
    jobs: Option<usize>,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let config = shell.configuration()?;
    // A runner that could not ask as it is told to would turn merged work away.
    crate::prover::github_token(&config.runner)?;
    let session = shell.session(Access::Write).await?;
    let root = crate::prover::root(&config, &shell.around.cwd);
    let orders = Orders {
        linked: args.worktrees || config.runner.worktrees,
        jobs: args.jobs.or(config.runner.jobs).unwrap_or_else(cores),
        database: shell.location()?.place,
        // Work trees of one repository are of one project: what others own is not run in them.
        project: session.project_ref()?,
        root,
        cwd: shell.around.cwd.clone(),
        config,
    };
    let (jobs, started_in, database) = (orders.jobs, orders.root.clone(), orders.database.shown());
    // In place of the one who tells of a command's checks, one after the other: here several are made at once.
    let engine = session.engine.telling_nobody().telling(Arc::new(Told::default()));
    let mut crew = Crew::new(engine, session.caller().clone(), orders)?;
    if !args.once {
        let places = crew.places();
        let called = if places.is_empty() { String::new() } else { format!(" ({})", escape::line(&places.join(", "))) };
        crate::output::remark(&format!(
            "docket: makes the checks of {} in {}{called}, {jobs} at once at the most; stop it with Ctrl-C",
            escape::line(&database),
            escape::line(&started_in.to_string_lossy())
        ));
    }
    // What it is at when it is told to stop waits for another: see `Shell::give_up_runs`.
    let ended = tokio::select! {
        ended = async { if args.once { crew.make_what_waits().await } else { crew.work().await } } => ended,
        stopped = super::serve::stopped() => stopped,
    };
    crew.stop().await;
    ended
}

/// How many checks are made at once where nobody says.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(limits::RUNNER_JOBS)
}

fn jobs(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=limits::RUNNER_JOBS).contains(number));
    number.ok_or_else(|| format!("must be a number from 1 to {}", limits::RUNNER_JOBS))
}

/// Says on standard error what is done, and once for each run that nobody lets run.
#[derive(Debug, Default)]
struct Told {
    barred: Mutex<BTreeSet<RunId>>,
}

impl Listener for Told {
    fn begins(&self, run: &Run, _place: usize, _of: usize) {
        tracing::info!(run = %run.id, item = %run.item, "a check begins");
        crate::output::remark(&format!("{}  begins  {}", run.id, escape::line(run.desc.as_str())));
    }

    fn says(&self, _run: &Run, _text: &str) {}

    fn ends(&self, run: &Run) {
        let how = run.end.as_ref().map(ToString::to_string).unwrap_or_default();
        let verb = match run.state {
            RunState::Passed => "passed",
            RunState::Failed => "failed",
            RunState::Queued => match run.end {
                Some(RunEnd::NotMade { passing: false, .. }) => "waits for another runner:",
                Some(_) | None => "is looked at again:",
            },
            RunState::Running | RunState::Cancelled | RunState::Lost => "ended",
        };
        crate::output::remark(&format!(
            "{}  {verb}  {} ({})",
            run.id,
            escape::line(run.desc.as_str()),
            escape::line(&how)
        ));
    }

    fn barred(&self, run: &Run, item: &Key) {
        if self.barred.lock().unwrap_or_else(PoisonError::into_inner).insert(run.id) {
            crate::output::remark(&format!(
                "{}  waits for approval  {} (`docket check approve {item}`, by somebody else than its author)",
                run.id,
                escape::line(run.desc.as_str())
            ));
        }
    }
}
