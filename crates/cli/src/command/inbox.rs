//! `docket inbox`: everything that waits for a person.

use docket_core::query::Waits;
use serde::Serialize;
use serde_json::Value;

use super::{listing, values};
use crate::exit::Failure;
use crate::output::{Paint, escape};
use crate::session::{Access, Shell};

const HELP: &str = "\
Open questions, criteria to sign off, checks to attest, work in review, and items that call for attention, the \
oldest first, in all projects, or in the one that --project names. To clear them: `docket answer`, `docket verify \
--as human`, `docket check attest`, `docket advance`, `docket item edit --clear attention`.

Examples:
  docket inbox
  docket --project web inbox --json";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// How many
    #[arg(long, value_name = "NUMBER", default_value_t = 50, value_parser = values::limit, allow_negative_numbers = true)]
    limit: u16,
    /// Where to go on: what the page before ended with
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

/// What waits for a person.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Inbox<'p> {
    items: Vec<Value>,
    total: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<&'p str>,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let session = shell.session(Access::Read).await?;
    let page = session.engine.inbox(&session.scope(), args.limit.into(), args.cursor.as_deref()).await?;
    let items = page.items.iter().map(super::to_value).collect::<Result<_, _>>()?;
    let answer = Inbox { items, total: page.total, next_cursor: page.next.as_deref() };
    shell.out.answer(&answer, |paint| {
        if page.items.is_empty() && args.cursor.is_none() {
            return vec![paint.dim("nothing waits for you")];
        }
        let mut lines = Vec::new();
        for waiting in &page.items {
            let status = paint.dim(&format!("({}, since {})", waiting.item.status, listing::moment(waiting.since)));
            let title = escape::line(waiting.item.title.as_str());
            lines.push(format!("{} {title}  {status}", paint.key(&waiting.key.to_string())));
            lines.extend(
                waiting
                    .waits
                    .iter()
                    .flat_map(|waits| why(waits, &waiting.key.to_string(), waiting.item.version, paint)),
            );
        }
        lines.extend(listing::more(page.items.len(), Some(page.total), page.next.as_deref(), paint));
        lines
    })
}

/// Why an item waits, and what to do about it.
fn why(waits: &Waits, key: &str, version: u64, paint: Paint) -> Vec<String> {
    match waits {
        Waits::Question { question } => {
            let options: Vec<String> = question.options.iter().map(|option| escape::line(option.as_str())).collect();
            let options = if options.is_empty() { String::new() } else { format!(" ({})", options.join(" / ")) };
            let act = paint.dim(&format!("→ docket answer {key} TEXT"));
            vec![format!("  asks: {}{options}  {act}", escape::line(question.text.as_str()))]
        }
        Waits::SignOff { criteria } => criteria
            .iter()
            .map(|(id, text)| {
                let act = paint.dim(&format!("→ docket verify {key} {id}=pass --as human"));
                format!("  to sign off: {id} {}  {act}", escape::line(text.as_str()))
            })
            .collect(),
        Waits::Attest { checks } => checks
            .iter()
            .map(|(index, desc)| {
                let act = paint.dim(&format!("→ docket check attest {key} {index}=pass"));
                format!("  to attest: {index} {}  {act}", escape::line(desc.as_str()))
            })
            .collect(),
        Waits::Approve { checks } => {
            // All at once: whoever approves one has another version to read before the next.
            let only = checks.iter().map(|(index, _)| index.to_string()).collect::<Vec<_>>().join(",");
            let read = format!("→ docket check list {key}, then");
            let act = paint.dim(&format!("{read} docket check approve {key} --only {only} --if-version {version}"));
            let line = |(index, desc): &(usize, docket_core::model::Text)| {
                format!("  to approve: {index} {}  {act}", escape::line(desc.as_str()))
            };
            checks.iter().map(line).collect()
        }
        Waits::Failed { checks } => checks
            .iter()
            .map(|(index, desc)| {
                let act = paint.dim(&format!("→ docket check log {key}; mend it, then docket submit {key}"));
                format!("  failed: {index} {}  {act}", escape::line(desc.as_str()))
            })
            .collect(),
        Waits::Review => vec![format!("  is in review  {}", paint.dim(&format!("→ docket advance {key} complete")))],
        Waits::Attention { why } => {
            let act = paint.dim(&format!("→ docket item edit {key} --clear attention"));
            vec![format!("  calls for attention: {}  {act}", escape::line(why.as_str()))]
        }
    }
}
