//! Removes edges: by id, between two items, or all of one item.

use serde::{Deserialize, Serialize};

use super::Holding;
use crate::access::{Needs, REMOVES, Reach};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::Error;
use crate::model::{Edge, EdgeId, EdgeKind, ItemRef};
use crate::store::{Around, EdgeReach, ProjectRef, Scope, Slice};

/// Which edges are removed.
#[derive(Clone, Debug, Serialize)]
pub enum Unlink {
    /// This one.
    Edge(EdgeId),
    /// Those from one item to another, of one kind or of any.
    Between {
        /// The project the items are looked up in.
        project: ProjectRef,
        /// Where they begin.
        from: ItemRef,
        /// Where they end.
        to: ItemRef,
        /// Their kind.
        kind: Option<EdgeKind>,
        /// Also those that were written from the other end.
        either_way: bool,
    },
    /// Those whose author wrote them from one item to another: "is blocked by" counts from the blocked end.
    Written {
        /// The project the items are looked up in.
        project: ProjectRef,
        /// Where the author began.
        from: ItemRef,
        /// Where the author ended.
        to: ItemRef,
        /// Their kind, and whether they were written from the blocked end.
        kind: Option<(EdgeKind, bool)>,
    },
    /// All that touch an item, whichever end it is.
    Of {
        /// The project the item is looked up in.
        project: ProjectRef,
        /// The item.
        item: ItemRef,
        /// Their kind, and whether they were written from the blocked end.
        #[serde(skip_serializing_if = "Option::is_none")]
        kind: Option<(EdgeKind, bool)>,
    },
    /// The same, for an item that the caller holds: nothing is removed once that has changed hands.
    Holding(Holding, Box<Unlink>),
}

/// The edges that were removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unlinked {
    /// The edges.
    pub edges: Vec<Edge>,
}

impl Command for Unlink {
    type Output = Unlinked;
    const NAME: &'static str = "unlink";
    const NEEDS: Needs = Needs::new(REMOVES, Reach::Project);

    fn scope(&self, _call: &Call) -> Scope {
        self.shown()
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<Unlinked>, Error> {
        let mut draft = Draft::new(call, seen);
        self.check(&mut draft)?;
        let edges = self.meant(seen)?;
        let seen = |edge: &Edge| draft.may_tell(edge.from) && draft.may_tell(edge.to);
        let edges: Vec<Edge> = edges.into_iter().filter(seen).collect();
        let edges = edges.into_iter().filter(|edge| draft.remove_edge(edge.id, None)).collect();
        Ok(Decision::done(draft.finish(), Unlinked { edges }))
    }
}

impl Unlink {
    /// The same for a caller that may hold an item.
    #[must_use]
    pub fn held_by(self, holding: Option<Holding>) -> Self {
        match holding {
            None => self,
            Some(holding) => Self::Holding(holding, Box::new(self)),
        }
    }

    /// What must be seen of it.
    fn shown(&self) -> Scope {
        let around = Around { edges: EdgeReach::Named, ..Around::default() };
        match self {
            Self::Edge(id) => Scope { edge_ids: vec![*id], ..Scope::default() },
            Self::Between { project, from, to, .. } | Self::Written { project, from, to, .. } => {
                Scope { project: project.clone(), items: vec![from.clone(), to.clone()], around, ..Scope::default() }
            }
            Self::Of { project, item, .. } => {
                Scope { project: project.clone(), items: vec![item.clone()], around, ..Scope::default() }
            }
            Self::Holding(holding, unlink) => {
                let mut scope = unlink.shown();
                scope.items.push(holding.item.clone());
                scope
            }
        }
    }

    /// Refuses who does not hold what it says it holds.
    fn check(&self, draft: &mut Draft<'_>) -> Result<(), Error> {
        match self {
            Self::Edge(_) | Self::Between { .. } | Self::Written { .. } | Self::Of { .. } => Ok(()),
            Self::Holding(holding, unlink) => {
                holding.check(draft)?;
                unlink.check(draft)
            }
        }
    }

    /// The edges that are meant.
    fn meant(&self, seen: &Slice) -> Result<Vec<Edge>, Error> {
        Ok(match self {
            Self::Edge(id) => seen.edges.get(id).cloned().into_iter().collect(),
            Self::Between { from, to, kind, either_way, .. } => {
                let (from, to) = (seen.resolve(from)?.id, seen.resolve(to)?.id);
                let matches = |edge: &&Edge| {
                    kind.is_none_or(|kind| edge.kind == kind)
                        && ((edge.from == from && edge.to == to) || (*either_way && edge.from == to && edge.to == from))
                };
                seen.edges.values().filter(matches).cloned().collect()
            }
            Self::Written { from, to, kind, .. } => {
                let (from, to) = (seen.resolve(from)?.id, seen.resolve(to)?.id);
                let matches = |edge: &&Edge| {
                    kind.is_none_or(|kind| kind == (edge.kind, edge.inverse)) && edge.written() == (from, to)
                };
                seen.edges.values().filter(matches).cloned().collect()
            }
            Self::Of { item, kind, .. } => {
                let item = seen.resolve(item)?.id;
                let matches = |edge: &&Edge| {
                    kind.is_none_or(|kind| kind == (edge.kind, edge.inverse)) && (edge.from == item || edge.to == item)
                };
                seen.edges.values().filter(matches).cloned().collect()
            }
            Self::Holding(_, unlink) => unlink.meant(seen)?,
        })
    }
}
