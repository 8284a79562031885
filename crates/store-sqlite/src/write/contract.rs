//! Briefs, and what was said about items: questions, comments, links.

use std::sync::LazyLock;

use docket_core::model::{Comment, Link, Name, Question, QuestionState, Text, Timestamp, Title};
use docket_core::store::code::{Coded, OPEN_QUESTION};
use docket_core::store::{ChangeSet, RunChange};
use ulid::Ulid;
use uuid::Uuid;

use super::rows;
use crate::script::{Script, Value};

static BRIEF: LazyLock<String> = LazyLock::new(|| {
    rows::insert("briefs", &["item_id", "brief"], "ON CONFLICT (item_id) DO UPDATE SET brief = excluded.brief")
});
/// The open question of an item ends; the cells are its end, by whom and when, and the item.
static PASS: LazyLock<String> = LazyLock::new(|| {
    format!("UPDATE questions SET state = ?, ended_by = ?, ended_at = ? WHERE item_id = ? AND state = {OPEN_QUESTION}")
});
static QUESTION: LazyLock<String> = LazyLock::new(|| {
    let columns =
        ["id", "item_id", "text", "options", "state", "asked_by", "asked_at", "answer", "ended_by", "ended_at"];
    let otherwise = "ON CONFLICT (id) DO UPDATE SET text = excluded.text, options = excluded.options, \
                     state = excluded.state, asked_by = excluded.asked_by, asked_at = excluded.asked_at, \
                     answer = excluded.answer, ended_by = excluded.ended_by, ended_at = excluded.ended_at";
    rows::insert("questions", &columns, otherwise)
});
static COMMENT: LazyLock<String> =
    LazyLock::new(|| rows::insert("comments", &["id", "item_id", "body", "author", "created_at"], ""));
static LINK: LazyLock<String> = LazyLock::new(|| {
    let columns = ["id", "item_id", "kind", "reference", "url", "title", "author", "created_at"];
    rows::insert("links", &columns, "")
});

static RUN: LazyLock<String> = LazyLock::new(|| {
    let otherwise = "ON CONFLICT (id) DO UPDATE SET state = excluded.state, run = excluded.run, \
                     log = coalesce(excluded.log, log)";
    rows::insert("runs", &["id", "item_id", "state", "run", "log"], otherwise)
});

/// Runs, which come, change and stay.
pub(super) fn add_runs(script: &mut Script, changes: &ChangeSet) {
    let run = |RunChange { run, log }: &RunChange| {
        vec![
            bytes(run.id.0),
            run.item.as_uuid().into(),
            run.state.code().into(),
            Value::json(run),
            log.as_ref().map(Text::as_str).into(),
        ]
    };
    script.put(&RUN, changes.runs.iter().map(run));
}

/// Briefs, written whole.
pub(super) fn add_briefs(script: &mut Script, changes: &ChangeSet) {
    let brief = changes.briefs.iter().map(|(item, brief)| vec![item.as_uuid().into(), Value::json(brief)]);
    script.put(&BRIEF, brief);
}

/// Questions: those that end, then those that are asked, since an item has one open one at the most.
pub(super) fn add_questions(script: &mut Script, changes: &ChangeSet) {
    let passed = changes.passed_questions.iter().map(|passed| {
        vec![
            QuestionState::Cancelled.code().into(),
            passed.by.as_str().into(),
            passed.at.as_millis().into(),
            passed.item.as_uuid().into(),
        ]
    });
    script.put(&PASS, passed);
    let (open, ended): (Vec<&Question>, Vec<&Question>) =
        changes.questions.iter().partition(|question| question.state == QuestionState::Open);
    script.put(&QUESTION, ended.into_iter().chain(open).map(question));
}

/// Comments, which only come; links, which come and go.
pub(super) fn add_talk(script: &mut Script, changes: &ChangeSet) {
    script.put(&COMMENT, changes.comments.iter().map(comment));
    script.put("DELETE FROM links WHERE id = ?", changes.removed_links.iter().map(|id| vec![bytes(id.0)]));
    script.put(&LINK, changes.links.iter().map(link));
}

fn question(question: &Question) -> Vec<Value> {
    vec![
        bytes(question.id.0),
        question.item.as_uuid().into(),
        question.text.as_str().into(),
        Value::json(&question.options),
        question.state.code().into(),
        question.asked_by.as_str().into(),
        question.asked_at.as_millis().into(),
        question.answer.as_ref().map(Text::as_str).into(),
        question.ended_by.as_ref().map(Name::as_str).into(),
        question.ended_at.map(Timestamp::as_millis).into(),
    ]
}

fn comment(comment: &Comment) -> Vec<Value> {
    vec![
        bytes(comment.id.0),
        comment.item.as_uuid().into(),
        comment.body.as_str().into(),
        comment.by.as_str().into(),
        comment.created_at.as_millis().into(),
    ]
}

fn link(link: &Link) -> Vec<Value> {
    vec![
        bytes(link.id.0),
        link.item.as_uuid().into(),
        link.kind.as_str().into(),
        link.reference.as_str().into(),
        link.url.as_str().into(),
        link.title.as_ref().map(Title::as_str).into(),
        link.by.as_str().into(),
        link.created_at.as_millis().into(),
    ]
}

fn bytes(id: Ulid) -> Value {
    Uuid::from_u128(id.0).into()
}
