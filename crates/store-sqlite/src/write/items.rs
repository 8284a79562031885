//! Items: new, changed by groups of columns, removed; with the words and tags they are found by.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use docket_core::model::{Complexity, Item, ItemId, Name, Text, Timestamp};
use docket_core::search;
use docket_core::store::code::Coded;
use docket_core::store::{ItemChange, Touched};

use super::rows;
use crate::options::{CATCH_UP_EVERY, INDEXED_TOGETHER, UNINDEXED_BYTES};
use crate::script::{Script, Value};

const IDENTITY: [&str; 4] = ["id", "project_id", "number", "created_at"];
const CONTENT: [&str; 21] = [
    "parent_id",
    "depth",
    "title",
    "description",
    "summary",
    "priority",
    "complexity",
    "item_type",
    "tags",
    "traits",
    "metadata",
    "properties",
    "requires_verification",
    "touches",
    "needs",
    "required_capabilities",
    "intent",
    "attention",
    "due_at",
    "estimate_minutes",
    "position",
];
const STAMP: [&str; 2] = ["version", "modified_at"];
const STATE: [&str; 6] = ["status", "role", "outcome", "previous_status", "status_label", "role_changed_at"];
const CLAIM: [&str; 6] = ["holder", "claimed_at", "claim_expires_at", "original_claimed_at", "claim_ttl", "fence"];
const DERIVED: [&str; 7] = ["blockers", "moot", "unblocks", "rank", "offered", "sections", "inbox"];

static INSERT: LazyLock<String> = LazyLock::new(|| {
    let columns = [&IDENTITY[..], &CONTENT[..], &STAMP[..], &STATE[..], &CLAIM[..], &DERIVED[..]].concat();
    rows::insert("items", &columns, "")
});
/// Columns that change together, and the cells for them.
type Group = (&'static [&'static str], fn(&Item) -> Vec<Value>);

const GROUPS: [Group; 5] =
    [(&CONTENT, content), (&STAMP, stamp), (&STATE, state), (&CLAIM, claim), (&DERIVED, derived)];
/// Statements that set some of the groups, by [`key`].
static SET: LazyLock<[String; 1 << GROUPS.len()]> = LazyLock::new(|| {
    std::array::from_fn(|key| {
        let columns: Vec<&str> = groups(key).flat_map(|(columns, _)| columns.iter().copied()).collect();
        rows::update("items", &columns)
    })
});
// With VALUES: a statement with a SELECT may write several rows, for which SQLite begins a savepoint, and at each of
// those the full-text index writes out what it has gathered.
const INDEX: &str = "INSERT INTO items_fts (words, rowid) VALUES (?, (SELECT pk FROM items WHERE id = ?))";
const UNINDEX: &str = "DELETE FROM items_fts WHERE rowid = (SELECT pk FROM items WHERE id = ?)";
const PUT_OFF: &str = "INSERT INTO items_unindexed (words, pk) VALUES (?, (SELECT pk FROM items WHERE id = ?))";
const FORGET: &str = "DELETE FROM items_unindexed WHERE pk = (SELECT pk FROM items WHERE id = ?)";
/// Takes what was put off into the index once there is enough of it; the count is made before the first row is written.
const CATCH_UP: [&str; 2] = [
    "INSERT INTO items_fts (rowid, words) SELECT pk, words FROM items_unindexed \
     WHERE (SELECT count(*) FROM items_unindexed) >= ?",
    "DELETE FROM items_unindexed WHERE (SELECT count(*) FROM items_unindexed) >= ?",
];
const ADD_TAGS: &str = "INSERT OR IGNORE INTO item_tags (tag, item_pk) \
    SELECT t.value, i.pk FROM json_each(?) t CROSS JOIN items i WHERE i.id = ?";
/// Tags that an item no longer has.
const DROP_TAGS: &str = "DELETE FROM item_tags WHERE tag NOT IN (SELECT value FROM json_each(?)) \
    AND item_pk = (SELECT pk FROM items WHERE id = ?)";

/// Adds items in the order given: parents before children.
pub(super) fn add_new(script: &mut Script, items: &[Item]) {
    let groups = [identity, content, stamp, state, claim, derived];
    script.put(&INSERT, items.iter().map(|item| groups.iter().flat_map(|group| group(item)).collect()));
    add_words(script, items);
    script.put(ADD_TAGS, items.iter().filter(|item| !item.tags.is_empty()).map(|item| about(item, tags(item))));
}

/// Changes the groups of columns that were touched. Items with the same groups are one statement's: it writes each row once,
/// and leaves the indexes of the other groups alone.
pub(super) fn add_changed(script: &mut Script, changes: &[ItemChange]) {
    let mut by_groups: BTreeMap<usize, Vec<Vec<Value>>> = BTreeMap::new();
    for ItemChange { item, touched, .. } in changes {
        let key = key(*touched);
        if key != 0 {
            let cells = groups(key).flat_map(|(_, cells)| cells(item)).collect();
            by_groups.entry(key).or_default().push(about(item, cells));
        }
    }
    for (key, rows) in by_groups {
        script.put(&SET[key], rows);
    }
    let retold = || changes.iter().filter(|change| change.touched.content).map(|change| &change.item);
    script.put(DROP_TAGS, retold().map(|item| about(item, tags(item))));
    script.put(ADD_TAGS, retold().filter(|item| !item.tags.is_empty()).map(|item| about(item, tags(item))));
    let reworded: Vec<&Item> =
        changes.iter().filter(|change| change.touched.words).map(|change| &change.item).collect();
    for old in [UNINDEX, FORGET] {
        script.put(old, reworded.iter().map(|item| vec![item.id.as_uuid().into()]));
    }
    add_words(script, reworded);
}

/// Files items under their words. A few are put off, since the index takes in many at once for little more than one; long texts
/// are not, since those that are put off are searched one by one.
fn add_words<'i>(script: &mut Script, items: impl IntoIterator<Item = &'i Item>) {
    let filed: Vec<(&Item, String)> = items.into_iter().map(|item| (item, search::filed(item))).collect();
    let many = filed.len() >= INDEXED_TOGETHER;
    let (indexed, put_off): (Vec<_>, Vec<_>) =
        filed.into_iter().partition(|(_, words)| many || words.len() > UNINDEXED_BYTES);
    let cells = |(item, words): (&Item, String)| about(item, vec![words.into()]);
    script.put(INDEX, indexed.into_iter().map(cells));
    // Whether there is enough is not asked each time, but by chance, so that no pattern of writes is never asked.
    let asks = |(item, _): &(&Item, String)| {
        let [.., chance] = *item.id.as_uuid().as_bytes();
        (u64::from(chance) + item.version).is_multiple_of(CATCH_UP_EVERY)
    };
    let catches_up = put_off.iter().any(asks);
    script.put(PUT_OFF, put_off.into_iter().map(cells));
    if catches_up {
        for step in CATCH_UP {
            script.put(step, [vec![INDEXED_TOGETHER.into()]]);
        }
    }
}

/// Removes items; what belongs to them, edges and tags go with them by their foreign keys.
pub(super) fn add_removed(script: &mut Script, items: &[ItemId]) {
    script.put(UNINDEX, items.iter().map(|id| vec![id.as_uuid().into()]));
    if !items.is_empty() {
        // In one go: a parent may come before its children.
        script.put(
            "DELETE FROM items WHERE id IN (SELECT unhex(value) FROM json_each(?))",
            [vec![Value::ids(items.iter().map(|id| id.as_uuid()))]],
        );
    }
}

/// The touched groups as a number: a bit for each of [`GROUPS`].
fn key(touched: Touched) -> usize {
    let flags = [touched.content, touched.stamp, touched.state, touched.claim, touched.derived];
    flags.into_iter().enumerate().map(|(place, flag)| usize::from(flag) << place).sum()
}

fn groups(key: usize) -> impl Iterator<Item = Group> {
    GROUPS.into_iter().enumerate().filter(move |(place, _)| key >> place & 1 == 1).map(|(_, group)| group)
}

/// Cells about an item, with its id as the last.
fn about(item: &Item, mut cells: Vec<Value>) -> Vec<Value> {
    cells.push(item.id.as_uuid().into());
    cells
}

fn identity(item: &Item) -> Vec<Value> {
    vec![
        item.id.as_uuid().into(),
        item.project.as_uuid().into(),
        item.number.into(),
        item.created_at.as_millis().into(),
    ]
}

fn content(item: &Item) -> Vec<Value> {
    vec![
        item.parent.map(ItemId::as_uuid).into(),
        item.depth.into(),
        item.title.as_str().into(),
        item.description.as_ref().map(Text::as_str).into(),
        item.summary.as_str().into(),
        item.priority.code().into(),
        item.complexity.map(Complexity::get).into(),
        item.item_type.as_ref().map(Name::as_str).into(),
        Value::json(&item.tags),
        Value::json(&item.traits),
        item.metadata.as_ref().map(Text::as_str).into(),
        item.properties.as_ref().map(Text::as_str).into(),
        item.requires_verification.into(),
        Value::json(&item.touches),
        Value::json(&item.needs),
        Value::json(&item.required_capabilities),
        item.intent.as_ref().map(Text::as_str).into(),
        item.attention.as_ref().map(Text::as_str).into(),
        item.due_at.map(Timestamp::as_millis).into(),
        item.estimate_minutes.into(),
        item.position.map(i64::from).into(),
    ]
}

fn stamp(item: &Item) -> Vec<Value> {
    vec![item.version.into(), item.modified_at.as_millis().into()]
}

fn state(item: &Item) -> Vec<Value> {
    vec![
        item.status.as_str().into(),
        item.role.code().into(),
        item.outcome.map(Coded::code).into(),
        item.previous_status.as_ref().map(Name::as_str).into(),
        item.status_label.as_ref().map(Name::as_str).into(),
        item.role_changed_at.as_millis().into(),
    ]
}

fn claim(item: &Item) -> Vec<Value> {
    let claim = item.claim.as_ref();
    vec![
        claim.map(|claim| claim.holder.as_str()).into(),
        claim.map(|claim| claim.claimed_at.as_millis()).into(),
        claim.and_then(|claim| claim.expires_at).map(Timestamp::as_millis).into(),
        claim.map(|claim| claim.original_claimed_at.as_millis()).into(),
        claim.map(|claim| claim.ttl_seconds).into(),
        item.fence.0.into(),
    ]
}

fn derived(item: &Item) -> Vec<Value> {
    let derived = item.derived;
    vec![
        derived.blockers.into(),
        derived.moot.into(),
        derived.unblocks.into(),
        derived.rank.into(),
        derived.offered.into(),
        derived.sections.0.into(),
        derived.inbox.0.into(),
    ]
}

fn tags(item: &Item) -> Vec<Value> {
    vec![Value::json(&item.tags)]
}
