//! `docket note`: keyed documents on items.

use clap::{ArgGroup, Subcommand};
use docket_core::command::{NotePut, PutNotes, RemoveNotes};
use docket_core::model::{ItemRef, Note, Role};
use docket_core::{Error, Reason};

use super::{listing, values};
use crate::exit::Failure;
use crate::output::escape;
use crate::output::table::{Rows, Text};
use crate::session::{Access, Session, Shell};

#[derive(Debug, Subcommand)]
pub(crate) enum Act {
    /// Write a note; one of the same key is replaced
    Set(SetArgs),
    /// Print a note's body
    Show(ShowArgs),
    /// List an item's notes
    List(ListArgs),
    /// Remove a note, or all of an item's
    Rm(RemoveArgs),
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  docket note set WEB-7 plan \"First the lexer.\"\n  docket note set WEB-7 plan --file plan.md\n  git log -3 | docket note set WEB-7 changes -"
)]
pub(crate) struct SetArgs {
    /// The item
    item: String,
    /// The note's name on the item
    key: String,
    /// What it says; - reads standard input
    #[arg(required_unless_present = "file", conflicts_with = "file")]
    body: Option<String>,
    /// What it says, out of a file; - reads standard input
    #[arg(long, value_name = "FILE")]
    file: Option<String>,
    /// The phase it belongs to: queue, work or review [default: the schema's, else where the item stands]
    #[arg(long, value_name = "ROLE")]
    phase: Option<Role>,
    /// The fence of your claim
    #[arg(long, value_name = "NUMBER")]
    fence: Option<u64>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// The item
    item: String,
    /// The note's name on the item
    key: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// The item
    item: String,
}

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "docket note rm [OPTIONS] <ITEM> <KEY|--all>",
    group(ArgGroup::new("which").required(true).args(["key", "all"]))
)]
pub(crate) struct RemoveArgs {
    /// The item
    item: String,
    /// The note's name on the item
    key: Option<String>,
    /// All notes of the item
    #[arg(long)]
    all: bool,
    /// The fence of your claim
    #[arg(long, value_name = "NUMBER")]
    fence: Option<u64>,
}

pub(crate) async fn run(shell: &Shell, act: Act) -> Result<(), Failure> {
    match act {
        Act::Set(args) => set(shell, args).await,
        Act::Show(args) => show(shell, args).await,
        Act::List(args) => list(shell, args).await,
        Act::Rm(args) => remove(shell, args).await,
    }
}

async fn set(shell: &Shell, args: SetArgs) -> Result<(), Failure> {
    let body = values::text(&shell.around, args.body.as_deref(), args.file.as_deref(), "body")?;
    let note = NotePut {
        item: values::item(&args.item)?,
        key: values::name(&args.key, "key")?,
        phase: args.phase,
        body: body.ok_or_else(|| Error::validation(Reason::MissingField, "the note has no body").at("body"))?,
        by: None,
        fence: values::fence(args.fence),
    };
    let session = shell.session(Access::Write).await?;
    let put = PutNotes { project: session.scope(), notes: vec![note], atomic: true };
    let written = session.engine.run(session.call(), put).await?;
    shell.out.answer(&written, |paint| {
        let mut lines = Vec::new();
        for note in written.notes.iter().flatten() {
            lines.push(format!("{} {} ({})", paint.good("wrote"), escape::line(note.key.as_str()), note.phase));
            lines.extend(note.warning.iter().map(|warning| format!("  warning: {}", escape::line(warning))));
        }
        for progress in
            written.items.values().filter_map(|item| item.guide.progress).filter(|progress| progress.total > 0)
        {
            lines.push(
                paint.dim(&format!(
                    "  {} of {} required notes of this phase are written",
                    progress.filled, progress.total
                )),
            );
        }
        lines
    })
}

async fn show(shell: &Shell, args: ShowArgs) -> Result<(), Failure> {
    let item = values::item(&args.item)?;
    let key = values::name(&args.key, "key")?;
    let session = shell.session(Access::Read).await?;
    let notes = of_item(&session, &item).await?;
    let known: Vec<String> = notes.iter().map(|note| note.key.to_string()).collect();
    let note = notes.into_iter().find(|note| note.key == key).ok_or_else(|| {
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Error::not_found(format!("{item} has no note \"{key}\"; it has {known}"))
    })?;
    shell.out.answer(&super::without_credentials(&note)?, |_| {
        // The last line end is the printer's own.
        let body = escape::block(note.body.as_str());
        vec![body.strip_suffix('\n').unwrap_or(&body).to_owned()]
    })
}

async fn list(shell: &Shell, args: ListArgs) -> Result<(), Failure> {
    let item = values::item(&args.item)?;
    let session = shell.session(Access::Read).await?;
    let notes = of_item(&session, &item).await?;
    shell.out.answer(&super::without_credentials(&notes)?, |paint| {
        let mut rows = Rows::new(paint, &["KEY", "PHASE", "CHARACTERS", "CHANGED", "BY"]);
        for note in &notes {
            rows.add(vec![
                Text::key(note.key.as_str()),
                Text::plain(note.phase.as_str()),
                Text::number(note.body.as_str().chars().count()),
                Text::dim(listing::moment(note.modified_at)),
                Text::dim(note.by.as_ref().map_or("", |by| by.actor.id.as_str())),
            ]);
        }
        if rows.is_empty() { vec![paint.dim("no notes")] } else { rows.lines() }
    })
}

async fn remove(shell: &Shell, args: RemoveArgs) -> Result<(), Failure> {
    let item = values::item(&args.item)?;
    let key = args.key.as_deref().map(|key| values::name(key, "key")).transpose()?;
    let session = shell.session(Access::Write).await?;
    let (of, fence) = (Some((item.clone(), key.clone())), values::fence(args.fence));
    let remove = RemoveNotes { project: session.scope(), ids: Vec::new(), of, fence };
    let removed = session.engine.run(session.call(), remove).await?;
    if let (0, Some(key)) = (removed.removed, &key) {
        return Err(Error::not_found(format!("{item} has no note \"{key}\"")).into());
    }
    shell.out.answer(&removed, |_| vec![format!("removed {}", super::count(removed.removed, "note"))])
}

async fn of_item(session: &Session, item: &ItemRef) -> Result<Vec<Note>, Failure> {
    let (_, mut notes) = session.engine.notes_of(&session.scope(), item).await?;
    notes.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(notes)
}
