//! What a move did, in few words.

use docket_core::command::Applied;
use docket_core::engine::Cascade;
use docket_core::model::ItemId;
use serde_json::{Map, Value};

use super::error::{items_in, refusals};
use super::names::Names;
use super::split::{Split, put};

/// Every item that a move names.
pub(super) fn items_of(applied: &Applied) -> Vec<ItemId> {
    let mut items = vec![applied.item];
    items.extend(applied.unblocked.iter().map(|named| named.item));
    items.extend(cascaded(&applied.cascades));
    items
}

/// Every item that moved along, or could not.
pub(super) fn cascaded(cascades: &[Cascade]) -> Vec<ItemId> {
    cascades
        .iter()
        .flat_map(|cascade| std::iter::once(cascade.item).chain(cascade.refusals.iter().flat_map(items_in)))
        .collect()
}

/// A move that was made.
pub(super) fn applied(applied: &Applied, names: &Names) -> Split {
    let mut split = Split::default();
    split.say("key", names.get(applied.item));
    split.say("from", &applied.from_status);
    split.say("to", &applied.to_status);
    split.say("version", applied.version);
    split.say("unblocked", applied.unblocked.iter().map(|named| names.get(named.item)).collect::<Vec<_>>());
    split.say("cascades", cascades(&applied.cascades, names));
    let owed = applied.expected_notes.iter().filter(|note| note.required && !note.filled);
    split.say("missingNotes", owed.map(|note| &note.key).collect::<Vec<_>>());
    split.say("next", applied.next.as_ref().map(|next| &next.status));
    split
}

/// What moved along, or could not.
pub(super) fn cascades(cascades: &[Cascade], names: &Names) -> Vec<Value> {
    let told = |cascade: &Cascade| {
        let mut told = Map::new();
        put(&mut told, "key", names.get(cascade.item));
        put(&mut told, "from", cascade.from_role);
        put(&mut told, "to", cascade.to_role);
        put(&mut told, "applied", cascade.applied);
        put(&mut told, "refusals", refusals(&cascade.refusals, names));
        Value::Object(told)
    };
    cascades.iter().map(told).collect()
}
