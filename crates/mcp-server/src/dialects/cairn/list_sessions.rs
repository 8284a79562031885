//! `list_sessions`: attempts by task, actor, status and health.

use std::collections::BTreeMap;

use docket_core::Error;
use docket_core::model::{Health, SessionState};
use docket_core::query::SessionQuery;
use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

use super::args::{page, task_id, task_ref};
use super::schema::{self, Effect, object, text, whole, word};
use super::{session as sessions, who};
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

const KNOWN: &[&str] = &["task", "actor", "status", "health", "limit", "cursor"];

pub(super) fn tool() -> Tool {
    let states: Vec<&str> = SessionState::ALL.iter().map(|state| state.as_str()).collect();
    let healths: Vec<&str> = Health::ALL.iter().map(|health| health.as_str()).collect();
    let input = object(
        json!({
            "task": text(""),
            "actor": text(""),
            "status": word(&states, ""),
            "health": word(&healths, ""),
            "limit": whole(1, Some(200), ""),
            "cursor": text("next_cursor of the page before"),
        }),
        &[],
    );
    schema::plain_tool("list_sessions", "Sessions, the newest first.", Effect::Reads, input)
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    let mut query = SessionQuery {
        project: session.project().clone(),
        item: fields.parsed("task", task_ref)?,
        actor: fields.parsed("actor", who::holder)?.map(|name| session.call(None, None).meant(name)),
        state: fields.parsed("status", str::parse::<SessionState>)?,
        health: fields.parsed("health", str::parse::<Health>)?,
        limit: 0,
    };
    let (limit, cursor) = page(&mut fields)?;
    query.limit = limit;
    let found = session.engine().sessions(&query, cursor.as_deref()).await?;
    let projects = session.engine().projects().await?;
    let projects: BTreeMap<_, _> = projects.iter().map(|project| (project.id, project)).collect();
    let actors = who::attempters(session, found.sessions.iter().map(|one| &one.session)).await?;
    let rows = found.sessions.iter().filter_map(|one| {
        let task = task_id(projects.get(&one.session.project)?, one.session.item);
        Some(sessions::row(&one.session, one.health, &task, actors.get(&one.session.id)))
    });
    let mut body = json!({ "sessions": rows.collect::<Vec<Value>>() });
    if let Some(next) = found.next {
        body["next_cursor"] = json!(next);
    }
    Ok(Answer::of(&body))
}
