//! What gives way to what, as a duplicate or because it is superseded, so that items which would all give way to each other,
//! and none of them be handed out, are refused when that is said of them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::waits::shown;
use crate::error::{Error, Reason};
use crate::limits;
use crate::model::{Edge, ItemId};
use crate::store::WayGraph;

/// What gives way to what; it can grow while a batch is checked.
#[derive(Clone, Debug, Default)]
pub struct Ways {
    ahead: BTreeMap<ItemId, Vec<ItemId>>,
    truncated: bool,
}

impl Ways {
    /// From what was loaded: all that the items at the ends of new edges give way to.
    pub fn new(loaded: Option<&WayGraph>) -> Self {
        let mut ways = Self { truncated: loaded.is_some_and(|loaded| loaded.truncated), ..Self::default() };
        for (item, to) in loaded.into_iter().flat_map(|loaded| &loaded.pairs) {
            ways.ahead.entry(*item).or_default().push(*to);
        }
        ways
    }

    /// Adds an edge; one that makes nothing give way changes nothing.
    pub fn add(&mut self, edge: &Edge) {
        if let Some((item, to)) = edge.gives_way() {
            self.ahead.entry(item).or_default().push(to);
        }
    }

    /// The ring that a new edge would close, as items from the one that would give way back to it. Refuses a graph that
    /// was cut short, because it could hide a ring.
    pub fn ring_with(&self, edge: &Edge) -> Result<Option<Vec<ItemId>>, Error> {
        let Some((item, to)) = edge.gives_way() else { return Ok(None) };
        if self.truncated {
            let message = format!(
                "these items give way to more than {} others: too many to be sure that there is no cycle",
                limits::GRAPH_NODES
            );
            return Err(Error::validation(Reason::GraphTooLarge, message));
        }
        Ok(self.path(to, item).map(|mut path| {
            path.insert(0, item);
            path
        }))
    }

    /// Any ring of the whole graph.
    pub fn find_ring(&self) -> Option<Vec<ItemId>> {
        let mut done: BTreeSet<ItemId> = BTreeSet::new();
        for begin in self.ahead.keys() {
            if done.contains(begin) {
                continue;
            }
            // An explicit stack of (item, how many of its ways were gone): chains may be longer than the call stack.
            let (mut stack, mut open) = (vec![(*begin, 0)], BTreeSet::from([*begin]));
            while let Some((item, gone)) = stack.last_mut() {
                let next = self.ahead.get(item).and_then(|ahead| ahead.get(*gone)).copied();
                *gone += 1;
                match next {
                    None => {
                        done.insert(*item);
                        open.remove(item);
                        stack.pop();
                    }
                    Some(next) if open.contains(&next) => {
                        let ring = stack.iter().map(|(item, _)| *item).skip_while(|item| *item != next);
                        return Some(ring.chain([next]).collect());
                    }
                    Some(next) if !done.contains(&next) => {
                        open.insert(next);
                        stack.push((next, 0));
                    }
                    Some(_) => {}
                }
            }
        }
        None
    }

    /// The shortest way from one item to another, both among it.
    fn path(&self, begin: ItemId, end: ItemId) -> Option<Vec<ItemId>> {
        let mut came_from: BTreeMap<ItemId, ItemId> = BTreeMap::new();
        let mut ahead = VecDeque::from([begin]);
        while let Some(item) = ahead.pop_front() {
            if item == end {
                let back = std::iter::successors(Some(end), |at| came_from.get(at).copied().filter(|_| *at != begin));
                let mut path: Vec<ItemId> = back.collect();
                path.reverse();
                return Some(path);
            }
            for next in self.ahead.get(&item).into_iter().flatten() {
                if *next != begin && !came_from.contains_key(next) {
                    came_from.insert(*next, item);
                    ahead.push_back(*next);
                }
            }
        }
        None
    }
}

/// The error for a ring, with as much of it as is useful to read. `name` is what an item goes by, where the caller may be
/// told of it.
pub fn ring_error(path: &[ItemId], name: impl Fn(ItemId) -> Option<String>) -> Error {
    let message = format!(
        "this would make a cycle: each of these would give way to the next, and none of them be handed out: {}",
        shown(path, name)
    );
    Error::validation(Reason::Cycle, message)
}
