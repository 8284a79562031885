//! `docket blocked`: what is held up, and by what.

use docket_core::query::BlockedItem;
use serde::Serialize;
use serde_json::Value;

use super::{listing, values};
use crate::exit::Failure;
use crate::names::Names;
use crate::output::{Paint, escape};
use crate::session::{Access, Session, Shell};

const EXAMPLES: &str = "\
Examples:
  docket blocked
  docket blocked --parent WEB-3";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only what lies directly beneath this item
    #[arg(long, value_name = "ITEM")]
    parent: Option<String>,
    /// How many
    #[arg(long, value_name = "NUMBER", default_value_t = 50, value_parser = values::limit, allow_negative_numbers = true)]
    limit: u16,
    /// Where to go on: what the page before ended with
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

/// What is held up.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Blocked<'p> {
    items: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<&'p str>,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let parent = args.parent.as_deref().map(values::item).transpose()?;
    let session = shell.session(Access::Read).await?;
    let (project, limit) = (session.project_ref()?, args.limit.into());
    let page = session.engine.blocked(&project, parent.as_ref(), limit, args.cursor.as_deref()).await?;
    let next = page.next.as_deref();
    let items = super::with_keys(&super::to_value(&page.items)?, &session, &Names::default())?;
    shell.out.answer(&Blocked { items, next_cursor: next }, |paint| {
        let mut lines = render(&session, &page.items, paint);
        lines.extend(listing::more(page.items.len(), None, next, paint));
        lines
    })
}

fn render(session: &Session, items: &[BlockedItem], paint: Paint) -> Vec<String> {
    let mut lines = Vec::new();
    for blocked in items {
        let state = if blocked.explicit { "was put aside" } else { "waits" };
        let key = paint.key(&session.key(&blocked.item).to_string());
        lines.push(format!("{key} {} {}", escape::line(blocked.item.title.as_str()), paint.dim(state)));
        for blocker in blocked.blockers.iter().filter(|blocker| !blocker.satisfied) {
            lines.push(format!(
                "  for {} {}, in {}, to reach {}",
                paint.key(&session.key(&blocker.item).to_string()),
                escape::line(blocker.item.title.as_str()),
                escape::line(blocker.item.status.as_str()),
                blocker.threshold
            ));
        }
    }
    if lines.is_empty() {
        lines.push(paint.dim("nothing is held up"));
    }
    lines
}
