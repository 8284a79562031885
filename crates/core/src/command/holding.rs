//! Under whose claim a write is made that touches several items. A fence is a number of one item, so it is said of which.

use serde::Serialize;

use super::{guard, keep_lease_recorded};
use crate::engine::Draft;
use crate::error::Error;
use crate::model::{Fence, ItemRef};
use crate::plant::{Bug, planted};

/// An item that the caller holds, with the fence that it got for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Holding {
    /// The item.
    pub item: ItemRef,
    /// The fence of the caller's claim on it.
    pub fence: Fence,
}

impl Holding {
    /// Refuses a caller that does not hold the item any more; a holder that writes keeps its lease.
    pub(super) fn check(&self, draft: &mut Draft<'_>) -> Result<(), Error> {
        let item = draft.seen.resolve(&self.item)?;
        if !planted(Bug::FenceIgnoredOnEdges) {
            guard(draft, item, None, Some(self.fence))?;
        }
        keep_lease_recorded(draft, item.id, None)
    }
}
