//! Briefs, questions, comments and links.

use crate::model::{
    Brief, Comment, CommentId, ItemId, Link, LinkId, Name, Question, QuestionId, QuestionState, Text, Title, Url,
};
use crate::store::code::Code;
use serde::Deserialize;
use ulid::Ulid;
use uuid::Uuid;

use super::Millis;

/// A ULID that is stored as the 16 bytes of a UUID.
pub(super) fn ulid(id: Uuid) -> Ulid {
    Ulid::from(id.as_u128())
}

/// A row of `briefs`.
#[derive(Debug, Deserialize)]
pub struct BriefRow(ItemId, Brief);

impl From<BriefRow> for (ItemId, Brief) {
    fn from(row: BriefRow) -> Self {
        (row.0, row.1)
    }
}

/// A row of `questions`.
#[derive(Debug, Deserialize)]
pub struct QuestionRow {
    id: Uuid,
    item: ItemId,
    text: Text,
    options: Vec<Text>,
    state: Code<QuestionState>,
    asked_by: Name,
    asked_at: Millis,
    answer: Option<Text>,
    ended_by: Option<Name>,
    ended_at: Option<Millis>,
}

impl From<QuestionRow> for Question {
    fn from(row: QuestionRow) -> Self {
        Self {
            id: QuestionId(ulid(row.id)),
            item: row.item,
            text: row.text,
            options: row.options,
            state: row.state.0,
            asked_by: row.asked_by,
            asked_at: row.asked_at.into(),
            answer: row.answer,
            ended_by: row.ended_by,
            ended_at: row.ended_at.map(Into::into),
        }
    }
}

/// A row of `comments`.
#[derive(Debug, Deserialize)]
pub struct CommentRow {
    id: Uuid,
    item: ItemId,
    body: Text,
    by: Name,
    created_at: Millis,
}

impl From<CommentRow> for Comment {
    fn from(row: CommentRow) -> Self {
        Self {
            id: CommentId(ulid(row.id)),
            item: row.item,
            body: row.body,
            by: row.by,
            created_at: row.created_at.into(),
        }
    }
}

/// A row of `links`.
#[derive(Debug, Deserialize)]
pub struct LinkRow {
    id: Uuid,
    item: ItemId,
    kind: Name,
    reference: Name,
    url: Url,
    title: Option<Title>,
    by: Name,
    created_at: Millis,
}

impl From<LinkRow> for Link {
    fn from(row: LinkRow) -> Self {
        Self {
            id: LinkId(ulid(row.id)),
            item: row.item,
            kind: row.kind,
            reference: row.reference,
            url: row.url,
            title: row.title,
            by: row.by,
            created_at: row.created_at.into(),
        }
    }
}
