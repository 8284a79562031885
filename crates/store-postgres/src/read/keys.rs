//! Keys of callers.

use docket_core::store::KeyReach;

use super::statement::Statement;
use crate::options::KEYS_SHOWN;
use crate::row::KEY;
use crate::script::Script;

/// Adds the keys that are asked for, and nothing when none are.
pub(super) fn add_keys(script: &mut Script, statement: &mut Statement, reach: &KeyReach) {
    let from = match reach {
        KeyReach::None => return,
        KeyReach::Ids(ids) => {
            let ids = script.uuids(ids.iter().map(|id| id.as_uuid()));
            format!("api_keys k WHERE k.id = ANY({ids})")
        }
        KeyReach::Handle(handle) => {
            let handle = script.text(handle.as_str());
            format!("api_keys k WHERE k.handle = {handle}")
        }
        KeyReach::Any => "(SELECT * FROM api_keys LIMIT 1) k".to_owned(),
        KeyReach::All => {
            // Ids grow with time: the newest are the last.
            let most = Script::limit(KEYS_SHOWN);
            format!("(SELECT * FROM api_keys ORDER BY id DESC LIMIT {most}) k")
        }
    };
    statement.rows("keys", KEY, &from);
}
