//! How long work like this has taken.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::engine::Engine;
use crate::error::Error;
use crate::limits;
use crate::model::{Event, Item, ItemId, ItemRef, Name, Outcome, Role, Tag, Timestamp, Verb};
use crate::store::{Around, EventFilter, ProjectRef};

/// How many moves are looked at in one step.
const STEP: usize = 1_000;
/// How many moves are looked back at, at the most.
const LOOKED_AT: usize = 3_000;
/// How many finished items are compared, at the most: a call is a handful of reads, however much was finished.
const COMPARED: usize = 5 * limits::BATCH;
/// A sample that is large enough: no more is looked for.
const SAMPLE: usize = 200;

/// The middle and the slow end of a sample, in minutes.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// Half took no longer.
    pub p50: u32,
    /// Nine in ten took no longer.
    pub p90: u32,
}

/// How long work like this has taken, by what was lately finished in the project.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Estimate {
    /// How many finished items it is based on.
    pub sample: usize,
    /// Minutes from the beginning of work to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_minutes: Option<Spread>,
    /// Minutes that their authors had thought of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stated_minutes: Option<Spread>,
}

impl Engine {
    /// How long work with all of these tags and capabilities has taken. The newest moves of the project are looked at, until
    /// enough of such work is found, or as many as are looked at in any case.
    pub async fn estimate(&self, project: &ProjectRef, tags: &[Tag], able: &[Name]) -> Result<Estimate, Error> {
        let like = |item: &Item| {
            item.outcome == Some(Outcome::Success)
                && tags.iter().all(|tag| item.tags.contains(tag))
                && able.iter().all(|capability| item.required_capabilities.contains(capability))
        };
        let mut moves: Vec<Event> = Vec::new();
        // Of other work nothing is kept but that it was looked at.
        let mut known: BTreeMap<ItemId, Option<Item>> = BTreeMap::new();
        loop {
            let filter = EventFilter {
                project: project.clone(),
                verbs: vec![Verb::Moved],
                before: moves.last().map(|event| event.seq),
                newest_first: true,
                limit: STEP,
                ..EventFilter::default()
            };
            let page = self.events(&filter).await?;
            let is_last = page.len() < STEP;
            moves.extend(page);
            let took = took(&moves);
            let enough = |known: &BTreeMap<ItemId, Option<Item>>| {
                known.len() >= COMPARED || known.values().flatten().count() >= SAMPLE
            };
            // Those that were made last first: as like as not they were finished last, too.
            let new: Vec<ItemId> = took.keys().rev().filter(|id| !known.contains_key(id)).copied().collect();
            for ids in new.chunks(limits::BATCH) {
                if enough(&known) {
                    break;
                }
                let named: Vec<ItemRef> = ids.iter().copied().map(ItemRef::Id).collect();
                let mut seen = self.show(&ProjectRef::Any, &named, Around::default()).await?;
                known.extend(ids.iter().map(|id| (*id, seen.items.remove(id).filter(like))));
            }
            if is_last || enough(&known) || moves.len() >= LOOKED_AT {
                let alike: Vec<(&Item, i64)> =
                    took.iter().filter_map(|(id, time)| Some((known.get(id)?.as_ref()?, *time))).collect();
                return Ok(Estimate::of(&alike));
            }
        }
    }
}

impl Estimate {
    fn of(alike: &[(&Item, i64)]) -> Self {
        let minutes = |(_, took): &(&Item, i64)| u32::try_from((took + 59_999) / 60_000).ok();
        Self {
            sample: alike.len(),
            work_minutes: spread(alike.iter().filter_map(minutes).collect()),
            stated_minutes: spread(alike.iter().filter_map(|(item, _)| item.estimate_minutes).collect()),
        }
    }
}

/// How long each item took from the beginning of its work to its last end, by moves that come the newest first.
fn took(moves: &[Event]) -> BTreeMap<ItemId, i64> {
    let mut began: BTreeMap<ItemId, Timestamp> = BTreeMap::new();
    let mut took: BTreeMap<ItemId, i64> = BTreeMap::new();
    for event in moves.iter().rev() {
        let (Some(item), Some(to)) = (event.item, event.data.get("toRole").and_then(Value::as_str)) else {
            continue;
        };
        if to == Role::Work.as_str() {
            began.entry(item).or_insert(event.at);
        } else if to == Role::Terminal.as_str()
            && let Some(begin) = began.remove(&item)
        {
            took.insert(item, event.at.as_millis() - begin.as_millis());
        }
    }
    took
}

fn spread(mut minutes: Vec<u32>) -> Option<Spread> {
    minutes.sort_unstable();
    let at = |share: usize| minutes.get((minutes.len() * share).div_ceil(100).saturating_sub(1)).copied();
    Some(Spread { p50: at(50)?, p90: at(90)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_of_what_is_there() {
        assert_eq!(spread(vec![]), None);
        assert_eq!(spread(vec![5]), Some(Spread { p50: 5, p90: 5 }));
        assert_eq!(spread((1..=10).rev().collect()), Some(Spread { p50: 5, p90: 9 }));
    }
}
