//! What the caller's spellings mean: ids, keys and hex prefixes become rows.

use docket_core::limits;
use docket_core::model::{ItemRef, Key};
use docket_core::store::Scope;
use uuid::Uuid;

use super::limit::Limit;
use super::statement::Statement;
use crate::script::Script;

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

    /// The part `named`: the items that are meant. A prefix that several items have means none of them; the result
    /// `prefixes` lists what each could mean.
    pub(super) fn add(&self, script: &mut Script, statement: &mut Statement, limit: &Limit) {
        const COLUMNS: &str = "i.id, i.project_id, i.parent_id";
        let seen = limit.and("i.project_id");
        let mut sources = Vec::new();
        if let [id] = self.ids.as_slice() {
            let id = script.uuid(*id);
            sources.push(format!("SELECT {COLUMNS} FROM items i WHERE i.id = {id}{seen}"));
        } else if !self.ids.is_empty() {
            let ids = script.uuids(self.ids.iter().copied());
            sources.push(format!("SELECT {COLUMNS} FROM items i WHERE i.id = ANY({ids}){seen}"));
        }
        if !self.keys.is_empty() {
            let prefixes = script.texts(self.keys.iter().map(|key| key.prefix.as_str()));
            let numbers = script.ints(self.keys.iter().map(|key| key.number.into()));
            sources.push(format!(
                "SELECT {COLUMNS} FROM unnest({prefixes}, {numbers}) k (prefix, number) \
                 JOIN projects p ON p.prefix = k.prefix JOIN items i ON i.project_id = p.id AND i.number = k.number{seen}"
            ));
        }
        if !self.prefixes.is_empty() {
            self.add_prefixes(script, statement, limit);
            sources.push(format!(
                "SELECT {COLUMNS} FROM (SELECT (array_agg(id))[1] AS id FROM matches GROUP BY place HAVING count(*) = 1) m \
                 JOIN items i ON i.id = m.id"
            ));
        }
        if sources.is_empty() {
            let nothing = "SELECT NULL::uuid, NULL::uuid, NULL::uuid WHERE false";
            statement.view("named (id, project_id, parent_id)", nothing);
        } else {
            statement.part("named (id, project_id, parent_id)", &sources.join(" UNION "));
        }
    }

    fn add_prefixes(&self, script: &mut Script, statement: &mut Statement, limit: &Limit) {
        let seen = limit.and("x.project_id");
        // A prefix that is no number in hex can mean nothing: bounds that no id lies between.
        let bounds = |digits: &&str| ItemRef::prefix_bounds(digits).unwrap_or((Uuid::max(), Uuid::nil()));
        let bounds: Vec<(Uuid, Uuid)> = self.prefixes.iter().map(bounds).collect();
        let low = script.uuids(bounds.iter().map(|(low, _)| *low));
        let high = script.uuids(bounds.iter().map(|(_, high)| *high));
        let most = Script::limit(limits::AMBIGUOUS_SHOWN + 1);
        statement.part(
            "matches (place, id)",
            &format!(
                "SELECT b.place - 1, m.id FROM unnest({low}, {high}) WITH ORDINALITY b (low, high, place) \
                 CROSS JOIN LATERAL (SELECT x.id FROM items x WHERE x.id BETWEEN b.low AND b.high{seen} \
                 ORDER BY x.id LIMIT {most}) m"
            ),
        );
        statement.ordered_rows(
            "prefixes",
            "json_build_array(m.place, i.id, p.prefix || '-' || i.number)",
            "m.place, i.id",
            "matches m JOIN items i ON i.id = m.id JOIN projects p ON p.id = i.project_id",
        );
    }
}
