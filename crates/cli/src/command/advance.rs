//! `docket advance`: moves an item on. Every gate is asked; all refusals are told at once.

use docket_core::command::{
    Advance, Applied, CloseOutcome, CloseResult, CloseTree, MoveRequest, MoveResult, TreeClosed, What,
};
use docket_core::model::{Fence, ItemRef, Name, Role, Text, Trigger};
use docket_core::store::Around;
use docket_core::workflow::Target;
use docket_core::{Error, Gate, Reason, echo};

use super::values;
use crate::exit::{Failure, code_of};
use crate::names::{Names, WithKey};
use crate::output::{Paint, escape};
use crate::session::{Access, Session, Shell};

const HELP: &str = "\
Triggers are start, complete, block, hold, resume, cancel and reopen. Any other word is a status of the \
project's workflow; `docket project show` lists them. \
Every gate is asked; if any refuses, nothing happens and all of them say what is missing and how to mend it.

Examples:
  docket advance WEB-7 start
  docket advance WEB-7 complete --summary \"merged in 4f1c2aa\"
  docket advance WEB-7 in_review --fence 3
  docket advance WEB-3 cancel --beneath    close what lies beneath it, then close it by itself";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The item: its key, its id, or the beginning of its id
    item: String,
    /// A trigger (start, complete, block, hold, resume, cancel or reopen), or a status
    target: String,
    /// A word about it, kept in the history
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// The fence of your claim
    #[arg(long, value_name = "NUMBER")]
    fence: Option<u64>,
    /// With complete or cancel: close everything beneath the item, blockers and children first; the item stays
    #[arg(long, conflicts_with = "summary")]
    beneath: bool,
}

impl Args {
    /// Closing an item, whether it succeeds or is given up.
    pub(super) fn closing(item: String, cancel: bool, fence: Option<u64>) -> Self {
        let target = if cancel { "cancel" } else { "complete" }.to_owned();
        Self { item, target, summary: None, fence, beneath: false }
    }
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let target = match args.target.parse::<Trigger>() {
        Ok(trigger) => Target::Trigger(trigger),
        Err(_) => Target::Status(values::name(&args.target, "TARGET")?),
    };
    let item = values::item(&args.item)?;
    if args.beneath {
        return close_beneath(shell, item, &target, values::fence(args.fence)).await;
    }
    let request = MoveRequest {
        expected_version: None,
        item: item.clone(),
        target: target.clone(),
        summary: args.summary.as_deref().map(Text::parse).transpose().map_err(|invalid| invalid.at("summary"))?,
        by: None,
        fence: values::fence(args.fence),
    };
    let session = shell.session(Access::Write).await?;
    if let Target::Status(status) = &target {
        check_status(&session, &item, status).await?;
    }
    let advance = Advance { project: session.scope(), moves: vec![request], atomic: true };
    let mut advanced = match session.engine.run(session.call(), advance).await {
        Ok(advanced) => advanced,
        Err(error) => return Err(session.refused(with_way_out(error, &item)).await),
    };
    let applied = match advanced.results.pop() {
        Some(MoveResult::Applied(applied)) => applied,
        Some(MoveResult::Refused(refused)) => return Err(session.refused(with_way_out(refused.error, &item)).await),
        None => return Err(Error::validation(Reason::TooFew, "nothing was moved").into()),
    };
    let others =
        applied.cascades.iter().map(|cascade| cascade.item).chain(applied.unblocked.iter().map(|named| named.item));
    let names = session.names(std::iter::once(applied.item).chain(others)).await?;
    let answer = WithKey { key: names.key(applied.item), answer: &*applied };
    let answer = super::with_keys(&answer, &session, &names)?;
    shell.out.answer(&answer, |paint| render(&applied, &names, paint))
}

/// Says that a word is neither a trigger nor a status, before it is taken for a move that a rule refuses.
pub(super) async fn check_status(session: &Session, item: &ItemRef, status: &Name) -> Result<(), Failure> {
    let seen = session.engine.show(&session.scope(), std::slice::from_ref(item), Around::default()).await?;
    let project = seen.resolve(item)?.project;
    let Some(project) = session.projects.iter().find(|known| known.id == project) else { return Ok(()) };
    if project.workflow.status(status).is_some() {
        return Ok(());
    }
    let triggers: Vec<&str> = Trigger::USER.iter().map(|trigger| trigger.as_str()).collect();
    let message = format!(
        "\"{}\" is neither a trigger ({}) nor a status ({})",
        echo(status.as_str()),
        triggers.join(", "),
        values::statuses(&project.workflow)
    );
    Err(Error::validation(Reason::UnknownValue, message).at("TARGET").into())
}

/// A refusal for what lies beneath, with the command that closes it.
fn with_way_out(mut error: Error, item: &ItemRef) -> Error {
    for refusal in error.refusals.iter_mut().filter(|refusal| refusal.gate == Gate::Descendants) {
        refusal.remedy =
            format!("close them first; `docket advance {item} complete --beneath`, or cancel, closes all of them");
    }
    error
}

/// Closes what lies beneath an item, as far as gates allow it.
async fn close_beneath(shell: &Shell, item: ItemRef, target: &Target, fence: Option<Fence>) -> Result<(), Failure> {
    let cancel = match target {
        Target::Trigger(Trigger::Complete) => false,
        Target::Trigger(Trigger::Cancel) => true,
        Target::Trigger(_) | Target::Status(_) => {
            let message = "--beneath goes with complete or cancel";
            return Err(Error::validation(Reason::BadValue, message).at("--beneath").into());
        }
    };
    let session = shell.session(Access::Write).await?;
    let close = CloseTree { project: session.scope(), what: What::Beneath(item), cancel, fence };
    let closed = session.engine.run(session.call(), close).await?;
    tell_closed(shell, &session, &closed, "nothing open lies beneath it").await
}

/// Tells how each item of a set was closed; that one was refused is a failure, after all is told.
pub(super) async fn tell_closed(
    shell: &Shell,
    session: &Session,
    closed: &TreeClosed,
    nothing: &str,
) -> Result<(), Failure> {
    let cascades = closed.cascades.iter().map(|cascade| cascade.item);
    let names = session.names(closed.results.iter().map(|result| result.item).chain(cascades)).await?;
    let answer = super::with_keys(closed, session, &names)?;
    shell.out.answer(&answer, |paint| {
        let lines = closed.results.iter().filter_map(|result| closed_line(result, &names, paint));
        let with = closed.cascades.iter().filter(|cascade| cascade.applied).map(|cascade| {
            format!("  with it {}: {} → {}", names.of(cascade.item), cascade.from_role, cascade.to_role)
        });
        let lines: Vec<String> = lines.chain(with).collect();
        if lines.is_empty() { vec![paint.dim(nothing)] } else { lines }
    })?;
    let mut first = None;
    for result in &closed.results {
        if let CloseOutcome::Refused(error) = &result.outcome {
            let message = format!("{}: {}", names.of(result.item), error.message);
            first = first.or(Some(code_of(error)));
            if !shell.out.json {
                let failure = session.refused(Error { message, ..Error::clone(error) }).await;
                crate::output::report(&failure, false);
            }
        }
    }
    first.map_or(Ok(()), |code| Err(Failure::Told(code)))
}

pub(super) fn closed_line(result: &CloseResult, names: &Names, paint: Paint) -> Option<String> {
    let item = names.of(result.item);
    match &result.outcome {
        CloseOutcome::Closed { from_role, .. } => Some(format!("{} {item} (was in {from_role})", paint.good("closed"))),
        CloseOutcome::BlockerRefused => {
            Some(format!("{} {item}: it waits for one that was refused", paint.bad("left")))
        }
        CloseOutcome::Refused(_) => Some(format!("{} {item}: refused", paint.bad("left"))),
        CloseOutcome::AlreadyClosed => None,
    }
}

pub(super) fn render(applied: &Applied, names: &Names, paint: Paint) -> Vec<String> {
    let mut lines = vec![format!(
        "{} {} → {}",
        names.of(applied.item),
        escape::line(applied.from_status.as_str()),
        paint.good(&escape::line(applied.to_status.as_str()))
    )];
    for cascade in &applied.cascades {
        if cascade.applied {
            lines.push(format!("  with it {}: {} → {}", names.of(cascade.item), cascade.from_role, cascade.to_role));
            continue;
        }
        lines.push(format!("  {} stays in {}:", names.of(cascade.item), cascade.from_role));
        for refusal in &cascade.refusals {
            let remedy = paint.dim(&format!("→ {}", escape::line(&refusal.remedy)));
            lines.push(format!("    {}: {}  {remedy}", refusal.gate.as_str(), escape::line(&refusal.message)));
        }
    }
    for free in &applied.unblocked {
        lines.push(format!("  unblocked {}", names.of(free.item)));
    }
    for note in applied.expected_notes.iter().filter(|note| note.required && !note.filled) {
        let about = paint.dim(&escape::line(&note.description));
        lines.push(format!("  needs the note {}  {about}", escape::line(note.key.as_str())));
    }
    if let Some(next) = &applied.next {
        // The word for the last step that everything else here uses.
        let trigger = if next.role == Role::Terminal { Trigger::Complete } else { next.trigger };
        lines.push(paint.dim(&format!("  next: {trigger} → {}", escape::line(next.status.as_str()))));
    }
    lines
}
