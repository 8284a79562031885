//! The edges of an item, and the graph they belong to.

use std::collections::BTreeMap;

use crate::engine::Engine;
use crate::error::Error;
use crate::graph::{longest_path, topological};
use crate::model::{Edge, Item, ItemId, ItemRef};
use crate::store::{Around, EdgeReach, ProjectRef};

/// Everything connected with an item by `blocks` edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Blockers before what they block.
    pub items: Vec<ItemId>,
    /// The number of edges on the longest way through.
    pub depth: usize,
    /// Whether the walk was cut short.
    pub truncated: bool,
}

/// The edges of an item.
#[derive(Clone, Debug)]
pub struct Dependencies {
    /// The item.
    pub item: Item,
    /// Every edge that touches it.
    pub edges: Vec<Edge>,
    /// The items at their ends.
    pub ends: BTreeMap<ItemId, Item>,
    /// The graph, where it was asked for.
    pub chain: Option<Chain>,
}

impl Engine {
    /// The edges of an item, and the graph they belong to where that is asked for.
    pub async fn dependencies(&self, project: &ProjectRef, item: &ItemRef, graph: bool) -> Result<Dependencies, Error> {
        let around = Around { edges: EdgeReach::Named, component: graph, ..Around::default() };
        let seen = self.show(project, std::slice::from_ref(item), around).await?;
        let item = seen.resolve(item)?.clone();
        let chain = graph.then(|| {
            let pairs: Vec<(ItemId, ItemId)> = seen.component.rows.iter().map(|edge| (edge.from, edge.to)).collect();
            let mut members: Vec<ItemId> = pairs.iter().flat_map(|(from, to)| [*from, *to]).collect();
            members.push(item.id);
            members.sort_unstable();
            members.dedup();
            let items = topological(&members, &pairs);
            Chain { depth: longest_path(&items, &pairs), items, truncated: seen.component.truncated }
        });
        let edges = seen.edges.values().filter(|edge| edge.from == item.id || edge.to == item.id).cloned().collect();
        Ok(Dependencies { item, edges, ends: seen.items, chain })
    }
}
