//! Workflow is data: statuses, switches and schemas that the engine interprets. No status name stands in engine code.

mod expect;
mod moves;
mod preset;
mod schema;
mod settings;
mod stored;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub use expect::{ExpectedNote, Guide, NoteProgress};
pub use moves::{Move, NoMove, Target};
pub use schema::{Lifecycle, NoteLimits, NoteRule, Resolved, Schema, Schemas, Trait};
pub use settings::{ClaimSettings, Settings};
pub use stored::Stored;

use crate::error::{Gate, Invalid, Reason};
use crate::limits;
use crate::model::{Name, Outcome, Role, Trigger};

/// What people call a place in the workflow, and what it means to the engine.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Status {
    /// Its name.
    pub name: Name,
    /// Where an item in it stands.
    pub role: Role,
    /// Whether find-and-claim hands out items in it.
    #[serde(default = "yes")]
    pub claimable: bool,
    /// How an item in it ended; set on terminal statuses and on no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// Which moves exist.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transitions {
    /// Along the roles.
    #[default]
    Guided,
    /// From any status to any other; gates still apply.
    Free,
}

/// Whether work is looked at before it is done.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReviewPhase {
    /// `start` leads from work to review.
    #[default]
    Always,
    /// Only where the item's schema has a note for review.
    Schema,
}

/// Which moves wait for blockers.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WaitsWhen {
    /// Those that go on along the way, by a start or a completion.
    #[default]
    Forward,
    /// Those that leave the initial status, wherever they lead, and no others.
    Leaving,
}

/// Which ends ask for checks that hold.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChecksWhen {
    /// Success. Work may be given up whatever its checks say.
    #[default]
    Success,
    /// Every terminal status: nothing that others wait for ends past its checks.
    Closed,
}

/// What becomes of work that was handed in and does not hold.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WhenFailed {
    /// It stays in review, until somebody mends it and hands it in again.
    #[default]
    Stays,
    /// It goes back to work, nobody's: whoever looks for work finds it again.
    Returns,
}

/// How long and how many leases there may be.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ClaimRules {
    /// The lease when none is asked for; 0 is until released.
    pub ttl_seconds: u32,
    /// How many live claims an agent may hold; 0 is no cap.
    pub per_agent: u32,
    /// Whether a write by the holder extends its lease.
    pub renew_on_write: bool,
    /// After how long without a heartbeat a session counts as stalled; 0 is never.
    pub stalled_after_seconds: u32,
    /// Whether a claim keeps others from writing to the item; otherwise it only says whose it is.
    pub guarded: bool,
}

impl Default for ClaimRules {
    fn default() -> Self {
        Self { ttl_seconds: 900, per_agent: 1, renew_on_write: true, stalled_after_seconds: 300, guarded: true }
    }
}

/// One aspect of the order of ready work, from the most to the least telling.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RankBy {
    /// What has a complete brief first.
    Brief,
    /// High before medium before low.
    Priority,
    /// What holds up more open work first.
    Unblocks,
    /// Easy before hard; what has no complexity comes last.
    Complexity,
}

/// The statuses of a project and the switches of its engine.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Workflow {
    /// The preset it began as.
    pub preset: Name,
    /// Every status; the first of a role is the one a trigger leads to.
    pub statuses: Vec<Status>,
    /// The status of a new item.
    pub initial: Name,
    /// The status `reopen` leads to.
    pub reopened: Name,
    /// The status of an item that waits for an answer; where nothing is said, the first of the role `blocked`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parked: Option<Name>,
    /// Which moves exist.
    pub transitions: Transitions,
    /// Whether `start` leads from work to review.
    pub review_phase: ReviewPhase,
    /// Whether success is reached only by way of review.
    pub require_review: bool,
    /// The deepest an item may lie; a root lies at 0.
    pub max_depth: u8,
    /// Which gates are on. `transition` and `ownership` always are.
    pub gates: BTreeSet<Gate>,
    /// Which moves the gate `dependencies` looks at.
    #[serde(default)]
    pub waits_when: WaitsWhen,
    /// Which ends the gate `checks` looks at.
    // Always written: by that `Stored` tells the workflows of before.
    #[serde(default)]
    pub checks_when: ChecksWhen,
    /// What becomes of work that was handed in when one of its checks fails.
    #[serde(default)]
    pub when_failed: WhenFailed,
    /// How long a check may take that does not say so, in seconds.
    #[serde(default = "check_seconds")]
    pub check_seconds: u32,
    /// Leases.
    pub claims: ClaimRules,
    /// What closing the last child does to its parent when no schema says otherwise.
    pub close_parents: Lifecycle,
    /// The label that a trigger leaves on the item.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<Trigger, Name>,
    /// The order of ready work; age and id follow.
    pub ranking: Vec<RankBy>,
}

impl Workflow {
    /// The status of this name.
    pub fn status(&self, name: &Name) -> Option<&Status> {
        self.statuses.iter().find(|status| status.name == *name)
    }

    /// The status a move into `role` leads to; for terminal, the successful one.
    pub fn first_of(&self, role: Role) -> Option<&Status> {
        self.statuses.iter().find(|status| status.role == role && status.outcome != Some(Outcome::Cancelled))
    }

    /// Whether work can be in review at all.
    pub fn has_review(&self) -> bool {
        self.first_of(Role::Review).is_some()
    }

    /// The status of an item that waits for an answer.
    pub fn parked(&self) -> Option<&Status> {
        self.parked.as_ref().and_then(|name| self.status(name)).or_else(|| self.first_of(Role::Blocked))
    }

    /// The status of an item that is put aside for another reason than a question.
    pub fn aside(&self) -> Option<&Status> {
        self.statuses.iter().find(|status| status.role == Role::Blocked && !self.waits_for_answers(status))
    }

    /// Whether items stand in this status only while a question on them is open: where the workflow says which one it is. Where
    /// it does not, questions share the first status of the role `blocked` with all else that is put aside.
    pub fn waits_for_answers(&self, status: &Status) -> bool {
        self.parked.as_ref() == Some(&status.name)
    }

    /// The status of work that was given up.
    pub fn cancelled(&self) -> Option<&Status> {
        self.statuses.iter().find(|status| status.outcome == Some(Outcome::Cancelled))
    }

    /// Whether a gate is on.
    pub fn has_gate(&self, gate: Gate) -> bool {
        match gate {
            Gate::Transition | Gate::Ownership | Gate::Question | Gate::Review => true,
            Gate::Dependencies | Gate::Notes | Gate::Criteria | Gate::Checks | Gate::Descendants => {
                self.gates.contains(&gate)
            }
        }
    }

    /// Whether the workflow can be interpreted; says what is missing.
    pub fn check(&self) -> Result<(), Invalid> {
        let bad = |message: String| Err(Invalid::new(Reason::BadValue, message));
        let mut names = BTreeSet::new();
        for status in &self.statuses {
            if !names.insert(&status.name) {
                return bad(format!("has the status \"{}\" twice", status.name));
            }
            if (status.role == Role::Terminal) != status.outcome.is_some() {
                return bad(format!("status \"{}\": a terminal status has an outcome, and no other has", status.name));
            }
        }
        for role in [Role::Queue, Role::Work, Role::Blocked, Role::Terminal] {
            if self.first_of(role).is_none() {
                return bad(format!("has no status with the role {role}"));
            }
        }
        if self.first_of(Role::Review).is_none() && self.require_review {
            return bad("requires review and has no status with the role review".to_owned());
        }
        if self.cancelled().is_none() {
            return bad("has no terminal status with the outcome cancelled".to_owned());
        }
        for (what, name) in [("initial", &self.initial), ("reopened", &self.reopened)] {
            match self.status(name) {
                None => return bad(format!("names \"{name}\" as {what}, which is none of its statuses")),
                Some(status) if status.role != Role::Queue => {
                    return bad(format!("names \"{name}\" as {what}, whose role is not queue"));
                }
                Some(_) => {}
            }
        }
        if let Some(name) = &self.parked
            && self.status(name).is_none_or(|status| status.role != Role::Blocked)
        {
            return bad(format!("names \"{name}\" as parked, which is no status of the role blocked"));
        }
        if self.max_depth > limits::DEPTH {
            return bad(format!("allows a depth of {}, more than {}", self.max_depth, limits::DEPTH));
        }
        if self.claims.ttl_seconds > *limits::LEASE_SECONDS.end() {
            return bad(format!("has leases longer than {} seconds", limits::LEASE_SECONDS.end()));
        }
        let range = limits::CHECK_SECONDS_ALLOWED;
        if !range.contains(&self.check_seconds) {
            return bad(format!(
                "gives checks {} seconds, not {} to {}",
                self.check_seconds,
                range.start(),
                range.end()
            ));
        }
        Ok(())
    }
}

const fn yes() -> bool {
    true
}

const fn check_seconds() -> u32 {
    limits::CHECK_SECONDS
}
