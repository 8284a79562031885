//! `find`: every read of more than one task. One file for each question.

mod activity;
mod estimate;
mod list;
mod projects;
mod queue;
mod tree;

use docket_core::Error;
use rmcp::model::{JsonObject, Tool};
use serde_json::json;

use super::args::{Act, choose};
use super::schema::{self, Effect, flag, list as list_of, object, text, whole, word};
use super::{args, rows};
use crate::answer::Answer;
use crate::session::Session;

#[derive(Clone, Copy)]
enum What {
    List,
    Search,
    Tree,
    Queue,
    Projects,
    Activity,
    Estimate,
}

const ACTS: &[Act<What>] = &[
    Act {
        word: "list",
        means: What::List,
        fields: &[
            "projectId",
            "status",
            "priority",
            "labels",
            "parentTaskId",
            "assignee",
            "blocked",
            "needsHuman",
            "limit",
            "detail",
            "fields",
        ],
    },
    Act {
        word: "search",
        means: What::Search,
        fields: &[
            "query",
            "projectId",
            "status",
            "priority",
            "labels",
            "parentTaskId",
            "assignee",
            "blocked",
            "needsHuman",
            "limit",
            "detail",
        ],
    },
    Act { word: "tree", means: What::Tree, fields: &["id", "maxDepth", "detail"] },
    Act {
        word: "queue",
        means: What::Queue,
        fields: &["projectId", "labels", "capabilities", "detail", "profile", "since"],
    },
    Act { word: "projects", means: What::Projects, fields: &["includeArchived"] },
    Act { word: "activity", means: What::Activity, fields: &["projectId", "since"] },
    Act { word: "estimate", means: What::Estimate, fields: &["projectId", "labels", "requiredCapabilities"] },
];

pub(super) fn tool() -> Tool {
    let input = object(
        json!({
            "action": word(&["list", "search", "tree", "queue", "projects", "activity", "estimate"], ""),
            "projectId": text("slug or UUID; list: may be left out where there is one project; search, queue, activity: all when absent"),
            "query": text("search: words of titles"),
            "id": text("tree: its root"),
            "maxDepth": whole(0, None, "tree: levels beneath the root"),
            "status": text("list, search"),
            "priority": word(&["high", "medium", "low"], "list, search"),
            "labels": list_of(&text(""), "list, search, queue: any of them; estimate: all"),
            "parentTaskId": schema::clearable("list, search: direct subtasks; null: top level"),
            "assignee": text("list, search: held by this agent"),
            "blocked": flag("list, search"),
            "needsHuman": flag("list, search: with something that waits for a person"),
            "limit": whole(1, Some(200), "list, search"),
            "detail": word(&["concise", "full"], "default concise"),
            "fields": list_of(&text(""), "list: only these; id, status and what blocks are always there"),
            "profile": word(&["compact", "full"], "queue; default compact"),
            "since": text("queue: readToken of an earlier read; activity: time, or its readToken"),
            "includeArchived": flag("projects"),
            "capabilities": list_of(&text(""), "queue: what you can do"),
            "requiredCapabilities": list_of(&text(""), "estimate"),
        }),
        &["action"],
    );
    let about = "Read tasks: list, search, tree, the queue of claimable work, projects, recent activity, how long work has \
                 taken. At most 200 rows; what was cut is said: narrow with filters.";
    schema::plain_tool("find", about, Effect::Reads, input)
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let (what, fields) = choose(arguments, "action", ACTS, None)?;
    match what {
        What::List => list::list(session, fields).await,
        What::Search => list::search(session, fields).await,
        What::Tree => tree::call(session, fields).await,
        What::Queue => queue::call(session, fields).await,
        What::Projects => projects::call(session, fields).await,
        What::Activity => activity::call(session, fields).await,
        What::Estimate => estimate::call(session, fields).await,
    }
}
