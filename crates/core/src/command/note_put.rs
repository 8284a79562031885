//! Writes notes, by item and key.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{check_batch, guard, keep_lease_recorded};
use crate::access::{Needs, Profile, Reach};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::{Error, Reason};
use crate::model::{Attribution, Fence, ItemId, ItemRef, Name, Note, NoteId, Role, Text};
use crate::plant::{Bug, planted};
use crate::store::{Around, NoteReach, ProjectRef, Scope, Slice};
use crate::workflow::{Guide, NoteLimits};

/// One note to be written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the fields are those of Note")]
pub struct NotePut {
    pub item: ItemRef,
    pub key: Name,
    /// The phase; the schema's, else the item's own, where nothing is said.
    pub phase: Option<Role>,
    pub body: Text,
    #[serde(serialize_with = "Attribution::id_alone")]
    pub by: Option<Attribution>,
    /// The fence of the caller's claim.
    pub fence: Option<Fence>,
}

/// Writes notes.
#[derive(Clone, Debug, Serialize)]
pub struct PutNotes {
    /// The project the items are looked up in.
    pub project: ProjectRef,
    /// The notes, in order; the last of several with one key wins.
    pub notes: Vec<NotePut>,
    /// Whether one bad note refuses all.
    pub atomic: bool,
}

/// A note that was written.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of Note")]
pub struct WrittenNote {
    pub id: NoteId,
    pub item: ItemId,
    pub key: Name,
    pub phase: Role,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Attribution>,
    /// Said when the body is longer than its rule allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// What an item still owes after its notes were written.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemNotes {
    /// What to write next.
    pub guide: Guide,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotesPut {
    /// One for each note asked for, in order.
    #[serde(with = "super::each")]
    pub notes: Vec<Result<WrittenNote, Error>>,
    /// What each item written to still owes.
    pub items: BTreeMap<ItemId, ItemNotes>,
}

impl Command for PutNotes {
    type Output = NotesPut;
    const NAME: &'static str = "put-notes";
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Item);

    fn scope(&self, _call: &Call) -> Scope {
        let mut items: Vec<ItemRef> = self.notes.iter().map(|note| note.item.clone()).collect();
        items.sort_unstable();
        items.dedup();
        let around = Around { notes: NoteReach::Heads, ..Around::default() };
        Scope { project: self.project.clone(), items, around, ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<NotesPut>, Error> {
        check_batch("notes", self.notes.len(), call.access.limits.batch)?;
        let mut draft = Draft::new(call, seen);
        let mut notes = Vec::with_capacity(self.notes.len());
        for note in &self.notes {
            let written = write(&mut draft, note);
            if let (Err(error), true) = (&written, self.atomic) {
                return Err(error.clone());
            }
            notes.push(written);
        }
        let mut items = BTreeMap::new();
        for written in notes.iter().flatten() {
            let item = draft.expect(written.item)?;
            let project = draft.project_of(item)?;
            let guide = draft
                .schema(&project, item)
                .map(|schema| schema.guide(item.role, &draft.note_heads(item.id)))
                .unwrap_or_default();
            items.insert(written.item, ItemNotes { guide });
        }
        Ok(Decision::done(draft.finish(), NotesPut { notes, items }))
    }
}

fn write(draft: &mut Draft<'_>, put: &NotePut) -> Result<WrittenNote, Error> {
    let id = draft.seen.resolve(&put.item)?.id;
    let item = draft.expect(id)?.clone();
    let by = put.by.as_ref();
    if !planted(Bug::FenceIgnoredOnNotes) {
        guard(draft, &item, by, put.fence)?;
    }
    let project = draft.project_of(&item)?;
    let rule = draft.schema(&project, &item).and_then(|schema| schema.rule(&put.key).cloned());
    let phase = put.phase.or(rule.as_ref().map(|rule| rule.phase)).unwrap_or(match item.role {
        Role::Queue | Role::Work | Role::Review => item.role,
        Role::Blocked | Role::Terminal => Role::Work,
    });
    if !matches!(phase, Role::Queue | Role::Work | Role::Review) {
        return Err(Error::validation(
            Reason::BadValue,
            format!("a note belongs to queue, work or review, not {phase}"),
        )
        .at("role"));
    }
    let length = put.body.as_str().chars().count();
    let too_long = rule.and_then(|rule| rule.max_length).filter(|most| length > *most as usize);
    let warning = too_long.map(|most| format!("the note is {length} characters long; its schema allows {most}"));
    if let (Some(message), NoteLimits::Reject) = (&warning, project.schemas.note_limits) {
        return Err(Error::validation(Reason::TooLong, message.clone()).at("body"));
    }
    let stored = by.or(draft.call.by.as_ref()).cloned();
    let note = Note {
        id: NoteId::from_uuid(draft.new_uuid()),
        item: id,
        key: put.key.clone(),
        phase,
        body: put.body.clone(),
        by: stored.clone(),
        created_at: draft.now,
        modified_at: draft.now,
    };
    let note_id = draft.put_note(id, note, by);
    keep_lease_recorded(draft, id, by)?;
    Ok(WrittenNote { id: note_id, item: id, key: put.key.clone(), phase, by: stored, warning })
}
