//! Projects with their rules.

use docket_core::model::{Project, ProjectId};
use docket_core::store::StoreError;

use super::Cells;

/// The columns of a project in the order in which [`read_project`] takes them; `p` and `r` are the tables.
pub(crate) const PROJECT_COLUMNS: &str =
    "p.id, p.slug, p.name, p.prefix, r.workflow, r.schemas, p.next_number, p.version, p.created_at";

/// Reads [`PROJECT_COLUMNS`].
pub(crate) fn read_project(cells: &mut Cells<'_>) -> Result<Project, StoreError> {
    Ok(Project {
        id: ProjectId::from_uuid(cells.uuid()?),
        slug: cells.parsed()?,
        name: cells.parsed()?,
        prefix: cells.parsed()?,
        workflow: cells.json()?,
        schemas: cells.json()?,
        next_number: cells.number()?,
        version: cells.number()?,
        created_at: cells.time()?,
    })
}
