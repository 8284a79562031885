//! `docket detach`: removes links from items to things outside.

use docket_core::command::RemoveLinks;
use docket_core::model::LinkId;

use super::values;
use crate::exit::Failure;
use crate::session::{Access, Shell};

#[derive(Debug, clap::Args)]
#[command(after_help = "`docket attach ITEM` shows the ids.\n\nExamples:\n  docket detach 01K7SA4Z0C8R5QY3M2B1N0V9XT")]
pub(crate) struct Args {
    /// The links, by their ids
    #[arg(required = true)]
    links: Vec<String>,
    /// The fence of your claim on their item
    #[arg(long, value_name = "NUMBER")]
    fence: Option<u64>,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let parse = |text: &String| text.parse::<LinkId>().map_err(|invalid| Failure::from(invalid.at("LINK")));
    let links = args.links.iter().map(parse).collect::<Result<_, _>>()?;
    let session = shell.session(Access::Write).await?;
    let removed = session.engine.run(session.call(), RemoveLinks { links, fence: values::fence(args.fence) }).await?;
    shell.out.answer(&removed, |_| vec![format!("removed {}", super::count(removed.removed.len(), "link"))])
}
