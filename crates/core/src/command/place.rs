//! Where an item may lie and what may be linked to what: checks that making and changing items share.

use std::collections::BTreeMap;

use crate::engine::{Draft, reopen_for_child};
use crate::error::{Error, Gate, Invalid, Reason};
use crate::graph::{Waits, Ways, cycle_error, ring_error};
use crate::limits;
use crate::model::{Edge, EdgeId, EdgeKind, ItemId, Project, Role, Summary, Text};
use crate::plant::{Bug, planted};
use crate::store::{Slice, WaitEdge};

/// Refuses lists on an item that are too long.
pub(super) fn check_lists(lists: &[(&str, usize)]) -> Result<(), Error> {
    match lists.iter().find(|(_, length)| *length > limits::TAGS) {
        Some((field, _)) => {
            Err(Error::validation(Reason::TooMany, format!("{field} must be at most {}", limits::TAGS)).at(*field))
        }
        None => Ok(()),
    }
}

/// The depth beneath a parent, if the workflow allows it.
pub(super) fn check_parent(draft: &Draft<'_>, project: &Project, parent: Option<ItemId>) -> Result<u8, Error> {
    let Some(parent) = parent else { return Ok(0) };
    let parent = draft.expect(parent)?;
    if parent.project != project.id {
        return Err(Error::validation(Reason::OtherProject, "the parent belongs to another project").at("parentId"));
    }
    check_depth(project, usize::from(parent.depth) + 1).map_err(|invalid| Error::from(invalid).at("parentId"))
}

/// A depth that the workflow allows.
pub(super) fn check_depth(project: &Project, depth: usize) -> Result<u8, Invalid> {
    let most = project.workflow.max_depth;
    u8::try_from(depth)
        .ok()
        .filter(|depth| *depth <= most)
        .ok_or_else(|| Invalid::new(Reason::TooDeep, format!("depth {depth} exceeds maximum depth of {most}")))
}

/// Opens a closed parent for an open child, or refuses where the workflow keeps closed work whole.
pub(super) fn receive(draft: &mut Draft<'_>, project: &Project, parent: ItemId) -> Result<(), Error> {
    reopen_for_child(draft, parent)?;
    let parent = draft.expect(parent)?;
    if !parent.role.is_open() && project.workflow.has_gate(Gate::Descendants) {
        return Err(Error::conflict(
            Reason::Terminal,
            format!("the parent {} is closed: reopen it before adding open work to it", project.key(parent.number)),
        )
        .at("parentId"));
    }
    Ok(())
}

/// What new edges must not close: circles of items that wait for each other, and of items that give way to each other.
pub(super) struct Rings {
    pub(super) waits: Waits,
    ways: Ways,
    /// What items of the same call go by, which have no key yet.
    made: BTreeMap<ItemId, String>,
}

impl Rings {
    /// From what was loaded. `parents_wait` says whether the workflow lets a parent finish only after its children.
    pub(super) fn new(seen: &Slice, parents_wait: bool) -> Result<Self, Error> {
        let waits = Waits::new(seen.waits.as_ref(), parents_wait)?;
        Ok(Self { waits, ways: Ways::new(seen.gives_way.as_deref()), made: BTreeMap::new() })
    }

    /// Takes in an item that is made by the same call, with the name that the call has for it.
    pub(super) fn name_made(&mut self, id: ItemId, local: &str) {
        self.made.insert(id, local.to_owned());
    }

    fn name(&self, draft: &Draft<'_>, id: ItemId) -> Option<String> {
        self.made.get(&id).cloned().or_else(|| draft.name_told(id))
    }
}

/// An edge that may be made, checked against everything that it would wait for or give way to; both grow with it.
pub(super) fn check_edge(
    draft: &mut Draft<'_>,
    rings: &mut Rings,
    from: ItemId,
    to: ItemId,
    kind: EdgeKind,
    unblock_at: Option<Role>,
    inverse: bool,
) -> Result<Edge, Error> {
    if from == to {
        return Err(Error::validation(Reason::SelfEdge, "an edge cannot have the same item on both ends"));
    }
    if unblock_at.is_some() && kind != EdgeKind::Blocks {
        return Err(Error::validation(
            Reason::BadValue,
            format!("unblockAt has no meaning on {}: only blocks waits for something", kind.as_str()),
        )
        .at("unblockAt"));
    }
    if unblock_at == Some(Role::Blocked) {
        return Err(
            Error::validation(Reason::BadValue, "unblockAt must be queue, work, review or terminal").at("unblockAt")
        );
    }
    if let Some(full) = [from, to].into_iter().find(|end| draft.degree(*end) >= limits::EDGES) {
        let message =
            format!("an item may have at most {} edges, as {} has already", limits::EDGES, draft.name_of(full));
        return Err(Error::validation(Reason::TooMany, message));
    }
    let edge =
        Edge { id: EdgeId::from_uuid(draft.new_uuid()), kind, from, to, unblock_at, inverse, created_at: draft.now };
    if kind == EdgeKind::Blocks {
        let wait = WaitEdge { from, to, threshold: edge.threshold() };
        if let Some(path) = rings.waits.cycle_with_edge(wait).filter(|_| !planted(Bug::CyclesUnchecked)) {
            return Err(cycle_error(&path, |id| rings.name(draft, id)));
        }
        rings.waits.add_edge(wait);
    }
    if let Some(path) = rings.ways.ring_with(&edge)?.filter(|_| !planted(Bug::CyclesUnchecked)) {
        return Err(ring_error(&path, |id| rings.name(draft, id)));
    }
    rings.ways.add(&edge);
    Ok(edge)
}

pub(super) fn empty_summary() -> Summary {
    Summary::parse("").unwrap_or_else(|_| unreachable!("an empty summary is valid"))
}

pub(super) fn empty_text() -> Text {
    Text::parse("").unwrap_or_else(|_| unreachable!("an empty text is valid"))
}
