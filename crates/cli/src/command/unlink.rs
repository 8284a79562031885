//! `docket unlink`: removes edges.

use docket_core::Error;
use docket_core::command::{Holding, Unlink};

use super::link::{kind_of, line, names};
use super::values;
use crate::exit::Failure;
use crate::session::{Access, Shell};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  docket unlink WEB-4 WEB-7\n  docket unlink WEB-4 WEB-7 --kind blocks\n  docket unlink WEB-4 --all"
)]
pub(crate) struct Args {
    /// One end
    item: String,
    /// The other end
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    other: Option<String>,
    /// Only edges of this kind
    #[arg(long, value_name = "KIND", requires = "other")]
    kind: Option<String>,
    /// All edges of the item
    #[arg(long)]
    all: bool,
    /// The fence of your claim on the first item
    #[arg(long, value_name = "NUMBER")]
    fence: Option<u64>,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let item = values::item(&args.item)?;
    let other = args.other.as_deref().map(values::item).transpose()?;
    let kind = args.kind.as_deref().map(kind_of).transpose()?.map(|(kind, _)| kind);
    let session = shell.session(Access::Write).await?;
    let project = session.scope();
    let holding = values::fence(args.fence).map(|fence| Holding { item: item.clone(), fence });
    let unlink = match other {
        Some(to) => Unlink::Between { project, from: item, to, kind, either_way: true },
        None => Unlink::Of { project, item, kind: None },
    };
    let removed = session.engine.run(session.call(), unlink.held_by(holding)).await?;
    if removed.edges.is_empty() && !args.all {
        return Err(Error::not_found("there is no such edge between these items").into());
    }
    let names = names(&session, &removed.edges).await?;
    shell.out.answer(&removed, |paint| {
        if removed.edges.is_empty() {
            return vec![paint.dim("it had no edges")];
        }
        removed.edges.iter().map(|edge| format!("removed: {}", line(edge, &names))).collect()
    })
}
