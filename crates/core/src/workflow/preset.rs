//! The workflows that ship. Each is data like any other; a project may start from one and change it.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    ChecksWhen, ClaimRules, Lifecycle, RankBy, ReviewPhase, Status, Transitions, WaitsWhen, WhenFailed, Workflow,
};
use crate::error::{Gate, Invalid, Reason, echo};
use crate::limits;
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
    pub const PRESETS: [&'static str; 5] = ["standard", "task-orchestrator", "foresttasks", "cairn", "execution"];

    /// The preset of this name.
    pub fn preset(preset: &str) -> Result<Self, Invalid> {
        match preset {
            "standard" => Ok(Self::standard()),
            "task-orchestrator" => Ok(Self::task_orchestrator()),
            "foresttasks" => Ok(Self::foresttasks()),
            "execution" => Ok(Self::execution()),
            "cairn" => Ok(Self::cairn()),
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
            parked: Some(name("waiting_for_input")),
            transitions: Transitions::Guided,
            review_phase: ReviewPhase::Always,
            require_review: false,
            max_depth: 8,
            waits_when: WaitsWhen::Forward,
            gates: BTreeSet::from([Gate::Dependencies, Gate::Notes, Gate::Criteria, Gate::Checks, Gate::Descendants]),
            checks_when: ChecksWhen::Success,
            when_failed: WhenFailed::Stays,
            check_seconds: limits::CHECK_SECONDS,
            claims: ClaimRules::default(),
            close_parents: Lifecycle::Auto,
            labels: BTreeMap::new(),
            ranking: vec![RankBy::Brief, RankBy::Priority, RankBy::Unblocks, RankBy::Complexity],
        }
    }

    /// A workflow of before there was `checksWhen`, as this version means it: one that is a preset as it was once, leases aside, is
    /// that preset as it is now; one of which anything else was changed stays as somebody made it. No item had what the gates ask
    /// for that came to the standard preset, so ranks stay what they are. Statuses stay in any case, for items stand in them.
    ///
    /// Whatever was stored since says its `checksWhen`, and is what it says: see [`Stored`](super::Stored).
    #[must_use]
    pub(super) fn brought_up(self) -> Self {
        let now = Self { claims: self.claims, ..Self::standard() };
        let without = |gates: &[Gate]| now.gates.iter().copied().filter(|gate| !gates.contains(gate)).collect();
        let before_checks = Self { gates: without(&[Gate::Checks]), ..now.clone() };
        let before_briefs = Self {
            parked: None,
            gates: without(&[Gate::Checks, Gate::Criteria]),
            ranking: now.ranking.iter().copied().filter(|by| *by != RankBy::Brief).collect(),
            ..now.clone()
        };
        if self == before_checks || self == before_briefs {
            return now;
        }
        // Its checks kept nobody from giving a task up.
        let cairn = Self { claims: self.claims, ..Self::cairn() };
        if self == (Self { checks_when: ChecksWhen::Success, ..cairn.clone() }) {
            return cairn;
        }
        self
    }

    /// This workflow for a project that has one already. A status that the preset had once stays with a project which has it, for
    /// items may stand in it, unless statuses of its own were asked for.
    #[must_use]
    pub fn over(self, stored: &Self) -> Self {
        let before = Self::standard().statuses;
        let had_blocked = stored.preset == self.preset && stored.statuses == before;
        let of_preset = self.preset.as_str() == "foresttasks" && self.statuses == Self::foresttasks().statuses;
        if had_blocked && of_preset { Self { statuses: before, ..self } } else { self }
    }

    /// The standard one, with success only by way of review; parents are closed by whoever closes them. That a task is blocked
    /// follows from its blockers, so there is no status for it. Projects that were made while there was one keep it.
    pub fn foresttasks() -> Self {
        let mut statuses = Self::standard().statuses;
        statuses.retain(|status| status.name.as_str() != "blocked");
        Self {
            preset: name("foresttasks"),
            statuses,
            require_review: true,
            close_parents: Lifecycle::Manual,
            // Its tools have no sign of life: whoever asks a person and goes on with another task keeps the first. What nobody
            // comes back to is to be had again after a day.
            claims: ClaimRules { ttl_seconds: 86_400, per_agent: 0, ..ClaimRules::default() },
            ..Self::standard()
        }
    }

    /// Ready, in progress, in review where somebody must look, done. Ready work under a live claim is what its surface calls
    /// claimed: a lease that runs out gives it back by itself. An agent may hold any number of tasks. Only what is to be done is
    /// claimed: ready work, and work that was begun and left, also because a check of it failed.
    pub fn execution() -> Self {
        Self {
            preset: name("execution"),
            statuses: vec![
                status("ready", Role::Queue),
                status("in_progress", Role::Work),
                Status { claimable: false, ..status("needs_review", Role::Review) },
                ended("done", Outcome::Success),
                ended("cancelled", Outcome::Cancelled),
                Status { claimable: false, ..status("blocked", Role::Blocked) },
            ],
            initial: name("ready"),
            reopened: name("ready"),
            parked: None,
            when_failed: WhenFailed::Returns,
            claims: ClaimRules { per_agent: 0, ..ClaimRules::default() },
            ranking: vec![RankBy::Priority],
            ..Self::standard()
        }
    }

    /// From any status to any other. A claim says whose a task is, does not end by itself and keeps nobody out. Two gates of
    /// those that can be switched are on: `dependencies` keeps a task in its initial status until what it waits for is closed,
    /// `checks` keeps it open until they pass, also from being given up: a task that is closed, however that came, holds nothing
    /// up any more.
    pub fn cairn() -> Self {
        Self {
            preset: name("cairn"),
            statuses: vec![
                status("backlog", Role::Queue),
                status("in_progress", Role::Work),
                status("in_review", Role::Review),
                status("blocked", Role::Blocked),
                ended("done", Outcome::Success),
                ended("cancelled", Outcome::Cancelled),
            ],
            initial: name("backlog"),
            reopened: name("backlog"),
            parked: None,
            transitions: Transitions::Free,
            gates: BTreeSet::from([Gate::Dependencies, Gate::Checks]),
            waits_when: WaitsWhen::Leaving,
            checks_when: ChecksWhen::Closed,
            claims: ClaimRules {
                ttl_seconds: 0,
                per_agent: 0,
                renew_on_write: false,
                guarded: false,
                ..ClaimRules::default()
            },
            close_parents: Lifecycle::Manual,
            ..Self::standard()
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
            parked: None,
            transitions: Transitions::Guided,
            review_phase: ReviewPhase::Schema,
            require_review: false,
            max_depth: 3,
            gates: BTreeSet::from([Gate::Dependencies, Gate::Notes]),
            waits_when: WaitsWhen::Forward,
            checks_when: ChecksWhen::Success,
            when_failed: WhenFailed::Stays,
            check_seconds: limits::CHECK_SECONDS,
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
            assert_eq!(workflow.clone().brought_up(), workflow, "{preset} is what it is");
        }
    }

    #[test]
    fn the_standard_preset_of_before_is_that_of_now() {
        let mut before = Workflow { parked: None, ..Workflow::standard() };
        before.gates.remove(&Gate::Checks);
        assert_eq!(
            Workflow { parked: Workflow::standard().parked, ..before.clone() }.brought_up(),
            Workflow::standard(),
            "before there were checks"
        );
        before.gates.remove(&Gate::Criteria);
        before.ranking.remove(0);
        assert_eq!(before.clone().brought_up(), Workflow::standard());
        let own = Workflow { max_depth: 3, ..before.clone() };
        assert_eq!(own.clone().brought_up(), own, "what somebody changed stays");
    }

    #[test]
    fn a_project_of_foresttasks_keeps_a_status_that_the_preset_had_once() {
        let now = Workflow::foresttasks();
        assert_eq!(now.status(&name("blocked")), None);
        let before = Workflow { statuses: Workflow::standard().statuses, ..now.clone() };
        assert_eq!(before.clone().brought_up(), before, "items may stand in it");
        assert_eq!(now.clone().over(&before), before);
        let deeper = Workflow { max_depth: 3, ..now.clone() };
        assert_eq!(
            deeper.clone().over(&before),
            Workflow { max_depth: 3, ..before.clone() },
            "switches are what was asked for"
        );
        assert_eq!(deeper.clone().over(&now), deeper, "who does not have it does not get it");
        let standard = Workflow::standard();
        assert_eq!(now.clone().over(&standard), now, "another preset");
        assert_eq!(standard.clone().over(&before), standard);
        let mut own = now.clone();
        own.statuses.retain(|status| status.name != name("braindump"));
        assert_eq!(own.clone().over(&before), own, "statuses that somebody asked for");
    }

    #[test]
    fn checks_of_cairn_look_at_every_end() {
        let before = Workflow { checks_when: ChecksWhen::Success, ..Workflow::cairn() };
        assert_eq!(before.clone().brought_up(), Workflow::cairn());
        let own = Workflow { max_depth: 3, ..before };
        assert_eq!(own.clone().brought_up(), own, "what somebody changed stays");
        for other in ["standard", "task-orchestrator", "foresttasks", "execution"] {
            assert_eq!(Workflow::preset(other).expect("a preset").checks_when, ChecksWhen::Success, "{other}");
        }
    }
}
