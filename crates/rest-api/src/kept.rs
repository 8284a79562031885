//! Answers about single items, kept as long as nothing at all was committed.
//!
//! A board or a fleet asks for the same items again and again, mostly while nothing happens. Where the store can say without
//! asking its database that nothing was committed since ([`docket_core::Engine::commit_mark`]), the same answer is given
//! again as it is. One commit, by whichever process, and all of them are forgotten: nothing here is ever older than the
//! database. Only answers that depend on rows alone may be kept, none that depends on the time.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use docket_core::model::ItemRef;
use docket_core::store::Visible;

use crate::answer::Tagged;

/// Most bytes that are kept, names included. What comes when they are used up is not kept.
const KEPT_BYTES: usize = 8 * 1024 * 1024;
/// What an answer takes beside its body: its key and its place in the table.
const ASIDE_BYTES: usize = 256;

/// The answers that all requests share.
#[derive(Debug, Default)]
pub(crate) struct KeptAnswers(Mutex<Kept>);

/// Answers as of one state of the database.
#[derive(Debug, Default)]
struct Kept {
    mark: u64,
    bytes: usize,
    answers: HashMap<Question, Tagged>,
}

/// What an answer is to: an item as it was spelled, asked for by somebody who sees these projects.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Question {
    pub(crate) visible: Visible,
    pub(crate) item: ItemRef,
}

impl KeptAnswers {
    /// The answer, if it was given while the database was as this mark says.
    pub(crate) fn find(&self, mark: u64, question: &Question) -> Option<Tagged> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.mark == mark { kept.answers.get(question).cloned() } else { None }
    }

    /// Keeps an answer that was read after this mark was.
    pub(crate) fn keep(&self, mark: u64, question: Question, answer: &Tagged) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.mark != mark {
            *kept = Kept { mark, ..Kept::default() };
        }
        let bytes = kept.bytes + answer.body.len() + ASIDE_BYTES;
        if bytes <= KEPT_BYTES && kept.answers.insert(question, answer.clone()).is_none() {
            kept.bytes = bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn question(item: &str) -> Question {
        Question { visible: None, item: item.parse().expect("an item") }
    }

    fn answer(bytes: usize) -> Tagged {
        Tagged::of(1, &"x".repeat(bytes)).expect("an answer")
    }

    #[test]
    fn an_answer_is_given_again_until_something_was_committed() {
        let kept = KeptAnswers::default();
        kept.keep(1, question("WEB-1"), &answer(10));
        assert!(kept.find(1, &question("WEB-1")).is_some());
        assert!(kept.find(1, &question("WEB-2")).is_none());
        assert!(kept.find(2, &question("WEB-1")).is_none(), "something was committed");
        let limited = Question { visible: Some(BTreeSet::new()), ..question("WEB-1") };
        assert!(kept.find(1, &limited).is_none(), "somebody else asks");
        kept.keep(2, question("WEB-2"), &answer(10));
        assert!(kept.find(1, &question("WEB-1")).is_none(), "what is old is forgotten");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let kept = KeptAnswers::default();
        for number in 1..=100 {
            kept.keep(1, question(&format!("WEB-{number}")), &answer(256 * 1024));
        }
        let held = (1..=100).filter(|number| kept.find(1, &question(&format!("WEB-{number}"))).is_some()).count();
        assert_eq!(held, 31, "8 MiB of them");
    }
}
