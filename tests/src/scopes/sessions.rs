//! What is asked and tried of sessions.

use docket_core::access::Profile;
use docket_core::command::{BeginSession, CancelSession, FinishSession, Heartbeat};
use docket_core::model::{Health, ItemRef, Progress, Runtime, Text};
use docket_core::query::SessionQuery;
use docket_core::store::ProjectRef;
use docket_core::{Engine, Error};

use super::{Names, said_of, tried};

pub(super) fn begin(item: ItemRef) -> BeginSession {
    BeginSession { project: ProjectRef::Any, item, expected_actor: None, runtime: Runtime::default(), ttl: None }
}

/// Every read that names something.
pub(super) async fn reads(engine: &Engine, names: &Names) -> Vec<(&'static str, String)> {
    let Names { project, item, session, .. } = names;
    let query = SessionQuery { project: project.clone(), limit: 50, ..SessionQuery::default() };
    let on_item = SessionQuery { item: Some(item.clone()), ..query.clone() };
    let lost = SessionQuery { health: Some(Health::Lost), ..query.clone() };
    vec![
        ("session", said_of(&engine.session(*session).await)),
        ("sessions", said_of(&engine.sessions(&query, None).await.map(|page| page.sessions))),
        ("sessions of one", said_of(&engine.sessions(&on_item, None).await.map(|page| page.sessions))),
        ("lost sessions", said_of(&engine.sessions(&lost, None).await.map(|page| page.sessions))),
        ("items in", said_of(&engine.items_in(project, Health::Lost).await)),
    ]
}

/// Every list of whatever there is.
pub(super) async fn lists(engine: &Engine) -> Vec<(&'static str, String)> {
    let all = SessionQuery { limit: 50, ..SessionQuery::default() };
    vec![
        ("all sessions", said_of(&engine.sessions(&all, None).await.map(|page| page.sessions))),
        ("all items in", said_of(&engine.items_in(&ProjectRef::Any, Health::Lost).await)),
    ]
}

/// Every write that names something, with the profile it needs.
pub(super) async fn writes(engine: &Engine, names: &Names) -> Vec<(&'static str, Profile, Result<String, Error>)> {
    let Names { item, session, .. } = names;
    let text = |text: &str| Text::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let beat = Heartbeat { session: *session, progress: Some(Progress { percent: Some(1), ..Progress::default() }) };
    let finish = FinishSession { session: *session, summary: text("done"), head: None };
    let cancel = CancelSession { session: *session, reason: text("enough") };
    vec![
        ("begin session", Profile::Worker, tried(engine, begin(item.clone())).await),
        ("heartbeat", Profile::Worker, tried(engine, beat).await),
        ("finish session", Profile::Worker, tried(engine, finish).await),
        ("cancel session", Profile::Worker, tried(engine, cancel).await),
    ]
}
