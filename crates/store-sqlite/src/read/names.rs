//! What the caller's spellings mean: ids, keys and hex prefixes become rows.

use std::collections::BTreeMap;

use docket_core::limits;
use docket_core::model::{ItemRef, Key};
use docket_core::store::Scope;
use uuid::Uuid;

use super::look::{Look, once, table};
use crate::error::Trouble;
use crate::script::Hex;

/// An item, its project, and its parent; itself where it has none.
const COLUMNS: &str = "i.id, i.project_id, coalesce(i.parent_id, i.id)";

/// Items that a caller named and may see, each once.
#[derive(Debug, Default)]
pub(super) struct Named {
    pub(super) ids: Vec<Uuid>,
    pub(super) projects: Vec<Uuid>,
    /// The parents of those that have one.
    pub(super) parents: Vec<Uuid>,
}

/// Finds what is meant. A prefix that several items have means none of them; the result `prefixes` lists what each could
/// mean.
pub(super) fn find(look: &mut Look<'_>, scope: &Scope) -> Result<Named, Trouble> {
    let (mut ids, mut keys, mut prefixes) = (Vec::new(), Vec::new(), Vec::new());
    for item in &scope.items {
        match item {
            ItemRef::Id(id) => ids.push(id.as_uuid()),
            ItemRef::Key(key) => keys.push(key),
            ItemRef::Prefix(digits) => prefixes.push(digits.as_str()),
        }
    }
    let mut found = Vec::new();
    if !ids.is_empty() {
        found.extend(by_id(look, &ids)?);
    }
    if !keys.is_empty() {
        found.extend(by_key(look, &keys)?);
    }
    if !prefixes.is_empty() {
        found.extend(by_prefix(look, &prefixes)?);
    }
    let rows = || found.chunks_exact(3);
    Ok(Named {
        ids: once(rows().map(|row| row[0])),
        projects: once(rows().map(|row| row[1])),
        parents: once(rows().filter(|row| row[2] != row[0]).map(|row| row[2])),
    })
}

fn by_id(look: &mut Look<'_>, ids: &[Uuid]) -> Result<Vec<Uuid>, Trouble> {
    let (mut script, limit) = look.begin();
    let seen = limit.and("i.project_id");
    let ids = table(&mut script, ids);
    script.add(format!("SELECT {COLUMNS} FROM {ids} s CROSS JOIN items i ON i.id = s.id{seen}"));
    look.ids(&script)
}

fn by_key(look: &mut Look<'_>, keys: &[&Key]) -> Result<Vec<Uuid>, Trouble> {
    let (mut script, limit) = look.begin();
    let seen = limit.and("i.project_id");
    let keys: Vec<(&str, u32)> = keys.iter().map(|key| (key.prefix.as_str(), key.number)).collect();
    let keys = script.json(&keys);
    script.add(format!(
        "SELECT {COLUMNS} FROM json_each({keys}) j CROSS JOIN projects p ON p.prefix = j.value ->> 0 \
         CROSS JOIN items i ON i.project_id = p.id AND i.number = j.value ->> 1{seen}"
    ));
    look.ids(&script)
}

fn by_prefix(look: &mut Look<'_>, prefixes: &[&str]) -> Result<Vec<Uuid>, Trouble> {
    let bounds: Vec<(Hex, Hex)> = prefixes
        .iter()
        // A prefix that is no number in hex can mean nothing: bounds that no id lies between.
        .map(|digits| ItemRef::prefix_bounds(digits).unwrap_or((Uuid::max(), Uuid::nil())))
        .map(|(low, high)| (Hex(low), Hex(high)))
        .collect();
    let (mut script, limit) = look.begin();
    let bounds = script.json(&bounds);
    let most = script.limit(limits::AMBIGUOUS_SHOWN + 1);
    let seen = limit.and("m.project_id");
    // The place of the prefix goes along with the ids as one.
    script.add(format!(
        "SELECT json_array(j.key, hex(i.id), p.prefix || '-' || i.number), unhex(format('%032x', j.key)), {COLUMNS} \
         FROM json_each({bounds}) j CROSS JOIN items i ON i.pk IN (SELECT m.pk FROM items m \
         WHERE m.id BETWEEN unhex(j.value ->> 0) AND unhex(j.value ->> 1){seen} ORDER BY m.id LIMIT {most}) \
         CROSS JOIN projects p ON p.id = i.project_id"
    ));
    let found = look.rows("prefixes", &script)?;
    let mut matches: BTreeMap<Uuid, Vec<&[Uuid]>> = BTreeMap::new();
    for row in found.chunks_exact(4) {
        matches.entry(row[0]).or_default().push(&row[1..]);
    }
    let single = matches.into_values().filter(|rows| rows.len() == 1);
    Ok(single.flatten().flatten().copied().collect())
}
