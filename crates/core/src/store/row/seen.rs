//! What a loaded scope returned, as a slice.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use uuid::Uuid;

use super::api_key::digest;
use super::{
    BriefRow, CommentRow, EdgeRow, EntryLinkRow, EntryRow, Flag, HeadRow, ItemRow, KeyRow, LinkRow, MakingRow, Millis,
    NoteRow, Packed, QuestionRow, SessionRow, models,
};
use crate::model::{
    Brief, Comment, Edge, Entry, Item, ItemId, ItemRef, Key, Link, Name, Note, NoteHead, Project, ProjectId, Question,
    Role, Run, Session, StoredKey, Timestamp,
};
use crate::store::code::Coded;
use crate::store::{
    AnswerKey, Busy, Capped, KnowledgeSeen, Resolution, Scope, Slice, StoredAnswer, WaitEdge, WaitGraph, WayGraph,
    fitting,
};

/// The results of a load by name; what was not asked for is empty. `prefixes` begin with the place of the prefix among those
/// of the scope.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Seen {
    now: Millis,
    items: Vec<ItemRow>,
    far_items: Vec<ItemRow>,
    projects: Vec<(ProjectId, u64, u32, Flag)>,
    prefixes: Vec<(usize, ItemId, Key)>,
    edges: Vec<EdgeRow>,
    degrees: Vec<(ItemId, usize)>,
    heads: Vec<HeadRow>,
    bodies: Vec<NoteRow>,
    notes: Vec<NoteRow>,
    briefs: Vec<BriefRow>,
    questions: Vec<QuestionRow>,
    comments: Vec<CommentRow>,
    links: Vec<LinkRow>,
    entries: Vec<EntryRow>,
    entry_links: Vec<EntryLinkRow>,
    entries_stored: u64,
    making: MakingRow,
    sessions: Vec<SessionRow>,
    runs: Vec<Run>,
    children: Vec<(ItemId, Packed)>,
    subtree: Packed,
    held: Packed,
    picked: Packed,
    busy: Vec<(ItemId, ProjectId, Vec<Name>, Vec<Name>)>,
    waits_cut: Flag,
    wait_edges: WaitEdges,
    wait_children: Packed,
    ways_cut: Flag,
    ways: Packed,
    component: Vec<EdgeRow>,
    component_cut: Flag,
    keys: Vec<KeyRow>,
    answer: Option<AnswerRow>,
}

impl Seen {
    /// The database's time.
    pub fn now(&self) -> Timestamp {
        self.now.into()
    }

    /// Adds items that were handed over by themselves.
    pub fn add_items(&mut self, items: Vec<ItemRow>) {
        self.items.extend(items);
    }

    /// Projects whose rules are not known at the version that was read.
    pub fn unknown_projects(&self, known: impl Fn(ProjectId, u64) -> Option<Arc<Project>>) -> Vec<ProjectId> {
        let unknown = self.projects.iter().filter(|(id, version, ..)| known(*id, *version).is_none());
        unknown.map(|(id, ..)| *id).collect()
    }

    /// The slice; `None` when a project is not known at the version that was read.
    pub fn into_slice(self, scope: &Scope, known: impl Fn(ProjectId, u64) -> Option<Arc<Project>>) -> Option<Slice> {
        let mut slice = Slice { now: self.now(), ..Slice::default() };
        for (id, version, next_number, named) in self.projects {
            slice.projects.insert(id, known(id, version)?);
            slice.next_numbers.insert(id, next_number);
            if named.0 {
                slice.project = Some(id);
            }
        }
        let around = &scope.around;
        slice.items =
            self.items.into_iter().chain(self.far_items).map(Item::from).map(|item| (item.id, item)).collect();
        slice.edges = self.edges.into_iter().map(Edge::from).map(|edge| (edge.id, edge)).collect();
        slice.open_children = by_item(self.children, around.open_children);
        slice.subtree = capped(self.subtree, around.subtree);
        if let Some(bytes) = around.subtree_bytes {
            let fits = fitting(slice.subtree.rows.iter().filter_map(|id| slice.items.get(id)), bytes);
            let beneath = std::mem::take(&mut slice.subtree);
            let truncated = beneath.truncated || fits < beneath.rows.len();
            slice.subtree = Capped { truncated, ..Capped::cut(beneath.rows, fits) };
        }
        slice.held = self.held.0;
        slice.candidates = capped(self.picked, scope.candidates.as_ref().map(|wanted| wanted.limit));
        let busy = self.busy.into_iter();
        slice.busy = busy.map(|(item, project, touches, needs)| Busy { item, project, touches, needs }).collect();
        // Which of several claims is named as what an item collides with is the same whatever the database is.
        slice.busy.sort_unstable_by_key(|busy| busy.item);
        slice.degrees = self.degrees.into_iter().collect();
        slice.component = Capped { rows: models(self.component), truncated: self.component_cut.0 };
        slice.keys = models(self.keys).into_iter().map(|stored: StoredKey| (stored.key.id, stored)).collect();
        slice.answer = self.answer.zip(scope.answer.as_ref()).map(|(row, key)| row.into_answer(key));
        slice.waits = around.waits.then(|| WaitGraph {
            edges: self.wait_edges.0,
            children: pairs(&self.wait_children),
            truncated: self.waits_cut.0,
        });
        let ways = || WayGraph { pairs: pairs(&self.ways), truncated: self.ways_cut.0 };
        slice.gives_way = around.gives_way.then(|| Box::new(ways()));
        slice.briefs = models(self.briefs).into_iter().collect::<BTreeMap<ItemId, Brief>>();
        slice.questions = models(self.questions).into_iter().map(|row: Question| (row.id, row)).collect();
        slice.links = models(self.links).into_iter().map(|row: Link| (row.id, row)).collect();
        slice.knowledge = KnowledgeSeen {
            entries: models(self.entries).into_iter().map(|row: Entry| (row.id, row)).collect(),
            links: models(self.entry_links),
            stored: self.entries_stored,
            making: self.making.into(),
        };
        slice.sessions = models(self.sessions).into_iter().map(|row: Session| (row.id, row)).collect();
        slice.runs = self.runs.into_iter().map(|run| (run.id, run)).collect();
        put_comments(&mut slice, models(self.comments), around.comments);
        put_notes(&mut slice, models(self.heads), models(self.bodies), models(self.notes));
        resolve(&mut slice, scope, self.prefixes);
        Some(slice)
    }
}

fn pairs(packed: &Packed) -> Vec<(ItemId, ItemId)> {
    packed.0.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
}

/// Comments, the newest first, with one to spare where there are more.
fn put_comments(slice: &mut Slice, mut comments: Vec<Comment>, limit: Option<usize>) {
    let Some(limit) = limit else { return };
    comments.sort_by_key(|comment| std::cmp::Reverse(comment.id));
    let mut by_item: BTreeMap<ItemId, Vec<Comment>> = BTreeMap::new();
    for comment in comments {
        by_item.entry(comment.item).or_default().push(comment);
    }
    slice.comments = by_item.into_iter().map(|(item, comments)| (item, Capped::cut(comments, limit))).collect();
}

/// Notes in the order of their keys. One may be named and on a named item: it is shown once.
fn put_notes(slice: &mut Slice, heads: Vec<NoteHead>, bodies: Vec<Note>, named: Vec<Note>) {
    for head in heads.into_iter().chain(bodies.iter().map(Note::head)) {
        slice.note_heads.entry(head.item).or_default().push(head);
    }
    for heads in slice.note_heads.values_mut() {
        heads.sort_by(|a, b| a.key.cmp(&b.key));
    }
    slice.notes = bodies;
    for note in named {
        if slice.notes.iter().all(|known| known.id != note.id) {
            slice.notes.push(note);
        }
    }
    slice.notes.sort_by(|a, b| (a.item, &a.key).cmp(&(b.item, &b.key)));
}

/// What each spelling turned out to mean. An edge may have led to an item that the caller may not name.
fn resolve(slice: &mut Slice, scope: &Scope, prefixes: Vec<(usize, ItemId, Key)>) {
    let seen = |item: &&Item| scope.visible.as_ref().is_none_or(|projects| projects.contains(&item.project));
    let by_key: BTreeMap<Key, ItemId> = if scope.items.iter().any(|item| matches!(item, ItemRef::Key(_))) {
        let key = |item: &Item| Some(slice.projects.get(&item.project)?.key(item.number));
        slice.items.values().filter(seen).filter_map(|item| Some((key(item)?, item.id))).collect()
    } else {
        BTreeMap::new()
    };
    for item in &scope.items {
        let meant = match item {
            ItemRef::Id(id) => slice.items.get(id).filter(seen).map(|item| item.id),
            ItemRef::Key(key) => by_key.get(key).copied(),
            ItemRef::Prefix(_) => continue,
        };
        slice.refs.insert(item.clone(), meant.map_or(Resolution::Missing, Resolution::One));
    }
    let mut matches: BTreeMap<usize, Vec<(ItemId, Key)>> = BTreeMap::new();
    for (place, id, key) in prefixes {
        matches.entry(place).or_default().push((id, key));
    }
    let spelled = scope.items.iter().filter(|item| matches!(item, ItemRef::Prefix(_)));
    for (place, item) in spelled.enumerate() {
        let meant = match matches.remove(&place).unwrap_or_default().as_slice() {
            [] => Resolution::Missing,
            [(only, _)] => Resolution::One(*only),
            several => Resolution::Ambiguous(several.iter().map(|(_, key)| key.clone()).collect()),
        };
        slice.refs.insert(item.clone(), meant);
    }
}

/// Ids that were loaded with one to spare where there is a limit.
fn capped(ids: Packed, limit: Option<usize>) -> Capped<ItemId> {
    Capped::cut(ids.0, limit.unwrap_or(usize::MAX))
}

fn by_item(rows: Vec<(ItemId, Packed)>, limit: Option<usize>) -> BTreeMap<ItemId, Capped<ItemId>> {
    rows.into_iter().map(|(item, ids)| (item, capped(ids, limit))).collect()
}

/// Edges packed into one text: both ends in hex, and the role that the blocker must reach.
#[derive(Debug, Default)]
struct WaitEdges(Vec<WaitEdge>);

impl<'de> Deserialize<'de> for WaitEdges {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Option::<std::borrow::Cow<'de, str>>::deserialize(deserializer)?.unwrap_or_default();
        let read = |packed: &[u8]| {
            let end = |digits: &[u8]| Uuid::try_parse_ascii(digits).ok().map(ItemId::from_uuid);
            let (from, rest) = packed.split_at_checked(32)?;
            let (to, threshold) = rest.split_at_checked(32)?;
            let threshold = Role::from_code(i64::from(threshold.first()?.checked_sub(b'0')?))?;
            Some(WaitEdge { from: end(from)?, to: end(to)?, threshold })
        };
        let edges = text.as_bytes().chunks(65).map(read).collect::<Option<_>>();
        edges.map(Self).ok_or_else(|| serde::de::Error::custom("an edge does not have two ends and a role"))
    }
}

/// Digest, answer and expiry; the key is the one that was asked for.
#[derive(Debug, Deserialize)]
struct AnswerRow(#[serde(deserialize_with = "digest")] [u8; 32], #[serde(deserialize_with = "answer")] Value, Millis);

impl AnswerRow {
    fn into_answer(self, key: &AnswerKey) -> StoredAnswer {
        StoredAnswer { key: key.clone(), digest: self.0, answer: self.1, expires_at: self.2.into() }
    }
}

/// An answer comes as a text of its own: it may be nested as deep as any document may.
fn answer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    let text = String::deserialize(deserializer)?;
    serde_json::from_str(&text).map_err(serde::de::Error::custom)
}
