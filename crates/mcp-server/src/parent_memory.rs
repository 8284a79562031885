//! Which agents were lately told of which parents, so that a parent's long texts are sent once and not with every child.
//!
//! The memory is this process's own and decides nothing but how much is said: whoever asks another process, or later, is
//! told in full again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use docket_core::model::{ItemId, Name};
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

/// Which agents were told of which parents, and when.
#[derive(Debug)]
pub(crate) struct ParentMemory {
    lasts: Duration,
    told: Mutex<HashMap<(Name, ItemId), Instant>>,
}

impl Default for ParentMemory {
    fn default() -> Self {
        Self::new(LASTS)
    }
}

impl ParentMemory {
    /// A memory that lasts this long.
    fn new(lasts: Duration) -> Self {
        Self { lasts, told: Mutex::default() }
    }

    /// How much of a parent to tell an agent now.
    pub(crate) fn reach(&self, wanted: ParentContext, agent: &Name, parent: ItemId) -> ParentReach {
        match wanted {
            ParentContext::None => ParentReach::None,
            ParentContext::Summary => ParentReach::Summary,
            ParentContext::Auto if self.remembers(agent, parent, Instant::now()) => ParentReach::Summary,
            ParentContext::Auto | ParentContext::Force => ParentReach::Full,
        }
    }

    /// Remembers that the agent was told in full of the parent.
    pub(crate) fn told(&self, agent: &Name, parent: ItemId) {
        self.tell(agent, parent, Instant::now());
    }

    /// Whether the agent was told of the parent lately.
    fn remembers(&self, agent: &Name, parent: ItemId, now: Instant) -> bool {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.get(&(agent.clone(), parent)).is_some_and(|at| now.saturating_duration_since(*at) < self.lasts)
    }

    fn tell(&self, agent: &Name, parent: ItemId, now: Instant) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() >= MOST {
            told.retain(|_, at| now.saturating_duration_since(*at) < self.lasts);
        }
        if told.len() >= MOST {
            // To be told twice does no harm.
            told.clear();
        }
        told.insert((agent.clone(), parent), now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_is_remembered_for_a_while_by_the_agent_that_was_told() {
        let (ann, bob) = (Name::parse("ann").expect("a name"), Name::parse("bob").expect("a name"));
        let (parent, other) =
            (ItemId::from_uuid(uuid::Uuid::from_u128(1)), ItemId::from_uuid(uuid::Uuid::from_u128(2)));
        let memory = ParentMemory::new(Duration::from_mins(5));
        let start = Instant::now();
        let later = |seconds| start + Duration::from_secs(seconds);
        assert!(!memory.remembers(&ann, parent, start));
        memory.tell(&ann, parent, start);
        assert!(memory.remembers(&ann, parent, later(299)));
        assert!(!memory.remembers(&bob, parent, start) && !memory.remembers(&ann, other, start));
        assert!(!memory.remembers(&ann, parent, later(300)), "it lasts no longer than it lasts");
        memory.tell(&ann, parent, later(200));
        assert!(memory.remembers(&ann, parent, later(499)), "told again, it begins anew");
    }

    #[test]
    fn what_is_over_makes_room() {
        let ann = Name::parse("ann").expect("a name");
        let memory = ParentMemory::new(Duration::from_secs(1));
        let start = Instant::now();
        let id = |number: usize| ItemId::from_uuid(uuid::Uuid::from_u128(number as u128));
        for number in 0..MOST {
            memory.tell(&ann, id(number), start);
        }
        let later = start + Duration::from_secs(2);
        memory.tell(&ann, id(MOST), later);
        assert_eq!(memory.told.lock().expect("a lock").len(), 1);
        assert!(memory.remembers(&ann, id(MOST), later));
    }
}
