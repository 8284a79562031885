//! What items are called by people. A project's prefix never changes, so each is read once.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use docket_core::Engine;
use docket_core::model::{Item, Key, KeyPrefix, ProjectId};

/// Prefixes as far as they are known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys(Arc<BTreeMap<ProjectId, KeyPrefix>>);

/// The book of prefixes that all requests share.
#[derive(Debug, Default)]
pub(crate) struct KeyBook(RwLock<Keys>);

impl Keys {
    /// The key of an item.
    pub(crate) fn of(&self, item: &Item) -> Option<Key> {
        self.0.get(&item.project).map(|prefix| Key { prefix: prefix.clone(), number: item.number })
    }
}

impl KeyBook {
    /// The keys of these items. Only the first question about a project asks the store, and a failure costs an answer its
    /// keys and no more: by then its work may be done.
    pub(crate) async fn of<'i>(&self, engine: &Engine, mut items: impl Iterator<Item = &'i Item> + Send) -> Keys {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        if items.all(|item| known.0.contains_key(&item.project)) {
            return known;
        }
        match engine.projects().await {
            Ok(projects) => {
                let mut all = BTreeMap::clone(&known.0);
                all.extend(projects.into_iter().map(|project| (project.id, project.prefix)));
                let all = Keys(Arc::new(all));
                self.0.write().unwrap_or_else(PoisonError::into_inner).clone_from(&all);
                all
            }
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "the projects' prefixes could not be read");
                known
            }
        }
    }
}
