//! Workflows that were stored, in a row, an event or an export, as this version means them.
//!
//! What a preset means may change between versions, and who has that preset and changed nothing of it is to follow. But what an
//! operator asked for must never be taken for a preset of before: so the form that is written says which it is. Whatever has no
//! `checksWhen` was written before there was that switch, and is brought up; whatever has it is what it says.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::Workflow;

/// The switch by which the forms are told apart: it is always written.
const SWITCH: &str = "checksWhen";

/// A workflow as it was stored, brought up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored(pub Workflow);

impl Stored {
    /// A workflow as JSON says it.
    pub fn read(stored: Value) -> Result<Self, serde_json::Error> {
        let is_old = stored.get(SWITCH).is_none();
        let workflow: Workflow = serde_json::from_value(stored)?;
        Ok(Self(if is_old { workflow.brought_up() } else { workflow }))
    }

    /// The workflow in something that has one, a project as a record or an export has it, in the form that is written now.
    pub(crate) fn bring_up_in(holder: &mut Value) {
        let Some(stored) = holder.get_mut("workflow") else { return };
        // What is none is told where it is read.
        if let Ok(Self(workflow)) = Self::read(stored.clone())
            && let Ok(written) = serde_json::to_value(workflow)
        {
            *stored = written;
        }
    }
}

impl<'de> Deserialize<'de> for Stored {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::read(Value::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Gate;
    use crate::workflow::ChecksWhen;

    fn written(workflow: &Workflow) -> Value {
        serde_json::to_value(workflow).expect("JSON")
    }

    /// As it was written before there was the switch.
    fn before(workflow: &Workflow) -> Value {
        let mut written = written(workflow);
        assert!(written.as_object_mut().expect("an object").remove(SWITCH).is_some(), "it is always written");
        written
    }

    fn read(stored: Value) -> Workflow {
        Stored::read(stored).expect("a workflow").0
    }

    #[test]
    fn what_an_operator_asked_for_is_what_is_read() {
        let mut unchecked = Workflow::standard();
        unchecked.gates.remove(&Gate::Checks);
        for asked in [
            Workflow { checks_when: ChecksWhen::Success, ..Workflow::cairn() },
            unchecked,
            Workflow { statuses: Workflow::standard().statuses, ..Workflow::foresttasks() },
        ] {
            assert_eq!(read(written(&asked)), asked, "it is no preset of before");
        }
        for preset in Workflow::PRESETS {
            let workflow = Workflow::preset(preset).expect("a preset");
            assert_eq!(read(written(&workflow)), workflow);
        }
    }

    #[test]
    fn a_preset_of_before_is_that_of_now() {
        let cairn = Workflow { checks_when: ChecksWhen::Success, ..Workflow::cairn() };
        assert_eq!(read(before(&cairn)), Workflow::cairn());
        let mut standard = Workflow::standard();
        standard.gates.remove(&Gate::Checks);
        assert_eq!(read(before(&standard)), Workflow::standard());
        let own = Workflow { max_depth: 3, ..cairn };
        assert_eq!(read(before(&own)), own, "what somebody changed stays");
        // Read once, it is written as what it is, and stays that.
        assert_eq!(read(written(&read(before(&own)))), own);
    }
}
