//! `docket item rm`: removes items.

use docket_core::command::Remove;

use super::super::values;
use crate::exit::Failure;
use crate::session::{Access, Shell};

const EXAMPLES: &str = "\
Examples:
  docket item rm WEB-7
  docket item rm WEB-3 --recursive";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The items; all of them or none are removed
    #[arg(required = true)]
    items: Vec<String>,
    /// With everything beneath them
    #[arg(long)]
    recursive: bool,
    /// The fence of your claim on the items
    #[arg(long, value_name = "NUMBER")]
    fence: Option<u64>,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let items = values::items(&args.items)?;
    let session = shell.session(Access::Write).await?;
    let remove = Remove {
        project: session.scope(),
        items,
        expected_version: None,
        fence: values::fence(args.fence),
        recursive: args.recursive,
        atomic: true,
    };
    let removed = session.engine.run(session.call(), remove).await?;
    shell.out.answer(&removed, |_| {
        let gone = removed.items.iter().zip(&args.items).filter_map(|(item, asked)| Some((item.as_ref().ok()?, asked)));
        gone.map(|(item, asked)| match item.descendants {
            0 => format!("removed {asked}"),
            beneath => format!("removed {asked} and {beneath} beneath it"),
        })
        .collect()
    })
}
