//! `edit`: changes fields of items, each by its own patch or many by one, and moves them in the tree.

use docket_core::command::{Edit, Edited, Patch};
use docket_core::model::ItemRef;
use docket_core::{Error, Reason};
use rmcp::model::{JsonObject, Tool};
use serde_json::{Map, Value, json};

use super::common::{Writer, project_of_item, say_one};
use super::error::{error_value, items_of};
use super::item_args::{OWN_PATCH, PATCH, own_patch, patch};
use super::names::Names;
use super::schema::{self, Effect, flag, object, objects, texts};
use super::split::{Split, put};
use crate::answer::Answer;
use crate::args::check_batch;
use crate::input::Fields;
use crate::session::Session;

const KNOWN: &[&str] = &["items", "ids", "patch", "atomic", "dryRun", "project", "actor", "requestId"];

pub(super) fn tool() -> Tool {
    let properties = json!({
        "items": objects("{id, fence, version} and patch's fields"),
        "ids": texts(),
        "patch": object("title, parent and plan's intent to requiresVerification"),
        "atomic": flag(), "dryRun": flag(),
    });
    let about = "Change items, or ids by one patch; null clears. atomic (default): all or none.";
    schema::tool("edit", about, Effect::Writes, properties, &[])
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    let writer = Writer::read(session, &mut fields)?;
    let atomic = fields.flag("atomic")?.unwrap_or(true);
    let dry = fields.flag("dryRun")?.unwrap_or(false);
    let patches = patches(&mut fields)?;
    let asked: Vec<String> = patches.iter().map(|patch| patch.item.to_string()).collect();
    let command = Edit { project: project_of_item(session, &mut fields).await?, patches, atomic };
    let edited = if dry {
        session.engine().rehearse(writer.call(session), &command).await?
    } else {
        session.engine().run(writer.call(session), command).await?
    };
    Ok(answer(session, &asked, &edited, dry).await)
}

fn patches(fields: &mut Fields) -> Result<Vec<Patch>, Error> {
    match (fields.list("items")?, fields.list("ids")?, fields.value("patch")) {
        (Some(items), None, None) => {
            check_some("items", items.len())?;
            let read = |(index, value): (usize, Value)| {
                own_patch(&mut Fields::inside(&format!("items[{index}]"), value, OWN_PATCH)?)
            };
            items.into_iter().enumerate().map(read).collect()
        }
        (None, Some(ids), Some(fields)) => {
            check_some("ids", ids.len())?;
            let read = |(index, id): (usize, Value)| {
                let at = format!("ids[{index}]");
                let text = id.as_str().ok_or_else(|| crate::input::wrong_type(&at, "a string", &id))?;
                let item = text.parse::<ItemRef>().map_err(|invalid| Error::from(invalid.at(&at)))?;
                patch(&mut Fields::inside("patch", fields.clone(), PATCH)?, item)
            };
            ids.into_iter().enumerate().map(read).collect()
        }
        (None, None, None) => Err(fields.missing("items")),
        (None, Some(_), None) => Err(fields.missing("patch")),
        (None, None, Some(_)) => Err(fields.missing("ids")),
        (Some(_), _, _) => Err(say_one("items", "items, and ids with patch")),
    }
}

fn check_some(name: &str, length: usize) -> Result<(), Error> {
    if length == 0 {
        return Err(Error::validation(Reason::TooFew, format!("{name} must not be empty")).at(name));
    }
    check_batch(name, length)
}

async fn answer(session: &Session, asked: &[String], edited: &Edited, dry: bool) -> Answer {
    let keys = session.keys(edited.items.iter().flatten()).await;
    let mentioned = edited.items.iter().filter_map(|done| done.as_ref().err()).flat_map(items_of);
    let names = Names::of(session, mentioned.collect()).await;
    let rows = asked.iter().zip(&edited.items).map(|(asked, done)| {
        let mut told = Map::new();
        match done {
            Ok(item) => {
                put(&mut told, "key", keys.of(item));
                put(&mut told, "version", item.version);
            }
            Err(error) => {
                put(&mut told, "id", asked);
                put(&mut told, "error", error_value(error, &names));
            }
        }
        Value::Object(told)
    });
    let mut split = Split::default();
    split.say("dryRun", dry.then_some(true));
    split.say("items", rows.collect::<Vec<_>>());
    split.answer()
}
