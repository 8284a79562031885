//! Briefs, questions, comments, links and sessions of an import: what fits, and what does not.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use super::Import;
use crate::command::{brief, checks};
use crate::error::{Error, Reason};
use crate::limits;
use crate::model::{Brief, Item, ItemId, Question, QuestionState, SessionId, Text};
use crate::store::Slice;

impl Import {
    /// Refuses what is on no item of the file, is there twice, or contradicts itself.
    pub(super) fn check_contracts(&self, items: &BTreeMap<ItemId, &Item>) -> Result<(), Error> {
        for (item, brief) in &self.briefs {
            known(items, *item, || format!("brief of item {item}"))?;
            brief::check(brief).map_err(|error| {
                let message = format!("{}: {}", error.field.unwrap_or_default(), error.message);
                refused(error.reason, "brief of item", item, &message)
            })?;
            checks::check_list(&brief.checks)
                .map_err(|error| refused(error.reason, "brief of item", item, &error.message))?;
            check_names(brief).map_err(|(reason, message)| refused(reason, "brief of item", item, &message))?;
        }
        self.check_questions(items)?;
        for comment in &self.comments {
            known(items, comment.item, || format!("comment {}", comment.id))?;
        }
        let mut links: BTreeMap<ItemId, usize> = BTreeMap::new();
        for link in &self.links {
            known(items, link.item, || format!("link {}", link.id))?;
            let count = links.entry(link.item).or_default();
            *count += 1;
            if *count > limits::LINKS {
                let message = format!("its item may have at most {} links", limits::LINKS);
                return Err(refused(Reason::TooMany, "link", link.id, &message));
            }
        }
        self.check_sessions(items)
    }

    fn check_sessions(&self, items: &BTreeMap<ItemId, &Item>) -> Result<(), Error> {
        let mut newest: BTreeMap<ItemId, SessionId> = BTreeMap::new();
        for session in &self.sessions {
            let known = newest.entry(session.item).or_insert(session.id);
            *known = session.id.max(*known);
        }
        for session in &self.sessions {
            known(items, session.item, || format!("session {}", session.id))?;
            let bad = |message: &str| Err(refused(Reason::BadValue, "session", session.id, message));
            if items.get(&session.item).is_some_and(|item| item.project != session.project) {
                return bad("its project is not that of its item");
            }
            if !session.ends_as_it_says() {
                return bad("its end does not fit its state");
            }
            if session.is_open() && newest.get(&session.item) != Some(&session.id) {
                return bad("it has not ended, and its item has a newer one");
            }
        }
        Ok(())
    }

    fn check_questions(&self, items: &BTreeMap<ItemId, &Item>) -> Result<(), Error> {
        let mut asked: BTreeSet<ItemId> = BTreeSet::new();
        for question in &self.questions {
            known(items, question.item, || format!("question {}", question.id))?;
            let bad = |reason, message: &str| Err(refused(reason, "question", question.id, message));
            if question.options.len() > limits::OPTIONS {
                return bad(Reason::TooMany, &format!("it may offer at most {} answers", limits::OPTIONS));
            }
            if question.text.is_blank() || question.options.iter().any(Text::is_blank) {
                return bad(Reason::Blank, "it, or an answer that it offers, says nothing");
            }
            if !ends_as_it_says(question) {
                return bad(Reason::BadValue, "its answer and its end do not fit its state");
            }
            if question.state != QuestionState::Open {
                continue;
            }
            if !asked.insert(question.item) {
                return bad(Reason::QuestionOpen, "its item has another open question");
            }
            if items.get(&question.item).is_some_and(|item| !item.role.is_open()) {
                return bad(Reason::BadValue, "it is open, and its item is closed");
            }
        }
        Ok(())
    }

    /// Refuses an id that is in the file twice.
    pub(super) fn check_ids(&self) -> Result<(), Error> {
        unique("item", self.items.iter().map(|item| item.id))?;
        unique("edge", self.edges.iter().map(|edge| edge.id))?;
        unique("note", self.notes.iter().map(|note| note.id))?;
        unique("brief of item", self.briefs.iter().map(|(item, _)| *item))?;
        unique("question", self.questions.iter().map(|question| question.id))?;
        unique("comment", self.comments.iter().map(|comment| comment.id))?;
        unique("link", self.links.iter().map(|link| link.id))?;
        unique("session", self.sessions.iter().map(|session| session.id))
    }

    /// Refuses what is in the database already, on an item that is not of the file.
    pub(super) fn check_new(&self, seen: &Slice) -> Result<(), Error> {
        let there = |what: &str, id: &dyn Display| {
            Err(Error::conflict(Reason::Duplicate, format!("the {what} {id} is in this database already")))
        };
        if let Some(item) = self.items.iter().find(|item| seen.items.contains_key(&item.id)) {
            return there("item", &item.id);
        }
        if let Some(question) = self.questions.iter().find(|question| seen.questions.contains_key(&question.id)) {
            return there("question", &question.id);
        }
        if let Some(link) = self.links.iter().find(|link| seen.links.contains_key(&link.id)) {
            return there("link", &link.id);
        }
        match self.sessions.iter().find(|session| seen.sessions.contains_key(&session.id)) {
            Some(session) => there("session", &session.id),
            None => Ok(()),
        }
    }
}

fn refused(reason: Reason, what: &str, id: impl Display, message: &str) -> Error {
    Error::validation(reason, format!("{what} {id}: {message}"))
}

fn known(items: &BTreeMap<ItemId, &Item>, item: ItemId, what: impl FnOnce() -> String) -> Result<(), Error> {
    if items.contains_key(&item) {
        return Ok(());
    }
    Err(Error::validation(Reason::NotFound, format!("{}: its item is not in the file", what())))
}

fn unique<I: Ord + Copy + Display>(what: &str, ids: impl Iterator<Item = I>) -> Result<(), Error> {
    let mut known = BTreeSet::new();
    for id in ids {
        if !known.insert(id) {
            return Err(refused(Reason::Duplicate, what, id, "it is in the file twice"));
        }
    }
    Ok(())
}

/// Whether a question was answered, taken back or neither, as its state has it.
fn ends_as_it_says(question: &Question) -> bool {
    let ended = (question.answer.is_some(), question.ended_by.is_some(), question.ended_at.is_some());
    match question.state {
        QuestionState::Open => ended == (false, false, false),
        QuestionState::Answered => ended == (true, true, true),
        QuestionState::Cancelled => ended == (false, true, true),
    }
}

/// What a brief promises of its criteria: each name once and none above the highest ever given, one piece of evidence of
/// each authority.
fn check_names(brief: &Brief) -> Result<(), (Reason, String)> {
    if brief.last_criterion > limits::CRITERIA_EVER {
        return Err((Reason::BadValue, format!("lastCriterion is more than {}", limits::CRITERIA_EVER)));
    }
    let mut names = BTreeSet::new();
    for criterion in &brief.acceptance_criteria {
        let id = criterion.id;
        if !names.insert(id) {
            return Err((Reason::Duplicate, format!("the criterion {id} is in it twice")));
        }
        if id.0 > brief.last_criterion {
            let message = format!("the criterion {id} is above lastCriterion, which is {}", brief.last_criterion);
            return Err((Reason::BadValue, message));
        }
        let mut heard = BTreeSet::new();
        if let Some(evidence) = criterion.evidence.iter().find(|evidence| !heard.insert(evidence.authority)) {
            let message =
                format!("the criterion {id} has two pieces of evidence of the authority {}", evidence.authority);
            return Err((Reason::Duplicate, message));
        }
    }
    Ok(())
}
