//! `docket next`: ready work, the best first. It claims nothing.

use std::collections::BTreeSet;

use docket_core::model::{Name, Role};
use docket_core::query::{Agent, NextQuery};
use serde::Serialize;
use serde_json::Value;

use super::{listing, values};
use crate::exit::Failure;
use crate::session::{Access, Shell};

const EXAMPLES: &str = "\
Examples:
  docket next
  docket next --limit 10 --under WEB-3
  docket next --role review                what waits for a look";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// How many
    #[arg(long, value_name = "NUMBER", default_value_t = 5, value_parser = values::limit, allow_negative_numbers = true)]
    limit: u16,
    /// The role to look in: queue, work, review or blocked [default: what `docket start` would hand out: the queue, and work
    /// that was begun and left]
    #[arg(long, value_name = "ROLE")]
    role: Option<Role>,
    /// What you can do; work that needs more is left out, unless a role is named
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    capability: Vec<String>,
    /// Only what lies anywhere beneath this item
    #[arg(long, value_name = "ITEM")]
    under: Option<String>,
    /// Only what lies directly beneath this item
    #[arg(long, value_name = "ITEM")]
    parent: Option<String>,
    /// Only items with one of these tags
    #[arg(long, alias = "tag", value_name = "TAG", value_delimiter = ',')]
    tags: Vec<String>,
    /// Only items of this type
    #[arg(long = "type", value_name = "NAME")]
    item_type: Option<String>,
    /// Also what somebody has claimed
    #[arg(long)]
    include_claimed: bool,
    /// Where to go on: what the page before ended with
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

/// Ready work.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Next<'p> {
    items: Vec<ReadyItem>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<&'p str>,
}

/// One item of it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReadyItem {
    #[serde(flatten)]
    item: Value,
    is_claimed: bool,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let session = shell.session(Access::Read).await?;
    let capabilities: BTreeSet<Name> = values::names(&args.capability, "capability")?.into_iter().collect();
    let looks_around = (args.role.is_some() || args.include_claimed) && capabilities.is_empty();
    let name = session.call().holder().ok();
    let query = NextQuery {
        project: session.project_ref()?,
        role: args.role,
        parent: args.parent.as_deref().map(values::item).transpose()?,
        under: args.under.as_deref().map(values::item).transpose()?,
        tags: values::tags(&args.tags)?,
        item_type: args.item_type.as_deref().map(|name| values::name(name, "type")).transpose()?,
        include_claimed: args.include_claimed,
        agent: (!looks_around).then_some(Agent { name, capabilities }),
        urgent: None,
        limit: args.limit.into(),
    };
    let page = session.engine.next(&query, args.cursor.as_deref()).await?;
    let ready = &page.items;
    let items = ready
        .iter()
        .map(|ready| Ok(ReadyItem { item: listing::listed(&session, &ready.item)?, is_claimed: ready.is_claimed }));
    let answer = Next { items: items.collect::<Result<_, Failure>>()?, next_cursor: page.next.as_deref() };
    shell.out.answer(&answer, |paint| {
        if ready.is_empty() && args.cursor.is_none() {
            return vec![paint.dim("nothing is ready: `docket why` says why")];
        }
        let remark = |claimed| if claimed { "claimed".to_owned() } else { String::new() };
        let rows = ready.iter().map(|ready| (&ready.item, remark(ready.is_claimed)));
        let mut lines = listing::rows(&session, rows, paint);
        lines.extend(listing::more(ready.len(), None, page.next.as_deref(), paint));
        lines
    })
}
