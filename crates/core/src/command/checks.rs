//! Writes the checks of an item, lets them run, and takes a person's word for those that only a person can make.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::verify::{check_authority, is_agent};
use super::{check_version, guard, keep_lease};
use crate::access::{Needs, Profile, Reach};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::{Code, Error, Kind, Reason, echo};
use crate::limits;
use crate::model::{
    About, Approval, Authority, Brief, Check, CheckKind, CheckResult, CriterionId, Evidence, Fence, ItemId, ItemRef,
    Name, Text, Tree, Verb, VerificationKind,
};
use crate::store::{Around, ProjectRef, Scope, Slice};

/// One check as its author wants it. One that says the same as one that is there keeps its approval and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NewCheck {
    /// What it verifies.
    pub desc: Text,
    /// How it is made.
    pub kind: CheckKind,
    /// The acceptance criterion that it proves.
    pub proves: Option<CriterionId>,
}

/// Writes the checks of one item.
#[derive(Clone, Debug, Serialize)]
pub struct SetChecks {
    /// The project the item is looked up in.
    pub project: ProjectRef,
    /// The item.
    pub item: ItemRef,
    /// The list, whole, or what is added to it.
    pub checks: Vec<NewCheck>,
    /// Whether they are added; otherwise they take the place of what was there.
    pub add: bool,
    /// Refuses unless the item still has this version.
    pub expected_version: Option<u64>,
    /// The fence of the caller's claim.
    pub fence: Option<Fence>,
    /// Whose word it is. What a person wrote is taken away by a person alone.
    pub authority: Authority,
}

/// Lets checks run, exactly as they are.
#[derive(Clone, Debug, Serialize)]
pub struct ApproveChecks {
    /// The project the item is looked up in.
    pub project: ProjectRef,
    /// The item.
    pub item: ItemRef,
    /// Which of them, by place; all, where none is named.
    pub only: Vec<usize>,
    /// The version of the item that was read: what is let run is exactly that.
    pub expected_version: u64,
}

impl ApproveChecks {
    /// What a caller is told who does not say which version was read.
    pub fn unread() -> Error {
        let message = "version is required: the one that was read, for that is what is let run";
        Error::validation(Reason::MissingField, message).at("version")
    }
}

/// A person's word on a check.
#[derive(Clone, Debug, Serialize)]
pub struct Attest {
    /// The project the item is looked up in.
    pub project: ProjectRef,
    /// The item.
    pub item: ItemRef,
    /// Which one, by place.
    pub check: usize,
    /// Whether it holds.
    pub passed: bool,
    /// What was seen.
    pub note: Option<Text>,
    /// The work tree that was looked at, where it could be seen.
    pub tree: Option<Tree>,
    /// Refuses unless the item still has this version: a place means what it meant when it was read.
    pub expected_version: Option<u64>,
}

/// The checks as they are now.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChecksSet {
    /// The item.
    pub item: ItemId,
    /// Its checks.
    pub checks: Vec<Check>,
    /// What completing it asks for.
    pub verification: VerificationKind,
    /// The item's version now.
    pub version: u64,
    /// Whether the item was closed by it: it was handed in, and everything is shown now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
}

fn scope(project: &ProjectRef, item: &ItemRef) -> Scope {
    let around = Around { briefs: true, ..Around::default() };
    Scope { project: project.clone(), items: vec![item.clone()], around, ..Scope::default() }
}

fn answer(draft: Draft<'_>, id: ItemId) -> Result<Decision<ChecksSet>, Error> {
    let checks = draft.brief(id).map(|brief| brief.checks.clone()).unwrap_or_default();
    let version = draft.expect(id)?.version;
    let verification = VerificationKind::of(&checks);
    Ok(Decision::done(draft.finish(), ChecksSet { item: id, checks, verification, version, closed: false }))
}

/// Writes checks, and the criteria that they prove, with the event that says so.
pub(super) fn write_checks(draft: &mut Draft<'_>, id: ItemId, brief: Brief, verb: Verb, mut data: Map<String, Value>) {
    let before = draft.brief(id).cloned().unwrap_or_default();
    data.insert("checks".to_owned(), serde_json::to_value(&brief.checks).unwrap_or(Value::Null));
    let changed = |criterion: &&crate::model::Criterion| before.criterion(criterion.id) != Some(*criterion);
    let criteria: Vec<_> = brief.acceptance_criteria.iter().filter(changed).collect();
    if !criteria.is_empty() {
        data.insert("criteria".to_owned(), serde_json::to_value(criteria).unwrap_or(Value::Null));
    }
    if brief.closes_when_shown != before.closes_when_shown {
        data.insert("closesWhenShown".to_owned(), Value::Bool(brief.closes_when_shown));
    }
    if brief.handed_in_at != before.handed_in_at {
        data.insert("handedInAt".to_owned(), serde_json::to_value(&brief.handed_in_at).unwrap_or(Value::Null));
    }
    draft.put_brief(id, brief, verb, None, data);
}

/// Takes in what became of a check, as its result and as evidence for the criterion that it proves.
///
/// It shows the words that the criterion had when it was begun, not those that somebody wrote meanwhile; what passed and changed the
/// work tree shows nothing.
pub(super) fn take_result(
    brief: &mut Brief,
    index: usize,
    result: CheckResult,
    authority: Authority,
    words: Option<About>,
) {
    let Some(check) = brief.checks.get_mut(index) else { return };
    let proves = check.proves.filter(|_| !(result.passed && result.tree_changed));
    let found = brief.acceptance_criteria.iter_mut().find(|criterion| Some(criterion.id) == proves);
    if let (Some(criterion), Some(about)) = (found, words) {
        criterion.take(Evidence {
            authority,
            passed: result.passed,
            note: result.note.clone(),
            by: result.by.clone(),
            at: result.at,
            about,
        });
    }
    check.result = Some(result);
}

impl Command for SetChecks {
    type Output = ChecksSet;
    const NAME: &'static str = "set-checks";
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Item);

    fn scope(&self, _call: &Call) -> Scope {
        scope(&self.project, &self.item)
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<ChecksSet>, Error> {
        let mut draft = Draft::new(call, seen);
        let item = seen.resolve(&self.item)?;
        let id = item.id;
        check_version(item, self.expected_version)?;
        guard(&draft, item, None, self.fence)?;
        check_authority(call, self.authority)?;
        let before = draft.brief(id).cloned().unwrap_or_default();
        let mut checks = if self.add { before.checks.clone() } else { Vec::new() };
        checks.extend(self.revised(call, &before)?);
        check_list(&checks)?;
        let kept = |check: &Check| checks.iter().any(|kept| kept.definition() == check.definition());
        let lost = before.checks.iter().find(|check| check.authority > self.authority && !kept(check));
        if let Some(lost) = lost {
            let message =
                format!("\"{}\" was asked for by a person: only a person takes it away", echo(lost.desc.as_str()));
            return Err(Error::new(Kind::Permanent, Code::Forbidden, Reason::NotYours, message));
        }
        if checks != before.checks {
            keep_lease(&mut draft, id, None)?;
            let mut brief = Brief { checks, ..before };
            forget_unproved(&mut brief);
            write_checks(&mut draft, id, brief, Verb::ChecksSet, Map::new());
        }
        answer(draft, id)
    }
}

/// Evidence of checks that are gone, or say something else, is gone with them.
fn forget_unproved(brief: &mut Brief) {
    for criterion in &mut brief.acceptance_criteria {
        let proof = brief.checks.iter().find(|check| check.proves == Some(criterion.id));
        if proof.and_then(Check::current).is_none() {
            criterion.evidence.retain(|evidence| evidence.authority != Authority::Check);
        }
    }
}

impl SetChecks {
    fn revised(&self, call: &Call, before: &Brief) -> Result<Vec<Check>, Error> {
        revised(call, &self.checks, before, self.authority)
    }
}

/// Checks as their author wants them, each with what is known of one that says the same.
pub(super) fn revised(
    call: &Call,
    checks: &[NewCheck],
    before: &Brief,
    authority: Authority,
) -> Result<Vec<Check>, Error> {
    let (author, written_by) = (call.actor()?, call.access.is_shown().then(|| call.principal.clone()));
    let mut revised = Vec::with_capacity(checks.len());
    for (index, new) in checks.iter().enumerate() {
        let field = format!("checks[{index}]");
        check_one(new).map_err(|error| named(error.within(&field)))?;
        if let Some(id) = new.proves.filter(|id| before.criterion(*id).is_none()) {
            return Err(super::brief::no_criterion(id).at(format!("{field}.proves")));
        }
        let fresh = Check {
            desc: new.desc.clone(),
            kind: new.kind.clone(),
            proves: new.proves,
            author: author.clone(),
            written_by: written_by.clone(),
            authority,
            approved: None,
            result: None,
        };
        let earlier = before.checks.iter().find(|check| check.definition() == fresh.definition());
        revised.push(earlier.map_or(fresh, |earlier| Check { proves: new.proves, ..earlier.clone() }));
    }
    Ok(revised)
}

/// An error whose message names its field: a list has many of each.
fn named(error: Error) -> Error {
    let field = error.field.as_deref().unwrap_or_default();
    Error { message: format!("{field} {}", error.message), ..error }
}

fn check_one(new: &NewCheck) -> Result<(), Error> {
    let invalid = |reason, message: &str, field: &str| Err(Error::validation(reason, message).at(field));
    if new.desc.is_blank() {
        return invalid(Reason::Blank, "must not be blank", "desc");
    }
    if new.desc.as_str().len() > limits::TITLE_BYTES {
        return invalid(Reason::TooLong, &format!("must be at most {} bytes", limits::TITLE_BYTES), "desc");
    }
    match &new.kind {
        CheckKind::Manual => Ok(()),
        CheckKind::Command { cmd, timeout_seconds, .. } => {
            if cmd.is_blank() {
                return invalid(Reason::Blank, "must not be blank; leave it out for a manual check", "cmd");
            }
            if cmd.as_str().len() > limits::COMMAND_BYTES {
                return invalid(Reason::TooLong, &format!("must be at most {} bytes", limits::COMMAND_BYTES), "cmd");
            }
            if cmd.as_str().contains(['\n', '\r']) {
                return invalid(Reason::BadChar, "must be one line; put a longer script into a file", "cmd");
            }
            let range = limits::CHECK_SECONDS_ALLOWED;
            if timeout_seconds.is_some_and(|seconds| !range.contains(&seconds)) {
                let message = format!("must be from {} to {} seconds", range.start(), range.end());
                return invalid(Reason::BadValue, &message, "timeout");
            }
            Ok(())
        }
        CheckKind::PullRequest { number, branch, .. } => match (number, branch) {
            (None, None) => invalid(Reason::MissingField, "name the pull request by number or by branch", "number"),
            (Some(0), _) => invalid(Reason::BadValue, "must be 1 or more", "number"),
            (Some(_), Some(_)) => invalid(Reason::BadValue, "name it by number or by branch, not both", "branch"),
            (Some(_), None) | (None, Some(_)) => Ok(()),
        },
    }
}

/// Refuses too many checks, and one that is in the list twice.
pub(super) fn check_list(checks: &[Check]) -> Result<(), Error> {
    if checks.len() > limits::CHECKS {
        let message = format!("must be at most {}, not {}", limits::CHECKS, checks.len());
        return Err(Error::validation(Reason::TooMany, message).at("checks"));
    }
    for (index, check) in checks.iter().enumerate() {
        if checks.iter().take(index).any(|earlier| earlier.definition() == check.definition()) {
            let message = format!("\"{}\" is in the list twice", echo(check.desc.as_str()));
            return Err(Error::validation(Reason::Duplicate, message).at(format!("checks[{index}]")));
        }
    }
    Ok(())
}

/// The error for a place at which there is no check.
pub(super) fn no_check(index: usize, count: usize) -> Error {
    let message = match count {
        0 => "the item has no checks".to_owned(),
        1 => format!("the item has one check, 0, and no check {index}"),
        count => format!("the item has the checks 0 to {}, and no check {index}", count - 1),
    };
    Error::validation(Reason::BadValue, message)
}

/// The places that are meant: those that are named, or all.
pub(crate) fn places(only: &[usize], checks: &[Check], field: &str) -> Result<Vec<usize>, Error> {
    if let Some(index) = only.iter().find(|index| **index >= checks.len()) {
        return Err(no_check(*index, checks.len()).at(field));
    }
    let mut places: Vec<usize> = if only.is_empty() { (0..checks.len()).collect() } else { only.to_vec() };
    places.sort_unstable();
    places.dedup();
    Ok(places)
}

/// Whether a check was written by whoever calls, under whatever name.
fn is_own(call: &Call, check: &Check, by: &Name) -> bool {
    let known = call.access.is_shown() && check.written_by.as_ref() == Some(&call.principal);
    known || check.author == *by
}

impl Command for ApproveChecks {
    type Output = ChecksSet;
    const NAME: &'static str = "approve-checks";
    const NEEDS: Needs = Needs::new(Profile::Operator, Reach::Item);

    fn scope(&self, _call: &Call) -> Scope {
        scope(&self.project, &self.item)
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<ChecksSet>, Error> {
        let mut draft = Draft::new(call, seen);
        let item = seen.resolve(&self.item)?;
        let id = item.id;
        check_version(item, Some(self.expected_version))?;
        let forbidden =
            |message: &str| Err(Error::new(Kind::Permanent, Code::Forbidden, Reason::CheckNotApproved, message));
        if is_agent(call) {
            return forbidden("only a person lets a command run: the caller acts as an agent");
        }
        let by = call.actor()?.clone();
        let mut brief = draft.brief(id).cloned().unwrap_or_default();
        let places = places(&self.only, &brief.checks, "only")?;
        let runs = |index: &&usize| brief.checks.get(**index).is_some_and(|check| check.kind.is_runnable());
        let idle = if self.only.is_empty() { !places.iter().any(|index| runs(&index)) } else { false };
        if let Some(index) = places.iter().find(|index| !self.only.is_empty() && !runs(index)) {
            let message = format!("check {index} is made by a person: there is nothing to let run; attest it instead");
            return Err(Error::conflict(Reason::BadValue, message).at("only"));
        }
        if idle {
            return Err(Error::conflict(
                Reason::BadValue,
                "the item has no check that is run: nothing is to be approved",
            ));
        }
        for index in places {
            let Some(check) = brief.checks.get_mut(index).filter(|check| check.kind.is_runnable()) else { continue };
            if is_own(call, check, &by) && !check.is_approved() {
                return forbidden(
                    "whoever wrote a check does not approve it: have another person do it, run it yourself with `docket check run`, \
                     or let its command run by [runner] allow in docket.toml",
                );
            }
            if !check.is_approved() {
                check.approved = Some(Approval { by: by.clone(), at: draft.now, definition: check.definition() });
            }
        }
        if draft.brief(id).is_some_and(|before| before.checks != brief.checks) {
            write_checks(&mut draft, id, brief, Verb::ChecksApproved, Map::new());
        }
        answer(draft, id)
    }
}

impl Command for Attest {
    type Output = ChecksSet;
    const NAME: &'static str = "attest";
    const NEEDS: Needs = Needs::new(Profile::Operator, Reach::Item);

    fn scope(&self, _call: &Call) -> Scope {
        // What is handed in and now shown is closed: with everything that a move looks at.
        Scope { around: super::run::around(), ..scope(&self.project, &self.item) }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<ChecksSet>, Error> {
        let mut draft = Draft::new(call, seen);
        let item = seen.resolve(&self.item)?;
        let id = item.id;
        check_version(item, self.expected_version)?;
        check_authority(call, Authority::Human)?;
        let mut brief = draft.brief(id).cloned().unwrap_or_default();
        let check = brief.checks.get(self.check).ok_or_else(|| no_check(self.check, brief.checks.len()).at("check"))?;
        if check.kind.is_runnable() {
            let message = "this check is run, not attested; attest only the manual ones";
            return Err(Error::conflict(Reason::BadValue, message).at("check"));
        }
        if self.note.as_ref().is_some_and(|note| note.as_str().len() > limits::SUMMARY_BYTES) {
            let message = format!("must be at most {} bytes", limits::SUMMARY_BYTES);
            return Err(Error::validation(Reason::TooLong, message).at("note"));
        }
        let result = CheckResult {
            passed: self.passed,
            definition: check.definition(),
            tree: self.tree.clone(),
            tree_changed: false,
            at: draft.now,
            by: call.actor()?.clone(),
            asked_by: None,
            run: None,
            note: self.note.clone(),
        };
        let words = check.proves.and_then(|id| brief.criterion(id)).map(|criterion| About::of(&criterion.text));
        take_result(&mut brief, self.check, result, Authority::Human, words);
        write_checks(&mut draft, id, brief, Verb::Attested, Map::new());
        let closed = super::run_end::close_if_shown(&mut draft, id, None)?;
        if !closed && self.passed && super::run_end::waits_for_runs(&draft, id)? {
            // Nobody here has looked at the work tree: a runner does, and what is shown then closes it.
            super::run::order_all(&mut draft, id)?;
        }
        if !self.passed {
            super::run_end::return_if_failed(&mut draft, id)?;
        }
        let decision = answer(draft, id)?;
        Ok(match decision {
            Decision::Done(changes, set) => Decision::Done(changes, ChecksSet { closed, ..set }),
            look @ Decision::Look(_) => look,
        })
    }
}
