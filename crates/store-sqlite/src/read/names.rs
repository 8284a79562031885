//! What the caller's spellings mean: ids, keys and hex prefixes become rows.

use docket_core::limits;
use docket_core::model::{ItemRef, Key};
use docket_core::store::Scope;
use uuid::Uuid;

use super::{show, tier};
use crate::script::{Hex, Script};

/// The spellings of a scope by kind.
#[derive(Debug, Default)]
pub(super) struct Names<'s> {
    pub(super) ids: Vec<Uuid>,
    pub(super) keys: Vec<&'s Key>,
    pub(super) prefixes: Vec<&'s str>,
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

    /// Shows what is named. A prefix that several items have names none of them; rows `prefix` list them.
    pub(super) fn add(&self, script: &mut Script) {
        if !self.ids.is_empty() {
            let ids = script.uuids(self.ids.iter().copied());
            show(script, tier::NAMED, &format!("json_each({ids}) j CROSS JOIN items i ON i.id = unhex(j.value)"));
        }
        if !self.keys.is_empty() {
            let keys: Vec<(&str, u32)> = self.keys.iter().map(|key| (key.prefix.as_str(), key.number)).collect();
            let keys = script.json(&keys);
            show(
                script,
                tier::NAMED,
                &format!(
                    "json_each({keys}) j CROSS JOIN projects p ON p.prefix = j.value ->> 0 \
                     CROSS JOIN items i ON i.project_id = p.id AND i.number = j.value ->> 1"
                ),
            );
        }
        if !self.prefixes.is_empty() {
            self.add_prefixes(script);
        }
    }

    fn add_prefixes(&self, script: &mut Script) {
        let bounds: Vec<(Hex, Hex)> = self
            .prefixes
            .iter()
            // A prefix that is no number in hex can mean nothing: bounds that no id lies between.
            .map(|digits| ItemRef::prefix_bounds(digits).unwrap_or((Uuid::max(), Uuid::nil())))
            .map(|(low, high)| (Hex(low), Hex(high)))
            .collect();
        let bounds = script.json(&bounds);
        let most = script.size(limits::AMBIGUOUS_SHOWN + 1);
        let matches = format!(
            "json_each({bounds}) j CROSS JOIN items i ON i.pk IN (SELECT m.pk FROM items m \
             WHERE m.id BETWEEN unhex(j.value ->> 0) AND unhex(j.value ->> 1) ORDER BY m.id LIMIT {most})"
        );
        show(
            script,
            tier::NAMED,
            &format!("items i WHERE i.pk IN (SELECT max(i.pk) FROM {matches} GROUP BY j.key HAVING count(*) = 1)"),
        );
        script.add(&format!(
            "SELECT 'prefix', j.key, i.id, p.prefix, i.number FROM {matches} JOIN projects p ON p.id = i.project_id"
        ));
    }
}
