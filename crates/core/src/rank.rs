//! The order of ready work, as one number that an index can sort by. The rule is here; stores only compare.

use crate::contract::is_complete;
use crate::model::{Item, Priority};
use crate::workflow::{RankBy, Workflow};

/// Most open work that still counts; an item that holds up more is no more urgent for it.
const UNBLOCKS_CAP: u32 = 4095;
const UNBLOCKS_BITS: u32 = 12;
const BRIEF_BITS: u32 = 1;
const PRIORITY_BITS: u32 = 2;
const COMPLEXITY_BITS: u32 = 4;
/// An item whose complexity nobody stated comes after those of complexity 10.
const UNKNOWN_COMPLEXITY: i64 = 11;

/// An item's place among ready work: lower is sooner. Equal ranks follow by age.
pub fn rank(workflow: &Workflow, item: &Item) -> i64 {
    workflow.ranking.iter().fold(0, |so_far, by| {
        let (value, bits) = match by {
            // Below zero, so that the places of items without a brief are what they were before there were briefs.
            RankBy::Brief => (-i64::from(is_complete(item)), BRIEF_BITS),
            RankBy::Priority => (
                match item.priority {
                    Priority::High => 0,
                    Priority::Medium => 1,
                    Priority::Low => 2,
                },
                PRIORITY_BITS,
            ),
            RankBy::Unblocks => (i64::from(UNBLOCKS_CAP - item.derived.unblocks.min(UNBLOCKS_CAP)), UNBLOCKS_BITS),
            RankBy::Complexity => {
                (item.complexity.map_or(UNKNOWN_COMPLEXITY, |complexity| complexity.get().into()), COMPLEXITY_BITS)
            }
        };
        (so_far << bits) + value
    })
}
