//! `get_next_item`: ready work, the best first.

use docket_core::model::{ItemId, Key, Priority, Role, Title};
use docket_core::query::{NextQuery, Ready};
use docket_core::store::Slice;
use docket_core::{Error, Reason};
use rmcp::model::{JsonObject, Tool};
use serde::Serialize;
use serde_json::json;

use super::args::{item_ref, role_of};
use super::render::{Ancestor, ancestors, tags};
use super::schema::{self, Effect, count, flag, object, rows, text, whole, word};
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::{Keys, Session};

const KNOWN: &[&str] = &["role", "parentId", "limit", "includeDetails", "includeAncestors", "includeClaimed"];

/// The roles that work can be looked for in.
pub(super) const OPEN: &[Role] = &[Role::Queue, Role::Work, Role::Review, Role::Blocked];
/// Most recommendations of one call.
const MOST: i64 = 20;

pub(super) fn tool() -> Tool {
    let input = object(
        json!({
            "role": word(&["queue", "work", "review", "blocked"], "default queue"),
            "parentId": text("only its children"),
            "limit": whole(1, Some(MOST), "default 1"),
            "includeDetails": flag("summary, tags and parentId"),
            "includeAncestors": flag(""),
            "includeClaimed": flag("also claimed items, with isClaimed"),
        }),
        &[],
    );
    let output = json!({ "recommendations": rows(), "total": count() });
    let about = "Recommend what to work on: unblocked, unclaimed items of a role by priority, then the easiest. To take one at the same \
                 time, use claim_item with a selector.";
    schema::tool("get_next_item", about, Effect::Reads, input, output)
}

#[derive(Serialize)]
struct NextAnswer<'a> {
    recommendations: Vec<ReadyRow<'a>>,
    total: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReadyRow<'a> {
    item_id: ItemId,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<Key>,
    title: &'a Title,
    role: Role,
    priority: Priority,
    complexity: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tags: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_id: Option<ItemId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_claimed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ancestors: Option<Vec<Ancestor<'a>>>,
}

#[derive(Clone, Copy)]
struct Shown<'a> {
    details: bool,
    claimed: bool,
    keys: &'a Keys,
    ancestors: Option<&'a Slice>,
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    let query = NextQuery {
        role: Some(fields.parsed("role", role_of(OPEN))?.unwrap_or(Role::Queue)),
        parent: fields.parsed("parentId", item_ref)?,
        include_claimed: fields.flag("includeClaimed")?.unwrap_or(false),
        ..NextQuery::of(session.project().clone(), limit(&mut fields)?)
    };
    let details = fields.flag("includeDetails")?.unwrap_or(false);
    let with_ancestors = fields.flag("includeAncestors")?.unwrap_or(false);
    let ready = session.engine().next(&query, None).await?.items;
    let seen = if with_ancestors {
        Some(session.engine().with_ancestors(ready.iter().map(|ready| &ready.item)).await?)
    } else {
        None
    };
    let keys = session.keys(ready.iter().map(|ready| &ready.item)).await;
    let shown = Shown { details, claimed: query.include_claimed, keys: &keys, ancestors: seen.as_ref() };
    let recommendations: Vec<ReadyRow<'_>> = ready.iter().map(|ready| row(ready, shown)).collect();
    Ok(Answer::of(&NextAnswer { total: recommendations.len(), recommendations }))
}

fn limit(fields: &mut Fields) -> Result<usize, Error> {
    let limit = fields.whole("limit")?.unwrap_or(1);
    usize::try_from(limit).ok().filter(|_| (1..=MOST).contains(&limit)).ok_or_else(|| {
        Error::validation(Reason::BadValue, format!("limit must be from 1 to {MOST}, not {limit}")).at("limit")
    })
}

fn row<'a>(ready: &'a Ready, shown: Shown<'a>) -> ReadyRow<'a> {
    let item = &ready.item;
    ReadyRow {
        item_id: item.id,
        key: shown.keys.of(item),
        title: &item.title,
        role: item.role,
        priority: item.priority,
        complexity: item.complexity.map(docket_core::model::Complexity::get),
        summary: shown.details.then(|| item.summary.as_str()),
        tags: tags(&item.tags).filter(|_| shown.details),
        parent_id: item.parent.filter(|_| shown.details),
        is_claimed: shown.claimed.then_some(ready.is_claimed),
        ancestors: shown.ancestors.map(|seen| ancestors(seen, item)),
    }
}
