//! Which agents were lately told of which parents, so that a parent's long texts are sent once and not with every child.
//!
//! The memory is this process's own and decides nothing but how much is said: whoever asks another process, or later, is
//! told in full again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use docket_core::model::{ItemId, Name, RequestId};
use docket_core::query::ParentReach;

/// How long an agent is taken to remember a parent.
const LASTS: Duration = Duration::from_mins(5);
/// How many are remembered before what is over is thrown out.
const MOST: usize = 10_000;

/// How much of a parent a caller wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ParentContext {
    /// In full once, then in short for a while.
    #[default]
    Auto,
    /// In full.
    Force,
    /// In short.
    Summary,
    /// Only which it is.
    None,
}

impl ParentContext {
    /// The words for it.
    pub(crate) const WORDS: &[(&str, Self)] =
        &[("auto", Self::Auto), ("force", Self::Force), ("summary", Self::Summary), ("none", Self::None)];
}

/// When an agent was told of a parent, and in answer to which request.
#[derive(Debug)]
struct Told {
    at: Instant,
    request: Option<RequestId>,
}

/// Which agents were told of which parents, and when.
#[derive(Debug, Default)]
pub(crate) struct ParentMemory {
    told: Mutex<HashMap<(Name, ItemId), Told>>,
}

impl ParentMemory {
    /// How much of a parent to tell an agent now. A request that comes again is answered as it was: its first answer may be
    /// the one that was lost.
    pub(crate) fn reach(
        &self,
        wanted: ParentContext,
        agent: &Name,
        parent: ItemId,
        request: Option<&RequestId>,
    ) -> ParentReach {
        match wanted {
            ParentContext::None => ParentReach::None,
            ParentContext::Summary => ParentReach::Summary,
            ParentContext::Auto if self.remembers(agent, parent, request, Instant::now()) => ParentReach::Summary,
            ParentContext::Auto | ParentContext::Force => ParentReach::Full,
        }
    }

    /// Remembers that the agent was told in full of the parent.
    pub(crate) fn told(&self, agent: &Name, parent: ItemId, request: Option<&RequestId>) {
        self.tell(agent, parent, request, Instant::now());
    }

    /// Whether the agent was told of the parent lately, in answer to another request.
    fn remembers(&self, agent: &Name, parent: ItemId, request: Option<&RequestId>, now: Instant) -> bool {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.get(&(agent.clone(), parent)).is_some_and(|told| {
            let is_again = request.is_some() && told.request.as_ref() == request;
            !is_again && now.saturating_duration_since(told.at) < LASTS
        })
    }

    fn tell(&self, agent: &Name, parent: ItemId, request: Option<&RequestId>, now: Instant) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() >= MOST {
            told.retain(|_, told| now.saturating_duration_since(told.at) < LASTS);
        }
        if told.len() >= MOST {
            // To be told twice does no harm.
            told.clear();
        }
        told.insert((agent.clone(), parent), Told { at: now, request: request.cloned() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_is_remembered_for_five_minutes_by_the_agent_that_was_told() {
        let (ann, bob) = (Name::parse("ann").expect("a name"), Name::parse("bob").expect("a name"));
        let (parent, other) =
            (ItemId::from_uuid(uuid::Uuid::from_u128(1)), ItemId::from_uuid(uuid::Uuid::from_u128(2)));
        let memory = ParentMemory::default();
        let start = Instant::now();
        let later = |seconds| start + Duration::from_secs(seconds);
        assert!(!memory.remembers(&ann, parent, None, start));
        memory.tell(&ann, parent, None, start);
        assert!(memory.remembers(&ann, parent, None, later(299)));
        assert!(!memory.remembers(&bob, parent, None, start) && !memory.remembers(&ann, other, None, start));
        assert!(!memory.remembers(&ann, parent, None, later(300)), "it lasts no longer than it lasts");
        memory.tell(&ann, parent, None, later(200));
        assert!(memory.remembers(&ann, parent, None, later(499)), "told again, it begins anew");
    }

    #[test]
    fn a_request_that_comes_again_is_told_again() {
        let (ann, bob) = (Name::parse("ann").expect("a name"), Name::parse("bob").expect("a name"));
        let parent = ItemId::from_uuid(uuid::Uuid::from_u128(1));
        let [once, another] = ["once", "another"].map(|name| RequestId::parse(name).expect("a request"));
        let memory = ParentMemory::default();
        let auto = |agent, request| memory.reach(ParentContext::Auto, agent, parent, request);
        assert_eq!(auto(&ann, Some(&once)), ParentReach::Full);
        memory.told(&ann, parent, Some(&once));
        assert_eq!(auto(&ann, Some(&once)), ParentReach::Full, "its first answer may be lost");
        assert_eq!(auto(&ann, Some(&another)), ParentReach::Summary);
        assert_eq!(auto(&ann, None), ParentReach::Summary);
        memory.told(&bob, parent, None);
        assert_eq!(auto(&bob, None), ParentReach::Summary, "what has no name does not come again");
        assert_eq!(memory.reach(ParentContext::Summary, &ann, parent, Some(&once)), ParentReach::Summary);
    }

    #[test]
    fn what_is_over_makes_room() {
        let ann = Name::parse("ann").expect("a name");
        let memory = ParentMemory::default();
        let start = Instant::now();
        let id = |number: usize| ItemId::from_uuid(uuid::Uuid::from_u128(number as u128));
        for number in 0..MOST {
            memory.tell(&ann, id(number), None, start);
        }
        let later = start + LASTS;
        memory.tell(&ann, id(MOST), None, later);
        assert_eq!(memory.told.lock().expect("a lock").len(), 1);
        assert!(memory.remembers(&ann, id(MOST), None, later));
    }
}
