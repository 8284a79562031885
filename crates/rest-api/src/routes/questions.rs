//! Questions to people: asking parks the item and gives it back, answering makes it ready again.

use docket_core::command::{Ask, Asked, EndQuestion};
use docket_core::model::{Fence, ItemRef, Question, QuestionId, Text};
use docket_core::store::ProjectRef;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::answer::{Answer, json, ok, page, with_version};
use crate::extract::{Idempotency, ItemPath, Json, Query, TextPath};
use crate::gate::Caller;
use crate::limits::PAGE_DEFAULT;

/// A question to be asked.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = NewQuestion)]
pub(crate) struct QuestionBody {
    /// What is asked.
    question: Text,
    /// Answers to choose from, at most 20; any other will do too.
    #[serde(default)]
    options: Vec<Text>,
    /// The fence of the caller's claim.
    fence: Option<u64>,
}

/// An answer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = NewAnswer)]
pub(crate) struct AnswerBody {
    /// What is answered.
    answer: Text,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct QuestionsQuery {
    /// How many, from 1 to 200; 50 where it is not said.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<i64>,
    /// Where the page begins: what the page before gave as `nextCursor`.
    cursor: Option<String>,
}

/// Questions on an item.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Questions {
    /// The questions, the newest first.
    questions: Vec<Question>,
    /// Where the next page begins; none on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// Ask about an item
///
/// The item is parked and the caller's claim on it ends; an answer makes it ready again. One question can be open at a time.
#[utoipa::path(
    post, path = "/items/{id}/questions", tag = "people",
    params(("id" = ItemRef, Path, description = "The item")),
    request_body(content = QuestionBody, example = json!({"question": "Which dialect comes first?", "options": ["SQLite", "Postgres"]})),
    responses((status = 201, description = "The question, and where the item stands now", body = Asked)),
)]
pub(crate) async fn ask(
    caller: Caller,
    ItemPath(item): ItemPath,
    Idempotency(request): Idempotency,
    Json(body): Json<QuestionBody>,
) -> Answer {
    let ask = Ask {
        project: ProjectRef::Any,
        item,
        text: body.question,
        options: body.options,
        fence: body.fence.map(Fence),
    };
    let asked = caller.engine.run(caller.call(request), ask).await?;
    Ok(with_version(json(StatusCode::CREATED, &asked)?, asked.version))
}

/// List the questions on an item
#[utoipa::path(
    get, path = "/items/{id}/questions", tag = "people",
    params(("id" = ItemRef, Path, description = "The item"), QuestionsQuery),
    responses((status = 200, description = "The newest first", body = Questions)),
)]
pub(crate) async fn list(caller: Caller, ItemPath(item): ItemPath, Query(query): Query<QuestionsQuery>) -> Answer {
    let limit = page(query.limit, PAGE_DEFAULT)?;
    let found = caller.engine.questions_of(&ProjectRef::Any, &item, limit, query.cursor.as_deref()).await?;
    ok(&Questions { questions: found.questions, next_cursor: found.next })
}

/// Answer a question
#[utoipa::path(
    post, path = "/questions/{question}/answer", tag = "people",
    params(("question" = QuestionId, Path, description = "The question")),
    request_body(content = AnswerBody, example = json!({"answer": "SQLite"})),
    responses((status = 200, description = "The question, and where its item stands now", body = Asked)),
)]
pub(crate) async fn answer(
    caller: Caller,
    TextPath(question): TextPath<QuestionId>,
    Idempotency(request): Idempotency,
    Json(body): Json<AnswerBody>,
) -> Answer {
    end(&caller, request, EndQuestion { question, answer: Some(body.answer) }).await
}

/// Take a question back
#[utoipa::path(
    post, path = "/questions/{question}/withdraw", tag = "people",
    params(("question" = QuestionId, Path, description = "The question")),
    responses((status = 200, description = "The question, and where its item stands now", body = Asked)),
)]
pub(crate) async fn withdraw(
    caller: Caller,
    TextPath(question): TextPath<QuestionId>,
    Idempotency(request): Idempotency,
) -> Answer {
    end(&caller, request, EndQuestion { question, answer: None }).await
}

async fn end(caller: &Caller, request: Option<docket_core::model::RequestId>, end: EndQuestion) -> Answer {
    let ended = caller.engine.run(caller.call(request), end).await?;
    Ok(with_version(ok(&ended)?, ended.version))
}
