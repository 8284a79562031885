//! What items are called in answers: their keys, which cost a fraction of their ids.

use std::collections::BTreeMap;

use docket_core::limits;
use docket_core::model::{ItemId, ItemRef};
use docket_core::store::{Around, ProjectRef};

use crate::session::Session;

/// Keys of items, as far as they could be read.
#[derive(Debug, Default)]
pub(super) struct Names(BTreeMap<ItemId, String>);

impl Names {
    /// The keys of these items. A failure costs an answer its keys and no more: by then its work may be done.
    pub(super) async fn of(session: &Session, items: Vec<ItemId>) -> Self {
        let mut named: Vec<ItemRef> = items.into_iter().map(ItemRef::Id).collect();
        named.sort_unstable();
        named.dedup();
        named.truncate(limits::BATCH);
        if named.is_empty() {
            return Self::default();
        }
        match session.engine().show(&ProjectRef::Any, &named, Around::default()).await {
            Ok(seen) => {
                let key =
                    |item: &docket_core::model::Item| Some(seen.project_of(item).ok()?.key(item.number).to_string());
                Self(seen.items.values().filter_map(|item| Some((item.id, key(item)?))).collect())
            }
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "the keys of an answer could not be read");
                Self::default()
            }
        }
    }

    /// What an item is called: its key, else its id.
    pub(super) fn get(&self, item: ItemId) -> String {
        self.0.get(&item).cloned().unwrap_or_else(|| item.to_string())
    }
}
