//! Notes of an item: one by its key, or a page of whole ones.
//!
//! An item may have any number of them, and each may be long: never are all of their bodies read for one that is wanted, and
//! no page holds more of them than its bytes allow.

use crate::engine::Engine;
use crate::error::Error;
use crate::limits;
use crate::model::{ItemId, ItemRef, Name, Note, NoteHead, NoteId};
use crate::query::cursor::{open, seal};
use crate::store::{Around, NoteReach, ProjectRef};

/// A page of an item's notes, by key.
#[derive(Clone, Debug, Default)]
pub struct NotePage {
    /// The notes, whole.
    pub notes: Vec<Note>,
    /// How many the item has in all.
    pub total: u64,
    /// Where the next page begins; none on the last.
    pub next: Option<String>,
}

/// How many bodies are read at a time: so many of the longest go beyond a page's bytes by no more than themselves.
const TOGETHER: usize = 16;

impl Engine {
    /// Whole notes of an item.
    pub async fn notes_of(&self, project: &ProjectRef, item: &ItemRef) -> Result<(ItemId, Vec<Note>), Error> {
        let around = Around { notes: NoteReach::Bodies, ..Around::default() };
        let seen = self.show(project, std::slice::from_ref(item), around).await?;
        let id = seen.resolve(item)?.id;
        Ok((id, seen.notes.into_iter().filter(|note| note.item == id).collect()))
    }

    /// A page of whole notes of an item: the beginning, or what follows the page that ended with `cursor`. It ends before the
    /// note whose body would take it past [`limits::PAGE_BYTES`], and holds one at least.
    pub async fn note_page(
        &self,
        project: &ProjectRef,
        item: &ItemRef,
        cursor: Option<&str>,
    ) -> Result<NotePage, Error> {
        let (id, mut heads) = self.heads_of(project, item).await?;
        let total = heads.len() as u64;
        let of = ("notes", id);
        if let Some(cursor) = cursor {
            let after: Name = open(&of, cursor)?;
            heads.retain(|head| head.key > after);
        }
        let limit = self.page(limits::PAGE);
        let mut page = NotePage { total, ..NotePage::default() };
        let (mut bytes, mut more) = (0, heads.len() > limit);
        heads.truncate(limit);
        'reading: for some in heads.chunks(TOGETHER) {
            let ids: Vec<NoteId> = some.iter().map(|head| head.id).collect();
            for note in self.store().notes(&ids, &self.access().projects).await? {
                bytes += note.body.as_str().len();
                if bytes > limits::PAGE_BYTES && !page.notes.is_empty() {
                    more = true;
                    break 'reading;
                }
                page.notes.push(note);
            }
        }
        page.next = page.notes.last().filter(|_| more).map(|last| seal(&of, &last.key));
        Ok(page)
    }

    /// The whole note of an item that has this key, if there is one.
    pub async fn note_of(&self, project: &ProjectRef, item: &ItemRef, key: &Name) -> Result<Option<Note>, Error> {
        let (_, heads) = self.heads_of(project, item).await?;
        let Some(head) = heads.into_iter().find(|head| head.key == *key) else { return Ok(None) };
        Ok(self.store().notes(&[head.id], &self.access().projects).await?.pop())
    }

    /// One whole note.
    pub async fn note(&self, id: NoteId) -> Result<Note, Error> {
        let found = self.store().notes(&[id], &self.access().projects).await?;
        found.into_iter().next().ok_or_else(|| Error::not_found(format!("no note \"{id}\"")))
    }

    /// An item's notes without their bodies, by key.
    async fn heads_of(&self, project: &ProjectRef, item: &ItemRef) -> Result<(ItemId, Vec<NoteHead>), Error> {
        let around = Around { notes: NoteReach::Heads, ..Around::default() };
        let seen = self.show(project, std::slice::from_ref(item), around).await?;
        let id = seen.resolve(item)?.id;
        Ok((id, seen.heads(id).to_vec()))
    }
}
