//! One SELECT in the making: named parts, and what it returns of them.

use crate::context::Clock;
use crate::script::Script;

/// The database's time, for conditions of other parts.
pub(super) const NOW: &str = "(SELECT now FROM clock)";

/// Named parts and named results, each as the text of a list in the making.
#[derive(Debug)]
pub(super) struct Statement {
    parts: String,
    results: String,
}

impl Statement {
    /// A statement that reads the time, and returns it as `now`.
    pub(super) fn with_clock(script: &mut Script, clock: &Clock) -> Self {
        // As long as most get, so that they grow in place.
        let mut statement = Self { parts: String::with_capacity(2048), results: String::with_capacity(2048) };
        let now = clock.now(script);
        // SQLite holds its clock still while a statement runs: whoever asks gets the same time, and to keep it for them costs
        // more than to read it again.
        statement.view("clock (now)", &format!("SELECT {now}"));
        statement.result("now", NOW);
        statement
    }

    /// A part that others may build on. It is computed once, and not at all when nothing uses it.
    pub(super) fn part(&mut self, name: &str, select: &str) {
        append(&mut self.parts, &[name, " AS MATERIALIZED (", select, ")"]);
    }

    /// A part that costs nothing to compute, or is used once: it is computed wherever it is used.
    pub(super) fn view(&mut self, name: &str, select: &str) {
        append(&mut self.parts, &[name, " AS NOT MATERIALIZED (", select, ")"]);
    }

    /// A value to return: an expression.
    pub(super) fn result(&mut self, name: &'static str, value: &str) {
        append(&mut self.results, &["'", name, "', ", value]);
    }

    /// Rows to return: a JSON array of each, and where they come from.
    pub(super) fn rows(&mut self, name: &'static str, row: &str, from: &str) {
        append(&mut self.results, &["'", name, "', (SELECT json_group_array(", row, ") FROM ", from, ")"]);
    }

    /// Adds the statement to a script.
    pub(super) fn finish(self, script: &mut Script) {
        let Self { parts, results } = self;
        script.add(["WITH RECURSIVE ", &parts, " SELECT json_object(", &results, ")"].concat());
    }
}

/// Adds an element to a list.
fn append(list: &mut String, element: &[&str]) {
    if !list.is_empty() {
        list.push_str(", ");
    }
    list.extend(element.iter().copied());
}
