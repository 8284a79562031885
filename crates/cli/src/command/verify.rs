//! `docket verify`: evidence for acceptance criteria, all of it taken in or none.

use docket_core::command::Verify;
use docket_core::model::Authority;

use super::contract::{proofs, verdict_lines};
use super::values;
use crate::exit::Failure;
use crate::names::WithKey;
use crate::session::{Access, Shell};

const HELP: &str = "\
Evidence has an authority: an agent's word never overrides a check's or a person's. Criteria that are for a \
person to sign off take `--as human`; nobody who acts as an agent can say that. When a criterion's text \
changes, what was shown of it counts no more.

Examples:
  docket verify WEB-7 c1=pass c2=pass --note \"200 of 200 samples\"
  docket verify WEB-7 c3=fail --note \"the error has no line\"
  docket verify WEB-7 c4=pass --as human                   sign off";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The item: its key, its id, or the beginning of its id
    item: String,
    /// Criteria and how they stand: c1=pass, c2=fail
    #[arg(required = true, value_name = "CRITERION")]
    criteria: Vec<String>,
    /// What was seen; - reads standard input
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Whose word it is: agent or human
    #[arg(long = "as", value_name = "AUTHORITY", default_value = "agent")]
    authority: Authority,
    /// The fence of your claim
    #[arg(long, value_name = "NUMBER")]
    fence: Option<u64>,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let note = values::text(&shell.around, args.note.as_deref(), None, "--note")?;
    let proofs = proofs(&args.criteria, note.as_ref())?;
    let item = values::item(&args.item)?;
    let session = shell.session(Access::Write).await?;
    let verify =
        Verify { project: session.scope(), item, proofs, authority: args.authority, fence: values::fence(args.fence) };
    let verified = match session.engine.run(session.call(), verify).await {
        Ok(verified) => verified,
        Err(error) => return Err(session.refused(error).await),
    };
    let names = session.names([verified.item]).await?;
    let answer = WithKey { key: names.key(verified.item), answer: &verified };
    shell.out.answer(&answer, |paint| {
        std::iter::once(names.of(verified.item)).chain(verdict_lines(&verified.verdict, paint)).collect()
    })
}
