//! What a store finds of knowledge.

use async_trait::async_trait;
use docket_core::model::{Entry, EntryId, ProjectId};
use docket_core::store::{EntryFilter, Heading, Library, Listed, Postings, Sketches, StoreError, Walked};

use crate::SqliteStore;
use crate::place::in_place;
use crate::read;

#[async_trait]
impl Library for SqliteStore {
    async fn places(&self, filter: &EntryFilter, most: usize) -> Result<Vec<ProjectId>, StoreError> {
        let mut lease = self.pool.lease().await?;
        in_place(|| read::places(&mut lease, filter, most))
    }

    async fn postings(
        &self,
        projects: &[ProjectId],
        words: &[String],
        under: &[Heading],
        most: usize,
    ) -> Result<Vec<Postings>, StoreError> {
        let mut lease = self.pool.lease().await?;
        in_place(|| read::postings(&mut lease, projects, words, under, most))
    }

    async fn having(&self, pairs: &[(EntryId, String)]) -> Result<Vec<(usize, bool)>, StoreError> {
        let mut lease = self.pool.lease().await?;
        in_place(|| read::having(&mut lease, pairs))
    }

    async fn having_all(
        &self,
        projects: &[ProjectId],
        words: &[Vec<String>],
        under: &[Heading],
        walk: usize,
        most: usize,
    ) -> Result<Vec<Walked>, StoreError> {
        let mut lease = self.pool.lease().await?;
        in_place(|| read::having_all(&mut lease, projects, words, under, walk, most))
    }

    async fn headed(&self, projects: &[ProjectId], heading: &Heading, most: usize) -> Result<Walked, StoreError> {
        let mut lease = self.pool.lease().await?;
        in_place(|| read::headed(&mut lease, projects, heading, most))
    }

    async fn list_entries(
        &self,
        projects: &[ProjectId],
        under: &[Heading],
        before: Option<EntryId>,
        walk: usize,
        limit: usize,
    ) -> Result<Listed, StoreError> {
        let mut lease = self.pool.lease().await?;
        in_place(|| read::list_entries(&mut lease, projects, under, before, walk, limit))
    }

    async fn pending(&self, limit: usize) -> Result<Vec<Entry>, StoreError> {
        let mut lease = self.pool.lease().await?;
        in_place(|| read::pending(&mut lease, limit))
    }

    async fn sketches(&self, generation: u64, after: u64, limit: usize) -> Result<Sketches, StoreError> {
        let mut lease = self.pool.lease().await?;
        in_place(|| read::sketches(&mut lease, generation, after, limit))
    }

    async fn vectors(&self, entries: &[EntryId]) -> Result<Vec<(EntryId, Vec<f32>)>, StoreError> {
        let mut lease = self.pool.lease().await?;
        in_place(|| read::vectors(&mut lease, entries))
    }
}
