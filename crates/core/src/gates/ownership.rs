//! Refuses a write on an item that somebody else holds, and a write by a holder whose lease went to another.

use super::Attempt;
use crate::engine::Draft;
use crate::error::{Code, Error, Gate, Kind, Reason, Refusal};
use crate::model::{Claim, Fence, Item, Name, Timestamp};
use crate::workflow::ClaimRules;

/// Who wants to write.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The identity that may hold claims.
    pub holder: Name,
    /// Whether somebody said that they act, or it is only known who is connected.
    pub stated: bool,
    /// Whether a key or a token says who is connected, and not one of a person's.
    pub keyed: bool,
    /// The fence the caller got with its claim, where it carries one.
    pub fence: Option<Fence>,
}

/// The gate on moves: whoever moves a claimed item must hold it.
pub(super) fn check(draft: &Draft<'_>, attempt: &Attempt<'_>) -> Option<Refusal> {
    let caller = attempt.caller.as_ref()?;
    let project = draft.project_of(attempt.item).ok()?;
    if !guards(project.workflow.claims, caller) {
        return None;
    }
    refusal(attempt.item, caller, draft.now)
}

/// The same rule for writes that are not moves. A writer who states no identity is let through on an item that is
/// claimed: surfaces without a place for an actor would lock the holder itself out. What another key or token claimed is none
/// of the holder's own, whatever its surface has a place for.
pub fn check_owner(item: &Item, caller: &Caller, now: Timestamp) -> Result<(), Error> {
    if !caller.stated && caller.fence.is_none() && !(caller.keyed && is_of_another(item, caller, now)) {
        return Ok(());
    }
    check_holder(item, caller, now)
}

/// Whether an item is claimed by way of another principal. A caller that states nobody holds claims as its principal.
fn is_of_another(item: &Item, caller: &Caller, now: Timestamp) -> bool {
    item.live_claim(now).is_some_and(|claim| !claim.holder.is_known_to(&caller.holder))
}

/// The same rule without that exception, for what cannot be taken back.
pub fn check_holder(item: &Item, caller: &Caller, now: Timestamp) -> Result<(), Error> {
    let Some(refusal) = refusal(item, caller, now) else { return Ok(()) };
    let reason = refusal.reason.unwrap_or(Reason::AlreadyClaimed);
    let (kind, code) = if reason == Reason::ForeignClaim {
        (Kind::Permanent, Code::Forbidden)
    } else if reason == Reason::ClaimLost {
        (Kind::Permanent, Code::Conflict)
    } else {
        (Kind::Transient, Code::Conflict)
    };
    Err(Error {
        retry_after_ms: refusal.retry_after_ms,
        contended_item: Some(item.id),
        ..Error::new(kind, code, reason, refusal.message.clone())
    })
}

/// Whether a claim keeps this caller out. Where it only says whose an item is, whoever carries a fence is held to it all the
/// same: it asked to be.
pub fn guards(rules: ClaimRules, caller: &Caller) -> bool {
    rules.guarded || caller.fence.is_some()
}

/// The lease after a write by its holder: extended, where the workflow says so.
pub fn renew(rules: ClaimRules, item: &Item, holder: &Name, now: Timestamp) -> Option<Claim> {
    let claim =
        item.claim.as_ref().filter(|claim| rules.renew_on_write && claim.holder == *holder && claim.is_live(now))?;
    let expires_at = claim.expires_at.map(|end| end.max(now.plus_seconds(claim.ttl_seconds)));
    (expires_at != claim.expires_at).then(|| Claim { expires_at, ..claim.clone() })
}

fn refusal(item: &Item, caller: &Caller, now: Timestamp) -> Option<Refusal> {
    let lost = |message: &str, reason| Refusal {
        reason: Some(reason),
        ..Refusal::new(Gate::Ownership, message, "claim the item again before writing to it")
    };
    match caller.fence {
        Some(fence) if fence < item.fence => {
            return Some(lost("claim lost: the item has changed hands since this claim was made", Reason::ClaimLost));
        }
        Some(fence) if fence > item.fence => {
            return Some(lost("this fence was never given out for this item", Reason::ForeignClaim));
        }
        Some(_) | None => {}
    }
    let claim = item.live_claim(now).filter(|claim| claim.holder != caller.holder)?;
    if caller.fence.is_some() {
        return Some(lost("this fence belongs to another agent's claim", Reason::ForeignClaim));
    }
    let until = claim.expires_at.map_or_else(|| "until it is released".to_owned(), |end| format!("until {end}"));
    let message = if caller.stated || (caller.keyed && !claim.holder.is_known_to(&caller.holder)) {
        format!("ownership check failed: the item is claimed by a different agent {until}")
    } else {
        format!("the item is claimed by another agent {until}; if that agent is the caller, say so by naming the actor")
    };
    Some(Refusal {
        retry_after_ms: claim.remaining_ms(now),
        reason: Some(Reason::AlreadyClaimed),
        ..Refusal::new(Gate::Ownership, message, "wait until the claim is released or runs out, or choose other work")
    })
}
