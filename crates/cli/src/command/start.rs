//! `docket start`: begins work: claims an item and moves it into work, in one step, and shows what is to be done.

use docket_core::Reason;
use docket_core::command::{Begin, ClaimNext, Held, Started, Wanted};
use docket_core::model::{ItemRef, Role, Ttl};
use docket_core::query::{Dossier, Includes, ParentReach};
use serde::Serialize;

use super::claim::held_line;
use super::contract::{brief_lines, question_lines, verdict_lines};
use super::values;
use crate::exit::Failure;
use crate::names::Names;
use crate::output::{Paint, escape};
use crate::session::{Access, Session, Shell};

const HELP: &str = "\
Without an item the best ready work is taken; two agents never get the same. The answer has the brief, how far \
it is shown, and the fence to send with later writes. Notes that must be written first leave the item where it \
is, claimed.

Examples:
  docket start
  docket start --wait 10m --tags parser --capability rust
  docket --actor subagent:parser-1 start WEB-7 --json";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The item; the best ready work where it is not said
    item: Option<String>,
    /// How long the lease runs, such as 900, 15m or 2h [default: the workflow's]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    ttl: Option<String>,
    /// How long to wait for work when there is none, such as 60s or 10m
    #[arg(long, value_name = "TIME", conflicts_with = "item")]
    wait: Option<String>,
    /// Only items with one of these tags
    #[arg(long, alias = "tag", value_name = "TAG", value_delimiter = ',', conflicts_with = "item")]
    tags: Vec<String>,
    /// Only items of this type
    #[arg(long = "type", value_name = "NAME", conflicts_with = "item")]
    item_type: Option<String>,
    /// Only what lies anywhere beneath this item
    #[arg(long, value_name = "ITEM", conflicts_with = "item")]
    under: Option<String>,
    /// What you can do; work that needs more is left to others
    #[arg(long, value_name = "NAME", value_delimiter = ',', conflicts_with = "item")]
    capability: Vec<String>,
    /// Only work that was begun and left: its lease has run out, or it was given back
    #[arg(long, conflicts_with = "item")]
    abandoned: bool,
}

/// Work that was begun.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Packet<'p> {
    held: &'p Held,
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<&'p Started>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    auto_released: &'p [docket_core::model::ItemId],
    item: crate::output::json::Keyed<'p>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<crate::output::json::Keyed<'p>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    brief: Option<&'p docket_core::model::Brief>,
    score: u8,
    verdict: &'p docket_core::contract::Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<&'p docket_core::model::Question>,
}

/// What was begun, by whichever way.
struct Work {
    held: Held,
    started: Option<Started>,
    auto_released: Vec<docket_core::model::ItemId>,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let ttl = match args.ttl.as_deref() {
        None => None,
        Some(text) => Some(values::seconds(text).and_then(Ttl::parse).map_err(|mut invalid| {
            invalid.reason = Reason::BadTtl;
            invalid.at("--ttl")
        })?),
    };
    let item = args.item.as_deref().map(values::item).transpose()?;
    let patience = values::patience(args.wait.as_deref())?;
    let wanted = wanted(&args)?;
    let session = shell.session(Access::Write).await?;
    let work = if let Some(item) = item {
        begin(&session, item, ttl).await?
    } else {
        let command = ClaimNext { project: session.project_ref()?, wanted, ttl };
        let offer = session.engine.claim_next_waiting(session.call(), command, patience, tokio::time::sleep).await?;
        let Some(held) = offer.held else {
            return shell.out.answer(&offer, |paint| vec![paint.dim("nothing is ready: `docket why` says why")]);
        };
        let started = offer.started.map(|started| *started);
        Work { held: *held, started, auto_released: offer.auto_released }
    };
    let includes = Includes { parent: ParentReach::Summary, ..Includes::default() };
    let dossier = session.engine.dossier(&session.scope(), &ItemRef::Id(work.held.item), includes).await?;
    let keyed = |item| crate::output::json::Keyed { key: session.key(item), item };
    let packet = Packet {
        held: &work.held,
        started: work.started.as_ref(),
        auto_released: &work.auto_released,
        item: keyed(&dossier.item),
        parent: dossier.parent.as_ref().map(|parent| keyed(&parent.item)),
        brief: dossier.brief.as_ref(),
        score: dossier.score,
        verdict: &dossier.verdict,
        question: dossier.question.as_ref(),
    };
    let names = session.names(std::iter::once(work.held.item).chain(work.auto_released.iter().copied())).await?;
    let answer = super::with_keys(&packet, &session, &names)?;
    shell.out.answer(&answer, |paint| render(&work, &dossier, &names, paint))
}

fn wanted(args: &Args) -> Result<Wanted, Failure> {
    Ok(Wanted {
        under: args.under.as_deref().map(values::item).transpose()?,
        tags: values::tags(&args.tags)?,
        item_type: args.item_type.as_deref().map(|name| values::name(name, "type")).transpose()?,
        capabilities: values::names(&args.capability, "capability")?.into_iter().collect(),
        abandoned: args.abandoned,
        start: true,
        ..Wanted::default()
    })
}

async fn begin(session: &Session, item: ItemRef, ttl: Option<Ttl>) -> Result<Work, Failure> {
    let command = Begin { project: session.scope(), item, ttl };
    match session.engine.run(session.call(), command).await {
        Ok(begun) => Ok(Work { held: begun.held, started: Some(begun.started), auto_released: begun.auto_released }),
        Err(error) => Err(session.refused(error).await),
    }
}

fn render(work: &Work, dossier: &Dossier, names: &Names, paint: Paint) -> Vec<String> {
    let mut lines = vec![held_line(&work.held, names, paint)];
    if let Some(started) = &work.started {
        let (from, to) = (escape::line(started.from_status.as_str()), escape::line(started.to_status.as_str()));
        if from != to {
            lines.push(format!("  {from} → {}", paint.good(&to)));
        } else if dossier.item.role == Role::Review {
            let way = format!("→ docket finish {} --to complete, once it is looked at", dossier.key);
            lines.push(format!("  stays {to}  {}", paint.dim(&way)));
        }
        for refusal in &started.refusals {
            let remedy = paint.dim(&format!("→ {}", escape::line(&refusal.remedy)));
            lines.push(format!("  stays {to}: {}  {remedy}", escape::line(&refusal.message)));
        }
    }
    lines.extend(work.auto_released.iter().map(|item| paint.dim(&format!("  released {}", names.of(*item)))));
    if let Some(parent) = &dossier.parent {
        lines.push(format!(
            "  part of {} {}",
            paint.key(&parent.key.to_string()),
            escape::line(parent.item.title.as_str())
        ));
    }
    let item = &dossier.item;
    for (heading, text) in [("Intent", item.intent.as_ref()), ("Description", item.description.as_ref())] {
        if let Some(text) = text {
            lines.push(paint.bold(heading));
            lines.extend(escape::block(text.as_str()).lines().map(|line| format!("  {line}")));
        }
    }
    if let Some(brief) = &dossier.brief {
        lines.push(paint.bold("Brief"));
        lines.extend(brief_lines(brief, dossier.score, None, paint).into_iter().map(|line| format!("  {line}")));
        lines.extend(verdict_lines(&dossier.verdict, paint).into_iter().take(1));
    }
    if let Some(question) = &dossier.question {
        lines.push(paint.bold("Question"));
        lines.extend(question_lines(question, paint).into_iter().map(|line| format!("  {line}")));
    }
    lines
}
