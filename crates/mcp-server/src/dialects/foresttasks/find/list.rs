//! Lists of tasks: by filters, or by words.

use docket_core::model::{Name, Priority};
use docket_core::search::terms;
use docket_core::store::{Around, Filter, Found, ProjectRef};
use docket_core::{Error, Reason};
use serde_json::{Map, Value, json};

use super::args::{DETAILS, item_ref, limit, one_of, project, project_or, status, tag};
use super::rows::{MOST, Names, Shown, field, row, say_cut};
use crate::answer::Answer;
use crate::input::{Fields, Given};
use crate::session::Session;

/// The tasks of one project.
pub(super) async fn list(session: &Session, mut fields: Fields) -> Result<Answer, Error> {
    let project = project(session, &mut fields).await?;
    let filter = filter(session, project, Vec::new(), &mut fields).await?;
    let full = fields.parsed("detail", one_of(DETAILS))?.unwrap_or(false);
    let only = fields.texts("fields", field)?;
    let found = session.engine().find(&filter).await?;
    told(session, &found, &Shown { full, only }).await
}

/// The tasks with these words: in one project, or wherever the caller may look.
pub(super) async fn search(session: &Session, mut fields: Fields) -> Result<Answer, Error> {
    let words = terms(&fields.need_text("query")?);
    if words.is_empty() {
        return Err(Error::validation(Reason::Blank, "query must hold a word or a number").at("query"));
    }
    let project = project_or(session, &mut fields, ProjectRef::Any).await?;
    let filter = filter(session, project, words, &mut fields).await?;
    let full = fields.parsed("detail", one_of(DETAILS))?.unwrap_or(false);
    let found = session.engine().find(&filter).await?;
    told(session, &found, &Shown { full, only: None }).await
}

async fn filter(
    session: &Session,
    project: ProjectRef,
    words: Vec<String>,
    fields: &mut Fields,
) -> Result<Filter, Error> {
    let parent = match fields.given("parentTaskId") {
        Given::Absent => None,
        Given::Null => Some(None),
        Given::Value(value) => {
            fields.put("parentTaskId", value);
            let parent = fields.need("parentTaskId", item_ref)?;
            let seen = session.engine().show(&project, std::slice::from_ref(&parent), Around::default()).await?;
            Some(Some(seen.resolve(&parent).map_err(|error| error.at("parentTaskId"))?.id))
        }
    };
    Ok(Filter {
        project,
        parent,
        words,
        status: fields.parsed("status", status)?,
        priority: fields.parsed("priority", str::parse::<Priority>)?,
        tags: fields.texts("labels", tag)?.unwrap_or_default(),
        held_by: fields.parsed("assignee", Name::parse)?.map(|name| session.call(None, None).meant(name)),
        blocked: fields.flag("blocked")?,
        inbox: fields.flag("needsHuman")?,
        limit: session.engine().page(limit(fields, MOST)?),
        count: true,
        ..Filter::default()
    })
}

async fn told(session: &Session, found: &Found, shown: &Shown) -> Result<Answer, Error> {
    let names = Names::of(session, found.items.iter()).await?;
    let tasks: Vec<Value> = found.items.iter().map(|item| Value::Object(row(item, &names, found.now, shown))).collect();
    let mut answer = Map::new();
    answer.insert("total".to_owned(), json!(found.total));
    say_cut(&mut answer, found.total.saturating_sub(tasks.len() as u64));
    answer.insert("tasks".to_owned(), Value::Array(tasks));
    if shown.full {
        answer.insert("labels".to_owned(), names.labels(found.items.iter()));
    }
    Ok(Answer::of(&answer))
}
