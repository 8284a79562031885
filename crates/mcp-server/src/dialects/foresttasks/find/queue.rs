//! Work that can be claimed, the best first.

use std::collections::{BTreeMap, BTreeSet};

use docket_core::Error;
use docket_core::model::{Item, Name, Role, Timestamp};
use docket_core::query::{Delta, NextQuery, Section};
use serde_json::{Map, Value, json};

use super::args::{DETAILS, PROFILES, Profile, name, one_of, project_or, tag};
use super::rows::{MOST, Names, Shown, row};
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

pub(super) async fn call(session: &Session, mut fields: Fields) -> Result<Answer, Error> {
    let project = project_or(session, &mut fields, session.project().clone()).await?;
    let detail = fields.parsed("detail", one_of(DETAILS))?.unwrap_or(false);
    let profile = fields.parsed("profile", one_of(PROFILES))?.unwrap_or(Profile::Compact);
    let full = detail || profile == Profile::Full;
    let since = fields.parsed("since", |token| Ok(token.to_owned()))?;
    let tags = fields.texts("labels", tag)?.unwrap_or_default();
    let able: BTreeSet<Name> = fields.texts("capabilities", name)?.unwrap_or_default().into_iter().collect();
    let subject = format!("queue {project:?} {full} {tags:?} {able:?}");
    // What `work start` would hand out, in that order.
    let query = NextQuery { tags, agent: Some(session.agent(able)), ..NextQuery::of(project, MOST) };
    let ready = session.engine().next(&query, None).await?;
    let (cut, shown_rows, most) = (ready.next.is_some(), ready.items.len(), session.engine().page(MOST));
    let names = Names::load(session).await?;
    let shown = Shown { full, only: None };
    let rows: Vec<Value> = ready.items.iter().map(|ready| told(&ready.item, &names, &shown)).collect();
    let sections = BTreeMap::from([(Section::Rows, Value::Array(rows))]);
    let delta = Delta::new(&subject, &[Section::Rows], sections, since.as_deref())?;
    let mut answer = Map::new();
    if delta.is_unchanged() {
        answer.insert("unchanged".to_owned(), json!(true));
    } else {
        if delta.since {
            answer.insert("changed".to_owned(), json!(["queue"]));
        }
        let rows = delta.sections.get(&Section::Rows).cloned().unwrap_or_default();
        answer.insert("queue".to_owned(), rows);
        if cut {
            answer.insert("truncated".to_owned(), json!(true));
            // It can be cut because the list is full, or because of how much was looked at.
            let hint = if shown_rows < most {
                format!("looked at {} ready tasks, and at no more: these are the ones for you", ready.looked_at)
            } else {
                format!("more than {most} tasks are ready: these are the best")
            };
            answer.insert("hint".to_owned(), json!(hint));
        }
        if full {
            answer.insert("generatedAt".to_owned(), json!(ready.now));
        }
    }
    answer.insert("readToken".to_owned(), json!(delta.token));
    Ok(Answer::of(&answer))
}

fn told(item: &Item, names: &Names, shown: &Shown) -> Value {
    // Nothing here is under a live claim, whatever the time.
    let mut row = row(item, names, Timestamp::MAX, shown);
    // Whatever is to be had and was begun was left by somebody.
    if item.role == Role::Work {
        row.insert("abandoned".to_owned(), json!(true));
    }
    Value::Object(row)
}
