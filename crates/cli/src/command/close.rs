//! `docket close`: closes an item, or a whole tree of them by force.

use docket_core::command::{CloseTree, What};

use super::{advance, values};
use crate::exit::Failure;
use crate::session::{Access, Shell};

const HELP: &str = "\
With --tree the item and everything beneath it is closed, all or nothing, whatever the workflow's path and \
whatever notes are missing. It is the one force there is: criteria must be shown all the same, and what others \
hold stays theirs. Without --tree it is `docket advance ITEM complete`, or cancel.

Examples:
  docket close WEB-7
  docket close WEB-3 --tree
  docket close WEB-3 --tree --cancel";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The item: its key, its id, or the beginning of its id
    item: String,
    /// Also everything beneath it
    #[arg(long)]
    tree: bool,
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
    let close = CloseTree { project: session.scope(), what: What::Whole(item), cancel: args.cancel, fence };
    let closed = match session.engine.run(session.call(), close).await {
        Ok(closed) => closed,
        Err(error) => return Err(session.refused(error).await),
    };
    let cascades = closed.cascades.iter().map(|cascade| cascade.item);
    let names = session.names(closed.results.iter().map(|result| result.item).chain(cascades)).await?;
    let answer = super::with_keys(&closed, &session, &names)?;
    shell.out.answer(&answer, |paint| {
        let lines = closed.results.iter().filter_map(|result| advance::closed_line(result, &names, paint));
        let with = closed.cascades.iter().filter(|cascade| cascade.applied).map(|cascade| {
            format!("  with it {}: {} → {}", names.of(cascade.item), cascade.from_role, cascade.to_role)
        });
        let lines: Vec<String> = lines.chain(with).collect();
        if lines.is_empty() { vec![paint.dim("everything of it is closed already")] } else { lines }
    })
}
