//! The runs of checks, and what they said.

use docket_core::model::{ItemRef, RunId, RunState};
use docket_core::query::LogPage;
use docket_core::{Error, limits};

use super::super::values;
use super::view;
use crate::exit::Failure;
use crate::output::escape;
use crate::session::{Access, Session, Shell};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  docket check runs WEB-7\n  docket check runs WEB-7 --limit 5 --offset 5 --json")]
pub(crate) struct RunsArgs {
    /// The item: its key, its id, or the beginning of its id
    item: String,
    /// How many at the most
    #[arg(long, value_name = "NUMBER", default_value = "20", value_parser = values::limit)]
    limit: u16,
    /// How many of the newest are left out
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    offset: u32,
}

const LOG_HELP: &str = "\
All of it is printed, from its beginning. With --json it comes in parts of at most 32,768 bytes: nextOffset says \
where the next one begins. It comes from a program that was run, with secrets taken out.

Examples:
  docket check log WEB-7                                the newest run of its checks
  docket check log 01JZK3V5Q8X4R2M7N9P6T1B0CD
  docket check log WEB-7 --json --offset 32768";

#[derive(Debug, clap::Args)]
#[command(after_help = LOG_HELP)]
pub(crate) struct LogArgs {
    /// The run, as `docket check runs` names it; or an item, for the newest run of its checks
    #[arg(value_name = "RUN")]
    run: String,
    /// The byte to begin at
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    offset: u32,
}

pub(super) async fn runs(shell: &Shell, args: RunsArgs) -> Result<(), Failure> {
    let item = values::item(&args.item)?;
    let session = shell.session(Access::Read).await?;
    let page = session.engine.runs_of(&session.scope(), &item, args.offset as usize, usize::from(args.limit)).await?;
    shell.out.answer(&page, |paint| {
        if page.runs.is_empty() {
            return vec![paint.dim("no runs: `docket check run` makes one")];
        }
        let mut lines = view::runs(&page.runs, paint);
        if let Some(next) = page.next_offset {
            lines.push(paint.dim(&format!("there are more: --offset {next}")));
        }
        lines
    })
}

pub(super) async fn log(shell: &Shell, args: LogArgs) -> Result<(), Failure> {
    let session = shell.session(Access::Read).await?;
    let run = named(&session, &args.run).await?;
    let first = session.engine.log_of(run, args.offset as usize, limits::LOG_PAGE_BYTES).await?;
    if shell.out.json {
        return shell.out.answer(&first, |_| Vec::new());
    }
    let mut text = first.text.clone();
    let mut next = first.next_offset;
    while let Some(offset) = next {
        let LogPage { text: more, next_offset, .. } =
            session.engine.log_of(run, offset, limits::LOG_PAGE_BYTES).await?;
        text.push_str(&more);
        next = next_offset;
    }
    shell.out.answer(&first, |paint| {
        let mut lines: Vec<String> = escape::block(&text).lines().map(str::to_owned).collect();
        if first.truncated {
            lines.push(paint.dim(&format!("{} bytes more were said and not kept", first.run.log_left_out)));
        }
        if lines.is_empty() {
            lines.push(paint.dim(&match first.run.state {
                RunState::Queued => "it said nothing yet: it waits for a runner".to_owned(),
                RunState::Running => "it is running: what it says is kept when it ends".to_owned(),
                state => format!("it said nothing; it is {state}"),
            }));
        }
        lines
    })
}

/// The run that is named, or the newest of the item that is.
async fn named(session: &Session, text: &str) -> Result<RunId, Failure> {
    if let Ok(run) = text.parse() {
        return Ok(run);
    }
    let item: ItemRef = values::item(text)?;
    let page = session.engine.runs_of(&session.scope(), &item, 0, 1).await?;
    let newest = page.runs.first().map(|run| run.id);
    newest.ok_or_else(|| Error::not_found("no check of this item was run yet").into())
}
