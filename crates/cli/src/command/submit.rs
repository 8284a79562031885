//! `docket submit`: hands work in. It closes by itself when everything that it owes is shown.

use docket_core::command::Submit;
use docket_core::model::VerificationKind;

use super::{advance, values};
use crate::exit::Failure;
use crate::names::WithKey;
use crate::session::{Access, Shell};

const HELP: &str = "\
An item without checks is done by it. One with checks goes into review and is given back; runs of its checks wait for a \
runner, and the item closes when everything is shown: `docket check list` says how far it is. Handed in again, what failed \
is made once more.

Examples:
  docket submit WEB-7 --output \"All samples are read.\"
  docket submit WEB-7 --fence 3";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The item: its key, its id, or the beginning of its id
    item: String,
    /// What came of it, kept as a comment; - reads standard input
    #[arg(long, value_name = "TEXT")]
    output: Option<String>,
    /// What was learned, as TITLE :: TEXT; kept as an entry of the knowledge; may be given several times
    #[arg(long, value_name = "TITLE :: TEXT")]
    learned: Vec<String>,
    /// The fence of your claim
    #[arg(long, value_name = "NUMBER")]
    fence: Option<u64>,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let output = values::text(&shell.around, args.output.as_deref(), None, "--output")?;
    let learnings = args.learned.iter().map(|text| super::learn::learning(text)).collect::<Result<_, _>>()?;
    let item = values::item(&args.item)?;
    let session = shell.session(Access::Write).await?;
    let fence = values::fence(args.fence);
    let submit = Submit { project: session.scope(), item, output, learnings, fence };
    let submitted = match session.engine.run(session.call(), submit).await {
        Ok(submitted) => submitted,
        Err(error) => return Err(session.refused(super::learn::of_option(error)).await),
    };
    let moved = submitted.moved.as_deref();
    let others = moved.into_iter().flat_map(|moved| {
        moved.cascades.iter().map(|cascade| cascade.item).chain(moved.unblocked.iter().map(|named| named.item))
    });
    let names = session.names(std::iter::once(submitted.item).chain(others)).await?;
    let answer = WithKey { key: names.key(submitted.item), answer: &submitted };
    let answer = super::with_keys(&answer, &session, &names)?;
    shell.out.answer(&answer, |paint| {
        let mut lines = match moved {
            Some(moved) => advance::render(moved, &names, paint),
            None => vec![format!("{} {}", paint.good("handed in again"), names.of(submitted.item))],
        };
        lines.extend(submitted.entries.iter().map(|entry| format!("{} {entry}", paint.good("learned"))));
        lines.push(paint.dim(waits_for(submitted.verification)));
        if !submitted.unapproved.is_empty() {
            let places: Vec<String> = submitted.unapproved.iter().map(usize::to_string).collect();
            let key = names.key(submitted.item).map(|key| key.to_string()).unwrap_or_default();
            lines.push(paint.bad(&format!(
                "  no runner makes what nobody has approved: check {}; `docket check approve {key}` by another person lets it, \
                 or close it yourself with `docket close {key}`",
                places.join(", ")
            )));
        }
        lines
    })
}

/// What work that was handed in waits for.
pub(super) fn waits_for(verification: VerificationKind) -> &'static str {
    match verification {
        VerificationKind::None => "  nothing else is asked for",
        VerificationKind::Manual => "  a person attests its checks: `docket check attest`",
        VerificationKind::Command => "  its checks wait for a runner in this work tree: `docket runner`",
        VerificationKind::GithubPr => "  it waits for its pull request to be merged: `docket runner` looks",
    }
}
