//! The switches of a workflow: what of a project's rules can be changed by itself while its items stay where they are.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Lifecycle, Transitions, Workflow};
use crate::error::Gate;

/// Switches, each as it is or shall be; what is left out stays.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Settings {
    /// Which moves exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transitions: Option<Transitions>,
    /// Whether success is reached only by way of review.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub require_review: Option<bool>,
    /// The deepest an item may lie; a root lies at 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u8>,
    /// Which gates are on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gates: Option<BTreeSet<Gate>>,
    /// What closing the last child does to its parent when no schema says otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub close_parents: Option<Lifecycle>,
    /// How long a check may take that does not say so, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check_seconds: Option<u32>,
    /// Leases.
    #[serde(skip_serializing_if = "ClaimSettings::is_empty")]
    pub claims: ClaimSettings,
}

/// Switches of leases.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ClaimSettings {
    /// The lease when none is asked for; 0 is until released.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<u32>,
    /// How many live claims an agent may hold; 0 is no cap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_agent: Option<u32>,
    /// Whether a write by the holder extends its lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renew_on_write: Option<bool>,
    /// After how long without a heartbeat a session counts as stalled; 0 is never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stalled_after_seconds: Option<u32>,
}

impl ClaimSettings {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Settings {
    /// All switches as a workflow has them.
    pub fn of(workflow: &Workflow) -> Self {
        let claims = workflow.claims;
        Self {
            transitions: Some(workflow.transitions),
            require_review: Some(workflow.require_review),
            max_depth: Some(workflow.max_depth),
            gates: Some(workflow.gates.clone()),
            close_parents: Some(workflow.close_parents),
            check_seconds: Some(workflow.check_seconds),
            claims: ClaimSettings {
                ttl_seconds: Some(claims.ttl_seconds),
                per_agent: Some(claims.per_agent),
                renew_on_write: Some(claims.renew_on_write),
                stalled_after_seconds: Some(claims.stalled_after_seconds),
            },
        }
    }

    /// A workflow with these switches in place of its own.
    #[must_use]
    pub fn applied_to(&self, workflow: &Workflow) -> Workflow {
        let mut set = workflow.clone();
        let claims = &mut set.claims;
        claims.ttl_seconds = self.claims.ttl_seconds.unwrap_or(claims.ttl_seconds);
        claims.per_agent = self.claims.per_agent.unwrap_or(claims.per_agent);
        claims.renew_on_write = self.claims.renew_on_write.unwrap_or(claims.renew_on_write);
        claims.stalled_after_seconds = self.claims.stalled_after_seconds.unwrap_or(claims.stalled_after_seconds);
        set.transitions = self.transitions.unwrap_or(set.transitions);
        set.require_review = self.require_review.unwrap_or(set.require_review);
        set.max_depth = self.max_depth.unwrap_or(set.max_depth);
        set.close_parents = self.close_parents.unwrap_or(set.close_parents);
        set.check_seconds = self.check_seconds.unwrap_or(set.check_seconds);
        if let Some(gates) = &self.gates {
            set.gates.clone_from(gates);
        }
        set
    }
}
