//! The projects that the caller may see.

use docket_core::Error;
use docket_core::model::Project;
use serde_json::{Map, Value, json};

use super::rows::{say_cut, trim};
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

pub(super) async fn call(session: &Session, mut fields: Fields) -> Result<Answer, Error> {
    let all = fields.flag("includeArchived")?.unwrap_or(false);
    let projects = session.engine().projects().await?;
    let shown = projects.iter().filter(|project| all || project.archived_at.is_none());
    let mut rows: Vec<Value> = shown.map(told).collect();
    let mut answer = Map::new();
    say_cut(&mut answer, trim(&mut rows));
    answer.insert("projects".to_owned(), Value::Array(rows));
    Ok(Answer::of(&answer))
}

fn told(project: &Project) -> Value {
    let mut told = Map::new();
    told.insert("id".to_owned(), json!(project.id));
    told.insert("slug".to_owned(), json!(project.slug));
    told.insert("name".to_owned(), json!(project.name));
    told.insert("keyPrefix".to_owned(), json!(project.prefix));
    if let Some(at) = project.archived_at {
        told.insert("archivedAt".to_owned(), json!(at));
    }
    Value::Object(told)
}
