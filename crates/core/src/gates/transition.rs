//! Refuses when the workflow has no such move.

use super::Attempt;
use crate::error::{Gate, Refusal};

pub(super) fn check(attempt: &Attempt<'_>) -> Option<Refusal> {
    let none = attempt.resolved.as_ref().err()?;
    Some(Refusal::new(Gate::Transition, none.message.clone(), none.remedy.clone()))
}
