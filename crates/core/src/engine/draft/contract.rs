//! Briefs, questions, comments and links in a unit of work.

use serde_json::{Map, Value, json};

use super::Draft;
use crate::checks::Look;
use crate::model::{
    Attribution, Brief, Comment, CommentId, Inbox, ItemId, Link, LinkId, Name, Question, QuestionId, QuestionState,
    RunId, Verb,
};
use crate::store::{PassedQuestion, RunChange};

impl Draft<'_> {
    /// A new id for something said.
    pub fn new_question_id(&mut self) -> QuestionId {
        QuestionId(self.ids.ulid())
    }

    /// The brief of an item as it stands in this unit.
    pub fn brief(&self, id: ItemId) -> Option<&Brief> {
        self.briefs.get(&id).or_else(|| self.seen.briefs.get(&id))
    }

    /// Writes an item's brief, by way of `verb`; `data` is what the event says of it. The item's version grows.
    pub fn put_brief(
        &mut self,
        id: ItemId,
        brief: Brief,
        verb: Verb,
        by: Option<&Attribution>,
        data: Map<String, Value>,
    ) {
        let sections = brief.sections();
        self.briefs.insert(id, brief);
        self.edit(id, |item| item.derived.sections = sections);
        self.record(verb, id, by, data);
    }

    /// Writes a question; the event that says so is the caller's.
    pub fn put_question(&mut self, question: Question) {
        let open = question.state == QuestionState::Open;
        self.change(question.item, |item, _| item.derived.inbox = item.derived.inbox.with(Inbox::QUESTION, open));
        self.questions.insert(question.id, question);
    }

    /// Whether an item waits for an answer.
    pub fn has_open_question(&self, id: ItemId) -> bool {
        self.item(id).is_some_and(|item| item.derived.inbox.has(Inbox::QUESTION))
    }

    /// Cancels the open question of an item that moves on; its next event says so.
    pub(super) fn pass_question(&mut self, id: ItemId) {
        if !self.has_open_question(id) {
            return;
        }
        let by = self.call.actor().unwrap_or(&self.call.principal).clone();
        self.change(id, |item, _| item.derived.inbox = item.derived.inbox.with(Inbox::QUESTION, false));
        self.passed_questions.push(PassedQuestion { item: id, by, at: self.now });
    }

    /// A new id for a run.
    pub fn new_run_id(&mut self) -> RunId {
        RunId(self.ids.ulid())
    }

    /// Writes a run; the event that says so is the caller's.
    pub fn put_run(&mut self, change: RunChange) {
        self.runs.push(change);
    }

    /// What was seen of the work tree of an item, for this unit.
    pub fn looked_at(&self, id: ItemId) -> Option<&Look> {
        self.looks.get(&id)
    }

    /// Takes in what was seen of the work tree of an item.
    pub fn look(&mut self, id: ItemId, look: Option<Look>) {
        self.looks.extend(look.map(|look| (id, look)));
    }

    /// Adds a comment.
    pub fn add_comment(
        &mut self,
        item: ItemId,
        body: crate::model::Text,
        author: Name,
        by: Option<&Attribution>,
    ) -> CommentId {
        let comment = Comment { id: CommentId(self.ids.ulid()), item, body, by: author, created_at: self.now };
        let id = comment.id;
        let data = serde_json::to_value(&comment).unwrap_or(Value::Null);
        self.push_on(Verb::Commented, item, by, data);
        self.comments.push(comment);
        id
    }

    /// Adds a link; its id and time are the unit's.
    pub fn add_link(&mut self, mut link: Link, by: Option<&Attribution>) -> LinkId {
        link.id = LinkId(self.ids.ulid());
        link.created_at = self.now;
        let id = link.id;
        let data = serde_json::to_value(&link).unwrap_or(Value::Null);
        self.push_on(Verb::Attached, link.item, by, data);
        self.links.push(link);
        id
    }

    /// Removes a link that was shown.
    pub fn remove_link(&mut self, id: LinkId, by: Option<&Attribution>) -> bool {
        let Some(link) = self.seen.links.get(&id).filter(|_| !self.removed_links.contains(&id)) else { return false };
        self.push_on(Verb::Detached, link.item, by, json!({ "id": link.id }));
        self.removed_links.push(id);
        true
    }

    pub(super) fn push_on(&mut self, verb: Verb, item: ItemId, by: Option<&Attribution>, data: Value) {
        if let Some(project) = self.item(item).map(|item| item.project) {
            self.push_event(verb, project, Some(item), None, by, data);
        }
    }
}
