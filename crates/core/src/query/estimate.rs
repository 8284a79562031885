//! How long work like this has taken.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::engine::Engine;
use crate::error::Error;
use crate::limits;
use crate::model::{Item, ItemId, ItemRef, Name, Outcome, Role, Tag, Timestamp, Verb};
use crate::store::{Around, EventFilter, ProjectRef};

/// How many moves are looked back at.
const LOOKED_AT: usize = 1000;

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
    /// How long work with all of these tags and capabilities has taken. The newest moves of the project are looked at.
    pub async fn estimate(&self, project: &ProjectRef, tags: &[Tag], able: &[Name]) -> Result<Estimate, Error> {
        let filter = EventFilter {
            project: project.clone(),
            verbs: vec![Verb::Moved],
            newest_first: true,
            limit: LOOKED_AT,
            ..EventFilter::default()
        };
        let mut began: BTreeMap<ItemId, Timestamp> = BTreeMap::new();
        let mut took: BTreeMap<ItemId, i64> = BTreeMap::new();
        for event in self.events(&filter).await?.iter().rev() {
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
        let named: Vec<ItemRef> = took.keys().rev().take(limits::BATCH).map(|id| ItemRef::Id(*id)).collect();
        let seen = self.show(&ProjectRef::Any, &named, Around::default()).await?;
        let like = |item: &&Item| {
            item.outcome == Some(Outcome::Success)
                && tags.iter().all(|tag| item.tags.contains(tag))
                && able.iter().all(|capability| item.required_capabilities.contains(capability))
        };
        let alike: Vec<&Item> = seen.items.values().filter(like).collect();
        let minutes = |item: &&Item| u32::try_from((took.get(&item.id)? + 59_999) / 60_000).ok();
        Ok(Estimate {
            sample: alike.len(),
            work_minutes: spread(alike.iter().filter_map(minutes).collect()),
            stated_minutes: spread(alike.iter().filter_map(|item| item.estimate_minutes).collect()),
        })
    }
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
