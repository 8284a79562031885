//! Who calls, and how a retry of the call is recognised.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::access::Access;
use crate::checks::{Allowed, Look};
use crate::error::Error;
use crate::model::{Attribution, DegradedMode, Item, ItemId, Name, RequestId};
use crate::store::{AnswerKey, KeyReach, Scope};

/// What was called, and which of its units this is. The name of a request is that of a call of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Called {
    /// A word of a shell's that may come to one of several commands; without it, what was called is the command.
    tool: Option<Arc<str>>,
    /// The unit, where there are several and this is not the first.
    part: Option<&'static str>,
    /// A digest of what is asked for beside this unit: with something else it is another call.
    beside: Option<[u8; 32]>,
}

impl Called {
    /// A tool, by the name that no other has.
    pub fn tool(name: String) -> Arc<Self> {
        Arc::new(Self { tool: Some(name.into()), ..Self::default() })
    }
}

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
    /// What was called, where that is not the command, or has several units.
    pub called: Option<Arc<Called>>,
    /// What the caller may do, and where. The engine that runs the call puts its own here.
    pub access: Arc<Access>,
    /// Whether checks that are missing are run instead of being refused. The engine says so that can have them run.
    pub runs_checks: bool,
    /// What was seen of the work trees of items whose checks were run for this call.
    pub looks: BTreeMap<ItemId, Look>,
    /// How many results those runs wrote to each item: its version grew by them, and by nobody else's act.
    pub results: BTreeMap<ItemId, u64>,
    /// What runs without anybody's approval, because the operator says so. The engine puts its own here.
    pub allowed: Allowed,
    /// The work tree that the call comes from, where it comes from one. The engine that can see it says so.
    pub place: Option<Name>,
    /// Randomness for the ids that the request makes.
    pub seed: u128,
}

impl Call {
    /// A call about which nothing else is said: by somebody we know, with randomness for the ids that it makes.
    pub fn new(principal: Name, seed: u128) -> Self {
        Self {
            principal,
            by: None,
            policy: DegradedMode::default(),
            request: None,
            requester: None,
            called: None,
            access: Arc::default(),
            runs_checks: false,
            looks: BTreeMap::new(),
            results: BTreeMap::new(),
            allowed: Allowed::Nothing,
            place: None,
            seed,
        }
    }

    /// The same for a further unit of the call: its answer is kept beside that of the first.
    #[must_use]
    pub fn part(self, part: &'static str) -> Self {
        let tool = self.called.as_ref().and_then(|called| called.tool.clone());
        Self { called: Some(Arc::new(Called { tool, part: Some(part), beside: None })), ..self }
    }

    /// The same for the first unit of a call that asks for more than this.
    #[must_use]
    pub fn beside<C: Serialize>(self, more: &C) -> Self {
        let tool = self.called.as_ref().and_then(|called| called.tool.clone());
        Self { called: Some(Arc::new(Called { tool, part: None, beside: Some(digest(more)) })), ..self }
    }

    /// A call that only asks the gates: it names nobody and makes nothing.
    pub(crate) fn for_reading(access: Arc<Access>) -> Self {
        let reader = Name::parse("reader").unwrap_or_else(|_| unreachable!("a valid name"));
        Self { access, ..Self::new(reader, 0) }
    }

    /// Who acts, by name: the stated actor, else the principal where the policy does not ask for a proof.
    pub fn actor(&self) -> Result<&Name, Error> {
        match &self.by {
            Some(who) => self.policy.trusted(who),
            None => self.policy.unnamed(&self.principal),
        }
    }

    /// The identity that may hold claims: whoever acts, as known to the principal.
    pub fn holder(&self) -> Result<Name, Error> {
        self.holder_of(self.by.as_ref())
    }

    /// The same for a part of a request that states an actor of its own.
    pub fn holder_of(&self, by: Option<&Attribution>) -> Result<Name, Error> {
        let Some(who) = by.or(self.by.as_ref()) else { return self.policy.unnamed(&self.principal).cloned() };
        let actor = self.policy.trusted(who)?;
        Ok(if self.access.is_shown() { actor.under(&self.principal) } else { actor.clone() })
    }

    /// A holder as this caller calls it: without the principal, where that is its own.
    pub fn shown(&self, holder: Name) -> Name {
        let plain = holder.as_str().strip_suffix(')').and_then(|text| text.strip_suffix(self.principal.as_str()));
        let plain = plain.and_then(|text| text.strip_suffix(" (")).filter(|_| self.access.is_shown());
        plain.and_then(|name| Name::parse(name).ok()).unwrap_or(holder)
    }

    /// Whom this caller means by the name of a holder: somebody known to its own principal, unless the name says itself to
    /// whom, or is a principal's.
    pub fn meant(&self, name: Name) -> Name {
        let is_whole =
            name.as_str().ends_with(')') || ["key:", "token:"].iter().any(|is| name.as_str().starts_with(is));
        if is_whole || !self.access.is_shown() { name } else { name.under(&self.principal) }
    }

    /// The version that an item must have, for a caller who saw another before the checks of the item were made for this call:
    /// their results are no change that the caller did not know of.
    pub(crate) fn expected_now(&self, item: &Item, expected: Option<u64>) -> Option<u64> {
        let written = self.results.get(&item.id).copied().unwrap_or(0);
        expected
            .map(|seen| if (seen..=seen.saturating_add(written)).contains(&item.version) { item.version } else { seen })
    }

    /// A scope, limited to what the caller may see. One who may write to a single item ends no other claims of the agent.
    pub(crate) fn limited(&self, scope: Scope) -> Scope {
        let held_by = if self.access.item.is_none() { scope.held_by } else { Vec::new() };
        let keys = match (self.access.key, scope.keys) {
            (Some(key), KeyReach::None) => KeyReach::Ids(vec![key]),
            (None, KeyReach::None) if self.access.keyless => KeyReach::Any,
            (_, keys) => keys,
        };
        Scope { visible: self.access.projects.clone(), held_by, keys, ..scope }
    }

    /// Where the answer to this request is kept, if it has a name.
    pub(crate) fn answer_key(&self, command: &'static str) -> Option<AnswerKey> {
        let request = self.request.clone()?;
        let requester = self.requester.as_ref().or(self.by.as_ref().map(|who| &who.actor.id));
        let principal = match requester {
            // Two principals share nothing, however long the names are that they state.
            Some(id) => Name::parse(&format!("{} {id}", self.principal)).unwrap_or_else(|_| id.under(&self.principal)),
            None => self.principal.clone(),
        };
        let called = self.called.as_deref();
        let operation = match called.map(|called| (called.tool.as_deref(), called.part)) {
            None | Some((None, None)) => Cow::Borrowed(command),
            Some((Some(tool), None)) => Cow::Owned(tool.to_owned()),
            Some((tool, Some(part))) => Cow::Owned(format!("{} {part}", tool.unwrap_or(command))),
        };
        Some(AnswerKey { principal, operation, request })
    }

    /// A digest of what a unit of this call is about. Of a tool, which command it came to be is a part of that.
    pub(crate) fn digest<C: Serialize>(&self, command: &'static str, asked: &C) -> [u8; 32] {
        match self.called.as_deref() {
            Some(Called { tool: Some(_), beside, .. }) => digest(&(command, beside, asked)),
            Some(Called { tool: None, beside: Some(beside), .. }) => digest(&(beside, asked)),
            Some(Called { tool: None, beside: None, .. }) | None => digest(asked),
        }
    }
}

/// A digest of content, to tell one request from another.
pub(crate) fn digest<C: Serialize>(command: &C) -> [u8; 32] {
    // A command is plain data: it always serialises; were it not to, no retry would be recognised as one.
    let bytes = serde_json::to_vec(command).unwrap_or_default();
    Sha256::digest(&bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_principals_share_no_answers_however_long_the_name_is_that_they_state() {
        let id = Name::parse(&"a".repeat(250)).expect("a name");
        let key = |principal: &str| {
            let call = Call {
                requester: Some(id.clone()),
                request: RequestId::parse("once").ok(),
                ..Call::new(Name::parse(principal).expect("a name"), 1)
            };
            call.answer_key("claim").expect("it has a name").principal
        };
        assert_ne!(key("key:ci:1a2b3c4d"), key("key:ci:5e6f7a8b"));
        assert_eq!(key("key:ci:1a2b3c4d"), key("key:ci:1a2b3c4d"));
    }

    #[test]
    fn the_name_of_a_request_is_that_of_a_call_of_a_tool_whichever_command_it_comes_to() {
        let call = Call { request: RequestId::parse("once").ok(), ..Call::new(Name::parse("ann").expect("a name"), 1) };
        let of = |call: &Call, command| call.answer_key(command).expect("it has a name").operation;
        assert_eq!((of(&call, "create"), of(&call, "remove")), ("create".into(), "remove".into()));
        let tool = Call { called: Some(Called::tool("docket/plan".to_owned())), ..call.clone() };
        assert_eq!((of(&tool, "create"), of(&tool, "remove")), ("docket/plan".into(), "docket/plan".into()));
        assert_ne!(tool.digest("create", &1), tool.digest("remove", &1), "with another command it is another request");
        assert_ne!(tool.digest("create", &1), tool.digest("create", &2));
        assert_ne!(tool.digest("create", &1), tool.clone().beside(&2).digest("create", &1), "nor with more beside it");
        assert_ne!(call.digest("create", &1), call.clone().beside(&2).digest("create", &1), "whatever it is called by");
        assert_ne!(call.clone().beside(&3).digest("create", &1), call.clone().beside(&2).digest("create", &1));
        let further = [of(&tool.clone().part("releases"), "claim"), of(&call.part("releases"), "claim")];
        assert_eq!(further, ["docket/plan releases", "claim releases"]);
    }
}
