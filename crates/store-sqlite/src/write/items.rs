//! Items: new, changed by groups of columns, removed; with the words and tags they are found by.

use std::fmt::Write as _;
use std::sync::LazyLock;

use docket_core::model::{Complexity, Item, ItemId, Name, Tag, Text, Timestamp};
use docket_core::search;
use docket_core::store::{ItemChange, Touched};
use serde::Serialize;

use crate::row::code::Coded;
use crate::script::{Hex, Param, Script};

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

/// What names an item and never changes.
#[derive(Serialize)]
struct Identity {
    project_id: Hex,
    number: u32,
    created_at: i64,
}

#[derive(Serialize)]
struct Content<'i> {
    parent_id: Option<Hex>,
    depth: u8,
    title: &'i str,
    description: Option<&'i str>,
    summary: &'i str,
    priority: i64,
    complexity: Option<u8>,
    item_type: Option<&'i str>,
    tags: &'i [Tag],
    traits: &'i [Name],
    metadata: Option<&'i str>,
    properties: Option<&'i str>,
    requires_verification: bool,
    touches: &'i [Name],
    needs: &'i [Name],
    required_capabilities: &'i [Name],
}

#[derive(Serialize)]
struct State<'i> {
    status: &'i str,
    role: i64,
    outcome: Option<i64>,
    previous_status: Option<&'i str>,
    status_label: Option<&'i str>,
    version: u64,
    modified_at: i64,
    role_changed_at: i64,
}

#[derive(Serialize)]
struct Lease<'i> {
    holder: Option<&'i str>,
    claimed_at: Option<i64>,
    claim_expires_at: Option<i64>,
    original_claimed_at: Option<i64>,
    claim_ttl: Option<u32>,
    fence: u64,
}

#[derive(Serialize)]
struct Derived {
    blockers: u32,
    moot: u32,
    unblocks: u32,
    rank: i64,
    offered: bool,
}

#[derive(Serialize)]
struct Words {
    words: String,
}

/// An item's id with some of its columns.
#[derive(Serialize)]
struct Keyed<T> {
    id: Hex,
    #[serde(flatten)]
    columns: T,
}

#[derive(Serialize)]
struct Whole<'i> {
    #[serde(flatten)]
    identity: Identity,
    #[serde(flatten)]
    content: Content<'i>,
    #[serde(flatten)]
    state: State<'i>,
    #[serde(flatten)]
    claim: Lease<'i>,
    #[serde(flatten)]
    derived: Derived,
    #[serde(flatten)]
    words: Words,
}

static INSERT: LazyLock<String> = LazyLock::new(|| {
    let columns = [&IDENTITY[..], &CONTENT[..], &STAMP[..], &STATE[..], &CLAIM[..], &DERIVED[..]].concat();
    let values: Vec<String> = columns.iter().map(|column| value(column)).collect();
    format!("INSERT INTO items ({}) SELECT {} FROM", columns.join(", "), values.join(", "))
});
static SET_CONTENT: LazyLock<String> = LazyLock::new(|| update(&CONTENT));
static SET_STAMP: LazyLock<String> = LazyLock::new(|| update(&STAMP));
static SET_STATE: LazyLock<String> = LazyLock::new(|| update(&STATE));
/// Whether a row is in another state than it shall be.
static MOVES: LazyLock<String> = LazyLock::new(|| {
    let values: Vec<String> = STATE.iter().map(|column| value(column)).collect();
    format!("({}) IS NOT ({})", STATE.join(", "), values.join(", "))
});
static SET_CLAIM: LazyLock<String> = LazyLock::new(|| update(&CLAIM));
static SET_DERIVED: LazyLock<String> = LazyLock::new(|| update(&DERIVED));

/// Adds items in the order given: parents before children.
pub(super) fn add_new(script: &mut Script, items: &[Item]) {
    if items.is_empty() {
        return;
    }
    let rows: Vec<Keyed<Whole<'_>>> = items.iter().map(|item| keyed(item, whole)).collect();
    let rows = script.json(&rows);
    script.add(&format!("{} jsonb_each({rows}) j ORDER BY j.key", *INSERT));
    add_words(script, rows);
    if items.iter().any(|item| !item.tags.is_empty()) {
        add_tags(script, rows);
    }
}

/// Changes the groups of columns that were touched, each group in one statement for all items, so that indexes of the
/// other groups are left alone.
pub(super) fn add_changed(script: &mut Script, changes: &[ItemChange]) {
    if let Some(rows) = touched(script, changes, |touched| touched.content, content) {
        script.add(&of_rows(&SET_CONTENT, rows));
        script.add(&format!(
            "DELETE FROM item_tags WHERE (item_pk, tag) IN ( \
             SELECT t.item_pk, t.tag FROM jsonb_each({rows}) j CROSS JOIN items i ON i.id = unhex(j.value ->> 'id') \
             CROSS JOIN item_tags t ON t.item_pk = i.pk \
             WHERE t.tag NOT IN (SELECT value FROM jsonb_each(j.value, '$.tags')))"
        ));
        if changes.iter().any(|change| change.touched.content && !change.item.tags.is_empty()) {
            add_tags(script, rows);
        }
    }
    if let Some(rows) = touched(script, changes, |touched| touched.words, words) {
        add_words(script, rows);
    }
    if let Some(rows) = touched(script, changes, |touched| touched.state, state) {
        // An edit touches the version alone: then the indexes by role stay as they are.
        script.add(&of_rows(&SET_STAMP, rows));
        script.add(&format!("{} AND {}", of_rows(&SET_STATE, rows), *MOVES));
    }
    if let Some(rows) = touched(script, changes, |touched| touched.claim, claim) {
        script.add(&of_rows(&SET_CLAIM, rows));
    }
    if let Some(rows) = touched(script, changes, |touched| touched.derived, derived) {
        script.add(&of_rows(&SET_DERIVED, rows));
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

fn add_words(script: &mut Script, rows: Param) {
    script.add(&format!(
        "REPLACE INTO items_fts (rowid, words) SELECT i.pk, j.value ->> 'words' \
         FROM jsonb_each({rows}) j CROSS JOIN items i ON i.id = unhex(j.value ->> 'id')"
    ));
}

fn add_tags(script: &mut Script, rows: Param) {
    script.add(&format!(
        "INSERT OR IGNORE INTO item_tags (tag, item_pk) SELECT t.value, i.pk \
         FROM jsonb_each({rows}) j CROSS JOIN items i ON i.id = unhex(j.value ->> 'id') \
         CROSS JOIN jsonb_each(j.value, '$.tags') t"
    ));
}

/// The touched group of every item that has it, as one JSON array.
fn touched<'c, T: Serialize>(
    script: &mut Script,
    changes: &'c [ItemChange],
    is_touched: fn(Touched) -> bool,
    group: fn(&'c Item) -> T,
) -> Option<Param> {
    let rows: Vec<Keyed<T>> =
        changes.iter().filter(|change| is_touched(change.touched)).map(|change| keyed(&change.item, group)).collect();
    (!rows.is_empty()).then(|| script.json(&rows))
}

fn keyed<'i, T>(item: &'i Item, group: fn(&'i Item) -> T) -> Keyed<T> {
    Keyed { id: Hex(item.id.as_uuid()), columns: group(item) }
}

/// How a column is read from the row `j.value`; ids are hex texts there.
fn value(column: &str) -> String {
    match column {
        "id" | "project_id" | "parent_id" => format!("unhex(j.value ->> '{column}')"),
        _ => format!("j.value ->> '{column}'"),
    }
}

fn update(columns: &[&str]) -> String {
    let mut sql = String::from("UPDATE items SET ");
    for (place, column) in columns.iter().enumerate() {
        let comma = if place == 0 { "" } else { ", " };
        // Writing into a String does not fail.
        let _ = write!(sql, "{comma}{column} = {}", value(column));
    }
    sql.push_str(" FROM");
    sql
}

fn of_rows(update: &str, rows: Param) -> String {
    format!("{update} jsonb_each({rows}) j WHERE items.id = unhex(j.value ->> 'id')")
}

fn whole(item: &Item) -> Whole<'_> {
    Whole {
        identity: Identity {
            project_id: Hex(item.project.as_uuid()),
            number: item.number,
            created_at: item.created_at.as_millis(),
        },
        content: content(item),
        state: state(item),
        claim: claim(item),
        derived: derived(item),
        words: words(item),
    }
}

fn content(item: &Item) -> Content<'_> {
    Content {
        parent_id: item.parent.map(|id| Hex(id.as_uuid())),
        depth: item.depth,
        title: item.title.as_str(),
        description: item.description.as_ref().map(Text::as_str),
        summary: item.summary.as_str(),
        priority: item.priority.code(),
        complexity: item.complexity.map(Complexity::get),
        item_type: item.item_type.as_ref().map(Name::as_str),
        tags: &item.tags,
        traits: &item.traits,
        metadata: item.metadata.as_ref().map(Text::as_str),
        properties: item.properties.as_ref().map(Text::as_str),
        requires_verification: item.requires_verification,
        touches: &item.touches,
        needs: &item.needs,
        required_capabilities: &item.required_capabilities,
    }
}

fn state(item: &Item) -> State<'_> {
    State {
        status: item.status.as_str(),
        role: item.role.code(),
        outcome: item.outcome.map(Coded::code),
        previous_status: item.previous_status.as_ref().map(Name::as_str),
        status_label: item.status_label.as_ref().map(Name::as_str),
        version: item.version,
        modified_at: item.modified_at.as_millis(),
        role_changed_at: item.role_changed_at.as_millis(),
    }
}

fn claim(item: &Item) -> Lease<'_> {
    let claim = item.claim.as_ref();
    Lease {
        holder: claim.map(|claim| claim.holder.as_str()),
        claimed_at: claim.map(|claim| claim.claimed_at.as_millis()),
        claim_expires_at: claim.and_then(|claim| claim.expires_at).map(Timestamp::as_millis),
        original_claimed_at: claim.map(|claim| claim.original_claimed_at.as_millis()),
        claim_ttl: claim.map(|claim| claim.ttl_seconds),
        fence: item.fence.0,
    }
}

fn derived(item: &Item) -> Derived {
    let derived = item.derived;
    Derived {
        blockers: derived.blockers,
        moot: derived.moot,
        unblocks: derived.unblocks,
        rank: derived.rank,
        offered: derived.offered,
    }
}

fn words(item: &Item) -> Words {
    Words { words: search::fold(&format!("{} {}", item.title, item.summary)) }
}
