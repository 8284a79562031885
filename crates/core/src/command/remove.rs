//! Removes items, with everything beneath them where that is asked for.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{caller, check_batch, check_version};
use crate::access::{Needs, REMOVES, Reach};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::{Error, Reason};
use crate::gates::check_holder;
use crate::limits;
use crate::model::{Fence, ItemId, ItemRef};
use crate::store::{Around, EdgeReach, ProjectRef, Scope, Slice};

/// Removes items.
#[derive(Clone, Debug, Serialize)]
pub struct Remove {
    /// The project the items are looked up in.
    pub project: ProjectRef,
    /// The items.
    pub items: Vec<ItemRef>,
    /// Refuses unless every one of them still has this version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u64>,
    /// The fence of the caller's claim on each of them; what lies beneath has fences of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
    /// Whether what lies beneath them goes too.
    pub recursive: bool,
    /// Whether one that cannot be removed refuses all.
    pub atomic: bool,
}

/// An item that was removed.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedItem {
    /// The item.
    pub item: ItemId,
    /// How many went with it.
    pub descendants: usize,
    /// Whether it was gone already: named before in the same call, or beneath an item that was.
    #[serde(default)]
    pub already: bool,
}

/// What was removed, one for each item asked for, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removed {
    /// The items.
    #[serde(with = "super::each")]
    pub items: Vec<Result<RemovedItem, Error>>,
}

impl Command for Remove {
    type Output = Removed;
    const NAME: &'static str = "remove";
    const NEEDS: Needs = Needs::new(REMOVES, Reach::Project);

    fn scope(&self, _call: &Call) -> Scope {
        let around = Around { subtree: Some(limits::SUBTREE), edges: EdgeReach::Shown, ..Around::default() };
        Scope { project: self.project.clone(), items: self.items.clone(), around, ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<Removed>, Error> {
        check_batch("ids", self.items.len(), call.access.limits.batch)?;
        let mut draft = Draft::new(call, seen);
        let named = self.items.iter().filter_map(|item| seen.resolve(item).ok()).map(|item| item.id).collect();
        let mut gone: BTreeSet<ItemId> = BTreeSet::new();
        let mut items = Vec::with_capacity(self.items.len());
        for item in &self.items {
            let removed = self.remove(&mut draft, item, &named, &mut gone);
            if let (Err(error), true) = (&removed, self.atomic) {
                return Err(error.clone());
            }
            items.push(removed);
        }
        Ok(Decision::done(draft.finish(), Removed { items }))
    }
}

impl Remove {
    fn remove(
        &self,
        draft: &mut Draft<'_>,
        item: &ItemRef,
        named: &BTreeSet<ItemId>,
        gone: &mut BTreeSet<ItemId>,
    ) -> Result<RemovedItem, Error> {
        let id = draft.seen.resolve(item)?.id;
        // Named twice, or beneath another one that was named: it is gone as asked.
        if gone.contains(&id) {
            return Ok(RemovedItem { item: id, descendants: 0, already: true });
        }
        check_version(draft.expect(id)?, self.expected_version)?;
        let beneath = draft.beneath(id);
        // What lies beneath and is named as well is not removed unasked.
        if !self.recursive && !beneath.iter().all(|child| named.contains(child)) {
            let children = beneath
                .iter()
                .filter(|child| draft.item(**child).is_some_and(|child| child.parent == Some(id)))
                .count();
            return Err(Error::conflict(
                Reason::HasChildren,
                format!(
                    "the item has {children} child item(s): remove recursively to remove it and all its descendants"
                ),
            ));
        }
        if draft.seen.subtree.truncated {
            return Err(Error::validation(
                Reason::GraphTooLarge,
                format!("more than {} items lie beneath: remove smaller parts", limits::SUBTREE),
            ));
        }
        for each in beneath.iter().chain(std::iter::once(&id)) {
            let fence = self.fence.filter(|_| *each == id);
            check_holder(draft.expect(*each)?, &caller(draft.call, None, fence)?, draft.now)?;
        }
        for each in beneath.iter().rev().chain(std::iter::once(&id)) {
            draft.remove_item(*each, None);
            gone.insert(*each);
        }
        Ok(RemovedItem { item: id, descendants: beneath.len(), already: false })
    }
}
