//! One item that is to be made, and how it is made.

use std::collections::BTreeMap;

use serde::Serialize;

use super::brief::{BriefText, write_brief};
use super::checks::{self, NewCheck};
use super::place::{check_lists, check_parent, empty_summary, once, receive};
use super::verify::authority_of;
use crate::contract::{Stage, unproved};
use crate::engine::{Call, Draft};
use crate::error::{Error, Gate, Reason};
use crate::model::{
    Brief, Check, Complexity, Derived, Fence, Item, ItemId, ItemRef, Name, Outcome, Priority, Project, ProjectId, Role,
    Summary, Tag, Text, Timestamp, Title,
};
use crate::query::known_among;
use crate::workflow::Status;

/// What a new item lies beneath.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Parent {
    /// An item that exists.
    Existing(ItemRef),
    /// An earlier item of the same call, by its local name.
    Local(String),
}

/// An item to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the fields are those of Item")]
pub struct NewItem {
    /// Its name inside the call, for edges, notes and children.
    pub local: Option<String>,
    pub parent: Option<Parent>,
    pub title: Title,
    pub description: Option<Text>,
    pub summary: Option<Summary>,
    pub intent: Option<Text>,
    /// Where it stands at first; the workflow's initial status where neither role nor status is said.
    pub role: Option<Role>,
    pub status: Option<Name>,
    pub status_label: Option<Name>,
    pub priority: Priority,
    pub complexity: Option<Complexity>,
    pub item_type: Option<Name>,
    pub tags: Vec<Tag>,
    pub traits: Vec<Name>,
    pub metadata: Option<Text>,
    pub properties: Option<Text>,
    pub requires_verification: bool,
    pub attention: Option<Text>,
    pub due_at: Option<Timestamp>,
    pub estimate_minutes: Option<u32>,
    pub position: Option<i32>,
    pub touches: Vec<Name>,
    pub needs: Vec<Name>,
    pub required_capabilities: Vec<Name>,
    /// Its work contract.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brief: Option<BriefText>,
    /// What must be shown before it counts as done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<NewCheck>,
    /// Whether it was done before it was written down here: what a list has ticked off went no path of any workflow.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub done_before: bool,
}

impl NewItem {
    /// An item with a title and nothing else said.
    pub fn titled(title: Title) -> Self {
        Self {
            local: None,
            parent: None,
            title,
            description: None,
            summary: None,
            intent: None,
            role: None,
            status: None,
            status_label: None,
            priority: Priority::default(),
            complexity: None,
            item_type: None,
            tags: Vec::new(),
            traits: Vec::new(),
            metadata: None,
            properties: None,
            requires_verification: false,
            attention: None,
            due_at: None,
            estimate_minutes: None,
            position: None,
            touches: Vec::new(),
            needs: Vec::new(),
            required_capabilities: Vec::new(),
            brief: None,
            checks: Vec::new(),
            done_before: false,
        }
    }

    /// The item as its author wants it; its name and its place are not the author's to give.
    fn item(&self, project: ProjectId, status: &Status, now: Timestamp) -> Item {
        Item {
            id: ItemId::from_uuid(uuid::Uuid::nil()),
            project,
            number: 0,
            parent: None,
            depth: 0,
            title: self.title.clone(),
            description: self.description.clone(),
            summary: self.summary.clone().unwrap_or_else(empty_summary),
            intent: self.intent.clone(),
            status: status.name.clone(),
            role: status.role,
            outcome: status.outcome,
            previous_status: None,
            status_label: self.status_label.clone(),
            priority: self.priority,
            complexity: self.complexity,
            item_type: self.item_type.clone(),
            tags: once(&self.tags),
            traits: once(&self.traits),
            metadata: self.metadata.clone(),
            properties: self.properties.clone(),
            requires_verification: self.requires_verification,
            attention: self.attention.clone(),
            due_at: self.due_at,
            estimate_minutes: self.estimate_minutes,
            position: self.position,
            touches: once(&self.touches),
            needs: once(&self.needs),
            required_capabilities: once(&self.required_capabilities),
            claim: None,
            fence: Fence::default(),
            version: 1,
            created_at: now,
            modified_at: now,
            role_changed_at: now,
            derived: Derived::default(),
        }
    }
}

/// Makes one item.
pub(super) fn make(
    draft: &mut Draft<'_>,
    project: &Project,
    new: &NewItem,
    locals: &BTreeMap<&str, ItemId>,
) -> Result<ItemId, Error> {
    check_lists(&[
        ("tags", new.tags.len()),
        ("traits", new.traits.len()),
        ("touches", new.touches.len()),
        ("needs", new.needs.len()),
        ("requiredCapabilities", new.required_capabilities.len()),
    ])?;
    let parent = match &new.parent {
        None => None,
        Some(Parent::Existing(parent)) => Some(draft.seen.resolve(parent).map_err(|error| error.at("parentId"))?.id),
        Some(Parent::Local(local)) => Some(local_item(locals, local)?),
    };
    let depth = check_parent(draft, project, parent)?;
    let status = initial_status(project, new)?;
    check_path(project, status, new)?;
    // Everything that may be refused comes before anything is made.
    let revised = new.brief.as_ref().map(|brief| brief.revise(None, true)).transpose();
    let brief = revised.map_err(|error| error.within("brief"))?;
    let checks = new_checks(draft.call, &new.checks, brief.as_ref())?;
    let brief = if checks.is_empty() { brief } else { Some(Brief { checks, ..brief.unwrap_or_default() }) };
    if let Some(brief) = &brief {
        check_shown(project, status, brief)?;
    }
    if let (Some(parent), true) = (parent, status.role.is_open()) {
        receive(draft, project, parent)?;
    }
    let id = ItemId::from_uuid(draft.new_uuid());
    let number = draft.take_number(project.id);
    let mut item = Item { id, number, parent, depth, ..new.item(project.id, status, draft.now) };
    project.schemas.add_needs(&mut item);
    draft.add_item(item, None);
    if let Some(brief) = brief {
        write_brief(draft, id, brief);
    }
    Ok(id)
}

/// The checks of a new item, in the word of whoever makes it.
fn new_checks(call: &Call, new: &[NewCheck], brief: Option<&Brief>) -> Result<Vec<Check>, Error> {
    if new.is_empty() {
        return Ok(Vec::new());
    }
    let checks = checks::revised(call, new, &brief.cloned().unwrap_or_default(), authority_of(call))?;
    checks::check_list(&checks)?;
    Ok(checks)
}

/// Refuses to make an item where only work is brought that somebody has looked at.
fn check_path(project: &Project, status: &Status, new: &NewItem) -> Result<(), Error> {
    let reviewed = match (status.role, status.outcome) {
        (Role::Review, _) | (Role::Terminal, Some(Outcome::Success)) => true,
        (Role::Terminal | Role::Queue | Role::Work | Role::Blocked, _) => false,
    };
    if project.workflow.require_review && reviewed && !new.done_before {
        let message = format!("an item is not made {}: it comes there by way of work and review", status.name);
        return Err(Error::validation(Reason::BadValue, message).at("status"));
    }
    Ok(())
}

/// Refuses to make an item where its own criteria would not have let it go.
fn check_shown(project: &Project, status: &Status, brief: &Brief) -> Result<(), Error> {
    let stage = match (status.role, status.outcome) {
        (Role::Review, _) => Stage::Review,
        (Role::Terminal, Some(Outcome::Success)) => Stage::Success,
        (Role::Terminal | Role::Queue | Role::Work | Role::Blocked, _) => return Ok(()),
    };
    let open = project.workflow.has_gate(Gate::Criteria) && !unproved(brief, stage).is_empty();
    let unshown = project.workflow.has_gate(Gate::Checks) && stage == Stage::Success && !brief.checks.is_empty();
    if open || unshown {
        let what = if open { "hard criteria" } else { "checks" };
        let message = format!("an item with {what} is not made {}: they are to be shown first", status.name);
        return Err(Error::validation(Reason::BadValue, message).at("status"));
    }
    Ok(())
}

fn initial_status<'p>(project: &'p Project, new: &NewItem) -> Result<&'p Status, Error> {
    let workflow = &project.workflow;
    let found = match (&new.status, new.role) {
        (Some(name), _) => workflow.status(name),
        (None, Some(Role::Queue) | None) => workflow.status(&workflow.initial),
        (None, Some(Role::Blocked)) => workflow.aside(),
        (None, Some(role)) => workflow.first_of(role),
    };
    if let Some(parked) = found.filter(|status| workflow.waits_for_answers(status)) {
        let message =
            format!("an item stands in {} only while a question on it is open: make it, then ask", parked.name);
        return Err(Error::validation(Reason::BadValue, message).at("status"));
    }
    found.ok_or_else(|| {
        let known: Vec<&Name> = workflow.statuses.iter().map(|status| &status.name).collect();
        let slip = new.status.as_ref().and_then(|named| known_among("status", named, &known).err());
        slip.unwrap_or_else(|| Error::validation(Reason::UnknownValue, "this workflow has no such status").at("status"))
    })
}

/// The item of this call that has a local name.
pub(super) fn local_item(locals: &BTreeMap<&str, ItemId>, local: &str) -> Result<ItemId, Error> {
    locals.get(local).copied().ok_or_else(|| {
        Error::validation(Reason::NotFound, format!("nothing in this call is named \"{}\"", crate::echo(local)))
    })
}
