//! `docket link` and `docket unlink`: typed edges between items.

use docket_core::command::{EdgeSpec, Link, Unlink};
use docket_core::model::{Edge, EdgeKind, Role};
use docket_core::{Error, Invalid, Reason, echo};

use super::values;
use crate::exit::Failure;
use crate::names::Names;
use crate::session::{Access, Session, Shell};

const HELP: &str = "\
Kinds: blocks, is-blocked-by, relates-to, supersedes, duplicate-of. An edge that could never be satisfied, \
because items would wait for each other, is refused.

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
    #[arg(long, value_name = "ROLE")]
    unblock_at: Option<Role>,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  docket unlink WEB-4 WEB-7\n  docket unlink WEB-4 WEB-7 --kind blocks\n  docket unlink WEB-4 --all"
)]
pub(crate) struct UnlinkArgs {
    /// One end
    item: String,
    /// The other end
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    other: Option<String>,
    /// Only edges of this kind
    #[arg(long, value_name = "KIND", requires = "other")]
    kind: Option<String>,
    /// All edges of the item
    #[arg(long)]
    all: bool,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let (kind, inverse) = kind_of(&args.kind)?;
    let (first, second) = (values::item(&args.from)?, values::item(&args.to)?);
    let (from, to) = if inverse { (second, first) } else { (first, second) };
    let session = shell.session(Access::Write).await?;
    let edge = EdgeSpec { from, to, kind, unblock_at: args.unblock_at, inverse };
    let linked = session.engine.run(session.call(), Link { project: session.scope(), edges: vec![edge] }).await?;
    let names = names(&session, &linked.edges).await?;
    shell.out.answer(&linked, |_| linked.edges.iter().map(|edge| line(edge, &names)).collect())
}

pub(crate) async fn unlink(shell: &Shell, args: UnlinkArgs) -> Result<(), Failure> {
    let item = values::item(&args.item)?;
    let other = args.other.as_deref().map(values::item).transpose()?;
    let kind = args.kind.as_deref().map(kind_of).transpose()?.map(|(kind, _)| kind);
    let session = shell.session(Access::Write).await?;
    let project = session.scope();
    let unlink = match other {
        Some(to) => Unlink::Between { project, from: item, to, kind, either_way: true },
        None => Unlink::Of { project, item },
    };
    let removed = session.engine.run(session.call(), unlink).await?;
    if removed.edges.is_empty() && !args.all {
        return Err(Error::not_found("there is no such edge between these items").into());
    }
    let names = names(&session, &removed.edges).await?;
    shell.out.answer(&removed, |paint| {
        if removed.edges.is_empty() {
            return vec![paint.dim("it had no edges")];
        }
        removed.edges.iter().map(|edge| format!("removed: {}", line(edge, &names))).collect()
    })
}

/// The kind, and whether it is written from the blocked end.
fn kind_of(text: &str) -> Result<(EdgeKind, bool), Failure> {
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

fn line(edge: &Edge, names: &Names) -> String {
    let at = edge.unblock_at.map_or_else(String::new, |role| format!(" until {role}"));
    format!("{} {} {}{at}", names.of(edge.from), super::item::relation(edge, true), names.of(edge.to))
}

async fn names(session: &Session, edges: &[Edge]) -> Result<Names, Failure> {
    session.names(edges.iter().flat_map(|edge| [edge.from, edge.to])).await
}
