//! Writes the work contract of an item: whole, or section by section.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::verify::check_authority;
use super::{Change, check_version, guard, keep_lease};
use crate::access::{Needs, Profile, Reach};
use crate::contract::{Verdict, score, verdict};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::{Error, Gate, Reason, Refusal, UnprovedCriterion, echo};
use crate::limits;
use crate::model::{Authority, Brief, Criterion, CriterionId, Fence, ItemId, ItemRef, Text, Verb};
use crate::store::{Around, ProjectRef, Scope, Slice};

/// One line of a list of criteria, as its author wants it. One that is there keeps its name, its evidence, and what is not
/// said of it: it is known by its name, or by saying the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NewCriterion {
    /// The criterion it is, where that is said.
    pub id: Option<CriterionId>,
    /// What must be true.
    pub text: Text,
    /// Who shows it; the agent, where nothing is said of a new one.
    pub verifier: Option<Authority>,
    /// Whether it gates moves; it does, where nothing is said of a new one.
    pub hard: Option<bool>,
    /// How to show it.
    pub instructions: Change<Text>,
}

impl NewCriterion {
    /// A line about which nothing else is said.
    pub fn saying(text: Text) -> Self {
        Self { id: None, text, verifier: None, hard: None, instructions: Change::Keep }
    }
}

/// What is written of a brief. Written whole, what is not there is gone; merged, it stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the fields are those of Brief")]
pub struct BriefText {
    pub objective: Change<Text>,
    pub context: Change<Text>,
    pub acceptance_criteria: Change<Vec<NewCriterion>>,
    pub constraints: Change<Vec<Text>>,
    pub verification: Change<Text>,
    pub handoff_expectations: Change<Text>,
}

impl BriefText {
    /// Whether it says nothing of any section.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The brief as this makes it.
    pub(crate) fn revise(&self, before: Option<&Brief>, replace: bool) -> Result<Brief, Error> {
        let known = before.cloned().unwrap_or_default();
        let mut brief = if replace { known.without_sections() } else { known.clone() };
        self.objective.apply(&mut brief.objective);
        self.context.apply(&mut brief.context);
        self.verification.apply(&mut brief.verification);
        self.handoff_expectations.apply(&mut brief.handoff_expectations);
        match &self.constraints {
            Change::Keep => {}
            Change::Clear => brief.constraints.clear(),
            Change::Set(lines) => brief.constraints.clone_from(lines),
        }
        match &self.acceptance_criteria {
            Change::Keep => {}
            Change::Clear => brief.acceptance_criteria.clear(),
            Change::Set(lines) => brief.acceptance_criteria = revised(&known, lines, &mut brief.last_criterion)?,
        }
        check(&brief)?;
        Ok(brief)
    }
}

/// The list as its author wants it, each line with the name it has or a new one.
fn revised(known: &Brief, lines: &[NewCriterion], last: &mut u32) -> Result<Vec<Criterion>, Error> {
    let mut criteria: Vec<Criterion> = Vec::with_capacity(lines.len());
    for (index, line) in lines.iter().enumerate() {
        let field = format!("acceptanceCriteria[{index}]");
        let earlier = match line.id {
            Some(id) => Some(known.criterion(id).ok_or_else(|| no_criterion(id).at(format!("{field}.id")))?),
            None => known.acceptance_criteria.iter().find(|criterion| criterion.text == line.text),
        };
        let twice = |criterion: &Criterion| {
            criterion.text == line.text || earlier.is_some_and(|earlier| earlier.id == criterion.id)
        };
        if criteria.iter().any(twice) {
            let message = format!("\"{}\" is in the list twice", echo(line.text.as_str()));
            return Err(Error::validation(Reason::Duplicate, message).at(field));
        }
        if earlier.is_none() {
            *last += 1;
        }
        let id = earlier.map_or(CriterionId(*last), |earlier| earlier.id);
        if *last > limits::CRITERIA_EVER {
            let message = format!("an item has at most {} criteria in its life", limits::CRITERIA_EVER);
            return Err(Error::validation(Reason::TooMany, message).at(field));
        }
        let mut instructions = earlier.and_then(|earlier| earlier.instructions.clone());
        line.instructions.apply(&mut instructions);
        criteria.push(Criterion {
            id,
            text: line.text.clone(),
            verifier: line.verifier.or(earlier.map(|earlier| earlier.verifier)).unwrap_or_default(),
            hard: line.hard.or(earlier.map(|earlier| earlier.hard)).unwrap_or(true),
            instructions,
            evidence: earlier.map(|earlier| earlier.evidence.clone()).unwrap_or_default(),
        });
    }
    Ok(criteria)
}

/// Refuses a brief with too many lines, or with one that is blank or too long.
pub(super) fn check(brief: &Brief) -> Result<(), Error> {
    let lists = [("acceptanceCriteria", brief.acceptance_criteria.len()), ("constraints", brief.constraints.len())];
    if let Some((field, length)) = lists.into_iter().find(|(_, length)| *length > limits::CRITERIA) {
        let message = format!("must be at most {}, not {length}", limits::CRITERIA);
        return Err(Error::validation(Reason::TooMany, message).at(field));
    }
    let criteria = brief.acceptance_criteria.iter().map(|criterion| ("acceptanceCriteria", &criterion.text));
    let instructions = brief.acceptance_criteria.iter().filter_map(|criterion| criterion.instructions.as_ref());
    let too_long = |text: &Text| text.as_str().len() > limits::SUMMARY_BYTES;
    if instructions.into_iter().any(too_long) {
        let message = format!("the instructions of a line must be at most {} bytes", limits::SUMMARY_BYTES);
        return Err(Error::validation(Reason::TooLong, message).at("acceptanceCriteria"));
    }
    let lines = criteria.chain(brief.constraints.iter().map(|line| ("constraints", line)));
    for (field, line) in lines {
        if line.is_blank() {
            return Err(Error::validation(Reason::Blank, "a line of it must not be blank").at(field));
        }
        if line.as_str().len() > limits::SUMMARY_BYTES {
            let message = format!("a line of it must be at most {} bytes", limits::SUMMARY_BYTES);
            return Err(Error::validation(Reason::TooLong, message).at(field));
        }
    }
    Ok(())
}

/// A hard criterion for which less would do than before, though it takes a weightier word than the author's: it is gone or
/// only told any more, a lesser word is to show it, or it says something else where a weightier word has found that it does
/// not hold, and a lesser one could now find that it does.
fn weakened<'b>(before: &'b Brief, after: &Brief, author: Authority) -> Option<&'b Criterion> {
    let failed_by = |criterion: &Criterion| {
        let word = criterion.settled_by().filter(|word| !word.passed && word.authority > author);
        word.map(|word| word.authority)
    };
    let stays = |criterion: &Criterion, kept: &Criterion| {
        let needed = failed_by(criterion).unwrap_or(criterion.verifier);
        kept.hard && kept.verifier >= criterion.verifier && (kept.text == criterion.text || kept.verifier >= needed)
    };
    let guarded =
        |criterion: &&Criterion| criterion.hard && (criterion.verifier > author || failed_by(criterion).is_some());
    let mut guarded = before.acceptance_criteria.iter().filter(guarded);
    guarded.find(|criterion| after.criterion(criterion.id).is_none_or(|kept| !stays(criterion, kept)))
}

/// The refusal of an edit that would make less of a criterion than its author may.
fn not_yours_to_weaken(item: ItemId, criterion: &Criterion) -> Error {
    let failed = criterion.settled_by().filter(|word| !word.passed);
    let why = failed.map_or_else(
        || format!("a {} is to show it", criterion.verifier),
        |word| format!("a {} has found that it does not hold", word.authority),
    );
    let message =
        format!("{} \"{}\" is not the author's to weaken: {why}", criterion.id, echo(criterion.text.as_str()));
    let unproved = vec![UnprovedCriterion::of(criterion)];
    let remedy = "show that it holds, or have a person change it";
    let refusal = Refusal { unproved, reason: Some(Reason::NotYours), ..Refusal::new(Gate::Criteria, message, remedy) };
    Error { contended_item: Some(item), ..Error::blocked("edit refused", vec![refusal]) }
}

/// What to say of a criterion that is not there.
pub(super) fn no_criterion(id: CriterionId) -> Error {
    Error::not_found(format!("the item has no acceptance criterion {id}"))
}

/// Writes the brief of one item.
#[derive(Clone, Debug, Serialize)]
pub struct SetBrief {
    /// The project the item is looked up in.
    pub project: ProjectRef,
    /// The item.
    pub item: ItemRef,
    /// What is written.
    pub brief: BriefText,
    /// Whether it takes the place of what was there; otherwise it is merged into it.
    pub replace: bool,
    /// Refuses unless the item still has this version.
    pub expected_version: Option<u64>,
    /// The fence of the caller's claim.
    pub fence: Option<Fence>,
    /// Whose word it is. What takes a weightier word is taken out or made less of by a person alone.
    pub authority: Authority,
}

/// The brief as it is now.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BriefSet {
    /// The item.
    pub item: ItemId,
    /// Its brief.
    pub brief: Brief,
    /// How complete it is, from 0 to 100.
    pub score: u8,
    /// How far it is shown.
    pub verdict: Verdict,
    /// The item's version now.
    pub version: u64,
}

impl Command for SetBrief {
    type Output = BriefSet;
    const NAME: &'static str = "set-brief";
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Item);

    fn scope(&self, _call: &Call) -> Scope {
        let around = Around { briefs: true, ..Around::default() };
        Scope { project: self.project.clone(), items: vec![self.item.clone()], around, ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<BriefSet>, Error> {
        let mut draft = Draft::new(call, seen);
        let item = seen.resolve(&self.item)?;
        check_version(item, self.expected_version)?;
        guard(&draft, item, None, self.fence)?;
        let before = draft.brief(item.id);
        let brief = self.brief.revise(before, self.replace)?;
        let id = item.id;
        check_authority(call, self.authority)?;
        if let Some(less) = before.and_then(|before| weakened(before, &brief, self.authority)) {
            return Err(not_yours_to_weaken(id, less));
        }
        if before != Some(&brief) && (before.is_some() || !brief.is_empty()) {
            keep_lease(&mut draft, id, None)?;
            write_brief(&mut draft, id, brief.clone());
        }
        let item = draft.expect(id)?;
        let set =
            BriefSet { item: id, score: score(item), verdict: verdict(Some(&brief)), version: item.version, brief };
        Ok(Decision::done(draft.finish(), set))
    }
}

/// Writes a brief, with the event that says so.
pub(super) fn write_brief(draft: &mut Draft<'_>, id: ItemId, brief: Brief) {
    let mut data = Map::new();
    data.insert("brief".to_owned(), serde_json::to_value(&brief).unwrap_or(Value::Null));
    draft.put_brief(id, brief, Verb::Briefed, None, data);
}
