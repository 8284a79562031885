//! `docket events`: what was done, by whom, in the order of commits.

use docket_core::limits;
use docket_core::model::{Event, ItemId, Timestamp, Verb};
use docket_core::store::{Around, EventFilter, ProjectRef};
use serde::Serialize;
use serde_json::Value;

use super::{listing, values};
use crate::exit::Failure;
use crate::names::Names;
use crate::output::{Paint, escape};
use crate::session::{Access, Session, Shell};

const EXAMPLES: &str = "\
Examples:
  docket events
  docket events WEB-7 --limit 100
  docket events --since 2h
  docket events --follow --json            one event a line, as they come";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only what was done to this item
    item: Option<String>,
    /// Only what is later: a time such as 2026-01-31T12:00:00Z, or how long ago, such as 2h
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// How many at the most; the newest are shown
    #[arg(long, value_name = "NUMBER", default_value_t = 30, value_parser = values::limit, allow_negative_numbers = true)]
    limit: u16,
    /// Wait for more and print it as it comes, until interrupted
    #[arg(long, conflicts_with = "cursor")]
    follow: bool,
    /// Where to go on, backwards: what the page before ended with
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

/// Some events.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Events<'p> {
    events: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<&'p str>,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let item = args.item.as_deref().map(values::item).transpose()?;
    let since = args.since.as_deref().map(|since| values::moment(since, "--since")).transpose()?;
    let session = shell.session(Access::Read).await?;
    let (project, item) = match &item {
        None => (session.project_ref()?, None),
        Some(item) => {
            let seen = session.engine.show(&session.scope(), std::slice::from_ref(item), Around::default()).await?;
            (ProjectRef::Any, Some(seen.resolve(item)?.id))
        }
    };
    // Read first: whatever is committed after it is found by following. A standby tells its events, and not how far they go.
    let head = if args.follow { Some(session.engine.head().await?) } else { None };
    let filter =
        EventFilter { project, item, since, newest_first: true, limit: args.limit.into(), ..EventFilter::default() };
    let page = session.engine.event_list(&filter, args.cursor.as_deref()).await?;
    let mut events = page.events;
    events.reverse();
    let Some(head) = head else {
        let names = names(&session, &events).await?;
        let next = page.next.as_deref();
        let answer = Events { events: super::without_credentials(&events)?, next_cursor: next };
        return shell.out.answer(&answer, |paint| {
            if events.is_empty() {
                return vec![paint.dim("nothing was done")];
            }
            // The oldest stand first, so what goes on before them is said first.
            let more = next.map(|next| paint.dim(&format!("--cursor {next} shows what came before")));
            more.into_iter().chain(events.iter().map(|event| line(event, &names, paint))).collect()
        });
    };
    let mut seen = events.last().map_or(head, |event| event.seq.max(head));
    print(&session, &events).await?;
    loop {
        session.engine.changed(seen).await?;
        let fresh = EventFilter { after: Some(seen), newest_first: false, limit: limits::PAGE, ..filter.clone() };
        let events = session.engine.events(&fresh).await?;
        // What another project did moves the head as well.
        seen = match events.last() {
            Some(event) => event.seq,
            None => session.engine.head().await?,
        };
        print(&session, &events).await?;
    }
}

async fn print(session: &Session, events: &[Event]) -> Result<(), Failure> {
    let names = names(session, events).await?;
    for event in events {
        session.out.answer_line(&super::without_credentials(event)?, |paint| line(event, &names, paint))?;
    }
    Ok(())
}

fn line(event: &Event, names: &Names, paint: Paint) -> String {
    let who = event.by.as_ref().map_or(&event.principal, |by| &by.actor.id);
    // An edge is told from where it begins, which is the other end of its event.
    let is_edge = matches!(event.verb, Verb::Linked | Verb::Unlinked);
    let item = event.item.filter(|_| !is_edge).map(|id| named(id, event, names));
    let said =
        [item, Some(details(event, names))].into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>();
    format!(
        "{} {} {} {}",
        paint.dim(&stamp(event.at)),
        paint.key(&escape::line(who.as_str())),
        paint.bold(event.verb.as_str()),
        said.join("  ")
    )
}

fn named(id: ItemId, event: &Event, names: &Names) -> String {
    // A link and an entry have titles of their own.
    let own = matches!(event.verb, Verb::Attached | Verb::Learned);
    let title = event.data.get("title").filter(|_| !own);
    let title = title.and_then(Value::as_str).map(|title| format!("\"{}\"", escape::line(title)));
    names.known(id).or(title).unwrap_or_else(|| id.to_string())
}

/// What an event says beyond its verb.
fn details(event: &Event, names: &Names) -> String {
    let text = |key: &str| event.data.get(key).and_then(Value::as_str).map(escape::line);
    match event.verb {
        Verb::Moved => {
            let by = text("trigger").unwrap_or_default();
            let summary = text("summary").map_or_else(String::new, |summary| format!(": {summary}"));
            let asked =
                if event.data.get("questionCancelled").is_some() { "  its question was taken back" } else { "" };
            let (from, to) = (text("fromRole").unwrap_or_default(), text("toRole").unwrap_or_default());
            format!("{from} → {to} ({by}){summary}{asked}")
        }
        Verb::Noted | Verb::NoteRemoved => text("key").unwrap_or_default(),
        Verb::Linked | Verb::Unlinked => {
            let end = |id: Option<ItemId>| id.map_or_else(String::new, |id| names.of(id));
            format!("{} {} {}", end(event.other), text("kind").unwrap_or_default(), end(event.item))
        }
        Verb::Edited => {
            let fields = event.data.get("set").and_then(Value::as_object);
            let kept = ["version", "modifiedAt", "claim"];
            let fields =
                fields.into_iter().flat_map(|fields| fields.keys()).filter(|field| !kept.contains(&field.as_str()));
            fields.map(|field| escape::line(field)).collect::<Vec<_>>().join(", ")
        }
        Verb::Briefed => event
            .data
            .get("brief")
            .and_then(|brief| brief.get("objective"))
            .and_then(Value::as_str)
            .map_or_else(String::new, |objective| format!("\"{}\"", escape::line(objective))),
        Verb::Verified => {
            let criteria = event.data.get("criteria").and_then(Value::as_array);
            let ids = criteria.into_iter().flatten().filter_map(|criterion| criterion.get("id")?.as_str());
            ids.map(escape::line).collect::<Vec<_>>().join(", ")
        }
        Verb::Asked | Verb::Answered | Verb::Withdrawn => {
            let said = |key: &str| event.data.get("question").and_then(|question| question.get(key)?.as_str());
            let text = if event.verb == Verb::Answered { said("answer") } else { said("text") };
            text.map_or_else(String::new, |text| format!("\"{}\"", escape::line(text)))
        }
        Verb::ChecksSet | Verb::ChecksApproved | Verb::Attested => {
            let checks = event.data.get("checks").and_then(Value::as_array);
            let said = checks.into_iter().flatten().filter_map(|check| check.get("desc")?.as_str());
            said.map(escape::line).collect::<Vec<_>>().join(", ")
        }
        Verb::RunsOrdered | Verb::RunTaken | Verb::RunEnded => {
            let runs = event.data.get("runs").and_then(Value::as_array);
            let said = |run: &Value, key: &str| run.get(key).and_then(Value::as_str).map(escape::line);
            let told = runs
                .into_iter()
                .flatten()
                .filter_map(|run| Some(format!("\"{}\" {}", said(run, "desc")?, said(run, "state")?)));
            told.collect::<Vec<_>>().join(", ")
        }
        Verb::Commented => text("body").map_or_else(String::new, |body| format!("\"{body}\"")),
        Verb::Learned | Verb::Revised | Verb::Reviewed | Verb::Forgotten => {
            text("title").map_or_else(String::new, |title| format!("\"{title}\""))
        }
        Verb::Cited | Verb::Uncited => {
            format!("{} {}", text("kind").unwrap_or_default(), text("entry").unwrap_or_default())
        }
        Verb::Attached => text("url").unwrap_or_default(),
        Verb::ProjectSet => text("slug").unwrap_or_default(),
        Verb::KeySet => text("name").unwrap_or_default(),
        Verb::SessionBegun | Verb::SessionEnded | Verb::SessionBeat => of_session(event),
        Verb::Created | Verb::Claimed | Verb::Released | Verb::Removed | Verb::Detached => String::new(),
    }
}

/// What happened to a session.
fn of_session(event: &Event) -> String {
    let beat = event.verb == Verb::SessionBeat;
    let of = |object: &str, key: &str| event.data.get(object).and_then(|object| object.get(key)?.as_str());
    let said = if beat { of("progress", "text") } else { of("session", "summary").or(of("session", "reason")) };
    let words = said.map_or_else(String::new, |said| format!(": {}", escape::line(said)));
    if beat {
        let id = event.data.get("session").and_then(Value::as_str).map(escape::line);
        return format!("{}{words}", id.unwrap_or_default());
    }
    format!("{} {}{words}", of("session", "id").unwrap_or_default(), of("session", "state").unwrap_or_default())
}

/// A moment, to the second.
fn stamp(at: Timestamp) -> String {
    let text = listing::moment(at);
    let seconds = at.to_string().get(16..19).unwrap_or_default().to_owned();
    text.replace('Z', &format!("{seconds}Z"))
}

async fn names(session: &Session, events: &[Event]) -> Result<Names, Failure> {
    session.names(events.iter().flat_map(|event| [event.item, event.other]).flatten()).await
}
