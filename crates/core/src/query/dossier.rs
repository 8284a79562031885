//! One item with all that whoever works on it must know: its contract, how far it is shown, what keeps it, and around it
//! what was asked for.

use std::sync::Arc;

use serde::Serialize;

use crate::contract::{Seen, Verdict, rests_on_checks, score, verdict_seen};
use crate::engine::{Call, Draft, Engine};
use crate::error::{Error, Refusal};
use crate::gates::{Attempt, evaluate};
use crate::limits;
use crate::model::{
    Brief, Comment, Edge, EdgeId, EdgeKind, Event, Item, ItemId, ItemRef, Key, Link, Name, Note, Project, Question,
    Role, Timestamp, Trigger, Verb,
};
use crate::query::why::out_of_sight;
use crate::readiness::{Obstacle, What, obstacles};
use crate::store::{
    Around, Capped, ChildTally, EdgeReach, EventFilter, Filter, NoteReach, Order, ProjectRef, Scope, Slice, SortBy,
};
use crate::workflow::{ExpectedNote, Move, Target};

/// How often one looks further back for what was done to an item, behind what only says that somebody is at it.
const ACTIVITY_ROUNDS: usize = 6;
/// How many events are looked at each time but the first.
const ACTIVITY_STEP: usize = 1_000;

/// How much of an item's parent is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ParentReach {
    /// Nothing but its id.
    #[default]
    None,
    /// Where it stands and what it is for.
    Summary,
    /// Its texts, its brief, its children and the newest comments on it.
    Full,
}

/// What is shown around an item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is asked for by itself")]
pub struct Includes {
    /// Its parent.
    pub parent: ParentReach,
    /// Links to things outside.
    pub links: bool,
    /// Edges, with the items at their other ends.
    pub relations: bool,
    /// What was done to it, the newest first, this many at the most.
    pub activity: Option<usize>,
    /// Its children.
    pub subtasks: bool,
    /// The newest comments on it, this many at the most.
    pub comments: Option<usize>,
    /// Notes with their bodies.
    pub notes: bool,
}

/// An edge as one of its ends sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// The edge.
    pub edge: EdgeId,
    /// What it means.
    pub kind: EdgeKind,
    /// Whether it leads away from the item.
    pub outgoing: bool,
    /// The other end.
    pub other: Item,
    /// The other end's key.
    pub key: Key,
}

/// An item's parent.
#[derive(Clone, Debug)]
pub struct ParentView {
    /// The parent.
    pub item: Item,
    /// Its key.
    pub key: Key,
    /// How its children stand.
    pub tally: ChildTally,
    /// Whether it has more children of a role than were counted.
    pub tally_cut: bool,
    /// Its brief, where it is shown in full.
    pub brief: Option<Brief>,
    /// Its children, where it is shown in full.
    pub children: Capped<Item>,
    /// The newest comments on it, where it is shown in full.
    pub comments: Capped<Comment>,
}

/// One item with all that whoever works on it must know.
#[derive(Clone, Debug)]
pub struct Dossier {
    /// The item.
    pub item: Item,
    /// Its key.
    pub key: Key,
    /// The rules it is under.
    pub project: Arc<Project>,
    /// The moment all this was so.
    pub now: Timestamp,
    /// Its contract.
    pub brief: Option<Brief>,
    /// How complete the contract is, from 0 to 100.
    pub score: u8,
    /// How far it is shown.
    pub verdict: Verdict,
    /// The newest question on it.
    pub question: Option<Question>,
    /// Why it is not ready; empty when it is.
    pub obstacles: Vec<Obstacle>,
    /// What would refuse its success, its claim and its path aside.
    pub closure: Vec<Refusal>,
    /// The statuses that its workflow leads to from here; gates may still refuse.
    pub next_statuses: Vec<Name>,
    /// Its parent.
    pub parent: Option<ParentView>,
    /// Links.
    pub links: Vec<Link>,
    /// Edges.
    pub relations: Vec<Relation>,
    /// What was done to it.
    pub activity: Vec<Event>,
    /// Its children.
    pub subtasks: Capped<Item>,
    /// Comments on it, the newest first.
    pub comments: Capped<Comment>,
    /// Notes.
    pub notes: Vec<Note>,
    /// The notes of the phase it is in, and whether they are there.
    pub expected_notes: Vec<ExpectedNote>,
}

impl Dossier {
    /// Whether open blockers hold it up.
    pub fn is_blocked(&self) -> bool {
        self.item.derived.blockers > 0
    }

    /// Whether shipped work replaces it.
    pub fn is_superseded(&self) -> bool {
        self.obstacles.iter().any(|obstacle| matches!(obstacle.what, What::SupersededBy { .. }))
    }

    /// Whether it repeats live work.
    pub fn is_duplicate(&self) -> bool {
        self.obstacles.iter().any(|obstacle| matches!(obstacle.what, What::DuplicateOf { .. }))
    }

    /// The question that waits for an answer.
    pub fn open_question(&self) -> Option<&Question> {
        self.question.as_ref().filter(|question| question.state == crate::model::QuestionState::Open)
    }
}

impl Engine {
    /// One item with all that whoever works on it must know, and what was asked for around it.
    pub async fn dossier(&self, project: &ProjectRef, item: &ItemRef, includes: Includes) -> Result<Dossier, Error> {
        let around = Around {
            open_children: Some(limits::OPEN_SHOWN),
            edges: EdgeReach::Named,
            notes: if includes.notes { NoteReach::Bodies } else { NoteReach::Heads },
            briefs: true,
            questions: true,
            comments: includes.comments,
            links: includes.links,
            ..Around::default()
        };
        let scope = Scope { project: project.clone(), items: vec![item.clone()], around, ..Scope::default() };
        let mut seen = self.view(&scope).await?;
        let item = seen.resolve(item)?.clone();
        let rules = Arc::clone(seen.project_of(&item)?);
        let parent = match item.parent {
            Some(id) => self.parent_view(id, includes.parent).await?,
            None => None,
        };
        let activity = match includes.activity {
            Some(limit) => self.activity_of(item.id, limit).await?,
            None => Vec::new(),
        };
        let subtasks = if includes.subtasks { self.children_of(item.id).await? } else { Capped::default() };
        let brief = seen.briefs.remove(&item.id).filter(|brief| !brief.is_empty());
        let look = match brief.as_ref().filter(|brief| rests_on_checks(brief)) {
            Some(brief) => self.look_at(&rules, &brief.checks, seen.now).await,
            None => None,
        };
        Ok(Dossier {
            key: rules.key(item.number),
            score: score(&item),
            verdict: verdict_seen(brief.as_ref(), look.as_ref().map_or(Seen::NotAsked, |look| Seen::Tree(Some(look)))),
            question: seen.question_of(item.id).cloned(),
            obstacles: self.obstacles_of(&seen, &rules, &item),
            closure: self.closure(&seen, &rules, &item, brief.as_ref()),
            next_statuses: next_statuses(&rules, &item),
            relations: if includes.relations { relations(&seen, &item) } else { Vec::new() },
            links: seen.links.values().filter(|link| link.item == item.id).cloned().collect(),
            comments: seen.comments.remove(&item.id).unwrap_or_default(),
            notes: seen.notes.iter().filter(|note| note.item == item.id).cloned().collect(),
            expected_notes: rules
                .schemas
                .resolve(&item)
                .map(|schema| schema.expected(Some(item.role), seen.heads(item.id)))
                .unwrap_or_default(),
            now: seen.now,
            project: rules,
            brief,
            parent,
            activity,
            subtasks,
            item,
        })
    }

    /// An item as the parent of another: as much of it as is asked for; none where it may not be seen.
    pub async fn parent_view(&self, id: ItemId, reach: ParentReach) -> Result<Option<ParentView>, Error> {
        if reach == ParentReach::None {
            return Ok(None);
        }
        let full = reach == ParentReach::Full;
        let around = Around { briefs: full, comments: full.then_some(limits::PARENT_COMMENTS), ..Around::default() };
        let mut seen = self.show(&ProjectRef::Any, &[ItemRef::Id(id)], around).await?;
        let Some(item) = seen.items.get(&id).cloned() else { return Ok(None) };
        let key = seen.project_of(&item)?.key(item.number);
        // One more than is told, to know whether there are more.
        let most = limits::CHILDREN_COUNTED;
        let mut tally = self.store().tally_children(&[id], Some(most + 1)).await?.remove(&id).unwrap_or_default();
        let tally_cut = tally.cut(most);
        let children = if full { self.children_of(id).await? } else { Capped::default() };
        Ok(Some(ParentView {
            item,
            key,
            tally,
            tally_cut,
            brief: seen.briefs.remove(&id).filter(|brief| !brief.is_empty()),
            children,
            comments: seen.comments.remove(&id).unwrap_or_default(),
        }))
    }

    /// The direct children of an item, in the order in which they were made.
    async fn children_of(&self, id: ItemId) -> Result<Capped<Item>, Error> {
        let filter = Filter {
            parent: Some(Some(id)),
            sort: SortBy::CreatedAt,
            order: Order::Asc,
            limit: limits::PAGE + 1,
            ..Filter::default()
        };
        Ok(Capped::cut(self.find(&filter).await?.items, limits::PAGE))
    }

    async fn activity_of(&self, id: ItemId, limit: usize) -> Result<Vec<Event>, Error> {
        let verbs: Vec<Verb> = Verb::ALL.into_iter().filter(|verb| *verb != Verb::SessionBeat).collect();
        let mut told: Vec<Event> = Vec::new();
        let mut before = None;
        for round in 0..ACTIVITY_ROUNDS {
            // Claims that were extended are looked at and not told; the further it goes, the more is looked at once.
            let most = if round == 0 { (limit * 4).min(limits::PAGE) } else { ACTIVITY_STEP };
            let filter = EventFilter {
                item: Some(id),
                verbs: verbs.clone(),
                before,
                newest_first: true,
                limit: most,
                ..EventFilter::default()
            };
            let events = self.events(&filter).await?;
            let is_last = events.len() < most;
            before = events.last().map(|event| event.seq);
            told.extend(events.into_iter().filter(|event| !event.is_sign_of_life()));
            if is_last || told.len() >= limit {
                break;
            }
        }
        told.truncate(limit);
        Ok(told)
    }

    fn obstacles_of(&self, seen: &Slice, rules: &Project, item: &Item) -> Vec<Obstacle> {
        let touching = seen.edges.values().filter(|edge| edge.from == item.id || edge.to == item.id);
        let mut found = obstacles(&rules.workflow, item, touching, |id| seen.items.get(&id), seen.now);
        if self.access().projects.is_some() {
            found.extend(out_of_sight(item, &found));
        }
        found
    }

    /// What would refuse an item's success, asked of the gates themselves.
    fn closure(&self, seen: &Slice, rules: &Project, item: &Item, brief: Option<&Brief>) -> Vec<Refusal> {
        let Some(to) = rules.workflow.first_of(Role::Terminal).filter(|_| item.role.is_open()) else {
            return Vec::new();
        };
        let call = Call::for_reading(Arc::clone(&self.access));
        let mut shown = seen.clone();
        shown.briefs.extend(brief.map(|brief| (item.id, brief.clone())));
        let draft = Draft::new(&call, &shown);
        let resolved = Ok(Move { to, trigger: Trigger::Complete });
        evaluate(&draft, &Attempt { item, workflow: &rules.workflow, resolved: &resolved, caller: None })
    }
}

fn next_statuses(rules: &Project, item: &Item) -> Vec<Name> {
    let has_review = rules.schemas.resolve(item).is_some_and(|schema| schema.has_review());
    let leads = |name: &Name| rules.workflow.resolve(item, &Target::Status(name.clone()), has_review).is_ok();
    rules.workflow.statuses.iter().map(|status| &status.name).filter(|name| leads(name)).cloned().collect()
}

fn relations(seen: &Slice, item: &Item) -> Vec<Relation> {
    let touching = seen.edges.values().filter(|edge| edge.from == item.id || edge.to == item.id);
    let relation = |edge: &Edge| {
        let other = seen.items.get(&edge.other(item.id))?;
        let key = seen.project_of(other).ok()?.key(other.number);
        Some(Relation { edge: edge.id, kind: edge.kind, outgoing: edge.from == item.id, other: other.clone(), key })
    };
    touching.filter_map(relation).collect()
}

/// One line of what was done, without the values.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Activity {
    /// Who did it.
    pub actor: String,
    /// What was done.
    pub action: String,
    /// In a few words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// When.
    pub created_at: Timestamp,
}

impl From<&Event> for Activity {
    fn from(event: &Event) -> Self {
        let actor = event.by.as_ref().map_or(&event.principal, |by| &by.actor.id);
        Self {
            actor: actor.to_string(),
            action: event.verb.as_str().to_owned(),
            summary: in_a_few_words(event),
            created_at: event.at,
        }
    }
}

/// What an event did, by names of fields and statuses alone: no text that anybody wrote.
fn in_a_few_words(event: &Event) -> String {
    let word = |pointer: &str| event.data.pointer(pointer).and_then(serde_json::Value::as_str).unwrap_or_default();
    if event.verb == Verb::Moved {
        let (from, to) = (word("/fromStatus"), word("/set/status"));
        // Moves from before did not say which status they left.
        return if from.is_empty() { format!("to {to}") } else { format!("{from} to {to}") };
    }
    if event.verb == Verb::Verified {
        return found(&event.data);
    }
    let Some(set) = event.data.get("set").and_then(serde_json::Value::as_object) else { return String::new() };
    // A lease that was kept by what was done is no part of it.
    let kept = |field: &str| field == "claim" && !matches!(event.verb, Verb::Claimed | Verb::Released);
    let told = set
        .keys()
        .map(String::as_str)
        .filter(|field| !matches!(*field, "version" | "modifiedAt" | "fence") && !kept(field));
    told.collect::<Vec<_>>().join(", ")
}

/// Which criteria evidence was about.
fn found(data: &serde_json::Value) -> String {
    let criteria = data.get("criteria").and_then(serde_json::Value::as_array);
    let ids =
        criteria.into_iter().flatten().filter_map(|criterion| criterion.get("id").and_then(serde_json::Value::as_str));
    ids.collect::<Vec<_>>().join(", ")
}
