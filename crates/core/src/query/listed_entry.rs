//! An entry in a list: the beginning of its text, and whether there is more of it.

use serde::Serialize;

use super::ReviewState;
use crate::limits;
use crate::model::{Entry, Text};

/// An entry whose text may be cut: one entry by its id is shown whole.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedEntry {
    /// The entry; its text may be cut, see `truncated`.
    #[serde(flatten)]
    pub entry: Entry,
    /// Whether a person has said that it is right; always told.
    pub review_state: ReviewState,
    /// Whether its text was cut: it must not be sent back as the entry's text.
    pub truncated: bool,
}

impl From<Entry> for ListedEntry {
    fn from(mut entry: Entry) -> Self {
        let body = entry.body.as_str();
        let short = body.char_indices().nth(limits::ENTRY_LISTED_CHARS).and_then(|(end, _)| body.get(..end));
        let short = short.and_then(|short| Text::parse(short).ok());
        let truncated = short.is_some();
        if let Some(short) = short {
            entry.body = short;
        }
        Self { review_state: ReviewState::of(&entry), entry, truncated }
    }
}
