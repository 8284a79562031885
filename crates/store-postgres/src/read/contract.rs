//! Briefs of the items shown, and what was said about them: questions, comments, links.

use docket_core::store::{Around, Scope};
use ulid::Ulid;
use uuid::Uuid;

use super::limit::Limit;
use super::statement::{Statement, each};
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
    if let Some(select) = named_questions(script, scope, limit) {
        statement.part("named_questions (question, id)", &select);
        shown.push("named_questions");
    }
    if let Some(select) = named_links(script, scope, limit) {
        statement.part("named_links (link, id)", &select);
        shown.push("named_links");
    }
    shown
}

/// The questions that were named, with their items.
pub(super) fn named_questions(script: &mut Script, scope: &Scope, limit: &Limit) -> Option<String> {
    if scope.question_ids.is_empty() {
        return None;
    }
    let ids = script.uuids(scope.question_ids.iter().map(|id| bytes(id.0)));
    let seen = limit.and_item("q.item_id");
    Some(format!("SELECT q.id AS question, q.item_id AS id FROM questions q WHERE q.id = ANY({ids}){seen}"))
}

/// The links that were named, with their items.
pub(super) fn named_links(script: &mut Script, scope: &Scope, limit: &Limit) -> Option<String> {
    if scope.link_ids.is_empty() {
        return None;
    }
    let ids = script.uuids(scope.link_ids.iter().map(|id| bytes(id.0)));
    let seen = limit.and_item("u.item_id");
    Some(format!("SELECT u.id AS link, u.item_id AS id FROM links u WHERE u.id = ANY({ids}){seen}"))
}

/// Briefs of the part `near`; what was said about the named items, and what was named of it.
pub(super) fn add_attached(script: &mut Script, statement: &mut Statement, scope: &Scope) {
    let Around { briefs, questions, comments, links, .. } = scope.around;
    if briefs {
        statement.rows("briefs", BRIEF, &each("near s", "briefs", "b", "b.item_id = s.id"));
    }
    let newest = "SELECT n.id FROM named s CROSS JOIN LATERAL ( \
                  SELECT x.id FROM questions x WHERE x.item_id = s.id ORDER BY x.id DESC LIMIT 1) n";
    let named = "SELECT question AS id FROM named_questions";
    if let Some(from) = union(questions, newest, !scope.question_ids.is_empty(), named) {
        statement.rows("questions", QUESTION, &each(&format!("({from}) m"), "questions", "q", "q.id = m.id"));
    }
    if let Some(most) = comments {
        let most = script.page(most.saturating_add(1));
        statement.rows(
            "comments",
            COMMENT,
            &format!(
                "named s CROSS JOIN LATERAL (SELECT x.* FROM comments x WHERE x.item_id = s.id \
                 ORDER BY x.id DESC LIMIT {most}) t"
            ),
        );
    }
    let theirs = format!("SELECT x.id FROM {}", each("named s", "links", "x", "x.item_id = s.id"));
    if let Some(from) = union(links, &theirs, !scope.link_ids.is_empty(), "SELECT link AS id FROM named_links") {
        statement.rows("links", LINK, &each(&format!("({from}) m"), "links", "u", "u.id = m.id"));
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
