//! What a store finds of knowledge.

use async_trait::async_trait;
use docket_core::model::{Entry, EntryId, ProjectId};
use docket_core::store::{EntryFilter, Heading, Library, Listed, Postings, Sketches, StoreError, Walked};

use crate::PostgresStore;
use crate::read;

#[async_trait]
impl Library for PostgresStore {
    async fn places(&self, filter: &EntryFilter, most: usize) -> Result<Vec<ProjectId>, StoreError> {
        read::places(&mut *self.lease().await?, filter, most).await
    }

    async fn postings(
        &self,
        projects: &[ProjectId],
        words: &[String],
        under: &[Heading],
        most: usize,
    ) -> Result<Vec<Postings>, StoreError> {
        read::postings(&mut *self.lease().await?, projects, words, under, most).await
    }

    async fn having(&self, pairs: &[(EntryId, String)]) -> Result<Vec<(usize, bool)>, StoreError> {
        read::having(&mut *self.lease().await?, pairs).await
    }

    async fn having_all(
        &self,
        projects: &[ProjectId],
        words: &[Vec<String>],
        under: &[Heading],
        walk: usize,
        most: usize,
    ) -> Result<Vec<Walked>, StoreError> {
        read::having_all(&mut *self.lease().await?, projects, words, under, walk, most).await
    }

    async fn headed(&self, projects: &[ProjectId], heading: &Heading, most: usize) -> Result<Walked, StoreError> {
        read::headed(&mut *self.lease().await?, projects, heading, most).await
    }

    async fn list_entries(
        &self,
        projects: &[ProjectId],
        under: &[Heading],
        before: Option<EntryId>,
        walk: usize,
        limit: usize,
    ) -> Result<Listed, StoreError> {
        read::list_entries(&mut *self.lease().await?, projects, under, before, walk, limit).await
    }

    async fn pending(&self, limit: usize) -> Result<Vec<Entry>, StoreError> {
        read::pending(&mut *self.lease().await?, limit).await
    }

    async fn sketches(&self, generation: u64, after: u64, limit: usize) -> Result<Sketches, StoreError> {
        read::sketches(&mut *self.lease().await?, generation, after, limit).await
    }

    async fn vectors(&self, entries: &[EntryId]) -> Result<Vec<(EntryId, Vec<f32>)>, StoreError> {
        read::vectors(&mut *self.lease().await?, entries).await
    }
}
