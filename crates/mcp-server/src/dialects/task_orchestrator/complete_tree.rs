//! `complete_tree`: closes everything beneath an item, or a list of items, in dependency order.

use docket_core::command::{CloseOutcome, CloseResult, CloseTree, What};
use docket_core::model::{ItemId, ItemRef};
use docket_core::{Error, Reason};
use rmcp::model::{JsonObject, Tool};
use serde::Serialize;
use serde_json::json;

use super::advance_item::CascadeRow;
use super::args::{actor, check_batch, fence, item_ref, one_of, request_id};
use super::error::{move_text, refusal_text};
use super::schema::{self, Effect, object, rows, shape, text, texts, word};
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

const KNOWN: &[&str] = &["rootId", "itemIds", "trigger", "fence", "actor", "requestId"];
/// Whether the items are given up.
const TRIGGERS: &[(&str, bool)] = &[("complete", false), ("cancel", true)];

pub(super) fn tool() -> Tool {
    let input = object(
        json!({
            "rootId": text("everything beneath it; the item itself stays"),
            "itemIds": texts("or exactly these items"),
            "trigger": word(&["complete", "cancel"], "default complete; cancel asks for no notes"),
            "fence": schema::fence(),
            "actor": schema::actor(""),
            "requestId": schema::request_id(),
        }),
        &[],
    );
    let output = json!({ "results": rows(), "summary": shape(), "cascadeEvents": rows() });
    let about = "Complete or cancel all descendants of an item, or a list of items, blockers first. An item whose required \
                 notes are missing fails, and what depends on it in the set is skipped. Give rootId or itemIds.";
    schema::tool("complete_tree", about, Effect::Writes, input, output)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CloseAnswer<'a> {
    results: Vec<CloseRow<'a>>,
    summary: Summary,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cascade_events: Vec<CascadeRow<'a>>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    total: usize,
    completed: usize,
    skipped: usize,
    gate_failures: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CloseRow<'a> {
    item_id: ItemId,
    title: &'a str,
    applied: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    trigger: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    gate_errors: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped_reason: Option<String>,
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    let request = request_id(&mut fields)?;
    let by = actor(session, &mut fields, "actor")?;
    let cancel = fields.parsed("trigger", one_of(TRIGGERS))?.unwrap_or(false);
    let what = what(&mut fields)?;
    let fence = fence(&mut fields)?;
    let command = CloseTree { project: session.project().clone(), what, cancel, fence };
    let closed = session.engine().run(session.call(by, request), command).await?;
    let trigger = if cancel { "cancel" } else { "complete" };
    let mut summary = Summary { total: closed.results.len(), ..Summary::default() };
    let results = closed.results.iter().map(|result| row(result, trigger, &mut summary)).collect();
    let cascade_events = closed.cascades.iter().map(CascadeRow::of).collect();
    Ok(Answer::of(&CloseAnswer { results, summary, cascade_events }))
}

fn what(fields: &mut Fields) -> Result<What, Error> {
    let root = fields.parsed("rootId", item_ref)?;
    let items: Option<Vec<ItemRef>> = fields.texts("itemIds", item_ref)?;
    match (root, items) {
        (Some(root), None) => Ok(What::Beneath(root)),
        (None, Some(items)) => {
            check_batch("itemIds", items.len())?;
            Ok(What::Items(items))
        }
        (None, None) => Err(Error::validation(Reason::MissingField, "give either rootId or itemIds").at("rootId")),
        (Some(_), Some(_)) => {
            Err(Error::validation(Reason::BadValue, "give only one of rootId and itemIds").at("itemIds"))
        }
    }
}

fn row<'a>(result: &'a CloseResult, trigger: &'static str, summary: &mut Summary) -> CloseRow<'a> {
    let plain = CloseRow {
        item_id: result.item,
        title: &result.title,
        applied: false,
        trigger: None,
        gate_errors: Vec::new(),
        skipped: None,
        skipped_reason: None,
    };
    let skipped = |plain, reason| CloseRow { skipped: Some(true), skipped_reason: Some(reason), ..plain };
    let row = match &result.outcome {
        CloseOutcome::AlreadyClosed => skipped(plain, "Cannot transition: the item is already terminal".to_owned()),
        CloseOutcome::BlockerRefused => skipped(plain, "dependency gate failed".to_owned()),
        CloseOutcome::Refused(error) => {
            let gate_errors = gate_errors(error);
            if gate_errors.is_empty() { skipped(plain, move_text(error)) } else { CloseRow { gate_errors, ..plain } }
        }
        CloseOutcome::Closed { .. } => CloseRow { applied: true, trigger: Some(trigger), ..plain },
    };
    summary.completed += usize::from(row.applied);
    summary.skipped += usize::from(row.skipped.is_some());
    summary.gate_failures += usize::from(!row.gate_errors.is_empty());
    row
}

/// What an item lacks that notes are missing on: these, and after them whatever else stands in its way.
fn gate_errors(error: &Error) -> Vec<String> {
    let missing = error.refusals.iter().flat_map(|refusal| &refusal.missing_notes);
    let mut lacking: Vec<String> = missing.map(|key| format!("missing: {key}")).collect();
    if !lacking.is_empty() {
        let others = error.refusals.iter().filter(|refusal| refusal.missing_notes.is_empty());
        lacking.extend(others.map(|other| refusal_text(std::slice::from_ref(other))));
    }
    lacking
}
