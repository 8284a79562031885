//! `docket link`: typed edges between items.

use docket_core::command::{EdgeSpec, Holding, Link};
use docket_core::model::{Edge, EdgeKind, ItemId, Role};
use docket_core::{Error, Invalid, Reason, echo};

use super::values;
use crate::exit::Failure;
use crate::names::Names;
use crate::session::{Access, Session, Shell};

const HELP: &str = "\
Kinds: blocks, is-blocked-by, relates-to, supersedes, duplicate-of. An edge that could never be satisfied, \
because items would wait for each other, is refused. So is one by which items would all be duplicates of each other, \
or supersede each other: none of them would be handed out.

Examples:
  docket link WEB-4 blocks WEB-7
  docket link WEB-7 is-blocked-by WEB-4 --unblock-at review
  docket link WEB-9 duplicate-of WEB-7";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// Where it begins
    from: String,
    /// What it says: blocks, is-blocked-by, relates-to, supersedes or duplicate-of
    kind: String,
    /// Where it ends
    to: String,
    /// How far the blocker must come: queue, work, review or terminal [default: terminal]
    #[arg(long, value_name = "ROLE", value_parser = values::unblock_at)]
    unblock_at: Option<Role>,
    /// The fence of your claim on the first item
    #[arg(long, value_name = "NUMBER")]
    fence: Option<u64>,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let (kind, inverse) = kind_of(&args.kind)?;
    let (first, second) = (values::item(&args.from)?, values::item(&args.to)?);
    let holding = values::fence(args.fence).map(|fence| Holding { item: first.clone(), fence });
    let (from, to) = if inverse { (second, first) } else { (first, second) };
    let session = shell.session(Access::Write).await?;
    let edge = EdgeSpec { from, to, kind, unblock_at: args.unblock_at, inverse };
    let link = Link { project: session.scope(), edges: vec![edge], holding };
    let linked = match session.engine.run(session.call(), link).await {
        Ok(linked) => linked,
        Err(error) => return Err(by_key(&session, error).await),
    };
    let names = names(&session, &linked.edges).await?;
    shell.out.answer(&linked, |_| linked.edges.iter().map(|edge| line(edge, &names)).collect())
}

/// A failure that shows a cycle, with keys in place of the ids that it shows.
pub(super) async fn by_key(session: &Session, error: Error) -> Failure {
    if error.reason != Reason::Cycle {
        return error.into();
    }
    let shown: Vec<ItemId> = error.message.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    // As where gates refuse, names are a courtesy.
    let names = session.names(shown.iter().copied()).await.unwrap_or_default();
    let told = |message: String, id: ItemId| match names.key(id) {
        Some(key) => message.replace(&id.to_string(), &key.to_string()),
        None => message,
    };
    let message = shown.into_iter().fold(error.message.clone(), told);
    Error { message, ..error }.into()
}

/// The kind, and whether it is written from the blocked end.
pub(super) fn kind_of(text: &str) -> Result<(EdgeKind, bool), Failure> {
    if matches!(text.to_ascii_lowercase().replace('_', "-").as_str(), "is-blocked-by" | "blocked-by") {
        return Ok((EdgeKind::Blocks, true));
    }
    let kind: EdgeKind = text.parse().map_err(|_: Invalid| {
        Error::validation(
            Reason::UnknownValue,
            format!(
                "the kind must be blocks, is-blocked-by, relates-to, supersedes or duplicate-of, not \"{}\"",
                echo(text)
            ),
        )
        .at("kind")
    })?;
    Ok((kind, false))
}

pub(super) fn line(edge: &Edge, names: &Names) -> String {
    let at = edge.unblock_at.map_or_else(String::new, |role| format!(" until {role}"));
    format!("{} {} {}{at}", names.of(edge.from), super::item::relation(edge, true), names.of(edge.to))
}

pub(super) async fn names(session: &Session, edges: &[Edge]) -> Result<Names, Failure> {
    session.names(edges.iter().flat_map(|edge| [edge.from, edge.to])).await
}
