//! The workflows that ship. Each is data like any other; a project may start from one and change it.

use std::collections::{BTreeMap, BTreeSet};

use super::{ClaimRules, Lifecycle, RankBy, ReviewPhase, Status, Transitions, Workflow};
use crate::error::{Gate, Invalid, Reason, echo};
use crate::model::{Name, Outcome, Role, Trigger};

/// Names come from this file alone, so a bad one is found by the test that builds every preset.
fn name(text: &str) -> Name {
    Name::parse(text).unwrap_or_else(|_| unreachable!("preset names are valid"))
}

fn status(text: &str, role: Role) -> Status {
    Status { name: name(text), role, claimable: role != Role::Terminal, outcome: None }
}

fn ended(text: &str, outcome: Outcome) -> Status {
    Status { outcome: Some(outcome), ..status(text, Role::Terminal) }
}

impl Workflow {
    /// The presets' names, the default first.
    pub const PRESETS: [&'static str; 2] = ["standard", "task-orchestrator"];

    /// The preset of this name.
    pub fn preset(preset: &str) -> Result<Self, Invalid> {
        match preset {
            "standard" => Ok(Self::standard()),
            "task-orchestrator" => Ok(Self::task_orchestrator()),
            _ => Err(Invalid::new(
                Reason::UnknownValue,
                format!("must be one of {}, not \"{}\"", Self::PRESETS.join(", "), echo(preset)),
            )),
        }
    }

    /// The default: from braindump to done, every gate on.
    pub fn standard() -> Self {
        Self {
            preset: name("standard"),
            statuses: vec![
                Status { claimable: false, ..status("braindump", Role::Queue) },
                status("backlog", Role::Queue),
                status("ready", Role::Queue),
                status("in_progress", Role::Work),
                status("in_review", Role::Review),
                ended("done", Outcome::Success),
                ended("cancelled", Outcome::Cancelled),
                status("blocked", Role::Blocked),
                status("waiting_for_input", Role::Blocked),
            ],
            initial: name("backlog"),
            reopened: name("ready"),
            transitions: Transitions::Guided,
            review_phase: ReviewPhase::Always,
            require_review: false,
            max_depth: 8,
            gates: BTreeSet::from([Gate::Dependencies, Gate::Notes, Gate::Descendants]),
            claims: ClaimRules::default(),
            close_parents: Lifecycle::Auto,
            labels: BTreeMap::new(),
            ranking: vec![RankBy::Priority, RankBy::Unblocks, RankBy::Complexity],
        }
    }

    /// Roles as statuses, no descendants gate, review only where a schema asks for it, labels beside the role.
    pub fn task_orchestrator() -> Self {
        Self {
            preset: name("task-orchestrator"),
            statuses: vec![
                status("queue", Role::Queue),
                status("work", Role::Work),
                status("review", Role::Review),
                status("blocked", Role::Blocked),
                ended("done", Outcome::Success),
                ended("cancelled", Outcome::Cancelled),
            ],
            initial: name("queue"),
            reopened: name("queue"),
            transitions: Transitions::Guided,
            review_phase: ReviewPhase::Schema,
            require_review: false,
            max_depth: 3,
            gates: BTreeSet::from([Gate::Dependencies, Gate::Notes]),
            claims: ClaimRules::default(),
            close_parents: Lifecycle::Auto,
            labels: BTreeMap::from([
                (Trigger::Start, name("in-progress")),
                (Trigger::Complete, name("done")),
                (Trigger::Block, name("blocked")),
                (Trigger::Cancel, name("cancelled")),
                (Trigger::Cascade, name("done")),
            ]),
            ranking: vec![RankBy::Priority, RankBy::Complexity],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_can_be_interpreted() {
        for preset in Workflow::PRESETS {
            let workflow = Workflow::preset(preset).expect("a preset of this name");
            assert_eq!(workflow.check(), Ok(()), "{preset}");
            assert_eq!(workflow.preset.as_str(), preset);
        }
    }
}
