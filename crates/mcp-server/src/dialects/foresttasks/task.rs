//! `task`: writes on one task: make, change, move, close with everything beneath, ask and answer.

use docket_core::command::{
    Advance, Applied, Arrange, Ask, Asked, CloseOutcome, CloseTree, Create, Edit, EndQuestion, MoveRequest, MoveResult,
    What,
};
use docket_core::engine::Call;
use docket_core::model::{ItemRef, Name, QuestionId, Text};
use docket_core::query::{Dossier, Includes};
use docket_core::workflow::Target;
use docket_core::{Code, Error, Gate, Reason};
use rmcp::model::{JsonObject, Tool};
use serde_json::{Map, Value, json};

use super::args::{Act, choose, long_text, need_task, one_of, project, request_id as named_request, status};
use super::error::{TASK, renamed};
use super::packet::cascade;
use super::render::question as told_question;
use super::rows::{say_cut, trim, written};
use super::schema::{self, Effect, list, object, request_id, text, whole, word};
use super::task_args::{new_task, number, patch};
use crate::answer::Answer;
use crate::elicit::Elicited;
use crate::input::Fields;
use crate::session::Session;

#[derive(Clone, Copy)]
enum Deed {
    Create,
    Update,
    Status,
    CascadeClose,
    Ask,
    Answer,
}

const ACTS: &[Act<Deed>] = &[
    Act {
        word: "create",
        means: Deed::Create,
        fields: &[
            "title",
            "projectId",
            "intent",
            "description",
            "priority",
            "status",
            "labels",
            "parentTaskId",
            "dueAt",
            "estimateMinutes",
            "requiredCapabilities",
            "requestId",
        ],
    },
    Act {
        word: "update",
        means: Deed::Update,
        fields: &[
            "id",
            "title",
            "intent",
            "description",
            "priority",
            "labels",
            "parentTaskId",
            "dueAt",
            "estimateMinutes",
            "rank",
            "requiredCapabilities",
            "needsAttention",
            "needsAttentionReason",
            "requestId",
        ],
    },
    Act { word: "status", means: Deed::Status, fields: &["id", "status", "rank", "requestId"] },
    Act { word: "cascade_close", means: Deed::CascadeClose, fields: &["id", "status", "requestId"] },
    Act { word: "ask", means: Deed::Ask, fields: &["id", "question", "options", "requestId"] },
    Act { word: "answer", means: Deed::Answer, fields: &["questionId", "answer", "requestId"] },
];

/// How a subtree can be closed: whether it is given up.
const CLOSED: &[(&str, bool)] = &[("done", false), ("cancelled", true)];

pub(super) fn tool() -> Tool {
    let input = object(
        json!({
            "action": word(&["create", "update", "status", "cascade_close", "ask", "answer"], ""),
            "id": text("all but create and answer"),
            "title": text("create, update"),
            "projectId": text("create: slug or UUID; may be left out where there is one project"),
            "intent": text("why it is wanted"),
            "description": text(""),
            "priority": word(&["high", "medium", "low"], ""),
            "status": text("create: first status; status: target; cascade_close: done or cancelled"),
            "labels": list(&text(""), ""),
            "parentTaskId": schema::clearable(""),
            "dueAt": schema::clearable("RFC 3339 with a zone"),
            "estimateMinutes": json!({ "type": ["integer", "null"] }),
            "requiredCapabilities": list(&text(""), ""),
            "rank": whole(i64::from(i32::MIN), Some(i64::from(i32::MAX)), "status, update: place in its column"),
            "needsAttention": schema::flag("update: a person must look; true needs a reason, false clears"),
            "needsAttentionReason": text("update"),
            "question": text("ask: for a person; parks the task and releases it"),
            "options": list(&text(""), "ask: answers to choose from"),
            "questionId": text("answer"),
            "answer": text("answer: returns the task to the queue"),
            "requestId": request_id(),
        }),
        &["action"],
    );
    let about = "Write one task: create, update fields, move to a status (returns legalNextStates), cascade_close the whole \
                 subtree (the only force), ask a person, answer a question.";
    schema::plain_tool("task", about, Effect::Writes, input)
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let (deed, mut fields) = choose(arguments, "action", ACTS, None)?;
    let request = named_request(&mut fields)?;
    let call = session.call(None, request);
    match deed {
        Deed::Create => create(session, call, fields).await,
        Deed::Update => update(session, call, fields).await,
        Deed::Status => move_to(session, call, fields).await,
        Deed::CascadeClose => cascade_close(session, call, fields).await,
        Deed::Ask => ask(session, call, fields).await,
        Deed::Answer => answer(session, call, fields).await,
    }
}

async fn create(session: &Session, call: Call, mut fields: Fields) -> Result<Answer, Error> {
    let task = new_task(&mut fields)?;
    let create = Create {
        project: project(session, &mut fields).await?,
        items: vec![task],
        edges: Vec::new(),
        notes: Vec::new(),
        blank_notes: false,
        room_below: false,
        atomic: true,
    };
    let made = session.engine().run(call, create).await.map_err(|error| renamed(error, TASK))?.items.into_iter().next();
    let made = made.ok_or_else(|| Error::not_found("nothing was made"))??;
    Ok(Answer::of(&json!({ "task": written(session, &made.item).await? })))
}

async fn update(session: &Session, call: Call, mut fields: Fields) -> Result<Answer, Error> {
    let task = need_task(&mut fields, "id")?;
    let patches = vec![patch(&mut fields, task)?];
    let edit = Edit { project: session.project().clone(), patches, atomic: true };
    let edited = session.engine().run(call, edit).await.map_err(|error| renamed(error, TASK))?.items.into_iter().next();
    let edited = edited.ok_or_else(|| Error::not_found("nothing was changed"))??;
    Ok(Answer::of(&json!({ "task": written(session, &edited).await? })))
}

async fn look(session: &Session, task: &ItemRef) -> Result<Dossier, Error> {
    session.engine().dossier(session.project(), task, Includes::default()).await
}

async fn move_to(session: &Session, call: Call, mut fields: Fields) -> Result<Answer, Error> {
    let task = need_task(&mut fields, "id")?;
    let target = fields.need("status", status)?;
    let rank: Option<i32> = number(&mut fields, "rank")?;
    let make = || put(session, call.clone(), &task, &target, rank);
    let moved = match session.with_sign_off(session.project(), &task, make).await {
        Ok(moved) => moved,
        Err(error) => return Err(no_status(session, &task, ("status", &target), error).await),
    };
    let dossier = look(session, &task).await?;
    let mut told = Map::new();
    told.insert("taskId".to_owned(), json!(dossier.item.id));
    told.insert("status".to_owned(), json!(dossier.item.status));
    told.insert("legalNextStates".to_owned(), json!(dossier.next_statuses));
    if let Some(moved) = moved {
        told.insert("from".to_owned(), json!(moved.from_status));
        told.insert("unblocked".to_owned(), moved.unblocked.iter().map(|task| json!(task.item)).collect());
        told.insert("cascades".to_owned(), moved.cascades.iter().map(cascade).collect());
    }
    if let Some(rank) = rank {
        told.insert("rank".to_owned(), json!(rank));
    }
    Ok(Answer::of(&told))
}

/// Moves a task, with its place in the column where that is said: one unit either way.
async fn put(
    session: &Session,
    call: Call,
    task: &ItemRef,
    target: &Name,
    rank: Option<i32>,
) -> Result<Option<Box<Applied>>, Error> {
    let (project, engine) = (session.project().clone(), session.engine());
    if let Some(position) = rank {
        let arrange = Arrange { project, item: task.clone(), status: target.clone(), position };
        return engine.run(call, arrange).await.map(|arranged| arranged.moved);
    }
    let moves = vec![MoveRequest::of(task.clone(), Target::Status(target.clone()))];
    let advance = Advance { project, moves, atomic: true };
    match engine.run(call, advance).await?.results.into_iter().next() {
        Some(MoveResult::Applied(applied)) => Ok(Some(applied)),
        Some(MoveResult::Refused(refused)) => Err(refused.error),
        None => Err(Error::not_found("nothing was moved")),
    }
}

/// A word that is no status breaks no rule: it is a slip. `said` is the field with the word in it.
pub(super) async fn no_status(session: &Session, task: &ItemRef, said: (&str, &Name), error: Error) -> Error {
    let no_move =
        error.code == Code::RuleBlocked && error.refusals.iter().any(|refusal| refusal.gate == Gate::Transition);
    if !no_move {
        return error;
    }
    let Ok(dossier) = look(session, task).await else { return error };
    slip(&dossier, said).unwrap_or(error)
}

/// That a word is no status of a task's workflow.
pub(super) fn slip(dossier: &Dossier, (field, target): (&str, &Name)) -> Option<Error> {
    let workflow = &dossier.project.workflow;
    if workflow.status(target).is_some() {
        return None;
    }
    let known: Vec<&str> = workflow.statuses.iter().map(|status| status.name.as_str()).collect();
    let message =
        format!("{field} must be one of {}, not \"{}\"", known.join(", "), docket_core::echo(target.as_str()));
    Some(Error::validation(Reason::UnknownValue, message).at(field))
}

async fn cascade_close(session: &Session, call: Call, mut fields: Fields) -> Result<Answer, Error> {
    let task = need_task(&mut fields, "id")?;
    let cancel = fields.need("status", one_of(CLOSED))?;
    let close = CloseTree { project: session.project().clone(), what: What::Whole(task), cancel, fence: None };
    let closed = session.engine().run(call, close).await?;
    let of = |wanted: fn(&CloseOutcome) -> bool| -> Vec<Value> {
        closed.results.iter().filter(|one| wanted(&one.outcome)).map(|one| json!(one.item)).collect()
    };
    let mut ids = of(|outcome| matches!(outcome, CloseOutcome::Closed { .. }));
    let mut before = of(|outcome| matches!(outcome, CloseOutcome::AlreadyClosed));
    let mut told = Map::new();
    told.insert("status".to_owned(), json!(if cancel { "cancelled" } else { "done" }));
    told.insert("closedCount".to_owned(), json!(ids.len()));
    let cut = trim(&mut ids) + trim(&mut before);
    told.insert("closed".to_owned(), Value::Array(ids));
    told.insert("alreadyClosed".to_owned(), Value::Array(before));
    told.insert("cascades".to_owned(), closed.cascades.iter().map(cascade).collect());
    say_cut(&mut told, cut);
    Ok(Answer::of(&told))
}

async fn ask(session: &Session, call: Call, mut fields: Fields) -> Result<Answer, Error> {
    let ask = Ask {
        project: session.project().clone(),
        item: need_task(&mut fields, "id")?,
        text: fields.need("question", long_text)?,
        options: fields.texts("options", Text::parse)?.unwrap_or_default(),
        fence: None,
    };
    let put = session.engine().run(session.call_before_asking(call), ask).await?;
    // Where a person sits at the other end, the question is theirs at once; whatever becomes of it, it was asked.
    match session.elicit_answer(&put).await {
        Elicited::Answered(answered) => Ok(asked(&answered)),
        Elicited::Nobody | Elicited::Unanswered | Elicited::Refused(_) => Ok(asked(&put)),
    }
}

async fn answer(session: &Session, call: Call, mut fields: Fields) -> Result<Answer, Error> {
    let question = fields.need("questionId", str::parse::<QuestionId>)?;
    let answer = Some(fields.need("answer", long_text)?);
    Ok(asked(&session.engine().run(call, EndQuestion { question, answer }).await?))
}

fn asked(asked: &Asked) -> Answer {
    Answer::of(&json!({ "taskId": asked.item, "status": asked.status, "question": told_question(&asked.question) }))
}
