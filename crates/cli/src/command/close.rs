//! `docket close`: closes an item, or a whole tree of them: each by its gates, or all by force.

use docket_core::command::{CloseTree, What};

use super::{advance, values};
use crate::exit::Failure;
use crate::session::{Access, Shell};

const HELP: &str = "\
With --tree the item and everything beneath it is closed, all or nothing, whatever the workflow's path and \
whatever notes are missing. It is the one force there is: criteria must be shown all the same, and what others \
hold stays theirs. With --tree --gated there is no force: blockers and children are closed first and the item last, each by \
its own gates; what is refused stays open, with whatever waits for it. Without --tree it is `docket advance ITEM complete`, or \
cancel.

Examples:
  docket close WEB-7
  docket close WEB-3 --tree
  docket close WEB-3 --tree --gated
  docket close WEB-3 --tree --cancel";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The item: its key, its id, or the beginning of its id
    item: String,
    /// Also everything beneath it
    #[arg(long)]
    tree: bool,
    /// With --tree: each by its own gates, as far as they allow, instead of all by force
    #[arg(long, requires = "tree")]
    gated: bool,
    /// Give it up: nothing has to be shown
    #[arg(long)]
    cancel: bool,
    /// The fence of your claim
    #[arg(long, value_name = "NUMBER")]
    fence: Option<u64>,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    if !args.tree {
        return advance::run(shell, advance::Args::closing(args.item, args.cancel, args.fence)).await;
    }
    let item = values::item(&args.item)?;
    let session = shell.session(Access::Write).await?;
    let fence = values::fence(args.fence);
    let what = if args.gated { What::Tree(item) } else { What::Whole(item) };
    let close = CloseTree { project: session.scope(), what, cancel: args.cancel, fence };
    let closed = match session.engine.run(session.call(), close).await {
        Ok(closed) => closed,
        Err(error) => return Err(session.refused(error).await),
    };
    advance::tell_closed(shell, &session, &closed, "everything of it is closed already").await
}
