//! Which items other work has made redundant, and how: for rows of lists, which have no edges.

use std::collections::BTreeMap;

use crate::engine::Engine;
use crate::error::Error;
use crate::model::{Edge, Item, ItemId, ItemRef};
use crate::readiness::{What, obstacles};
use crate::store::{Around, EdgeReach, ProjectRef};

/// What has made an item redundant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moot {
    /// Shipped work replaces it.
    pub superseded: bool,
    /// It repeats live work.
    pub duplicate: bool,
}

impl Engine {
    /// Those of some items that are redundant. Only they are looked up, for most are not.
    pub async fn moot<'i>(&self, items: impl Iterator<Item = &'i Item>) -> Result<BTreeMap<ItemId, Moot>, Error> {
        let named: Vec<ItemRef> = items.filter(|item| item.derived.moot > 0).map(|item| ItemRef::Id(item.id)).collect();
        if named.is_empty() {
            return Ok(BTreeMap::new());
        }
        let around = Around { edges: EdgeReach::Named, ..Around::default() };
        let seen = self.show(&ProjectRef::Any, &named, around).await?;
        let mut found = BTreeMap::new();
        for item in named.iter().filter_map(|item| seen.resolve(item).ok()) {
            let workflow = &seen.project_of(item)?.workflow;
            let touching = |edge: &&Edge| edge.from == item.id || edge.to == item.id;
            let reasons =
                obstacles(workflow, item, seen.edges.values().filter(touching), |id| seen.items.get(&id), seen.now);
            let any = |is: fn(&What) -> bool| reasons.iter().any(|reason| is(&reason.what));
            let moot = Moot {
                superseded: any(|what| matches!(what, What::SupersededBy { .. })),
                duplicate: any(|what| matches!(what, What::DuplicateOf { .. })),
            };
            found.insert(item.id, moot);
        }
        Ok(found)
    }
}
