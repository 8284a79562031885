//! The numbers that stand for closed sets in the database. They are part of the stored format: never change one.

use docket_core::model::{EdgeKind, Outcome, Priority, Role, Verb};
use docket_core::store::StoreError;

use crate::error::corrupt;

/// The role that closes an item, as SQL spells it in conditions that an index relies on.
pub(crate) const TERMINAL: i64 = 4;
/// The edge kind that holds work up.
pub(crate) const BLOCKS: i64 = 0;

pub(crate) fn of_role(role: Role) -> i64 {
    match role {
        Role::Queue => 0,
        Role::Work => 1,
        Role::Review => 2,
        Role::Blocked => 3,
        Role::Terminal => TERMINAL,
    }
}

pub(crate) fn role(code: i64) -> Result<Role, StoreError> {
    find(Role::ALL, of_role, code, "role")
}

pub(crate) fn of_outcome(outcome: Outcome) -> i64 {
    match outcome {
        Outcome::Success => 0,
        Outcome::Cancelled => 1,
    }
}

pub(crate) fn outcome(code: i64) -> Result<Outcome, StoreError> {
    find([Outcome::Success, Outcome::Cancelled], of_outcome, code, "outcome")
}

pub(crate) fn of_priority(priority: Priority) -> i64 {
    match priority {
        Priority::High => 0,
        Priority::Medium => 1,
        Priority::Low => 2,
    }
}

pub(crate) fn priority(code: i64) -> Result<Priority, StoreError> {
    find([Priority::High, Priority::Medium, Priority::Low], of_priority, code, "priority")
}

pub(crate) fn of_edge(kind: EdgeKind) -> i64 {
    match kind {
        EdgeKind::Blocks => BLOCKS,
        EdgeKind::RelatesTo => 1,
        EdgeKind::Supersedes => 2,
        EdgeKind::DuplicateOf => 3,
    }
}

pub(crate) fn edge(code: i64) -> Result<EdgeKind, StoreError> {
    find(EdgeKind::ALL, of_edge, code, "edge kind")
}

pub(crate) fn of_verb(verb: Verb) -> i64 {
    match verb {
        Verb::ProjectSet => 0,
        Verb::Created => 1,
        Verb::Edited => 2,
        Verb::Moved => 3,
        Verb::Claimed => 4,
        Verb::Released => 5,
        Verb::Noted => 6,
        Verb::NoteRemoved => 7,
        Verb::Linked => 8,
        Verb::Unlinked => 9,
        Verb::Removed => 10,
    }
}

pub(crate) fn verb(code: i64) -> Result<Verb, StoreError> {
    find(Verb::ALL, of_verb, code, "verb")
}

/// Looks a number up by asking every member for its own, so that the two directions cannot drift apart.
fn find<T: Copy>(
    all: impl IntoIterator<Item = T>,
    code_of: impl Fn(T) -> i64,
    code: i64,
    what: &str,
) -> Result<T, StoreError> {
    all.into_iter().find(|member| code_of(*member) == code).ok_or_else(|| corrupt(format!("{code} is no {what}")))
}
