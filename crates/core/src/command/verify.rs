//! Takes in evidence for acceptance criteria, all of it or none.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::brief::no_criterion;
use super::{check_batch, guard, keep_lease};
use crate::access::{Needs, Profile, Reach};
use crate::contract::{Verdict, verdict};
use crate::engine::{Call, Command, Decision, Draft, Engine};
use crate::error::{Code, Error, Gate, Kind, Reason, Refusal, UnprovedCriterion, echo};
use crate::limits;
use crate::model::{
    About, ActorKind, Authority, Brief, Criterion, CriterionId, Evidence, Fence, ItemId, ItemRef, Text, Verb,
};
use crate::store::{Around, ProjectRef, Scope, Slice};

/// What was found of one criterion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Proof {
    /// The criterion.
    pub criterion: CriterionId,
    /// Whether it holds.
    pub passed: bool,
    /// What was seen.
    pub note: Option<Text>,
}

/// Verifies criteria of one item.
#[derive(Clone, Debug, Serialize)]
pub struct Verify {
    /// The project the item is looked up in.
    pub project: ProjectRef,
    /// The item.
    pub item: ItemRef,
    /// What was found.
    pub proofs: Vec<Proof>,
    /// Whose word it is. A person's is taken from a person alone.
    pub authority: Authority,
    /// The fence of the caller's claim.
    pub fence: Option<Fence>,
}

/// How the item stands after it.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verified {
    /// The item.
    pub item: ItemId,
    /// How far it is shown.
    pub verdict: Verdict,
    /// The item's version now.
    pub version: u64,
}

impl Command for Verify {
    type Output = Verified;
    const NAME: &'static str = "verify";
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Item);

    fn scope(&self, _call: &Call) -> Scope {
        let around = Around { briefs: true, ..Around::default() };
        Scope { project: self.project.clone(), items: vec![self.item.clone()], around, ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<Verified>, Error> {
        let mut draft = Draft::new(call, seen);
        let item = seen.resolve(&self.item)?;
        let id = item.id;
        // A person signs off what an agent holds.
        if self.authority == Authority::Agent || self.fence.is_some() {
            guard(&draft, item, None, self.fence)?;
        }
        take_proofs(&mut draft, id, &self.proofs, self.authority)?;
        let verdict = verdict(draft.brief(id));
        let version = draft.expect(id)?.version;
        Ok(Decision::done(draft.finish(), Verified { item: id, verdict, version }))
    }
}

/// Takes proofs in, all or none.
pub(super) fn take_proofs(
    draft: &mut Draft<'_>,
    id: ItemId,
    proofs: &[Proof],
    authority: Authority,
) -> Result<(), Error> {
    check_batch("criteria", proofs.len(), limits::CRITERIA)?;
    check_authority(draft.call, authority)?;
    let mut brief = draft.brief(id).cloned().unwrap_or_default();
    let by = draft.call.actor()?.clone();
    let mut changed: Vec<CriterionId> = Vec::with_capacity(proofs.len());
    for (index, proof) in proofs.iter().enumerate() {
        let field = format!("criteria[{index}]");
        if changed.contains(&proof.criterion) {
            let message = format!("{} is named twice", proof.criterion);
            return Err(Error::validation(Reason::Duplicate, message).at(field));
        }
        let criterion = find(&mut brief, proof.criterion).ok_or_else(|| no_criterion(proof.criterion).at(field))?;
        if authority < Authority::Human && criterion.verifier == Authority::Human {
            return Err(not_yours(
                id,
                criterion,
                "is for a person to sign off",
                "ask a person, or flag the item for attention",
            ));
        }
        if authority < Authority::Check && criterion.verifier == Authority::Check {
            let remedy = "have the check that proves it run, add one where there is none, or have a person sign it off";
            return Err(not_yours(id, criterion, "is for a check to show", remedy));
        }
        if proof.note.as_ref().is_some_and(|note| note.as_str().len() > limits::SUMMARY_BYTES) {
            let message = format!("a note must be at most {} bytes", limits::SUMMARY_BYTES);
            return Err(Error::validation(Reason::TooLong, message).at(format!("criteria[{index}].note")));
        }
        criterion.take(Evidence {
            authority,
            passed: proof.passed,
            note: proof.note.clone(),
            by: by.clone(),
            at: draft.now,
            about: About::of(&criterion.text),
        });
        changed.push(proof.criterion);
    }
    keep_lease(draft, id, None)?;
    let shown: Vec<&Criterion> = changed.iter().filter_map(|id| brief.criterion(*id)).collect();
    let mut data = Map::new();
    data.insert("criteria".to_owned(), serde_json::to_value(shown).unwrap_or(Value::Null));
    draft.put_brief(id, brief, Verb::Verified, None, data);
    Ok(())
}

fn find(brief: &mut Brief, id: CriterionId) -> Option<&mut Criterion> {
    brief.acceptance_criteria.iter_mut().find(|criterion| criterion.id == id)
}

/// Refuses a person's word from anybody else, and a check's from anybody: checks are run, not told.
pub(super) fn check_authority(call: &Call, authority: Authority) -> Result<(), Error> {
    let forbidden = |message: &str| Err(Error::new(Kind::Permanent, Code::Forbidden, Reason::NotYours, message));
    match authority {
        Authority::Agent => Ok(()),
        Authority::Check => forbidden("a check's evidence comes from running it"),
        Authority::Human => {
            call.access.check(Needs::new(Profile::Operator, Reach::Item))?;
            if is_agent(call) {
                return forbidden("only a person signs off: the caller acts as an agent");
            }
            Ok(())
        }
    }
}

fn not_yours(item: ItemId, criterion: &Criterion, whose: &str, remedy: &str) -> Error {
    let message = format!("{} \"{}\" {whose}", criterion.id, echo(criterion.text.as_str()));
    let unproved = vec![UnprovedCriterion::of(criterion)];
    let refusal = Refusal { unproved, reason: Some(Reason::NotYours), ..Refusal::new(Gate::Criteria, message, remedy) };
    Error { contended_item: Some(item), ..Error::blocked("verification refused", vec![refusal]) }
}

/// Whether the caller says that it is no person.
pub(crate) fn is_agent(call: &Call) -> bool {
    match call.by.as_ref().map(|by| by.actor.kind) {
        None | Some(ActorKind::User) => false,
        Some(ActorKind::Orchestrator | ActorKind::Subagent | ActorKind::External) => true,
    }
}

/// Whose word a call counts as: a person's, if it may be one.
pub(super) fn authority_of(call: &Call) -> Authority {
    let may = call.access.allows(Needs::new(Profile::Operator, Reach::Item)) && !is_agent(call);
    if may { Authority::Human } else { Authority::Agent }
}

impl Engine {
    /// Whose word a call counts as, where it comes by a way that people use: a person's, if it may be one.
    pub fn authority_of(&self, call: &Call) -> Authority {
        authority_of(&Call { access: std::sync::Arc::clone(&self.access), ..call.clone() })
    }
}
