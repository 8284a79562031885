//! A person's word: that checks may run, that one holds, that a run is given up.

use docket_core::command::{Attest, CancelRun};
use docket_core::model::{ItemRef, RunId};
use docket_core::query::{ChecksShown, ShownCheck};
use docket_core::{Error, Invalid, Reason, echo};

use super::super::values;
use super::view;
use crate::exit::Failure;
use crate::names::WithKey;
use crate::output::escape;
use crate::session::{Access, Session, Shell};

const APPROVE_HELP: &str = "\
What is approved is the check exactly as it is: an edit voids it. Whoever wrote a check does not approve it, and \
nobody who acts as an agent does. Whoever is alone runs it with `docket check run` or `docket close`, or allows its command \
by [runner] allow in docket.toml. What is let run is what you have read: without --if-version it is only shown, with the version \
to say.

Examples:
  docket check approve WEB-7                          show what would be let run
  docket check approve WEB-7 --if-version 4
  docket check approve WEB-7 --only 0,2 --if-version 4";

const ATTEST_HELP: &str = "\
Only a person attests. The word counts until the check says something else.

Examples:
  docket check attest WEB-7 1=pass --note \"every error names its line\"
  docket check attest WEB-7 1=fail";

#[derive(Debug, clap::Args)]
#[command(after_help = APPROVE_HELP)]
pub(crate) struct ApproveArgs {
    /// The item: its key, its id, or the beginning of its id
    item: String,
    /// Only these checks, by number
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    only: Vec<usize>,
    /// The version of the item that you have read; where it has changed since, nothing is let run
    #[arg(long, value_name = "NUMBER")]
    if_version: Option<u64>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = ATTEST_HELP)]
pub(crate) struct AttestArgs {
    /// The item: its key, its id, or the beginning of its id
    item: String,
    /// The check's number, and how it stands where it does not hold: 1, 1=pass, 1=fail
    check: String,
    /// What was seen; - reads standard input
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Refuse if the item has changed since this version
    #[arg(long, value_name = "NUMBER")]
    if_version: Option<u64>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CancelArgs {
    /// The run, as `docket check runs` names it
    run: String,
}

pub(super) async fn approve(shell: &Shell, args: ApproveArgs) -> Result<(), Failure> {
    let item = values::item(&args.item)?;
    let session = shell.session(Access::Write).await?;
    let (only, engine) = (args.only, &session.engine);
    let approved = engine.approve_checks(session.call(), session.scope(), item.clone(), only.clone(), args.if_version);
    let shown = match approved.await {
        Err(error) if error.reason == Reason::MissingField => {
            return unread(shell, &session, &item, &only, error).await;
        }
        set => ChecksShown::from(set?),
    };
    view::answer(shell, &session, &shown, Some("approved checks of")).await
}

pub(super) async fn attest(shell: &Shell, args: AttestArgs) -> Result<(), Failure> {
    let (check, passed) = standing(&args.check)?;
    let note = values::text(&shell.around, args.note.as_deref(), None, "--note")?;
    let item = values::item(&args.item)?;
    let session = shell.session(Access::Write).await?;
    let expected_version = args.if_version;
    let attest = Attest { project: session.scope(), item, check, passed, note, tree: None, expected_version };
    let shown = ChecksShown::from(session.engine.run(session.call(), attest).await?);
    view::answer(shell, &session, &shown, Some("attested a check of")).await
}

pub(super) async fn cancel(shell: &Shell, args: CancelArgs) -> Result<(), Failure> {
    let run: RunId = args.run.parse().map_err(|invalid: Invalid| invalid.at("RUN"))?;
    let session = shell.session(Access::Write).await?;
    let set = session.engine.run(session.call(), CancelRun { run }).await?;
    let names = session.names([set.item]).await?;
    let answer = WithKey { key: names.key(set.item), answer: &set };
    shell.out.answer(&answer, |paint| {
        let head = format!("{} {}", paint.good("gave up a run of"), names.of(set.item));
        std::iter::once(head).chain(view::runs(&set.runs, paint)).collect()
    })
}

/// What would be let run, for whoever has not said that it was read, with what to say. Where nothing is left to let run, nothing is
/// asked.
async fn unread(shell: &Shell, session: &Session, item: &ItemRef, only: &[usize], error: Error) -> Result<(), Failure> {
    let mut shown = session.engine.checks_of(&session.scope(), item).await?;
    let is_meant = |check: &&ShownCheck| only.is_empty() || only.contains(&check.index);
    let waits = |check: &&ShownCheck| check.check.kind.is_runnable() && !check.check.is_approved();
    if !shown.checks.iter().any(|check| is_meant(&check) && waits(&check)) {
        shown.checks.retain(|check| is_meant(&check));
        return view::answer(shell, session, &shown, Some("all of these are approved:")).await;
    }
    shown.checks.retain(|check| is_meant(&check) && waits(&check));
    let line = |check: &ShownCheck| {
        let line = format!("  {}  {}: {}", check.index, check.check.desc.as_str(), view::how(&check.check.kind));
        escape::line(&line)
    };
    let lines = shown.checks.iter().map(line).collect();
    let version = shown.version;
    let named: Vec<String> = only.iter().map(ToString::to_string).collect();
    let only = if named.is_empty() { String::new() } else { format!(" --only {}", named.join(",")) };
    let message = format!(
        "nothing was let run: say which version you have read, by docket check approve {item}{only} --if-version {version}"
    );
    let shown = serde_json::json!({ "version": version, "checks": shown.checks });
    Err(Failure::Showing(Box::new(Error { message, ..error }), lines, shown))
}

fn standing(word: &str) -> Result<(usize, bool), Failure> {
    let bad = || {
        let message = format!(
            "a check is given by its number with how it stands, such as 1=pass or 1=fail, not \"{}\"",
            echo(word)
        );
        Failure::from(Error::validation(Reason::BadValue, message).at("CHECK"))
    };
    // Whoever attests a check says that it holds, where nothing else is said.
    let (number, standing) = word.split_once('=').unwrap_or((word, "pass"));
    let passed = match standing.to_ascii_lowercase().as_str() {
        "pass" => true,
        "fail" => false,
        _ => return Err(bad()),
    };
    Ok((number.parse().map_err(|_| bad())?, passed))
}
