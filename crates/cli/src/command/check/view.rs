//! Checks and runs as people read them.

use docket_core::model::{CheckKind, CheckResult, CheckStanding, Run, RunState};
use docket_core::query::{ChecksShown, ShownCheck};

use crate::exit::Failure;
use crate::names::WithKey;
use crate::output::table::{Rows, Text};
use crate::output::{Paint, escape};
use crate::session::{Session, Shell};

/// The checks of an item, with a word about what was done to them.
pub(super) async fn answer(
    shell: &Shell,
    session: &Session,
    shown: &ChecksShown,
    done: Option<&str>,
) -> Result<(), Failure> {
    let names = session.names([shown.item]).await?;
    let answer = WithKey { key: names.key(shown.item), answer: shown };
    shell.out.answer(&answer, |paint| {
        let version = paint.dim(&format!("(version {})", shown.version));
        let head = match done {
            Some(done) => format!("{} {}  {version}", paint.good(done), names.of(shown.item)),
            None => format!("{}  {version}", names.of(shown.item)),
        };
        let closed = shown.closed.then(|| format!("{} {}", paint.good("closed"), names.of(shown.item)));
        let waits = done.is_some() && shown.checks.iter().any(waits_for_a_run);
        let maker = waits.then(|| {
            paint.dim(
                "made by `docket check run`, or once it is handed in by an agent's `docket mcp` or a `docket runner`",
            )
        });
        std::iter::once(head).chain(table(&shown.checks, paint)).chain(maker).chain(closed).collect()
    })
}

/// Whether somebody let a check run, and it was not made yet.
fn waits_for_a_run(shown: &ShownCheck) -> bool {
    let open = match shown.status {
        CheckStanding::Pending | CheckStanding::Unseen | CheckStanding::Stale => true,
        CheckStanding::Pass | CheckStanding::Fail => false,
    };
    open && shown.check.kind.is_runnable() && shown.check.is_approved()
}

/// A row for each check.
pub(super) fn table(checks: &[ShownCheck], paint: Paint) -> Vec<String> {
    if checks.is_empty() {
        return vec![paint.dim("no checks: `docket check add` writes one")];
    }
    let mut rows = Rows::new(paint, &["#", "STANDS", "CHECK", "HOW", "PROVES", "MAY RUN", "LAST"]);
    for shown in checks {
        let check = &shown.check;
        let may_run = match (check.kind.is_runnable(), check.approved.as_ref().filter(|_| shown.may_run)) {
            (false, _) => Text::plain(""),
            (true, Some(approval)) => Text::plain(format!("approved by {}", approval.by)),
            (true, None) => Text::dim("not approved"),
        };
        let last = check.result.as_ref().map(last).unwrap_or_default();
        rows.add(vec![
            Text::number(shown.index),
            standing(shown.status),
            Text::plain(check.desc.as_str()),
            Text::plain(how(&check.kind)),
            Text::plain(check.proves.map(|id| id.to_string()).unwrap_or_default()),
            may_run,
            Text::dim(last),
        ]);
    }
    rows.lines()
}

/// What became of a check, and by whom: whoever asked for a run at a terminal let it run.
fn last(result: &CheckResult) -> String {
    let seen = result.note.as_ref().map(docket_core::model::Text::as_str).unwrap_or_default();
    match (&result.asked_by, result.run) {
        (Some(asked), _) => format!("{seen} (for {asked})"),
        (None, Some(_)) => seen.to_owned(),
        (None, None) => format!("{seen} (by {})", result.by).trim_start().to_owned(),
    }
}

/// The checks in the description of an item, on the work tree where it was looked at.
pub(crate) fn lines(
    checks: &[docket_core::model::Check],
    look: Option<&docket_core::checks::Look>,
    paint: Paint,
) -> Vec<String> {
    let line = |shown: &ShownCheck| {
        let status = match shown.status {
            CheckStanding::Pass => paint.good("pass   "),
            CheckStanding::Fail => paint.bad("fail   "),
            CheckStanding::Stale => paint.bad("stale  "),
            CheckStanding::Unseen => "unseen ".to_owned(),
            CheckStanding::Pending => "pending".to_owned(),
        };
        let how = paint.dim(&format!("({})", escape::line(&how(&shown.check.kind))));
        format!("  {status} {} {}  {how}", shown.index, escape::line(shown.check.desc.as_str()))
    };
    ShownCheck::list(checks, look).iter().map(line).collect()
}

/// How a check is made, in a few words.
pub(super) fn how(kind: &CheckKind) -> String {
    match kind {
        CheckKind::Manual => "by a person".to_owned(),
        CheckKind::Command { cmd, cwd: None, .. } => cmd.as_str().to_owned(),
        CheckKind::Command { cmd, cwd: Some(cwd), .. } => format!("{} in {}", cmd.as_str(), cwd.as_str()),
        CheckKind::PullRequest { repository, number, branch } => match (number, branch) {
            (Some(number), _) => format!("{}#{number} is merged", repository.as_str()),
            (None, Some(branch)) => format!("{}@{branch} is merged", repository.as_str()),
            (None, None) => format!("{} is merged", repository.as_str()),
        },
    }
}

fn standing(status: CheckStanding) -> Text {
    match status {
        CheckStanding::Pass => Text::good("pass"),
        CheckStanding::Fail => Text::bad("fail"),
        CheckStanding::Stale => Text::bad("stale"),
        CheckStanding::Unseen => Text::plain("unseen"),
        CheckStanding::Pending => Text::plain("pending"),
    }
}

/// A row for each run.
pub(super) fn runs(runs: &[Run], paint: Paint) -> Vec<String> {
    let mut rows = Rows::new(paint, &["RUN", "#", "STATE", "CHECK", "END", "TOOK", "LOG"]);
    for run in runs {
        let state = match run.state {
            RunState::Passed => Text::good(run.state.as_str()),
            RunState::Failed | RunState::Lost => Text::bad(run.state.as_str()),
            RunState::Queued | RunState::Running | RunState::Cancelled => Text::plain(run.state.as_str()),
        };
        let left_out = if run.log_left_out > 0 { format!(" (+{} left out)", run.log_left_out) } else { String::new() };
        rows.add(vec![
            Text::key(run.id.to_string()),
            Text::number(run.check),
            state,
            Text::plain(run.desc.as_str()),
            Text::plain(run.end.as_ref().map(ToString::to_string).unwrap_or_default()),
            Text::plain(took(run)),
            Text::dim(format!("{} bytes{left_out}", run.log_bytes)),
        ]);
    }
    rows.lines()
}

/// How long a run took.
pub(super) fn took(run: &Run) -> String {
    let (Some(from), Some(to)) = (run.started_at, run.ended_at) else { return String::new() };
    let millis = to.as_millis().saturating_sub(from.as_millis()).max(0);
    format!("{}.{} s", millis / 1000, millis % 1000 / 100)
}
