//! Claims and releases items by name.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Map;

use crate::access::{Needs, Profile, Reach};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::{Code, Error, Kind, Reason};
use crate::model::{Claim as Lease, Fence, Item, ItemId, ItemRef, Name, Ttl, Verb};
use crate::plant::{Bug, planted};
use crate::store::{ProjectRef, Scope, Slice};

/// One item to be claimed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClaimRequest {
    /// The item.
    pub item: ItemRef,
    /// How long; the workflow's default where nothing is said.
    pub ttl: Option<Ttl>,
}

/// Claims and releases items.
#[derive(Clone, Debug, Serialize)]
pub struct Claim {
    /// The project the items are looked up in.
    pub project: ProjectRef,
    /// What is to be claimed.
    pub claims: Vec<ClaimRequest>,
    /// What is to be released, after that.
    pub releases: Vec<ItemRef>,
    /// Whether only work that is ready may be claimed.
    pub ready_only: bool,
}

/// A claim that the caller holds.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Held {
    /// The item.
    pub item: ItemId,
    /// The lease.
    pub claim: Lease,
    /// To be carried by every later write.
    pub fence: Fence,
}

/// How a claim ended.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ClaimOutcome {
    /// The caller holds it.
    Held(Box<Held>),
    /// Somebody else does, for this long at the most.
    AlreadyClaimed {
        /// Milliseconds until the lease ends; none when it runs until released.
        #[serde(default, rename = "retryAfterMs", skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
    },
    /// The item is closed.
    Terminal,
    /// The item is not ready.
    NotReady,
    /// Earlier claims of the same call are as many as an agent may hold: one more would end one of them.
    OverLimit {
        /// How many an agent may hold.
        limit: usize,
    },
    /// There is no such item, or its name is ambiguous.
    NotFound(Box<Error>),
}

impl ClaimOutcome {
    /// What to say of a claim that was not placed; `asked` is the item as the caller spelled it.
    pub fn refusal(&self, asked: &str) -> Option<Error> {
        match self {
            Self::Held(_) => None,
            Self::AlreadyClaimed { retry_after_ms } => {
                let message = format!("{asked} is claimed by somebody else");
                let error = Error::new(Kind::Transient, Code::Conflict, Reason::AlreadyClaimed, message);
                Some(Error { retry_after_ms: *retry_after_ms, ..error })
            }
            Self::Terminal => Some(Error::conflict(Reason::Terminal, format!("{asked} is closed: reopen it first"))),
            Self::NotReady => Some(Error::conflict(Reason::NotReady, format!("{asked} is not ready: ask why"))),
            Self::OverLimit { limit } => Some(Error::new(
                Kind::Permanent,
                Code::Validation,
                Reason::ClaimLimit,
                format!("{asked} was not claimed: an agent may hold {limit} claim(s) at a time"),
            )),
            Self::NotFound(error) => Some(Error::clone(error)),
        }
    }
}

/// How one claim ended.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimResult {
    /// The item as the caller spelled it.
    pub asked: String,
    /// What that meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<ItemId>,
    /// How it ended.
    pub outcome: ClaimOutcome,
}

/// How a release ended.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReleaseOutcome {
    /// The claim is gone.
    Released,
    /// The caller does not hold it.
    NotClaimedByYou,
    /// There is no such item, or its name is ambiguous.
    NotFound(Box<Error>),
}

/// How one release ended.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleaseResult {
    /// The item as the caller spelled it.
    pub asked: String,
    /// What that meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<ItemId>,
    /// How it ended.
    pub outcome: ReleaseOutcome,
}

/// How claims and releases ended, each in order.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Claimed {
    /// The claims.
    pub claims: Vec<ClaimResult>,
    /// The releases.
    pub releases: Vec<ReleaseResult>,
    /// Earlier claims that ended because the agent may hold no more.
    pub auto_released: Vec<ItemId>,
}

impl Command for Claim {
    type Output = Claimed;
    const NAME: &'static str = "claim";
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Item);

    fn scope(&self, call: &Call) -> Scope {
        let mut items: Vec<ItemRef> = self.claims.iter().map(|claim| claim.item.clone()).collect();
        items.extend(self.releases.iter().cloned());
        items.sort_unstable();
        items.dedup();
        let held_by = call.holder().ok().filter(|_| !self.claims.is_empty()).into_iter().collect();
        Scope { project: self.project.clone(), items, held_by, ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<Claimed>, Error> {
        if self.claims.is_empty() && self.releases.is_empty() {
            return Err(Error::validation(Reason::TooFew, "at least one claim or release is needed"));
        }
        let most = call.access.limits.batch;
        if self.claims.len() + self.releases.len() > most {
            let message = format!("claims and releases must be at most {most}");
            return Err(Error::validation(Reason::BatchTooLarge, message));
        }
        let holder = call.holder()?;
        let mut draft = Draft::new(call, seen);
        let wanted = self.claims.iter().filter_map(|request| seen.resolve(&request.item).ok());
        let wanted: BTreeSet<ItemId> = wanted.map(|item| item.id).collect();
        // What is handed back goes first, so that handing over in one call is not taken for holding too much; what is
        // claimed and released in one call is released after it.
        let late = |item: &ItemRef| seen.resolve(item).is_ok_and(|item| wanted.contains(&item.id));
        let mut outcomes: Vec<Option<ReleaseResult>> = vec![None; self.releases.len()];
        for (place, item) in outcomes.iter_mut().zip(&self.releases).filter(|(_, item)| !late(item)) {
            *place = Some(release(&mut draft, item, &holder));
        }
        let mut placed: BTreeSet<ItemId> = BTreeSet::new();
        let mut claims = Vec::with_capacity(self.claims.len());
        for request in &self.claims {
            claims.push(self.claim(&mut draft, request, &holder, &mut placed)?);
        }
        let auto_released = release_oldest(&mut draft, &holder, &placed)?;
        for (place, item) in outcomes.iter_mut().zip(&self.releases).filter(|(_, item)| late(item)) {
            *place = Some(release(&mut draft, item, &holder));
        }
        let releases = outcomes.into_iter().flatten().collect();
        Ok(Decision::done(draft.finish(), Claimed { claims, releases, auto_released }))
    }
}

impl Claim {
    /// Claims one item, unless what this call has `placed` already is all that the agent may hold.
    pub(super) fn claim(
        &self,
        draft: &mut Draft<'_>,
        request: &ClaimRequest,
        holder: &Name,
        placed: &mut BTreeSet<ItemId>,
    ) -> Result<ClaimResult, Error> {
        let asked = request.item.to_string();
        let id = match draft.seen.resolve(&request.item) {
            Ok(item) => item.id,
            Err(error) => {
                return Ok(ClaimResult { asked, item: None, outcome: ClaimOutcome::NotFound(Box::new(error)) });
            }
        };
        let item = draft.expect(id)?;
        let limit = cap_of(draft, item)?;
        let outcome = if !item.role.is_open() {
            ClaimOutcome::Terminal
        } else if let Some(other) =
            item.live_claim(draft.now).filter(|claim| claim.holder != *holder && !planted(Bug::ClaimsOverlap))
        {
            ClaimOutcome::AlreadyClaimed { retry_after_ms: other.remaining_ms(draft.now) }
        } else if self.ready_only && !item.derived.offered && !item.is_held_by(holder, draft.now) {
            ClaimOutcome::NotReady
        } else if limit > 0 && placed.len() >= limit && !placed.contains(&id) {
            ClaimOutcome::OverLimit { limit }
        } else {
            placed.insert(id);
            ClaimOutcome::Held(Box::new(place(draft, id, holder, request.ttl)?))
        };
        Ok(ClaimResult { asked, item: Some(id), outcome })
    }
}

/// As long as a lease was given for, cut to what may be given now: nobody loses work for a limit that was lowered meanwhile.
pub(super) fn as_before(draft: &Draft<'_>, claim: &Lease) -> Option<Ttl> {
    Ttl::parse(i64::from(claim.ttl_seconds.min(draft.call.access.limits.lease_seconds))).ok()
}

/// Places or extends a claim that nothing stands in the way of.
pub(super) fn place(draft: &mut Draft<'_>, id: ItemId, holder: &Name, ttl: Option<Ttl>) -> Result<Held, Error> {
    let item = draft.expect(id)?;
    let project = draft.project_of(item)?;
    let most = draft.call.access.limits.lease_seconds;
    if let Some(asked) = ttl.filter(|ttl| ttl.seconds() > most) {
        let message = format!("a lease must be at most {most} seconds, not {}", asked.seconds());
        return Err(Error::validation(Reason::BadTtl, message).at("ttlSeconds"));
    }
    let ttl_seconds = ttl.map_or(project.workflow.claims.ttl_seconds.min(most), Ttl::seconds);
    let now = draft.now;
    let mine = item.claim.as_ref().filter(|claim| claim.holder == *holder);
    let same_hands = mine.is_some();
    if let Some(claim) = mine.filter(|claim| ttl_seconds == 0 && claim.expires_at.is_none()).cloned() {
        // A claim that lasts until it is released is not extended by claiming again: nothing is done.
        return Ok(Held { item: id, claim, fence: item.fence });
    }
    let claim = Lease {
        holder: holder.clone(),
        claimed_at: now,
        expires_at: (ttl_seconds > 0).then(|| now.plus_seconds(ttl_seconds)),
        original_claimed_at: mine.map_or(now, |claim| claim.original_claimed_at),
        ttl_seconds,
    };
    draft.set_claim(id, Some(claim.clone()), !same_hands);
    draft.record(Verb::Claimed, id, None, Map::new());
    Ok(Held { item: id, claim, fence: draft.expect(id)?.fence })
}

/// Ends the agent's oldest other claims beyond what it may hold.
pub(super) fn release_oldest(
    draft: &mut Draft<'_>,
    holder: &Name,
    keep: &BTreeSet<ItemId>,
) -> Result<Vec<ItemId>, Error> {
    let kept = keep.iter().filter(|id| draft.item(**id).is_some_and(|item| item.is_held_by(holder, draft.now))).count();
    if kept == 0 {
        return Ok(Vec::new());
    }
    let mut others: Vec<&Item> = draft
        .seen
        .held
        .iter()
        .filter_map(|id| draft.item(*id))
        .filter(|item| item.claim.as_ref().is_some_and(|claim| claim.holder == *holder) && !keep.contains(&item.id))
        .collect();
    others.sort_by_key(|item| (item.claim.as_ref().map(|claim| claim.claimed_at), item.id));
    let cap = match others.first() {
        Some(item) => cap_of(draft, item)?,
        None => 0,
    };
    if cap == 0 {
        return Ok(Vec::new());
    }
    // A claim that ran out still counts: an agent that moves on leaves nothing behind under its name.
    let too_many = (others.len() + kept).saturating_sub(cap);
    let ended: Vec<ItemId> = others.iter().take(too_many).map(|item| item.id).collect();
    for id in &ended {
        draft.set_claim(*id, None, false);
        draft.record(Verb::Released, *id, None, Map::new());
    }
    Ok(ended)
}

fn cap_of(draft: &Draft<'_>, item: &Item) -> Result<usize, Error> {
    Ok(draft.project_of(item)?.workflow.claims.per_agent as usize)
}

fn release(draft: &mut Draft<'_>, item: &ItemRef, holder: &Name) -> ReleaseResult {
    let asked = item.to_string();
    let id = match draft.seen.resolve(item) {
        Ok(item) => item.id,
        Err(error) => return ReleaseResult { asked, item: None, outcome: ReleaseOutcome::NotFound(Box::new(error)) },
    };
    let mine = draft.item(id).and_then(|item| item.claim.as_ref()).is_some_and(|claim| claim.holder == *holder);
    if !mine {
        return ReleaseResult { asked, item: Some(id), outcome: ReleaseOutcome::NotClaimedByYou };
    }
    draft.set_claim(id, None, false);
    draft.record(Verb::Released, id, None, Map::new());
    ReleaseResult { asked, item: Some(id), outcome: ReleaseOutcome::Released }
}
