//! `docket session`: attempts at items, from their beginning to their end, and how they fare.

use clap::Subcommand;
use docket_core::command::{BeginSession, CancelSession, FinishSession, Heartbeat};
use docket_core::model::{Health, Progress, Runtime, SessionId, SessionState, Summary, Text, Ttl};
use docket_core::query::{SessionQuery, SessionView};
use docket_core::{Error, Reason};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{listing, values};
use crate::exit::Failure;
use crate::output::table::{self, Rows};
use crate::output::{Paint, escape};
use crate::session::{Access, Shell};

#[derive(Debug, Subcommand)]
pub(crate) enum Act {
    /// Claim an item, move it into work and begin an attempt at it
    Begin(BeginArgs),
    /// Say that an attempt goes on, and how far it has come
    Heartbeat(HeartbeatArgs),
    /// Hand the work over: the item goes into review, and nothing is closed
    Finish(FinishArgs),
    /// Give an attempt up; the item stays where it is
    Cancel(CancelArgs),
    /// List attempts, the newest first
    List(ListArgs),
    /// Show an attempt
    Show(ShowArgs),
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  docket --actor subagent:parser-1 session begin WEB-7 --expect parser-1 --runtime model=small\n  docket --request-id 6f1c… session begin WEB-7"
)]
pub(crate) struct BeginArgs {
    /// The item: its key, its id, or the beginning of its id
    item: String,
    /// Who you believe to be; where it is another, nothing is begun
    #[arg(long, value_name = "NAME")]
    expect: Option<String>,
    /// What runs it: a name and a value; may be given several times
    #[arg(long, value_name = "NAME=VALUE")]
    runtime: Vec<String>,
    /// How long the claim lasts, such as 900, 15m or 2h [default: the workflow's]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    ttl: Option<String>,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  docket session heartbeat 01K7SA4Z0C8R5QY3M2B1N0V9XT \"The lexer is done\" --percent 40"
)]
pub(crate) struct HeartbeatArgs {
    /// The session
    session: String,
    /// How far it has come, in words
    text: Option<String>,
    /// How far it has come, from 0 to 100
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(0..=100))]
    percent: Option<u8>,
    /// The step it is at
    #[arg(long, value_name = "NAME")]
    step: Option<String>,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  docket session finish 01K7SA4Z0C8R5QY3M2B1N0V9XT \"All queries are read by index.\" --head 3f9c1a7"
)]
pub(crate) struct FinishArgs {
    /// The session
    session: String,
    /// What was done, for whoever reviews it; - reads standard input
    summary: String,
    /// Where the work is: a commit, a branch
    #[arg(long, value_name = "TEXT")]
    head: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CancelArgs {
    /// The session
    session: String,
    /// Why
    reason: String,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  docket session list --health stalled\n  docket --project web session list --of parser-1 --json"
)]
pub(crate) struct ListArgs {
    /// Only on this item
    #[arg(long, value_name = "ITEM")]
    item: Option<String>,
    /// Only of this agent
    #[arg(long, value_name = "NAME")]
    of: Option<String>,
    /// Only in this state: active, finished, cancelled or lost
    #[arg(long, value_name = "STATE")]
    state: Option<SessionState>,
    #[arg(
        long,
        value_name = "HEALTH",
        help = "Only of this health: active, stalled, awaiting_review, lost, finished or cancelled"
    )]
    health: Option<Health>,
    /// How many
    #[arg(long, value_name = "NUMBER", default_value_t = 50, value_parser = values::limit, allow_negative_numbers = true)]
    limit: u16,
    /// Where to go on: what the page before ended with
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// The session
    session: String,
}

/// Sessions.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Page<'p> {
    sessions: &'p [SessionView],
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<&'p str>,
}

pub(crate) async fn run(shell: &Shell, act: Act) -> Result<(), Failure> {
    match act {
        Act::Begin(args) => begin(shell, args).await,
        Act::Heartbeat(args) => heartbeat(shell, args).await,
        Act::Finish(args) => finish(shell, args).await,
        Act::Cancel(args) => cancel(shell, args).await,
        Act::List(args) => list(shell, args).await,
        Act::Show(args) => show(shell, args).await,
    }
}

async fn begin(shell: &Shell, args: BeginArgs) -> Result<(), Failure> {
    let item = values::item(&args.item)?;
    let ttl = args.ttl.as_deref().map(|ttl| values::seconds(ttl).and_then(Ttl::parse)).transpose();
    let ttl = ttl.map_err(|invalid| invalid.at("--ttl"))?;
    let expected_actor = args.expect.as_deref().map(|name| values::name(name, "expect")).transpose()?;
    let runtime = runtime(&args.runtime)?;
    let session = shell.session(Access::Write).await?;
    let command = BeginSession { project: session.scope(), item, expected_actor, runtime, ttl };
    let begun = match session.engine.run(session.call(), command).await {
        Ok(begun) => begun,
        Err(error) => return Err(session.refused(error).await),
    };
    shell.out.answer(&begun, |paint| {
        let from = escape::line(begun.begun.started.from_status.as_str());
        let to = escape::line(begun.begun.started.to_status.as_str());
        // What is in work already is begun where it stands.
        let moved = if from == to { format!("stays {to}") } else { format!("{from} → {to}") };
        let mut lines = vec![
            format!("{} session {} on {}", paint.good("began"), begun.session.id, paint.key(&begun.key.to_string())),
            format!("  fence {}, {moved}", begun.begun.held.fence.0),
        ];
        for refusal in &begun.begun.started.refusals {
            lines.push(format!("  stays {to}: {}", escape::line(&refusal.message)));
        }
        lines
    })
}

async fn heartbeat(shell: &Shell, args: HeartbeatArgs) -> Result<(), Failure> {
    let id = session_id(&args.session)?;
    let progress = Progress {
        text: args.text.as_deref().map(Summary::parse).transpose().map_err(|invalid| invalid.at("text"))?,
        percent: args.percent,
        step: args.step.as_deref().map(|step| values::name(step, "step")).transpose()?,
    };
    let session = shell.session(Access::Write).await?;
    let beat = session.engine.run(session.call(), Heartbeat { session: id, progress: Some(progress) }).await?;
    shell.out.answer(&beat, |paint| {
        let until = beat.claim_expires_at.map_or_else(|| "until released".to_owned(), |end| format!("until {end}"));
        vec![format!("{} {} is held {until}", health(beat.health, paint), paint.key(&beat.key.to_string()))]
    })
}

async fn finish(shell: &Shell, args: FinishArgs) -> Result<(), Failure> {
    let id = session_id(&args.session)?;
    let summary = values::text(&shell.around, Some(&args.summary), None, "summary")?
        .ok_or_else(|| Error::validation(Reason::MissingField, "must say what was done").at("summary"))?;
    let head = args.head.as_deref().map(|head| values::name(head, "head")).transpose()?;
    let session = shell.session(Access::Write).await?;
    let ended = match session.engine.run(session.call(), FinishSession { session: id, summary, head }).await {
        Ok(ended) => ended,
        Err(error) => return Err(session.refused(error).await),
    };
    shell.out.answer(&super::without_credentials(&ended)?, |paint| {
        let status = escape::line(ended.status.as_str());
        vec![format!("{} {} is {status} now", health(ended.health, paint), paint.key(&ended.key.to_string()))]
    })
}

async fn cancel(shell: &Shell, args: CancelArgs) -> Result<(), Failure> {
    let id = session_id(&args.session)?;
    let reason = Text::parse(&args.reason).map_err(|invalid| invalid.at("reason"))?;
    let session = shell.session(Access::Write).await?;
    let ended = session.engine.run(session.call(), CancelSession { session: id, reason }).await?;
    shell.out.answer(&ended, |paint| {
        let status = escape::line(ended.status.as_str());
        vec![format!("{} {} stays {status}", health(ended.health, paint), paint.key(&ended.key.to_string()))]
    })
}

async fn list(shell: &Shell, args: ListArgs) -> Result<(), Failure> {
    let session = shell.session(Access::Read).await?;
    let query = SessionQuery {
        project: session.scope(),
        item: args.item.as_deref().map(values::item).transpose()?,
        actor: args.of.as_deref().map(|name| values::name(name, "of")).transpose()?,
        state: args.state,
        health: args.health,
        limit: args.limit.into(),
    };
    let page = session.engine.sessions(&query, args.cursor.as_deref()).await?;
    let answer = Page { sessions: &page.sessions, next_cursor: page.next.as_deref() };
    shell.out.answer(&answer, |paint| {
        let mut rows = Rows::new(paint, &["SESSION", "HEALTH", "ITEM", "AGENT", "HEARD OF", "PROGRESS"]);
        for found in &page.sessions {
            rows.add(vec![
                table::Text::plain(found.session.id.to_string()),
                table::Text::plain(found.health.as_str()),
                table::Text::key(found.key.to_string()),
                table::Text::plain(found.session.actor.as_str()),
                table::Text::dim(listing::moment(found.session.heartbeat_at)),
                table::Text::dim(progress(&found.session.progress)),
            ]);
        }
        let mut lines = if rows.is_empty() { vec![paint.dim("no sessions")] } else { rows.lines() };
        lines.extend(listing::more(page.sessions.len(), None, page.next.as_deref(), paint));
        lines
    })
}

async fn show(shell: &Shell, args: ShowArgs) -> Result<(), Failure> {
    let id = session_id(&args.session)?;
    let session = shell.session(Access::Read).await?;
    let found = session.engine.session(id).await?;
    shell.out.answer(&found, |paint| {
        let of = &found.session;
        let mut lines = vec![
            format!("{} {} {}", of.id, health(found.health, paint), paint.key(&found.key.to_string())),
            format!("  {} ({})", escape::line(found.title.as_str()), escape::line(found.status.as_str())),
            format!("  by {} since {}", escape::line(of.actor.as_str()), listing::moment(of.started_at)),
            format!("  last heard of {}", listing::moment(of.heartbeat_at)),
        ];
        let said = progress(&of.progress);
        lines.extend((!said.is_empty()).then(|| format!("  {}", escape::line(&said))));
        let value = |value: &Value| value.as_str().map_or_else(|| value.to_string(), escape::line);
        lines.extend(
            of.runtime.entries().map(|(name, said)| format!("  {}: {}", escape::line(name.as_str()), value(said))),
        );
        let texts = [("Summary", of.summary.as_ref()), ("Reason", of.reason.as_ref())];
        for (heading, text) in texts.into_iter().filter_map(|(heading, text)| Some((heading, text?))) {
            lines.push(paint.bold(heading));
            lines.extend(escape::block(text.as_str()).lines().map(|line| format!("  {line}")));
        }
        lines.extend(of.head.as_ref().map(|head| format!("  at {}", escape::line(head.as_str()))));
        lines
    })
}

fn session_id(text: &str) -> Result<SessionId, Failure> {
    Ok(text.parse::<SessionId>().map_err(|invalid| invalid.at("session"))?)
}

/// Values as they are meant: what reads as a number or a flag is one.
fn runtime(entries: &[String]) -> Result<Runtime, Failure> {
    let mut said = Map::new();
    for entry in entries {
        let (name, value) = entry.split_once('=').ok_or_else(|| {
            Error::validation(Reason::BadValue, "must be a name and a value, such as model=small").at("--runtime")
        })?;
        let plain = serde_json::from_str::<Value>(value).ok().filter(|value| value.is_number() || value.is_boolean());
        said.insert(name.to_owned(), plain.unwrap_or_else(|| Value::from(value)));
    }
    Ok(Runtime::parse(said).map_err(|invalid| invalid.at("--runtime"))?)
}

fn progress(progress: &Progress) -> String {
    let percent = progress.percent.map(|percent| format!("{percent} %"));
    let step = progress.step.as_ref().map(ToString::to_string);
    let text = progress.text.as_ref().map(ToString::to_string);
    percent.into_iter().chain(step).chain(text).collect::<Vec<_>>().join(", ")
}

fn health(health: Health, paint: Paint) -> String {
    match health {
        Health::Active | Health::AwaitingReview | Health::Finished => paint.good(health.as_str()),
        Health::Stalled | Health::Lost => paint.bad(health.as_str()),
        Health::Cancelled => paint.dim(health.as_str()),
    }
}
