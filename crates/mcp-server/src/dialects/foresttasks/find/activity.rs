//! What was done lately, the newest first, without the texts.

use docket_core::Error;
use docket_core::model::{Event, Timestamp};
use docket_core::query::Activity;
use docket_core::store::EventFilter;
use serde_json::{Map, Value, json};

use super::args::{moment, project_or};
use super::rows::MOST;
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

/// Where a list of events begins: after a moment, or after the last event of an earlier read.
#[derive(Clone, Copy)]
enum Since {
    Time(Timestamp),
    Number(u64),
}

pub(super) async fn call(session: &Session, mut fields: Fields) -> Result<Answer, Error> {
    let project = project_or(session, &mut fields, session.project().clone()).await?;
    let since = fields.parsed("since", |text| match text.trim().parse() {
        Ok(number) => Ok(Since::Number(number)),
        Err(_) => moment(text).map(Since::Time),
    })?;
    let filter = EventFilter {
        project,
        after: since.and_then(|since| if let Since::Number(number) = since { Some(number) } else { None }),
        since: since.and_then(|since| if let Since::Time(time) = since { Some(time) } else { None }),
        // Whoever goes on from an earlier read is shown what follows it, so that the next read passes over nothing.
        newest_first: since.is_none(),
        limit: MOST,
        ..EventFilter::default()
    };
    let page = session.engine().event_list(&filter, None).await?;
    let mut events: Vec<&Event> = page.events.iter().collect();
    events.sort_by_key(|event| std::cmp::Reverse(event.seq));
    let rows = events.iter().map(|event| {
        let event: &Event = event;
        let mut row = json!(Activity::from(event));
        if let (Some(row), Some(item)) = (row.as_object_mut(), event.item) {
            row.insert("taskId".to_owned(), json!(item));
        }
        row
    });
    let mut answer = Map::new();
    answer.insert("activity".to_owned(), Value::Array(rows.collect()));
    if page.next.is_some() {
        answer.insert("truncated".to_owned(), json!(true));
        let hint = if since.is_some() {
            "later ones were left out: ask again with since set to this readToken"
        } else {
            "older ones were left out: ask with since set to an earlier time"
        };
        answer.insert("hint".to_owned(), json!(hint));
    }
    let newest = events.first().map(|event| event.seq);
    let given = filter.after;
    if let Some(number) = newest.or(given) {
        answer.insert("readToken".to_owned(), json!(number.to_string()));
    }
    Ok(Answer::of(&answer))
}
