//! `list`: tasks by status, assignee, readiness and how the attempts at them fare.

use std::collections::BTreeSet;

use docket_core::model::{Health, Item, ItemId, Name};
use docket_core::store::{Filter, Order, SortBy};
use docket_core::{Error, Reason};
use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

use super::args::{name, page};
use super::schema::{self, Effect, flag, object, text, whole, word};
use super::{task, who};
use crate::answer::Answer;
use crate::args::one_of;
use crate::input::Fields;
use crate::session::Session;

const KNOWN: &[&str] = &["status", "assignee", "ready", "execution", "limit", "cursor"];
const EXECUTIONS: &[(&str, Health)] =
    &[("active", Health::Active), ("stalled", Health::Stalled), ("awaiting_review", Health::AwaitingReview)];

pub(super) fn tool() -> Tool {
    let input = object(
        json!({
            "status": text(""),
            "assignee": text("such as agent:claude-1"),
            "ready": flag("whether all deps are closed"),
            "execution": word(&["active", "stalled", "awaiting_review"], "how the attempt at it fares"),
            "limit": whole(1, Some(200), ""),
            "cursor": text("next_cursor of the page before"),
        }),
        &[],
    );
    let about = "Tasks, the oldest first. {ready:true, status:<initial>} is what can be started now. Bodies and provenance: get.";
    schema::plain_tool("list", about, Effect::Reads, input)
}

/// Which tasks are wanted.
struct Wanted {
    status: Option<Name>,
    assignee: Option<Name>,
    ready: Option<bool>,
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    let wanted = Wanted {
        status: fields.parsed("status", name)?,
        assignee: fields.parsed("assignee", who::holder)?.map(|name| session.call(None, None).meant(name)),
        ready: fields.flag("ready")?,
    };
    let execution = fields.parsed("execution", one_of(EXECUTIONS))?;
    let (limit, cursor) = page(&mut fields)?;
    match execution {
        Some(health) => executing(session, &wanted, health, limit, cursor).await,
        None => listed(session, &wanted, limit, cursor).await,
    }
}

async fn listed(session: &Session, wanted: &Wanted, limit: usize, cursor: Option<String>) -> Result<Answer, Error> {
    let filter = Filter {
        project: session.project().clone(),
        status: wanted.status.clone(),
        held_by: wanted.assignee.clone(),
        blocked: wanted.ready.map(|ready| !ready),
        sort: SortBy::CreatedAt,
        order: Order::Asc,
        limit,
        ..Filter::default()
    };
    let page = session.engine().list(&filter, cursor.as_deref()).await?;
    let seen = task::show(session, page.items.iter().map(|item| item.id)).await?;
    // Both reads are of their own moment: what is not there any more is not told.
    let items: Vec<&Item> = page.items.iter().filter_map(|item| seen.items.get(&item.id)).collect();
    Ok(answer(&task::rows(session, &seen, &items).await?, page.next))
}

/// Tasks whose attempts fare like this; the rest of the filter is asked of them.
async fn executing(
    session: &Session,
    wanted: &Wanted,
    health: Health,
    limit: usize,
    cursor: Option<String>,
) -> Result<Answer, Error> {
    let (ids, more) = session.engine().items_in(session.project(), health).await?;
    let mut ids: Vec<ItemId> = ids;
    ids.sort_unstable();
    let from = match &cursor {
        None => None,
        Some(cursor) => Some(cursor.parse::<ItemId>().map_err(|_| {
            Error::validation(Reason::BadCursor, "cursor is none that this list ended with").at("cursor")
        })?),
    };
    let named: BTreeSet<ItemId> = ids.into_iter().filter(|id| from.is_none_or(|from| *id > from)).collect();
    let seen = task::show(session, named.iter().copied()).await?;
    let fits = |item: &&Item| {
        wanted.status.as_ref().is_none_or(|status| item.status == *status)
            && wanted.assignee.as_ref().is_none_or(|holder| item.is_held_by(holder, seen.now))
            && wanted.ready.is_none_or(|ready| (item.derived.blockers == 0) == ready)
    };
    let mut items: Vec<&Item> = named.iter().filter_map(|id| seen.items.get(id)).filter(fits).collect();
    let cut = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| cut).map(|last| last.id.to_string());
    let mut body = answer(&task::rows(session, &seen, &items).await?, next);
    if more && let Value::Object(fields) = &mut body.structured {
        fields.insert("truncated".to_owned(), json!(true));
        body.text = body.structured.to_string();
    }
    Ok(body)
}

fn answer(tasks: &[Value], next: Option<String>) -> Answer {
    let mut body = json!({ "tasks": tasks });
    if let Some(next) = next {
        body["next_cursor"] = json!(next);
    }
    Answer::of(&body)
}
