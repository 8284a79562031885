//! Short words for valid values.

use crate::model::{ActorClaim, ActorKind, Attribution, Name, Role, Title, Verification};

/// A valid name.
pub fn name(text: &str) -> Name {
    Name::parse(text).expect("a name")
}

/// A valid title.
pub fn title(text: &str) -> Title {
    Title::parse(text).expect("a title")
}

/// An actor who says they act, unchecked.
pub fn attribution(id: &str) -> Attribution {
    let actor = ActorClaim { id: name(id), kind: ActorKind::Subagent, parent: None, proof: None };
    Attribution { actor, verification: Verification::unchecked() }
}

/// A required note of a phase.
pub fn required(key: &str, phase: Role) -> crate::workflow::NoteRule {
    crate::workflow::NoteRule {
        key: name(key),
        phase,
        required: true,
        description: format!("what {key} is for"),
        guidance: Some(format!("how to write {key}")),
        skill: None,
        max_length: None,
    }
}
