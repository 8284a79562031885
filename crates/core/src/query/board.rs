//! A project at a glance: its statuses in the order of its workflow, with the items that stand in each.

use std::sync::Arc;

use crate::engine::Engine;
use crate::error::Error;
use crate::model::{Item, Project, Timestamp};
use crate::store::{Capped, Filter, Order, ProjectRef, SortBy};
use crate::workflow::Status;

/// Most columns of a board: a workflow with more shows its first ones.
const COLUMNS: usize = 40;

/// A status and what stands in it.
#[derive(Clone, Debug)]
pub struct Column {
    /// The status.
    pub status: Status,
    /// The items in it that changed last, without their long texts.
    pub items: Capped<Item>,
}

/// A project at a glance.
#[derive(Clone, Debug)]
pub struct Board {
    /// The project.
    pub project: Arc<Project>,
    /// The moment the last column was read.
    pub now: Timestamp,
    /// Its statuses, in the order of the workflow.
    pub columns: Vec<Column>,
}

impl Engine {
    /// A project at a glance, named by slug or id, with so many items a column at the most. Each column is of its own
    /// moment.
    pub async fn board(&self, named: &str, column: usize) -> Result<Board, Error> {
        let project = Arc::new(self.project_named(named).await?);
        let mut columns = Vec::with_capacity(project.workflow.statuses.len());
        let mut now = Timestamp::default();
        for status in project.workflow.statuses.iter().take(COLUMNS) {
            let filter = Filter {
                project: ProjectRef::Id(project.id),
                status: Some(status.name.clone()),
                sort: SortBy::ModifiedAt,
                order: Order::Desc,
                limit: column + 1,
                ..Filter::default()
            };
            let found = self.find_any(&filter).await?;
            now = found.now;
            let items = found.items.iter().map(Item::brief).collect();
            columns.push(Column { status: status.clone(), items: Capped::cut(items, column) });
        }
        Ok(Board { project, now, columns })
    }
}
