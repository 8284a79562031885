//! Everything that is held up, and by what.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::engine::Engine;
use crate::error::Error;
use crate::limits;
use crate::model::{EdgeKind, Item, ItemId, ItemRef, Role};
use crate::store::{Around, EdgeReach, Filter, Order, ProjectRef, SortBy};

/// One blocker of an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BlockedBy {
    /// The blocker.
    pub item: Item,
    /// The threshold as it was written.
    pub unblock_at: Option<Role>,
    /// The threshold that holds.
    pub threshold: Role,
    /// Whether the blocker has reached it.
    pub satisfied: bool,
}

/// An item that is held up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BlockedItem {
    /// The item.
    pub item: Item,
    /// Whether somebody put it aside; otherwise blockers hold it up.
    pub explicit: bool,
    /// All its blockers, those that hold it up no longer among them.
    pub blockers: Vec<BlockedBy>,
    /// Its ancestors, the root first.
    pub ancestors: Vec<Item>,
}

impl BlockedItem {
    /// How many blockers hold it up.
    pub fn unsatisfied(&self) -> usize {
        self.blockers.iter().filter(|blocker| !blocker.satisfied).count()
    }
}

impl Engine {
    /// Items that were put aside, then items that wait for blockers; at most a page of each. Says whether that was all.
    pub async fn blocked(
        &self,
        project: &ProjectRef,
        parent: Option<&ItemRef>,
    ) -> Result<(Vec<BlockedItem>, bool), Error> {
        let parent = match parent {
            None => None,
            Some(parent) => Some(Some(
                self.show(project, std::slice::from_ref(parent), Around::default()).await?.resolve(parent)?.id,
            )),
        };
        let base = Filter {
            project: project.clone(),
            parent,
            sort: SortBy::CreatedAt,
            order: Order::Asc,
            limit: limits::PAGE,
            count: true,
            ..Filter::default()
        };
        let aside = self.find(&Filter { roles: vec![Role::Blocked], ..base.clone() }).await?;
        let waiting = Filter { roles: vec![Role::Queue, Role::Work, Role::Review], blocked: Some(true), ..base };
        let waiting = self.find(&waiting).await?;
        let all = aside.total <= aside.items.len() as u64 && waiting.total <= waiting.items.len() as u64;
        let items: Vec<Item> = aside.items.into_iter().chain(waiting.items).collect();
        let named: Vec<ItemRef> = items.iter().map(|item| ItemRef::Id(item.id)).collect();
        let around = Around { ancestors: true, edges: EdgeReach::Named, ..Around::default() };
        let seen = self.show(&ProjectRef::Any, &named, around).await?;
        let mut blockers: BTreeMap<ItemId, Vec<BlockedBy>> = BTreeMap::new();
        for edge in seen.edges.values().filter(|edge| edge.kind == EdgeKind::Blocks) {
            let Some(from) = seen.items.get(&edge.from) else { continue };
            blockers.entry(edge.to).or_default().push(BlockedBy {
                item: from.clone(),
                unblock_at: edge.unblock_at,
                threshold: edge.threshold(),
                satisfied: edge.is_satisfied_by(from.role),
            });
        }
        let found = items.into_iter().map(|item| BlockedItem {
            explicit: item.role == Role::Blocked,
            blockers: blockers.remove(&item.id).unwrap_or_default(),
            ancestors: seen.ancestors(&item).into_iter().cloned().collect(),
            item,
        });
        Ok((found.collect(), all))
    }
}
