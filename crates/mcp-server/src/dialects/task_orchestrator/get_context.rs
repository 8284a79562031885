//! `get_context`: one item before a move, a session to be resumed, or the health of the whole.

use docket_core::Error;
use docket_core::model::{Item, ItemId, ItemRef, Key, Name, Role, Timestamp, Title, Trigger};
use docket_core::query::{ItemContext, Stalled, Transition};
use docket_core::store::Slice;
use docket_core::workflow::NoteProgress;
use rmcp::model::{JsonObject, Tool};
use serde::Serialize;
use serde_json::json;

use super::args::{end, item_ref, moment};
use super::query_items::clamped;
use super::render::{Actor, Ancestor, ClaimSummary, Expected, ancestor, ancestors, expected, tags};
use super::schema::{self, Effect, flag, object, rows, shape, text, whole, word};
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

const KNOWN: &[&str] = &["itemId", "since", "includeAncestors", "limit"];

/// Transitions shown when nothing is said.
const TRANSITIONS: i64 = 50;
/// Most transitions shown.
const MOST_TRANSITIONS: i64 = 200;

pub(super) fn tool() -> Tool {
    let input = object(
        json!({
            "itemId": text("item mode"),
            "since": text("session-resume mode: an RFC 3339 time"),
            "includeAncestors": flag(""),
            "limit": whole(1, Some(MOST_TRANSITIONS), "transitions in session-resume mode; default 50"),
        }),
        &[],
    );
    let output = json!({
        "mode": word(&["item", "session-resume", "health-check"], ""),
        "item": shape(), "schema": rows(), "gateStatus": shape(), "guidancePointer": { "type": ["string", "null"] },
        "noteProgress": { "type": ["object", "null"] }, "claimDetail": shape(),
        "activeItems": rows(), "recentTransitions": rows(), "blockedItems": rows(), "stalledItems": rows(), "claimSummary": shape(),
        "truncated": flag("a list was cut"),
    });
    let about = "With itemId: its notes, gate and claim. With since: active and stalled items and what moved since then. With neither: \
                 a health check of active, blocked and stalled items and claims.";
    schema::tool("get_context", about, Effect::Reads, input, output)
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    let with_ancestors = fields.flag("includeAncestors")?.unwrap_or(false);
    let since = fields.parsed("since", moment)?;
    // It is how many transitions are told, which only that mode tells.
    let limit = match since {
        Some(_) => clamped(&mut fields, "limit", TRANSITIONS, 1, MOST_TRANSITIONS)?,
        None => 0,
    };
    let item = fields.parsed("itemId", item_ref)?;
    end(&mut fields)?;
    match (item, since) {
        (Some(item), _) => of_item(session, &item, with_ancestors).await,
        (None, Some(since)) => resume(session, since, limit, with_ancestors).await,
        (None, None) => health(session, with_ancestors).await,
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ItemAnswer<'a> {
    mode: &'static str,
    item: ItemRow<'a>,
    schema: Vec<Expected<'a>>,
    gate_status: GateStatus<'a>,
    guidance_pointer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skill_pointer: Option<&'a str>,
    note_progress: Option<NoteProgress>,
    #[serde(skip_serializing_if = "Option::is_none")]
    claim_detail: Option<ClaimDetail>,
}

#[derive(Serialize)]
struct ItemRow<'a> {
    id: ItemId,
    key: Key,
    title: &'a Title,
    role: Role,
    #[serde(skip_serializing_if = "Option::is_none")]
    tags: Option<String>,
    depth: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    ancestors: Option<Vec<Ancestor<'a>>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GateStatus<'a> {
    can_advance: bool,
    phase: Role,
    missing: &'a [Name],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ClaimDetail {
    claimed_by: Name,
    claimed_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    claim_expires_at: Option<Timestamp>,
    original_claimed_at: Timestamp,
    is_expired: bool,
}

async fn of_item(session: &Session, item: &ItemRef, with_ancestors: bool) -> Result<Answer, Error> {
    let context = session.engine().context(session.project(), item).await?;
    let ItemContext { item, guide, .. } = &context;
    let call = session.call(None, None);
    let claim_detail = item.claim.as_ref().map(|claim| ClaimDetail {
        claimed_by: call.shown(claim.holder.clone()),
        claimed_at: claim.claimed_at,
        claim_expires_at: claim.expires_at,
        original_claimed_at: claim.original_claimed_at,
        is_expired: !claim.is_live(context.now),
    });
    Ok(Answer::of(&ItemAnswer {
        mode: "item",
        item: ItemRow {
            id: item.id,
            key: context.project.key(item.number),
            title: &item.title,
            role: item.role,
            tags: tags(&item.tags),
            depth: item.depth,
            ancestors: with_ancestors.then(|| context.ancestors.iter().map(ancestor).collect()),
        },
        schema: expected(&context.expected_notes, true),
        gate_status: GateStatus { can_advance: context.can_advance(), phase: item.role, missing: &context.missing },
        guidance_pointer: guide.guidance.as_deref(),
        skill_pointer: guide.skill.as_deref(),
        note_progress: guide.progress,
        claim_detail,
    }))
}

#[derive(Serialize)]
struct ActiveRow<'a> {
    id: ItemId,
    title: &'a Title,
    role: Role,
    tags: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ancestors: Option<Vec<Ancestor<'a>>>,
}

#[derive(Serialize)]
struct BlockedRow<'a> {
    id: ItemId,
    title: &'a Title,
    role: Role,
    #[serde(skip_serializing_if = "Option::is_none")]
    ancestors: Option<Vec<Ancestor<'a>>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StalledRow<'a> {
    id: ItemId,
    title: &'a Title,
    role: Role,
    missing_notes: &'a [Name],
    #[serde(skip_serializing_if = "Option::is_none")]
    guidance_pointer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skill_pointer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ancestors: Option<Vec<Ancestor<'a>>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TransitionRow<'a> {
    item_id: ItemId,
    from_role: Role,
    to_role: Role,
    trigger: Trigger,
    at: Timestamp,
    #[serde(flatten)]
    by: Actor<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResumeAnswer<'a> {
    mode: &'static str,
    since: Timestamp,
    active_items: Vec<ActiveRow<'a>>,
    recent_transitions: Vec<TransitionRow<'a>>,
    stalled_items: Vec<StalledRow<'a>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HealthAnswer<'a> {
    mode: &'static str,
    active_items: Vec<ActiveRow<'a>>,
    blocked_items: Vec<BlockedRow<'a>>,
    stalled_items: Vec<StalledRow<'a>>,
    claim_summary: ClaimSummary,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

/// Rows with breadcrumbs where they were asked for.
struct Lists<'a> {
    seen: &'a Slice,
    with_ancestors: bool,
}

impl<'a> Lists<'a> {
    fn way_to(&self, item: &Item) -> Option<Vec<Ancestor<'a>>> {
        self.with_ancestors.then(|| ancestors(self.seen, item))
    }

    fn active(&self, items: &'a [Item]) -> Vec<ActiveRow<'a>> {
        let row = |item: &'a Item| ActiveRow {
            id: item.id,
            title: &item.title,
            role: item.role,
            tags: tags(&item.tags),
            ancestors: self.way_to(item),
        };
        items.iter().map(row).collect()
    }

    fn blocked(&self, items: &'a [Item]) -> Vec<BlockedRow<'a>> {
        let row = |item: &'a Item| BlockedRow {
            id: item.id,
            title: &item.title,
            role: item.role,
            ancestors: self.way_to(item),
        };
        items.iter().map(row).collect()
    }

    fn stalled(&self, items: &'a [Stalled]) -> Vec<StalledRow<'a>> {
        let row = |stalled: &'a Stalled| StalledRow {
            id: stalled.item.id,
            title: &stalled.item.title,
            role: stalled.item.role,
            missing_notes: &stalled.missing,
            guidance_pointer: stalled.guide.guidance.as_deref(),
            skill_pointer: stalled.guide.skill.as_deref(),
            ancestors: self.way_to(&stalled.item),
        };
        items.iter().map(row).collect()
    }
}

async fn resume(session: &Session, since: Timestamp, limit: usize, with_ancestors: bool) -> Result<Answer, Error> {
    let resume = session.engine().resume(session.project(), since, limit).await?;
    let lists = Lists { seen: &resume.seen, with_ancestors };
    Ok(Answer::of(&ResumeAnswer {
        mode: "session-resume",
        since,
        active_items: lists.active(&resume.active),
        recent_transitions: resume.transitions.iter().map(transition).collect(),
        stalled_items: lists.stalled(&resume.stalled),
        truncated: resume.is_cut(),
    }))
}

fn transition(made: &Transition) -> TransitionRow<'_> {
    TransitionRow {
        item_id: made.item,
        from_role: made.from,
        to_role: made.to,
        trigger: made.trigger,
        at: made.at,
        by: Actor::of(made.by.as_ref()),
    }
}

async fn health(session: &Session, with_ancestors: bool) -> Result<Answer, Error> {
    let health = session.engine().health(session.project()).await?;
    let lists = Lists { seen: &health.seen, with_ancestors };
    Ok(Answer::of(&HealthAnswer {
        mode: "health-check",
        active_items: lists.active(&health.active),
        blocked_items: lists.blocked(&health.blocked),
        stalled_items: lists.stalled(&health.stalled),
        claim_summary: ClaimSummary::of(health.claims, false),
        truncated: health.is_cut() || health.blocked_total > health.blocked.len() as u64,
    }))
}
