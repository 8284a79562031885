//! Items: new, changed by groups of columns, removed; with the words and tags they are found by.

use std::sync::LazyLock;

use docket_core::model::{Complexity, Item, ItemId, Name, Text, Timestamp};
use docket_core::search;
use docket_core::store::code::Coded;
use docket_core::store::{ItemChange, Touched};

use super::rows::Rows;
use crate::script::{Script, Value};

const IDENTITY: [&str; 4] = ["id", "project_id", "number", "created_at"];
const CONTENT: [&str; 16] = [
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
];
const STAMP: [&str; 2] = ["version", "modified_at"];
const STATE: [&str; 6] = ["status", "role", "outcome", "previous_status", "status_label", "role_changed_at"];
const CLAIM: [&str; 6] = ["holder", "claimed_at", "claim_expires_at", "original_claimed_at", "claim_ttl", "fence"];
const DERIVED: [&str; 5] = ["blockers", "moot", "unblocks", "rank", "offered"];

static INSERT: LazyLock<Rows> = LazyLock::new(|| {
    let columns = [&IDENTITY[..], &CONTENT[..], &STAMP[..], &STATE[..], &CLAIM[..], &DERIVED[..]].concat();
    Rows::insert("items", &columns, "")
});
static SET_CONTENT: LazyLock<Rows> = LazyLock::new(|| Rows::update("items", &CONTENT));
static SET_STAMP: LazyLock<Rows> = LazyLock::new(|| Rows::update("items", &STAMP));
static SET_STATE: LazyLock<Rows> = LazyLock::new(|| Rows::update("items", &STATE));
static SET_CLAIM: LazyLock<Rows> = LazyLock::new(|| Rows::update("items", &CLAIM));
static SET_DERIVED: LazyLock<Rows> = LazyLock::new(|| Rows::update("items", &DERIVED));
static ADD_WORDS: LazyLock<Rows> = LazyLock::new(|| {
    Rows::of_items(
        "INSERT INTO items_fts (words, rowid) SELECT ?, pk FROM items WHERE id = ?",
        "INSERT INTO items_fts (words, rowid) SELECT j.value ->> 0, i.pk FROM {items}",
    )
});
static SET_WORDS: LazyLock<Rows> = LazyLock::new(|| {
    Rows::of_items(
        "REPLACE INTO items_fts (words, rowid) SELECT ?, pk FROM items WHERE id = ?",
        "REPLACE INTO items_fts (words, rowid) SELECT j.value ->> 0, i.pk FROM {items}",
    )
});
static ADD_TAGS: LazyLock<Rows> = LazyLock::new(|| {
    Rows::of_items(
        "INSERT OR IGNORE INTO item_tags (tag, item_pk) \
         SELECT t.value, i.pk FROM json_each(?) t CROSS JOIN items i WHERE i.id = ?",
        "INSERT OR IGNORE INTO item_tags (tag, item_pk) \
         SELECT t.value, i.pk FROM {items} CROSS JOIN json_each(j.value ->> 0) t",
    )
});
/// Tags that an item no longer has.
static DROP_TAGS: LazyLock<Rows> = LazyLock::new(|| {
    Rows::of_items(
        "DELETE FROM item_tags WHERE tag NOT IN (SELECT value FROM json_each(?)) \
         AND item_pk = (SELECT pk FROM items WHERE id = ?)",
        "DELETE FROM item_tags WHERE (item_pk, tag) IN ( \
         SELECT t.item_pk, t.tag FROM {items} CROSS JOIN item_tags t ON t.item_pk = i.pk \
         WHERE t.tag NOT IN (SELECT value FROM json_each(j.value ->> 0)))",
    )
});

/// Adds items in the order given: parents before children.
pub(super) fn add_new(script: &mut Script, items: &[Item]) {
    let groups = [identity, content, stamp, state, claim, derived];
    INSERT.add(script, items.iter().map(|item| groups.iter().flat_map(|group| group(item)).collect()));
    ADD_WORDS.add(script, items.iter().map(|item| about(item, words(item))));
    ADD_TAGS.add(script, items.iter().filter(|item| !item.tags.is_empty()).map(|item| about(item, tags(item))));
}

/// Changes the groups of columns that were touched, each group in one statement for all items, so that indexes of the
/// other groups are left alone.
pub(super) fn add_changed(script: &mut Script, changes: &[ItemChange]) {
    let touched = |is_touched: fn(Touched) -> bool, group: fn(&Item) -> Vec<Value>| {
        let items = changes.iter().filter(move |change| is_touched(change.touched)).map(|change| &change.item);
        items.map(move |item| about(item, group(item)))
    };
    SET_CONTENT.add(script, touched(|touched| touched.content, content));
    DROP_TAGS.add(script, touched(|touched| touched.content, tags));
    let tagged = changes.iter().filter(|change| change.touched.content && !change.item.tags.is_empty());
    ADD_TAGS.add(script, tagged.map(|change| about(&change.item, tags(&change.item))));
    SET_WORDS.add(script, touched(|touched| touched.words, words));
    SET_STAMP.add(script, touched(|touched| touched.stamp, stamp));
    SET_STATE.add(script, touched(|touched| touched.state, state));
    SET_CLAIM.add(script, touched(|touched| touched.claim, claim));
    SET_DERIVED.add(script, touched(|touched| touched.derived, derived));
}

/// Removes items; notes, edges and tags go with them by their foreign keys.
pub(super) fn add_removed(script: &mut Script, items: &[ItemId]) {
    if items.is_empty() {
        return;
    }
    let ids = || [Value::ids(items.iter().map(|id| id.as_uuid()))];
    script.put(
        "DELETE FROM items_fts WHERE rowid IN \
         (SELECT i.pk FROM json_each(?) j CROSS JOIN items i ON i.id = unhex(j.value))",
        ids(),
    );
    script.put("DELETE FROM items WHERE id IN (SELECT unhex(value) FROM json_each(?))", ids());
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
    ]
}

fn words(item: &Item) -> Vec<Value> {
    vec![search::fold(&format!("{} {}", item.title, item.summary)).into()]
}

fn tags(item: &Item) -> Vec<Value> {
    vec![Value::json(&item.tags)]
}
