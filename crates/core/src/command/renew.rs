//! Extends the lease of whoever holds an item: a sign of life, never a claim.

use serde::{Deserialize, Serialize};

use super::caller;
use super::claim::{Held, as_before, place};
use super::session::hear_of;
use crate::access::{Needs, Profile, Reach};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::{Error, Reason};
use crate::gates::check_holder;
use crate::model::{Fence, ItemRef, Ttl};
use crate::store::{Around, ProjectRef, Scope, Slice};

/// Extends the caller's lease on an item.
#[derive(Clone, Debug, Serialize)]
pub struct Renew {
    /// The project the item is looked up in.
    pub project: ProjectRef,
    /// The item.
    pub item: ItemRef,
    /// How long from now; as long as the lease was given for, where nothing is said.
    pub ttl: Option<Ttl>,
    /// The fence of the caller's claim.
    pub fence: Option<Fence>,
}

/// The lease as it is now.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Renewed {
    /// The claim.
    pub held: Held,
    /// The item's version now.
    pub version: u64,
}

impl Command for Renew {
    type Output = Renewed;
    const NAME: &'static str = "renew";
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Item);

    fn scope(&self, _call: &Call) -> Scope {
        let around = Around { sessions: true, ..Around::default() };
        Scope { project: self.project.clone(), items: vec![self.item.clone()], around, ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<Renewed>, Error> {
        let mut draft = Draft::new(call, seen);
        let item = seen.resolve(&self.item)?;
        let id = item.id;
        check_holder(item, &caller(call, None, self.fence)?, draft.now)?;
        let holder = call.holder()?;
        // A lease that has run out is not brought back: somebody may have been told that the item is free.
        let Some(claim) = item.live_claim(draft.now).filter(|claim| claim.holder == holder) else {
            let message = "the caller holds no live claim on the item: start work on it again";
            return Err(Error { contended_item: Some(id), ..Error::conflict(Reason::ClaimLost, message) });
        };
        let ttl = self.ttl.or_else(|| as_before(&draft, claim));
        let held = place(&mut draft, id, &holder, ttl)?;
        hear_of(&mut draft, id)?;
        let version = draft.expect(id)?.version;
        Ok(Decision::done(draft.finish(), Renewed { held, version }))
    }
}
