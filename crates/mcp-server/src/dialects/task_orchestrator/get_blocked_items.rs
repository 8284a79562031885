//! `get_blocked_items`: everything that is held up, and by what.

use docket_core::model::{ItemId, Priority, Role, Title};
use docket_core::query::{BlockedBy, BlockedItem};
use docket_core::{Error, limits};
use rmcp::model::{JsonObject, Tool};
use serde::Serialize;
use serde_json::json;

use super::args::item_ref;
use super::render::{Ancestor, ancestor, tags};
use super::schema::{self, Effect, count, flag, object, rows, text, word_out};
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

const KNOWN: &[&str] = &["parentId", "includeItemDetails", "includeAncestors", "cursor"];
/// Who knows of no cursor sees this much: as much as two pages of others hold.
const MOST: usize = 2 * limits::PAGE;

pub(super) fn tool() -> Tool {
    let input = object(
        json!({
            "parentId": text("only its children"),
            "includeItemDetails": flag("summary and tags"),
            "includeAncestors": flag(""),
            "cursor": text("nextCursor of the page before"),
        }),
        &[],
    );
    let output = json!({ "blockedItems": rows(), "total": count(), "truncated": flag(""), "nextCursor": word_out() });
    let about = "List items put aside (explicit) and open items that wait for a dependency, each with its blockers.";
    schema::tool("get_blocked_items", about, Effect::Reads, input, output)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BlockedAnswer<'a> {
    blocked_items: Vec<BlockedRow<'a>>,
    total: usize,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BlockedRow<'a> {
    item_id: ItemId,
    title: &'a Title,
    role: Role,
    priority: Priority,
    complexity: Option<u8>,
    block_type: &'static str,
    blocked_by: Vec<ByRow<'a>>,
    blocker_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tags: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ancestors: Option<Vec<Ancestor<'a>>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ByRow<'a> {
    item_id: ItemId,
    title: &'a Title,
    role: Role,
    #[serde(skip_serializing_if = "Option::is_none")]
    unblock_at: Option<Role>,
    effective_unblock_role: Role,
    satisfied: bool,
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    let parent = fields.parsed("parentId", item_ref)?;
    let details = fields.flag("includeItemDetails")?.unwrap_or(false);
    let with_ancestors = fields.flag("includeAncestors")?.unwrap_or(false);
    let cursor = fields.parsed("cursor", |text| Ok(text.to_owned()))?;
    let blocked = session.engine().blocked(session.project(), parent.as_ref(), MOST, cursor.as_deref()).await?;
    let blocked_items: Vec<BlockedRow<'_>> =
        blocked.items.iter().map(|blocked| row(blocked, details, with_ancestors)).collect();
    Ok(Answer::of(&BlockedAnswer {
        total: blocked_items.len(),
        blocked_items,
        truncated: blocked.next.is_some(),
        next_cursor: blocked.next.as_deref(),
    }))
}

fn row(blocked: &BlockedItem, details: bool, with_ancestors: bool) -> BlockedRow<'_> {
    let item = &blocked.item;
    BlockedRow {
        item_id: item.id,
        title: &item.title,
        role: item.role,
        priority: item.priority,
        complexity: item.complexity.map(docket_core::model::Complexity::get),
        block_type: if blocked.explicit { "explicit" } else { "dependency" },
        blocked_by: blocked.blockers.iter().map(by_row).collect(),
        blocker_count: blocked.unsatisfied(),
        summary: details.then(|| item.summary.as_str()),
        tags: tags(&item.tags).filter(|_| details),
        ancestors: with_ancestors.then(|| blocked.ancestors.iter().map(ancestor).collect()),
    }
}

fn by_row(by: &BlockedBy) -> ByRow<'_> {
    ByRow {
        item_id: by.item.id,
        title: &by.item.title,
        role: by.item.role,
        unblock_at: by.unblock_at,
        effective_unblock_role: by.threshold,
        satisfied: by.satisfied,
    }
}
