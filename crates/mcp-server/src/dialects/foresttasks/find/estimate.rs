//! How long work like this has taken.

use docket_core::Error;
use docket_core::store::ProjectRef;
use serde_json::json;

use super::args::{at_project, name, project_word, tag};
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

pub(super) async fn call(session: &Session, mut fields: Fields) -> Result<Answer, Error> {
    let named = project_word(&mut fields)?.ok_or_else(|| fields.missing("projectId"))?;
    let project = session.engine().project_named(&named).await.map_err(at_project)?;
    let labels = fields.texts("labels", tag)?.unwrap_or_default();
    let able = fields.texts("requiredCapabilities", name)?.unwrap_or_default();
    let estimate = session.engine().estimate(&ProjectRef::Id(project.id), &labels, &able).await?;
    Ok(Answer::of(&json!({ "projectId": project.id, "estimate": estimate })))
}
