//! Projects with their rules.

use std::sync::Arc;

use docket_core::model::{Project, ProjectId};
use docket_core::store::StoreError;
use sqlx::sqlite::SqliteRow;

use super::load::Trouble;
use crate::context::Context;
use crate::error::store_error;
use crate::pool::Link;
use crate::row::{Cells, PROJECT_COLUMNS, read_project};
use crate::script::Script;

/// Reads the rules of these projects into memory.
pub(super) async fn fetch_projects(link: &mut Link, context: &Context, ids: &[ProjectId]) -> Result<(), Trouble> {
    let mut script = Script::default();
    let ids = script.uuids(ids.iter().map(|id| id.as_uuid()));
    script.add(&format!(
        "SELECT {PROJECT_COLUMNS} FROM json_each({ids}) j CROSS JOIN projects p ON p.id = unhex(j.value) \
         CROSS JOIN rules r ON r.project_id = p.id"
    ));
    let rows = link.run(script).await.map_err(Trouble::Sql)?;
    for project in read_all(&rows).map_err(Trouble::Rows)? {
        context.projects.put(Arc::new(project));
    }
    Ok(())
}

/// All projects, by slug.
pub(crate) async fn all_projects(link: &mut Link) -> Result<Vec<Project>, StoreError> {
    let mut script = Script::default();
    script.add(&format!(
        "SELECT {PROJECT_COLUMNS} FROM projects p CROSS JOIN rules r ON r.project_id = p.id ORDER BY p.slug"
    ));
    read_all(&link.run(script).await.map_err(store_error)?)
}

fn read_all(rows: &[SqliteRow]) -> Result<Vec<Project>, StoreError> {
    rows.iter().map(|row| read_project(&mut Cells::new(row))).collect()
}
