//! What is going on in a project, and what happened since somebody last looked.

use serde::Serialize;

use crate::engine::Engine;
use crate::error::Error;
use crate::limits;
use crate::model::{Attribution, Item, ItemId, ItemRef, Name, Role, Timestamp, Trigger, Verb};
use crate::store::{Around, ClaimTally, EventFilter, Filter, NoteReach, Order, ProjectRef, Slice, SortBy, TimeRange};
use crate::workflow::Guide;

/// Work that cannot go on because notes are missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stalled {
    /// The item.
    pub item: Item,
    /// Required notes of its phase that are missing or blank.
    pub missing: Vec<Name>,
    /// What to write next.
    pub guide: Guide,
}

/// What is going on.
#[derive(Clone, Debug)]
pub struct Health {
    /// Items in work, then in review; of each role the oldest, a page of them at the most.
    pub active: Vec<Item>,
    /// How many are in work or in review.
    pub active_total: u64,
    /// Items that were put aside, the oldest, a page of them at the most.
    pub blocked: Vec<Item>,
    /// How many were put aside.
    pub blocked_total: u64,
    /// Active items that cannot go on, of those that are listed.
    pub stalled: Vec<Stalled>,
    /// How claims stand.
    pub claims: ClaimTally,
    /// All of them with their ancestors.
    pub seen: Slice,
}

/// One move of the past.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// What moved.
    pub item: ItemId,
    /// From where.
    pub from: Role,
    /// To where.
    pub to: Role,
    /// By what.
    pub trigger: Trigger,
    /// When.
    pub at: Timestamp,
    /// Who said they moved it.
    pub by: Option<Attribution>,
}

/// What happened since somebody last looked.
#[derive(Clone, Debug)]
pub struct Resume {
    /// Items in work, then in review; of each role the oldest, a page of them at the most.
    pub active: Vec<Item>,
    /// How many are in work or in review.
    pub active_total: u64,
    /// Active items that cannot go on, of those that are listed.
    pub stalled: Vec<Stalled>,
    /// Moves, the newest first.
    pub transitions: Vec<Transition>,
    /// All of them with their ancestors.
    pub seen: Slice,
}

impl Health {
    /// Whether there are more active items than were looked at for what is missing on them.
    pub fn is_cut(&self) -> bool {
        self.active_total > self.active.len() as u64
    }
}

impl Resume {
    /// Whether there are more active items than were looked at for what is missing on them.
    pub fn is_cut(&self) -> bool {
        self.active_total > self.active.len() as u64
    }
}

impl Engine {
    /// What is going on in a project.
    pub async fn health(&self, project: &ProjectRef) -> Result<Health, Error> {
        let (mut active, in_work) = self.in_role(project, Role::Work).await?;
        let (in_review, reviewed) = self.in_role(project, Role::Review).await?;
        active.extend(in_review);
        let (blocked, blocked_total) = self.in_role(project, Role::Blocked).await?;
        let claims = self.store().tally_claims(project, &self.access().projects).await?;
        let seen = self.with_notes(active.iter().chain(&blocked)).await?;
        let stalled = stalled(&seen, &active);
        Ok(Health { active, active_total: in_work + reviewed, blocked, blocked_total, stalled, claims, seen })
    }

    /// What happened in a project since a moment.
    pub async fn resume(&self, project: &ProjectRef, since: Timestamp, limit: usize) -> Result<Resume, Error> {
        let (mut active, in_work) = self.in_role(project, Role::Work).await?;
        let (in_review, reviewed) = self.in_role(project, Role::Review).await?;
        active.extend(in_review);
        let filter = EventFilter {
            project: project.clone(),
            verbs: vec![Verb::Moved],
            since: Some(since),
            newest_first: true,
            limit: self.page(limit),
            ..EventFilter::default()
        };
        let events = self.events(&filter).await?;
        let seen = self.with_notes(active.iter()).await?;
        TimeRange { after: Some(since), before: None }.check("since", seen.now)?;
        let stalled = stalled(&seen, &active);
        let transitions = events.iter().filter_map(transition).collect();
        Ok(Resume { active, active_total: in_work + reviewed, stalled, transitions, seen })
    }

    /// A page of the items of a role, and how many there are.
    async fn in_role(&self, project: &ProjectRef, role: Role) -> Result<(Vec<Item>, u64), Error> {
        let filter = Filter {
            project: project.clone(),
            roles: vec![role],
            sort: SortBy::CreatedAt,
            order: Order::Asc,
            limit: self.page(limits::PAGE),
            count: true,
            ..Filter::default()
        };
        let page = self.find(&filter).await?;
        Ok((page.items, page.total))
    }

    async fn with_notes<'i>(&self, items: impl Iterator<Item = &'i Item>) -> Result<Slice, Error> {
        let named: Vec<ItemRef> = items.map(|item| ItemRef::Id(item.id)).collect();
        let around = Around { ancestors: true, notes: NoteReach::Heads, ..Around::default() };
        self.show(&ProjectRef::Any, &named, around).await
    }
}

fn stalled(seen: &Slice, active: &[Item]) -> Vec<Stalled> {
    active
        .iter()
        .filter_map(|item| {
            let project = seen.project_of(item).ok()?;
            let schema = project.schemas.resolve(item)?;
            let heads = seen.heads(item.id);
            let missing = schema.missing(Some(item.role), heads);
            (!missing.is_empty()).then(|| Stalled {
                item: item.clone(),
                missing: missing.iter().map(|rule| rule.key.clone()).collect(),
                guide: schema.guide(item.role, heads),
            })
        })
        .collect()
}

fn transition(event: &crate::model::Event) -> Option<Transition> {
    let text = |key: &str| event.data.get(key).and_then(serde_json::Value::as_str);
    let trigger = match text("trigger")? {
        "cascade" => Trigger::Cascade,
        other => other.parse().ok()?,
    };
    Some(Transition {
        item: event.item?,
        from: text("fromRole")?.parse().ok()?,
        to: text("toRole")?.parse().ok()?,
        trigger,
        at: event.at,
        by: event.by.clone(),
    })
}
