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
pub(super) fn fetch_projects(link: &mut Link, context: &Context, ids: &[ProjectId]) -> Result<(), Trouble> {
    let mut script = Script::default();
    let ids = script.uuids(ids.iter().map(|id| id.as_uuid()));
    script.add(format!(
        "SELECT json_group_array({PROJECT}) FROM json_each({ids}) j CROSS JOIN projects p ON p.id = unhex(j.value) \
         CROSS JOIN rules r ON r.project_id = p.id"
    ));
    let rows: Vec<ProjectRow> = link.ask(&script)?;
    for row in rows {
        context.projects.put(Arc::new(row.into()));
    }
    Ok(())
}

/// All projects, by slug.
pub(crate) fn all_projects(link: &mut Link) -> Result<Vec<Project>, StoreError> {
    let mut script = Script::default();
    script.add(format!(
        "SELECT json_group_array({PROJECT}) FROM projects p \
         CROSS JOIN rules r ON r.project_id = p.id"
    ));
    let rows: Vec<ProjectRow> = link.ask(&script)?;
    let mut projects: Vec<Project> = models(rows);
    projects.sort_by(|a, b| a.slug.cmp(&b.slug));
    Ok(projects)
}
