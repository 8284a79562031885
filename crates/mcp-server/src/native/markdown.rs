//! The part of `plan` that reads an outline in Markdown.

use docket_core::Error;
use docket_core::command::{ImportMarkdown, ImportedItem};
use docket_core::model::{ItemRef, Text};
use docket_core::store::ProjectRef;
use serde_json::{Map, Value};

use super::common::{Writer, say_one};
use super::split::{Split, put};
use crate::answer::Answer;
use crate::args::name;
use crate::input::Fields;
use crate::session::Session;

/// Makes items of an outline, or says what would be made.
pub(super) async fn import(
    session: &Session,
    writer: &Writer,
    project: ProjectRef,
    mut fields: Fields,
    dry: bool,
) -> Result<Answer, Error> {
    if let Some(other) = ["items", "edges", "blankNotes"].into_iter().find(|name| fields.has(name)) {
        return Err(say_one(other, "items and markdown: an outline has no edges and no notes"));
    }
    let command = ImportMarkdown {
        project,
        markdown: fields.need("markdown", Text::parse)?,
        parent: fields.parsed("parent", str::parse::<ItemRef>)?,
        status: fields.parsed("status", name)?,
        preview: dry,
    };
    let imported = session.engine().run(writer.call(session), command).await?;
    let mut split = Split::default();
    split.say("dryRun", dry.then_some(true));
    split.say("items", imported.items.iter().map(row).collect::<Vec<_>>());
    if dry {
        // A preview is read by whoever wants to see how the outline was understood.
        for item in &imported.items {
            split.quote(&item.line.to_string(), &item.title);
        }
    }
    Ok(split.answer())
}

fn row(item: &ImportedItem) -> Value {
    let mut told = Map::new();
    put(&mut told, "line", item.line);
    put(&mut told, "key", &item.key);
    put(&mut told, "status", &item.status);
    put(&mut told, "parentLine", item.parent_line);
    Value::Object(told)
}
