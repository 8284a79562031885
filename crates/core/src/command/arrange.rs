//! Moves an item to a status and gives it a place there, as one unit.

use serde::{Deserialize, Serialize};

use super::submit::step;
use super::{Applied, guard, keep_lease, may_close};
use crate::access::{Needs, Profile, Reach};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::Error;
use crate::model::{ItemId, ItemRef, Name, Verb};
use crate::store::{Around, EdgeReach, NoteReach, ProjectRef, Scope, Slice};
use crate::workflow::Target;

/// Moves an item to a status and gives it a place there. One that has the status only gets the place: to arrange a column is
/// not to move what stands in it.
#[derive(Clone, Debug, Serialize)]
pub struct Arrange {
    /// The project the item is looked up in.
    pub project: ProjectRef,
    /// The item.
    pub item: ItemRef,
    /// The status it is to have.
    pub status: Name,
    /// Its place among those of that status.
    pub position: i32,
}

/// An item that was arranged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Arranged {
    /// The item.
    pub item: ItemId,
    /// The move, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<Box<Applied>>,
    /// The item's version now.
    pub version: u64,
}

impl Command for Arrange {
    type Output = Arranged;
    const NAME: &'static str = "arrange";
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Item);

    fn scope(&self, _call: &Call) -> Scope {
        let around = Around {
            ancestors: true,
            open_children: Some(may_close(1)),
            edges: EdgeReach::Shown,
            notes: NoteReach::Heads,
            briefs: true,
            ..Around::default()
        };
        Scope { project: self.project.clone(), items: vec![self.item.clone()], around, ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<Arranged>, Error> {
        let mut draft = Draft::new(call, seen);
        let item = seen.resolve(&self.item)?;
        let id = item.id;
        guard(&draft, item, None, None)?;
        let stays = item.status == self.status;
        let target = Target::Status(self.status.clone());
        let moved = if stays { None } else { Some(step(&mut draft, id, target, None, None)?) };
        let place = Some(self.position);
        let changes = draft.expect(id)?.position != place;
        if changes {
            draft.edit(id, |item| item.position = place);
        }
        if keep_lease(&mut draft, id, None)? || changes {
            draft.record(Verb::Edited, id, None, serde_json::Map::new());
        }
        let version = draft.expect(id)?.version;
        Ok(Decision::done(draft.finish(), Arranged { item: id, moved, version }))
    }
}
