//! Items by their keys and titles, as people know them, where the engine speaks of ids.

use std::collections::BTreeMap;

use docket_core::model::{ItemId, Key, Title};
use serde::Serialize;

use crate::output::escape;

/// What some items are called.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(BTreeMap<ItemId, (Key, String)>);

/// An answer of the engine about one item, with the item's key.
#[derive(Serialize)]
pub(crate) struct WithKey<'a, T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<Key>,
    #[serde(flatten)]
    pub(crate) answer: &'a T,
}

impl Names {
    pub(crate) fn add(&mut self, id: ItemId, key: Key, title: &Title) {
        self.0.insert(id, (key, escape::line(title.as_str())));
    }

    /// An item's key.
    pub(crate) fn key(&self, id: ItemId) -> Option<Key> {
        self.0.get(&id).map(|(key, _)| key.clone())
    }

    /// Key and title, if the item is known.
    pub(crate) fn known(&self, id: ItemId) -> Option<String> {
        self.0.get(&id).map(|(key, title)| format!("{key} \"{title}\""))
    }

    /// Key and title; the id of an item that is gone.
    pub(crate) fn of(&self, id: ItemId) -> String {
        self.known(id).unwrap_or_else(|| id.to_string())
    }
}
