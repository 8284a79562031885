//! What waits for what, across edges and parents together, so that work that could never finish is refused when it is
//! made.
//!
//! An item has two stages that others can wait for: that it starts, and that it finishes. Starting waits for every
//! blocker to reach its threshold; finishing waits for starting and, where the workflow closes parents after their
//! children, for every child to finish. A write is refused when it would make a stage wait for itself.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::error::{Error, Reason};
use crate::limits;
use crate::model::{ItemId, Role};
use crate::store::{WaitEdge, WaitGraph};

/// A point in an item's life that others may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// It leaves the queue.
    Starts(ItemId),
    /// It is closed.
    Finishes(ItemId),
}

impl Stage {
    /// The stage at which an item reaches a threshold; the queue is reached from the beginning.
    pub fn reaching(item: ItemId, threshold: Role) -> Option<Self> {
        match threshold {
            Role::Queue | Role::Blocked => None,
            Role::Work | Role::Review => Some(Self::Starts(item)),
            Role::Terminal => Some(Self::Finishes(item)),
        }
    }

    fn item(self) -> ItemId {
        match self {
            Self::Starts(item) | Self::Finishes(item) => item,
        }
    }
}

/// A graph of waits that can grow while a batch is checked.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    blockers: BTreeMap<ItemId, Vec<(ItemId, Role)>>,
    children: BTreeMap<ItemId, Vec<ItemId>>,
    parents_wait: bool,
}

impl Waits {
    /// From what was loaded: all that waits for the items at which a new wait ends, so that no way to one of them is missing.
    /// Refuses a graph that was cut short, because it could hide a cycle. `parents_wait` says
    /// whether the workflow lets a parent finish only after its children.
    pub fn new(loaded: Option<&WaitGraph>, parents_wait: bool) -> Result<Self, Error> {
        let mut waits = Self { parents_wait, ..Self::default() };
        let Some(loaded) = loaded else { return Ok(waits) };
        if loaded.truncated {
            return Err(Error::validation(
                Reason::GraphTooLarge,
                format!(
                    "more than {} items wait for these: too many to be sure that there is no cycle",
                    limits::GRAPH_NODES
                ),
            ));
        }
        for edge in &loaded.edges {
            waits.add_edge(*edge);
        }
        for (parent, child) in &loaded.children {
            waits.add_child(*parent, *child);
        }
        Ok(waits)
    }

    /// Adds a `blocks` edge.
    pub fn add_edge(&mut self, edge: WaitEdge) {
        self.blockers.entry(edge.to).or_default().push((edge.from, edge.threshold));
    }

    /// Adds a child.
    pub fn add_child(&mut self, parent: ItemId, child: ItemId) {
        self.children.entry(parent).or_default().push(child);
    }

    /// Takes a child away, before it is put elsewhere.
    pub fn remove_child(&mut self, parent: ItemId, child: ItemId) {
        if let Some(children) = self.children.get_mut(&parent) {
            children.retain(|known| *known != child);
        }
    }

    /// The cycle that a new `blocks` edge would close, as items from the blocker back to the blocker.
    pub fn cycle_with_edge(&self, edge: WaitEdge) -> Option<Vec<ItemId>> {
        let begin = Stage::reaching(edge.from, edge.threshold)?;
        self.path(begin, Stage::Starts(edge.to)).map(|path| closed(path, edge.from))
    }

    /// The cycle that putting `child` under `parent` would close.
    pub fn cycle_with_parent(&self, parent: ItemId, child: ItemId) -> Option<Vec<ItemId>> {
        if !self.parents_wait {
            return None;
        }
        self.path(Stage::Finishes(child), Stage::Finishes(parent)).map(|path| closed(path, child))
    }

    /// Any cycle of the whole graph.
    pub fn find_cycle(&self) -> Option<Vec<ItemId>> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            Open,
            Done,
        }
        let mut marks: BTreeMap<Stage, Mark> = BTreeMap::new();
        for begin in self.blockers.keys().map(|id| Stage::Starts(*id)) {
            if marks.contains_key(&begin) {
                continue;
            }
            // An explicit stack of (stage, what is still to be walked): chains may be longer than the call stack.
            let mut stack = vec![(begin, self.waits_of(begin))];
            marks.insert(begin, Mark::Open);
            while let Some((stage, ahead)) = stack.last_mut() {
                match ahead.pop() {
                    None => {
                        marks.insert(*stage, Mark::Done);
                        stack.pop();
                    }
                    Some(next) => match marks.get(&next) {
                        Some(Mark::Done) => {}
                        Some(Mark::Open) => {
                            let mut path: Vec<ItemId> = stack
                                .iter()
                                .map(|(stage, _)| *stage)
                                .skip_while(|stage| *stage != next)
                                .map(Stage::item)
                                .collect();
                            path.push(next.item());
                            path.dedup();
                            return Some(path);
                        }
                        None => {
                            marks.insert(next, Mark::Open);
                            stack.push((next, self.waits_of(next)));
                        }
                    },
                }
            }
        }
        None
    }

    /// The shortest chain of waits from one stage to another.
    fn path(&self, begin: Stage, end: Stage) -> Option<Vec<ItemId>> {
        let mut came_from: BTreeMap<Stage, Stage> = BTreeMap::new();
        let mut seen = BTreeSet::from([begin]);
        let mut ahead = VecDeque::from([begin]);
        while let Some(stage) = ahead.pop_front() {
            if stage == end {
                let mut path = vec![stage.item()];
                let mut at = stage;
                while let Some(before) = came_from.get(&at) {
                    at = *before;
                    path.push(at.item());
                }
                path.reverse();
                path.dedup();
                return Some(path);
            }
            for next in self.waits_of(stage) {
                if seen.insert(next) {
                    came_from.insert(next, stage);
                    ahead.push_back(next);
                }
            }
        }
        None
    }

    fn waits_of(&self, stage: Stage) -> Vec<Stage> {
        match stage {
            Stage::Starts(item) => self
                .blockers
                .get(&item)
                .into_iter()
                .flatten()
                .filter_map(|(blocker, threshold)| Stage::reaching(*blocker, *threshold))
                .collect(),
            Stage::Finishes(item) => {
                let children = self.children.get(&item).filter(|_| self.parents_wait);
                std::iter::once(Stage::Starts(item))
                    .chain(children.into_iter().flatten().map(|child| Stage::Finishes(*child)))
                    .collect()
            }
        }
    }
}

/// The error for a cycle, with as much of it as is useful to read. `name` is what an item goes by, where the caller may be
/// told of it.
pub fn cycle_error(path: &[ItemId], name: impl Fn(ItemId) -> Option<String>) -> Error {
    let message = format!("this would make a cycle, and none of it could ever finish: {}", shown(path, name));
    Error::validation(Reason::Cycle, message)
}

/// As much of a cycle as is useful to read and the caller may be told.
pub(super) fn shown(path: &[ItemId], name: impl Fn(ItemId) -> Option<String>) -> String {
    let name = |id: &ItemId| name(*id).unwrap_or_else(|| "…".to_owned());
    let mut shown: Vec<String> = path.iter().take(limits::CYCLE_SHOWN).map(name).collect();
    let more = if path.len() > shown.len() { " → …" } else { "" };
    shown.dedup();
    format!("{}{more}", shown.join(" → "))
}

fn closed(mut path: Vec<ItemId>, begin: ItemId) -> Vec<ItemId> {
    path.push(begin);
    path.dedup();
    path
}
