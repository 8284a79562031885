//! `docket check`: what must be shown before an item counts as done, having it made, and what came of it.

mod log;
mod run;
pub(crate) mod teller;
mod view;
mod word;
mod write;

use clap::Subcommand;

use crate::exit::Failure;
use crate::session::{Access, Shell};

pub(super) use view::lines;

const HELP: &str = "\
A check is a command that must end well, a pull request that must be merged, or a person's word. An item with \
checks closes only when all of them hold: closing it runs those that can be run. A result counts for the check as it \
was written and for the work tree it was made on; when either changes, it is made again. A command from somebody \
else runs only once a person has approved it exactly as it is.

Examples:
  docket check add WEB-7 \"The tests pass\" --cmd \"cargo test\" --timeout 10m
  docket check add WEB-7 \"Ann likes the errors\"                        a person's to make
  docket check run WEB-7
  docket check attest WEB-7 1=pass --note \"every error names its line\"
  docket check log WEB-7";

#[derive(Debug, Subcommand)]
#[command(after_help = HELP)]
pub(crate) enum Act {
    /// Show an item's checks, and how each stands
    List(ItemArgs),
    /// Write an item's checks in place of those that are there
    Set(write::SetArgs),
    /// Add a check to an item
    Add(Box<write::AddArgs>),
    /// Let checks run, exactly as they are
    Approve(word::ApproveArgs),
    /// Say whether a check holds that only a person can make
    Attest(word::AttestArgs),
    /// Have checks made, and show what they say
    Run(run::Args),
    /// List the runs of an item's checks, the newest first
    Runs(log::RunsArgs),
    /// Print what a run said
    Log(log::LogArgs),
    /// Give a run up that waits or is under way
    Cancel(word::CancelArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ItemArgs {
    /// The item: its key, its id, or the beginning of its id
    item: String,
}

pub(crate) async fn run(shell: &Shell, act: Act) -> Result<(), Failure> {
    match act {
        Act::List(args) => list(shell, &args).await,
        Act::Set(args) => write::set(shell, args).await,
        Act::Add(args) => write::add(shell, *args).await,
        Act::Approve(args) => word::approve(shell, args).await,
        Act::Attest(args) => word::attest(shell, args).await,
        Act::Run(args) => run::run(shell, args).await,
        Act::Runs(args) => log::runs(shell, args).await,
        Act::Log(args) => log::log(shell, args).await,
        Act::Cancel(args) => word::cancel(shell, args).await,
    }
}

async fn list(shell: &Shell, args: &ItemArgs) -> Result<(), Failure> {
    let item = super::values::item(&args.item)?;
    let session = shell.session(Access::Read).await?;
    let shown = session.engine.checks_of(&session.scope(), &item).await?;
    view::answer(shell, &session, &shown, None).await
}
