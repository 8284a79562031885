//! The rows of a loaded scope as a slice.

use std::collections::BTreeMap;

use docket_core::model::{ItemId, ItemRef, Key, ProjectId};
use docket_core::store::{Busy, Capped, Resolution, Scope, Slice, StoreError, WaitEdge, WaitGraph};
use sqlx::sqlite::SqliteRow;

use super::names::Names;
use crate::context::ProjectCache;
use crate::error::corrupt;
use crate::row::{self, Cells, as_hex_uuid, code};

/// A slice in the making: everything but the projects.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub(super) slice: Slice,
    projects: Vec<(ProjectId, u64)>,
    prefixes: BTreeMap<usize, Vec<(ItemId, Key)>>,
}

impl Collected {
    pub(super) fn read(rows: &[SqliteRow], scope: &Scope) -> Result<Self, StoreError> {
        let mut collected = Self::default();
        if scope.around.waits {
            collected.slice.waits = Some(WaitGraph::default());
        }
        for row in rows {
            let mut cells = Cells::new(row);
            let kind: &str = cells.get()?;
            collected.take(kind, &mut cells, scope)?;
        }
        Ok(collected)
    }

    /// Projects whose rules are not known at the version that was read.
    pub(super) fn unknown_projects(&self, cache: &ProjectCache) -> Vec<ProjectId> {
        self.projects.iter().filter(|(id, version)| cache.get(*id, *version).is_none()).map(|(id, _)| *id).collect()
    }

    /// The slice with its projects; `None` when one of them has changed since the rows were read.
    pub(super) fn finish(mut self, scope: &Scope, cache: &ProjectCache) -> Option<Slice> {
        for (id, version) in &self.projects {
            self.slice.projects.insert(*id, cache.get(*id, *version)?);
        }
        self.resolve(scope);
        Some(self.slice)
    }

    fn take(&mut self, kind: &str, cells: &mut Cells<'_>, scope: &Scope) -> Result<(), StoreError> {
        let slice = &mut self.slice;
        match kind {
            "now" => slice.now = cells.time()?,
            "item" => {
                let item = row::read_item(cells)?;
                slice.items.insert(item.id, item);
            }
            "project" => self.take_project(cells)?,
            "prefix" => self.take_prefix(cells)?,
            "edge" => {
                let edge = row::read_edge(cells)?;
                slice.edges.insert(edge.id, edge);
            }
            "head" => {
                let head = row::read_head(cells)?;
                slice.note_heads.entry(head.item).or_default().push(head);
            }
            "body" => {
                let note = row::read_note(cells)?;
                slice.note_heads.entry(note.item).or_default().push(note.head());
                slice.notes.push(note);
            }
            // Both a named note and one of a named item: once is enough.
            "note" => {
                let note = row::read_note(cells)?;
                if slice.notes.iter().all(|known| known.id != note.id) {
                    slice.notes.push(note);
                }
            }
            "children" => {
                let parent = ItemId::from_uuid(cells.uuid()?);
                slice.open_children.insert(parent, capped(cells, scope.around.open_children)?);
            }
            "descendants" => {
                let ancestor = ItemId::from_uuid(cells.uuid()?);
                slice.open_descendants.insert(ancestor, capped(cells, scope.around.open_descendants)?);
            }
            "tree" => slice.subtree = capped(cells, scope.around.subtree)?,
            "picked" => slice.candidates = capped(cells, scope.candidates.as_ref().map(|wanted| wanted.limit))?,
            "held" => slice.held = capped(cells, None)?.rows,
            "busy" => slice.busy.push(Busy {
                item: ItemId::from_uuid(cells.uuid()?),
                touches: cells.list()?,
                needs: cells.list()?,
            }),
            "component" => slice.component.rows.push(row::read_edge(cells)?),
            "component-cut" => slice.component.truncated = cells.get()?,
            "answer" => {
                slice.answer = scope.answer.as_ref().map(|key| row::read_answer(cells, key)).transpose()?;
            }
            _ => take_waits(slice.waits.get_or_insert_default(), kind, cells)?,
        }
        Ok(())
    }

    fn take_project(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        let id = ProjectId::from_uuid(cells.uuid()?);
        self.projects.push((id, cells.number()?));
        self.slice.next_numbers.insert(id, cells.number()?);
        if cells.get()? {
            self.slice.project = Some(id);
        }
        Ok(())
    }

    fn take_prefix(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        let place = cells.number()?;
        let id = ItemId::from_uuid(cells.uuid()?);
        let key = Key { prefix: cells.parsed()?, number: cells.number()? };
        self.prefixes.entry(place).or_default().push((id, key));
        Ok(())
    }

    /// What each spelling turned out to mean.
    fn resolve(&mut self, scope: &Scope) {
        let slice = &mut self.slice;
        let by_key: BTreeMap<Key, ItemId> = if scope.items.iter().any(|item| matches!(item, ItemRef::Key(_))) {
            let key = |item: &docket_core::model::Item| Some(slice.projects.get(&item.project)?.key(item.number));
            slice.items.values().filter_map(|item| Some((key(item)?, item.id))).collect()
        } else {
            BTreeMap::new()
        };
        for item in &scope.items {
            let meant = match item {
                ItemRef::Id(id) => slice.items.contains_key(id).then_some(*id),
                ItemRef::Key(key) => by_key.get(key).copied(),
                ItemRef::Prefix(_) => continue,
            };
            slice.refs.insert(item.clone(), meant.map_or(Resolution::Missing, Resolution::One));
        }
        for (place, digits) in Names::of(scope).prefixes.into_iter().enumerate() {
            let meant = match self.prefixes.remove(&place).unwrap_or_default() {
                matches if matches.is_empty() => Resolution::Missing,
                matches if matches.len() == 1 => Resolution::One(matches[0].0),
                matches => Resolution::Ambiguous(matches.into_iter().map(|(_, key)| key).collect()),
            };
            slice.refs.insert(ItemRef::Prefix(digits.to_owned()), meant);
        }
    }
}

fn take_waits(waits: &mut WaitGraph, kind: &str, cells: &mut Cells<'_>) -> Result<(), StoreError> {
    let id = |digits: &[u8]| as_hex_uuid(digits).map(ItemId::from_uuid);
    match kind {
        "waits" => waits.truncated = cells.get()?,
        "wait-edges" => {
            let packed = cells.get::<Option<&str>>()?.unwrap_or_default();
            for edge in packed.as_bytes().chunks_exact(65) {
                let threshold = code::role(i64::from(edge[64].wrapping_sub(b'0')))?;
                waits.edges.push(WaitEdge { from: id(&edge[..32])?, to: id(&edge[32..64])?, threshold });
            }
        }
        "wait-children" => {
            let packed = cells.get::<Option<&str>>()?.unwrap_or_default();
            for pair in packed.as_bytes().chunks_exact(64) {
                waits.children.push((id(&pair[..32])?, id(&pair[32..])?));
            }
        }
        unknown => return Err(corrupt(format!("a row of the unknown kind \"{unknown}\""))),
    }
    Ok(())
}

/// Ids packed into one cell, loaded with one to spare where there is a limit.
fn capped(cells: &mut Cells<'_>, limit: Option<usize>) -> Result<Capped<ItemId>, StoreError> {
    let ids = cells.packed()?.into_iter().map(ItemId::from_uuid).collect();
    Ok(Capped::cut(ids, limit.unwrap_or(usize::MAX)))
}
