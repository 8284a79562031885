//! What can be read by address: how to work here, what is stable, and a project at a glance.

use docket_core::Error;
use docket_core::query::{Board, Column};
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};
use serde_json::{Map, Value, json};

use super::rows::{Names, Shown, row};
use crate::session::Session;
use crate::surface::{Getting, Guide, Watch};

const WORKFLOW: &str = "foresttasks://workflow";
const STABILITY: &str = "foresttasks://stability";
const BOARD: &str = "board://";
const BOARD_TEMPLATE: &str = "board://{project}";

const WORKFLOW_GUIDE: Guide =
    Guide { name: "agent-workflow", title: "How agents work here", text: include_str!("workflow.md") };
const STABILITY_GUIDE: Guide = Guide {
    name: "stability",
    title: "Errors and stability",
    text: concat!(include_str!("stability.md"), include_str!("../../contract.md")),
};

/// What agents read here, for people.
pub(super) const GUIDES: [Guide; 2] = [WORKFLOW_GUIDE, STABILITY_GUIDE];

/// Most tasks in a column of a board; all columns together stay within what a list may have.
const COLUMN: usize = 20;

const JSON: &str = "application/json";
const MARKDOWN: &str = "text/markdown";

/// The resources with an address of their own.
pub(super) fn resources() -> Vec<Resource> {
    let page = |uri: &str, name: &str, guide: Guide| {
        let page = Resource::new(uri, name).with_title(guide.title).with_mime_type(MARKDOWN);
        u64::try_from(guide.text.len()).map_or(page.clone(), |size| page.with_size(size))
    };
    vec![page(WORKFLOW, "workflow", WORKFLOW_GUIDE), page(STABILITY, "stability", STABILITY_GUIDE)]
}

/// The resources whose address names a project.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(BOARD_TEMPLATE, "board")
            .with_title("A project at a glance")
            .with_description("The statuses of a project, by slug or UUID, and the tasks in them that changed last.")
            .with_mime_type(JSON),
    ]
}

/// Reads a resource; `None` for an address that is not ours.
pub(super) fn read<'s>(session: &'s Session, uri: &str) -> Option<Getting<'s, ResourceContents>> {
    let still = match uri {
        WORKFLOW => Some(WORKFLOW_GUIDE.text),
        STABILITY => Some(STABILITY_GUIDE.text),
        _ => None,
    };
    let uri = uri.to_owned();
    if let Some(text) = still {
        return Some(Box::pin(async move { Ok(ResourceContents::text(text, uri).with_mime_type(MARKDOWN)) }));
    }
    let project = project_of(&uri)?.to_owned();
    Some(Box::pin(async move {
        let board = session.engine().board(&project, COLUMN).await?;
        Ok(ResourceContents::text(told(session, &board).await?.to_string(), uri).with_mime_type(JSON))
    }))
}

/// What changes a resource.
pub(super) fn watch(uri: &str) -> Option<Watch> {
    match uri {
        WORKFLOW | STABILITY => Some(Watch::Still),
        _ => project_of(uri).map(|project| Watch::Project(project.to_owned())),
    }
}

fn project_of(uri: &str) -> Option<&str> {
    let project = uri.strip_prefix(BOARD)?;
    // Clients that take the name for a host may end it as one.
    Some(project.strip_suffix('/').unwrap_or(project)).filter(|project| !project.is_empty())
}

async fn told(session: &Session, board: &Board) -> Result<Value, Error> {
    let names = Names::load(session).await?;
    let columns: Vec<Value> = board.columns.iter().map(|column| told_column(board, column, &names)).collect();
    Ok(json!({ "project": { "id": board.project.id, "slug": board.project.slug }, "columns": columns }))
}

fn told_column(board: &Board, column: &Column, names: &Names) -> Value {
    let tasks: Vec<Value> = column
        .items
        .rows
        .iter()
        .map(|item| {
            let mut row = row(item, names, board.now, &Shown::default());
            // Rows of a board have no long texts to score by, and all are of one project.
            row.remove("briefComplete");
            row.remove("project");
            Value::Object(row)
        })
        .collect();
    let mut told = Map::new();
    told.insert("status".to_owned(), json!(column.status.name));
    told.insert("tasks".to_owned(), Value::Array(tasks));
    if column.items.truncated {
        let hint = format!("more with find {{action:\"list\", status:\"{}\"}}", column.status.name);
        told.insert("hint".to_owned(), json!(hint));
    }
    Value::Object(told)
}
