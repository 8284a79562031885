//! One scope, looked up as of one moment, as a slice.

use std::sync::LazyLock;

use docket_core::store::{Around, Candidates, ProjectRef, Scope, Slice};
use uuid::Uuid;

use super::look::{Look, once, table};
use super::names::{self, Named};
use super::projects::fetch_projects;
use super::{around, candidates, contract, keys, knowledge, runs, sessions};
use crate::context::{Clock, Context};
use crate::error::{Trouble, corrupt};
use crate::pool::Link;
use crate::row::ITEM_ROW;
use crate::script::Script;

/// Rows that are read in well under a millisecond.
const QUICK_ROWS: usize = 32;

/// Shows a scope, after what is to be done before, in the transaction that is open then, or one of its own.
pub(crate) fn load(link: &mut Link, context: &Context, scope: &Scope, before: &Script) -> Result<Slice, Trouble> {
    link.run(before).map_err(Trouble::Sql)?;
    if !link.is_whole() {
        return load_here(link, context, scope);
    }
    link.turn("BEGIN").map_err(Trouble::Sql)?;
    let loaded = load_here(link, context, scope);
    // Where it cannot be ended the connection is thrown away by whoever lent it.
    let ended = link.turn("COMMIT").map_err(Trouble::Sql);
    let slice = loaded?;
    ended?;
    Ok(slice)
}

fn load_here(link: &mut Link, context: &Context, scope: &Scope) -> Result<Slice, Trouble> {
    let mut look = Look::new(link, &scope.visible);
    show(&mut look, &context.clock, scope)?;
    let seen = look.finish()?;
    context.clock.saw(seen.now());
    let unknown = seen.unknown_projects(|id, version| context.projects.get(id, version));
    if !unknown.is_empty() {
        fetch_projects(link, context, &unknown)?;
    }
    let slice = seen.into_slice(scope, |id, version| context.projects.get(id, version));
    slice.ok_or_else(|| Trouble::Rows(corrupt("a project has no rules")))
}

/// Whether a scope shows a few rows, each found by an index.
pub(crate) fn is_quick(scope: &Scope) -> bool {
    let Around {
        ancestors: _,
        subtree,
        subtree_bytes: _,
        open_children,
        edges: _,
        notes: _,
        waits,
        gives_way,
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
        || gives_way
        || component
        || scope.every_project;
    !walks && named + said + candidates <= QUICK_ROWS
}

/// Looks up everything that a scope asks for.
pub(super) fn show(look: &mut Look<'_>, clock: &Clock, scope: &Scope) -> Result<(), Trouble> {
    let mut script = Script::default();
    let now = clock.now(&mut script);
    script.add(format!("SELECT {now}"));
    look.set_now(&script)?;
    let named = names::find(look, scope)?;
    let project = named_project(look, scope)?;
    let meant = meant_projects(look, scope, &named, project)?;

    let mut near = named.ids.clone();
    near.extend(around::relatives(look, &scope.around, &named)?);
    let (named_edges, with_parts) = around::named_parts(look, scope)?;
    near.extend(with_parts);
    near.extend(contract::talk(look, scope, &named)?);
    near.extend(sessions::named_sessions(look, scope, &named)?);
    near.extend(candidates::of_projects(look, scope, &meant)?);
    let near = once(near);

    around::notes(look, scope.around.notes, &near, &named)?;
    contract::briefs(look, &scope.around, &near)?;
    let linked = around::edges(look, scope.around.edges, &near, &named, &named_edges)?;
    if scope.around.waits {
        around::waits(look, &named)?;
    }
    if scope.around.gives_way {
        around::gives_way(look, &named)?;
    }
    if scope.around.component {
        around::component(look, &named)?;
    }
    runs::named_runs(look, scope, &named)?;
    keys::keys(look, &scope.keys)?;
    let learned = knowledge::knowledge(look, &scope.knowledge, &named)?;
    stored_answer(look, scope)?;
    let shown = items(look, &near, &linked)?;
    projects(look, scope, project, &once(shown.into_iter().chain(learned).chain(project)))
}

/// The project that was named, as far as it may be seen.
fn named_project(look: &mut Look<'_>, scope: &Scope) -> Result<Option<Uuid>, Trouble> {
    match &scope.project {
        ProjectRef::Any => Ok(None),
        ProjectRef::Id(id) => Ok(Some(id.as_uuid()).filter(|id| look.shows(*id))),
        ProjectRef::Slug(slug) => {
            let (mut script, limit) = look.begin();
            let slug = script.text(slug.as_str());
            script.add(format!("SELECT id FROM projects WHERE slug = {slug}{}", limit.and("id")));
            Ok(look.ids(&script)?.first().copied())
        }
    }
}

/// Whose work is chosen from: the project that was named, else those of the named items, else all that may be seen.
fn meant_projects(
    look: &mut Look<'_>,
    scope: &Scope,
    named: &Named,
    project: Option<Uuid>,
) -> Result<Vec<Uuid>, Trouble> {
    let is_asked = !scope.held_by.is_empty() || scope.busy || scope.candidates.is_some();
    if !is_asked || scope.project != ProjectRef::Any {
        return Ok(project.into_iter().collect());
    }
    if !scope.items.is_empty() {
        return Ok(named.projects.clone());
    }
    let (mut script, limit) = look.begin();
    script.add(limit.projects());
    look.ids(&script)
}

/// Items: those near whole, and those that edges lead to without their long texts, since one item may have thousands of
/// neighbours. Returns their projects.
fn items(look: &mut Look<'_>, near: &[Uuid], linked: &[Uuid]) -> Result<Vec<Uuid>, Trouble> {
    let mut projects = Vec::new();
    let far: Vec<Uuid> = once(near.iter().chain(linked).copied()).split_off(near.len());
    for (row, ids) in [(&*ITEM_ROW, near), (&*SLIM_ITEM, far.as_slice())] {
        if !ids.is_empty() {
            let mut script = Script::default();
            let ids = table(&mut script, ids);
            script.add(format!("SELECT {row}, i.project_id FROM {ids} s CROSS JOIN items i ON i.id = s.id"));
            projects.extend(look.items(&script)?);
        }
    }
    Ok(projects)
}

/// Projects: the versions of their rules, which are known mostly.
fn projects(look: &mut Look<'_>, scope: &Scope, named: Option<Uuid>, ids: &[Uuid]) -> Result<(), Trouble> {
    let (mut script, limit) = look.begin();
    let named = named.map_or_else(|| "0".to_owned(), |id| format!("p.id = {}", script.uuid(id)));
    let from = if scope.every_project {
        format!("projects p WHERE p.id IN ({})", limit.projects())
    } else if ids.is_empty() {
        return Ok(());
    } else {
        format!("{} s CROSS JOIN projects p ON p.id = s.id", table(&mut script, ids))
    };
    script.add(format!("SELECT json_array(hex(p.id), p.version, p.next_number, {named}) FROM {from}"));
    look.rows("projects", &script)?;
    Ok(())
}

/// The stored answer, unless it has expired.
fn stored_answer(look: &mut Look<'_>, scope: &Scope) -> Result<(), Trouble> {
    let Some(key) = &scope.answer else { return Ok(()) };
    let mut script = Script::default();
    let principal = script.text(key.principal.as_str());
    let operation = script.text(key.operation.as_ref());
    let request = script.text(key.request.as_str());
    let now = script.int(look.now());
    script.add(format!(
        "SELECT json_object('answer', json_array(hex(digest), answer, expires_at)) FROM answers \
         WHERE principal = {principal} AND operation = {operation} AND request = {request} AND expires_at > {now}"
    ));
    look.results(&script)
}

/// An item without its long texts. One with a brief keeps those that are counted with it: its place among ready work, which
/// may change with its neighbours, depends on them.
static SLIM_ITEM: LazyLock<String> = LazyLock::new(|| {
    let counted = |column: &str| format!("iif(i.sections <> 0, i.{column}, NULL)");
    ITEM_ROW
        .replace("i.description", &counted("description"))
        .replace("i.intent", &counted("intent"))
        .replace("i.metadata", "NULL")
        .replace("i.properties", "NULL")
});
