//! `docket comment`: says something about an item, or shows what was said.

use docket_core::command::Remark;
use docket_core::model::{Comment, ItemRef, Text};
use docket_core::query::Includes;
use serde::Serialize;

use super::{listing, values};
use crate::exit::Failure;
use crate::names::WithKey;
use crate::output::escape;
use crate::session::{Access, Shell};

const HELP: &str = "\
Without a text the newest comments are shown. Comments are never changed; what a later reader must find \
by name belongs into a note.

Examples:
  docket comment WEB-7 \"The grammar changed on Monday.\"
  git log -1 | docket comment WEB-7 -
  docket comment WEB-7";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The item: its key, its id, or the beginning of its id
    item: String,
    /// What to say; - reads standard input
    text: Option<String>,
    /// Without a text: how many are shown
    #[arg(long, value_name = "NUMBER", default_value_t = 50, value_parser = values::limit, allow_negative_numbers = true)]
    limit: u16,
    /// The fence of your claim
    #[arg(long, value_name = "NUMBER", requires = "text")]
    fence: Option<u64>,
}

/// Comments on an item.
#[derive(Serialize)]
struct Comments<'c> {
    comments: &'c [Comment],
    truncated: bool,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let item = values::item(&args.item)?;
    match values::text(&shell.around, args.text.as_deref(), None, "comment")? {
        Some(text) => add(shell, item, text, args.fence).await,
        None => list(shell, &item, args.limit.into()).await,
    }
}

async fn add(shell: &Shell, item: ItemRef, text: Text, fence: Option<u64>) -> Result<(), Failure> {
    let session = shell.session(Access::Write).await?;
    let remark =
        Remark { project: session.scope(), item, comment: Some(text), links: Vec::new(), fence: values::fence(fence) };
    let remarked = session.engine.run(session.call(), remark).await?;
    let names = session.names([remarked.item]).await?;
    let answer = WithKey { key: names.key(remarked.item), answer: &remarked };
    shell.out.answer(&answer, |paint| vec![format!("{} {}", paint.good("commented on"), names.of(remarked.item))])
}

async fn list(shell: &Shell, item: &ItemRef, limit: usize) -> Result<(), Failure> {
    let session = shell.session(Access::Read).await?;
    let includes = Includes { comments: Some(limit), ..Includes::default() };
    let dossier = session.engine.dossier(&session.scope(), item, includes).await?;
    let found = &dossier.comments;
    let comments = Comments { comments: &found.rows, truncated: found.truncated };
    let answer = WithKey { key: Some(dossier.key.clone()), answer: &comments };
    shell.out.answer(&answer, |paint| {
        let mut lines = Vec::new();
        for comment in &found.rows {
            let by = escape::line(comment.by.as_str());
            lines.push(paint.dim(&format!("{by} at {}", listing::moment(comment.created_at))));
            lines.extend(escape::block(comment.body.as_str()).lines().map(|line| format!("  {line}")));
        }
        if found.truncated {
            lines.push(paint.dim(&format!("the newest {} are shown; `docket events` has all", found.rows.len())));
        }
        if lines.is_empty() { vec![paint.dim("no comments")] } else { lines }
    })
}
