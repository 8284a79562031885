//! One SELECT in the making: named parts, and what it returns of them.

use crate::context::Clock;
use crate::script::Script;

/// The database's time, for conditions of other parts.
pub(super) const NOW: &str = "(SELECT now FROM clock)";

/// Named parts and named results.
#[derive(Debug, Default)]
pub(super) struct Statement {
    parts: Vec<String>,
    results: Vec<(&'static str, String)>,
}

impl Statement {
    /// A statement that reads the time, and returns it as `now`.
    pub(super) fn with_clock(script: &mut Script, clock: &Clock) -> Self {
        let mut statement = Self::default();
        let now = clock.now(script);
        statement.part("clock (now)", &format!("SELECT {now}"));
        statement.result("now", NOW);
        statement
    }

    /// A part that others may build on. It is computed once, and not at all when nothing uses it.
    pub(super) fn part(&mut self, name: &str, select: &str) {
        self.parts.push(format!("{name} AS MATERIALIZED ({select})"));
    }

    /// A part that costs nothing to compute, or is used once: it is computed wherever it is used.
    pub(super) fn view(&mut self, name: &str, select: &str) {
        self.parts.push(format!("{name} AS NOT MATERIALIZED ({select})"));
    }

    /// A value to return: an expression.
    pub(super) fn result(&mut self, name: &'static str, value: &str) {
        self.results.push((name, value.to_owned()));
    }

    /// Rows to return: a JSON array of each, and where they come from.
    pub(super) fn rows(&mut self, name: &'static str, row: &str, from: &str) {
        self.result(name, &format!("(SELECT coalesce(json_agg({row}), '[]') FROM {from})"));
    }

    /// The same in an order.
    pub(super) fn ordered_rows(&mut self, name: &'static str, row: &str, order: &str, from: &str) {
        self.result(name, &format!("(SELECT coalesce(json_agg({row} ORDER BY {order}), '[]') FROM {from})"));
    }

    /// Ids to return, packed into one text: the id, its order, and where they come from.
    pub(super) fn ids(&mut self, name: &'static str, id: &str, order: &str, from: &str) {
        self.result(name, &format!("(SELECT string_agg({}, '' ORDER BY {order}) FROM {from})", packed(id)));
    }

    /// Makes it the statement of a script.
    pub(super) fn finish(self, script: &mut Script) {
        let results: Vec<String> = self.results.iter().map(|(name, value)| format!("'{name}', {value}")).collect();
        let results = results.join(", ");
        if self.parts.is_empty() {
            script.set(format!("SELECT json_build_object({results})::text"));
        } else {
            script.set(format!("WITH RECURSIVE {} SELECT json_build_object({results})::text", self.parts.join(", ")));
        }
    }
}

/// For each row of a part, the rows of a table that belong to it, by the table's index. `OFFSET 0` keeps the planner from
/// taking this for a join that it may turn around: it knows nothing of how far a walk goes, takes it for long, and would read
/// a whole table where a few rows are wanted.
pub(super) fn each(part: &str, table: &str, row: &str, belongs: &str) -> String {
    format!("{part} CROSS JOIN LATERAL (SELECT {row}.* FROM {table} {row} WHERE {belongs} OFFSET 0) {row}")
}

/// An id as 32 hex digits.
pub(super) fn packed(id: &str) -> String {
    format!("encode(uuid_send({id}), 'hex')")
}
