//! Items: new, changed by groups of columns, removed; with the words and tags they are found by.

use docket_core::model::{Complexity, Item, ItemId, Name, Text, Timestamp};
use docket_core::search;
use docket_core::store::{ItemChange, Touched};

use super::rows::Rows;
use crate::row::code::Coded;
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

/// A group of an item's columns, and an item's values for them.
type Group = (&'static [&'static str], fn(&Item) -> Vec<Value>);

const WORDS: [&str; 1] = ["words"];

/// Adds items in the order given: parents before children.
pub(super) fn add_new(script: &mut Script, items: &[Item]) {
    let columns = [&IDENTITY[..], &CONTENT[..], &STAMP[..], &STATE[..], &CLAIM[..], &DERIVED[..]].concat();
    let whole = [&columns[..], &WORDS[..]].concat();
    let groups = [identity, content, stamp, state, claim, derived, words];
    let rows = items.iter().map(|item| groups.iter().flat_map(|group| group(item)).collect()).collect();
    let Some(rows) = Rows::bind(script, &whole, rows) else { return };
    rows.insert(script, "items", &columns, "");
    add_words(script, &rows);
    if items.iter().any(|item| !item.tags.is_empty()) {
        add_tags(script, &rows);
    }
}

/// Changes the groups of columns that were touched, each group in one statement for all items, so that indexes of the
/// other groups are left alone.
pub(super) fn add_changed(script: &mut Script, changes: &[ItemChange]) {
    if let Some(rows) = touched(script, changes, |touched| touched.content, &[(&CONTENT, content)]) {
        rows.update(script, "items", &CONTENT, "true");
        remove_tags(script, &rows);
        if changes.iter().any(|change| change.touched.content && !change.item.tags.is_empty()) {
            add_tags(script, &rows);
        }
    }
    if let Some(rows) = touched(script, changes, |touched| touched.words, &[(&WORDS, words)]) {
        add_words(script, &rows);
    }
    if let Some(rows) = touched(script, changes, |touched| touched.state, &[(&STAMP, stamp), (&STATE, state)]) {
        // An edit touches the version alone: then the indexes by role stay as they are.
        rows.update(script, "items", &STAMP, "true");
        let cells = STATE.map(|column| rows.cell(column)).join(", ");
        rows.update(script, "items", &STATE, &format!("({}) IS NOT ({cells})", STATE.join(", ")));
    }
    if let Some(rows) = touched(script, changes, |touched| touched.claim, &[(&CLAIM, claim)]) {
        rows.update(script, "items", &CLAIM, "true");
    }
    if let Some(rows) = touched(script, changes, |touched| touched.derived, &[(&DERIVED, derived)]) {
        rows.update(script, "items", &DERIVED, "true");
    }
}

/// Removes items; notes, edges and tags go with them by their foreign keys.
pub(super) fn add_removed(script: &mut Script, items: &[ItemId]) {
    if items.is_empty() {
        return;
    }
    let ids = script.uuids(items.iter().map(|id| id.as_uuid()));
    script.add(&format!(
        "DELETE FROM items_fts WHERE rowid IN \
         (SELECT i.pk FROM json_each({ids}) j CROSS JOIN items i ON i.id = unhex(j.value))"
    ));
    script.add(&format!("DELETE FROM items WHERE id IN (SELECT unhex(value) FROM json_each({ids}))"));
}

fn add_words(script: &mut Script, rows: &Rows) {
    let (items, meant) = rows.items();
    let words = rows.cell("words");
    script.add(&format!("REPLACE INTO items_fts (rowid, words) SELECT i.pk, {words} FROM {items} WHERE {meant}"));
}

fn add_tags(script: &mut Script, rows: &Rows) {
    let (items, meant) = rows.items();
    let tags = rows.cell("tags");
    script.add(&format!(
        "INSERT OR IGNORE INTO item_tags (tag, item_pk) \
         SELECT t.value, i.pk FROM {items} CROSS JOIN json_each({tags}) t WHERE {meant}"
    ));
}

fn remove_tags(script: &mut Script, rows: &Rows) {
    let (items, meant) = rows.items();
    let tags = rows.cell("tags");
    script.add(&format!(
        "DELETE FROM item_tags WHERE (item_pk, tag) IN ( \
         SELECT t.item_pk, t.tag FROM {items} CROSS JOIN item_tags t ON t.item_pk = i.pk \
         WHERE {meant} AND t.tag NOT IN (SELECT value FROM json_each({tags})))"
    ));
}

/// The touched groups of every item that has them.
fn touched(
    script: &mut Script,
    changes: &[ItemChange],
    is_touched: fn(Touched) -> bool,
    groups: &[Group],
) -> Option<Rows> {
    let mut columns = vec!["id"];
    columns.extend(groups.iter().flat_map(|(columns, _)| *columns));
    let row = |item: &Item| {
        let mut row = vec![item.id.as_uuid().into()];
        row.extend(groups.iter().flat_map(|(_, values)| values(item)));
        row
    };
    let rows = changes.iter().filter(|change| is_touched(change.touched)).map(|change| row(&change.item)).collect();
    Rows::bind(script, &columns, rows)
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
