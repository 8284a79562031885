//! What a tool call answers: the same JSON twice, as text for readers and as structured content for programs.

use docket_core::Kind;
use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::Value;

/// The answer to a tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The JSON as text, keys in the order of the answer's type.
    pub text: String,
    /// The same JSON as a value.
    pub structured: Value,
    /// Whether the call failed as a whole.
    pub is_error: bool,
}

impl Answer {
    /// An answer that succeeded.
    pub fn of<T: Serialize>(body: &T) -> Self {
        Self::build(body, false)
    }

    /// An answer that says why nothing was done.
    pub fn failure<T: Serialize>(body: &T) -> Self {
        Self::build(body, true)
    }

    /// How the call ended: `ok`, or the kind of its failure.
    pub(crate) fn outcome(&self) -> &'static str {
        if !self.is_error {
            return docket_core::span::outcome(None);
        }
        let kind = self.structured["error"]["kind"].as_str();
        let known = [Kind::Transient, Kind::Permanent, Kind::Shedding].map(Kind::as_str);
        known.into_iter().find(|known| Some(*known) == kind).unwrap_or(Kind::Permanent.as_str())
    }

    fn build<T: Serialize>(body: &T, is_error: bool) -> Self {
        match (serde_json::to_string(body), serde_json::to_value(body)) {
            (Ok(text), Ok(structured)) => Self { text, structured, is_error },
            (Err(error), _) | (_, Err(error)) => {
                // Answers are plain data with text keys: this cannot happen, and must not take the server down if it does.
                tracing::error!(%error, "an answer could not be written");
                let body = serde_json::json!({ "error": { "kind": "permanent", "code": "INTERNAL_ERROR", "message": "the answer could not be written" } });
                Self { text: body.to_string(), structured: body, is_error: true }
            }
        }
    }
}

impl From<Answer> for CallToolResult {
    fn from(answer: Answer) -> Self {
        let content = vec![ContentBlock::text(answer.text)];
        let mut result = if answer.is_error { Self::error(content) } else { Self::success(content) };
        result.structured_content = Some(answer.structured);
        result
    }
}
