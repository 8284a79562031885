//! The roots of a project, or one item, with how their children stand.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::engine::Engine;
use crate::error::Error;
use crate::limits;
use crate::model::{Item, ItemId, ItemRef};
use crate::store::{Around, ChildTally, Filter, Order, ProjectRef, SortBy};

/// An item with how its direct children stand.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OverviewEntry {
    /// The item.
    pub item: Item,
    /// How its direct children stand.
    pub tally: ChildTally,
    /// Its direct children with how theirs stand, where that was asked for.
    pub children: Vec<(Item, ChildTally)>,
    /// Whether there are more children than are shown.
    pub truncated: bool,
}

/// Items with how their children stand.
#[derive(Clone, Debug, Serialize)]
pub struct Overview {
    /// The items, the newest first.
    pub entries: Vec<OverviewEntry>,
}

impl Engine {
    /// The roots of a project, the newest first.
    pub async fn overview(&self, project: &ProjectRef, limit: usize, children: bool) -> Result<Overview, Error> {
        let filter = Filter {
            project: project.clone(),
            parent: Some(None),
            sort: SortBy::CreatedAt,
            order: Order::Desc,
            limit,
            ..Filter::default()
        };
        let roots = self.find(&filter).await?.items;
        self.entries(roots, children).await
    }

    /// One item, with its direct children.
    pub async fn overview_of(&self, project: &ProjectRef, item: &ItemRef) -> Result<OverviewEntry, Error> {
        let item = self.show(project, std::slice::from_ref(item), Around::default()).await?.resolve(item)?.clone();
        let overview = self.entries(vec![item], true).await?;
        overview.entries.into_iter().next().ok_or_else(|| Error::not_found("no such item"))
    }

    /// How the direct children of items stand. Items that the caller may not see are passed by.
    pub async fn tallies(&self, items: Vec<ItemId>) -> Result<BTreeMap<ItemId, ChildTally>, Error> {
        let named: Vec<ItemRef> = items.into_iter().map(ItemRef::Id).collect();
        let seen = self.show(&ProjectRef::Any, &named, Around::default()).await?;
        let ids: Vec<ItemId> = seen.items.keys().copied().collect();
        Ok(self.store().tally_children(&ids).await?)
    }

    async fn entries(&self, items: Vec<Item>, children: bool) -> Result<Overview, Error> {
        let ids: Vec<ItemId> = items.iter().map(|item| item.id).collect();
        let mut tallies = self.store().tally_children(&ids).await?;
        let mut below: BTreeMap<ItemId, Vec<Item>> = BTreeMap::new();
        if children {
            for id in
                ids.iter().filter(|id| tallies.get(*id).is_some_and(|tally| tally.by_role.iter().sum::<u64>() > 0))
            {
                let filter = Filter {
                    parent: Some(Some(*id)),
                    sort: SortBy::CreatedAt,
                    order: Order::Asc,
                    limit: limits::PAGE,
                    ..Filter::default()
                };
                below.insert(*id, self.find(&filter).await?.items);
            }
            let grandchildren: Vec<ItemId> = below.values().flatten().map(|item| item.id).collect();
            tallies.extend(self.store().tally_children(&grandchildren).await?);
        }
        let tally = |id: ItemId| tallies.get(&id).copied().unwrap_or_default();
        let entries = items.into_iter().map(|item| {
            let own = tally(item.id);
            let children: Vec<(Item, ChildTally)> = below
                .remove(&item.id)
                .unwrap_or_default()
                .into_iter()
                .map(|child| (child.clone(), tally(child.id)))
                .collect();
            let truncated = children.len() == limits::PAGE && own.by_role.iter().sum::<u64>() > children.len() as u64;
            OverviewEntry { item, tally: own, children, truncated }
        });
        Ok(Overview { entries: entries.collect() })
    }
}
