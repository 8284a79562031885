//! Briefs of the items shown, and what was said about them: questions, comments, links.

use docket_core::store::{Around, Scope};
use ulid::Ulid;
use uuid::Uuid;

use super::limit::Limit;
use super::statement::Statement;
use crate::row::{BRIEF, COMMENT, LINK, QUESTION};
use crate::script::Script;

/// Questions and links that were named themselves. Returns the parts whose items are shown.
pub(super) fn add_named(
    script: &mut Script,
    statement: &mut Statement,
    scope: &Scope,
    limit: &Limit,
) -> Vec<&'static str> {
    let mut shown = Vec::new();
    if !scope.question_ids.is_empty() {
        let ids = script.uuids(scope.question_ids.iter().map(|id| bytes(id.0)));
        let seen = limit.and_item("q.item_id");
        statement.part(
            "named_questions (pk, id)",
            &format!(
                "SELECT q.pk, q.item_id FROM json_each({ids}) j CROSS JOIN questions q ON q.id = unhex(j.value){seen}"
            ),
        );
        shown.push("named_questions");
    }
    if !scope.link_ids.is_empty() {
        let ids = script.uuids(scope.link_ids.iter().map(|id| bytes(id.0)));
        let seen = limit.and_item("u.item_id");
        statement.part(
            "named_links (pk, id)",
            &format!(
                "SELECT u.pk, u.item_id FROM json_each({ids}) j CROSS JOIN links u ON u.id = unhex(j.value){seen}"
            ),
        );
        shown.push("named_links");
    }
    shown
}

/// Briefs of the part `near`; what was said about the named items, and what was named of it.
pub(super) fn add_attached(script: &mut Script, statement: &mut Statement, scope: &Scope) {
    let Around { briefs, questions, comments, links, .. } = scope.around;
    if briefs {
        statement.rows("briefs", BRIEF, "near s CROSS JOIN briefs b ON b.item_id = s.id");
    }
    let newest = "SELECT (SELECT y.pk FROM questions y WHERE y.item_id = s.id ORDER BY y.id DESC LIMIT 1) AS pk \
                  FROM named s";
    if let Some(from) = union(questions, newest, !scope.question_ids.is_empty(), "SELECT pk FROM named_questions") {
        statement.rows("questions", QUESTION, &format!("({from}) m CROSS JOIN questions q ON q.pk = m.pk"));
    }
    if let Some(most) = comments {
        let most = script.limit(most.saturating_add(1));
        // An item may be named twice, and its comments are counted.
        statement.rows(
            "comments",
            COMMENT,
            &format!(
                "(SELECT DISTINCT id FROM named) s CROSS JOIN comments t ON t.pk IN (SELECT y.pk FROM comments y \
                 WHERE y.item_id = s.id ORDER BY y.id DESC LIMIT {most})"
            ),
        );
    }
    let theirs = "SELECT y.pk FROM named s CROSS JOIN links y ON y.item_id = s.id";
    if let Some(from) = union(links, theirs, !scope.link_ids.is_empty(), "SELECT pk FROM named_links") {
        statement.rows("links", LINK, &format!("({from}) m CROSS JOIN links u ON u.pk = m.pk"));
    }
}

/// Those of two sources that are wanted, as one.
fn union(first_wanted: bool, first: &str, second_wanted: bool, second: &str) -> Option<String> {
    match (first_wanted, second_wanted) {
        (false, false) => None,
        (true, false) => Some(first.to_owned()),
        (false, true) => Some(second.to_owned()),
        (true, true) => Some(format!("{first} UNION {second}")),
    }
}

fn bytes(id: Ulid) -> Uuid {
    Uuid::from_u128(id.0)
}
