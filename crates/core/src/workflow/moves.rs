//! Which moves a workflow has: a pure answer to "where would this trigger lead?".

use serde::{Deserialize, Serialize};

use super::{ReviewPhase, Status, Transitions, Workflow};
use crate::error::Gate;
use crate::model::{Inbox, Item, Name, Outcome, Role, Trigger};

/// What a caller asks for: a trigger, or a status by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Target {
    /// Along the roles.
    Trigger(Trigger),
    /// To this status.
    Status(Name),
}

/// A move that exists: where it leads and what it counts as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move<'w> {
    /// The status it leads to.
    pub to: &'w Status,
    /// The trigger it counts as, for gates and labels.
    pub trigger: Trigger,
}

/// Why a move does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoMove {
    /// The gate that says so: that there is no such move at all, or that review comes first.
    pub gate: Gate,
    /// What is the matter.
    pub message: String,
    /// What to do instead.
    pub remedy: String,
}

impl Workflow {
    /// Where `target` leads from where `item` stands. `has_review` says whether its schema has a review phase.
    pub fn resolve(&self, item: &Item, target: &Target, has_review: bool) -> Result<Move<'_>, NoMove> {
        match target {
            Target::Trigger(trigger) => self.by_trigger(item, *trigger, has_review),
            Target::Status(name) => self.by_status(item, name, has_review),
        }
    }

    /// The trigger that would take `item` on, and where to: what an agent should do next.
    pub fn next(&self, item: &Item, has_review: bool) -> Option<Move<'_>> {
        self.by_trigger(item, Trigger::Start, has_review).ok()
    }

    /// Whether `start` leads from work to review.
    pub fn reviews(&self, has_review: bool) -> bool {
        self.first_of(Role::Review).is_some()
            && (self.require_review
                || match self.review_phase {
                    ReviewPhase::Always => true,
                    ReviewPhase::Schema => has_review,
                })
    }

    fn by_trigger(&self, item: &Item, trigger: Trigger, has_review: bool) -> Result<Move<'_>, NoMove> {
        match (trigger, item.role) {
            (Trigger::Start, Role::Queue) => self.into(Role::Work, trigger),
            (Trigger::Start, Role::Work) if self.reviews(has_review) => self.into(Role::Review, trigger),
            (Trigger::Complete, Role::Queue | Role::Work) if self.require_review => Err(NoMove {
                gate: Gate::Review,
                message: "cannot complete: this workflow reaches success only by way of review".to_owned(),
                remedy: "move it into review first".to_owned(),
            }),
            (Trigger::Start, Role::Work | Role::Review)
            | (Trigger::Complete, Role::Queue | Role::Work | Role::Review) => self.into(Role::Terminal, trigger),
            // To resume it would take the question back, which is not for whoever finds it in the way.
            (Trigger::Start | Trigger::Complete, Role::Blocked) if item.derived.inbox.has(Inbox::QUESTION) => {
                Err(NoMove {
                    gate: Gate::Question,
                    message: format!("cannot {trigger}: item is blocked"),
                    remedy: "wait for the answer".to_owned(),
                })
            }
            (Trigger::Start | Trigger::Complete, Role::Blocked) => Err(NoMove {
                gate: Gate::Transition,
                message: format!("cannot {trigger}: item is blocked. Use 'resume' trigger first"),
                remedy: "resume it first".to_owned(),
            }),
            (Trigger::Start | Trigger::Complete | Trigger::Cancel, Role::Terminal) => Err(NoMove {
                gate: Gate::Transition,
                message: format!("cannot {trigger}: item is already terminal"),
                remedy: "reopen it first if it is to be worked on again".to_owned(),
            }),
            (Trigger::Block | Trigger::Hold, Role::Queue | Role::Work | Role::Review) => {
                self.aside().map(|to| Move { to, trigger }).ok_or_else(|| match self.parked() {
                    Some(parked) => only_asked(&parked.name),
                    None => no_status(Role::Blocked),
                })
            }
            (Trigger::Block | Trigger::Hold, Role::Blocked) => Err(NoMove {
                gate: Gate::Transition,
                message: format!("cannot {trigger}: item is already blocked"),
                remedy: "resume it, or leave it blocked".to_owned(),
            }),
            (Trigger::Block | Trigger::Hold, Role::Terminal) => Err(NoMove {
                gate: Gate::Transition,
                message: format!("cannot {trigger}: item is already terminal"),
                remedy: "reopen it first".to_owned(),
            }),
            (Trigger::Resume, Role::Blocked) => self.resumed(item),
            (Trigger::Resume, Role::Queue | Role::Work | Role::Review | Role::Terminal) => Err(NoMove {
                gate: Gate::Transition,
                message: format!("cannot resume: item is not blocked (current role: {})", item.role),
                remedy: "only a blocked item can be resumed".to_owned(),
            }),
            (Trigger::Cancel, Role::Queue | Role::Work | Role::Review | Role::Blocked) => {
                self.cancelled().map(|to| Move { to, trigger }).ok_or_else(|| no_status(Role::Terminal))
            }
            (Trigger::Reopen, Role::Terminal) => {
                self.status(&self.reopened).map(|to| Move { to, trigger }).ok_or_else(|| no_status(Role::Queue))
            }
            (Trigger::Reopen, Role::Queue | Role::Work | Role::Review | Role::Blocked) => Err(NoMove {
                gate: Gate::Transition,
                message: format!("cannot reopen: item is not terminal (current role: {})", item.role),
                remedy: "only a closed item can be reopened".to_owned(),
            }),
            (Trigger::Cascade, _) => Err(NoMove {
                gate: Gate::Transition,
                message: "cascade is the engine's own trigger".to_owned(),
                remedy: "use start, complete, block, hold, resume, cancel or reopen".to_owned(),
            }),
        }
    }

    /// An item that was made blocked, or whose old status the workflow no longer has, returns to the queue.
    fn resumed(&self, item: &Item) -> Result<Move<'_>, NoMove> {
        let before = item.previous_status.as_ref().and_then(|name| self.status(name));
        let to = before.filter(|status| status.role.is_open() && status.role != Role::Blocked);
        to.or_else(|| self.status(&self.initial))
            .map(|to| Move { to, trigger: Trigger::Resume })
            .ok_or_else(|| no_status(Role::Queue))
    }

    fn by_status(&self, item: &Item, name: &Name, has_review: bool) -> Result<Move<'_>, NoMove> {
        let Some(to) = self.status(name) else {
            let known: Vec<&str> = self.statuses.iter().map(|status| status.name.as_str()).collect();
            return Err(NoMove {
                gate: Gate::Transition,
                message: format!("this workflow has no status \"{name}\""),
                remedy: format!("use one of {}", known.join(", ")),
            });
        };
        if item.status == *name {
            return Err(NoMove {
                gate: Gate::Transition,
                message: format!("item is already {name}"),
                remedy: "nothing is to be done".to_owned(),
            });
        }
        if self.waits_for_answers(to) {
            return Err(only_asked(name));
        }
        let trigger = self.counts_as(item, to);
        if self.transitions == Transitions::Free || self.leads_along(item, to, has_review) {
            return Ok(Move { to, trigger });
        }
        // Whatever else leads to success from where the item stands: only review is missing.
        let early = self.require_review && to.role == Role::Terminal && matches!(item.role, Role::Queue | Role::Work);
        Err(NoMove {
            gate: if early { Gate::Review } else { Gate::Transition },
            message: format!("this workflow does not lead from {} to {name}", item.status),
            remedy: format!("go from {} by way of the statuses between", item.status),
        })
    }

    /// The role an item that was put aside had before; any other stands where it stands. Closed work that was put aside, where that
    /// can be, is at its beginning again.
    pub fn role_before(&self, item: &Item) -> Role {
        if item.role != Role::Blocked {
            return item.role;
        }
        let before = item.previous_status.as_ref().and_then(|name| self.status(name)).map(|status| status.role);
        before.filter(|role| role.is_open() && *role != Role::Blocked).unwrap_or(Role::Queue)
    }

    /// What a move to the status that an item has counts as.
    pub(crate) fn stays_as(&self, item: &Item) -> Trigger {
        self.status(&item.status).map_or(Trigger::Start, |status| match (status.role, status.outcome) {
            (Role::Terminal, Some(Outcome::Cancelled)) => Trigger::Cancel,
            (Role::Terminal, _) => Trigger::Complete,
            (Role::Blocked, _) => Trigger::Block,
            (Role::Queue | Role::Work | Role::Review, _) => Trigger::Start,
        })
    }

    /// What a move to a named status counts as, so that gates and labels treat it like the trigger.
    fn counts_as(&self, item: &Item, to: &Status) -> Trigger {
        match (item.role, to.role) {
            (_, Role::Terminal) if to.outcome == Some(Outcome::Cancelled) => Trigger::Cancel,
            (_, Role::Terminal) => Trigger::Complete,
            (_, Role::Blocked) => Trigger::Block,
            (Role::Terminal, Role::Queue | Role::Work | Role::Review) => Trigger::Reopen,
            // Further than it had come, it starts like any other; back to where it was, it resumes.
            (Role::Blocked, Role::Queue | Role::Work | Role::Review)
                if to.role.progress() <= self.role_before(item).progress() =>
            {
                Trigger::Resume
            }
            (Role::Queue | Role::Work | Role::Review | Role::Blocked, Role::Queue | Role::Work | Role::Review) => {
                Trigger::Start
            }
        }
    }

    /// Guided moves: forward one phase, back to an earlier one, sideways inside a role, aside, closed, reopened.
    fn leads_along(&self, item: &Item, to: &Status, has_review: bool) -> bool {
        match (self.role_before(item), to.role) {
            (Role::Terminal, to_role) => to_role == Role::Queue,
            (from, Role::Terminal) => {
                to.outcome == Some(Outcome::Cancelled)
                    || (item.role != Role::Blocked && (!self.require_review || from == Role::Review))
            }
            (Role::Queue, Role::Review) => false,
            (Role::Work, Role::Review) => self.reviews(has_review) || self.review_phase == ReviewPhase::Schema,
            (Role::Queue | Role::Work | Role::Review | Role::Blocked, _) => true,
        }
    }

    fn into(&self, role: Role, trigger: Trigger) -> Result<Move<'_>, NoMove> {
        self.first_of(role).map(|to| Move { to, trigger }).ok_or_else(|| no_status(role))
    }
}

/// What waits for an answer that nobody was asked for would be in nobody's inbox.
fn only_asked(parked: &Name) -> NoMove {
    NoMove {
        gate: Gate::Transition,
        message: format!("an item stands in {parked} only while a question on it is open"),
        remedy: "ask the question: that moves it there".to_owned(),
    }
}

fn no_status(role: Role) -> NoMove {
    NoMove {
        gate: Gate::Transition,
        message: format!("this workflow has no status with the role {role}"),
        remedy: "add one to the workflow".to_owned(),
    }
}
