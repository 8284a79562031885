//! Circles among items: of what waits for each other, and of what gives way to each other. They are told, and never mended:
//! which edge is wrong only its author knows.

use super::{Check, Examination};
use crate::error::Gate;
use crate::graph::{Waits, Ways};
use crate::limits;
use crate::model::{Edge, EdgeKind, Item, ItemId};
use crate::store::WaitEdge;

impl Examination<'_> {
    pub(super) fn waits(&mut self, items: &[Item], edges: &[Edge]) {
        // Only where a workflow says so does a parent wait for its children.
        let waits_below = |item: &Item| {
            self.projects.get(&item.project).is_some_and(|project| project.workflow.has_gate(Gate::Descendants))
        };
        let Ok(mut waits) = Waits::new(None, true) else { return };
        for item in items.iter().filter(|item| waits_below(item)) {
            if let Some(parent) = item.parent {
                waits.add_child(parent, item.id);
            }
        }
        for edge in edges.iter().filter(|edge| edge.kind == EdgeKind::Blocks) {
            waits.add_edge(WaitEdge { from: edge.from, to: edge.to, threshold: edge.threshold() });
        }
        if let Some(path) = waits.find_cycle() {
            let message = format!("these items wait for each other: {}", chain(&path));
            self.find(Check::Waits, path.first().copied(), None, message);
        }
    }

    pub(super) fn ways(&mut self, edges: &[Edge]) {
        let mut ways = Ways::default();
        for edge in edges {
            ways.add(edge);
        }
        if let Some(path) = ways.find_ring() {
            let message = format!(
                "these items give way to each other, as duplicates or superseded, and none of them is handed out while \
                 the edges between them stay: {}",
                chain(&path)
            );
            self.find(Check::GivesWay, path.first().copied(), None, message);
        }
    }
}

/// As much of a path as is useful to read.
fn chain(path: &[ItemId]) -> String {
    path.iter().take(limits::CYCLE_SHOWN).map(ToString::to_string).collect::<Vec<_>>().join(" → ")
}
