//! `contract`: the brief of a task, evidence for its criteria, and the verdict.

use docket_core::command::{BriefText, Proof, SetBrief, Verify};
use docket_core::contract::Verdict;
use docket_core::model::{Authority, ItemId};
use docket_core::query::Includes;
use docket_core::{Error, Reason, limits};
use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

use super::args::{Act, choose, need_task, request_id as named_request};
use super::brief_args::{SECTIONS, brief, patch};
use super::finish::{proof, proofs};
use super::render::raw_brief;
use super::schema::{self, Effect, list, object, request_id, text, word};
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

#[derive(Clone, Copy)]
enum What {
    Replace,
    Merge,
    VerifyOne,
    VerifyMany,
    Verdict,
}

const ACTS: &[Act<What>] = &[
    Act { word: "brief_replace", means: What::Replace, fields: &["id", "brief", "requestId"] },
    Act { word: "brief_merge", means: What::Merge, fields: &["id", "patch", "requestId"] },
    Act {
        word: "verify_criterion",
        means: What::VerifyOne,
        fields: &["taskId", "criterionId", "status", "note", "requestId"],
    },
    Act { word: "verify_criteria", means: What::VerifyMany, fields: &["taskId", "items", "requestId"] },
    Act { word: "verdict", means: What::Verdict, fields: &["taskId"] },
];

pub(super) fn tool() -> Tool {
    let sections = json!({
        "objective": { "type": ["string", "null"] },
        "context": { "type": ["string", "null"] },
        "acceptanceCriteria": schema::about_it(
            json!({ "type": ["array", "null"] }),
            "lines, or {id?, text, verifier: agent|human|check, hard, instructions}; a known id or text keeps its evidence",
        ),
        "constraints": { "type": ["array", "null"], "items": { "type": "string" } },
        "verification": { "type": ["string", "null"] },
        "handoffExpectations": { "type": ["string", "null"] },
    });
    let proof = object(
        json!({ "criterionId": text(""), "status": word(&["pass", "fail"], ""), "note": text("") }),
        &["criterionId", "status"],
    );
    let input = object(
        json!({
            "action": word(&["brief_replace", "brief_merge", "verify_criterion", "verify_criteria", "verdict"], ""),
            "id": text("brief_*: the task"),
            "brief": { "type": ["object", "null"], "properties": sections, "description": "brief_replace: all of it; null clears" },
            "patch": { "type": "object", "description": "brief_merge: sections as in brief; null deletes, absent stays" },
            "taskId": text("verify_*, verdict"),
            "criterionId": text("verify_criterion"),
            "status": word(&["pass", "fail"], "verify_criterion"),
            "note": text("verify_criterion: what was seen"),
            "items": list(&proof, "verify_criteria: 1 to 50, all or none"),
            "requestId": request_id(),
        }),
        &["action"],
    );
    let about = "The acceptance contract. Write the six-section brief whole or by section; record what you proved of the agent's \
                 criteria (a person signs off the human ones); read the verdict.";
    schema::plain_tool("contract", about, Effect::Writes, input)
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let (what, mut fields) = choose(arguments, "action", ACTS, None)?;
    match what {
        What::Replace => {
            let text = brief(&mut fields)?;
            write(session, fields, text, true).await
        }
        What::Merge => {
            let text = patch(&mut fields)?;
            write(session, fields, text, false).await
        }
        What::VerifyOne => {
            let found = proof(&mut fields)?;
            let one = verify(session, fields, vec![found]).await;
            one.map_err(|error| error.called("criteria[0].note", "note").called("criteria[0]", "criterionId"))
        }
        What::VerifyMany => {
            let found = many(&mut fields)?;
            verify(session, fields, found).await.map_err(|error| error.called("criteria", "items"))
        }
        What::Verdict => verdict(session, fields).await,
    }
}

async fn write(session: &Session, mut fields: Fields, brief: BriefText, replace: bool) -> Result<Answer, Error> {
    let item = need_task(&mut fields, "id")?;
    let request = named_request(&mut fields)?;
    let set = SetBrief {
        project: session.project().clone(),
        item,
        brief,
        replace,
        expected_version: None,
        fence: None,
        authority: Authority::Agent,
    };
    // What a brief says is in an argument of its own, whole or in part.
    let place = if replace { "brief" } else { "patch" };
    let of_brief = |error: Error| {
        let lies = error.field.as_deref().is_some_and(|field| SECTIONS.iter().any(|name| field.starts_with(name)));
        if lies { error.within(place) } else { error }
    };
    let set = session.engine().run(session.call(None, request), set).await.map_err(of_brief)?;
    Ok(Answer::of(&json!({
        "taskId": set.item,
        "brief": if set.brief.is_empty() { Value::Null } else { raw_brief(&set.brief) },
        "completeness": set.score,
        "verdict": set.verdict,
    })))
}

fn many(fields: &mut Fields) -> Result<Vec<Proof>, Error> {
    if !fields.has("items") {
        return Err(fields.missing("items"));
    }
    let found = proofs(fields, "items")?;
    if (1..=limits::CRITERIA).contains(&found.len()) {
        return Ok(found);
    }
    let message = format!("items must be 1 to {}, not {}", limits::CRITERIA, found.len());
    let reason = if found.is_empty() { Reason::TooFew } else { Reason::BatchTooLarge };
    Err(Error::validation(reason, message).at("items"))
}

/// What comes through this tool is an agent's word, whoever sends it: people sign off elsewhere.
async fn verify(session: &Session, mut fields: Fields, proofs: Vec<Proof>) -> Result<Answer, Error> {
    let item = need_task(&mut fields, "taskId")?;
    let request = named_request(&mut fields)?;
    let verify = Verify { project: session.project().clone(), item, proofs, authority: Authority::Agent, fence: None };
    let verified = session.engine().run(session.call(None, request), verify).await?;
    Ok(told(verified.item, &verified.verdict))
}

async fn verdict(session: &Session, mut fields: Fields) -> Result<Answer, Error> {
    let item = need_task(&mut fields, "taskId")?;
    let dossier = session.engine().dossier(session.project(), &item, Includes::default()).await?;
    Ok(told(dossier.item.id, &dossier.verdict))
}

fn told(task: ItemId, verdict: &Verdict) -> Answer {
    Answer::of(&json!({ "taskId": task, "verdict": verdict }))
}
