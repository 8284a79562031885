//! Checks and their runs in arguments and answers. Definitions are what somebody wrote; how they stand is the server's.

use docket_core::command::{CancelRun, ChecksSet, NewCheck, SetChecks};
use docket_core::model::{Authority, Check, CheckKind, Fence, ItemRef, Run, RunEnd, RunId};
use docket_core::prove::Wanted;
use docket_core::query::{ProvedShown, ShownCheck};
use docket_core::store::{Around, ProjectRef};
use docket_core::{Error, Invalid, Reason, limits};
use serde_json::{Map, Value, json};

use super::budget::{Page, Row};
use super::common::Writer;
use super::find::Ask;
use super::sections::listed;
use super::split::{Split, put};
use crate::answer::Answer;
use crate::input::{Fields, Given, wrong_type};
use crate::session::Session;

/// Fields of `contract` that are about checks.
pub(super) const ACTS: [&str; 5] = ["checks", "run", "approve", "attest", "cancel"];
const RUN: &[&str] = &["only", "again"];

/// What every act on checks is about.
pub(super) struct About<'s> {
    pub(super) session: &'s Session,
    pub(super) writer: Writer,
    pub(super) project: ProjectRef,
    pub(super) item: ItemRef,
    pub(super) fence: Option<Fence>,
}

impl About<'_> {
    /// Does what a call of `contract` wants done to checks.
    pub(super) async fn act(&self, act: &str, mut fields: Fields) -> Result<Answer, Error> {
        match act {
            "checks" => self.set(fields).await,
            "run" => self.run(fields).await,
            "approve" => {
                let only = places(&mut fields, "approve")?;
                fields.end()?;
                let set = self.session.elicit_approval(&self.project, &self.item, only).await?;
                Ok(as_set(&set).answer())
            }
            "attest" => {
                let check = fields.whole("attest")?.ok_or_else(|| fields.missing("attest"))?;
                let check = place("attest", check)?;
                fields.end()?;
                let set = self.session.elicit_attestation(&self.project, &self.item, check).await?;
                Ok(as_set(&set).answer())
            }
            _ => self.cancel(fields).await,
        }
    }

    async fn set(&self, mut fields: Fields) -> Result<Answer, Error> {
        let replace = fields.flag("replace")?.unwrap_or(false);
        let checks = match fields.given("checks") {
            Given::Value(value) => docket_core::wire::checks(&value)?,
            Given::Null | Given::Absent if replace => Vec::new(),
            Given::Null | Given::Absent => {
                let message = "checks is null: that takes all away, and only goes with replace";
                return Err(Error::validation(Reason::BadValue, message).at("checks"));
            }
        };
        let expected_version = super::item_args::version(&mut fields)?;
        fields.end()?;
        let set = self.written(checks, !replace, expected_version);
        Ok(as_set(&self.session.engine().run(self.writer.call(self.session), set).await?).answer())
    }

    fn written(&self, checks: Vec<NewCheck>, add: bool, expected_version: Option<u64>) -> SetChecks {
        // Whoever calls a tool is an agent.
        let (authority, fence) = (Authority::Agent, self.fence);
        let (project, item) = (self.project.clone(), self.item.clone());
        SetChecks { project, item, checks, add, expected_version, fence, authority }
    }

    async fn run(&self, mut fields: Fields) -> Result<Answer, Error> {
        let wanted = match fields.value("run") {
            None => Wanted::default(),
            Some(value) => {
                let mut run = Fields::inside("run", value, RUN)?;
                let only = places(&mut run, "only")?;
                Wanted { only, again: run.flag("again")?.unwrap_or(false) }
            }
        };
        fields.end()?;
        let call = self.writer.call(self.session);
        let proved = self.session.engine().run_checks(&call, &self.project, &self.item, wanted).await?;
        let ProvedShown { runs, unchanged, tree, passed, now } = proved;
        let mut split = Split::default();
        split.say("version", now.version);
        split.say("passed", passed);
        split.say("tree", tree);
        split.say("unchanged", unchanged);
        split.add("runs", listed(runs.iter().map(run_row)));
        split.add("checks", view(&now.checks));
        Ok(split.answer())
    }

    async fn cancel(&self, mut fields: Fields) -> Result<Answer, Error> {
        let run = fields.need("cancel", str::parse::<RunId>)?;
        fields.end()?;
        let engine = self.session.engine();
        let seen = engine.show(&self.project, std::slice::from_ref(&self.item), Around::default()).await?;
        if engine.run_named(run).await?.item != seen.resolve(&self.item)?.id {
            return Err(Error::not_found(format!("no run \"{run}\"")).at("cancel"));
        }
        let set = engine.run(self.writer.call(self.session), CancelRun { run }).await?;
        let mut split = Split::default();
        split.add("runs", listed(set.runs.iter().map(run_row)));
        Ok(split.answer())
    }
}

/// Places of checks, in a list.
fn places(fields: &mut Fields, field: &str) -> Result<Vec<usize>, Error> {
    let path = fields.at(field);
    let one = |value: Value| match value.as_i64() {
        Some(index) => place(&path, index),
        None => Err(wrong_type(&path, "a list of whole numbers", &value)),
    };
    fields.list(field)?.unwrap_or_default().into_iter().map(one).collect()
}

fn place(field: &str, index: i64) -> Result<usize, Error> {
    usize::try_from(index).map_err(|_| {
        Error::validation(Reason::BadValue, format!("{field} must be places of checks, from 0 on")).at(field)
    })
}

fn as_set(set: &ChecksSet) -> Split {
    let mut split = Split::default();
    split.say("version", set.version);
    split.say("verification", set.verification);
    split.say("closed", set.closed.then_some(true));
    split.add("checks", view(&ShownCheck::list(&set.checks, None)));
    split
}

/// The checks of an item: both parts of a check stand at the same place.
pub(super) fn view(checks: &[ShownCheck]) -> Split {
    listed(checks.iter().map(|shown| row(shown.index, shown)))
}

/// The same from an item's contract.
pub(super) fn of(checks: &[Check]) -> Split {
    view(&ShownCheck::list(checks, None))
}

fn row(index: usize, shown: &ShownCheck) -> Split {
    let check = &shown.check;
    let mut row = Split::default();
    row.say("index", index);
    row.say("status", shown.status);
    row.say("proves", check.proves);
    row.say("approved", shown.may_run.then_some(true));
    kind(&mut row, &check.kind);
    row.quote("desc", &check.desc);
    if let Some(result) = &check.result {
        row.say("run", result.run);
        row.say("tree", &result.tree);
        row.quote("note", &result.note);
    }
    row
}

fn kind(row: &mut Split, kind: &CheckKind) {
    match kind {
        CheckKind::Manual => row.say("type", "manual"),
        CheckKind::Command { cmd, cwd, timeout_seconds } => {
            row.say("type", "command");
            row.say("timeout", timeout_seconds);
            row.quote("cmd", cmd);
            row.quote("cwd", cwd);
        }
        CheckKind::PullRequest { repository, number, branch } => {
            row.say("type", "pull_request");
            row.say("number", number);
            row.quote("repository", repository);
            row.quote("branch", branch);
        }
    }
}

/// One run of a check.
fn run_row(run: &Run) -> Split {
    let mut row = Split::default();
    row.say("run", run.id);
    row.say("check", run.check);
    row.say("state", run.state);
    row.say("orderedAt", run.ordered_at);
    row.say("endedAt", run.ended_at);
    match &run.end {
        Some(RunEnd::Exited { code }) => row.say("exit", code),
        Some(RunEnd::Signalled { signal }) => row.say("signal", signal),
        Some(RunEnd::TimedOut) => row.say("timedOut", true),
        Some(RunEnd::Unchanged { since }) => row.say("unchangedSince", since),
        Some(RunEnd::NotStarted { why, code }) => {
            row.say("code", code);
            row.quote("notStarted", why);
        }
        Some(RunEnd::NotMade { why, .. }) => row.quote("notMade", why),
        Some(RunEnd::Fact { seen, .. } | RunEnd::NotYet { seen }) => row.quote("seen", seen),
        Some(RunEnd::Cancelled) | None => {}
    }
    row.say("nextLookAt", run.next_look_at);
    row.say("tree", &run.tree);
    row.say("sandbox", &run.sandbox);
    row.say("logBytes", Some(run.log_bytes).filter(|bytes| *bytes > 0));
    row.quote("desc", &run.desc);
    row
}

/// `find` of `runs`: those of an item, the newest first.
pub(super) async fn runs(ask: &Ask<'_>, fields: &mut Fields) -> Result<Answer, Error> {
    let item = fields.need("id", str::parse::<ItemRef>)?;
    fields.end()?;
    let (item, offset) = (&item, offset(ask)?);
    ask.answer(|limit| async move {
        let page = ask.session.engine().runs_of(&ask.project, item, offset, limit).await?;
        let rows = page.runs.iter().map(|run| Row { name: run.id.to_string(), said: run_row(run) }).collect();
        Ok(Page { rows, next: page.next_offset.map(|offset| offset.to_string()), total: None })
    })
    .await
}

/// `find` of `log`: what a run said, part by part.
pub(super) async fn log(ask: &Ask<'_>, fields: &mut Fields) -> Result<Answer, Error> {
    let run = fields.need("id", |text| {
        text.parse::<RunId>().map_err(|invalid| {
            let message =
                format!("{}; a log is of a run, and `find` of `runs` lists those of an item", invalid.message);
            Invalid::new(invalid.reason, message)
        })
    })?;
    fields.end()?;
    let most = ask.budget.bytes().min(limits::LOG_PAGE_BYTES);
    let page = ask.session.engine().log_of(run, offset(ask)?, most).await?;
    let mut told = Map::new();
    put(&mut told, "offset", page.offset);
    put(&mut told, "logBytes", page.run.log_bytes);
    put(&mut told, "leftOut", Some(page.run.log_left_out).filter(|bytes| *bytes > 0));
    let mut split = Split::default();
    split.add("run", run_row(&page.run));
    split.say("log", told);
    split.quote("log", json!(page.text));
    split.say("cursor", page.next_offset.map(|offset| offset.to_string()));
    Ok(split.answer())
}

fn offset(ask: &Ask<'_>) -> Result<usize, Error> {
    let Some(cursor) = &ask.cursor else { return Ok(0) };
    // A store counts rows in 64 bits with a sign.
    let offset = cursor.parse::<i64>().ok().and_then(|offset| usize::try_from(offset).ok());
    offset.ok_or_else(|| Error::validation(Reason::BadCursor, "cursor is none that this list ended with").at("cursor"))
}
