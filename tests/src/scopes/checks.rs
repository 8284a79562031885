//! What is asked and tried of checks and their runs.

use docket_core::access::Profile;
use docket_core::command::{
    ApproveChecks, Attest, CancelRun, EndRun, NewCheck, OrderRuns, Report, SetChecks, Submit, TakeRun,
};
use docket_core::engine::Call;
use docket_core::model::{Authority, CheckKind, Definition, ItemRef, RunEnd, RunId, Taking, Text};
use docket_core::store::ProjectRef;
use docket_core::testing::name;
use docket_core::{Engine, Error};
use uuid::Uuid;

use super::{Names, said_of, tried};

fn text(text: &str) -> Text {
    Text::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

/// A command, and something that a person makes.
fn set(item: ItemRef, word: &str) -> SetChecks {
    let command = CheckKind::Command { cmd: text(&format!("{word} --all")), cwd: None, timeout_seconds: None };
    let check = |kind| NewCheck { desc: text(word), kind, proves: None };
    SetChecks {
        project: ProjectRef::Any,
        item,
        checks: vec![check(command), check(CheckKind::Manual)],
        add: false,
        expected_version: None,
        fence: None,
        authority: Authority::Agent,
    }
}

fn order(item: ItemRef, word: &str) -> OrderRuns {
    let command = CheckKind::Command { cmd: text(&format!("{word} --all")), cwd: None, timeout_seconds: None };
    OrderRuns {
        project: ProjectRef::Any,
        item,
        only: vec![],
        again: false,
        unchanged: vec![],
        runner: None,
        allowed: vec![Definition::of(&text(word), &command)],
    }
}

/// Checks by somebody who lets nobody else be their author, and a run of one of them.
pub(super) async fn ordered(engine: &Engine, item: ItemRef, word: &str) -> RunId {
    let call = || Call::new(name("author"), Uuid::new_v4().as_u128());
    engine.run(call(), set(item.clone(), word)).await.unwrap_or_else(|error| panic!("checks: {error}"));
    let ordered = engine.run(call(), order(item, word)).await.unwrap_or_else(|error| panic!("a run: {error}"));
    ordered.runs.first().unwrap_or_else(|| panic!("a run")).id
}

/// Every read that names something.
pub(super) async fn reads(engine: &Engine, names: &Names) -> Vec<(&'static str, String)> {
    let Names { project, item, run, .. } = names;
    vec![
        ("checks", said_of(&engine.checks_of(project, item).await)),
        ("runs", said_of(&engine.runs_of(project, item, 0, 50).await)),
        ("run", said_of(&engine.run_named(*run).await)),
        ("log", said_of(&engine.log_of(*run, 0, 100).await)),
    ]
}

/// Every write that names something, with the profile it needs.
pub(super) async fn writes(engine: &Engine, names: &Names) -> Vec<(&'static str, Profile, Result<String, Error>)> {
    let Names { item, run, .. } = names;
    let any = ProjectRef::Any;
    let expected_version = engine.checks_of(&any, item).await.map_or(1, |shown| shown.version);
    let approve = ApproveChecks { project: any.clone(), item: item.clone(), only: vec![], expected_version };
    let attest = Attest {
        project: any.clone(),
        item: item.clone(),
        check: 1,
        passed: true,
        note: None,
        tree: None,
        expected_version: None,
    };
    let report = Report::undone(RunEnd::Exited { code: 0 });
    let definition = Definition::of(&text("plain"), &CheckKind::Manual);
    let end = EndRun { run: *run, runner: name("nobody"), definition, report, back: false, next: None };
    let take = TakeRun { run: *run, runner: name("somebody"), allowed: vec![], taking: Taking::Asked };
    let submit = Submit { project: any, item: item.clone(), output: None, learnings: Vec::new(), fence: None };
    vec![
        ("set checks", Profile::Worker, tried(engine, set(item.clone(), "plain")).await),
        ("order runs", Profile::Worker, tried(engine, order(item.clone(), "plain")).await),
        ("approve checks", Profile::Operator, tried(engine, approve).await),
        ("attest", Profile::Operator, tried(engine, attest).await),
        ("end run", Profile::Worker, tried(engine, end).await),
        ("take run", Profile::Worker, tried(engine, take).await),
        ("cancel run", Profile::Worker, tried(engine, CancelRun { run: *run }).await),
        ("submit", Profile::Worker, tried(engine, submit).await),
    ]
}
