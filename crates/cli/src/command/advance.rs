//! `docket advance`: moves an item on. Every gate is asked; all refusals are told at once.

use docket_core::command::{Advance, Applied, MoveRequest, MoveResult};
use docket_core::model::{Text, Trigger};
use docket_core::workflow::Target;
use docket_core::{Error, Reason};

use super::values;
use crate::exit::Failure;
use crate::names::{Names, WithKey};
use crate::output::{Paint, escape};
use crate::session::{Access, Shell};

const HELP: &str = "\
Triggers are start, complete, block, hold, resume, cancel and reopen. Any other word is a status by name. \
Every gate is asked; if any refuses, nothing happens and all of them say what is missing and how to mend it.

Examples:
  docket advance WEB-7 start
  docket advance WEB-7 complete --summary \"merged in 4f1c2aa\"
  docket advance WEB-7 in_review --fence 3";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The item: its key, its id, or the beginning of its id
    item: String,
    /// A trigger, or a status
    target: String,
    /// A word about it, kept in the history
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// The fence of your claim
    #[arg(long, value_name = "NUMBER")]
    fence: Option<u64>,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let target = match args.target.parse::<Trigger>() {
        Ok(trigger) => Target::Trigger(trigger),
        Err(_) => Target::Status(values::name(&args.target, "TARGET")?),
    };
    let request = MoveRequest {
        item: values::item(&args.item)?,
        target,
        summary: args.summary.as_deref().map(Text::parse).transpose().map_err(|invalid| invalid.at("summary"))?,
        by: None,
        fence: values::fence(args.fence),
    };
    let session = shell.session(Access::Write).await?;
    let advance = Advance { project: session.scope(), moves: vec![request], atomic: true };
    let mut advanced = match session.engine.run(session.call(), advance).await {
        Ok(advanced) => advanced,
        Err(error) => return Err(session.refused(error).await),
    };
    let applied = match advanced.results.pop() {
        Some(MoveResult::Applied(applied)) => applied,
        Some(MoveResult::Refused(refused)) => return Err(session.refused(refused.error).await),
        None => return Err(Error::validation(Reason::TooFew, "nothing was moved").into()),
    };
    let others =
        applied.cascades.iter().map(|cascade| cascade.item).chain(applied.unblocked.iter().map(|named| named.item));
    let names = session.names(std::iter::once(applied.item).chain(others)).await?;
    let answer = WithKey { key: names.key(applied.item), answer: &*applied };
    shell.out.answer(&answer, |paint| render(&applied, &names, paint))
}

fn render(applied: &Applied, names: &Names, paint: Paint) -> Vec<String> {
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
        lines.push(paint.dim(&format!("  next: {} → {}", next.trigger, escape::line(next.status.as_str()))));
    }
    lines
}
