//! Keys of callers: those made or changed, and when they were used.

use std::sync::LazyLock;

use docket_core::model::{ItemId, StoredKey, Timestamp};
use docket_core::store::ChangeSet;
use docket_core::store::code::Coded;

use super::rows;
use crate::script::{Hex, Script, Value};

/// A key that exists keeps all but its secret and the times at which it ends.
static KEY: LazyLock<String> = LazyLock::new(|| {
    let columns =
        ["id", "handle", "digest", "name", "profile", "projects", "item_id", "created_at", "expires_at", "revoked_at"];
    let otherwise = "ON CONFLICT (id) DO UPDATE SET handle = excluded.handle, digest = excluded.digest, \
                     expires_at = excluded.expires_at, revoked_at = excluded.revoked_at";
    rows::insert("api_keys", &columns, otherwise)
});
static SET_USED: LazyLock<String> = LazyLock::new(|| rows::update("api_keys", &["last_used_at"]));

pub(super) fn add_keys(script: &mut Script, changes: &ChangeSet) {
    script.put(&KEY, changes.keys.iter().map(key));
    script.put(&SET_USED, changes.keys_used.iter().map(|(id, at)| vec![at.as_millis().into(), id.as_uuid().into()]));
}

fn key(stored: &StoredKey) -> Vec<Value> {
    let StoredKey { key, digest } = stored;
    let projects = |ids: &std::collections::BTreeSet<docket_core::model::ProjectId>| {
        Value::json(&ids.iter().map(|id| Hex(id.as_uuid())).collect::<Vec<_>>())
    };
    vec![
        key.id.as_uuid().into(),
        key.handle.as_str().into(),
        Value::Blob(digest.0.to_vec()),
        key.name.as_str().into(),
        key.profile.code().into(),
        key.projects.as_ref().map(projects).into(),
        key.item.map(ItemId::as_uuid).into(),
        key.created_at.as_millis().into(),
        key.expires_at.map(Timestamp::as_millis).into(),
        key.revoked_at.map(Timestamp::as_millis).into(),
    ]
}
