//! `docket blocked`: what is held up, and by what.

use docket_core::query::BlockedItem;
use serde::Serialize;
use serde_json::Value;

use super::values;
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
}

/// What is held up.
#[derive(Serialize)]
struct Blocked {
    items: Value,
    truncated: bool,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let parent = args.parent.as_deref().map(values::item).transpose()?;
    let session = shell.session(Access::Read).await?;
    let (items, all) = session.engine.blocked(&session.project_ref()?, parent.as_ref()).await?;
    let answer =
        Blocked { items: super::with_keys(&super::to_value(&items)?, &session, &Names::default())?, truncated: !all };
    shell.out.answer(&answer, |paint| render(&session, &items, all, paint))
}

fn render(session: &Session, items: &[BlockedItem], all: bool, paint: Paint) -> Vec<String> {
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
    if !all {
        lines.push(paint.dim("there is more than is shown: --parent narrows it down"));
    }
    lines
}
