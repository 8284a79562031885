//! Attempts at items, as this surface tells of them: what the server knows of them, and what their agents said.

use docket_core::Error;
use docket_core::command::{Beat, BeginSession, Heartbeat};
use docket_core::model::{
    Health, ItemRef, Name, Progress, Runtime, Session as Attempt, SessionId, SessionState, Summary,
};
use docket_core::query::{SessionQuery, SessionView};
use serde_json::Value;

use super::budget::{Page, Row};
use super::common::Writer;
use super::find::Ask;
use super::split::Split;
use crate::answer::Answer;
use crate::args::name;
use crate::input::{Fields, wrong_type};
use crate::session::Session;

/// The list `sessions` of `find`.
pub(super) async fn list(ask: &Ask<'_>, fields: &mut Fields) -> Result<Answer, Error> {
    let query = SessionQuery {
        project: ask.project.clone(),
        item: fields.parsed("id", str::parse::<ItemRef>)?,
        actor: fields.parsed("actor", name)?.map(|name| ask.session.call(None, None).meant(name)),
        state: fields.parsed("state", str::parse::<SessionState>)?,
        health: fields.parsed("health", str::parse::<Health>)?,
        limit: 0,
    };
    fields.end()?;
    ask.answer(|limit| {
        let query = SessionQuery { limit, ..query.clone() };
        async move {
            let page = ask.session.engine().sessions(&query, ask.cursor.as_deref()).await?;
            Ok(Page { rows: page.sessions.iter().map(row).collect(), next: page.next, total: None })
        }
    })
    .await
}

fn row(found: &SessionView) -> Row {
    let mut said = Split::default();
    said.say("item", &found.key);
    let told = told(&found.session, found.health);
    said.trusted.extend(told.trusted);
    said.untrusted.extend(told.untrusted);
    said.say("status", &found.status);
    Row { name: found.session.id.to_string(), said }
}

/// One attempt.
pub(super) fn told(session: &Attempt, health: Health) -> Split {
    let mut said = Split::default();
    said.say("session", session.id);
    said.say("health", health);
    said.quote("actor", &session.actor);
    said.say("startedAt", session.started_at);
    said.say("heartbeatAt", session.heartbeat_at);
    said.say("endedAt", session.ended_at);
    said.say("percent", session.progress.percent);
    said.quote("progress", &session.progress.text);
    said.quote("step", &session.progress.step);
    said.quote("runtime", &session.runtime);
    said.quote("summary", &session.summary);
    said.quote("head", &session.head);
    said.quote("reason", &session.reason);
    said
}

/// What a beginning says of its attempt; nothing where none is to be noted. `runtime` alone asks for one, be it empty.
pub(super) fn wanted(fields: &mut Fields) -> Result<Option<Runtime>, Error> {
    match fields.value("runtime") {
        None => Ok(None),
        Some(Value::Object(said)) => Runtime::parse(said).map(Some).map_err(|invalid| invalid.at("runtime").into()),
        Some(other) => Err(wrong_type("runtime", "an object", &other)),
    }
}

/// The command that begins an attempt.
pub(super) fn begin(
    project: docket_core::store::ProjectRef,
    item: ItemRef,
    runtime: Runtime,
    ttl: Option<docket_core::model::Ttl>,
) -> BeginSession {
    BeginSession { project, item, expected_actor: None, runtime, ttl }
}

/// A sign of life of an attempt.
pub(super) async fn heartbeat(
    session: &Session,
    writer: &Writer,
    id: SessionId,
    mut fields: Fields,
) -> Result<Answer, Error> {
    let percent = fields.whole("percent")?;
    let percent = percent.map(|number| {
        u8::try_from(number).ok().filter(|percent| *percent <= 100).ok_or_else(|| {
            Error::validation(docket_core::Reason::BadValue, format!("percent must be from 0 to 100, not {number}"))
                .at("percent")
        })
    });
    let progress = Progress {
        text: fields.free("progress", Summary::parse)?,
        percent: percent.transpose()?,
        step: fields.parsed("step", Name::parse)?,
    };
    fields.end()?;
    let beat = session.engine().run(writer.call(session), Heartbeat { session: id, progress: Some(progress) }).await?;
    Ok(beaten(&beat).answer())
}

fn beaten(beat: &Beat) -> Split {
    let mut said = told(&beat.session, beat.health);
    said.say("key", &beat.key);
    said.say("fence", beat.session.fence);
    said.say("leaseUntil", beat.claim_expires_at);
    said
}
