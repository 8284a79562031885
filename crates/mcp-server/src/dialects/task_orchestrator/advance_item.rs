//! `advance_item`: moves items by triggers, in order, each for itself.

use docket_core::command::{Advance, Applied, MoveRequest, MoveResult, Named, RefusedMove};
use docket_core::engine::Cascade;
use docket_core::model::{ItemId, Name, Role, Trigger};
use docket_core::workflow::{NoteProgress, Target};
use docket_core::{Error, Kind, Reason, echo};
use rmcp::model::{JsonObject, Tool};
use serde::Serialize;
use serde_json::{Value, json};

use super::args::{actor, fence, item_ref, long_text, need_batch, request_id};
use super::error::{move_code, move_text, refusal_text};
use super::render::{Actor, BlockerRow, Expected, blockers, expected};
use super::schema::{self, Effect, list, object, rows, shape, text, word};
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

const KNOWN: &[&str] = &["transitions", "actor", "requestId"];
const TRANSITION: &[&str] = &["itemId", "trigger", "summary", "actor", "fence"];

pub(super) fn tool() -> Tool {
    let transition = json!({
        "itemId": text(""),
        "trigger": word(&["start", "complete", "block", "hold", "resume", "cancel", "reopen"], ""),
        "summary": text("kept with the transition"),
        "actor": schema::actor(""),
        "fence": schema::fence(),
    });
    let input = object(
        json!({
            "transitions": list(&object(transition, &["itemId", "trigger"]), ""),
            "actor": schema::actor("of all transitions that name none"),
            "requestId": schema::request_id(),
        }),
        &["transitions"],
    );
    let output = json!({ "results": rows(), "summary": shape(), "allUnblockedItems": rows() });
    let about = "Move items: start goes on (queue→work→review→terminal; review only where the schema has it), complete closes, \
                 block/hold put aside, resume returns, cancel gives up, reopen goes back to queue. Required notes, dependencies and \
                 claims can refuse; the answer says why, and what moved along or was unblocked.";
    schema::tool("advance_item", about, Effect::Writes, input, output)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AdvanceAnswer<'a> {
    results: Vec<Row<'a>>,
    summary: Summary,
    all_unblocked_items: Vec<NamedRow<'a>>,
}

#[derive(Serialize)]
struct Summary {
    total: usize,
    succeeded: usize,
    failed: usize,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Row<'a> {
    Applied(Box<AppliedRow<'a>>),
    Refused(Box<RefusedRow<'a>>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AppliedRow<'a> {
    item_id: ItemId,
    previous_role: Role,
    new_role: Role,
    trigger: Trigger,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_label: Option<&'a Name>,
    applied: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
    #[serde(flatten)]
    by: Actor<'a>,
    cascade_events: Vec<CascadeRow<'a>>,
    unblocked_items: Vec<NamedRow<'a>>,
    expected_notes: Vec<Expected<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    guidance_pointer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skill_pointer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note_progress: Option<NoteProgress>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RefusedRow<'a> {
    item_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    trigger: Option<Trigger>,
    applied: bool,
    error: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    blockers: Vec<BlockerRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing_notes: Vec<MissingNote<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_kind: Option<Kind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    contended_item_id: Option<ItemId>,
}

#[derive(Serialize)]
struct MissingNote<'a> {
    key: &'a str,
}

#[derive(Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct NamedRow<'a> {
    item_id: ItemId,
    title: &'a str,
}

/// A move that the engine made, or could not make, because a relative moved.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CascadeRow<'a> {
    item_id: ItemId,
    title: &'a str,
    previous_role: Role,
    target_role: Role,
    applied: bool,
    trigger: Trigger,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_label: Option<&'a Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gate_blocked: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing_notes: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl<'a> CascadeRow<'a> {
    pub(super) fn of(cascade: &'a Cascade) -> Self {
        Self {
            item_id: cascade.item,
            title: &cascade.title,
            previous_role: cascade.from_role,
            target_role: cascade.to_role,
            applied: cascade.applied,
            trigger: Trigger::Cascade,
            status_label: cascade.label.as_ref(),
            gate_blocked: (!cascade.applied).then_some(true),
            missing_notes: cascade
                .refusals
                .iter()
                .flat_map(|refusal| &refusal.missing_notes)
                .map(String::as_str)
                .collect(),
            error: (!cascade.applied).then(|| refusal_text(&cascade.refusals)),
        }
    }
}

/// A transition that could be read far enough to be answered by its own row.
struct Asked {
    item_id: String,
    trigger: Trigger,
    request: Result<MoveRequest, Error>,
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    let request = request_id(&mut fields)?;
    let by = actor(session, &mut fields, "actor")?;
    let entries = need_batch(&mut fields, "transitions")?;
    for (index, entry) in entries.iter().enumerate() {
        let stated = by.is_some() || entry.get("actor").is_some_and(|actor| !actor.is_null());
        session.check_stated(stated, || format!("transitions[{index}].actor"))?;
    }
    let asked = entries
        .into_iter()
        .enumerate()
        .map(|(index, value)| read(session, index, value))
        .collect::<Result<Vec<Asked>, Error>>()?;
    let moves: Vec<MoveRequest> = asked.iter().filter_map(|asked| asked.request.as_ref().ok().cloned()).collect();
    let mut results = Vec::new();
    if !moves.is_empty() {
        let first = moves.first().and_then(|request| request.by.as_ref());
        let call = session.call_of_parts(by, first, request);
        let command = Advance { project: session.project().clone(), moves, atomic: false };
        results = session.engine().run(call, command).await?.results;
    }
    Ok(answer(&asked, &results))
}

/// A malformed transition refuses the whole call; a bad item or actor refuses only its own transition.
fn read(session: &Session, index: usize, value: Value) -> Result<Asked, Error> {
    let mut fields = Fields::inside(&format!("transitions[{index}]"), value, TRANSITION)?;
    let item_id = fields.need_text("itemId")?;
    let trigger = fields.need("trigger", str::parse::<Trigger>)?;
    let summary = fields.free("summary", long_text)?;
    let fence = fence(&mut fields)?;
    let request =
        item_ref(&item_id).map_err(|invalid| Error::from(invalid.at(&fields.at("itemId")))).and_then(|item| {
            Ok(MoveRequest {
                expected_version: None,
                item,
                target: Target::Trigger(trigger),
                summary,
                by: actor(session, &mut fields, "actor")?,
                fence,
            })
        });
    Ok(Asked { item_id, trigger, request })
}

fn answer(asked: &[Asked], results: &[MoveResult]) -> Answer {
    let mut made = results.iter();
    let mut rows = Vec::with_capacity(asked.len());
    let mut unblocked: Vec<NamedRow<'_>> = Vec::new();
    let mut succeeded = 0;
    for asked in asked {
        let row = match &asked.request {
            Err(error) => Row::Refused(Box::new(unread(asked, error))),
            Ok(_) => match made.next() {
                Some(MoveResult::Applied(applied)) => {
                    succeeded += 1;
                    let row = applied_row(applied);
                    unblocked.extend(
                        row.unblocked_items
                            .iter()
                            .filter(|item| !unblocked.contains(item))
                            .copied()
                            .collect::<Vec<_>>(),
                    );
                    Row::Applied(Box::new(row))
                }
                Some(MoveResult::Refused(refused)) => Row::Refused(Box::new(refused_row(asked, refused))),
                None => Row::Refused(Box::new(unread(asked, &undecided()))),
            },
        };
        rows.push(row);
    }
    let summary = Summary { total: rows.len(), succeeded, failed: rows.len() - succeeded };
    Answer::of(&AdvanceAnswer { results: rows, summary, all_unblocked_items: unblocked })
}

fn applied_row(applied: &Applied) -> AppliedRow<'_> {
    AppliedRow {
        item_id: applied.item,
        previous_role: applied.from_role,
        new_role: applied.to_role,
        trigger: applied.trigger,
        status_label: applied.label.as_ref(),
        applied: true,
        summary: applied.summary.as_ref().map(docket_core::model::Text::as_str),
        by: Actor::of(applied.by.as_ref()),
        cascade_events: applied.cascades.iter().map(CascadeRow::of).collect(),
        unblocked_items: applied.unblocked.iter().map(named).collect(),
        expected_notes: expected(&applied.expected_notes, false),
        guidance_pointer: applied.guide.guidance.as_deref(),
        skill_pointer: applied.guide.skill.as_deref(),
        note_progress: applied.guide.progress,
    }
}

fn named(named: &Named) -> NamedRow<'_> {
    NamedRow { item_id: named.item, title: &named.title }
}

fn refused_row<'a>(asked: &Asked, refused: &'a RefusedMove) -> RefusedRow<'a> {
    let error = &refused.error;
    let code = move_code(error);
    let missing = error.refusals.iter().flat_map(|refusal| &refusal.missing_notes);
    RefusedRow {
        item_id: refused.item.map_or_else(|| echo(&asked.item_id), |id| id.to_string()),
        trigger: Some(asked.trigger),
        applied: false,
        error: move_text(error),
        blockers: blockers(error.refusals.iter().flat_map(|refusal| &refusal.blockers)),
        missing_notes: missing.map(|key| MissingNote { key }).collect(),
        error_kind: code.map(|_| error.kind),
        error_code: code,
        retry_after_ms: code.and(error.retry_after_ms),
        contended_item_id: code.and(error.contended_item),
    }
}

/// The row of a transition that never reached the engine.
fn unread<'a>(asked: &Asked, error: &Error) -> RefusedRow<'a> {
    RefusedRow {
        item_id: echo(&asked.item_id),
        trigger: Some(asked.trigger),
        applied: false,
        error: error.message.clone(),
        blockers: Vec::new(),
        missing_notes: Vec::new(),
        error_kind: None,
        error_code: None,
        retry_after_ms: None,
        contended_item_id: None,
    }
}

fn undecided() -> Error {
    Error::conflict(Reason::StoreFailed, "the transition was not decided")
}
