//! Takes one item for a while: the answer is the item with the lease, so that nothing has to be read after it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::claim::{Claim, ClaimOutcome, ClaimRequest, Held, release_oldest};
use crate::access::{Needs, Profile, Reach};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::{Error, Reason};
use crate::model::{Item, ItemId, ItemRef, Timestamp, Ttl};
use crate::store::{ProjectRef, Scope, Slice};

/// Takes an item that is ready. Whoever holds it already is told the lease as it is; a sign of life is what extends it.
#[derive(Clone, Debug, Serialize)]
pub struct Take {
    /// The project the item is looked up in.
    pub project: ProjectRef,
    /// The item.
    pub item: ItemRef,
    /// How long; the workflow's default where nothing is said.
    pub ttl: Option<Ttl>,
}

/// The item, and the lease on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// The item as it was then.
    pub item: Item,
    /// When that was.
    pub at: Timestamp,
    /// The claim.
    pub held: Held,
}

impl Take {
    fn claim(&self) -> Claim {
        let claims = vec![ClaimRequest { item: self.item.clone(), ttl: self.ttl }];
        Claim { project: self.project.clone(), claims, releases: Vec::new(), ready_only: true }
    }
}

impl Command for Take {
    type Output = Taken;
    const NAME: &'static str = "take";
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Item);

    fn scope(&self, call: &Call) -> Scope {
        self.claim().scope(call)
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<Taken>, Error> {
        let mut draft = Draft::new(call, seen);
        let holder = call.holder()?;
        let item = seen.resolve(&self.item)?;
        let at = draft.now;
        if let Some(claim) = item.live_claim(at).filter(|claim| claim.holder == holder).cloned() {
            let held = Held { item: item.id, claim, fence: item.fence };
            return Ok(Decision::done(draft.finish(), Taken { item: item.clone(), at, held }));
        }
        let command = self.claim();
        let mut placed: BTreeSet<ItemId> = BTreeSet::new();
        let request = ClaimRequest { item: self.item.clone(), ttl: self.ttl };
        let result = command.claim(&mut draft, &request, &holder, &mut placed)?;
        if let Some(error) = result.outcome.refusal(&self.item.to_string()) {
            return Err(Error { contended_item: Some(item.id), ..error });
        }
        let ClaimOutcome::Held(held) = result.outcome else {
            return Err(Error::conflict(Reason::StoreFailed, "the claim was not placed"));
        };
        release_oldest(&mut draft, &holder, &placed)?;
        let item = draft.expect(item.id)?.clone();
        Ok(Decision::done(draft.finish(), Taken { item, at, held: *held }))
    }
}
