//! One scope as one statement, and what it returns as a slice.

use std::sync::OnceLock;

use docket_core::store::row::{Packed, Seen};
use docket_core::store::{Scope, Slice, StoreError};
use serde::Deserialize;
use uuid::Uuid;

use super::limit::Limit;
use super::names::Names;
use super::projects::fetch_projects;
use super::statement::{NOW, Statement, each};
use super::{around, candidates, contract, keys, knowledge, runs, sessions};
use crate::context::Context;
use crate::error::Trouble;
use crate::pool::Link;
use crate::queue::Locked;
use crate::row::ITEM;
use crate::script::Script;

/// How often a view begins anew because a project got new rules between two of its round trips.
const RULE_CHANGES: usize = 4;

/// What a locking statement returned.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Locks {
    mine: Packed,
    taken: Packed,
    skipped: bool,
}

/// Locks the rows that a unit of work with this scope may write. What it shows is to be loaded after that, by a statement
/// of its own: only then does it show what others committed while we waited. Returns the ready work it took, if any was
/// asked for.
pub(crate) async fn lock(
    link: &mut Link,
    context: &Context,
    scope: &Scope,
    locked: &mut Locked,
) -> Result<Option<Vec<Uuid>>, Trouble> {
    let nobody = scope.held_by.is_empty() && scope.candidates.is_none();
    let nothing_said = scope.note_ids.is_empty()
        && scope.question_ids.is_empty()
        && scope.link_ids.is_empty()
        && scope.session_ids.is_empty();
    if nobody && scope.items.is_empty() && nothing_said {
        return Ok(None);
    }
    let mut script = Script::default();
    let mut statement = Statement::with_clock(&mut script, &context.clock);
    let limit = Limit::of(&mut script, &scope.visible);
    Names::of(scope).add(&mut script, &mut statement, &limit);
    candidates::add_locks(&mut script, &mut statement, scope, &limit);
    statement.finish(&mut script);
    let locks: Locks = link.ask(script).await?;
    locked.items.extend(locks.mine.0.iter().chain(&locks.taken.0));
    locked.skipped |= locks.skipped;
    Ok(scope.candidates.as_ref().map(|_| locks.taken.0.iter().map(|id| id.as_uuid()).collect()))
}

/// Shows a scope in one round trip, or two when a project's rules are not known yet. Of ready work only what was picked
/// before, where a unit of work has locked some.
pub(crate) async fn load(
    link: &mut Link,
    context: &Context,
    scope: &Scope,
    picked: Option<&[Uuid]>,
) -> Result<Slice, Trouble> {
    for _ in 0..RULE_CHANGES {
        let seen: Seen = link.ask(compose(context, scope, picked)).await?;
        context.clock.saw(seen.now());
        let unknown = seen.unknown_projects(|id, version| context.projects.get(id, version));
        if !unknown.is_empty() {
            fetch_projects(link, context, &unknown).await?;
        }
        // Outside a transaction the rules may be newer by now than the rows; then both are read again.
        if let Some(mut slice) = seen.into_slice(scope, |id, version| context.projects.get(id, version)) {
            if let (Some(wanted), Some(picked)) = (&scope.candidates, picked) {
                // As many were picked as were wanted, and there may be more.
                slice.candidates.truncated = picked.len() >= wanted.limit;
            }
            return Ok(slice);
        }
    }
    Err(Trouble::Rows(StoreError::Conflict))
}

/// The statement for a scope.
fn compose(context: &Context, scope: &Scope, picked: Option<&[Uuid]>) -> Script {
    let mut script = Script::default();
    let mut statement = Statement::with_clock(&mut script, &context.clock);
    let limit = Limit::of(&mut script, &scope.visible);
    Names::of(scope).add(&mut script, &mut statement, &limit);
    let mut shown = around::add_relatives(&mut script, &mut statement, &scope.around);
    shown.extend(around::add_named(&mut script, &mut statement, scope, &limit));
    shown.extend(contract::add_named(&mut script, &mut statement, scope, &limit));
    shown.extend(sessions::add_named(&mut script, &mut statement, scope, &limit));
    shown.extend(candidates::add_of_project(&mut script, &mut statement, scope, &limit, picked));
    add_near(&mut statement, scope, &shown);
    let linked = around::add_attached(&mut statement, scope);
    contract::add_attached(&mut script, &mut statement, scope);
    sessions::add_attached(&mut statement, scope);
    if scope.around.waits {
        around::add_waits(&mut statement);
    }
    if scope.around.gives_way {
        around::add_gives_way(&mut statement);
    }
    if scope.around.component {
        around::add_component(&mut statement, &limit);
    }
    runs::add_runs(&mut script, &mut statement, scope, &limit);
    keys::add_keys(&mut script, &mut statement, &scope.keys);
    let learned =
        knowledge::add_knowledge(&mut script, &mut statement, &scope.knowledge, &limit, !scope.items.is_empty());
    add_answer(&mut script, &mut statement, scope);
    add_shown(&mut script, &mut statement, scope, &limit, Shown { linked, learned });
    statement.finish(&mut script);
    script
}

/// The part `near`: the named items and what was asked for beside them.
fn add_near(statement: &mut Statement, scope: &Scope, shown: &[&str]) {
    const NEAR: &str = "near (id, project_id)";
    let mut sources: Vec<String> = shown
        .iter()
        .map(|part| {
            format!("SELECT i.id, i.project_id FROM {}", each(&format!("{part} x"), "items", "i", "i.id = x.id"))
        })
        .collect();
    if sources.is_empty() {
        return statement.view(NEAR, "SELECT id, project_id FROM named");
    }
    if !scope.items.is_empty() {
        sources.push("SELECT id, project_id FROM named".to_owned());
    }
    // An item that is named and found in another way is read once all the same.
    statement.part(NEAR, &sources.join(" UNION "));
}

/// What is shown beside the named items: what edges lead to, and entries.
#[derive(Clone, Copy, Debug)]
struct Shown {
    linked: bool,
    /// Whether there are entries, whose projects are shown too.
    learned: bool,
}

/// All items shown, those that edges lead to among them, and their projects: of these the versions alone, since their
/// rules are known mostly.
fn add_shown(script: &mut Script, statement: &mut Statement, scope: &Scope, limit: &Limit, shown: Shown) {
    let (all, row) = if shown.linked {
        // What only an edge leads to is shown without its long texts: one item may have thousands of neighbours.
        let end = |end: &str| {
            let items = each("linked l", "items", "i", &format!("i.id = l.{end}"));
            format!("SELECT i.id, i.project_id, false FROM {items}")
        };
        let every = format!(
            "SELECT id, project_id, true AS whole FROM near UNION ALL {} UNION ALL {}",
            end("from_id"),
            end("to_id")
        );
        statement.part(
            "shown (id, project_id, whole)",
            &format!("SELECT id, project_id, bool_or(whole) FROM ({every}) e GROUP BY id, project_id"),
        );
        ("shown", slim_item())
    } else {
        ("near", ITEM)
    };
    statement.rows("items", row, &each(&format!("{all} s"), "items", "i", "i.id = s.id"));
    let (mut projects, mut named) = (format!("SELECT project_id AS id FROM {all}"), "false".to_owned());
    if scope.every_project {
        projects = limit.projects();
    }
    if shown.learned {
        projects = format!("{projects} UNION ALL SELECT project_id FROM named_entries");
    }
    if let Some(project) = limit.named(script, &scope.project) {
        let project = project.select();
        projects = format!("{projects} UNION ALL {project}");
        named = format!("coalesce(p.id = ({project}), false)");
    }
    statement.rows(
        "projects",
        &format!("json_build_array(p.id, p.version, p.next_number, {named})"),
        &format!("projects p WHERE p.id IN ({projects})"),
    );
}

/// The stored answer, unless it has expired.
fn add_answer(script: &mut Script, statement: &mut Statement, scope: &Scope) {
    let Some(key) = &scope.answer else { return };
    let principal = script.text(key.principal.as_str());
    let operation = script.text(key.operation.as_ref());
    let request = script.text(key.request.as_str());
    statement.result(
        "answer",
        &format!(
            "(SELECT json_build_array(encode(digest, 'hex'), answer, expires_at) FROM answers WHERE principal = {principal} \
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
            row.replace(&format!("i.{column}"), &format!("CASE WHEN {shown} THEN i.{column} END"))
        })
    })
}
