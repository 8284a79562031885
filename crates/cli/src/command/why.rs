//! `docket why`: why is nothing ready? Every reason for every item, with the act that would clear it.

use docket_core::limits;
use docket_core::model::{ItemId, Name};
use docket_core::query::Why;
use docket_core::readiness::{Obstacle, What};
use docket_core::store::ProjectRef;
use serde::Serialize;
use serde_json::Value;

use super::{listing, values};
use crate::exit::Failure;
use crate::names::Names;
use crate::output::{Paint, escape};
use crate::session::{Access, Session, Shell};

const EXAMPLES: &str = "\
Examples:
  docket why                               every open item that is not ready, the oldest first
  docket why WEB-7";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// One item [default: all that are open]
    item: Option<String>,
}

/// One item and what stands in its way.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Explained<'w> {
    item: Value,
    obstacles: &'w [Obstacle],
    #[serde(skip_serializing_if = "<[Name]>::is_empty")]
    missing_notes: &'w [Name],
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let item = args.item.as_deref().map(values::item).transpose()?;
    let session = shell.session(Access::Read).await?;
    let scope = if item.is_some() { session.scope() } else { session.project_ref()? };
    let reasons = match &item {
        Some(item) => session.engine.why(&scope, item).await?,
        None => all_open(&session, &scope).await?,
    };
    let names = session.names(reasons.iter().flat_map(|why| why.obstacles.iter().filter_map(other))).await?;
    let explained = reasons
        .iter()
        .map(|why| {
            let item = listing::listed(&session, &why.item)?;
            Ok(Explained { item, obstacles: &why.obstacles, missing_notes: &why.missing_notes })
        })
        .collect::<Result<Vec<_>, Failure>>()?;
    let answer = super::with_keys(&explained, &session, &names)?;
    shell.out.answer(&answer, |paint| render(&session, &reasons, &names, paint))
}

/// Every open item, page by page.
async fn all_open(session: &Session, scope: &ProjectRef) -> Result<Vec<Why>, Failure> {
    let (mut reasons, mut cursor) = (Vec::new(), None);
    loop {
        let page = session.engine.why_open(scope, limits::PAGE, cursor.as_deref()).await?;
        reasons.extend(page.items);
        match page.next {
            Some(next) => cursor = Some(next),
            None => return Ok(reasons),
        }
    }
}

fn render(session: &Session, reasons: &[Why], names: &Names, paint: Paint) -> Vec<String> {
    let ready = reasons.iter().filter(|why| why.obstacles.is_empty()).count();
    let mut lines = Vec::new();
    for why in
        reasons.iter().filter(|why| !why.obstacles.is_empty() || !why.missing_notes.is_empty() || reasons.len() == 1)
    {
        let key = paint.key(&session.key(&why.item).to_string());
        let title = escape::line(why.item.title.as_str());
        let state = if why.obstacles.is_empty() { paint.good("is ready") } else { "is not ready:".to_owned() };
        lines.push(format!("{key} {title} {state}"));
        lines.extend(why.obstacles.iter().map(|found| format!("  {}", obstacle(found, names, paint))));
        if !why.missing_notes.is_empty() {
            let notes: Vec<String> = why.missing_notes.iter().map(|note| escape::line(note.as_str())).collect();
            let remedy = paint.dim("→ write them with `docket note set`");
            lines.push(format!("  its next move will owe notes: {}  {remedy}", notes.join(", ")));
        }
    }
    match (reasons.len(), ready) {
        (0, _) => lines.push(paint.dim("there is no open item: `docket item add` makes one")),
        (1, _) | (_, 0) => {}
        (_, ready) => lines.push(paint.dim(&format!("{ready} ready: `docket next` shows them"))),
    }
    lines
}

/// What stands in the way of an item, and what would clear it.
pub(super) fn obstacle(obstacle: &Obstacle, names: &Names, paint: Paint) -> String {
    let what = match &obstacle.what {
        What::Closed => "it is closed".to_owned(),
        What::Blocked => "it was put aside".to_owned(),
        What::NotClaimable { status } => format!("work in {} is not handed out", escape::line(status)),
        What::UnderWay => "it is being done, though nobody holds it".to_owned(),
        What::WaitsFor(blocker) => {
            format!(
                "waits for {}, in {}, to reach {}",
                names.of(blocker.item),
                blocker.current_role,
                blocker.required_role
            )
        }
        What::SupersededBy { item } => format!("superseded by {}", names.of(*item)),
        What::DuplicateOf { item } => format!("a duplicate of {}", names.of(*item)),
        What::Claimed { until } => until.map_or_else(
            || "claimed until released".to_owned(),
            |until| format!("claimed until {}", listing::moment(until)),
        ),
        What::CollidesWith { item } => format!("uses what the claimed {} uses", names.of(*item)),
        What::OutOfSight { count } => format!("waits for {} in other projects", super::count(*count as usize, "item")),
        What::ChecksFailed { checks } => format!("failed: check {}", places(checks)),
        What::ChecksNotApproved { checks } => format!("nobody lets it run: check {}", places(checks)),
        What::NeedsCapabilities { capabilities } => {
            format!("needs an agent that can {}", escape::line(&capabilities.join(", ")))
        }
        What::InReview => "waits for a look".to_owned(),
    };
    format!("{what}  {}", paint.dim(&format!("→ {}", escape::line(&obstacle.remedy))))
}

fn places(checks: &[usize]) -> String {
    let places: Vec<String> = checks.iter().map(usize::to_string).collect();
    places.join(", ")
}

/// The item at the other end of an obstacle.
pub(super) fn other(obstacle: &Obstacle) -> Option<ItemId> {
    match &obstacle.what {
        What::WaitsFor(blocker) => Some(blocker.item),
        What::SupersededBy { item } | What::DuplicateOf { item } | What::CollidesWith { item } => Some(*item),
        What::Closed
        | What::Blocked
        | What::NotClaimable { .. }
        | What::UnderWay
        | What::Claimed { .. }
        | What::OutOfSight { .. }
        | What::ChecksFailed { .. }
        | What::ChecksNotApproved { .. }
        | What::NeedsCapabilities { .. }
        | What::InReview => None,
    }
}
