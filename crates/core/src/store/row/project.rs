//! Projects with their rules.

use crate::model::{KeyPrefix, Project, ProjectId, Slug, Title};
use crate::workflow::{Schemas, Stored};
use serde::Deserialize;

use super::Millis;

/// A row of `projects` with its row of `rules`.
#[derive(Debug, Deserialize)]
pub struct ProjectRow {
    id: ProjectId,
    slug: Slug,
    name: Title,
    prefix: KeyPrefix,
    workflow: Stored,
    schemas: Schemas,
    next_number: u32,
    version: u64,
    created_at: Millis,
    archived_at: Option<Millis>,
}

impl From<ProjectRow> for Project {
    fn from(row: ProjectRow) -> Self {
        Self {
            id: row.id,
            slug: row.slug,
            name: row.name,
            prefix: row.prefix,
            workflow: row.workflow.0,
            schemas: row.schemas,
            next_number: row.next_number,
            version: row.version,
            created_at: row.created_at.into(),
            archived_at: row.archived_at.map(Into::into),
        }
    }
}
