//! Acts about checks: written, let run, made on one work tree or another, attested; and work that is made with a contract, handed
//! in, or moved by somebody who sees a work tree.

use super::contract::criteria;
use super::{AGENTS, Act, Stage, pick};
use crate::checks::Look;
use crate::command::{
    Advance, ApproveChecks, Attest, BriefText, CancelRun, Change, Create, EndRun, MoveRequest, NewCheck, NewItem,
    OrderRuns, Report, SetChecks, Submit, TakeRun,
};
use crate::error::Error;
use crate::model::{
    Authority, CheckKind, CriterionId, Definition, ItemRef, Name, Repository, RunEnd, Taking, Text, Timestamp, Tree,
};
use crate::testing::{name, title};
use crate::workflow::Target;

/// Two work trees, and that there is none.
pub fn tree(which: u8) -> Option<Tree> {
    let digit = ["a", "b"].get(usize::from(which))?;
    Some(Tree::parse(&digit.repeat(40)).expect("a tree"))
}

fn words(text: &str) -> Text {
    Text::parse(text).expect("a text")
}

/// A command, a pull request and a person's word, those of them that are wanted; the first may prove a criterion.
fn checks(which: u8) -> Vec<NewCheck> {
    let command = CheckKind::Command { cmd: words("true"), cwd: None, timeout_seconds: None };
    let repository = Repository::parse("some/where").expect("a repository");
    let merged = CheckKind::PullRequest { repository, number: Some(1), branch: None };
    let kinds = [("it runs", command), ("it is merged", merged), ("it looks well", CheckKind::Manual)];
    let wanted = kinds.into_iter().enumerate().filter(|(index, _)| which & (1 << index) != 0);
    let proves = (which & 8 != 0).then_some(CriterionId(1));
    let check = |(index, (desc, kind))| NewCheck { desc: words(desc), kind, proves: proves.filter(|_| index == 0) };
    wanted.map(check).collect()
}

fn definitions() -> Vec<Definition> {
    checks(7).iter().map(|check| Definition::of(&check.desc, &check.kind)).collect()
}

fn runner() -> Name {
    name("here")
}

pub(super) fn attempt<S: Stage>(stage: &mut S, act: &Act) -> Option<Result<(), Error>> {
    let project = stage.project();
    let at = |stage: &S, index: usize| pick(stage, index).map(ItemRef::Id);
    match act {
        Act::CreateWith { criteria: count, checks: which, role } => {
            let acceptance_criteria = Change::Set(criteria(*count));
            let brief = BriefText { acceptance_criteria, ..BriefText::default() };
            let text = title(&format!("item {}", stage.items().len()));
            let new = NewItem { brief: Some(brief), checks: checks(*which), role: *role, ..NewItem::titled(text) };
            let create = Create {
                project,
                items: vec![new],
                edges: vec![],
                notes: vec![],
                blank_notes: false,
                room_below: false,
                atomic: true,
            };
            let call = stage.call(None);
            Some(stage.run(&call, &create).map(|_| ()))
        }
        Act::SetChecks { item, checks: which, add, human, who } => {
            let authority = if *human { Authority::Human } else { Authority::Agent };
            let (item, checks) = (at(stage, *item)?, checks(*which));
            let set = SetChecks { project, item, checks, add: *add, expected_version: None, fence: None, authority };
            let call = stage.call(if *human { None } else { AGENTS[*who] });
            Some(stage.run(&call, &set).map(|_| ()))
        }
        Act::ApproveChecks { item, who } => {
            let item = pick(stage, *item)?;
            let expected_version = stage.version_of(item)?;
            let approve = ApproveChecks { project, item: ItemRef::Id(item), only: vec![], expected_version };
            let call = stage.call(AGENTS[*who]);
            Some(stage.run(&call, &approve).map(|_| ()))
        }
        Act::Attest { item, check, passed, who } => {
            let (item, note) = (at(stage, *item)?, None);
            let (check, passed) = (*check, *passed);
            let attest = Attest { project, item, check, passed, note, tree: None, expected_version: None };
            let call = stage.call(AGENTS[*who]);
            Some(stage.run(&call, &attest).map(|_| ()))
        }
        Act::Submit { item, who } => {
            let item = at(stage, *item)?;
            let submit = Submit { project, item, output: Some(words("done")), learnings: vec![], fence: None };
            let call = stage.call(AGENTS[*who]);
            Some(stage.run(&call, &submit).map(|_| ()))
        }
        Act::MoveSeeing { item, trigger, tree: which } => {
            let id = pick(stage, *item)?;
            let moves = vec![MoveRequest::of(ItemRef::Id(id), Target::Trigger(*trigger))];
            let mut call = stage.call(None);
            call.looks.insert(id, Look { tree: tree(*which), since: Timestamp::from_millis(0) });
            Some(stage.run(&call, &Advance { project, moves, atomic: true }).map(|_| ()))
        }
        _ => attempt_run(stage, act),
    }
}

fn attempt_run<S: Stage>(stage: &mut S, act: &Act) -> Option<Result<(), Error>> {
    let project = stage.project();
    match act {
        Act::OrderRuns { item, started, who } => {
            let order = OrderRuns {
                project,
                item: ItemRef::Id(pick(stage, *item)?),
                only: vec![],
                again: true,
                unchanged: vec![],
                runner: started.then(runner),
                allowed: if *started { definitions() } else { vec![] },
            };
            let call = stage.call(AGENTS[*who]);
            Some(stage.run(&call, &order).map(|_| ()))
        }
        Act::TakeRun { item } => {
            let run = stage.run_on(pick(stage, *item)?)?.id;
            let take = TakeRun { run, runner: runner(), allowed: definitions(), taking: Taking::Asked };
            let call = stage.call(None);
            Some(stage.run(&call, &take).map(|_| ()))
        }
        Act::CancelRun { item } => {
            let run = stage.run_on(pick(stage, *item)?)?.id;
            let call = stage.call(None);
            Some(stage.run(&call, &CancelRun { run }).map(|_| ()))
        }
        Act::EndRun { item, end, tree: which, back } => {
            let run = stage.run_on(pick(stage, *item)?)?;
            let end = match end {
                0..=4 => RunEnd::Exited { code: 0 },
                5 => RunEnd::Exited { code: 1 },
                6 => RunEnd::Fact { holds: true, seen: words("merged") },
                7 => RunEnd::NotYet { seen: words("open") },
                _ => RunEnd::TimedOut,
            };
            let report = Report { tree: tree(*which), ..Report::undone(end) };
            let (definition, back) = (run.definition, *back);
            let end = EndRun { run: run.id, runner: runner(), definition, report, back, next: None };
            let call = stage.call(None);
            Some(stage.run(&call, &end).map(|_| ()))
        }
        _ => None,
    }
}
