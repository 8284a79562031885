//! `docket overview`: how the project stands, on one screen.

use docket_core::model::{Item, Role};
use docket_core::query::{Health, Overview};
use docket_core::store::{ChildTally, ClaimTally};
use serde::Serialize;
use serde_json::Value;

use super::{listing, values};
use crate::exit::Failure;
use crate::names::Names;
use crate::output::table::{Rows, Text};
use crate::output::{Paint, escape};
use crate::session::{Access, Session, Shell};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  docket overview\n  docket overview --limit 5 --json")]
pub(crate) struct Args {
    /// How many roots
    #[arg(long, value_name = "NUMBER", default_value_t = 20, value_parser = values::limit, allow_negative_numbers = true)]
    limit: u16,
}

/// How the project stands.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Stands {
    roots: Value,
    active: Vec<Value>,
    active_total: u64,
    blocked: Vec<Value>,
    blocked_total: u64,
    stalled: Value,
    claims: ClaimTally,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let session = shell.session(Access::Read).await?;
    let project = session.project_ref()?;
    let overview = session.engine.overview(&project, args.limit.into(), false).await?;
    let health = session.engine.health(&project).await?;
    let stands = Stands {
        roots: super::to_value(&overview.entries)?,
        active: listing::all_listed(&session, &health.active)?,
        active_total: health.active_total,
        blocked: listing::all_listed(&session, &health.blocked)?,
        blocked_total: health.blocked_total,
        stalled: super::to_value(&health.stalled)?,
        claims: health.claims,
    };
    let title = escape::line(session.project()?.name.as_str());
    let answer = super::with_keys(&stands, &session, &Names::default())?;
    shell.out.answer(&answer, |paint| render(&session, &title, &overview, &health, paint))
}

fn render(session: &Session, title: &str, overview: &Overview, health: &Health, paint: Paint) -> Vec<String> {
    let mut lines = vec![paint.bold(title)];
    lines.extend(roots(session, overview, paint));
    let mut add = |heading: &str, items: &[Item], total: u64| {
        if !items.is_empty() {
            lines.extend([String::new(), paint.bold(heading)]);
            lines.extend(listing::table(session, items, health.seen.now, paint));
        }
        if total > items.len() as u64 {
            lines.push(paint.dim(&format!("these are {} of {total}: `docket item list` has all of them", items.len())));
        }
    };
    add("In work and review", &health.active, health.active_total);
    add("Put aside", &health.blocked, health.blocked_total);
    if !health.stalled.is_empty() {
        lines.extend([String::new(), paint.bold("Cannot go on without notes")]);
        for stalled in &health.stalled {
            let missing: Vec<String> = stalled.missing.iter().map(|key| escape::line(key.as_str())).collect();
            lines.push(format!("{}  {}", paint.key(&session.key(&stalled.item).to_string()), missing.join(", ")));
        }
    }
    let claims = health.claims;
    lines.push(String::new());
    lines.push(paint.dim(&format!(
        "claims: {} live, {} run out, {} item{} without one",
        claims.active,
        claims.expired,
        claims.unclaimed,
        if claims.unclaimed == 1 { "" } else { "s" }
    )));
    lines
}

fn roots(session: &Session, overview: &Overview, paint: Paint) -> Vec<String> {
    let mut rows = Rows::new(paint, &["KEY", "STATUS", "TITLE", "QUEUE", "WORK", "REVIEW", "BLOCKED", "CLOSED"]);
    for entry in &overview.entries {
        let mut cells = vec![
            Text::key(session.key(&entry.item).to_string()),
            Text::status(entry.item.status.as_str(), entry.item.role),
            Text::plain(entry.item.title.as_str()),
        ];
        cells.extend(counts(&entry.tally));
        rows.add(cells);
    }
    if rows.is_empty() { vec![paint.dim("no items yet: `docket item add` makes one")] } else { rows.lines() }
}

fn counts(tally: &ChildTally) -> impl Iterator<Item = Text> {
    let shown = |count: u64| if count == 0 { Text::dim("·") } else { Text::number(count) };
    Role::ALL.iter().zip(tally.by_role).map(move |(_, count)| shown(count))
}
