//! Acts about sessions.

use super::{AGENTS, Act, Stage, pick};
use crate::command::{BeginSession, CancelSession, FinishSession, Heartbeat};
use crate::error::Error;
use crate::model::{ItemRef, Progress, Runtime, Text};

pub(super) fn attempt<S: Stage>(stage: &mut S, act: &Act) -> Option<Result<(), Error>> {
    let project = stage.project();
    let words = || Text::parse("words").expect("a text");
    match act {
        Act::BeginSession { item, who } => {
            let item = ItemRef::Id(pick(stage, *item)?);
            let runtime = Runtime::default();
            let call = stage.call(AGENTS[*who]);
            let begin = BeginSession { project, item, expected_actor: None, runtime, ttl: None };
            Some(stage.run(&call, &begin).map(|_| ()))
        }
        Act::Heartbeat { item, percent, who } => {
            let session = stage.session_on(pick(stage, *item)?)?;
            let progress = percent.map(|percent| Progress { percent: Some(percent), ..Progress::default() });
            let call = stage.call(AGENTS[*who]);
            Some(stage.run(&call, &Heartbeat { session, progress }).map(|_| ()))
        }
        Act::EndSession { item, cancel, who } => {
            let session = stage.session_on(pick(stage, *item)?)?;
            let call = stage.call(AGENTS[*who]);
            Some(if *cancel {
                stage.run(&call, &CancelSession { session, reason: words() }).map(|_| ())
            } else {
                stage.run(&call, &FinishSession { session, summary: words(), head: None }).map(|_| ())
            })
        }
        _ => super::checks::attempt(stage, act),
    }
}
