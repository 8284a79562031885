//! `docket runner`: makes the checks that wait in the database, beside a server that runs nothing itself.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use docket_core::model::{Key, Run, RunEnd, RunId, RunState, Taking};
use docket_core::prove::{Listener, Next, Prover};
use docket_core::store::ProjectRef;
use docket_core::{Engine, Kind};

use crate::exit::Failure;
use crate::output::escape;
use crate::session::{Access, Caller, Shell};

/// How often it looks though nothing was committed: a runner may have gone away in the middle of a run.
const LOOK_SELDOM: Duration = Duration::from_secs(30);
/// How long it waits when the database turns it away.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

const HELP: &str = "\
Checks are run in the work tree that it is started in, or that [runner] repository in docket.toml names. A runner has one \
work tree, so it makes the checks of one project: the one that is named, or the only one. It makes what was ordered in its \
own work tree or through a server, and asks about pull requests wherever they were ordered. It runs what somebody has \
approved exactly as it is (`docket check approve`), and what [runner] allow lets run without that. Several runners may \
share one database: each run is made once.

Examples:
  docket runner
  docket --db postgres://docket@db/docket runner --project web
  docket runner --once                     make what waits, then end";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// Make what waits now, then end
    #[arg(long)]
    once: bool,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let config = shell.configuration()?;
    let session = shell.session(Access::Write).await?;
    let prover = crate::prover::prover(&config, &shell.around.cwd, &shell.location()?.place)?;
    // One work tree is of one project: what others own is not run in it.
    let project = session.project_ref()?;
    let taking = Taking::Served(prover.place().cloned());
    let engine = session.engine.telling(Arc::new(Told::default()));
    let root = crate::prover::root(&config, &shell.around.cwd);
    let work = async {
        if args.once {
            while let Next::Made(_) =
                engine.make_next_run(prover.as_ref(), &taking, &session.caller().call(), &project).await?
            {}
            return Ok(());
        }
        crate::output::remark(&format!(
            "docket: {} makes the checks of {} in {}; stop it with Ctrl-C",
            prover.name(),
            escape::line(&shell.location()?.place.shown()),
            escape::line(&root.to_string_lossy())
        ));
        work(&engine, prover.as_ref(), &taking, session.caller(), &project).await
    };
    // What it is at when it is told to stop waits for another: see `Shell::give_up_runs`.
    tokio::select! {
        ended = work => ended,
        stopped = super::serve::stopped() => stopped,
    }
}

/// Makes what waits, whenever something does. Ends only with an error that waiting does not mend.
async fn work(
    engine: &Engine,
    prover: &dyn Prover,
    taking: &Taking,
    caller: &Caller,
    project: &ProjectRef,
) -> Result<(), Failure> {
    let mut head = 0;
    loop {
        let known = engine.head().await;
        let pause = match engine.make_next_run(prover, taking, &caller.call(), project).await {
            Ok(Next::Made(_)) => continue,
            Ok(Next::Nothing { look_again }) => look_again.map_or(LOOK_SELDOM, |pause| pause.min(LOOK_SELDOM)),
            Err(error) if error.kind != Kind::Permanent => {
                tracing::warn!(error = &error as &dyn std::error::Error, "the queue of checks cannot be read");
                tokio::time::sleep(LOOK_AGAIN).await;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        head = known.unwrap_or(head);
        // Whatever it was that changed: the next look says whether it matters.
        let _ = tokio::time::timeout(pause, engine.changed(head)).await;
    }
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
