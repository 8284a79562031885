//! Projects with their rules.

use std::sync::Arc;

use docket_core::model::{Project, ProjectId};
use docket_core::store::StoreError;
use docket_core::store::row::{ProjectRow, models};

use crate::context::Context;
use crate::error::Trouble;
use crate::pool::Link;
use crate::row::PROJECT;
use crate::script::Script;

/// Reads the rules of these projects into memory.
pub(super) async fn fetch_projects(link: &mut Link, context: &Context, ids: &[ProjectId]) -> Result<(), Trouble> {
    let mut script = Script::default();
    let ids = script.uuids(ids.iter().map(|id| id.as_uuid()));
    script.set(format!(
        "SELECT coalesce(json_agg({PROJECT}), '[]')::text FROM projects p JOIN rules r ON r.project_id = p.id \
         WHERE p.id = ANY({ids})"
    ));
    let rows: Vec<ProjectRow> = link.ask(script).await?;
    for row in rows {
        context.projects.put(Arc::new(row.into()));
    }
    Ok(())
}

/// All projects, by slug.
pub(crate) async fn all_projects(link: &mut Link) -> Result<Vec<Project>, StoreError> {
    let mut script = Script::default();
    script.set(format!(
        "SELECT coalesce(json_agg({PROJECT}), '[]')::text FROM projects p JOIN rules r ON r.project_id = p.id"
    ));
    let rows: Vec<ProjectRow> = link.ask(script).await?;
    let mut projects: Vec<Project> = models(rows);
    projects.sort_by(|a, b| a.slug.cmp(&b.slug));
    Ok(projects)
}
