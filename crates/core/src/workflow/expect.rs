//! What notes an item still owes, as agents are told it.

use serde::{Deserialize, Serialize};

use super::{NoteRule, Resolved};
use crate::model::{Name, NoteHead, Role};

/// A note that an item's schema knows, and whether it is there.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExpectedNote {
    /// The note's key.
    pub key: Name,
    /// The phase it belongs to.
    pub phase: Role,
    /// Whether the phase cannot be left without it.
    pub required: bool,
    /// What it is for.
    pub description: String,
    /// How to write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guidance: Option<String>,
    /// The skill that writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    /// Whether it was written at all, for this phase.
    pub exists: bool,
    /// Whether there is anything to read in it.
    pub filled: bool,
}

/// How many required notes of a phase are written.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteProgress {
    /// Written.
    pub filled: usize,
    /// Missing or blank.
    pub remaining: usize,
    /// Both together.
    pub total: usize,
}

/// What to write next in a phase.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Guide {
    /// How to write the first note that is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guidance: Option<String>,
    /// The skill that writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    /// The count; none without a schema and none once the item is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<NoteProgress>,
}

impl Resolved<'_> {
    /// The notes of one phase, or of all.
    pub fn expected(&self, phase: Option<Role>, notes: &[NoteHead]) -> Vec<ExpectedNote> {
        let of_phase = |rule: &&&NoteRule| phase.is_none_or(|phase| rule.phase == phase);
        self.notes
            .iter()
            .filter(of_phase)
            .map(|rule| {
                let note = rule.note_in(notes);
                ExpectedNote {
                    key: rule.key.clone(),
                    phase: rule.phase,
                    required: rule.required,
                    description: rule.description.clone(),
                    guidance: rule.guidance.clone(),
                    skill: rule.skill.clone(),
                    exists: note.is_some(),
                    filled: note.is_some_and(|note| note.filled),
                }
            })
            .collect()
    }

    /// What to write next in a phase.
    pub fn guide(&self, phase: Role, notes: &[NoteHead]) -> Guide {
        if phase == Role::Terminal {
            return Guide::default();
        }
        let missing = self.missing(Some(phase), notes);
        let total = self.required_in(phase);
        let first = missing.first();
        Guide {
            guidance: first.and_then(|rule| rule.guidance.clone()),
            skill: first.and_then(|rule| rule.skill.clone()),
            progress: Some(NoteProgress { filled: total - missing.len(), remaining: missing.len(), total }),
        }
    }
}
