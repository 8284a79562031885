//! Makes items: one, many, or a whole tree with edges and notes, atomically where asked.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::check_batch;
use super::new_item::{NewItem, Parent, local_item, make};
use super::place::{Rings, check_edge, empty_text};
use crate::access::{Needs, Profile, Reach};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::{Error, Gate, Reason};
use crate::model::{Attribution, Edge, EdgeKind, Item, ItemId, ItemRef, Key, Name, Note, NoteId, Project, Role, Text};
use crate::store::{Around, EdgeReach, ProjectRef, Scope, Slice};
use crate::workflow::ExpectedNote;

/// One end of a new edge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum End {
    /// An item that exists.
    Existing(ItemRef),
    /// An item of the same call, by its local name.
    Local(String),
}

/// An edge to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the fields are those of Edge")]
pub struct NewEdge {
    pub from: End,
    pub to: End,
    pub kind: EdgeKind,
    pub unblock_at: Option<Role>,
    pub inverse: bool,
}

/// A note to be made on a new item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the fields are those of Note")]
pub struct NewNote {
    /// The new item's local name.
    pub local: String,
    pub key: Name,
    pub phase: Role,
    pub body: Text,
}

/// Makes items, with edges between them and notes on them.
#[derive(Clone, Debug, Serialize)]
pub struct Create {
    /// Where they go.
    pub project: ProjectRef,
    /// The items, parents before children.
    pub items: Vec<NewItem>,
    /// Edges between new items, or between new and existing ones.
    pub edges: Vec<NewEdge>,
    /// Notes on new items.
    pub notes: Vec<NewNote>,
    /// Whether every note that a schema knows is made, blank.
    pub blank_notes: bool,
    /// Whether the first item must leave room for others beneath it: it is the root of a tree.
    pub room_below: bool,
    /// Whether one bad item refuses all; otherwise the good ones are made.
    pub atomic: bool,
}

/// An item that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreatedItem {
    /// Its name inside the call.
    pub local: Option<String>,
    /// Its key.
    pub key: Key,
    /// The item.
    pub item: Item,
    /// Whether a schema holds for it.
    pub schema_match: bool,
    /// The notes that its schema knows.
    pub expected_notes: Vec<ExpectedNote>,
}

/// A note that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of Note")]
pub struct CreatedNote {
    pub id: NoteId,
    pub local: String,
    pub key: Name,
    pub phase: Role,
}

/// What was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Created {
    /// One for each item asked for, in order.
    #[serde(with = "super::each")]
    pub items: Vec<Result<CreatedItem, Error>>,
    /// The edges.
    pub edges: Vec<Edge>,
    /// The notes.
    pub notes: Vec<CreatedNote>,
}

impl Command for Create {
    type Output = Created;
    const NAME: &'static str = "create";
    const NEEDS: Needs = Needs::new(Profile::Planner, Reach::Project);

    fn scope(&self, _call: &Call) -> Scope {
        let parents = self.items.iter().filter_map(|item| match &item.parent {
            Some(Parent::Existing(parent)) => Some(parent.clone()),
            Some(Parent::Local(_)) | None => None,
        });
        let ends: Vec<ItemRef> = self
            .edges
            .iter()
            .flat_map(|edge| [&edge.from, &edge.to])
            .filter_map(|end| match end {
                End::Existing(item) => Some(item.clone()),
                End::Local(_) => None,
            })
            .collect();
        let edges = if ends.is_empty() { EdgeReach::None } else { EdgeReach::Counted };
        let gives_way = !ends.is_empty() && self.edges.iter().any(|edge| edge.kind.gives_way());
        let mut items: Vec<ItemRef> = parents.chain(ends).collect();
        items.sort_unstable();
        items.dedup();
        Scope {
            project: self.project.clone(),
            items,
            around: Around { edges, waits: edges == EdgeReach::Counted, gives_way, ..Around::default() },
            ..Scope::default()
        }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<Created>, Error> {
        check_batch("items", self.items.len(), call.access.limits.batch)?;
        let most = call.access.limits.batch * 4;
        for (what, asked) in [("edges", self.edges.len()), ("notes", self.notes.len())] {
            if asked > most {
                let message = format!("{what} must be at most {most}, not {asked}");
                return Err(Error::validation(Reason::BatchTooLarge, message).at(what));
            }
        }
        let project = seen.selected_project()?;
        if seen.looks == 0 && self.adds_to_closed_parent(seen) {
            // Reopening parents touches their neighbours, which a plain creation need not load.
            let around = Around { ancestors: true, edges: EdgeReach::Shown, ..self.scope(call).around };
            return Ok(Decision::Look(Box::new(Scope { around, ..self.scope(call) })));
        }
        self.check_room(project, seen)?;
        let mut draft = Draft::new(call, seen);
        let mut locals: BTreeMap<&str, ItemId> = BTreeMap::new();
        let mut items = Vec::with_capacity(self.items.len());
        for (index, new) in self.items.iter().enumerate() {
            // Of one item alone its fields say enough; of those that may fail alone, each is told at its place.
            let among = |error: Error| {
                if self.atomic && self.items.len() > 1 { error.within(&format!("items[{index}]")) } else { error }
            };
            let made = make(&mut draft, project, new, &locals).map_err(among);
            if let (Ok(id), Some(local)) = (&made, &new.local)
                && locals.insert(local, *id).is_some()
            {
                return Err(Error::validation(
                    Reason::Duplicate,
                    format!("the local name \"{}\" is used twice", crate::echo(local)),
                ));
            }
            if let (Err(error), true) = (&made, self.atomic) {
                return Err(error.clone());
            }
            items.push(made);
        }
        let edges = self.link(&mut draft, project, &locals)?;
        let notes = self.annotate(&mut draft, project, &locals)?;
        let items = items
            .into_iter()
            .zip(&self.items)
            .map(|(made, new)| made.and_then(|id| describe(&draft, project, new, id)))
            .collect();
        Ok(Decision::done(draft.finish(), Created { items, edges, notes }))
    }
}

impl Create {
    /// A root that could have no child is not the root of a tree.
    fn check_room(&self, project: &Project, seen: &Slice) -> Result<(), Error> {
        let Some(Parent::Existing(parent)) =
            self.items.first().filter(|_| self.room_below).and_then(|root| root.parent.as_ref())
        else {
            return Ok(());
        };
        let depth = seen.resolve(parent).map_err(|error| error.at("parentId"))?.depth.saturating_add(1);
        if depth < project.workflow.max_depth {
            return Ok(());
        }
        let most = project.workflow.max_depth;
        Err(Error::validation(
            Reason::TooDeep,
            format!("a tree's root must lie above the maximum depth of {most}, to have room for children; here it would lie at {depth}"),
        )
        .at("parentId"))
    }

    fn adds_to_closed_parent(&self, seen: &Slice) -> bool {
        self.items.iter().any(|new| match &new.parent {
            Some(Parent::Existing(parent)) => seen.resolve(parent).is_ok_and(|parent| !parent.role.is_open()),
            Some(Parent::Local(_)) | None => false,
        })
    }

    /// What the caller calls an item that is made. A name that only a shell could have given says nothing to a reader.
    fn name_of_new(&self, local: &str) -> String {
        if !local.contains(char::is_control) {
            return local.to_owned();
        }
        let place = self.items.iter().position(|new| new.local.as_deref() == Some(local)).unwrap_or_default();
        format!("items[{place}]")
    }

    fn link(
        &self,
        draft: &mut Draft<'_>,
        project: &Project,
        locals: &BTreeMap<&str, ItemId>,
    ) -> Result<Vec<Edge>, Error> {
        if self.edges.is_empty() {
            return Ok(Vec::new());
        }
        let mut rings = Rings::new(draft.seen, project.workflow.has_gate(Gate::Descendants))?;
        for (local, id) in locals {
            rings.name_made(*id, &self.name_of_new(local));
            if let Some(parent) = draft.item(*id).and_then(|item| item.parent) {
                rings.waits.add_child(parent, *id);
            }
        }
        let mut made: Vec<Edge> = Vec::with_capacity(self.edges.len());
        for (index, new) in self.edges.iter().enumerate() {
            let field = format!("edges[{index}]");
            let end =
                |end: &End, name: &str| end_of(draft, end, locals).map_err(|error| error.at(format!("{field}.{name}")));
            let (from, to) = (end(&new.from, "from")?, end(&new.to, "to")?);
            let edge = check_edge(draft, &mut rings, from, to, new.kind, new.unblock_at, new.inverse)
                .map_err(|error| error.at(field.clone()))?;
            if made.iter().any(|known| known.kind == edge.kind && known.from == edge.from && known.to == edge.to) {
                return Err(Error::conflict(Reason::Duplicate, "the same edge twice").at(field));
            }
            draft.add_edge(&edge, None);
            made.push(edge);
        }
        Ok(made)
    }

    fn annotate(
        &self,
        draft: &mut Draft<'_>,
        project: &Project,
        locals: &BTreeMap<&str, ItemId>,
    ) -> Result<Vec<CreatedNote>, Error> {
        let mut wanted: Vec<NewNote> = Vec::new();
        for (index, note) in self.notes.iter().enumerate() {
            let item = local_item(locals, &note.local).map_err(|error| error.at(format!("notes[{index}].itemRef")))?;
            let item = draft.expect(item)?;
            let rule = draft.schema(project, item).and_then(|schema| schema.rule(&note.key).cloned());
            if let Some(rule) = rule.filter(|rule| rule.phase != note.phase) {
                return Err(Error::validation(
                    Reason::BadValue,
                    format!(
                        "notes[{index}]: the schema has \"{}\" in the {} phase, not {}",
                        note.key, rule.phase, note.phase
                    ),
                ));
            }
            // The last of several with one key wins, as with an upsert.
            wanted.retain(|known| known.local != note.local || known.key != note.key);
            wanted.push(note.clone());
        }
        if self.blank_notes {
            for new in &self.items {
                let Some((local, id)) = new.local.as_ref().and_then(|local| Some((local, locals.get(local.as_str())?)))
                else {
                    continue;
                };
                let item = draft.expect(*id)?;
                for rule in draft.schema(project, item).into_iter().flat_map(|schema| schema.notes) {
                    if wanted.iter().all(|known| known.local != *local || known.key != rule.key) {
                        wanted.push(NewNote {
                            local: local.clone(),
                            key: rule.key.clone(),
                            phase: rule.phase,
                            body: empty_text(),
                        });
                    }
                }
            }
        }
        let by = draft.call.by.clone();
        wanted.into_iter().map(|note| write_note(draft, locals, note, by.as_ref())).collect()
    }
}

fn end_of(draft: &Draft<'_>, end: &End, locals: &BTreeMap<&str, ItemId>) -> Result<ItemId, Error> {
    match end {
        End::Existing(item) => draft.seen.resolve(item).map(|item| item.id),
        End::Local(local) => local_item(locals, local),
    }
}

fn write_note(
    draft: &mut Draft<'_>,
    locals: &BTreeMap<&str, ItemId>,
    note: NewNote,
    by: Option<&Attribution>,
) -> Result<CreatedNote, Error> {
    let item = local_item(locals, &note.local)?;
    let id = NoteId::from_uuid(draft.new_uuid());
    let (created_at, modified_at) = (draft.now, draft.now);
    let row = Note {
        id,
        item,
        key: note.key.clone(),
        phase: note.phase,
        body: note.body,
        by: by.cloned(),
        created_at,
        modified_at,
    };
    draft.put_note(item, row, by);
    Ok(CreatedNote { id, local: note.local, key: note.key, phase: note.phase })
}

fn describe(draft: &Draft<'_>, project: &Project, new: &NewItem, id: ItemId) -> Result<CreatedItem, Error> {
    let item = draft.expect(id)?.brief();
    let schema = draft.schema(project, &item);
    Ok(CreatedItem {
        local: new.local.clone(),
        key: project.key(item.number),
        schema_match: schema.is_some(),
        expected_notes: schema.map(|schema| schema.expected(None, &draft.note_heads(id))).unwrap_or_default(),
        item,
    })
}
