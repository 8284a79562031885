//! Projects with their rules.

use docket_core::model::{KeyPrefix, Project, ProjectId, Slug, Title};
use docket_core::workflow::{Schemas, Workflow};
use serde::Deserialize;

use super::Millis;

/// A row `p` of `projects` with its row `r` of `rules`, in the order of [`ProjectRow`].
pub(crate) const PROJECT: &str = "json_build_array(p.id, p.slug, p.name, p.prefix, r.workflow, r.schemas, \
    p.next_number, p.version, p.created_at)";

/// What [`PROJECT`] says.
#[derive(Debug, Deserialize)]
pub(crate) struct ProjectRow {
    id: ProjectId,
    slug: Slug,
    name: Title,
    prefix: KeyPrefix,
    workflow: Workflow,
    schemas: Schemas,
    next_number: u32,
    version: u64,
    created_at: Millis,
}

impl From<ProjectRow> for Project {
    fn from(row: ProjectRow) -> Self {
        Self {
            id: row.id,
            slug: row.slug,
            name: row.name,
            prefix: row.prefix,
            workflow: row.workflow,
            schemas: row.schemas,
            next_number: row.next_number,
            version: row.version,
            created_at: row.created_at.into(),
        }
    }
}
