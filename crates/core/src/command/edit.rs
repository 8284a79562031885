//! Changes fields of items, and their place in the tree.

use serde::{Deserialize, Serialize};

use super::place::{check_lists, check_parent, receive};
use super::{check_batch, guard, keep_lease};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::{Error, Gate, Reason};
use crate::graph::{Waits, cycle_error};
use crate::limits;
use crate::model::{Complexity, Fence, Item, ItemId, ItemRef, Name, Priority, Summary, Tag, Text, Title, Verb};
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

impl<T: Clone> Change<T> {
    fn apply(&self, field: &mut Option<T>) {
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
            touches: None,
            needs: None,
            required_capabilities: None,
        }
    }

    fn apply(&self, item: &mut Item) {
        self.description.apply(&mut item.description);
        self.status_label.apply(&mut item.status_label);
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

    fn scope(&self, _call: &Call) -> Scope {
        let mut items: Vec<ItemRef> = self.patches.iter().map(|patch| patch.item.clone()).collect();
        let mut moves = false;
        for patch in &self.patches {
            match &patch.parent {
                Change::Keep => {}
                Change::Clear => moves = true,
                Change::Set(parent) => {
                    moves = true;
                    items.push(parent.clone());
                }
            }
        }
        items.sort_unstable();
        items.dedup();
        let around = if moves {
            Around {
                ancestors: true,
                subtree: Some(limits::SUBTREE),
                edges: EdgeReach::Shown,
                waits: true,
                ..Around::default()
            }
        } else {
            Around::default()
        };
        Scope { project: self.project.clone(), items, around, ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<Edited>, Error> {
        check_batch("items", self.patches.len(), limits::BATCH)?;
        let mut draft = Draft::new(call, seen);
        let mut items = Vec::with_capacity(self.patches.len());
        for patch in &self.patches {
            let edited = edit(&mut draft, patch);
            if let (Err(error), true) = (&edited, self.atomic) {
                return Err(error.clone());
            }
            items.push(edited);
        }
        Ok(Decision::done(draft.finish(), Edited { items }))
    }
}

fn edit(draft: &mut Draft<'_>, patch: &Patch) -> Result<Item, Error> {
    let id = draft.seen.resolve(&patch.item)?.id;
    let before = draft.expect(id)?.clone();
    if patch.expected_version.is_some_and(|version| version != before.version) {
        return Err(Error {
            contended_item: Some(id),
            ..Error::conflict(
                Reason::VersionMismatch,
                format!("the item has version {}: read it again before changing it", before.version),
            )
        });
    }
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
        Change::Clear => reparent(draft, id, None)?,
        Change::Set(parent) => {
            let parent = draft.seen.resolve(parent).map_err(|error| error.at("parentId"))?.id;
            reparent(draft, id, Some(parent))?;
        }
    }
    let now = draft.expect(id)?.clone();
    let mut wanted = now.clone();
    patch.apply(&mut wanted);
    if wanted != now {
        draft.edit(id, |item| patch.apply(item));
    }
    let renewed = keep_lease(draft, id, None)?;
    if renewed || draft.expect(id)? != &before {
        draft.record(Verb::Edited, id, None, serde_json::Map::new());
    }
    draft.expect(id).cloned()
}

/// Puts an item beneath another parent, with everything beneath it.
fn reparent(draft: &mut Draft<'_>, id: ItemId, parent: Option<ItemId>) -> Result<(), Error> {
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
    if parent == Some(id) {
        return Err(Error::validation(Reason::Cycle, "an item cannot be its own parent").at("parentId"));
    }
    let beneath = descendants(draft, id);
    if let Some(parent) = parent {
        if beneath.contains(&parent) {
            return Err(Error::validation(Reason::Cycle, "the new parent lies beneath the item itself").at("parentId"));
        }
        let mut waits = Waits::new(draft.seen.waits.as_ref(), project.workflow.has_gate(Gate::Descendants))?;
        if let Some(old) = item.parent {
            waits.remove_child(old, id);
        }
        if let Some(path) = waits.cycle_with_parent(parent, id) {
            return Err(cycle_error(&path).at("parentId"));
        }
        if item.role.is_open() {
            receive(draft, &project, parent)?;
        }
    }
    let depth = check_parent(draft, &project, parent)?;
    let deepest = beneath.iter().filter_map(|id| draft.item(*id)).map(|item| item.depth).max().unwrap_or(item.depth);
    let new_deepest = u32::from(deepest - item.depth) + u32::from(depth);
    if new_deepest > u32::from(project.workflow.max_depth) {
        return Err(Error::validation(
            Reason::TooDeep,
            format!("depth {new_deepest} exceeds maximum depth of {}", project.workflow.max_depth),
        )
        .at("parentId"));
    }
    draft.edit(id, |item| {
        item.parent = parent;
        item.depth = depth;
    });
    for child in beneath {
        draft.edit(child, |below| below.depth = below.depth - item.depth + depth);
        draft.record(Verb::Edited, child, None, serde_json::Map::new());
    }
    Ok(())
}

/// Everything beneath an item, parents before children, as it stands in this unit.
pub(super) fn descendants(draft: &Draft<'_>, id: ItemId) -> Vec<ItemId> {
    let mut found = vec![id];
    let mut index = 0;
    let below: Vec<&Item> = draft.seen.subtree.rows.iter().filter_map(|row| draft.item(*row)).collect();
    let mut children: std::collections::BTreeMap<ItemId, Vec<ItemId>> = std::collections::BTreeMap::new();
    for item in below {
        if let Some(parent) = item.parent {
            children.entry(parent).or_default().push(item.id);
        }
    }
    while let Some(next) = found.get(index).copied() {
        found.extend(children.get(&next).into_iter().flatten());
        index += 1;
    }
    found.remove(0);
    found
}

fn set<T: Clone>(field: &mut T, value: Option<&T>) {
    if let Some(value) = value {
        field.clone_from(value);
    }
}
