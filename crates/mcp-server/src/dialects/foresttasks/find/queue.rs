//! Work that can be claimed, the best first.

use std::collections::BTreeMap;

use docket_core::model::{Item, Role, Timestamp};
use docket_core::query::{Delta, NextQuery, Section};
use docket_core::store::ProjectRef;
use docket_core::{Error, limits};
use serde_json::{Map, Value, json};

use super::args::{DETAILS, PROFILES, Profile, one_of, project_or};
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
    let ready = session.engine().next(&query(&project, Role::Queue), None).await?;
    let begun = session.engine().next(&query(&project, Role::Work), None).await?;
    let more = ready.next.is_some() || begun.next.is_some();
    let left = begun.items.iter().map(|ready| &ready.item).filter(|item| item.claim.is_some());
    let items = ready.items.iter().map(|ready| (&ready.item, false)).chain(left.map(|item| (item, true)));
    let names = Names::load(session).await?;
    let shown = Shown { full, only: None };
    let mut rows: Vec<Value> = items.map(|(item, abandoned)| told(item, abandoned, &names, &shown)).collect();
    let cut = rows.len() > MOST || more;
    rows.truncate(MOST);
    let subject = format!("queue {project:?} {full}");
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
            answer.insert("hint".to_owned(), json!(format!("more than {MOST} tasks are ready: these are the best")));
        }
        if full {
            answer.insert("generatedAt".to_owned(), json!(begun.now));
        }
    }
    answer.insert("readToken".to_owned(), json!(delta.token));
    Ok(Answer::of(&answer))
}

fn query(project: &ProjectRef, role: Role) -> NextQuery {
    NextQuery {
        project: project.clone(),
        role,
        parent: None,
        under: None,
        tags: Vec::new(),
        item_type: None,
        include_claimed: false,
        limit: limits::PAGE,
    }
}

fn told(item: &Item, abandoned: bool, names: &Names, shown: &Shown) -> Value {
    // Nothing here is under a live claim, whatever the time.
    let mut row = row(item, names, Timestamp::MAX, shown);
    if abandoned {
        row.insert("abandoned".to_owned(), json!(true));
    }
    Value::Object(row)
}
