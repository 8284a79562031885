//! Changes fields of items, and their place in the tree.

use serde::{Deserialize, Serialize};

use super::place::{check_lists, check_parent, receive};
use super::{check_batch, check_version, guard, keep_lease};
use crate::access::{Needs, Profile, Reach};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::{Error, Gate, Reason};
use crate::graph::{Waits, cycle_error};
use crate::limits;
use crate::model::{
    Complexity, Fence, Item, ItemId, ItemRef, Name, Priority, Summary, Tag, Text, Timestamp, Title, Verb,
};
use crate::store::{Around, EdgeReach, ProjectRef, Scope, Slice};

/// What happens to a field that may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Change<T> {
    /// It stays.
    #[default]
    Keep,
    /// It is emptied.
    Clear,
    /// It becomes this.
    Set(T),
}

/// `null` clears; what is not there stays, by way of `#[serde(default)]`.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for Change<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::deserialize(deserializer)?.map_or(Self::Clear, Self::Set))
    }
}

impl<T: Clone> Change<T> {
    pub(super) fn apply(&self, field: &mut Option<T>) {
        match self {
            Self::Keep => {}
            Self::Clear => *field = None,
            Self::Set(value) => *field = Some(value.clone()),
        }
    }
}

/// The fields of one item that change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the fields are those of Item")]
pub struct Patch {
    pub item: ItemRef,
    /// Refuses unless the item still has this version.
    pub expected_version: Option<u64>,
    /// The fence of the caller's claim.
    pub fence: Option<Fence>,
    pub title: Option<Title>,
    pub description: Change<Text>,
    pub summary: Option<Summary>,
    pub intent: Change<Text>,
    pub status_label: Change<Name>,
    pub priority: Option<Priority>,
    pub complexity: Change<Complexity>,
    /// Where it lies; cleared is at the root.
    pub parent: Change<ItemRef>,
    pub item_type: Change<Name>,
    pub tags: Option<Vec<Tag>>,
    pub traits: Option<Vec<Name>>,
    pub metadata: Change<Text>,
    pub properties: Change<Text>,
    pub requires_verification: Option<bool>,
    /// Why a person must look at it; cleared when one has.
    pub attention: Change<Text>,
    pub due_at: Change<Timestamp>,
    pub estimate_minutes: Change<u32>,
    pub position: Change<i32>,
    pub touches: Option<Vec<Name>>,
    pub needs: Option<Vec<Name>>,
    pub required_capabilities: Option<Vec<Name>>,
}

impl Patch {
    /// A patch that changes nothing yet.
    pub fn of(item: ItemRef) -> Self {
        Self {
            item,
            expected_version: None,
            fence: None,
            title: None,
            description: Change::Keep,
            summary: None,
            intent: Change::Keep,
            status_label: Change::Keep,
            priority: None,
            complexity: Change::Keep,
            parent: Change::Keep,
            item_type: Change::Keep,
            tags: None,
            traits: None,
            metadata: Change::Keep,
            properties: Change::Keep,
            requires_verification: None,
            attention: Change::Keep,
            due_at: Change::Keep,
            estimate_minutes: Change::Keep,
            position: Change::Keep,
            touches: None,
            needs: None,
            required_capabilities: None,
        }
    }

    fn apply(&self, item: &mut Item) {
        self.description.apply(&mut item.description);
        self.intent.apply(&mut item.intent);
        self.status_label.apply(&mut item.status_label);
        self.attention.apply(&mut item.attention);
        self.due_at.apply(&mut item.due_at);
        self.estimate_minutes.apply(&mut item.estimate_minutes);
        self.position.apply(&mut item.position);
        self.complexity.apply(&mut item.complexity);
        self.item_type.apply(&mut item.item_type);
        self.metadata.apply(&mut item.metadata);
        self.properties.apply(&mut item.properties);
        set(&mut item.title, self.title.as_ref());
        set(&mut item.summary, self.summary.as_ref());
        set(&mut item.priority, self.priority.as_ref());
        set(&mut item.tags, self.tags.as_ref());
        set(&mut item.traits, self.traits.as_ref());
        set(&mut item.requires_verification, self.requires_verification.as_ref());
        set(&mut item.touches, self.touches.as_ref());
        set(&mut item.needs, self.needs.as_ref());
        set(&mut item.required_capabilities, self.required_capabilities.as_ref());
    }
}

/// Changes items.
#[derive(Clone, Debug, Serialize)]
pub struct Edit {
    /// The project the items are looked up in.
    pub project: ProjectRef,
    /// The changes, in order.
    pub patches: Vec<Patch>,
    /// Whether one bad change refuses all.
    pub atomic: bool,
}

/// The items as they are now, one for each change, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edited {
    /// The items.
    #[serde(with = "super::each")]
    pub items: Vec<Result<Item, Error>>,
}

impl Command for Edit {
    type Output = Edited;
    const NAME: &'static str = "edit";
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Item);

    fn scope(&self, _call: &Call) -> Scope {
        let parents = self.patches.iter().filter_map(|patch| match &patch.parent {
            Change::Keep | Change::Clear => None,
            Change::Set(parent) => Some(parent),
        });
        let mut items: Vec<ItemRef> = self.patches.iter().map(|patch| &patch.item).chain(parents).cloned().collect();
        items.sort_unstable();
        items.dedup();
        let edges = if self.moves() { EdgeReach::Shown } else { EdgeReach::None };
        // What waits for a new parent decides whether anything may lie in it.
        let around = Around { ancestors: self.moves(), edges, waits: self.moves(), ..Around::default() };
        Scope { project: self.project.clone(), items, around, ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<Edited>, Error> {
        check_batch("items", self.patches.len(), call.access.limits.batch)?;
        if seen.looks == 0 && self.moves() {
            // Only what moves takes its subtree along; the new parent's may be large.
            let moved =
                self.patches.iter().filter(|patch| patch.parent != Change::Keep).map(|patch| patch.item.clone());
            let around = Around { subtree: Some(limits::SUBTREE), ..Around::default() };
            let look = Scope { project: self.project.clone(), items: moved.collect(), around, ..Scope::default() };
            return Ok(Decision::Look(Box::new(look)));
        }
        let mut draft = Draft::new(call, seen);
        let mut waits = None;
        let mut items = Vec::with_capacity(self.patches.len());
        for patch in &self.patches {
            let edited = edit(&mut draft, &mut waits, patch);
            if let (Err(error), true) = (&edited, self.atomic) {
                return Err(error.clone());
            }
            items.push(edited);
        }
        Ok(Decision::done(draft.finish(), Edited { items }))
    }
}

impl Edit {
    /// Whether anything moves in the tree.
    fn moves(&self) -> bool {
        self.patches.iter().any(|patch| patch.parent != Change::Keep)
    }
}

fn edit(draft: &mut Draft<'_>, waits: &mut Option<Waits>, patch: &Patch) -> Result<Item, Error> {
    let id = draft.seen.resolve(&patch.item)?.id;
    let before = draft.expect(id)?.clone();
    check_version(&before, patch.expected_version)?;
    guard(draft, &before, None, patch.fence)?;
    let length = |list: Option<usize>| list.unwrap_or(0);
    check_lists(&[
        ("tags", length(patch.tags.as_ref().map(Vec::len))),
        ("traits", length(patch.traits.as_ref().map(Vec::len))),
        ("touches", length(patch.touches.as_ref().map(Vec::len))),
        ("needs", length(patch.needs.as_ref().map(Vec::len))),
        ("requiredCapabilities", length(patch.required_capabilities.as_ref().map(Vec::len))),
    ])?;
    match &patch.parent {
        Change::Keep => {}
        Change::Clear => reparent(draft, waits, id, None)?,
        Change::Set(parent) => {
            let parent = draft.seen.resolve(parent).map_err(|error| error.at("parentId"))?.id;
            reparent(draft, waits, id, Some(parent))?;
        }
    }
    let now = draft.expect(id)?.clone();
    let project = draft.project_of(&now)?;
    let apply = |item: &mut Item| {
        patch.apply(item);
        project.schemas.add_needs(item);
    };
    let mut wanted = now.clone();
    apply(&mut wanted);
    if wanted != now {
        draft.edit(id, apply);
    }
    let renewed = keep_lease(draft, id, None)?;
    if renewed || draft.expect(id)? != &before {
        draft.record(Verb::Edited, id, None, serde_json::Map::new());
    }
    Ok(draft.expect(id)?.brief())
}

/// Puts an item beneath another parent, with everything beneath it. Later moves of the batch see it there.
fn reparent(draft: &mut Draft<'_>, waits: &mut Option<Waits>, id: ItemId, parent: Option<ItemId>) -> Result<(), Error> {
    let item = draft.expect(id)?.clone();
    if item.parent == parent {
        return Ok(());
    }
    if draft.seen.subtree.truncated {
        return Err(Error::validation(
            Reason::GraphTooLarge,
            format!("more than {} items lie beneath: move smaller parts", limits::SUBTREE),
        ));
    }
    let project = draft.project_of(&item)?;
    if let Some(parent) = parent
        && (parent == id || draft.is_beneath(parent, id))
    {
        return Err(Error::validation(Reason::Cycle, "an item cannot lie beneath itself").at("parentId"));
    }
    let depth = check_parent(draft, &project, parent)?;
    let beneath = draft.beneath(id);
    let below = beneath.iter().filter_map(|id| draft.item(*id)).map(|below| below.depth.saturating_sub(item.depth));
    let deepest = u32::from(below.max().unwrap_or(0)) + u32::from(depth);
    if deepest > u32::from(project.workflow.max_depth) {
        return Err(Error::validation(
            Reason::TooDeep,
            format!("depth {deepest} exceeds maximum depth of {}", project.workflow.max_depth),
        )
        .at("parentId"));
    }
    let waits = match waits {
        Some(waits) => waits,
        None => waits.insert(Waits::new(draft.seen.waits.as_ref(), project.workflow.has_gate(Gate::Descendants))?),
    };
    if let Some(path) = parent.and_then(|parent| waits.cycle_with_parent(parent, id)) {
        return Err(cycle_error(&path, |id| draft.name_told(id)).at("parentId"));
    }
    if let Some(parent) = parent.filter(|_| item.role.is_open()) {
        receive(draft, &project, parent)?;
    }
    if let Some(old) = item.parent {
        waits.remove_child(old, id);
    }
    if let Some(new) = parent {
        waits.add_child(new, id);
    }
    draft.edit(id, |item| {
        item.parent = parent;
        item.depth = depth;
    });
    for child in beneath {
        draft.edit(child, |below| below.depth = (below.depth.saturating_sub(item.depth)).saturating_add(depth));
        draft.record(Verb::Edited, child, None, serde_json::Map::new());
    }
    Ok(())
}

fn set<T: Clone>(field: &mut T, value: Option<&T>) {
    if let Some(value) = value {
        field.clone_from(value);
    }
}
