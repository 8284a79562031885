//! Rebuilds rows from events alone: state and record are one, and this is how that is shown.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::model::{
    Brief, Comment, CommentId, Criterion, Derived, Edge, EdgeId, Entry, EntryId, EntryLink, EntryTie, Event, Item,
    ItemId, Link, LinkId, Name, Note, Project, ProjectId, Question, QuestionId, QuestionState, Run, RunId, Session,
    SessionId, Verb,
};
use crate::workflow::Stored;

/// Rows as the events tell them; derived numbers are zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replayed {
    /// Projects.
    pub projects: BTreeMap<ProjectId, Project>,
    /// Items.
    pub items: BTreeMap<ItemId, Item>,
    /// Edges.
    pub edges: BTreeMap<EdgeId, Edge>,
    /// Notes.
    pub notes: BTreeMap<(ItemId, Name), Note>,
    /// Briefs.
    pub briefs: BTreeMap<ItemId, Brief>,
    /// Questions.
    pub questions: BTreeMap<QuestionId, Question>,
    /// Comments.
    pub comments: BTreeMap<CommentId, Comment>,
    /// Links.
    pub links: BTreeMap<LinkId, Link>,
    /// Entries of the knowledge.
    pub entries: BTreeMap<EntryId, Entry>,
    /// Links of entries.
    pub entry_links: BTreeMap<(EntryId, ItemId, EntryTie), EntryLink>,
    /// Sessions.
    pub sessions: BTreeMap<SessionId, Session>,
    /// Runs of checks.
    pub runs: BTreeMap<RunId, Run>,
}

/// An event that does not fit the ones before it.
#[derive(Debug, thiserror::Error)]
#[error("event {seq} ({verb}) does not fit the events before it: {what}")]
pub struct BadEvent {
    /// Its number.
    pub seq: u64,
    /// Its verb.
    pub verb: &'static str,
    /// What is the matter.
    pub what: String,
}

impl Replayed {
    /// Takes one event in; events come in commit order.
    pub fn apply(&mut self, event: &Event) -> Result<(), BadEvent> {
        let bad = |what: &str| BadEvent { seq: event.seq, verb: event.verb.as_str(), what: what.to_owned() };
        match event.verb {
            Verb::ProjectSet => {
                // As the row is read that says the same.
                let mut data = event.data.clone();
                Stored::bring_up_in(&mut data);
                let project: Project = parse(&data).ok_or_else(|| bad("no project in it"))?;
                self.projects.insert(project.id, project);
            }
            Verb::Created => {
                let item = whole_item(&event.data).ok_or_else(|| bad("no item in it"))?;
                self.items.insert(item.id, item);
            }
            Verb::Edited | Verb::Moved | Verb::Claimed | Verb::Released => self.change(event)?,
            Verb::Briefed
            | Verb::Verified
            | Verb::Asked
            | Verb::Answered
            | Verb::Withdrawn
            | Verb::Commented
            | Verb::Attached
            | Verb::Detached
            | Verb::ChecksSet
            | Verb::ChecksApproved
            | Verb::Attested
            | Verb::RunsOrdered
            | Verb::RunTaken
            | Verb::RunEnded => self.apply_contract(event)?,
            Verb::SessionBegun | Verb::SessionBeat | Verb::SessionEnded => self.apply_session(event)?,
            Verb::Learned | Verb::Revised | Verb::Reviewed | Verb::Forgotten | Verb::Cited | Verb::Uncited => {
                self.apply_knowledge(event)?;
            }
            Verb::Removed => {
                let id = event.item.ok_or_else(|| bad("no item named"))?;
                self.items.remove(&id).ok_or_else(|| bad("its item is not there"))?;
                self.edges.retain(|_, edge| edge.from != id && edge.to != id);
                self.notes.retain(|(item, _), _| *item != id);
                self.briefs.remove(&id);
                self.questions.retain(|_, question| question.item != id);
                self.comments.retain(|_, comment| comment.item != id);
                self.links.retain(|_, link| link.item != id);
                self.entry_links.retain(|_, link| link.item != id);
                self.sessions.retain(|_, session| session.item != id);
                self.runs.retain(|_, run| run.item != id);
            }
            Verb::Noted => {
                let note: Note = parse(&event.data).ok_or_else(|| bad("no note in it"))?;
                self.notes.insert((note.item, note.key.clone()), note);
            }
            Verb::NoteRemoved => {
                let id = event.item.ok_or_else(|| bad("no item named"))?;
                let key: Name = event.data.get("key").and_then(parse).ok_or_else(|| bad("no key in it"))?;
                self.notes.remove(&(id, key)).ok_or_else(|| bad("its note is not there"))?;
            }
            Verb::Linked => {
                let edge: Edge = parse(&event.data).ok_or_else(|| bad("no edge in it"))?;
                self.edges.insert(edge.id, edge);
            }
            Verb::Unlinked => {
                let edge: Edge = parse(&event.data).ok_or_else(|| bad("no edge in it"))?;
                self.edges.remove(&edge.id).ok_or_else(|| bad("its edge is not there"))?;
            }
            // Keys cannot be rebuilt: their secrets are in no event.
            Verb::KeySet => {}
        }
        Ok(())
    }

    /// The same for what is said about an item: its brief, evidence, questions, comments and links.
    fn apply_contract(&mut self, event: &Event) -> Result<(), BadEvent> {
        let bad = |what: &str| BadEvent { seq: event.seq, verb: event.verb.as_str(), what: what.to_owned() };
        match event.verb {
            Verb::Briefed => {
                self.change(event)?;
                let id = event.item.ok_or_else(|| bad("no item named"))?;
                let brief = event.data.get("brief").and_then(parse).ok_or_else(|| bad("no brief in it"))?;
                self.briefs.insert(id, brief);
            }
            Verb::Verified => {
                self.change(event)?;
                let brief =
                    event.item.and_then(|id| self.briefs.get_mut(&id)).ok_or_else(|| bad("no brief to verify"))?;
                let criteria: Vec<Criterion> =
                    event.data.get("criteria").and_then(parse).ok_or_else(|| bad("no criteria in it"))?;
                for criterion in criteria {
                    let known = brief.acceptance_criteria.iter_mut().find(|known| known.id == criterion.id);
                    *known.ok_or_else(|| bad("its criterion is not there"))? = criterion;
                }
            }
            Verb::ChecksSet
            | Verb::ChecksApproved
            | Verb::Attested
            | Verb::RunsOrdered
            | Verb::RunTaken
            | Verb::RunEnded => self.apply_checks(event)?,
            Verb::Asked | Verb::Answered | Verb::Withdrawn => {
                self.change(event)?;
                let question: Question =
                    event.data.get("question").and_then(parse).ok_or_else(|| bad("no question in it"))?;
                self.questions.insert(question.id, question);
            }
            Verb::Commented => {
                let comment: Comment = parse(&event.data).ok_or_else(|| bad("no comment in it"))?;
                self.comments.insert(comment.id, comment);
            }
            Verb::Attached => {
                let link: Link = parse(&event.data).ok_or_else(|| bad("no link in it"))?;
                self.links.insert(link.id, link);
            }
            Verb::Detached => {
                let id: LinkId = event.data.get("id").and_then(parse).ok_or_else(|| bad("no link named"))?;
                self.links.remove(&id).ok_or_else(|| bad("its link is not there"))?;
            }
            Verb::ProjectSet
            | Verb::Created
            | Verb::Edited
            | Verb::Moved
            | Verb::Claimed
            | Verb::Released
            | Verb::Noted
            | Verb::NoteRemoved
            | Verb::Linked
            | Verb::Unlinked
            | Verb::Removed
            | Verb::Learned
            | Verb::Revised
            | Verb::Reviewed
            | Verb::Forgotten
            | Verb::Cited
            | Verb::Uncited
            | Verb::KeySet
            | Verb::SessionBegun
            | Verb::SessionBeat
            | Verb::SessionEnded => {}
        }
        Ok(())
    }

    /// The same for knowledge.
    fn apply_knowledge(&mut self, event: &Event) -> Result<(), BadEvent> {
        let bad = |what: &str| BadEvent { seq: event.seq, verb: event.verb.as_str(), what: what.to_owned() };
        match event.verb {
            Verb::Learned => {
                let entry: Entry = parse(&event.data).ok_or_else(|| bad("no entry in it"))?;
                self.entries.insert(entry.id, entry);
            }
            Verb::Revised | Verb::Reviewed => {
                let entry: Entry = parse(&event.data).ok_or_else(|| bad("no entry in it"))?;
                self.entries.insert(entry.id, entry).ok_or_else(|| bad("its entry is not there"))?;
            }
            Verb::Forgotten => {
                let id: EntryId = event.data.get("id").and_then(parse).ok_or_else(|| bad("no entry named"))?;
                self.entries.remove(&id).ok_or_else(|| bad("its entry is not there"))?;
                self.entry_links.retain(|(entry, ..), _| *entry != id);
            }
            Verb::Cited => {
                let link: EntryLink = parse(&event.data).ok_or_else(|| bad("no link in it"))?;
                self.entry_links.insert(link.key(), link);
            }
            _ => {
                let part = |name: &str| event.data.get(name).ok_or_else(|| bad("no link named"));
                let key = (parse(part("entry")?), parse(part("item")?), parse(part("kind")?));
                let (Some(entry), Some(item), Some(kind)) = key else { return Err(bad("no link named")) };
                self.entry_links.remove(&(entry, item, kind)).ok_or_else(|| bad("its link is not there"))?;
            }
        }
        Ok(())
    }

    /// The same for sessions. A sign of life says only what it changes: there are many of them.
    fn apply_session(&mut self, event: &Event) -> Result<(), BadEvent> {
        let bad = |what: &str| BadEvent { seq: event.seq, verb: event.verb.as_str(), what: what.to_owned() };
        self.change(event)?;
        let said = event.data.get("session").ok_or_else(|| bad("no session in it"))?;
        if event.verb == Verb::SessionBeat {
            let id: SessionId = parse(said).ok_or_else(|| bad("no session named"))?;
            let session = self.sessions.get_mut(&id).ok_or_else(|| bad("its session is not there"))?;
            session.heartbeat_at = event.at;
            if let Some(progress) = event.data.get("progress") {
                session.progress = parse(progress).ok_or_else(|| bad("no progress in it"))?;
            }
        } else {
            let session: Session = parse(said).ok_or_else(|| bad("no session in it"))?;
            self.sessions.insert(session.id, session);
        }
        Ok(())
    }

    /// The same for checks and their runs. What a run said is in no event: its log goes with its row.
    fn apply_checks(&mut self, event: &Event) -> Result<(), BadEvent> {
        let bad = |what: &str| BadEvent { seq: event.seq, verb: event.verb.as_str(), what: what.to_owned() };
        self.change(event)?;
        let id = event.item.ok_or_else(|| bad("no item named"))?;
        if let Some(checks) = event.data.get("checks") {
            let brief = self.briefs.entry(id).or_default();
            brief.checks = parse(checks).ok_or_else(|| bad("no checks in it"))?;
            if let Some(closes) = event.data.get("closesWhenShown") {
                brief.closes_when_shown = closes.as_bool().ok_or_else(|| bad("neither true nor false"))?;
            }
            if let Some(place) = event.data.get("handedInAt") {
                brief.handed_in_at = parse(place).ok_or_else(|| bad("no work tree in it"))?;
            }
            let criteria = event.data.get("criteria").map(parse::<Vec<Criterion>>);
            for criterion in criteria.unwrap_or_default().into_iter().flatten() {
                let known = brief.acceptance_criteria.iter_mut().find(|known| known.id == criterion.id);
                *known.ok_or_else(|| bad("its criterion is not there"))? = criterion;
            }
        }
        let runs: Vec<Run> = event.data.get("runs").and_then(parse).unwrap_or_default();
        self.runs.extend(runs.into_iter().map(|run| (run.id, run)));
        Ok(())
    }

    /// The fields that an event set on its item, and the end of a question that the item left behind.
    fn change(&mut self, event: &Event) -> Result<(), BadEvent> {
        let bad = |what: &str| BadEvent { seq: event.seq, verb: event.verb.as_str(), what: what.to_owned() };
        let id = event.item.ok_or_else(|| bad("no item named"))?;
        let before = self.items.get(&id).ok_or_else(|| bad("its item is not there"))?;
        let after = changed_item(before, &event.data).ok_or_else(|| bad("its fields do not fit an item"))?;
        self.items.insert(id, after);
        if let Some(by) = event.data.get("questionCancelled") {
            let by: Name = parse(by).ok_or_else(|| bad("nobody who cancelled the question"))?;
            let open = |question: &&mut Question| question.item == id && question.state == QuestionState::Open;
            for question in self.questions.values_mut().filter(open) {
                question.state = QuestionState::Cancelled;
                question.ended_by = Some(by.clone());
                question.ended_at = Some(event.at);
            }
        }
        Ok(())
    }
}

fn parse<T: serde::de::DeserializeOwned>(value: &Value) -> Option<T> {
    serde_json::from_value(value.clone()).ok()
}

fn whole_item(data: &Value) -> Option<Item> {
    let fields = data.as_object()?.clone();
    with_derived(fields)
}

fn changed_item(before: &Item, data: &Value) -> Option<Item> {
    let Some(Value::Object(set)) = data.get("set") else { return Some(before.clone()) };
    let Ok(Value::Object(mut fields)) = serde_json::to_value(before) else { return None };
    for (key, value) in set {
        if value.is_null() {
            fields.remove(key);
        } else {
            fields.insert(key.clone(), value.clone());
        }
    }
    with_derived(fields)
}

fn with_derived(mut fields: Map<String, Value>) -> Option<Item> {
    fields.insert("derived".to_owned(), serde_json::to_value(Derived::default()).ok()?);
    parse(&Value::Object(fields))
}
