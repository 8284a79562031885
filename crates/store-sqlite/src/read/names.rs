//! What the caller's spellings mean: ids, keys and hex prefixes become rows.

use docket_core::limits;
use docket_core::model::{ItemRef, Key};
use docket_core::store::Scope;
use uuid::Uuid;

use super::limit::Limit;
use super::statement::Statement;
use crate::script::{Hex, Script};

/// The spellings of a scope by kind.
#[derive(Debug, Default)]
pub(super) struct Names<'s> {
    ids: Vec<Uuid>,
    keys: Vec<&'s Key>,
    prefixes: Vec<&'s str>,
}

impl<'s> Names<'s> {
    pub(super) fn of(scope: &'s Scope) -> Self {
        let mut names = Self::default();
        for item in &scope.items {
            match item {
                ItemRef::Id(id) => names.ids.push(id.as_uuid()),
                ItemRef::Key(key) => names.keys.push(key),
                ItemRef::Prefix(digits) => names.prefixes.push(digits),
            }
        }
        names
    }

    /// Whether one item is named, by its id or its key.
    pub(super) fn is_one(&self) -> bool {
        self.ids.len() + self.keys.len() == 1 && self.prefixes.is_empty()
    }

    /// The part `named`: the items that are meant. A prefix that several items have means none of them; the result
    /// `prefixes` lists what each could mean.
    pub(super) fn add(&self, script: &mut Script, statement: &mut Statement, limit: &Limit) {
        const COLUMNS: &str = "i.pk, i.id, i.project_id, i.parent_id";
        const NAMED: &str = "named (pk, id, project_id, parent_id)";
        let seen = limit.and("i.project_id");
        let mut sources = Vec::new();
        if let [id] = self.ids.as_slice() {
            let id = script.uuid(*id);
            sources.push(format!("SELECT {COLUMNS} FROM items i WHERE i.id = {id}{seen}"));
        } else if !self.ids.is_empty() {
            let ids = script.uuids(self.ids.iter().copied());
            sources.push(format!(
                "SELECT {COLUMNS} FROM json_each({ids}) j CROSS JOIN items i ON i.id = unhex(j.value){seen}"
            ));
        }
        if let [key] = self.keys.as_slice() {
            let (prefix, number) = (script.text(key.prefix.as_str()), script.int(key.number.into()));
            sources.push(format!(
                "SELECT {COLUMNS} FROM items i WHERE i.project_id = (SELECT p.id FROM projects p WHERE p.prefix = {prefix}) \
                 AND i.number = {number}{seen}"
            ));
        } else if !self.keys.is_empty() {
            let keys: Vec<(&str, u32)> = self.keys.iter().map(|key| (key.prefix.as_str(), key.number)).collect();
            let keys = script.json(&keys);
            sources.push(format!(
                "SELECT {COLUMNS} FROM json_each({keys}) j CROSS JOIN projects p ON p.prefix = j.value ->> 0 \
                 CROSS JOIN items i ON i.project_id = p.id AND i.number = j.value ->> 1{seen}"
            ));
        }
        if !self.prefixes.is_empty() {
            self.add_prefixes(script, statement, limit);
            sources.push(format!(
                "SELECT {COLUMNS} FROM (SELECT max(pk) AS pk FROM matches GROUP BY place HAVING count(*) = 1) m \
                 CROSS JOIN items i ON i.pk = m.pk"
            ));
        }
        match sources.as_slice() {
            [] => statement.view(NAMED, "SELECT NULL, NULL, NULL, NULL WHERE false"),
            // To find it again costs less than to keep it.
            [only] if self.is_one() => statement.view(NAMED, only),
            _ => statement.part(NAMED, &sources.join(" UNION ")),
        }
    }

    fn add_prefixes(&self, script: &mut Script, statement: &mut Statement, limit: &Limit) {
        let bounds: Vec<(Hex, Hex)> = self
            .prefixes
            .iter()
            // A prefix that is no number in hex can mean nothing: bounds that no id lies between.
            .map(|digits| ItemRef::prefix_bounds(digits).unwrap_or((Uuid::max(), Uuid::nil())))
            .map(|(low, high)| (Hex(low), Hex(high)))
            .collect();
        let bounds = script.json(&bounds);
        let most = script.limit(limits::AMBIGUOUS_SHOWN + 1);
        let seen = limit.and("m.project_id");
        statement.part(
            "matches (place, pk)",
            &format!(
                "SELECT j.key, i.pk FROM json_each({bounds}) j CROSS JOIN items i ON i.pk IN (SELECT m.pk FROM items m \
                 WHERE m.id BETWEEN unhex(j.value ->> 0) AND unhex(j.value ->> 1){seen} ORDER BY m.id LIMIT {most})"
            ),
        );
        statement.rows(
            "prefixes",
            "json_array(m.place, hex(i.id), p.prefix || '-' || i.number)",
            "matches m CROSS JOIN items i ON i.pk = m.pk CROSS JOIN projects p ON p.id = i.project_id",
        );
    }
}
