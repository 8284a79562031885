//! `docket answer`: answers a question, which makes its item ready again.

use docket_core::command::EndQuestion;
use docket_core::model::QuestionId;
use docket_core::query::Includes;
use docket_core::{Error, Reason};

use super::{ask, values};
use crate::exit::Failure;
use crate::names::WithKey;
use crate::session::{Access, Session, Shell};

const HELP: &str = "\
Examples:
  docket answer WEB-7 \"SQLite first\"           the open question of an item
  docket answer 01K7SA4Z0C8R5QY3M2B1N0V9XT -    a question by its id; the answer from standard input";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The item whose open question is meant, or the question's id
    question: String,
    /// What is answered; - reads standard input
    answer: String,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let text = values::text(&shell.around, Some(&args.answer), None, "answer")?
        .ok_or_else(|| Error::validation(Reason::MissingField, "there is no answer").at("answer"))?;
    let session = shell.session(Access::Write).await?;
    let question = meant(&session, &args.question).await?;
    end(shell, &session, EndQuestion { question, answer: Some(text) }).await
}

/// The question that is meant by its id, or by the item it is open on.
pub(super) async fn meant(session: &Session, text: &str) -> Result<QuestionId, Failure> {
    if let Ok(id) = text.parse() {
        return Ok(id);
    }
    let item = values::item(text)?;
    let dossier = session.engine.dossier(&session.scope(), &item, Includes::default()).await?;
    let open = dossier.open_question().map(|question| question.id);
    Ok(open.ok_or_else(|| Error::not_found(format!("{} has no open question", dossier.key)))?)
}

/// Ends a question and tells what became of it.
pub(super) async fn end(shell: &Shell, session: &Session, end: EndQuestion) -> Result<(), Failure> {
    let ended = session.engine.run(session.call(), end).await?;
    let names = session.names([ended.item]).await?;
    let answer = WithKey { key: names.key(ended.item), answer: &ended };
    shell.out.answer(&answer, |paint| ask::render(&ended, &names, paint))
}
