//! One scope as one statement, and what it returns as a slice.

use std::sync::OnceLock;

use docket_core::store::row::Seen;
use docket_core::store::{Around, Candidates, NoteReach, Scope, Slice, StoreError};

use super::limit::Limit;
use super::names::Names;
use super::projects::fetch_projects;
use super::statement::{NOW, Statement};
use super::{around, candidates, contract, keys, knowledge, runs, sessions};
use crate::context::Context;
use crate::error::Trouble;
use crate::pool::Link;
use crate::row::ITEM;
use crate::script::Script;

/// Rows that are read in well under a millisecond.
const QUICK_ROWS: usize = 32;
/// How often a view begins anew because a project got new rules between two of its round trips.
const RULE_CHANGES: usize = 4;

/// Shows a scope, after what is to be done before: in one round trip, or two when a project's rules are not known yet.
pub(crate) fn load(link: &mut Link, context: &Context, scope: &Scope, before: Script) -> Result<Slice, Trouble> {
    let mut script = before;
    for _ in 0..RULE_CHANGES {
        compose(&mut script, context, scope);
        let seen: Seen = link.ask(&std::mem::take(&mut script))?;
        context.clock.saw(seen.now());
        let unknown = seen.unknown_projects(|id, version| context.projects.get(id, version));
        if !unknown.is_empty() {
            fetch_projects(link, context, &unknown)?;
        }
        // Outside a transaction the rules may be newer by now than the rows; then both are read again.
        if let Some(slice) = seen.into_slice(scope, |id, version| context.projects.get(id, version)) {
            return Ok(slice);
        }
    }
    Err(Trouble::Rows(StoreError::Conflict))
}

/// Whether a scope shows a few rows, each found by an index.
pub(crate) fn is_quick(scope: &Scope) -> bool {
    let Around {
        ancestors: _,
        subtree,
        open_children,
        edges: _,
        notes: _,
        waits,
        component,
        briefs: _,
        questions: _,
        comments,
        links: _,
        sessions: _,
        open_runs: _,
    } = scope.around;
    let named = scope.items.len() + scope.edge_ids.len() + scope.note_ids.len() + scope.run_ids.len();
    let said = scope.question_ids.len() + scope.link_ids.len() + scope.session_ids.len();
    let said = said + scope.knowledge.entries.len() + scope.items.len() * comments.unwrap_or(0);
    let candidates = scope.candidates.as_ref().map_or(0, |wanted| wanted.limit);
    // Work below an item, or with a tag that few have, may be looked for among all there is.
    let is_sought = |wanted: &Candidates| wanted.parent.is_some() || wanted.under.is_some() || !wanted.tags.is_empty();
    let walks = scope.candidates.as_ref().is_some_and(is_sought)
        || subtree.is_some()
        || open_children.is_some()
        || waits
        || component
        || scope.every_project;
    !walks && named + said + candidates <= QUICK_ROWS
}

/// Adds the statement for a scope.
pub(super) fn compose(script: &mut Script, context: &Context, scope: &Scope) {
    let mut statement = Statement::with_clock(script, &context.clock);
    let limit = Limit::of(script, &scope.visible);
    let names = Names::of(scope);
    names.add(script, &mut statement, &limit);
    let mut shown = around::add_relatives(script, &mut statement, &scope.around);
    shown.extend(around::add_named(script, &mut statement, scope, &limit));
    shown.extend(contract::add_named(script, &mut statement, scope, &limit));
    shown.extend(sessions::add_named(script, &mut statement, scope, &limit));
    shown.extend(candidates::add_of_project(script, &mut statement, scope, &limit));
    add_near(&mut statement, scope, &shown);
    let linked = around::add_attached(&mut statement, scope);
    contract::add_attached(script, &mut statement, scope);
    sessions::add_attached(&mut statement, scope);
    if scope.around.waits {
        around::add_waits(script, &mut statement);
    }
    if scope.around.component {
        around::add_component(script, &mut statement, &limit);
    }
    runs::add_runs(script, &mut statement, scope, &limit);
    keys::add_keys(script, &mut statement, &scope.keys);
    let learned = knowledge::add_knowledge(script, &mut statement, &scope.knowledge, &limit, !scope.items.is_empty());
    add_answer(script, &mut statement, scope);
    let many = linked || !shown.is_empty() || !names.is_one();
    add_shown(script, &mut statement, scope, &limit, Shown { many, linked, learned });
    statement.finish(script);
}

/// The part `near`: the named items and what was asked for beside them.
fn add_near(statement: &mut Statement, scope: &Scope, shown: &[&str]) {
    const NEAR: &str = "near (pk, id, project_id)";
    let mut sources: Vec<String> = shown
        .iter()
        .map(|part| format!("SELECT i.pk, i.id, i.project_id FROM {part} x CROSS JOIN items i ON i.id = x.id"))
        .collect();
    if sources.is_empty() {
        return statement.view(NEAR, "SELECT pk, id, project_id FROM named");
    }
    if !scope.items.is_empty() {
        sources.push("SELECT pk, id, project_id FROM named".to_owned());
    }
    // An item that is named and found in another way is read once all the same; its notes and brief would be read twice.
    let once = scope.around.notes == NoteReach::Heads || scope.around.briefs;
    let union = if once { " UNION " } else { " UNION ALL " };
    statement.part(NEAR, &sources.join(union));
}

/// How much is shown: several items, and what edges lead to.
#[derive(Clone, Copy, Debug)]
struct Shown {
    many: bool,
    linked: bool,
    /// Whether there are entries, whose projects are shown too.
    learned: bool,
}

/// All items shown, those that edges lead to among them, and their projects: of these the versions alone, since their
/// rules are known mostly.
fn add_shown(script: &mut Script, statement: &mut Statement, scope: &Scope, limit: &Limit, shown: Shown) {
    let (all, row) = if shown.linked {
        // What only an edge leads to is shown without its long texts: one item may have thousands of neighbours.
        let end =
            |end: &str| format!("SELECT i.pk, i.project_id, 0 FROM linked l CROSS JOIN items i ON i.id = l.{end}");
        let every = format!(
            "SELECT pk, project_id, 1 AS whole FROM near UNION ALL {} UNION ALL {}",
            end("from_id"),
            end("to_id")
        );
        statement.part(
            "shown (pk, project_id, whole)",
            &format!("SELECT pk, project_id, max(whole) FROM ({every}) GROUP BY pk"),
        );
        ("shown", slim_item())
    } else {
        ("near", ITEM)
    };
    statement.rows("items", row, &format!("{all} s CROSS JOIN items i ON i.pk = s.pk"));
    let mut named = "0".to_owned();
    let mut fits = if scope.every_project {
        format!("p.id IN ({})", limit.projects())
    } else if shown.many {
        format!("p.id IN (SELECT project_id FROM {all})")
    } else {
        // For a list SQLite would make a table, even of one.
        format!("p.id = (SELECT project_id FROM {all})")
    };
    if shown.learned {
        fits = format!("{fits} OR p.id IN (SELECT project_id FROM named_entries)");
    }
    if let Some(project) = limit.named(script, &scope.project) {
        let project = project.select();
        fits = format!("{fits} OR p.id = ({project})");
        named = format!("p.id IS ({project})");
    }
    statement.rows(
        "projects",
        &format!("json_array(hex(p.id), p.version, p.next_number, {named})"),
        &format!("projects p WHERE {fits}"),
    );
}

/// The stored answer, unless it has expired.
fn add_answer(script: &mut Script, statement: &mut Statement, scope: &Scope) {
    let Some(key) = &scope.answer else { return };
    let principal = script.text(key.principal.as_str());
    let operation = script.text(key.operation);
    let request = script.text(key.request.as_str());
    statement.result(
        "answer",
        &format!(
            "(SELECT json_array(hex(digest), answer, expires_at) FROM answers WHERE principal = {principal} \
             AND operation = {operation} AND request = {request} AND expires_at > {NOW})"
        ),
    );
}

/// An item with its long texts only where the row `s` says that it is shown whole. One with a brief keeps those that are
/// counted with it: its place among ready work, which may change with its neighbours, depends on them.
fn slim_item() -> &'static str {
    const COUNTED: &str = "s.whole OR i.sections <> 0";
    static SLIM: OnceLock<String> = OnceLock::new();
    SLIM.get_or_init(|| {
        let texts = [("description", COUNTED), ("intent", COUNTED), ("metadata", "s.whole"), ("properties", "s.whole")];
        texts.iter().fold(ITEM.to_owned(), |row, (column, shown)| {
            row.replace(&format!("i.{column}"), &format!("iif({shown}, i.{column}, NULL)"))
        })
    })
}
