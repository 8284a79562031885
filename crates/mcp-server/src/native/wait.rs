//! `wait`: until an item, or something that matches a filter, changes. The cursor of an answer goes into the next call, and
//! nothing that happens in between is missed.

use std::time::Duration;

use docket_core::model::ItemRef;
use docket_core::query::{Watch, Watched, Woken};
use docket_core::{Code, Error, Reason, limits};
use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

use super::common::{project, project_of_item};
use super::error::error_value;
use super::item_args::{names as read_names, tags};
use super::names::Names;
use super::reports::{event_row, verb};
use super::schema::{self, Effect, text, texts, whole};
use super::split::Split;
use crate::answer::Answer;
use crate::args::name;
use crate::input::Fields;
use crate::session::Session;

const KNOWN: &[&str] = &["id", "statuses", "verbs", "parent", "tags", "type", "cursor", "timeoutMs", "project"];

pub(super) fn tool() -> Tool {
    let properties = json!({
        "id": text(), "statuses": texts(), "verbs": texts(), "parent": text(), "tags": texts(), "type": text(),
        "cursor": text(), "timeoutMs": whole(),
    });
    let about = "Waits (60 s at most) for a change of id, or of what matches the filter. Pass its cursor on: no \
                 change is missed.";
    schema::tool("wait", about, Effect::Reads, properties, &[])
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    match run(session, arguments).await {
        // Whoever waits is told of bad arguments by the codes that waiting has of its own.
        Err(error) if error.code == Code::Validation => {
            let mut told = error_value(&error, &Names::default());
            let code = if error.field.as_deref() == Some("timeoutMs") { "INVALID_TIMEOUT" } else { "INVALID_PARAMS" };
            told["code"] = json!(code);
            Ok(Answer::failure(&json!({ "error": told })))
        }
        other => other,
    }
}

async fn run(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    let item = fields.parsed("id", str::parse::<ItemRef>)?;
    let patience = patience(&mut fields)?;
    let cursor = fields.parsed("cursor", |text| Ok(text.to_owned()))?;
    let watch = Watch {
        statuses: read_names(&mut fields, "statuses")?,
        verbs: fields.texts("verbs", verb)?.unwrap_or_default(),
        parent: fields.parsed("parent", str::parse::<ItemRef>)?,
        tags: tags(&mut fields)?,
        item_type: fields.parsed("type", name)?,
        project: if item.is_some() {
            project_of_item(session, &mut fields).await?
        } else {
            project(session, &mut fields).await?
        },
        item,
    };
    let mut watched = session.engine().watch(&watch, cursor.as_deref(), patience, |time| session.sleep(time)).await?;
    if watched.woken == Woken::WaitTimeout && session.is_stopping() {
        // Its time was not over: it is the server that waits no longer.
        watched.woken = Woken::WaitInterrupted;
    }
    Ok(answer(session, &watched).await)
}

fn patience(fields: &mut Fields) -> Result<Duration, Error> {
    let most = limits::WAIT_MS;
    let given = fields.whole("timeoutMs")?.unwrap_or_else(|| i64::try_from(most).unwrap_or(i64::MAX));
    u64::try_from(given).ok().filter(|given| *given <= most).map(Duration::from_millis).ok_or_else(|| {
        Error::validation(Reason::BadValue, format!("timeoutMs must be from 0 to {most}")).at("timeoutMs")
    })
}

async fn answer(session: &Session, watched: &Watched) -> Answer {
    let mut split = Split::default();
    split.say("code", watched.woken);
    split.say("cursor", &watched.cursor);
    let keys = session.keys(watched.items.iter()).await;
    let mut items = Vec::with_capacity(watched.items.len());
    for item in &watched.items {
        let key = keys.of(item).map_or_else(|| item.id.to_string(), |key| key.to_string());
        items.push(json!({ "key": key, "status": item.status, "role": item.role, "version": item.version }));
        split.quote(&key, json!({ "title": item.title }));
    }
    split.say("items", items);
    if watched.woken != Woken::TaskDeleted || watched.items.is_empty() {
        let names = Names::of(session, watched.events.iter().filter_map(|event| event.item).collect()).await;
        let mut rows = Vec::with_capacity(watched.events.len());
        for event in &watched.events {
            let row = event_row(event, &names);
            split.quote(&row.name, row.said.untrusted);
            rows.push(Value::Object(row.said.trusted));
        }
        split.say("events", rows);
    }
    split.answer()
}
