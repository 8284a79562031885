//! Makes edges between existing items: all of them or none.

use serde::{Deserialize, Serialize};

use super::place::{Rings, check_edge};
use super::{Holding, check_batch};
use crate::access::{Needs, Profile, Reach};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::{Error, Gate, Reason};
use crate::model::{Edge, EdgeKind, ItemRef, Role};
use crate::store::{Around, EdgeReach, ProjectRef, Scope, Slice};

/// An edge to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the fields are those of Edge")]
pub struct EdgeSpec {
    pub from: ItemRef,
    pub to: ItemRef,
    pub kind: EdgeKind,
    pub unblock_at: Option<Role>,
    pub inverse: bool,
}

/// Makes edges.
#[derive(Clone, Debug, Serialize)]
pub struct Link {
    /// The project the items are looked up in.
    pub project: ProjectRef,
    /// The edges.
    pub edges: Vec<EdgeSpec>,
    /// The item the caller makes them for, and its fence: nothing is made once the item has changed hands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holding: Option<Holding>,
}

/// The edges that were made, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Linked {
    /// The edges.
    pub edges: Vec<Edge>,
}

impl Command for Link {
    type Output = Linked;
    const NAME: &'static str = "link";
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Project);

    fn scope(&self, _call: &Call) -> Scope {
        let mut items: Vec<ItemRef> = self.edges.iter().flat_map(|edge| [edge.from.clone(), edge.to.clone()]).collect();
        items.extend(self.holding.iter().map(|holding| holding.item.clone()));
        items.sort_unstable();
        items.dedup();
        let waits = self.edges.iter().any(|edge| edge.kind == EdgeKind::Blocks);
        let gives_way = self.edges.iter().any(|edge| edge.kind.gives_way());
        let around = Around { edges: EdgeReach::Named, waits, gives_way, ..Around::default() };
        Scope { project: self.project.clone(), items, around, ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<Linked>, Error> {
        check_batch("dependencies", self.edges.len(), call.access.limits.batch * 4)?;
        let mut draft = Draft::new(call, seen);
        if let Some(holding) = &self.holding {
            holding.check(&mut draft)?;
        }
        let mut rings: Option<Rings> = None;
        let mut made: Vec<Edge> = Vec::with_capacity(self.edges.len());
        for (index, spec) in self.edges.iter().enumerate() {
            let numbered = |error: Error| {
                let message =
                    if self.edges.len() > 1 { format!("edge {index}: {}", error.message) } else { error.message };
                Error { message, ..Error::new(error.kind, error.code, error.reason, "") }
                    .at(format!("dependencies[{index}]"))
            };
            let edge = link(&mut draft, &mut rings, spec).map_err(numbered)?;
            made.push(edge);
        }
        Ok(Decision::done(draft.finish(), Linked { edges: made }))
    }
}

fn link(draft: &mut Draft<'_>, rings: &mut Option<Rings>, spec: &EdgeSpec) -> Result<Edge, Error> {
    let from = draft.seen.resolve(&spec.from)?.id;
    let to = draft.seen.resolve(&spec.to)?;
    let parents_wait = draft.project_of(to)?.workflow.has_gate(Gate::Descendants);
    let to = to.id;
    let known =
        draft.edges_of(from).into_iter().any(|edge| edge.kind == spec.kind && edge.from == from && edge.to == to);
    if known {
        return Err(Error::conflict(
            Reason::Duplicate,
            format!("there is a {} edge between these items already", spec.kind.as_str()),
        ));
    }
    let rings = match rings {
        Some(rings) => rings,
        None => rings.insert(Rings::new(draft.seen, parents_wait)?),
    };
    let edge = check_edge(draft, rings, from, to, spec.kind, spec.unblock_at, spec.inverse)?;
    draft.add_edge(&edge, None);
    Ok(edge)
}
