//! What a store finds of knowledge.

use async_trait::async_trait;
use docket_core::model::{Entry, EntryId, ProjectId};
use docket_core::store::{EntryFilter, Heading, Library, Listed, Postings, Sketches, StoreError, Walked};

use crate::SqliteStore;
use crate::read;

#[async_trait]
impl Library for SqliteStore {
    async fn places(&self, filter: &EntryFilter, most: usize) -> Result<Vec<ProjectId>, StoreError> {
        self.look(|link| read::places(link, filter, most)).await
    }

    async fn postings(
        &self,
        projects: &[ProjectId],
        words: &[String],
        under: &[Heading],
        most: usize,
    ) -> Result<Vec<Postings>, StoreError> {
        self.look(|link| read::postings(link, projects, words, under, most)).await
    }

    async fn having(&self, pairs: &[(EntryId, String)]) -> Result<Vec<(usize, bool)>, StoreError> {
        self.look(|link| read::having(link, pairs)).await
    }

    async fn having_all(
        &self,
        projects: &[ProjectId],
        words: &[Vec<String>],
        under: &[Heading],
        walk: usize,
        most: usize,
    ) -> Result<Vec<Walked>, StoreError> {
        self.look(|link| read::having_all(link, projects, words, under, walk, most)).await
    }

    async fn headed(&self, projects: &[ProjectId], heading: &Heading, most: usize) -> Result<Walked, StoreError> {
        self.look(|link| read::headed(link, projects, heading, most)).await
    }

    async fn list_entries(
        &self,
        projects: &[ProjectId],
        under: &[Heading],
        before: Option<EntryId>,
        walk: usize,
        limit: usize,
    ) -> Result<Listed, StoreError> {
        self.look(|link| read::list_entries(link, projects, under, before, walk, limit)).await
    }

    async fn pending(&self, limit: usize) -> Result<Vec<Entry>, StoreError> {
        self.look(|link| read::pending(link, limit)).await
    }

    async fn sketches(&self, generation: u64, after: u64, limit: usize) -> Result<Sketches, StoreError> {
        self.look(|link| read::sketches(link, generation, after, limit)).await
    }

    async fn vectors(&self, entries: &[EntryId]) -> Result<Vec<(EntryId, Vec<f32>)>, StoreError> {
        self.look(|link| read::vectors(link, entries)).await
    }
}
