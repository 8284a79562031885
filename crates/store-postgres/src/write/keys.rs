//! Keys of callers: those made or changed, and when they were used.

use std::collections::BTreeSet;

use docket_core::model::{ItemId, ProjectId, StoredKey, Timestamp};
use docket_core::store::ChangeSet;
use docket_core::store::code::Coded;

use super::Writes;
use super::rows::{Cell, Column, Kind, Rows};
use crate::script::{Script, json};
use crate::watch::{CHANNEL, KEYS_CHANGED};

const KEY: [Column; 10] = [
    ("id", Kind::Id),
    ("handle", Kind::Text),
    ("digest", Kind::Hex),
    ("name", Kind::Text),
    ("profile", Kind::Int),
    ("projects", Kind::Json),
    ("item_id", Kind::Id),
    ("created_at", Kind::Int),
    ("expires_at", Kind::Int),
    ("revoked_at", Kind::Int),
];
const USED: [Column; 2] = [("id", Kind::Id), ("last_used_at", Kind::Int)];

/// Adds keys. A key that exists keeps all but its secret and the times at which it ends.
pub(super) fn add_keys(script: &mut Script, writes: &mut Writes, changes: &ChangeSet) {
    if let Some(rows) = Rows::bind(script, &KEY, changes.keys.iter().map(key).collect()) {
        let otherwise = "ON CONFLICT (id) DO UPDATE SET handle = excluded.handle, digest = excluded.digest, \
                         expires_at = excluded.expires_at, revoked_at = excluded.revoked_at";
        writes.add(rows.insert("api_keys", &KEY, otherwise));
        // Counted, since a part that only reads is left out where nobody wants its rows.
        let (channel, message) = (script.text(CHANNEL), script.text(KEYS_CHANGED));
        writes.add_counted(format!("SELECT pg_notify({channel}, {message})"), 1);
    }
    let used = changes.keys_used.iter().map(|(id, at)| vec![id.as_uuid().into(), at.as_millis().into()]);
    if let Some(rows) = Rows::bind(script, &USED, used.collect()) {
        writes.add(rows.update("api_keys", &USED[1..], "true"));
    }
}

fn key(stored: &StoredKey) -> Vec<Cell> {
    let StoredKey { key, digest } = stored;
    let projects = |ids: &BTreeSet<ProjectId>| json(&ids.iter().map(|id| id.as_uuid()).collect::<Vec<_>>());
    let digest: Vec<String> = digest.0.iter().map(|byte| format!("{byte:02x}")).collect();
    vec![
        key.id.as_uuid().into(),
        key.handle.as_str().into(),
        digest.concat().into(),
        key.name.as_str().into(),
        key.profile.code().into(),
        key.projects.as_ref().map(projects).into(),
        key.item.map(ItemId::as_uuid).into(),
        key.created_at.as_millis().into(),
        key.expires_at.map(Timestamp::as_millis).into(),
        key.revoked_at.map(Timestamp::as_millis).into(),
    ]
}
