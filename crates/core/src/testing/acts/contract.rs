//! Acts about the contract: briefs, evidence, questions, remarks, and the beginning and end of work.

use super::{AGENTS, Act, Stage, pick};
use crate::command::{
    Ask, Begin, BriefText, Change, ClaimNext, CloseTree, Edit, EndQuestion, Finish, Learning, NewCriterion, NewLink,
    Patch, Proof, Remark, SetBrief, Verify, Wanted, What,
};
use crate::error::Error;
use crate::model::{Authority, CriterionId, ItemRef, Text, Url};
use crate::testing::name;

/// Criteria of every sort: some the agent's, some a check's, some a person's, some soft; two that say the same from brief to
/// brief, and longer lists that say known ones anew, by their names.
pub(super) fn criteria(count: u8) -> Vec<NewCriterion> {
    let line = |index: u8| {
        let anew = count >= 5;
        let text = match (anew, index) {
            (true, _) => format!("said anew {}", index + count),
            (false, 0 | 1) => format!("line {index}"),
            (false, _) => format!("line {}", index + count),
        };
        let verifiers = [Authority::Agent, Authority::Check, Authority::Human];
        NewCriterion {
            id: anew.then(|| CriterionId(u32::from(index) + 1)),
            verifier: Some(verifiers[usize::from(index) % verifiers.len()])
                .filter(|_| !anew || index.is_multiple_of(2)),
            hard: Some(index % 4 != 3),
            ..NewCriterion::saying(Text::parse(&text).expect("a text"))
        }
    };
    (0..count % 5).map(line).collect()
}

fn learning() -> Learning {
    let title = crate::testing::title("what it taught");
    Learning { title, body: Text::parse("words").expect("a text"), tags: Vec::new() }
}

pub(super) fn attempt<S: Stage>(stage: &mut S, act: &Act) -> Option<Result<(), Error>> {
    let project = stage.project();
    let at = |stage: &S, index: usize| pick(stage, index).map(ItemRef::Id);
    let words = || Text::parse("words").expect("a text");
    match act {
        Act::Brief { item, criteria: count, replace, human, who } => {
            let brief = BriefText {
                objective: if *count > 4 { Change::Set(words()) } else { Change::Keep },
                acceptance_criteria: if *count == 0 { Change::Clear } else { Change::Set(criteria(*count)) },
                ..BriefText::default()
            };
            let item = at(stage, *item)?;
            let set = SetBrief {
                project,
                item,
                brief,
                replace: *replace,
                expected_version: None,
                fence: None,
                authority: if *human { Authority::Human } else { Authority::Agent },
            };
            let call = stage.call(if *human { None } else { AGENTS[*who] });
            Some(stage.run(&call, &set).map(|_| ()))
        }
        Act::Verify { item, criterion, passed, human, who } => {
            let proof = Proof { criterion: CriterionId(*criterion), passed: *passed, note: None };
            let authority = if *human { Authority::Human } else { Authority::Agent };
            let verify = Verify { project, item: at(stage, *item)?, proofs: vec![proof], authority, fence: None };
            let call = stage.call(if *human { None } else { AGENTS[*who] });
            Some(stage.run(&call, &verify).map(|_| ()))
        }
        Act::Ask { item, who } => {
            let ask = Ask { project, item: at(stage, *item)?, text: words(), options: vec![words()], fence: None };
            let call = stage.call(AGENTS[*who]);
            Some(stage.run(&call, &ask).map(|_| ()))
        }
        Act::Answer { item, withdraw } => {
            let question = stage.question_on(pick(stage, *item)?)?;
            let call = stage.call(None);
            Some(stage.run(&call, &EndQuestion { question, answer: (!withdraw).then(words) }).map(|_| ()))
        }
        Act::Flag { item, on } => {
            let mut patch = Patch::of(at(stage, *item)?);
            patch.attention = if *on { Change::Set(words()) } else { Change::Clear };
            let call = stage.call(None);
            Some(stage.run(&call, &Edit { project, patches: vec![patch], atomic: true }).map(|_| ()))
        }
        Act::Remark { item, who } => {
            let url = Url::parse("https://example.com/1").expect("an address");
            let link = NewLink { kind: name("commit"), reference: name("abc"), url, title: None };
            let item = at(stage, *item)?;
            let remark = Remark { project, item, comment: Some(words()), links: vec![link], fence: None };
            let call = stage.call(AGENTS[*who]);
            Some(stage.run(&call, &remark).map(|_| ()))
        }
        _ => attempt_work(stage, act),
    }
}

fn attempt_work<S: Stage>(stage: &mut S, act: &Act) -> Option<Result<(), Error>> {
    let project = stage.project();
    let at = |stage: &S, index: usize| pick(stage, index).map(ItemRef::Id);
    let words = || Text::parse("words").expect("a text");
    match act {
        Act::Begin { item, who } => {
            let begin = Begin { project, item: at(stage, *item)?, ttl: None };
            let call = stage.call(AGENTS[*who]);
            Some(stage.run(&call, &begin).map(|_| ()))
        }
        Act::StartNext { who } => {
            let wanted = Wanted { start: true, ..Wanted::default() };
            let call = stage.call(AGENTS[*who]);
            Some(stage.run(&call, &ClaimNext { project, wanted, ttl: None }).map(|_| ()))
        }
        Act::Finish { item, passed, preview, who } => {
            let proof = Proof { criterion: CriterionId(1), passed: true, note: Some(words()) };
            let finish = Finish {
                project,
                item: at(stage, *item)?,
                comment: Some(words()),
                links: vec![],
                proofs: if *passed { vec![proof] } else { vec![] },
                learnings: if *passed { vec![learning()] } else { vec![] },
                target: None,
                fence: None,
                preview: *preview,
            };
            let call = stage.call(AGENTS[*who]);
            Some(stage.run(&call, &finish).map(|_| ()))
        }
        Act::CloseWhole { item, cancel } => {
            let close = CloseTree { project, what: What::Whole(at(stage, *item)?), cancel: *cancel, fence: None };
            let call = stage.call(None);
            Some(stage.run(&call, &close).map(|_| ()))
        }
        _ => super::session::attempt(stage, act),
    }
}
