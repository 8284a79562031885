//! The second half of `work`: says what would become of a task, or ends the work on it.

use docket_core::command::{Finish, NewLink, Proof};
use docket_core::model::{CriterionId, Fence, Name, Text, Title, Url};
use docket_core::workflow::Target;
use docket_core::{Error, Reason};
use serde_json::Value;

use super::args::{includes, long_text, name, need_task, one_of, request_id, status};
use super::packet;
use super::sections::read;
use super::task::{no_status, slip};
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

const ACTIONS: &[(&str, bool)] = &[("preview", true), ("apply", false)];
const PASSED: &[(&str, bool)] = &[("pass", true), ("fail", false)];
const LINK: &[&str] = &["kind", "ref", "url", "title"];
const PROOF: &[&str] = &["criterionId", "status", "note"];

pub(super) async fn call(session: &Session, mut fields: Fields) -> Result<Answer, Error> {
    let task = need_task(&mut fields, "taskId")?;
    let preview = fields.parsed("action", one_of(ACTIONS))?.unwrap_or(true);
    let include = includes(&mut fields)?;
    let proofs = proofs(&mut fields, "verify")?;
    let proved: Vec<CriterionId> = proofs.iter().map(|proof| proof.criterion).collect();
    let target = fields.parsed("targetStatus", status)?;
    let said = target.as_ref().map(|target| ("targetStatus", target));
    let finish = Finish {
        project: session.project().clone(),
        item: task.clone(),
        comment: fields.free("finalComment", long_text)?,
        links: links(&mut fields)?,
        proofs,
        learnings: Vec::new(),
        target: target.clone().map(Target::Status),
        fence: fence(&mut fields)?,
        preview,
    };
    let request = request_id(&mut fields)?;
    let end = || session.engine().run(session.call(None, request.clone()), finish.clone());
    let ended = session.with_sign_off(session.project(), &task, end).await;
    let ended = ended.map_err(|error| {
        error.called("criteria", "verify").called("comment", "finalComment").called("to", "targetStatus")
    });
    let finished = match (ended, said) {
        (Ok(finished), _) => finished,
        (Err(error), Some(said)) => return Err(no_status(session, &task, said, error).await),
        (Err(error), None) => return Err(error),
    };
    if finished.handed_in.as_ref().is_some_and(|pending| !pending.runs.is_empty()) {
        session.make_waiting();
    }
    let dossier = read(session, session.project(), &task, &include).await?;
    // A preview tells what would refuse the move; that there is no such status is no rule. What was done is told as it was done,
    // also to whoever asks again after the workflow has lost the status.
    if let Some(error) = said.filter(|_| preview).and_then(|said| slip(&dossier, said)) {
        return Err(error);
    }
    let action = if preview { "preview" } else { "apply" };
    Ok(Answer::of(&packet::finish(action, &dossier, &finished, &proved, &include)))
}

/// What was found of criteria; an entry knows its criterion, whether it holds, and a word about it.
pub(super) fn proofs(fields: &mut Fields, field: &str) -> Result<Vec<Proof>, Error> {
    let list = fields.list(field)?.unwrap_or_default();
    let entry =
        |(index, value): (usize, Value)| proof(&mut Fields::inside(&format!("{field}[{index}]"), value, PROOF)?);
    list.into_iter().enumerate().map(entry).collect()
}

/// What was found of one criterion.
pub(super) fn proof(fields: &mut Fields) -> Result<Proof, Error> {
    Ok(Proof {
        criterion: fields.need("criterionId", str::parse::<CriterionId>)?,
        passed: fields.need("status", one_of(PASSED))?,
        note: fields.free("note", Text::parse)?,
    })
}

/// A link to something outside.
pub(super) fn link(fields: &mut Fields) -> Result<NewLink, Error> {
    Ok(NewLink {
        kind: fields.need("kind", name)?,
        reference: fields.need("ref", Name::parse)?,
        url: fields.need("url", Url::parse)?,
        title: fields.free("title", Title::parse)?,
    })
}

fn links(fields: &mut Fields) -> Result<Vec<NewLink>, Error> {
    let list = fields.list("links")?.unwrap_or_default();
    let entry = |(index, value): (usize, Value)| link(&mut Fields::inside(&format!("links[{index}]"), value, LINK)?);
    list.into_iter().enumerate().map(entry).collect()
}

fn fence(fields: &mut Fields) -> Result<Option<Fence>, Error> {
    let Some(number) = fields.whole("fence")? else { return Ok(None) };
    u64::try_from(number)
        .map(|fence| Some(Fence(fence)))
        .map_err(|_| Error::validation(Reason::BadValue, "fence must not be negative").at("fence"))
}
