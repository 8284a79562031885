//! Rows that an import brings: as they were, with the ids and the times they had, and recorded like any other.

use serde_json::{Value, json};

use super::Draft;
use crate::model::{Brief, Comment, Derived, Inbox, Item, ItemId, Link, Question, QuestionState, Verb};

impl Draft<'_> {
    /// Brings an item, with what its brief and its question let it derive; those are brought on their own.
    pub fn bring_item(&mut self, item: Item, brief: Option<&Brief>, question_is_open: bool) {
        let derived = Derived {
            sections: brief.map(Brief::sections).unwrap_or_default(),
            inbox: Inbox::default().with(Inbox::QUESTION, question_is_open),
            ..Derived::default()
        };
        self.add_item(Item { derived, ..item }, None);
    }

    /// Brings the brief of an item that was brought with it.
    pub fn bring_brief(&mut self, item: ItemId, brief: Brief) {
        self.push_on(Verb::Briefed, item, None, json!({ "brief": brief }));
        self.briefs.insert(item, brief);
    }

    /// Brings a question on an item that was brought with it.
    pub fn bring_question(&mut self, question: Question) {
        let verb = match question.state {
            QuestionState::Open => Verb::Asked,
            QuestionState::Answered => Verb::Answered,
            QuestionState::Cancelled => Verb::Withdrawn,
        };
        self.push_on(verb, question.item, None, json!({ "question": question }));
        self.questions.insert(question.id, question);
    }

    /// Brings a comment.
    pub fn bring_comment(&mut self, comment: Comment) {
        let data = serde_json::to_value(&comment).unwrap_or(Value::Null);
        self.push_on(Verb::Commented, comment.item, None, data);
        self.comments.push(comment);
    }

    /// Brings a link.
    pub fn bring_link(&mut self, link: Link) {
        let data = serde_json::to_value(&link).unwrap_or(Value::Null);
        self.push_on(Verb::Attached, link.item, None, data);
        self.links.push(link);
    }
}
