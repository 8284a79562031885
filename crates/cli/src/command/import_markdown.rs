//! `docket import-markdown`: makes items of a Markdown text, all of them or none.

use docket_core::command::ImportMarkdown;
use docket_core::{Error, Reason};

use super::values;
use crate::exit::Failure;
use crate::output::table::{Rows, Text};
use crate::session::{Access, Shell};

const HELP: &str = "\
Headings and nested lists become trees of items; ticked boxes become closed items. What cannot be read is told \
with its line, and then nothing is made.

Examples:
  docket import-markdown plan.md --preview
  docket import-markdown plan.md --parent WEB-3 --status backlog
  pbpaste | docket import-markdown -";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The file to read; - reads standard input
    file: String,
    /// What the outermost items are a part of
    #[arg(long, value_name = "ITEM")]
    parent: Option<String>,
    /// The status of what is not done [default: the workflow's initial one]
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Only say what would be made
    #[arg(long)]
    preview: bool,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    let markdown = values::text(&shell.around, None, Some(&args.file), "FILE")?
        .ok_or_else(|| Error::validation(Reason::MissingField, "there is no text").at("FILE"))?;
    let parent = args.parent.as_deref().map(values::item).transpose()?;
    let session = shell.session(Access::Write).await?;
    let status = args.status.as_deref();
    let status = status.map(|status| values::status(&session.project()?.workflow, status)).transpose()?;
    let import = ImportMarkdown { project: session.project_ref()?, markdown, parent, status, preview: args.preview };
    let imported = session.engine.run(session.call(), import).await.map_err(|error| {
        let message = format!("{}: {}", if args.file == "-" { "standard input" } else { &args.file }, error.message);
        Error { message, ..error }
    })?;
    shell.out.answer(&imported, |paint| {
        let mut rows = Rows::new(paint, &["LINE", "KEY", "STATUS", "TITLE"]);
        for item in &imported.items {
            rows.add(vec![
                Text::number(item.line),
                Text::key(item.key.as_ref().map_or_else(String::new, ToString::to_string)),
                Text::plain(item.status.as_str()),
                Text::plain(format!("{}{}", "  ".repeat(item.depth.into()), item.title)),
            ]);
        }
        let count = super::count(imported.items.len(), "item");
        let sum = if imported.applied {
            paint.good(&format!("made {count}"))
        } else {
            paint.dim(&format!("would make {count}; nothing was made"))
        };
        rows.lines().into_iter().chain([sum]).collect()
    })
}
