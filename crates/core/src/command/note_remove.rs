//! Removes notes: by id, and all or one of an item.

use serde::{Deserialize, Serialize};

use super::{guard, keep_lease_recorded};
use crate::access::{Needs, REMOVES, Reach};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::{Code, Error, Reason};
use crate::limits;
use crate::model::{Fence, Item, ItemRef, Name, NoteHead, NoteId};
use crate::store::{Around, NoteReach, ProjectRef, Scope, Slice};

/// Removes notes.
#[derive(Clone, Debug, Serialize)]
pub struct RemoveNotes {
    /// The project the item is looked up in.
    pub project: ProjectRef,
    /// These notes.
    pub ids: Vec<NoteId>,
    /// All notes of this item, or the one of this key.
    pub of: Option<(ItemRef, Option<Name>)>,
    /// Whether an item whose full id names nothing counts as one without notes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub missing_ok: bool,
    /// The fence of the caller's claim on the item of each note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
}

/// What was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotesRemoved {
    /// How many in all.
    pub removed: usize,
    /// Ids that name no note, or whose note may not be removed.
    pub failed: Vec<(NoteId, Error)>,
}

impl Command for RemoveNotes {
    type Output = NotesRemoved;
    const NAME: &'static str = "remove-notes";
    const NEEDS: Needs = Needs::new(REMOVES, Reach::Item);

    fn scope(&self, _call: &Call) -> Scope {
        Scope {
            project: self.project.clone(),
            items: self.of.iter().map(|(item, _)| item.clone()).collect(),
            note_ids: self.ids.clone(),
            around: Around { notes: NoteReach::Heads, ..Around::default() },
            ..Scope::default()
        }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<NotesRemoved>, Error> {
        if self.ids.is_empty() && self.of.is_none() {
            return Err(Error::validation(Reason::TooFew, "either note ids or an item is needed"));
        }
        if self.ids.len() > limits::BATCH {
            return Err(
                Error::validation(Reason::BatchTooLarge, format!("ids must be at most {}", limits::BATCH)).at("ids")
            );
        }
        let mut draft = Draft::new(call, seen);
        let mut answer = NotesRemoved { removed: 0, failed: Vec::new() };
        for id in &self.ids {
            let head = seen.note_heads.values().flatten().find(|head| head.id == *id);
            let removed = head
                .ok_or_else(|| Error::not_found(format!("no note \"{id}\"")))
                .and_then(|head| self.remove(&mut draft, head));
            match removed {
                Ok(removed) => answer.removed += usize::from(removed),
                Err(error) => answer.failed.push((*id, error)),
            }
        }
        if let Some((item, key)) = &self.of {
            answer.removed += match seen.resolve(item) {
                Ok(item) => self.remove_of(&mut draft, item, key.as_ref())?,
                Err(error) if self.passes_by(item, &error) => 0,
                Err(error) => return Err(error),
            };
        }
        Ok(Decision::done(draft.finish(), answer))
    }
}

impl RemoveNotes {
    /// A fence is of a claim on the item, which is lost with it: that is told.
    fn passes_by(&self, item: &ItemRef, error: &Error) -> bool {
        let named_in_full = matches!(item, ItemRef::Id(_));
        self.missing_ok && self.fence.is_none() && named_in_full && error.code == Code::NotFound
    }

    fn remove_of(&self, draft: &mut Draft<'_>, item: &Item, key: Option<&Name>) -> Result<usize, Error> {
        // A lost claim is told whether or not there is anything to remove.
        if self.fence.is_some() {
            guard(draft, item, None, self.fence)?;
        }
        let (seen, mut removed) = (draft.seen, 0);
        for head in seen.heads(item.id).iter().filter(|head| key.is_none_or(|key| head.key == *key)) {
            removed += usize::from(self.remove(draft, head)?);
        }
        Ok(removed)
    }

    fn remove(&self, draft: &mut Draft<'_>, head: &NoteHead) -> Result<bool, Error> {
        let item = draft.expect(head.item)?.clone();
        guard(draft, &item, None, self.fence)?;
        let removed = draft.remove_note(head, None);
        keep_lease_recorded(draft, head.item, None)?;
        Ok(removed)
    }
}
