//! Briefs, and what was said about items: questions, comments, links.

use docket_core::model::{Comment, Link, Name, Question, QuestionState, Text, Timestamp, Title};
use docket_core::store::code::{Coded, OPEN_QUESTION};
use docket_core::store::{ChangeSet, RunChange};
use ulid::Ulid;
use uuid::Uuid;

use super::Writes;
use super::rows::{Cell, Column, Kind, Rows};
use crate::script::{Script, json};

const BRIEF: [Column; 2] = [("item_id", Kind::Id), ("brief", Kind::Json)];
const QUESTION: [Column; 10] = [
    ("id", Kind::Id),
    ("item_id", Kind::Id),
    ("text", Kind::Text),
    ("options", Kind::Json),
    ("state", Kind::Int),
    ("asked_by", Kind::Text),
    ("asked_at", Kind::Int),
    ("answer", Kind::Text),
    ("ended_by", Kind::Text),
    ("ended_at", Kind::Int),
];
const COMMENT: [Column; 5] =
    [("id", Kind::Id), ("item_id", Kind::Id), ("body", Kind::Text), ("author", Kind::Text), ("created_at", Kind::Int)];
const LINK: [Column; 8] = [
    ("id", Kind::Id),
    ("item_id", Kind::Id),
    ("kind", Kind::Text),
    ("reference", Kind::Text),
    ("url", Kind::Text),
    ("title", Kind::Text),
    ("author", Kind::Text),
    ("created_at", Kind::Int),
];

const RUN: [Column; 5] =
    [("id", Kind::Id), ("item_id", Kind::Id), ("state", Kind::Int), ("run", Kind::Json), ("log", Kind::Text)];

/// Runs, which come, change and stay.
pub(super) fn add_runs(script: &mut Script, writes: &mut Writes, changes: &ChangeSet) {
    let run = |RunChange { run, log }: &RunChange| {
        vec![
            bytes(run.id.0),
            run.item.as_uuid().into(),
            run.state.code().into(),
            json(run).into(),
            log.as_ref().map(Text::as_str).into(),
        ]
    };
    let otherwise = "ON CONFLICT (id) DO UPDATE SET state = excluded.state, run = excluded.run, \
                     log = coalesce(excluded.log, runs.log)";
    if let Some(rows) = Rows::bind(script, &RUN, changes.runs.iter().map(run).collect()) {
        writes.add(rows.insert("runs", &RUN, otherwise));
    }
}

/// Briefs, written whole.
pub(super) fn add_briefs(script: &mut Script, writes: &mut Writes, changes: &ChangeSet) {
    let briefs = changes.briefs.iter().map(|(item, brief)| vec![item.as_uuid().into(), json(brief).into()]);
    if let Some(rows) = Rows::bind(script, &BRIEF, briefs.collect()) {
        writes.add(rows.insert("briefs", &BRIEF, "ON CONFLICT (item_id) DO UPDATE SET brief = excluded.brief"));
    }
}

/// Questions: those that end, then those that are asked, since an item has one open one at the most.
pub(super) fn add_questions(script: &mut Script, writes: &mut Writes, changes: &ChangeSet) {
    let passed = add_passed(script, writes, changes);
    let (open, ended): (Vec<&Question>, Vec<&Question>) =
        changes.questions.iter().partition(|question| question.state == QuestionState::Open);
    let questions = ended.into_iter().chain(open).map(question).collect();
    let Some(rows) = Rows::bind(script, &QUESTION, questions) else { return };
    let otherwise = "ON CONFLICT (id) DO UPDATE SET text = excluded.text, options = excluded.options, \
                     state = excluded.state, asked_by = excluded.asked_by, asked_at = excluded.asked_at, \
                     answer = excluded.answer, ended_by = excluded.ended_by, ended_at = excluded.ended_at";
    // Parts of a statement have no order of their own: a row of the join exists only after the part before was run.
    let before = passed.map(|part| format!("(SELECT count(*) AS done FROM {part} OFFSET 0) a CROSS JOIN"));
    writes.add(rows.insert_after("questions", &QUESTION, before.as_deref().unwrap_or_default(), otherwise));
}

/// Ends the open questions of items that moved on. Returns the part that does.
fn add_passed(script: &mut Script, writes: &mut Writes, changes: &ChangeSet) -> Option<String> {
    if changes.passed_questions.is_empty() {
        return None;
    }
    let items = script.uuids(changes.passed_questions.iter().map(|passed| passed.item.as_uuid()));
    let by = script.texts(changes.passed_questions.iter().map(|passed| passed.by.as_str()));
    let at = script.ints(changes.passed_questions.iter().map(|passed| passed.at.as_millis()));
    let cancelled = QuestionState::Cancelled.code();
    Some(writes.add(format!(
        "UPDATE questions q SET state = {cancelled}, ended_by = p.ended_by, ended_at = p.ended_at \
         FROM unnest({items}, {by}, {at}) p (item_id, ended_by, ended_at) \
         WHERE q.item_id = p.item_id AND q.state = {OPEN_QUESTION} RETURNING 1"
    )))
}

/// Comments, which only come; links, which come and go.
pub(super) fn add_talk(script: &mut Script, writes: &mut Writes, changes: &ChangeSet) {
    if let Some(rows) = Rows::bind(script, &COMMENT, changes.comments.iter().map(comment).collect()) {
        writes.add(rows.insert("comments", &COMMENT, ""));
    }
    if !changes.removed_links.is_empty() {
        let ids = script.uuids(changes.removed_links.iter().map(|id| Uuid::from_u128(id.0.0)));
        writes.add(format!("DELETE FROM links WHERE id = ANY({ids})"));
    }
    if let Some(rows) = Rows::bind(script, &LINK, changes.links.iter().map(link).collect()) {
        writes.add(rows.insert("links", &LINK, ""));
    }
}

fn question(question: &Question) -> Vec<Cell> {
    vec![
        bytes(question.id.0),
        question.item.as_uuid().into(),
        question.text.as_str().into(),
        json(&question.options).into(),
        question.state.code().into(),
        question.asked_by.as_str().into(),
        question.asked_at.as_millis().into(),
        question.answer.as_ref().map(Text::as_str).into(),
        question.ended_by.as_ref().map(Name::as_str).into(),
        question.ended_at.map(Timestamp::as_millis).into(),
    ]
}

fn comment(comment: &Comment) -> Vec<Cell> {
    vec![
        bytes(comment.id.0),
        comment.item.as_uuid().into(),
        comment.body.as_str().into(),
        comment.by.as_str().into(),
        comment.created_at.as_millis().into(),
    ]
}

fn link(link: &Link) -> Vec<Cell> {
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

fn bytes(id: Ulid) -> Cell {
    Uuid::from_u128(id.0).into()
}
