//! `claim_item`: claims and releases items by name, or finds ready work and claims it.

use std::collections::BTreeSet;
use std::time::Duration;

use docket_core::command::{
    Claim, ClaimNext, ClaimOutcome, ClaimRequest, ClaimResult, Held, ReleaseOutcome, ReleaseResult, Wanted,
};
use docket_core::engine::Call;
use docket_core::model::{Attribution, Fence, ItemId, ItemRef, Key, Name, RequestId, Role, Timestamp, Ttl};
use docket_core::store::Filter;
use docket_core::{Error, Kind, Reason, echo, limits};
use rmcp::model::{JsonObject, Tool};
use serde::Serialize;
use serde_json::{Value, json};

use super::args::{actor, check_batch, item_ref, name, need_request_uuid, role_of, tag};
use super::get_next_item::OPEN;
use super::schema::{self, Effect, list, object, rows, shape, text, texts, whole, word};
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

const KNOWN: &[&str] = &["actor", "claims", "releases", "requestId"];
const CLAIM: &[&str] = &["itemId", "ttlSeconds", "agentId", "selector"];
const RELEASE: &[&str] = &["itemId"];
const SELECTOR: &[&str] = &["role", "parentId", "tags", "type", "capabilities", "waitMs"];

pub(super) fn tool() -> Tool {
    let selector = json!({
        "role": word(&["queue", "work", "review", "blocked"], "default queue"),
        "parentId": text("only its children"),
        "tags": text("comma-separated, any of them"),
        "type": text(""),
        "capabilities": texts("what the agent can do"),
        "waitMs": json!({ "type": "integer", "minimum": 0, "maximum": limits::WAIT_MS, "description": "wait for work; default 0" }),
    });
    let mut selector = object(selector, &[]);
    selector["description"] = json!("instead of itemId: the best ready work; one per call, alone");
    let claim = json!({
        "itemId": text(""),
        "ttlSeconds": whole(i64::from(*limits::LEASE_SECONDS.start()), Some(i64::from(*limits::LEASE_SECONDS.end())), "default 900"),
        "agentId": text("ignored: actor.id holds the claim"),
        "selector": selector,
    });
    let input = object(
        json!({
            "actor": schema::actor("holds the claims"),
            "claims": list(&object(claim, &[]), ""),
            "releases": list(&object(json!({ "itemId": text("") }), &["itemId"]), "after the claims"),
            "requestId": json!({ "type": "string", "format": "uuid", "description": "fresh for each operation; a retry takes effect once" }),
        }),
        &["actor", "requestId"],
    );
    let output = json!({ "claimResults": rows(), "releaseResults": rows(), "summary": shape(), "autoReleased": { "type": "array", "items": { "type": "string" } } });
    let about = "Claim items for exclusive work, or release them. One claim per agent: a new one ends the old. Claiming again extends \
                 the lease. Outcomes per entry: success (with the fence to send along with later writes), already_claimed (with \
                 retryAfterMs), not_found, terminal_item, claim_limit (earlier ones of the call are all an agent may hold), \
                 rejected_by_policy; for a selector also queue_empty and none_eligible.";
    schema::tool("claim_item", about, Effect::Writes, input, output)
}

/// What is asked for in `claims`.
enum Claims {
    /// Items by name, as far as their names could be read.
    Named(Vec<(String, Result<ClaimRequest, Error>)>),
    /// The best ready work.
    Next { wanted: Box<Wanted>, ttl: Option<Ttl>, wait: Duration },
}

/// Releases by name, as far as their names could be read.
type Releases = Vec<(String, Result<ItemRef, Error>)>;

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct ClaimAnswer {
    claim_results: Vec<ClaimRow>,
    release_results: Vec<ReleaseRow>,
    summary: Summary,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    auto_released: Vec<ItemId>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    claims_total: usize,
    claims_succeeded: usize,
    claims_failed: usize,
    releases_total: usize,
    releases_succeeded: usize,
    releases_failed: usize,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct ClaimRow {
    #[serde(skip_serializing_if = "Option::is_none")]
    item_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<Key>,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<Kind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    claimed_by: Option<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    claimed_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    claim_expires_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    original_claimed_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fence: Option<Fence>,
    #[serde(skip_serializing_if = "Option::is_none")]
    contended_item_id: Option<ItemId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReleaseRow {
    item_id: String,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

const SUCCESS: &str = "success";

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    let request = need_request_uuid(&mut fields)?;
    let by = actor(session, &mut fields, "actor")?.ok_or_else(|| fields.missing("actor"))?;
    let claims = read_claims(&mut fields, &by.actor.id)?;
    let releases = read_releases(&mut fields)?;
    if matches!(&claims, Claims::Named(named) if named.is_empty()) && releases.is_empty() {
        return Err(
            Error::validation(Reason::TooFew, "at least one of claims and releases must not be empty").at("claims")
        );
    }
    let asked = asked(&claims, &releases);
    let mut answer = match run(session, claims, releases, by, request).await {
        Err(error) if error.reason == Reason::RejectedByPolicy => rejected(asked),
        other => other?,
    };
    answer.count();
    Ok(Answer::of(&answer))
}

impl ClaimAnswer {
    fn count(&mut self) {
        let claimed = self.claim_results.iter().filter(|row| row.outcome == SUCCESS).count();
        let released = self.release_results.iter().filter(|row| row.outcome == SUCCESS).count();
        self.summary = Summary {
            claims_total: self.claim_results.len(),
            claims_succeeded: claimed,
            claims_failed: self.claim_results.len() - claimed,
            releases_total: self.release_results.len(),
            releases_succeeded: released,
            releases_failed: self.release_results.len() - released,
        };
    }
}

fn read_claims(fields: &mut Fields, holder: &Name) -> Result<Claims, Error> {
    let entries = fields.list("claims")?.unwrap_or_default();
    check_batch("claims", entries.len())?;
    let alone = entries.len() == 1;
    let mut named = Vec::with_capacity(entries.len());
    for (index, value) in entries.into_iter().enumerate() {
        let mut claim = Fields::inside(&format!("claims[{index}]"), value, CLAIM)?;
        let ttl = ttl(&mut claim)?;
        // It cannot make another agent the holder; whoever runs the server can see that somebody expects it to.
        if claim.raw_text("agentId")?.is_some_and(|agent| agent != holder.as_str()) {
            tracing::warn!(claim = index, "agentId differs from actor.id, which holds the claim");
        }
        let Some(selector) = claim.value("selector") else {
            let text = claim.need_text("itemId")?;
            let item = item_ref(&text).map_err(|invalid| Error::from(invalid.at(&claim.at("itemId"))));
            named.push((text, item.map(|item| ClaimRequest { item, ttl })));
            continue;
        };
        let field = claim.at("selector");
        if claim.value("itemId").is_some() {
            return Err(Error::validation(
                Reason::BadValue,
                format!("{field} stands instead of itemId, not beside it"),
            )
            .at(field));
        }
        if !alone {
            return Err(
                Error::validation(Reason::BadValue, format!("{field} must be the only claim of a call")).at(field)
            );
        }
        return read_selector(&field, selector, ttl);
    }
    Ok(Claims::Named(named))
}

fn read_selector(field: &str, selector: Value, ttl: Option<Ttl>) -> Result<Claims, Error> {
    let mut read = Fields::inside(field, selector, SELECTOR)?;
    let capabilities: Vec<Name> = read.texts("capabilities", name)?.unwrap_or_default();
    let wait = read.whole("waitMs")?.unwrap_or(0);
    let wait = u64::try_from(wait).ok().filter(|wait| *wait <= limits::WAIT_MS).ok_or_else(|| {
        let field = read.at("waitMs");
        Error::validation(Reason::BadValue, format!("{field} must be from 0 to {}, not {wait}", limits::WAIT_MS))
            .at(field)
    })?;
    let wanted = Wanted {
        role: Some(read.parsed("role", role_of(OPEN))?.unwrap_or(Role::Queue)),
        parent: read.parsed("parentId", item_ref)?,
        under: None,
        tags: read.split_some("tags", tag)?.unwrap_or_default(),
        item_type: read.parsed("type", name)?,
        capabilities: BTreeSet::from_iter(capabilities),
        ..Wanted::default()
    };
    Ok(Claims::Next { wanted: Box::new(wanted), ttl, wait: Duration::from_millis(wait) })
}

fn read_releases(fields: &mut Fields) -> Result<Releases, Error> {
    let entries = fields.list("releases")?.unwrap_or_default();
    check_batch("releases", entries.len())?;
    let read = |(index, value): (usize, Value)| {
        let mut release = Fields::inside(&format!("releases[{index}]"), value, RELEASE)?;
        let text = release.need_text("itemId")?;
        let item = item_ref(&text).map_err(|invalid| invalid.at(&release.at("itemId")).into());
        Ok((text, item))
    };
    entries.into_iter().enumerate().map(read).collect()
}

fn ttl(claim: &mut Fields) -> Result<Option<Ttl>, Error> {
    let field = claim.at("ttlSeconds");
    let seconds = claim.whole("ttlSeconds").map_err(|error| Error { reason: Reason::BadTtl, ..error })?;
    let Some(seconds) = seconds else { return Ok(None) };
    Ttl::parse(seconds).map(Some).map_err(|invalid| invalid.at(&field).into())
}

/// What was asked for, as the caller spelled it: the rows of an answer that refuses everything alike.
fn asked(claims: &Claims, releases: &Releases) -> (Vec<Option<String>>, Vec<String>) {
    let claims = match claims {
        Claims::Named(named) => named.iter().map(|(text, _)| Some(echo(text))).collect(),
        Claims::Next { .. } => vec![None],
    };
    (claims, releases.iter().map(|(text, _)| echo(text)).collect())
}

fn rejected((claims, releases): (Vec<Option<String>>, Vec<String>)) -> ClaimAnswer {
    let outcome = "rejected_by_policy";
    let claim = |item_id| ClaimRow { item_id, outcome, kind: Some(Kind::Permanent), ..ClaimRow::default() };
    ClaimAnswer {
        claim_results: claims.into_iter().map(claim).collect(),
        release_results: releases.into_iter().map(|item_id| ReleaseRow { item_id, outcome, error: None }).collect(),
        ..ClaimAnswer::default()
    }
}

async fn run(
    session: &Session,
    claims: Claims,
    releases: Releases,
    by: Attribution,
    request: RequestId,
) -> Result<ClaimAnswer, Error> {
    let mut call = session.call(Some(by), Some(request));
    let (named, mut answer) = match claims {
        Claims::Named(named) => (named, ClaimAnswer::default()),
        Claims::Next { wanted, ttl, wait } => {
            let beside: Vec<&String> = releases.iter().map(|(text, _)| text).collect();
            let found = next(session, *wanted, ttl, wait, call.clone().beside(&beside)).await?;
            call = call.part("releases");
            (Vec::new(), found)
        }
    };
    let command = Claim {
        project: session.project().clone(),
        claims: named.iter().filter_map(|(_, claim)| claim.as_ref().ok().cloned()).collect(),
        releases: releases.iter().filter_map(|(_, item)| item.as_ref().ok().cloned()).collect(),
        ready_only: false,
    };
    let (mut placed, mut ended) = (Vec::new().into_iter(), Vec::new().into_iter());
    if !command.claims.is_empty() || !command.releases.is_empty() {
        let done = session.engine().run(call.clone(), command).await?;
        placed = done.claims.into_iter();
        ended = done.releases.into_iter();
        answer.auto_released.extend(done.auto_released);
    }
    for (text, claim) in named {
        answer.claim_results.push(match claim {
            Ok(_) => placed.next().map_or_else(ClaimRow::default, |result| claim_row(&call, result)),
            Err(error) => not_found(&text, error.message),
        });
    }
    for (text, item) in releases {
        answer.release_results.push(match item {
            Ok(_) => ended.next().map_or_else(|| lost_release(&text, None), release_row),
            Err(error) => lost_release(&text, Some(error.message)),
        });
    }
    Ok(answer)
}

async fn next(
    session: &Session,
    wanted: Wanted,
    ttl: Option<Ttl>,
    wait: Duration,
    call: Call,
) -> Result<ClaimAnswer, Error> {
    let role = wanted.role;
    let command = ClaimNext { project: session.project().clone(), wanted, ttl };
    let offer = session.engine().claim_next_waiting(call.clone(), command, wait, |time| session.sleep(time)).await?;
    let row = if let (Some(held), Some(item)) = (offer.held, offer.item) {
        let key = session.keys(std::iter::once(&*item)).await.of(&item);
        ClaimRow { key, title: Some(item.title.to_string()), ..held_row(&call, *held) }
    } else {
        // One is enough to know that there are some.
        let open = Filter {
            project: session.project().clone(),
            roles: role.into_iter().collect(),
            limit: 1,
            ..Filter::default()
        };
        let none = session.engine().find(&open).await?.items.is_empty();
        let outcome = if none { "queue_empty" } else { "none_eligible" };
        ClaimRow { outcome, kind: Some(Kind::Transient), ..ClaimRow::default() }
    };
    Ok(ClaimAnswer { claim_results: vec![row], auto_released: offer.auto_released, ..ClaimAnswer::default() })
}

fn held_row(call: &Call, held: Held) -> ClaimRow {
    ClaimRow {
        item_id: Some(held.item.to_string()),
        outcome: SUCCESS,
        claimed_by: Some(call.shown(held.claim.holder)),
        claimed_at: Some(held.claim.claimed_at),
        claim_expires_at: held.claim.expires_at,
        original_claimed_at: Some(held.claim.original_claimed_at),
        fence: Some(held.fence),
        ..ClaimRow::default()
    }
}

fn claim_row(call: &Call, result: ClaimResult) -> ClaimRow {
    let item_id = Some(result.item.map_or_else(|| echo(&result.asked), |id| id.to_string()));
    match result.outcome {
        ClaimOutcome::Held(held) => held_row(call, *held),
        ClaimOutcome::AlreadyClaimed { retry_after_ms } => ClaimRow {
            item_id,
            outcome: "already_claimed",
            kind: Some(Kind::Transient),
            contended_item_id: result.item,
            retry_after_ms,
            ..ClaimRow::default()
        },
        ClaimOutcome::Terminal => ClaimRow { item_id, outcome: "terminal_item", ..ClaimRow::default() },
        ClaimOutcome::NotReady => {
            ClaimRow { item_id, outcome: "not_ready", kind: Some(Kind::Transient), ..ClaimRow::default() }
        }
        ClaimOutcome::OverLimit { .. } => {
            let error = result.outcome.refusal(&result.asked).map(|error| error.message);
            ClaimRow { item_id, outcome: "claim_limit", kind: Some(Kind::Permanent), error, ..ClaimRow::default() }
        }
        ClaimOutcome::NotFound(error) => not_found(&result.asked, error.message),
    }
}

fn not_found(asked: &str, error: String) -> ClaimRow {
    ClaimRow { item_id: Some(echo(asked)), outcome: "not_found", error: Some(error), ..ClaimRow::default() }
}

fn release_row(result: ReleaseResult) -> ReleaseRow {
    let item_id = result.item.map_or_else(|| echo(&result.asked), |id| id.to_string());
    match result.outcome {
        ReleaseOutcome::Released => ReleaseRow { item_id, outcome: SUCCESS, error: None },
        ReleaseOutcome::NotClaimedByYou => ReleaseRow { item_id, outcome: "not_claimed_by_you", error: None },
        ReleaseOutcome::NotFound(error) => ReleaseRow { item_id, outcome: "not_found", error: Some(error.message) },
    }
}

fn lost_release(asked: &str, error: Option<String>) -> ReleaseRow {
    ReleaseRow { item_id: echo(asked), outcome: "not_found", error }
}
