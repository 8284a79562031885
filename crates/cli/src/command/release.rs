//! `docket release`: gives claims up.

use docket_core::command::{Claim, ReleaseOutcome};
use docket_core::{Error, Reason};

use super::claim::tell;
use super::values;
use crate::exit::Failure;
use crate::session::{Access, Shell};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  docket release WEB-7\n  docket --actor subagent:parser-1 release WEB-7")]
pub(crate) struct Args {
    /// The items
    #[arg(required = true)]
    items: Vec<String>,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let releases = values::items(&args.items)?;
    let session = shell.session(Access::Write).await?;
    let claim = Claim { project: session.scope(), claims: Vec::new(), releases, ready_only: false };
    let claimed = session.engine.run(session.call(), claim).await?;
    let holder = session.caller().actor.actor.id.to_string();
    let refused: Vec<Error> = claimed
        .releases
        .iter()
        .filter_map(|result| match &result.outcome {
            ReleaseOutcome::Released => None,
            ReleaseOutcome::NotClaimedByYou => {
                let message = format!("{}: \"{holder}\" does not hold it; --actor names another holder", result.asked);
                Some(Error::conflict(Reason::NotClaimedByYou, message))
            }
            ReleaseOutcome::NotFound(error) => Some(Error::clone(error)),
        })
        .collect();
    let names = session.names(claimed.releases.iter().filter_map(|result| result.item)).await?;
    let answer = super::with_keys(&claimed, &session, &names)?;
    tell(shell, &answer, &refused, claimed.releases.len(), |_| {
        let gone = claimed.releases.iter().filter(|result| matches!(result.outcome, ReleaseOutcome::Released));
        gone.map(|result| format!("released {}", result.asked)).collect()
    })
}
