//! Who calls, and how a retry of the call is recognised.

use std::sync::Arc;

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::access::Access;
use crate::error::Error;
use crate::model::{Attribution, DegradedMode, Name, RequestId};
use crate::store::{AnswerKey, KeyReach, Scope};

/// The circumstances of one request.
#[derive(Clone, Debug)]
pub struct Call {
    /// Who we know acts.
    pub principal: Name,
    /// Who is said to act, where somebody said so.
    pub by: Option<Attribution>,
    /// Whose word counts when a proof could not be verified.
    pub policy: DegradedMode,
    /// The caller's name for the request.
    pub request: Option<RequestId>,
    /// Whose name it is, where parts of a request state actors and the whole does not: two actors behind one principal
    /// do not share names.
    pub requester: Option<Name>,
    /// What the caller may do, and where. The engine that runs the call puts its own here.
    pub access: Arc<Access>,
    /// Randomness for the ids that the request makes.
    pub seed: u128,
}

impl Call {
    /// The identity that may hold claims: the stated actor, else the principal.
    pub fn holder(&self) -> Result<&Name, Error> {
        self.holder_of(self.by.as_ref())
    }

    /// The same for a part of a request that states an actor of its own.
    pub fn holder_of<'a>(&'a self, by: Option<&'a Attribution>) -> Result<&'a Name, Error> {
        match by.or(self.by.as_ref()) {
            Some(who) => self.policy.trusted(who),
            None => Ok(&self.principal),
        }
    }

    /// A scope, limited to what the caller may see. One who may write to a single item ends no other claims of the agent.
    pub(crate) fn limited(&self, scope: Scope) -> Scope {
        let held_by = if self.access.item.is_none() { scope.held_by } else { Vec::new() };
        let keys = match (self.access.key, scope.keys) {
            (Some(key), KeyReach::None) => KeyReach::Ids(vec![key]),
            (_, keys) => keys,
        };
        Scope { visible: self.access.projects.clone(), held_by, keys, ..scope }
    }

    /// Where the answer to this request is kept, if it has a name.
    pub(crate) fn answer_key(&self, operation: &'static str) -> Option<AnswerKey> {
        let request = self.request.clone()?;
        let requester = self.requester.as_ref().or(self.by.as_ref().map(|who| &who.actor.id));
        let principal = match requester {
            Some(id) => Name::parse(&format!("{} {id}", self.principal)).unwrap_or_else(|_| id.clone()),
            None => self.principal.clone(),
        };
        Some(AnswerKey { principal, operation, request })
    }
}

/// A digest of a request's content, to tell a retry from another request under the same name.
pub(crate) fn digest<C: Serialize>(command: &C) -> [u8; 32] {
    // A command is plain data: it always serialises; were it not to, no retry would be recognised as one.
    let bytes = serde_json::to_vec(command).unwrap_or_default();
    Sha256::digest(&bytes).into()
}
