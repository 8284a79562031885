//! `docket verdict`: how far an item is shown to be done.

use docket_core::query::Includes;

use super::contract::verdict_lines;
use super::values;
use crate::exit::Failure;
use crate::names::WithKey;
use crate::output::escape;
use crate::session::{Access, Shell};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  docket verdict WEB-7\n  docket verdict WEB-7 --json")]
pub(crate) struct Args {
    /// The item: its key, its id, or the beginning of its id
    item: String,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let item = values::item(&args.item)?;
    let session = shell.session(Access::Read).await?;
    let dossier = session.engine.dossier(&session.scope(), &item, Includes::default()).await?;
    let answer = WithKey { key: Some(dossier.key.clone()), answer: &dossier.verdict };
    shell.out.answer(&answer, |paint| {
        let title = escape::line(dossier.item.title.as_str());
        let head = format!("{} {title}", paint.key(&dossier.key.to_string()));
        std::iter::once(head).chain(verdict_lines(&dossier.verdict, paint)).collect()
    })
}
