//! `docket estimate`: how long work like this has taken.

use docket_core::query::Spread;

use super::values;
use crate::exit::Failure;
use crate::session::{Access, Shell};

const HELP: &str = "\
By what was lately finished in the project, from the beginning of work to its end.

Examples:
  docket estimate
  docket estimate --tags parser --capability rust --json";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// Of work with all of these tags
    #[arg(long, alias = "tag", value_name = "TAG", value_delimiter = ',')]
    tags: Vec<String>,
    /// Of work that asks for all of these capabilities
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    capability: Vec<String>,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let tags = values::tags(&args.tags)?;
    let able = values::names(&args.capability, "capability")?;
    let session = shell.session(Access::Read).await?;
    let estimate = session.engine.estimate(&session.project_ref()?, &tags, &able).await?;
    shell.out.answer(&estimate, |paint| {
        if estimate.sample == 0 {
            return vec![paint.dim("nothing like this was finished lately: there is nothing to go by")];
        }
        let line = |what: &str, spread: Spread| {
            format!("  {} half in {}, nine in ten in {}", paint.dim(what), minutes(spread.p50), minutes(spread.p90))
        };
        let were = if estimate.sample == 1 { "was" } else { "were" };
        let mut lines = vec![format!("of {} that {were} finished lately", super::count(estimate.sample, "item"))];
        lines.extend(estimate.work_minutes.map(|spread| line("took        ", spread)));
        lines.extend(estimate.stated_minutes.map(|spread| line("were thought", spread)));
        lines
    })
}

fn minutes(minutes: u32) -> String {
    if minutes < 90 { format!("{minutes} min") } else { format!("{} h {} min", minutes / 60, minutes % 60) }
}
