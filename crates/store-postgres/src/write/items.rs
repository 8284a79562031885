//! Items: new, changed by groups of columns, removed.

use std::collections::BTreeMap;

use docket_core::model::{Complexity, Item, ItemId, Name, Text, Timestamp};
use docket_core::plant::{Bug, planted};
use docket_core::search;
use docket_core::store::code::Coded;
use docket_core::store::{ItemChange, Touched};

use super::Writes;
use super::rows::{Cell, Column, Kind, Rows};
use crate::script::{Script, json};

const IDENTITY: [Column; 4] =
    [("id", Kind::Id), ("project_id", Kind::Id), ("number", Kind::Int), ("created_at", Kind::Int)];
const CONTENT: [Column; 21] = [
    ("parent_id", Kind::Id),
    ("depth", Kind::Int),
    ("title", Kind::Text),
    ("description", Kind::Text),
    ("summary", Kind::Text),
    ("priority", Kind::Int),
    ("complexity", Kind::Int),
    ("item_type", Kind::Text),
    ("tags", Kind::List),
    ("traits", Kind::List),
    ("metadata", Kind::Text),
    ("properties", Kind::Text),
    ("requires_verification", Kind::Bool),
    ("touches", Kind::List),
    ("needs", Kind::List),
    ("required_capabilities", Kind::List),
    ("intent", Kind::Text),
    ("attention", Kind::Text),
    ("due_at", Kind::Int),
    ("estimate_minutes", Kind::Int),
    ("position", Kind::Int),
];
const STAMP: [Column; 2] = [("version", Kind::Int), ("modified_at", Kind::Int)];
const STATE: [Column; 6] = [
    ("status", Kind::Text),
    ("role", Kind::Int),
    ("outcome", Kind::Int),
    ("previous_status", Kind::Text),
    ("status_label", Kind::Text),
    ("role_changed_at", Kind::Int),
];
const CLAIM: [Column; 6] = [
    ("holder", Kind::Text),
    ("claimed_at", Kind::Int),
    ("claim_expires_at", Kind::Int),
    ("original_claimed_at", Kind::Int),
    ("claim_ttl", Kind::Int),
    ("fence", Kind::Int),
];
const DERIVED: [Column; 7] = [
    ("blockers", Kind::Int),
    ("moot", Kind::Int),
    ("unblocks", Kind::Int),
    ("rank", Kind::Int),
    ("offered", Kind::Bool),
    ("sections", Kind::Int),
    ("inbox", Kind::Int),
];
const WORDS: [Column; 1] = [("words", Kind::Words)];
/// What an item is compared by: that nobody else has changed it since it was read.
const READ: [Column; 3] = [("id", Kind::Id), ("read_version", Kind::Int), ("read_fence", Kind::Int)];

/// A group of an item's columns, and an item's values for them.
type Group = (&'static [Column], fn(&Item) -> Vec<Cell>);

/// Adds items in the order given: parents before children.
pub(super) fn add_new(script: &mut Script, writes: &mut Writes, items: &[Item]) {
    let columns = [&IDENTITY[..], &CONTENT[..], &STAMP[..], &STATE[..], &CLAIM[..], &DERIVED[..], &WORDS[..]].concat();
    let groups = [identity, content, stamp, state, claim, derived, words];
    let rows = items.iter().map(|item| groups.iter().flat_map(|group| group(item)).collect()).collect();
    if let Some(rows) = Rows::bind(script, &columns, rows) {
        writes.add(rows.insert("items", &columns, ""));
    }
}

/// Changes the groups of columns that were touched. Items with the same groups are one statement's: a row can be written
/// once only, and each of its versions costs as much as the whole row.
pub(super) fn add_changed(script: &mut Script, writes: &mut Writes, changes: &[ItemChange]) {
    let mut by_groups: BTreeMap<u8, Vec<&ItemChange>> = BTreeMap::new();
    for change in changes.iter().filter(|change| change.touched.any()) {
        by_groups.entry(key(change.touched)).or_default().push(change);
    }
    for changes in by_groups.values() {
        let Some(first) = changes.first() else { continue };
        let groups = groups(first.touched);
        let columns: Vec<Column> = groups.iter().flat_map(|(columns, _)| columns.iter().copied()).collect();
        let bound = [&READ[..], &columns].concat();
        let rows: Vec<Vec<Cell>> = changes
            .iter()
            .map(|change| {
                let mut row =
                    vec![change.item.id.as_uuid().into(), change.read_version.into(), change.read_fence.into()];
                row.extend(groups.iter().flat_map(|(_, values)| values(&change.item)));
                row
            })
            .collect();
        let count = rows.len();
        if let Some(rows) = Rows::bind(script, &bound, rows) {
            let unchanged = if planted(Bug::LookedOutside) {
                "true"
            } else {
                "items.version = r.read_version AND items.fence = r.read_fence"
            };
            writes.add_counted(rows.update("items", &columns, unchanged), count);
        }
    }
}

/// Removes items; what belongs to them and edges go with them by their foreign keys.
pub(super) fn add_removed(script: &mut Script, writes: &mut Writes, items: &[ItemId]) {
    if !items.is_empty() {
        let ids = script.uuids(items.iter().map(|id| id.as_uuid()));
        writes.add(format!("DELETE FROM items WHERE id = ANY({ids})"));
    }
}

fn groups(touched: Touched) -> Vec<Group> {
    let Touched {
        content: has_content,
        words: has_words,
        stamp: has_stamp,
        state: has_state,
        claim: has_claim,
        derived: has_derived,
    } = touched;
    let all: [(bool, Group); 6] = [
        (has_content, (&CONTENT, content)),
        (has_words, (&WORDS, words)),
        (has_stamp, (&STAMP, stamp)),
        (has_state, (&STATE, state)),
        (has_claim, (&CLAIM, claim)),
        (has_derived, (&DERIVED, derived)),
    ];
    all.into_iter().filter(|(is_touched, _)| *is_touched).map(|(_, group)| group).collect()
}

fn key(touched: Touched) -> u8 {
    let flags = [touched.content, touched.words, touched.stamp, touched.state, touched.claim, touched.derived];
    flags.into_iter().fold(0, |key, flag| key << 1 | u8::from(flag))
}

fn identity(item: &Item) -> Vec<Cell> {
    vec![
        item.id.as_uuid().into(),
        item.project.as_uuid().into(),
        item.number.into(),
        item.created_at.as_millis().into(),
    ]
}

fn content(item: &Item) -> Vec<Cell> {
    vec![
        item.parent.map(ItemId::as_uuid).into(),
        item.depth.into(),
        item.title.as_str().into(),
        item.description.as_ref().map(Text::as_str).into(),
        item.summary.as_str().into(),
        item.priority.code().into(),
        item.complexity.map(Complexity::get).map(i64::from).into(),
        item.item_type.as_ref().map(Name::as_str).into(),
        json(&item.tags).into(),
        json(&item.traits).into(),
        item.metadata.as_ref().map(Text::as_str).into(),
        item.properties.as_ref().map(Text::as_str).into(),
        item.requires_verification.into(),
        json(&item.touches).into(),
        json(&item.needs).into(),
        json(&item.required_capabilities).into(),
        item.intent.as_ref().map(Text::as_str).into(),
        item.attention.as_ref().map(Text::as_str).into(),
        item.due_at.map(Timestamp::as_millis).into(),
        item.estimate_minutes.map(i64::from).into(),
        item.position.map(i64::from).into(),
    ]
}

fn stamp(item: &Item) -> Vec<Cell> {
    vec![item.version.into(), item.modified_at.as_millis().into()]
}

fn state(item: &Item) -> Vec<Cell> {
    vec![
        item.status.as_str().into(),
        item.role.code().into(),
        item.outcome.map(Coded::code).into(),
        item.previous_status.as_ref().map(Name::as_str).into(),
        item.status_label.as_ref().map(Name::as_str).into(),
        item.role_changed_at.as_millis().into(),
    ]
}

fn claim(item: &Item) -> Vec<Cell> {
    let claim = item.claim.as_ref();
    vec![
        claim.map(|claim| claim.holder.as_str()).into(),
        claim.map(|claim| claim.claimed_at.as_millis()).into(),
        claim.and_then(|claim| claim.expires_at).map(Timestamp::as_millis).into(),
        claim.map(|claim| claim.original_claimed_at.as_millis()).into(),
        claim.map(|claim| i64::from(claim.ttl_seconds)).into(),
        item.fence.0.into(),
    ]
}

fn derived(item: &Item) -> Vec<Cell> {
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

fn words(item: &Item) -> Vec<Cell> {
    vec![search::filed(item).into()]
}
