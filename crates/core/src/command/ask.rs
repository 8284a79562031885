//! Questions to people: asking parks the item and gives it back, answering makes it ready again.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::guard_move;
use super::verify::is_agent;
use crate::access::{Needs, Profile, Reach};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::{Code, Error, Kind, Reason};
use crate::limits;
use crate::model::{Fence, Item, ItemId, ItemRef, Name, Question, QuestionId, QuestionState, Role, Text, Verb};
use crate::store::{Around, EdgeReach, ProjectRef, Scope, Slice};

/// Asks something about an item that only a person can decide.
#[derive(Clone, Debug, Serialize)]
pub struct Ask {
    /// The project the item is looked up in.
    pub project: ProjectRef,
    /// The item.
    pub item: ItemRef,
    /// What is asked.
    pub text: Text,
    /// Answers to choose from.
    pub options: Vec<Text>,
    /// The fence of the caller's claim.
    pub fence: Option<Fence>,
}

/// Answers a question, or takes it back.
#[derive(Clone, Debug, Serialize)]
pub struct EndQuestion {
    /// The question.
    pub question: QuestionId,
    /// The answer; without one the question is taken back.
    pub answer: Option<Text>,
}

/// A question, and where its item stands now.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Asked {
    /// The question.
    pub question: Question,
    /// The item.
    pub item: ItemId,
    /// Its status.
    pub status: Name,
    /// Its role.
    pub role: Role,
    /// Its version.
    pub version: u64,
}

/// Everything that a move of the item changes in its neighbours.
fn around() -> Around {
    Around { edges: EdgeReach::Named, ..Around::default() }
}

impl Command for Ask {
    type Output = Asked;
    const NAME: &'static str = "ask";
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Item);

    fn scope(&self, _call: &Call) -> Scope {
        Scope { project: self.project.clone(), items: vec![self.item.clone()], around: around(), ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<Asked>, Error> {
        let mut draft = Draft::new(call, seen);
        let item = seen.resolve(&self.item)?.clone();
        // Asking parks the item and ends its claim.
        guard_move(&draft, &item, self.fence)?;
        self.check(&draft, &item)?;
        let project = draft.project_of(&item)?;
        let parked = project.workflow.parked().ok_or_else(|| Error::not_found("the workflow cannot park an item"))?;
        let question = Question {
            id: draft.new_question_id(),
            item: item.id,
            text: self.text.clone(),
            options: self.options.clone(),
            state: QuestionState::Open,
            asked_by: call.actor()?.clone(),
            asked_at: draft.now,
            answer: None,
            ended_by: None,
            ended_at: None,
        };
        if item.status == parked.name {
            // It stands there already; that it was asked about is a change of it all the same.
            draft.edit(item.id, |_| {});
        } else {
            draft.set_status(item.id, parked, None);
        }
        if item.claim.is_some() {
            draft.set_claim(item.id, None, false);
        }
        finish(draft, question, Verb::Asked)
    }
}

impl Ask {
    fn check(&self, draft: &Draft<'_>, item: &Item) -> Result<(), Error> {
        if self.text.is_blank() {
            return Err(Error::validation(Reason::Blank, "must not be blank").at("question"));
        }
        if self.options.len() > limits::OPTIONS {
            let message = format!("must be at most {}, not {}", limits::OPTIONS, self.options.len());
            return Err(Error::validation(Reason::TooMany, message).at("options"));
        }
        if self.options.iter().any(Text::is_blank) {
            return Err(Error::validation(Reason::Blank, "an option must not be blank").at("options"));
        }
        if !item.role.is_open() {
            return Err(Error::conflict(Reason::Terminal, "the item is closed: there is nothing to ask about it"));
        }
        if draft.has_open_question(item.id) {
            let message = "the item has an open question: it is answered or taken back before another is asked";
            return Err(Error::conflict(Reason::QuestionOpen, message));
        }
        Ok(())
    }
}

impl Command for EndQuestion {
    type Output = Asked;
    const NAME: &'static str = "end-question";
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Item);

    fn scope(&self, _call: &Call) -> Scope {
        Scope { question_ids: vec![self.question], ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<Asked>, Error> {
        let missing = || Error::not_found(format!("no question \"{}\"", self.question));
        let question = seen.questions.get(&self.question).ok_or_else(missing)?;
        if seen.looks == 0 {
            // The item is known only now; its neighbours follow its move.
            let items = vec![ItemRef::Id(question.item)];
            return Ok(Decision::Look(Box::new(Scope { items, around: around(), ..Scope::default() })));
        }
        if question.state != QuestionState::Open {
            let what = if question.state == QuestionState::Answered { "answered" } else { "cancelled" };
            let message = format!("the question was {what} already");
            return Err(Error::conflict(Reason::QuestionClosed, message));
        }
        if self.answer.is_some() && is_agent(call) && question.asked_by == *call.actor()? {
            let message = "whoever asked does not answer: somebody else does, or the question is taken back";
            return Err(Error::new(Kind::Permanent, Code::Forbidden, Reason::NotYours, message));
        }
        if self.answer.as_ref().is_some_and(Text::is_blank) {
            return Err(Error::validation(Reason::Blank, "must not be blank").at("answer"));
        }
        let mut draft = Draft::new(call, seen);
        let item = draft.expect(question.item)?.clone();
        let project = draft.project_of(&item)?;
        let ended = Question {
            state: if self.answer.is_some() { QuestionState::Answered } else { QuestionState::Cancelled },
            answer: self.answer.clone(),
            ended_by: Some(call.actor()?.clone()),
            ended_at: Some(draft.now),
            ..question.clone()
        };
        let verb = if self.answer.is_some() { Verb::Answered } else { Verb::Withdrawn };
        // First the question, so that the move does not take it for one that was left behind.
        draft.put_question(ended.clone());
        if let Some(ready) = project.workflow.status(&project.workflow.reopened) {
            draft.set_status(item.id, ready, None);
        }
        finish(draft, ended, verb)
    }
}

fn finish(mut draft: Draft<'_>, question: Question, verb: Verb) -> Result<Decision<Asked>, Error> {
    let id = question.item;
    draft.put_question(question.clone());
    let mut data = Map::new();
    data.insert("question".to_owned(), serde_json::to_value(&question).unwrap_or(Value::Null));
    draft.record(verb, id, None, data);
    let item = draft.expect(id)?;
    let asked = Asked { question, item: id, status: item.status.clone(), role: item.role, version: item.version };
    Ok(Decision::done(draft.finish(), asked))
}
