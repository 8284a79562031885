//! What people and agents say about an item: questions, comments and links to things outside.

use serde::{Deserialize, Serialize};

use super::{CommentId, ItemId, LinkId, Name, QuestionId, Text, Timestamp, Title};
use crate::error::{Invalid, Reason, echo};
use crate::limits;

/// Where a question stands.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QuestionState {
    /// It waits for an answer.
    Open,
    /// It was answered.
    Answered,
    /// It was taken back, or its item moved on without an answer.
    Cancelled,
}

/// Something that only a person can decide. An item has one open question at the most.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// Names it for ever.
    pub id: QuestionId,
    /// The item it is about.
    pub item: ItemId,
    /// What is asked.
    pub text: Text,
    /// Answers to choose from; any other will do too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Text>,
    /// Where it stands.
    pub state: QuestionState,
    /// Who asked.
    pub asked_by: Name,
    /// When.
    pub asked_at: Timestamp,
    /// What was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Text>,
    /// Who answered it or took it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<Name>,
    /// When.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}

/// A remark on an item: not keyed, never changed.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Comment {
    /// Names it for ever.
    pub id: CommentId,
    /// The item it is on.
    pub item: ItemId,
    /// What it says.
    pub body: Text,
    /// Who wrote it.
    pub by: Name,
    /// When.
    pub created_at: Timestamp,
}

/// A typed link from an item to something outside: a commit, a pull request, a document.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    /// Names it for ever.
    pub id: LinkId,
    /// The item it is on.
    pub item: ItemId,
    /// What sort of thing it leads to.
    pub kind: Name,
    /// What that thing is called where it is: a commit's digest, a number.
    #[serde(rename = "ref")]
    pub reference: Name,
    /// Where it is.
    pub url: Url,
    /// What it is called for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Title>,
    /// Who added it.
    pub by: Name,
    /// When.
    pub created_at: Timestamp,
}

/// The address of a page: `http` or `https`, so that following it runs nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Url(String);

impl Url {
    /// Accepts an absolute `http` or `https` address without white space or control characters.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let lower = text.get(..8).unwrap_or(text).to_ascii_lowercase();
        let rest = ["http://", "https://"].iter().find(|scheme| lower.starts_with(**scheme)).map(|scheme| scheme.len());
        let plain = !text.chars().any(|c| c.is_whitespace() || c.is_control() || crate::error::is_bidi_control(c));
        let host =
            rest.and_then(|start| text.get(start..)).is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'));
        if text.len() > limits::URL_BYTES {
            return Err(Invalid::new(Reason::TooLong, format!("must be at most {} bytes", limits::URL_BYTES)));
        }
        if !(plain && host) {
            let message = format!("must be an http or https address, not \"{}\"", echo(text));
            return Err(Invalid::new(Reason::BadValue, message));
        }
        Ok(Self(text.to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<Url> for String {
    fn from(url: Url) -> Self {
        url.0
    }
}

impl TryFrom<String> for Url {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        Self::parse(&text)
    }
}
