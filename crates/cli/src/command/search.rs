//! `docket search`: items by words of their title and summary.

use docket_core::store::{Filter, Order, SortBy};
use docket_core::{Error, Reason, search};

use super::{listing, values};
use crate::exit::Failure;
use crate::session::{Access, Shell};

const EXAMPLES: &str = "\
Examples:
  docket search parser
  docket search crash mac                  each word must begin a word of the title or the summary";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The words; closed items are searched too
    #[arg(required = true)]
    words: Vec<String>,
    /// How many
    #[arg(long, value_name = "NUMBER", default_value_t = 50, value_parser = values::limit, allow_negative_numbers = true)]
    limit: u16,
    /// Where to go on: what the page before ended with
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let words = search::terms(&args.words.join(" "));
    if words.is_empty() {
        return Err(Error::validation(Reason::Blank, "there is no letter or digit to search for").at("words").into());
    }
    let session = shell.session(Access::Read).await?;
    let filter = Filter {
        project: session.project_ref()?,
        words,
        sort: SortBy::ModifiedAt,
        order: Order::Desc,
        limit: args.limit.into(),
        count: true,
        ..Filter::default()
    };
    let page = session.engine.list(&filter, args.cursor.as_deref()).await?;
    listing::print(shell, &session, &page)
}
