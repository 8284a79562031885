//! `docket claim`: leases on items.

use std::collections::BTreeSet;

use clap::ArgGroup;
use docket_core::command::{Claim, ClaimNext, ClaimOutcome, ClaimRequest, Claimed, Held, Offer, Wanted};
use docket_core::model::{Role, Ttl};
use docket_core::{Error, Reason};
use serde::Serialize;

use super::{listing, values};
use crate::exit::{Failure, code_of};
use crate::names::{Names, WithKey};
use crate::output::{Paint, escape, report};
use crate::session::{Access, Session, Shell};

const HELP: &str = "\
A claim is a lease: nobody else can move or change the item until it is released or runs out. The answer has \
the fence to send with later writes, so that a write after the lease went to somebody else is refused.

Examples:
  docket claim --next
  docket claim --next --wait 10m --tags parser --capability rust
  docket claim WEB-7 --ttl 1h
  docket --actor subagent:parser-1 claim WEB-7";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP, group(ArgGroup::new("which").required(true).args(["items", "next"])))]
pub(crate) struct Args {
    /// The items
    items: Vec<String>,
    /// Find the best ready work and claim it
    #[arg(long)]
    next: bool,
    /// How long the lease runs, such as 900, 15m or 2h [default: the workflow's]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    ttl: Option<String>,
    /// With --next: how long to wait for work when there is none, such as 60s or 10m
    #[arg(long, value_name = "TIME", requires = "next")]
    wait: Option<String>,
    /// With --next: only items with one of these tags
    #[arg(long, alias = "tag", value_name = "TAG", value_delimiter = ',', requires = "next")]
    tags: Vec<String>,
    /// With --next: only items of this type
    #[arg(long = "type", value_name = "NAME", requires = "next")]
    item_type: Option<String>,
    /// With --next: only what lies anywhere beneath this item
    #[arg(long, value_name = "ITEM", requires = "next")]
    under: Option<String>,
    /// With --next: the role to look in [default: the queue, and work that was begun and left]
    #[arg(long, value_name = "ROLE", requires = "next")]
    role: Option<Role>,
    /// With --next: what you can do; work that needs more is left to others
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "next")]
    capability: Vec<String>,
    /// Refuse items that are not ready
    #[arg(long, conflicts_with = "next")]
    ready: bool,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let ttl = match args.ttl.as_deref() {
        None => None,
        Some(text) => Some(values::seconds(text).and_then(Ttl::parse).map_err(|mut invalid| {
            invalid.reason = Reason::BadTtl;
            invalid.at("--ttl")
        })?),
    };
    if args.next {
        return next(shell, &args, ttl).await;
    }
    if let Some(option) = only_with_next(&args) {
        let message = format!("{option} goes with --next, not with items that are named");
        return Err(Error::validation(Reason::BadValue, message).at(option).into());
    }
    let claims = values::items(&args.items)?.into_iter().map(|item| ClaimRequest { item, ttl }).collect();
    let session = shell.session(Access::Write).await?;
    let claim = Claim { project: session.scope(), claims, releases: Vec::new(), ready_only: args.ready };
    let claimed = session.engine.run(session.call(), claim).await?;
    let names = names(&session, &claimed).await?;
    let refused: Vec<Error> =
        claimed.claims.iter().filter_map(|result| result.outcome.refusal(&result.asked)).collect();
    let answer = super::with_keys(&claimed, &session, &names)?;
    tell(shell, &answer, &refused, claimed.claims.len(), |paint| {
        let held = claimed.claims.iter().filter_map(|result| match &result.outcome {
            ClaimOutcome::Held(held) => Some(held_line(held, &names, paint)),
            ClaimOutcome::AlreadyClaimed { .. }
            | ClaimOutcome::Terminal
            | ClaimOutcome::NotReady
            | ClaimOutcome::OverLimit { .. }
            | ClaimOutcome::NotFound(_) => None,
        });
        let ended = claimed.auto_released.iter().map(|item| freed(&names.of(*item), paint));
        held.chain(ended).collect()
    })
}

/// The first option that was given and says which work to look for. The parser does not see it: items and --next exclude
/// each other, and what is excluded is not asked for.
fn only_with_next(args: &Args) -> Option<&'static str> {
    let given = [
        (args.wait.is_some(), "--wait"),
        (!args.tags.is_empty(), "--tags"),
        (args.item_type.is_some(), "--type"),
        (args.under.is_some(), "--under"),
        (args.role.is_some(), "--role"),
        (!args.capability.is_empty(), "--capability"),
    ];
    given.into_iter().find_map(|(given, option)| given.then_some(option))
}

async fn next(shell: &Shell, args: &Args, ttl: Option<Ttl>) -> Result<(), Failure> {
    let patience = values::patience(args.wait.as_deref())?;
    let wanted = Wanted {
        role: args.role,
        under: args.under.as_deref().map(values::item).transpose()?,
        tags: values::tags(&args.tags)?,
        item_type: args.item_type.as_deref().map(|name| values::name(name, "type")).transpose()?,
        capabilities: values::names(&args.capability, "capability")?.into_iter().collect::<BTreeSet<_>>(),
        ..Wanted::default()
    };
    let session = shell.session(Access::Write).await?;
    let command = ClaimNext { project: session.project_ref()?, wanted, ttl };
    let offer = session.engine.claim_next_waiting(session.call(), command, patience, tokio::time::sleep).await?;
    let ids = offer.held.iter().map(|held| held.item).chain(offer.auto_released.iter().copied());
    let names = session.names(ids).await?;
    let key = offer.held.as_ref().and_then(|held| names.key(held.item));
    let answer = super::with_keys(&WithKey { key, answer: &offer }, &session, &names)?;
    shell.out.answer(&answer, |paint| offer_lines(&offer, &names, paint))
}

fn offer_lines(offer: &Offer, names: &Names, paint: Paint) -> Vec<String> {
    let Some(held) = &offer.held else {
        let passed = match offer.passed_over {
            0 => String::new(),
            passed => format!(" ({passed} passed over: they collide with claimed work or need other capabilities)"),
        };
        return vec![paint.dim(&format!("nothing is ready{passed}: `docket why` says why"))];
    };
    let freed = offer.auto_released.iter().map(|item| freed(&names.of(*item), paint));
    std::iter::once(held_line(held, names, paint)).chain(freed).collect()
}

pub(super) fn held_line(held: &Held, names: &Names, paint: Paint) -> String {
    let until = held
        .claim
        .expires_at
        .map_or_else(|| "until released".to_owned(), |end| format!("until {}", listing::moment(end)));
    let item = names.of(held.item);
    format!(
        "{} {item} for {} {until}, fence {}",
        paint.good("claimed"),
        escape::line(held.claim.holder.as_str()),
        held.fence.0
    )
}

fn freed(item: &str, paint: Paint) -> String {
    paint.dim(&format!("released {item}: an agent holds no more at a time than the workflow allows"))
}

/// Prints what was done, if anything was, and every refusal; the first one decides how the program ends.
pub(super) fn tell<T: Serialize>(
    shell: &Shell,
    answer: &T,
    refused: &[Error],
    asked: usize,
    lines: impl FnOnce(Paint) -> Vec<String>,
) -> Result<(), Failure> {
    if refused.len() < asked {
        shell.out.answer(answer, lines)?;
    }
    for error in refused {
        report(&Failure::from(error.clone()), shell.out.json);
    }
    refused.first().map_or(Ok(()), |error| Err(Failure::Told(code_of(error))))
}

async fn names(session: &Session, claimed: &Claimed) -> Result<Names, Failure> {
    let asked = claimed.claims.iter().filter_map(|result| result.item);
    session.names(asked.chain(claimed.auto_released.iter().copied())).await
}
