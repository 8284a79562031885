//! The questions on an item, in pages.

use serde_json::Value;

use crate::engine::Engine;
use crate::error::Error;
use crate::model::{ItemRef, Question, QuestionId, Verb};
use crate::query::list::EventPage;
use crate::store::{Around, EventFilter, ProjectRef, Scope};

/// A page of the questions on an item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuestionPage {
    /// The questions as they stand now, the newest first.
    pub questions: Vec<Question>,
    /// Where the next page begins; none on the last.
    pub next: Option<String>,
}

impl Engine {
    /// The questions on an item, the newest first. Events know which were asked. Of those that came with an import, which
    /// nobody asked here, the newest is known alone.
    pub async fn questions_of(
        &self,
        project: &ProjectRef,
        item: &ItemRef,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<QuestionPage, Error> {
        let around = Around { questions: true, ..Around::default() };
        let seen = self.show(project, std::slice::from_ref(item), around).await?;
        let item = seen.resolve(item)?.id;
        let filter = EventFilter {
            item: Some(item),
            verbs: vec![Verb::Asked],
            newest_first: true,
            limit,
            ..EventFilter::default()
        };
        let EventPage { events, next } = self.event_list(&filter, cursor).await?;
        let asked = events.iter().filter_map(|event| event.data.pointer("/question/id").and_then(Value::as_str));
        let mut question_ids: Vec<QuestionId> = asked.filter_map(|id| id.parse().ok()).collect();
        let newest = seen.question_of(item).map(|question| question.id).filter(|_| cursor.is_none());
        if let Some(newest) = newest.filter(|newest| !question_ids.contains(newest)) {
            question_ids.insert(0, newest);
        }
        let known = self.view(&Scope { question_ids: question_ids.clone(), ..Scope::default() }).await?;
        let questions = question_ids.iter().filter_map(|id| known.questions.get(id)).filter(|known| known.item == item);
        Ok(QuestionPage { questions: questions.cloned().collect(), next })
    }
}
