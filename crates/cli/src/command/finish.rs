//! `docket finish`: ends a piece of work in one step: evidence, links, the last comment, and the move.

use docket_core::command::{Finish, Finished, NewLink};
use docket_core::model::Trigger;
use docket_core::workflow::Target;
use docket_core::{Error, Reason, echo};

use super::contract::{link, proofs, verdict_lines};
use super::{advance, submit, values};
use crate::exit::Failure;
use crate::names::{Names, WithKey};
use crate::output::{Paint, escape};
use crate::session::{Access, Shell};

const HELP: &str = "\
The item moves on to its next phase, or where --to says; all of it is done or nothing. With --preview nothing \
is done, and what would keep the item from moving is told.

Examples:
  docket finish WEB-7 --preview
  docket finish WEB-7 c1=pass c2=pass --comment \"All samples are read.\" --link pr:31:https://example.com/pull/31
  docket finish WEB-7 --to complete --fence 3";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The item: its key, its id, or the beginning of its id
    item: String,
    /// Criteria that you verified, and how they stand: c1=pass, c2=fail
    #[arg(value_name = "CRITERION")]
    criteria: Vec<String>,
    /// What was seen of the criteria
    #[arg(long, value_name = "TEXT", requires = "criteria")]
    note: Option<String>,
    /// The last word; - reads standard input
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
    /// What shows the work, as KIND:REF:URL; may be given several times
    #[arg(long, value_name = "KIND:REF:URL")]
    link: Vec<String>,
    /// What was learned, as TITLE :: TEXT; kept as an entry of the knowledge; may be given several times
    #[arg(long, value_name = "TITLE :: TEXT")]
    learned: Vec<String>,
    /// A trigger or a status to move it to [default: on to its next phase]
    #[arg(long, value_name = "TARGET")]
    to: Option<String>,
    /// Only say what would happen
    #[arg(long)]
    preview: bool,
    /// The fence of your claim
    #[arg(long, value_name = "NUMBER")]
    fence: Option<u64>,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let note = values::text(&shell.around, args.note.as_deref(), None, "--note")?;
    let proofs = proofs(&args.criteria, note.as_ref())?;
    let comment = values::text(&shell.around, args.comment.as_deref(), None, "--comment")?;
    let learnings = args.learned.iter().map(|text| super::learn::learning(text)).collect::<Result<_, _>>()?;
    let links = args.link.iter().map(|text| read_link(text)).collect::<Result<_, _>>()?;
    let target = match args.to.as_deref() {
        None => None,
        Some(text) => Some(match text.parse::<Trigger>() {
            Ok(trigger) => Target::Trigger(trigger),
            Err(_) => Target::Status(values::name(text, "--to")?),
        }),
    };
    let item = values::item(&args.item)?;
    let session = shell.session(Access::Write).await?;
    if let Some(Target::Status(status)) = &target {
        advance::check_status(&session, &item, status).await?;
    }
    let finish = Finish {
        project: session.scope(),
        item,
        comment,
        links,
        proofs,
        learnings,
        target,
        fence: values::fence(args.fence),
        preview: args.preview,
    };
    let finished = match session.engine.run(session.call(), finish).await {
        Ok(finished) => finished,
        Err(error) => return Err(session.refused(with_option(super::learn::of_option(error))).await),
    };
    let moved = finished.moved.iter();
    let others = moved.flat_map(|moved| {
        moved.cascades.iter().map(|cascade| cascade.item).chain(moved.unblocked.iter().map(|named| named.item))
    });
    let blockers = finished.blockers.iter().flat_map(|refusal| refusal.blockers.iter().map(|blocker| blocker.item));
    let names = session.names(std::iter::once(finished.item).chain(others).chain(blockers)).await?;
    let answer = WithKey { key: names.key(finished.item), answer: &finished };
    let answer = super::with_keys(&answer, &session, &names)?;
    shell.out.answer(&answer, |paint| render(&finished, &names, paint))
}

/// Says by which option an item goes elsewhere, where the engine asks for that.
fn with_option(error: Error) -> Error {
    if error.field.as_deref() == Some("to") {
        let message = format!("{}; --to says where it goes, such as --to complete", error.message);
        return Error { message, ..error }.called("to", "--to");
    }
    error
}

fn read_link(text: &str) -> Result<NewLink, Failure> {
    let mut parts = text.splitn(3, ':');
    if let (Some(kind), Some(reference), Some(url)) = (parts.next(), parts.next(), parts.next()) {
        return link(kind, reference, url, None);
    }
    let message =
        format!("--link must be KIND:REF:URL, such as pr:31:https://example.com/pull/31, not \"{}\"", echo(text));
    Err(Error::validation(Reason::BadValue, message).at("--link").into())
}

fn render(finished: &Finished, names: &Names, paint: Paint) -> Vec<String> {
    let mut lines = Vec::new();
    if !finished.applied {
        lines.push(paint.dim("nothing was done; this is what would happen:"));
    }
    if let Some(moved) = &finished.moved {
        lines.extend(advance::render(moved, names, paint));
    }
    if !finished.blockers.is_empty() {
        lines.push(format!("{} {}", names.of(finished.item), paint.bad("would not move:")));
    }
    for refusal in &finished.blockers {
        let remedy = paint.dim(&format!("→ {}", escape::line(&refusal.remedy)));
        lines.push(format!("  {}: {}  {remedy}", refusal.gate.as_str(), escape::line(&refusal.message)));
    }
    if let Some(pending) = &finished.handed_in {
        lines.push(paint.dim(submit::waits_for(pending.verification)));
        if !pending.unapproved.is_empty() {
            let places: Vec<String> = pending.unapproved.iter().map(usize::to_string).collect();
            lines.push(format!(
                "  nobody lets these checks run yet: {}  {}",
                places.join(", "),
                paint.dim("→ docket check approve")
            ));
        }
    }
    for entry in &finished.entries {
        lines.push(format!("{} {entry}", paint.good("learned")));
    }
    if !finished.verdict.criteria.is_empty() {
        lines.extend(verdict_lines(&finished.verdict, paint));
    }
    lines
}
