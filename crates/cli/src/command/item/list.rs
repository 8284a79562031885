//! `docket item list`: items by what they are.

use docket_core::model::{Priority, Role};
use docket_core::store::{Around, ClaimState, Filter, Order, SortBy};

use super::super::{listing, values};
use crate::exit::Failure;
use crate::session::{Access, Shell};

const EXAMPLES: &str = "\
Examples:
  docket item list                         what is open, the oldest first
  docket item list --role work,review
  docket item list --tags parser --priority high --all
  docket item list --parent WEB-3 --sort priority --order desc";

#[expect(clippy::struct_excessive_bools, reason = "each of them is an option of its own")]
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Also what is closed
    #[arg(long)]
    all: bool,
    /// In these roles: queue, work, review, blocked, terminal
    #[arg(long, value_name = "ROLE", value_delimiter = ',')]
    role: Vec<Role>,
    /// In this status
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Of this priority: high, medium or low
    #[arg(long, value_name = "PRIORITY")]
    priority: Option<Priority>,
    /// With one of these tags
    #[arg(long, alias = "tag", value_name = "TAG", value_delimiter = ',')]
    tags: Vec<String>,
    /// Of this type
    #[arg(long = "type", value_name = "NAME")]
    item_type: Option<String>,
    /// Directly beneath this item
    #[arg(long, value_name = "ITEM")]
    parent: Option<String>,
    /// Beneath no other item
    #[arg(long, conflicts_with = "parent")]
    roots: bool,
    /// claimed, unclaimed or expired
    #[arg(long, value_name = "STATE", value_parser = claim_state)]
    claim: Option<ClaimState>,
    /// Held up by open blockers
    #[arg(long)]
    blocked: bool,
    /// With something that waits for a person
    #[arg(long)]
    inbox: bool,
    /// Held by this agent
    #[arg(long, value_name = "NAME")]
    held_by: Option<String>,
    /// title, priority, complexity, created or modified
    #[arg(long, value_name = "FIELD", default_value = "created", value_parser = sort_by)]
    sort: SortBy,
    /// asc or desc
    #[arg(long, value_name = "ORDER", default_value = "asc", value_parser = values::order)]
    order: Order,
    /// How many
    #[arg(long, value_name = "NUMBER", default_value_t = 50, value_parser = values::limit, allow_negative_numbers = true)]
    limit: u16,
    /// Where to go on: what the page before ended with
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let session = shell.session(Access::Read).await?;
    let parent = match &args.parent {
        Some(parent) => {
            let parent = values::item(parent)?;
            let seen = session.engine.show(&session.scope(), std::slice::from_ref(&parent), Around::default()).await?;
            Some(Some(seen.resolve(&parent)?.id))
        }
        None => args.roots.then_some(None),
    };
    let open = [Role::Queue, Role::Work, Role::Review, Role::Blocked];
    let all = args.all || args.status.is_some();
    let filter = Filter {
        project: session.project_ref()?,
        parent,
        roles: if args.role.is_empty() && !all { open.to_vec() } else { args.role },
        status: args
            .status
            .as_deref()
            .map(|status| values::status(&session.project()?.workflow, status))
            .transpose()?,
        priority: args.priority,
        tags: values::tags(&args.tags)?,
        item_type: args.item_type.as_deref().map(|name| values::name(name, "type")).transpose()?,
        claim: args.claim,
        blocked: args.blocked.then_some(true),
        inbox: args.inbox.then_some(true),
        held_by: args.held_by.as_deref().map(|name| values::name(name, "--held-by")).transpose()?,
        sort: args.sort,
        order: args.order,
        limit: args.limit.into(),
        count: true,
        ..Filter::default()
    };
    let page = session.engine.list(&filter, args.cursor.as_deref()).await?;
    listing::print(shell, &session, &page)
}

fn claim_state(text: &str) -> Result<ClaimState, String> {
    match text.to_ascii_lowercase().as_str() {
        "claimed" => Ok(ClaimState::Claimed),
        "unclaimed" => Ok(ClaimState::Unclaimed),
        "expired" => Ok(ClaimState::Expired),
        _ => Err("must be claimed, unclaimed or expired".to_owned()),
    }
}

fn sort_by(text: &str) -> Result<SortBy, String> {
    match text.to_ascii_lowercase().as_str() {
        "title" => Ok(SortBy::Title),
        "priority" => Ok(SortBy::Priority),
        "complexity" => Ok(SortBy::Complexity),
        "created" => Ok(SortBy::CreatedAt),
        "modified" => Ok(SortBy::ModifiedAt),
        _ => Err("must be title, priority, complexity, created or modified".to_owned()),
    }
}
