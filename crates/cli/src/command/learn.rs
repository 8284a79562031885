//! `docket learn`: keeps what was learned for whoever comes next.

use docket_core::command::{AddEntries, Learning};
use docket_core::model::{Text, Title};
use docket_core::{Error, Reason, echo};

use super::values;
use crate::exit::Failure;
use crate::session::{Access, Shell};

const HELP: &str = "\
An entry is unreviewed until a person says that it is right (`docket knowledge review`). What was learned by finishing an \
item is best told there: `docket finish --learned`.

Examples:
  docket learn \"The linker needs gcc\" \"aws-lc-rs builds with gcc alone.\" --tag build
  git log -1 --format=%B | docket learn \"Why the parser backtracks\" - --item WEB-7";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// What it is about, in a line
    title: String,
    /// What was learned; - reads standard input
    text: Option<String>,
    /// Reads the text from a file
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    file: Option<String>,
    /// A word to find it by; may be given several times
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// The item it was learned from
    #[arg(long, value_name = "ITEM")]
    item: Option<String>,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let title = Title::parse(&args.title).map_err(|invalid| invalid.at("title"))?;
    let body = values::text(&shell.around, args.text.as_deref(), args.file.as_deref(), "text")?;
    let body = body.ok_or_else(|| Error::validation(Reason::MissingField, "a text is needed").at("text"))?;
    let learning = Learning { title, body, tags: values::tags(&args.tag)? };
    let item = args.item.as_deref().map(values::item).transpose()?;
    let session = shell.session(Access::Write).await?;
    let project = if item.is_some() { session.scope() } else { session.project_ref()? };
    let call = session.call();
    let authority = session.engine.authority_of(&call);
    let add = AddEntries { project, entries: vec![learning], item, authority };
    let added = session.engine.run(call, add).await;
    let added = added.map_err(|error| error.called("entries[0].body", "text").called("entries[0].tags", "--tag"))?;
    shell.out.answer(&added, |paint| {
        added.entries.iter().map(|entry| format!("{} {entry}", paint.good("learned"))).collect()
    })
}

/// A failure of what came with a completion, as the command line names it.
pub(super) fn of_option(error: Error) -> Error {
    let field = if error.field.as_deref().is_some_and(|field| field.starts_with("learnings")) {
        Some("--learned".to_owned())
    } else {
        error.field
    };
    Error { field, ..error }
}

/// `TITLE :: TEXT` of an option: titles and texts have colons of their own.
pub(super) fn learning(text: &str) -> Result<Learning, Failure> {
    let bad = || {
        let message = format!("--learned must be TITLE :: TEXT, not \"{}\"", echo(text));
        Failure::from(Error::validation(Reason::BadValue, message).at("--learned"))
    };
    let (title, body) = text.split_once(" :: ").ok_or_else(bad)?;
    let title = Title::parse(title.trim()).map_err(|invalid| invalid.at("--learned"))?;
    let body = Text::parse(body.trim()).map_err(|invalid| invalid.at("--learned"))?;
    Ok(Learning { title, body, tags: Vec::new() })
}
