//! Puts what only a person can decide to the person at the other end of a call, there and then.
//!
//! A client that can show a form says so. What it brings back is committed with that person as the actor; whatever else happens
//! (the form is declined, closed, or nobody sits there) changes nothing, and the question stays open where everybody finds it.
//! How a form gets there and back is the affair of `person.rs`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use docket_core::access::{Needs, Profile, Reach};
use docket_core::command::{Asked, EndQuestion, Proof, Verified, Verify};
use docket_core::engine::Call;
use docket_core::model::{
    self, ActorClaim, ActorKind, Attribution, Authority, Criterion, CriterionId, Item, ItemRef, Question,
    QuestionState, Standing, Text, Verification, VerificationStatus,
};
use docket_core::store::{Around, ProjectRef};
use docket_core::{Error, Reason};
use rmcp::model::{ElicitationSchema, EnumSchema, JsonObject, PrimitiveSchemaDefinition, StringSchema};
use serde_json::Value;

use crate::person::{Form, Person, Topic};
use crate::session::Session;

/// Most characters of a text that a form shows.
const SHOWN: usize = 4_000;
/// Most criteria in one form.
const CRITERIA: usize = 10;

/// What became of something that was put to a person.
#[derive(Clone, Debug, PartialEq)]
pub enum Elicited<T> {
    /// Nobody can be asked here.
    Nobody,
    /// The person was asked and did not say: declined, closed the form, or was not there.
    Unanswered,
    /// The person said, and it is committed; or somebody had said before.
    Answered(T),
    /// The person said, and it could not be committed.
    Refused(Error),
}

/// What a form is about, as it stands now.
struct About {
    item: Item,
    /// What a person calls it.
    title: String,
    /// Its criteria that wait for a person.
    unsigned: Vec<Criterion>,
    /// The newest question on it.
    question: Option<Question>,
}

impl Session {
    /// Puts an open question to the person at the other end. Call this after the question is committed: whatever happens
    /// here, it stands. Takes less than a minute.
    pub async fn elicit_answer(&self, asked: &Asked) -> Elicited<Asked> {
        let Some(person) = self.person() else { return Elicited::Nobody };
        self.put_question(person, &asked.question).await.unwrap_or_else(Elicited::Refused)
    }

    /// Puts criteria of an item that a person must sign off to the person at the other end: these, or all that are not
    /// signed off where none is named. Takes less than a minute.
    pub async fn elicit_sign_off(
        &self,
        project: &ProjectRef,
        item: &ItemRef,
        criteria: &[CriterionId],
    ) -> Elicited<Verified> {
        let Some(person) = self.person() else { return Elicited::Nobody };
        self.put_sign_off(person, project, item, criteria).await.unwrap_or_else(Elicited::Refused)
    }

    /// Does something to an item. Where nothing but a person's signature keeps it from being done, that is put to the person
    /// at the other end, and it is tried once more.
    pub async fn with_sign_off<T, F: Future<Output = Result<T, Error>> + Send>(
        &self,
        project: &ProjectRef,
        item: &ItemRef,
        act: impl Fn() -> F + Send + Sync,
    ) -> Result<T, Error> {
        let refused = match act().await {
            Err(error) if self.person().is_some() => error,
            done => return done,
        };
        let Some(unsigned) = unsigned(&refused) else { return Err(refused) };
        match self.elicit_sign_off(project, item, &unsigned).await {
            Elicited::Answered(_) => act().await,
            Elicited::Nobody | Elicited::Unanswered | Elicited::Refused(_) => Err(refused),
        }
    }

    async fn put_question(&self, person: &Person, question: &Question) -> Result<Elicited<Asked>, Error> {
        let item = ItemRef::Id(question.item);
        let about = self.look(&ProjectRef::Any, &item).await?;
        match about.question.as_ref().filter(|newest| newest.id == question.id) {
            None => return Ok(Elicited::Unanswered),
            Some(newest) if newest.state == QuestionState::Open => {}
            // A call that is sent again finds what it asked the first time, and that may be over.
            Some(newest) => return Ok(Elicited::Answered(about.asked(newest))),
        }
        let Some(schema) = question_form(question) else { return Ok(Elicited::Nobody) };
        let by = plain(question.asked_by.as_str());
        let message = format!("{by} asks about {}:\n\n{}", about.title, shown(&question.text));
        let form = Form { topic: Topic::Question, mark: question.id.to_string(), message, schema };
        let filled = person.fill(form).await;
        let Some(answer) = filled.and_then(|filled| chosen(question, &filled)) else { return Ok(Elicited::Unanswered) };
        let answer = Text::parse(&answer).map_err(|invalid| invalid.at("answer"))?;
        let command = EndQuestion { question: question.id, answer: Some(answer) };
        match self.engine().run(self.call_of_person(), command).await {
            Err(error) if error.reason == Reason::QuestionClosed => {
                // Somebody was quicker while the form was open: what counts is what they said.
                let now = self.look(&ProjectRef::Any, &item).await?;
                let newest = now.question.as_ref().filter(|newest| newest.id == question.id);
                Ok(newest.map_or(Elicited::Refused(error), |newest| Elicited::Answered(now.asked(newest))))
            }
            ended => ended.map(Elicited::Answered),
        }
    }

    async fn put_sign_off(
        &self,
        person: &Person,
        project: &ProjectRef,
        item: &ItemRef,
        criteria: &[CriterionId],
    ) -> Result<Elicited<Verified>, Error> {
        // Nobody is shown a form whose answer would be refused.
        if !self.allows(Needs::new(Profile::Operator, Reach::Item)) {
            return Ok(Elicited::Nobody);
        }
        let about = self.look(project, item).await?;
        let wanted = |criterion: &&Criterion| criteria.is_empty() || criteria.contains(&criterion.id);
        let wanted: Vec<&Criterion> = about.unsigned.iter().filter(wanted).take(CRITERIA).collect();
        let Some(schema) = sign_off_form(&wanted) else { return Ok(Elicited::Nobody) };
        let mut message = format!("{} waits for your sign-off:\n", about.title);
        for criterion in &wanted {
            // Writing into a text cannot fail.
            _ = write!(message, "\n{}: {}", criterion.id, shown(&criterion.text));
            if let Some(how) = &criterion.instructions {
                _ = write!(message, "\n    {}", shown(how));
            }
        }
        let form = Form { topic: Topic::SignOff, mark: texts(&wanted), message, schema };
        let Some(filled) = person.fill(form).await else { return Ok(Elicited::Unanswered) };
        let mut proofs = proofs(&wanted, &filled)?;
        // What says something else by now is not what the person has signed.
        let item = ItemRef::Id(about.item.id);
        let now = self.look(&ProjectRef::Any, &item).await?.unsigned;
        let same = |was: &&Criterion| now.iter().any(|now| now.id == was.id && now.text == was.text);
        let unchanged: Vec<CriterionId> = wanted.into_iter().filter(same).map(|criterion| criterion.id).collect();
        proofs.retain(|proof| unchanged.contains(&proof.criterion));
        if proofs.is_empty() {
            return Ok(Elicited::Unanswered);
        }
        let command = Verify { project: ProjectRef::Any, item, proofs, authority: Authority::Human, fence: None };
        self.engine().run(self.call_of_person(), command).await.map(Elicited::Answered)
    }

    async fn look(&self, project: &ProjectRef, item: &ItemRef) -> Result<About, Error> {
        let around = Around { briefs: true, questions: true, ..Around::default() };
        let seen = self.engine().show(project, std::slice::from_ref(item), around).await?;
        let item = seen.resolve(item)?;
        let key = seen.project_of(item)?.key(item.number);
        let waits =
            |criterion: &&Criterion| criterion.verifier == Authority::Human && criterion.standing() != Standing::Pass;
        let criteria = seen.briefs.get(&item.id).map_or(&[][..], |brief| &brief.acceptance_criteria);
        Ok(About {
            item: item.clone(),
            title: format!("{key} \"{}\"", plain(item.title.as_str())),
            unsigned: criteria.iter().filter(waits).cloned().collect(),
            question: seen.question_of(item.id).cloned(),
        })
    }

    /// A call that the person at the other end makes. Nothing was shown for it but that the client brought it back.
    pub(crate) fn call_of_person(&self) -> Call {
        let call = self.call(None, None).part("person");
        let actor = ActorClaim { id: call.principal.clone(), kind: ActorKind::User, parent: None, proof: None };
        let verification = Verification {
            status: VerificationStatus::Absent,
            verifier: "elicitation".to_owned(),
            reason: None,
            metadata: BTreeMap::new(),
        };
        Call { by: Some(Attribution { actor, verification }), ..call }
    }
}

impl About {
    /// A question of the item, and where that stands.
    fn asked(&self, question: &Question) -> Asked {
        let (item, question) = (&self.item, question.clone());
        Asked { question, item: item.id, status: item.status.clone(), role: item.role, version: item.version }
    }
}

/// What criteria say, to be compared.
fn texts(criteria: &[&Criterion]) -> String {
    let said: Vec<_> = criteria.iter().map(|criterion| (criterion.id, model::About::of(&criterion.text))).collect();
    // Names and digests are plain data: they can be written.
    serde_json::to_string(&said).unwrap_or_default()
}

/// The criteria that a refusal is about, where signatures of a person are all that is missing.
fn unsigned(refused: &Error) -> Option<Vec<CriterionId>> {
    let mut unsigned = Vec::new();
    for refusal in &refused.refusals {
        // What else is missing is mended first: nobody is bothered for what would be refused all the same.
        let for_a_person = refusal.unproved.iter().all(|criterion| criterion.verifier == Authority::Human);
        if refusal.unproved.is_empty() || !for_a_person {
            return None;
        }
        unsigned.extend(refusal.unproved.iter().map(|criterion| criterion.id));
    }
    Some(unsigned).filter(|unsigned| !unsigned.is_empty())
}

/// The form of a question: its options to choose from, or room for words.
fn question_form(question: &Question) -> Option<ElicitationSchema> {
    let words = |title: &'static str| PrimitiveSchemaDefinition::String(StringSchema::new().title(title));
    let form = ElicitationSchema::builder().title("A question for you");
    let form = if question.options.is_empty() {
        form.required_property("answer", words("Your answer"))
    } else {
        let mut choices: Vec<String> = Vec::with_capacity(question.options.len());
        for option in &question.options {
            // As it will be sent, without what would show it as something else.
            let shown = plain(option.as_str());
            if !choices.contains(&shown) {
                choices.push(shown);
            }
        }
        let other = words("Another answer, in your own words");
        form.property("answer", choice("Your answer".to_owned(), choices)).property("other", other)
    };
    form.build().ok()
}

/// The answer in a form that was filled in: the person's own words go before a choice.
fn chosen(question: &Question, filled: &JsonObject) -> Option<String> {
    let said = |field: &str| filled.get(field).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    if question.options.is_empty() {
        return said("answer").map(ToOwned::to_owned);
    }
    // What was shown is sent back; what it stands for is taken.
    let meant = |shown: &str| question.options.iter().find(|option| plain(option.as_str()) == shown);
    let choice = said("answer").and_then(meant).map(|option| option.as_str().to_owned());
    said("other").map(ToOwned::to_owned).or(choice)
}

/// The form of a sign-off: a choice for each criterion, and room for a note. None where there is nothing to sign.
fn sign_off_form(criteria: &[&Criterion]) -> Option<ElicitationSchema> {
    if criteria.is_empty() {
        return None;
    }
    let mut form = ElicitationSchema::builder().title("Your sign-off");
    for criterion in criteria {
        let choices = ["pass", "fail"].map(ToOwned::to_owned).to_vec();
        form = form.property(criterion.id.to_string(), choice(format!("Does {} hold?", criterion.id), choices));
    }
    let note = PrimitiveSchemaDefinition::String(StringSchema::new().title("What you saw"));
    form.property("note", note).build().ok()
}

/// What a person signed; criteria that were left out stay as they are.
fn proofs(criteria: &[&Criterion], filled: &JsonObject) -> Result<Vec<Proof>, Error> {
    let note = filled.get("note").and_then(Value::as_str).filter(|note| !note.trim().is_empty());
    let note = note.map(Text::parse).transpose().map_err(|invalid| invalid.at("note"))?;
    let signed = |criterion: &&Criterion| {
        let passed = match filled.get(&criterion.id.to_string()).and_then(Value::as_str)? {
            "pass" => true,
            "fail" => false,
            _ => return None,
        };
        Some(Proof { criterion: criterion.id, passed, note: note.clone() })
    };
    Ok(criteria.iter().filter_map(signed).collect())
}

/// One of these, written in the way that every revision with forms knows.
pub(crate) fn choice(title: String, choices: Vec<String>) -> PrimitiveSchemaDefinition {
    PrimitiveSchemaDefinition::Enum(EnumSchema::builder(choices).title(title).untitled().build())
}

fn shown(text: &Text) -> String {
    plain(text.as_str())
}

/// A text as a form shows it: no longer than a person reads, and without characters that change how others look.
pub(crate) fn plain(text: &str) -> String {
    let steers = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let kept = |c: &char| !steers(*c) && (!c.is_control() || matches!(c, '\n' | '\t'));
    let mut kept = text.chars().filter(kept);
    let mut plain: String = kept.by_ref().take(SHOWN).collect();
    if kept.next().is_some() {
        plain.push('…');
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_short_and_cannot_steer() {
        assert_eq!(plain("a\u{202e}b\u{1b}[2Jc\nd"), "ab[2Jc\nd");
        let long = plain(&"x".repeat(SHOWN + 1));
        assert_eq!((long.chars().count(), long.ends_with('…')), (SHOWN + 1, true));
        assert_eq!(plain(&"x".repeat(SHOWN)).chars().count(), SHOWN);
    }
}
