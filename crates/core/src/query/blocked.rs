//! Everything that is held up, and by what.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::error::Error;
use crate::model::{EdgeKind, Item, ItemId, ItemRef, Role, Timestamp};
use crate::query::cursor::{open, seal, unknown};
use crate::store::{Around, EdgeReach, Filter, Order, Place, ProjectRef, SortBy};

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

/// A page of what is held up.
#[derive(Clone, Debug, Default)]
pub struct BlockedPage {
    /// The database's time.
    pub now: Timestamp,
    /// The items.
    pub items: Vec<BlockedItem>,
    /// Where the next page begins; none on the last.
    pub next: Option<String>,
}

/// Where in the two parts of the list a page ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Part {
    /// Among what was put aside.
    Aside(Option<Place>),
    /// Among what waits for blockers.
    Waiting(Option<Place>),
}

impl Engine {
    /// Items that were put aside, then items that wait for blockers, each part the oldest first: the beginning, or what
    /// follows the page that ended with `cursor`.
    pub async fn blocked(
        &self,
        project: &ProjectRef,
        parent: Option<&ItemRef>,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<BlockedPage, Error> {
        let parent = match parent {
            None => None,
            Some(parent) => Some(Some(
                self.show(project, std::slice::from_ref(parent), Around::default()).await?.resolve(parent)?.id,
            )),
        };
        let of = ("blocked", project, parent);
        let base = Filter {
            project: project.clone(),
            parent,
            sort: SortBy::CreatedAt,
            order: Order::Asc,
            ..Filter::default()
        };
        let begin = cursor.map_or(Ok(Part::Aside(None)), |cursor| open(&of, cursor))?;
        let (Part::Aside(place) | Part::Waiting(place)) = &begin;
        if place.as_ref().is_some_and(|place| !base.has(place)) {
            return Err(unknown());
        }
        let (items, next) = self.held_up(base, begin, self.page(limit)).await?;
        let next = next.map(|part| seal(&of, &part));
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
        Ok(BlockedPage { now: seen.now, items: found.collect(), next })
    }

    /// A page of both parts, and where the next begins.
    async fn held_up(&self, base: Filter, begin: Part, limit: usize) -> Result<(Vec<Item>, Option<Part>), Error> {
        let mut items = Vec::new();
        let mut waiting_from = None;
        match begin {
            Part::Waiting(after) => waiting_from = after,
            Part::Aside(after) => {
                let aside = Filter { roles: vec![Role::Blocked], after, limit: limit + 1, ..base.clone() };
                items = self.find(&aside).await?.items;
                if items.len() > limit {
                    items.truncate(limit);
                    let last = items.last().map(|last| base.place(last));
                    return Ok((items, Some(Part::Aside(last))));
                }
            }
        }
        let room = limit - items.len();
        let roles = vec![Role::Queue, Role::Work, Role::Review];
        let waiting = Filter { roles, blocked: Some(true), after: waiting_from, limit: room + 1, ..base.clone() };
        let mut waiting = self.find(&waiting).await?.items;
        let more = waiting.len() > room;
        waiting.truncate(room);
        let next = more.then(|| Part::Waiting(waiting.last().map(|last| base.place(last))));
        items.extend(waiting);
        Ok((items, next))
    }
}
