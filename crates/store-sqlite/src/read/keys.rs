//! Keys of callers.

use docket_core::store::KeyReach;

use super::look::Look;
use crate::error::Trouble;
use crate::options::KEYS_SHOWN;
use crate::row::KEY;
use crate::script::Script;

/// The keys that are asked for, and nothing when none are.
pub(super) fn keys(look: &mut Look<'_>, reach: &KeyReach) -> Result<(), Trouble> {
    let mut script = Script::default();
    let from = match reach {
        KeyReach::None => return Ok(()),
        KeyReach::Ids(ids) => {
            let ids = script.uuids(ids.iter().map(|id| id.as_uuid()));
            format!("json_each({ids}) j CROSS JOIN api_keys k ON k.id = unhex(j.value)")
        }
        KeyReach::Handle(handle) => {
            let handle = script.text(handle.as_str());
            format!("api_keys k WHERE k.handle = {handle}")
        }
        KeyReach::Any => "(SELECT * FROM api_keys LIMIT 1) k".to_owned(),
        KeyReach::All => {
            // Ids grow with time: the newest are the last.
            let most = script.limit(KEYS_SHOWN);
            format!("(SELECT * FROM api_keys ORDER BY id DESC LIMIT {most}) k")
        }
    };
    script.add(format!("SELECT {KEY} FROM {from}"));
    look.rows("keys", &script)?;
    Ok(())
}
