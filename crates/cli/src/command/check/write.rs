//! Writing checks: a whole list out of a file, or one more.

use docket_core::command::{NewCheck, SetChecks};
use docket_core::model::{CheckKind, Folder, Name, Repository, Text};
use docket_core::query::ChecksShown;
use docket_core::{Error, Invalid, Reason, echo};
use serde_json::Value;

use super::super::values;
use super::view;
use crate::config::locate::Surroundings;
use crate::exit::Failure;
use crate::session::{Access, Shell};

const SET_HELP: &str = "\
The file is a JSON list of checks. Each has a desc, and where it is no person's to make a cmd with cwd and timeout \
(seconds), or type pull_request with repository and number or branch; proves names the criterion it proves. A \
check that says the same as one that is there keeps its approval and its result.

Examples:
  docket check set WEB-7 --file checks.json
  echo '[{\"desc\": \"The tests pass\", \"cmd\": \"cargo test\"}]' | docket check set WEB-7 --file -
  docket check set WEB-7 --clear";

const ADD_HELP: &str = "\
Without --cmd and --pull-request it is a person's to make: `docket check attest`.

Examples:
  docket check add WEB-7 \"The tests pass\" --cmd \"cargo test\" --cwd crates/core --timeout 10m
  docket check add WEB-7 \"Ann likes the errors\"
  docket check add WEB-7 \"It is merged\" --pull-request acme/web#31 --proves c2";

#[derive(Debug, clap::Args)]
#[command(after_help = SET_HELP)]
pub(crate) struct SetArgs {
    /// The item: its key, its id, or the beginning of its id
    item: String,
    /// The checks, as a JSON list out of a file; - reads standard input
    #[arg(long, value_name = "FILE", required_unless_present = "clear", conflicts_with = "clear")]
    file: Option<String>,
    /// Take all checks away
    #[arg(long)]
    clear: bool,
    /// Refuse if the item has changed since this version
    #[arg(long, value_name = "NUMBER")]
    if_version: Option<u64>,
    /// The fence of your claim
    #[arg(long, value_name = "NUMBER")]
    fence: Option<u64>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = ADD_HELP)]
pub(crate) struct AddArgs {
    /// The item: its key, its id, or the beginning of its id
    item: String,
    /// What it verifies
    desc: String,
    /// The command line that must end well
    #[arg(long, value_name = "COMMAND", conflicts_with = "pull_request")]
    cmd: Option<String>,
    /// Where it runs: a folder of the repository
    #[arg(long, value_name = "FOLDER", requires = "cmd")]
    cwd: Option<String>,
    /// How long it may take, such as 90s or 10m [default: 2m]
    #[arg(long, value_name = "TIME", requires = "cmd")]
    timeout: Option<String>,
    /// A pull request that must be merged: OWNER/NAME#NUMBER, or OWNER/NAME@BRANCH for the newest of a branch
    #[arg(long, value_name = "REFERENCE")]
    pull_request: Option<String>,
    /// The acceptance criterion that it proves, such as c1
    #[arg(long, value_name = "CRITERION")]
    proves: Option<String>,
    /// Refuse if the item has changed since this version
    #[arg(long, value_name = "NUMBER")]
    if_version: Option<u64>,
    /// The fence of your claim
    #[arg(long, value_name = "NUMBER")]
    fence: Option<u64>,
}

pub(super) async fn set(shell: &Shell, args: SetArgs) -> Result<(), Failure> {
    let checks = match &args.file {
        Some(file) => read(&shell.around, file)?,
        None => Vec::new(),
    };
    let done = if checks.is_empty() { "took all checks from" } else { "wrote the checks of" };
    write(shell, &args.item, checks, false, (args.if_version, args.fence), done).await
}

pub(super) async fn add(shell: &Shell, args: AddArgs) -> Result<(), Failure> {
    let at = |option: &'static str| move |invalid: Invalid| Failure::from(invalid.at(option));
    let kind = match (&args.cmd, &args.pull_request) {
        (Some(cmd), _) => CheckKind::Command {
            cmd: Text::parse(cmd).map_err(at("--cmd"))?,
            cwd: args.cwd.as_deref().map(Folder::parse).transpose().map_err(at("--cwd"))?,
            timeout_seconds: args.timeout.as_deref().map(seconds).transpose().map_err(at("--timeout"))?,
        },
        (None, Some(reference)) => pull_request(reference)?,
        (None, None) => CheckKind::Manual,
    };
    let desc = Text::parse(&args.desc).map_err(at("DESC"))?;
    let proves = args.proves.as_deref().map(str::parse).transpose().map_err(at("--proves"))?;
    let checks = vec![NewCheck { desc, kind, proves }];
    write(shell, &args.item, checks, true, (args.if_version, args.fence), "added a check to").await
}

/// The checks that a file lists, read as strictly as over the network.
fn read(around: &Surroundings, file: &str) -> Result<Vec<NewCheck>, Failure> {
    let value: Value = values::json(around, file, "--file")?;
    Ok(docket_core::wire::checks(&value)?)
}

/// A time; which ones a check may have is said by the engine.
fn seconds(text: &str) -> Result<u32, Invalid> {
    Ok(u32::try_from(values::seconds(text)?.max(0)).unwrap_or(u32::MAX))
}

fn pull_request(reference: &str) -> Result<CheckKind, Failure> {
    let bad = || {
        let message =
            format!("--pull-request must be OWNER/NAME#NUMBER or OWNER/NAME@BRANCH, not \"{}\"", echo(reference));
        Failure::from(Error::validation(Reason::BadValue, message).at("--pull-request"))
    };
    let (repository, number, branch) = match (reference.split_once('#'), reference.split_once('@')) {
        (Some((repository, number)), _) => (repository, Some(number.parse().map_err(|_| bad())?), None),
        (None, Some((repository, branch))) => {
            let branch = Name::parse(branch).map_err(|invalid| Failure::from(invalid.at("--pull-request")))?;
            (repository, None, Some(branch))
        }
        (None, None) => return Err(bad()),
    };
    let repository = Repository::parse(repository).map_err(|_| bad())?;
    Ok(CheckKind::PullRequest { repository, number, branch })
}

async fn write(
    shell: &Shell,
    item: &str,
    checks: Vec<NewCheck>,
    add: bool,
    (expected_version, fence): (Option<u64>, Option<u64>),
    done: &str,
) -> Result<(), Failure> {
    let item = values::item(item)?;
    let session = shell.session(Access::Write).await?;
    let call = session.call();
    let set = SetChecks {
        authority: session.engine.authority_of(&call),
        project: session.scope(),
        item,
        checks,
        add,
        expected_version,
        fence: values::fence(fence),
    };
    let shown = ChecksShown::from(session.engine.run(call, set).await?);
    view::answer(shell, &session, &shown, Some(done)).await
}
