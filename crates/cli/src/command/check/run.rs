//! `docket check run`: has checks made, shows what they say while they say it, and ends with how they stand.

use std::sync::Arc;

use docket_core::prove::Wanted;
use docket_core::query::ProvedShown;

use super::super::values;
use super::teller::Teller;
use super::view;
use crate::exit::{FAILED, Failure};
use crate::names::WithKey;
use crate::output::Paint;
use crate::session::{Access, Shell};

const HELP: &str = "\
What a check says goes to standard error as it comes; how all of them stand goes to standard output at the end. A \
check of which nothing changed since its last run is not made again, unless --again says so. Ends with 8 when a \
check does not hold.

Examples:
  docket check run WEB-7
  docket check run WEB-7 --only 0,2 --again
  docket check run WEB-7 --json";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The item: its key, its id, or the beginning of its id
    item: String,
    /// Only these checks, by number
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    only: Vec<usize>,
    /// Even where nothing changed since the last run
    #[arg(long)]
    again: bool,
}

pub(super) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let item = values::item(&args.item)?;
    let session = shell.session(Access::Write).await?;
    let wanted = Wanted { only: args.only, again: args.again };
    // In place of the one who tells of every command's checks: nobody is told twice.
    let engine = session.engine.telling_nobody().telling(Arc::new(Teller::loud(shell.out, &shell.proving)));
    let proved = engine.run_checks(&session.call(), &session.scope(), &item, wanted).await?;
    let names = session.names([proved.now.item]).await?;
    let answer = WithKey { key: names.key(proved.now.item), answer: &proved };
    shell.out.answer(&answer, |paint| render(&proved, paint))?;
    if proved.passed { Ok(()) } else { Err(Failure::Told(FAILED)) }
}

fn render(proved: &ProvedShown, paint: Paint) -> Vec<String> {
    let mut lines = view::table(&proved.now.checks, paint);
    if !proved.runs.is_empty() {
        lines.push(String::new());
        lines.extend(view::runs(&proved.runs, paint));
    }
    if !proved.unchanged.is_empty() {
        let places: Vec<String> = proved.unchanged.iter().map(usize::to_string).collect();
        let same = format!("nothing changed since the last run of {}: not made again", places.join(", "));
        lines.push(paint.dim(&same));
    }
    lines
}
