//! `docket attach`: links an item to something outside, or shows what it is linked to.

use docket_core::command::Remark;
use docket_core::model::{ItemRef, Link};
use docket_core::query::Includes;
use serde::Serialize;

use super::{contract, values};
use crate::exit::Failure;
use crate::names::WithKey;
use crate::output::table::{Rows, Text};
use crate::session::{Access, Shell};

const HELP: &str = "\
Without more than the item its links are shown. Edges between items are made with `docket link`.

Examples:
  docket attach WEB-7 pr 31 https://example.com/web/pull/31 --title \"The parser\"
  docket attach WEB-7";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The item: its key, its id, or the beginning of its id
    item: String,
    /// What sort of thing it leads to, such as pr, commit or doc
    #[arg(requires = "url")]
    kind: Option<String>,
    /// What that thing is called where it is: a number, a commit's digest
    #[arg(value_name = "REF")]
    reference: Option<String>,
    /// Where it is: an http or https address
    url: Option<String>,
    /// What it is called for people
    #[arg(long, value_name = "TEXT", requires = "url")]
    title: Option<String>,
    /// The fence of your claim
    #[arg(long, value_name = "NUMBER", requires = "url")]
    fence: Option<u64>,
}

/// The links of an item.
#[derive(Serialize)]
struct Links<'l> {
    links: &'l [Link],
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let item = values::item(&args.item)?;
    let (Some(kind), Some(reference), Some(url)) = (&args.kind, &args.reference, &args.url) else {
        return list(shell, &item).await;
    };
    let new = contract::link(kind, reference, url, args.title.as_deref())?;
    let session = shell.session(Access::Write).await?;
    let fence = values::fence(args.fence);
    let remark = Remark { project: session.scope(), item, comment: None, links: vec![new], fence };
    let remarked = session.engine.run(session.call(), remark).await?;
    let names = session.names([remarked.item]).await?;
    let answer = WithKey { key: names.key(remarked.item), answer: &remarked };
    shell.out.answer(&answer, |paint| {
        let line = |id| {
            format!("{} {}  {}", paint.good("attached to"), names.of(remarked.item), paint.dim(&format!("link {id}")))
        };
        remarked.links.iter().map(line).collect()
    })
}

async fn list(shell: &Shell, item: &ItemRef) -> Result<(), Failure> {
    let session = shell.session(Access::Read).await?;
    let includes = Includes { links: true, ..Includes::default() };
    let dossier = session.engine.dossier(&session.scope(), item, includes).await?;
    let answer = WithKey { key: Some(dossier.key.clone()), answer: &Links { links: &dossier.links } };
    shell.out.answer(&answer, |paint| {
        let mut rows = Rows::new(paint, &["KIND", "REF", "URL", "TITLE", "LINK"]);
        for link in &dossier.links {
            rows.add(vec![
                Text::key(link.kind.as_str()),
                Text::plain(link.reference.as_str()),
                Text::plain(link.url.as_str()),
                Text::plain(link.title.as_ref().map_or("", |title| title.as_str())),
                Text::dim(link.id.to_string()),
            ]);
        }
        if rows.is_empty() { vec![paint.dim("no links")] } else { rows.lines() }
    })
}
