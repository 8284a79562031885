//! The roots of a project, or one item, with how their children stand.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::engine::Engine;
use crate::error::Error;
use crate::limits;
use crate::model::{Item, ItemId, ItemRef};
use crate::store::{Around, ChildTally, Families, Filter, Heads, Order, ProjectRef, SortBy};

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
    /// Whether there are more than were asked for.
    pub truncated: bool,
}

impl Engine {
    /// The roots of a project, the newest first.
    pub async fn overview(&self, project: &ProjectRef, limit: usize, children: bool) -> Result<Overview, Error> {
        let limit = self.page(limit);
        // One further, to say whether there are more.
        let filter = Filter {
            visible: self.access().projects.clone(),
            project: project.clone(),
            parent: Some(None),
            sort: SortBy::CreatedAt,
            order: Order::Desc,
            limit: limit.saturating_add(1),
            ..Filter::default()
        };
        let mut entries = self.entries(Heads::Page(Box::new(filter)), if children { limits::PAGE } else { 0 }).await?;
        let truncated = entries.len() > limit;
        entries.truncate(limit);
        Ok(Overview { entries, truncated })
    }

    /// One item, with so many of its direct children.
    pub async fn overview_of(
        &self,
        project: &ProjectRef,
        item: &ItemRef,
        children: usize,
    ) -> Result<OverviewEntry, Error> {
        let id = self.show(project, std::slice::from_ref(item), Around::default()).await?.resolve(item)?.id;
        let entries = self.entries(Heads::These(vec![id]), children).await?;
        entries.into_iter().next().ok_or_else(|| Error::not_found("no such item"))
    }

    /// How the direct children of items stand. Items that the caller may not see are passed by.
    pub async fn tallies(&self, items: Vec<ItemId>) -> Result<BTreeMap<ItemId, ChildTally>, Error> {
        let named: Vec<ItemRef> = items.into_iter().map(ItemRef::Id).collect();
        let seen = self.show(&ProjectRef::Any, &named, Around::default()).await?;
        let ids: Vec<ItemId> = seen.items.keys().copied().collect();
        Ok(self.store().tally_children(&ids, None).await?)
    }

    /// All of it as of one moment: what is counted and what is listed belong together. With so many children of each;
    /// none, where none are wanted.
    async fn entries(&self, of: Heads, children: usize) -> Result<Vec<OverviewEntry>, Error> {
        let most = if children > 0 { self.page(children) } else { 0 };
        let Families { items, children: found, tallies } = self.store().families(&of, most).await?;
        let tally = |item: &Item| tallies.get(&item.id).copied().unwrap_or_default();
        let mut below: BTreeMap<ItemId, Vec<(Item, ChildTally)>> = BTreeMap::new();
        for child in found {
            let Some(parent) = child.parent else { continue };
            let own = tally(&child);
            below.entry(parent).or_default().push((child, own));
        }
        let entries = items.into_iter().map(|item| {
            let (tally, shown) = (tally(&item), below.remove(&item.id).unwrap_or_default());
            let truncated = children > 0 && tally.by_role.iter().sum::<u64>() > shown.len() as u64;
            OverviewEntry { item, tally, children: shown, truncated }
        });
        Ok(entries.collect())
    }
}
