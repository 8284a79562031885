//! `docket knowledge`: finds, shows, changes and reviews what was learned.

use docket_core::command::{CiteEntries, EditEntry, ReadEntry, RemoveEntries, ReviewEntries};
use docket_core::knowledge::Round;
use docket_core::model::{Entry, EntryId, ItemId, Source, Title};
use docket_core::query::{KnowledgeQuery, ListedEntry, ReviewState, SearchMode};
use docket_core::store::{Around, EntryFilter, ProjectRef};
use docket_core::{Error, Reason};
use serde::Serialize;

use super::{listing, values};
use crate::exit::Failure;
use crate::output::table::{Rows, Text};
use crate::output::{Paint, escape};
use crate::session::{Access, Session, Shell};

const SEARCH_HELP: &str = "\
The score says how much of the question an entry answers, from 0 to 1. By words alone, unless docket.toml names an embedder \
([embedder]): then by meaning too, and the answer says which.

Examples:
  docket knowledge search linker gcc
  docket knowledge search \"why is the build slow\" --min-score 0.5 --reviewed";

const REVIEW_HELP: &str = "\
A word counts for what was read: name the version that `docket knowledge show` told. If the entry has changed since, \
nothing is written.

Examples:
  docket knowledge show 01K7SA4Z0C8R5QY3M2B1N0V9XT
  docket knowledge review 01K7SA4Z0C8R5QY3M2B1N0V9XT@1
  docket knowledge review 01K7SA4Z0C8R5QY3M2B1N0V9XT --undo";

/// What can be done with knowledge.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Act {
    /// Find what answers a question, the best first
    Search(SearchArgs),
    /// List entries, the newest first
    #[command(after_help = "Examples:\n  docket knowledge list\n  docket knowledge list --item WEB-7 --unreviewed")]
    List(ListArgs),
    /// Show an entry and its links
    #[command(after_help = "Examples:\n  docket knowledge show 01K7SA4Z0C8R5QY3M2B1N0V9XT")]
    Show(ShowArgs),
    /// Change an entry
    #[command(
        after_help = "Examples:\n  docket knowledge edit 01K7SA4Z0C8R5QY3M2B1N0V9XT --tag build --tag linker\n  docket knowledge edit 01K7SA4Z0C8R5QY3M2B1N0V9XT@3 --body -"
    )]
    Edit(EditArgs),
    /// Say that entries are right, or take that back; for people alone
    #[command(after_help = REVIEW_HELP)]
    Review(ReviewArgs),
    /// Remove entries, with their links
    #[command(after_help = "Examples:\n  docket knowledge rm 01K7SA4Z0C8R5QY3M2B1N0V9XT")]
    Rm(RmArgs),
    /// Say that entries helped with an item
    #[command(after_help = "Examples:\n  docket knowledge use WEB-7 01K7SA4Z0C8R5QY3M2B1N0V9XT")]
    Use(UseArgs),
    /// Make vectors of entries that have none yet, with the embedder of docket.toml
    #[command(after_help = "Examples:\n  docket knowledge embed")]
    Embed,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Filters {
    /// With one of these tags; may be given several times
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    #[arg(long, value_name = "SOURCE", help = "From this source: person, agent, task_completion or import")]
    source: Option<String>,
    /// Only what a person has reviewed
    #[arg(long, conflicts_with = "unreviewed")]
    reviewed: bool,
    /// Only what nobody has reviewed
    #[arg(long)]
    unreviewed: bool,
    /// Only what is linked with this item
    #[arg(long, value_name = "ITEM")]
    item: Option<String>,
    /// How many
    #[arg(long, value_name = "NUMBER", default_value_t = 20, value_parser = values::limit, allow_negative_numbers = true)]
    limit: u16,
}

#[derive(Debug, clap::Args)]
#[command(after_help = SEARCH_HELP)]
pub(crate) struct SearchArgs {
    /// The question
    #[arg(required = true)]
    words: Vec<String>,
    /// How well an entry must answer, from 0 to 1
    #[arg(long, value_name = "SCORE", default_value_t = 0.0)]
    min_score: f64,
    #[command(flatten)]
    filters: Filters,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    filters: Filters,
    /// Where to go on: what the page before ended with
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// The entry's id
    entry: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct EditArgs {
    /// The entry's id; with @VERSION it is refused if the entry has another by now
    #[arg(value_name = "ENTRY[@VERSION]")]
    entry: String,
    /// A new title
    #[arg(long, value_name = "TITLE")]
    title: Option<String>,
    /// A new text; - reads standard input
    #[arg(long, value_name = "TEXT")]
    body: Option<String>,
    /// Tags in place of all it has; may be given several times
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// Take all its tags away
    #[arg(long, conflicts_with = "tag")]
    no_tags: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReviewArgs {
    /// The entries' ids, each with the version that was read
    #[arg(required = true, value_name = "ENTRY@VERSION")]
    entries: Vec<String>,
    /// Take it back
    #[arg(long)]
    undo: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RmArgs {
    /// The entries' ids
    #[arg(required = true)]
    entries: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct UseArgs {
    /// The item: its key, its id, or the beginning of its id
    item: String,
    /// The entries' ids
    #[arg(required = true)]
    entries: Vec<String>,
    /// Take it back
    #[arg(long)]
    undo: bool,
}

/// A page of a list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Page<'e> {
    entries: Vec<ListedEntry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<&'e str>,
}

/// How many vectors were made.
#[derive(Serialize)]
struct Embedded<'m> {
    model: &'m str,
    kept: usize,
}

pub(crate) async fn run(shell: &Shell, act: Act) -> Result<(), Failure> {
    match act {
        Act::Search(args) => search(shell, args).await,
        Act::List(args) => list(shell, args).await,
        Act::Show(args) => show(shell, &args.entry).await,
        Act::Edit(args) => edit(shell, args).await,
        Act::Review(args) => review(shell, args).await,
        Act::Rm(args) => remove(shell, &args.entries).await,
        Act::Use(args) => cite(shell, args).await,
        Act::Embed => embed(shell).await,
    }
}

async fn search(shell: &Shell, args: SearchArgs) -> Result<(), Failure> {
    let session = shell.session(Access::Read).await?;
    let filter = filter(&session, &args.filters).await?;
    let query = args.words.join(" ");
    let limit = args.filters.limit.into();
    let query = KnowledgeQuery { filter, query, minimum: args.min_score, limit };
    let found = session.with_embedder(&session.engine)?.search_knowledge(&query).await?;
    shell.out.answer(&found, |paint| {
        let mut lines = Vec::new();
        for hit in &found.hits {
            lines.push(heading(&hit.entry, Some(hit.score), paint));
            let body = escape::block(hit.entry.body.as_str());
            lines.extend(body.lines().take(3).map(|line| format!("  {line}")));
        }
        if found.hits.is_empty() {
            lines.push(paint.dim("nothing answers that"));
        }
        if let Some(why) = &found.degraded {
            let half = if found.mode == SearchMode::Lexical { "by words alone" } else { "by meaning in part" };
            lines.push(paint.bad(&format!("{half}: {}", escape::line(why))));
        }
        if found.partial {
            lines
                .push(paint.dim("very many entries have these words: not all were looked at; ask for something rarer"));
        }
        lines
    })
}

async fn list(shell: &Shell, args: ListArgs) -> Result<(), Failure> {
    let session = shell.session(Access::Read).await?;
    let filter = filter(&session, &args.filters).await?;
    let limit = args.filters.limit.into();
    let page = session.engine.list_knowledge(&filter, limit, args.cursor.as_deref()).await?;
    let entries = page.entries.iter().cloned().map(ListedEntry::from).collect();
    let answer = Page { entries, next_cursor: page.next.as_deref() };
    shell.out.answer(&answer, |paint| {
        let mut rows = Rows::new(paint, &["ENTRY", "", "TITLE", "TAGS", "UPDATED"]);
        for entry in &page.entries {
            let tags: Vec<&str> = entry.tags.iter().map(docket_core::model::Tag::as_str).collect();
            rows.add(vec![
                Text::key(entry.id.to_string()),
                Text::dim(state(entry)),
                Text::plain(entry.title.as_str()),
                Text::dim(tags.join(" ")),
                Text::dim(listing::moment(entry.updated_at)),
            ]);
        }
        let mut lines = if rows.is_empty() { vec![paint.dim("no entries")] } else { rows.lines() };
        if let Some(next) = &page.next {
            lines.push(paint.dim(&format!("more with --cursor {next}")));
        }
        lines
    })
}

async fn show(shell: &Shell, entry: &str) -> Result<(), Failure> {
    let id = read_id(entry)?;
    let session = shell.session(Access::Read).await?;
    let view = session.engine.entry(id).await?;
    let names = session.names(view.links.iter().map(|link| link.item)).await?;
    shell.out.answer(&view, |paint| {
        let mut lines = vec![heading(&view.entry, None, paint)];
        let author = escape::line(view.entry.author.as_str());
        lines.push(paint.dim(&format!("{author} at {}", listing::moment(view.entry.created_at))));
        let (writer, version) = (escape::line(view.entry.updated_by.as_str()), view.entry.version);
        lines.push(paint.dim(&format!(
            "version {version}, last written by {writer} at {}",
            listing::moment(view.entry.updated_at)
        )));
        if let Some(review) = &view.entry.review {
            let by = escape::line(review.by.as_str());
            lines.push(paint.dim(&format!("reviewed by {by} at {}", listing::moment(review.at))));
        }
        lines.extend(escape::block(view.entry.body.as_str()).lines().map(str::to_owned));
        for link in &view.links {
            let kind = match link.kind {
                docket_core::model::EntryTie::Produced => "learned from",
                docket_core::model::EntryTie::Used => "used for",
            };
            lines.push(format!("{} {}", paint.dim(kind), names.of(link.item)));
        }
        lines
    })
}

async fn edit(shell: &Shell, args: EditArgs) -> Result<(), Failure> {
    let title = args.title.as_deref().map(Title::parse).transpose().map_err(|invalid| invalid.at("--title"))?;
    let body = values::text(&shell.around, args.body.as_deref(), None, "--body")?;
    let tags = if args.tag.is_empty() && !args.no_tags { None } else { Some(values::tags(&args.tag)?) };
    let ReadEntry { entry, version: expected_version } = read_version(&args.entry)?;
    let session = shell.session(Access::Write).await?;
    let call = session.call();
    let authority = session.engine.authority_of(&call);
    let edit = EditEntry { entry, title, body, tags, expected_version, authority };
    let edited = session.engine.run(call, edit).await?;
    shell.out.answer(&edited, |paint| vec![heading(&edited.entry, None, paint)])
}

async fn review(shell: &Shell, args: ReviewArgs) -> Result<(), Failure> {
    check_batch(&args.entries)?;
    let entries = args.entries.iter().map(|text| read_version(text)).collect::<Result<Vec<ReadEntry>, Failure>>()?;
    if let Some(read) = entries.iter().find(|read| read.version.is_none() && !args.undo) {
        let id = read.entry;
        let message = format!("which version was read? See `docket knowledge show {id}`, then review {id}@VERSION");
        return Err(Error::validation(Reason::MissingField, message).at("entries").into());
    }
    let session = shell.session(Access::Write).await?;
    let call = session.call();
    let authority = session.engine.authority_of(&call);
    let reviewed = session.engine.run(call, ReviewEntries { entries, reviewed: !args.undo, authority }).await?;
    let word = if args.undo { "unreviewed" } else { "reviewed" };
    let changed: Vec<EntryId> = reviewed.entries.iter().filter(|done| done.changed).map(|done| done.entry).collect();
    shell.out.answer(&reviewed, |paint| each(&changed, word, paint))
}

async fn remove(shell: &Shell, entries: &[String]) -> Result<(), Failure> {
    let entries = read_ids(entries)?;
    let session = shell.session(Access::Write).await?;
    let removed = session.engine.run(session.call(), RemoveEntries { entries }).await?;
    shell.out.answer(&removed, |paint| each(&removed.removed, "removed", paint))
}

async fn cite(shell: &Shell, args: UseArgs) -> Result<(), Failure> {
    let (item, entries) = (values::item(&args.item)?, read_ids(&args.entries)?);
    let session = shell.session(Access::Write).await?;
    let cite = CiteEntries { project: session.scope(), item, entries, used: !args.undo };
    let cited = session.engine.run(session.call(), cite).await?;
    shell.out.answer(&cited, |paint| each(&cited.changed, if args.undo { "not used" } else { "used" }, paint))
}

async fn embed(shell: &Shell) -> Result<(), Failure> {
    let session = shell.session(Access::Write).await?;
    let engine = session.with_embedder(&session.everywhere())?;
    let Some(model) = engine.embedding_model().map(str::to_owned) else {
        let message = "there is no embedder: name one in docket.toml under [embedder]";
        return Err(Failure::environment(message.to_owned()));
    };
    let maker = crate::embedding::maker();
    engine.adopt_model(&maker).await?;
    let mut kept = 0;
    // Where another process is at it already, it goes on.
    while let Round::Made { kept: more, .. } = engine.embed_pending(&maker).await? {
        kept += more;
    }
    let answer = Embedded { model: &model, kept };
    shell
        .out
        .answer(&answer, |paint| vec![format!("{} {kept} by {}", paint.good("vectors made:"), escape::line(&model))])
}

async fn filter(session: &Session, filters: &Filters) -> Result<EntryFilter, Failure> {
    let source = filters.source.as_deref().map(str::parse::<Source>).transpose();
    let item: Option<ItemId> = match &filters.item {
        None => None,
        Some(text) => {
            let item = values::item(text)?;
            let seen = session.engine.show(&session.scope(), std::slice::from_ref(&item), Around::default()).await?;
            Some(seen.resolve(&item)?.id)
        }
    };
    Ok(EntryFilter {
        // The knowledge is everybody's, unless a project was named.
        project: match session.scope() {
            ProjectRef::Any => ProjectRef::Any,
            named @ (ProjectRef::Id(_) | ProjectRef::Slug(_)) => named,
        },
        tags: values::tags(&filters.tag)?,
        source: source.map_err(|invalid| invalid.at("--source"))?,
        reviewed: if filters.reviewed { Some(true) } else { filters.unreviewed.then_some(false) },
        item,
        ..EntryFilter::default()
    })
}

fn read_id(text: &str) -> Result<EntryId, Failure> {
    Ok(text.parse::<EntryId>().map_err(|invalid| invalid.at("entry"))?)
}

/// `ENTRY` or `ENTRY@VERSION`.
fn read_version(text: &str) -> Result<ReadEntry, Failure> {
    let (entry, version) = match text.split_once('@') {
        None => (text, None),
        Some((entry, version)) => {
            let bad = |_| {
                let message = format!("the version must be a number, not \"{}\"", docket_core::echo(version));
                Failure::from(Error::validation(Reason::BadValue, message).at("entry"))
            };
            (entry, Some(version.parse::<u64>().map_err(bad)?))
        }
    };
    Ok(ReadEntry { entry: read_id(entry)?, version })
}

fn check_batch(texts: &[String]) -> Result<(), Failure> {
    if texts.len() > docket_core::limits::BATCH {
        return Err(Error::validation(Reason::BatchTooLarge, "that is more than 200 entries").at("entries").into());
    }
    Ok(())
}

fn read_ids(texts: &[String]) -> Result<Vec<EntryId>, Failure> {
    check_batch(texts)?;
    texts.iter().map(|text| read_id(text)).collect()
}

fn each(entries: &[EntryId], word: &str, paint: Paint) -> Vec<String> {
    if entries.is_empty() {
        return vec![paint.dim("nothing changed")];
    }
    entries.iter().map(|entry| format!("{} {entry}", paint.good(word))).collect()
}

fn state(entry: &Entry) -> &'static str {
    match ReviewState::of(entry) {
        ReviewState::Reviewed => "reviewed",
        ReviewState::Unreviewed => "unreviewed",
    }
}

fn heading(entry: &Entry, score: Option<f64>, paint: Paint) -> String {
    let score = score.map(|score| format!(" {score:.2}")).unwrap_or_default();
    let title = escape::line(entry.title.as_str());
    format!(
        "{} {} {}",
        paint.bold(&title),
        paint.dim(&format!("[{}]{score}", state(entry))),
        paint.dim(&entry.id.to_string())
    )
}
