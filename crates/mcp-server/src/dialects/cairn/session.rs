//! A session as this dialect shows it.

use docket_core::Error;
use docket_core::model::{Health, Session as Attempt};
use docket_core::query::SessionView;
use serde_json::{Value, json};

use super::args::task_id;
use super::who;
use crate::answer::Answer;
use crate::session::Session;

/// A session after a write: read again, so that every verb answers the same.
pub(super) async fn answer(session: &Session, attempt: &Attempt) -> Result<Answer, Error> {
    let found = session.engine().session(attempt.id).await?;
    Ok(Answer::of(&told(session, &found).await?))
}

/// A session.
pub(super) async fn told(session: &Session, found: &SessionView) -> Result<Value, Error> {
    let SessionView { session: attempt, health, .. } = found;
    let project = session.engine().projects().await?.into_iter().find(|project| project.id == attempt.project);
    let project = project.ok_or_else(|| Error::not_found("no such project"))?;
    let who = who::attempters(session, std::iter::once(attempt)).await?;
    Ok(row(attempt, *health, &task_id(&project, attempt.item), who.get(&attempt.id)))
}

/// The same where the task's id is known, and who makes the attempt.
pub(super) fn row(attempt: &Attempt, health: Health, task: &str, actor: Option<&String>) -> Value {
    json!({
        "id": attempt.id,
        "task": task,
        "actor": actor.map_or(attempt.actor.as_str(), String::as_str),
        "status": attempt.state,
        "health": health,
        "started_at": attempt.started_at,
        "heartbeat_at": attempt.heartbeat_at,
        "ended_at": attempt.ended_at,
        "runtime": attempt.runtime,
        "progress": attempt.progress,
        "summary": attempt.summary,
        "head": attempt.head,
        "reason": attempt.reason,
    })
}
