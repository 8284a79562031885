//! `docket ask`: puts a question to a person. It parks the item and ends the claim on it.

use docket_core::command::{Ask, Asked};
use docket_core::model::Text;
use docket_core::{Error, Reason};

use super::contract::question_lines;
use super::values;
use crate::exit::Failure;
use crate::names::{Names, WithKey};
use crate::output::{Paint, escape};
use crate::session::{Access, Shell};

const HELP: &str = "\
The item is parked and your claim on it ends. `docket inbox` shows the question to people; the answer makes \
the item ready again. An item has one open question at a time.

Examples:
  docket ask WEB-7 \"Which dialect comes first?\" --option SQLite --option Postgres";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The item: its key, its id, or the beginning of its id
    item: String,
    /// What only a person can decide; - reads standard input
    question: String,
    /// An answer to choose from; may be given several times
    #[arg(long, value_name = "TEXT")]
    option: Vec<String>,
    /// The fence of your claim
    #[arg(long, value_name = "NUMBER")]
    fence: Option<u64>,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let item = values::item(&args.item)?;
    let text = values::text(&shell.around, Some(&args.question), None, "question")?
        .ok_or_else(|| Error::validation(Reason::MissingField, "there is no question").at("question"))?;
    let options = args.option.iter().map(|option| Text::parse(option)).collect::<Result<_, _>>();
    let options = options.map_err(|invalid| invalid.at("--option"))?;
    let session = shell.session(Access::Write).await?;
    let ask = Ask { project: session.scope(), item, text, options, fence: values::fence(args.fence) };
    let asked = session.engine.run(session.call(), ask).await?;
    let names = session.names([asked.item]).await?;
    let answer = WithKey { key: names.key(asked.item), answer: &asked };
    shell.out.answer(&answer, |paint| render(&asked, &names, paint))
}

/// A question, and where its item stands now.
pub(super) fn render(asked: &Asked, names: &Names, paint: Paint) -> Vec<String> {
    let now = format!("{} is {} now", names.of(asked.item), escape::line(asked.status.as_str()));
    question_lines(&asked.question, paint).into_iter().chain([now]).collect()
}
