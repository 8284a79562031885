//! `docket withdraw`: takes a question back, which makes its item ready again.

use docket_core::command::EndQuestion;

use super::answer::{end, meant};
use crate::exit::Failure;
use crate::session::{Access, Shell};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  docket withdraw WEB-7                the open question of an item")]
pub(crate) struct Args {
    /// The item whose open question is meant, or the question's id
    question: String,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let session = shell.session(Access::Write).await?;
    let question = meant(&session, &args.question).await?;
    end(shell, &session, EndQuestion { question, answer: None }).await
}
