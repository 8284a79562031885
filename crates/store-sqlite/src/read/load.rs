//! One scope as one script, and its rows as a slice.

use docket_core::store::{Scope, Slice, StoreError};

use super::collect::Collected;
use super::names::Names;
use super::projects::fetch_projects;
use super::{around, candidates, named_project};
use crate::context::Context;
use crate::error::store_error;
use crate::pool::Link;
use crate::row::ITEM_COLUMNS;
use crate::script::Script;

/// How often a view begins anew because a project got new rules between two of its round trips.
const RULE_CHANGES: usize = 4;

/// How a script relates to a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// It is one: it begins and ends it.
    Snapshot,
    /// It begins one that will write.
    Lock,
    /// It runs inside one.
    Inside,
}

/// Why nothing could be shown.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// SQLite refused; a transaction that was open is doubtful.
    Sql(sqlx::Error),
    /// The rows make no sense; a transaction that was open is as it was.
    Rows(StoreError),
}

impl From<Trouble> for StoreError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Sql(error) => store_error(error),
            Trouble::Rows(error) => error,
        }
    }
}

/// Shows a scope: in one round trip, or two when a project's rules are not known yet.
pub(crate) async fn load(
    link: &mut Link,
    context: &Context,
    scope: &Scope,
    opening: Opening,
) -> Result<Slice, Trouble> {
    let mut tries = 0;
    loop {
        let rows = link.run(compose(context, scope, opening)).await.map_err(Trouble::Sql)?;
        let collected = Collected::read(&rows, scope).map_err(Trouble::Rows)?;
        context.clock.saw(collected.slice.now);
        let unknown = collected.unknown_projects(&context.projects);
        if !unknown.is_empty() {
            fetch_projects(link, context, &unknown).await?;
        }
        // Outside a transaction the rules may be newer by now than the rows; then both are read again.
        tries += 1;
        match collected.finish(scope, &context.projects) {
            Some(slice) => return Ok(slice),
            None if tries < RULE_CHANGES => {}
            None => return Err(Trouble::Rows(StoreError::Conflict)),
        }
    }
}

/// The script for a scope. Public to the crate's tests, which look at its query plan.
pub(crate) fn compose(context: &Context, scope: &Scope, opening: Opening) -> Script {
    let mut script = Script::default();
    match opening {
        Opening::Snapshot => script.add("BEGIN"),
        Opening::Lock => script.add("BEGIN IMMEDIATE"),
        Opening::Inside => {}
    }
    context.clock.read(&mut script);
    script.add("DELETE FROM shown");
    Names::of(scope).add(&mut script);
    around::add_relatives(&mut script, &scope.around);
    around::add_named(&mut script, scope);
    if scope.held_by.is_some() || scope.busy || scope.candidates.is_some() {
        let projects = candidates::projects_meant(&mut script, scope);
        if let Some(holder) = &scope.held_by {
            candidates::add_held(&mut script, &projects, holder);
        }
        if scope.busy {
            candidates::add_busy(&mut script, &projects);
        }
        if let Some(wanted) = &scope.candidates {
            candidates::add_candidates(&mut script, &projects, wanted);
        }
    }
    around::add_attached(&mut script, scope);
    if scope.around.waits {
        around::add_waits(&mut script);
    }
    if scope.around.component {
        around::add_component(&mut script);
    }
    add_answer(&mut script, scope);
    add_projects(&mut script, scope);
    script.add(&format!("SELECT 'item', {ITEM_COLUMNS} FROM shown s CROSS JOIN items i ON i.pk = s.pk"));
    if opening == Opening::Snapshot {
        script.add("COMMIT");
    }
    script
}

/// The stored answer, unless it has expired.
fn add_answer(script: &mut Script, scope: &Scope) {
    let Some(key) = &scope.answer else { return };
    let principal = script.text(key.principal.as_str());
    let operation = script.text(key.operation);
    let request = script.text(key.request.as_str());
    script.add(&format!(
        "SELECT 'answer', digest, answer, expires_at FROM answers \
         WHERE principal = {principal} AND operation = {operation} AND request = {request} \
         AND expires_at > (SELECT now FROM clock)"
    ));
}

/// The projects of all items shown and the one that was named: their versions alone, since their rules are known mostly.
fn add_projects(script: &mut Script, scope: &Scope) {
    match named_project(script, &scope.project) {
        Some(named) => script.add(&format!(
            "SELECT 'project', p.id, p.version, p.next_number, p.id IN ({named}) FROM projects p \
             WHERE p.id IN (SELECT project_id FROM shown UNION {named})"
        )),
        None => script.add(
            "SELECT 'project', p.id, p.version, p.next_number, 0 FROM projects p \
             WHERE p.id IN (SELECT project_id FROM shown)",
        ),
    }
}
