//! `advance`: moves items by triggers or to statuses, in order; or closes a whole subtree.

use docket_core::command::{Advance, Advanced, CloseOutcome, CloseTree, MoveRequest, MoveResult, TreeClosed, What};
use docket_core::model::{ItemRef, Trigger};
use docket_core::workflow::Target;
use docket_core::{Error, Reason};
use rmcp::model::{JsonObject, Tool};
use serde_json::{Map, Value, json};

use super::common::{Writer, need_item, project_of_item, say_one};
use super::error::{error_value, items_of};
use super::item_args::{own_fence, version};
use super::moved;
use super::names::Names;
use super::schema::{self, Effect, flag, objects, text, text_of, whole};
use super::split::{Split, put};
use super::work::target;
use crate::answer::Answer;
use crate::args::{check_batch, long_text};
use crate::input::Fields;
use crate::session::Session;

const KNOWN: &[&str] = &[
    "id",
    "to",
    "summary",
    "fence",
    "version",
    "moves",
    "atomic",
    "tree",
    "force",
    "dryRun",
    "project",
    "actor",
    "requestId",
];
const MOVE: &[&str] = &["id", "to", "summary", "fence", "version"];

pub(super) fn tool() -> Tool {
    let properties = json!({
        "id": text(),
        "to": text_of("start, complete, block, hold, resume, cancel, reopen, or a status"),
        "summary": text(), "fence": whole(), "version": whole(),
        "moves": objects("many at once: {id,to,summary,fence,version}"),
        "atomic": flag(),
        "tree": flag(), "force": flag(),
        "dryRun": flag(),
    });
    let about = "Move items, each for itself or (atomic) all or none. tree: close id and all beneath, by complete or cancel, \
                 each by its gates; force: past notes, blockers and review.";
    schema::tool("advance", about, Effect::Writes, properties, &[])
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    let writer = Writer::read(session, &mut fields)?;
    let dry = fields.flag("dryRun")?.unwrap_or(false);
    let atomic = fields.flag("atomic")?.unwrap_or(false);
    if fields.flag("tree")?.unwrap_or(false) {
        return tree(session, &writer, fields, dry).await;
    }
    let (moves, alone) = match fields.list("moves")? {
        None => (vec![request(&mut fields)?], true),
        Some(_) if fields.has("id") || fields.has("to") => return Err(say_one("moves", "moves, and id with to")),
        Some(moves) if moves.is_empty() => {
            return Err(Error::validation(Reason::TooFew, "moves must not be empty").at("moves"));
        }
        Some(moves) => {
            check_batch("moves", moves.len())?;
            let read =
                |(index, value): (usize, Value)| request(&mut Fields::inside(&format!("moves[{index}]"), value, MOVE)?);
            (moves.into_iter().enumerate().map(read).collect::<Result<_, Error>>()?, false)
        }
    };
    let command = Advance { project: project_of_item(session, &mut fields).await?, moves, atomic };
    fields.end()?;
    let done = if dry {
        session.engine().rehearse(writer.call(session), &command).await?
    } else if let ([only], true) = (command.moves.as_slice(), alone) {
        let item = only.item.clone();
        session.with_sign_off(&command.project, &item, || make(session, &writer, &command)).await?
    } else {
        session.engine().run(writer.call(session), command).await?
    };
    answer(session, &done.results, alone, dry).await
}

/// One move; that it is refused is a failure.
async fn make(session: &Session, writer: &Writer, command: &Advance) -> Result<Advanced, Error> {
    let done = session.engine().run(writer.call(session), command.clone()).await?;
    match done.results.as_slice() {
        [MoveResult::Refused(refused)] => Err(refused.error.clone()),
        _ => Ok(done),
    }
}

fn request(fields: &mut Fields) -> Result<MoveRequest, Error> {
    Ok(MoveRequest {
        item: need_item(fields)?,
        target: fields.need("to", target)?,
        summary: fields.free("summary", long_text)?,
        by: None,
        fence: own_fence(fields)?,
        expected_version: version(fields)?,
    })
}

/// One move that is refused is a failed call; of many, each is told by its own row.
async fn answer(session: &Session, results: &[MoveResult], alone: bool, dry: bool) -> Result<Answer, Error> {
    if let ([MoveResult::Refused(refused)], true) = (results, alone) {
        return Err(refused.error.clone());
    }
    let mentioned = results.iter().flat_map(|result| match result {
        MoveResult::Applied(applied) => moved::items_of(applied),
        MoveResult::Refused(refused) => refused.item.into_iter().chain(items_of(&refused.error)).collect(),
    });
    let names = Names::of(session, mentioned.collect()).await;
    let row = |result: &MoveResult| match result {
        MoveResult::Applied(applied) => Value::Object(moved::applied(applied, &names).trusted),
        MoveResult::Refused(refused) => {
            let mut told = Map::new();
            put(&mut told, "key", refused.item.map_or_else(|| refused.asked.clone(), |item| names.get(item)));
            put(&mut told, "error", error_value(&refused.error, &names));
            Value::Object(told)
        }
    };
    let mut split = Split::default();
    split.say("dryRun", dry.then_some(true));
    split.say("moves", results.iter().map(row).collect::<Vec<_>>());
    Ok(split.answer())
}

async fn tree(session: &Session, writer: &Writer, mut fields: Fields, dry: bool) -> Result<Answer, Error> {
    if let Some(other) = ["moves", "summary", "version"].into_iter().find(|name| fields.has(name)) {
        let message = format!("{other} does not go with tree: say id, and to as complete or cancel");
        return Err(Error::validation(Reason::BadValue, message).at(other));
    }
    let force = fields.flag("force")?.unwrap_or(false);
    let root: ItemRef = need_item(&mut fields)?;
    let cancel = match fields.parsed("to", target)? {
        None | Some(Target::Trigger(Trigger::Complete)) => false,
        Some(Target::Trigger(Trigger::Cancel)) => true,
        Some(_) => {
            return Err(Error::validation(Reason::UnknownValue, "to must be complete or cancel with tree").at("to"));
        }
    };
    let what = if force { What::Whole(root) } else { What::Tree(root) };
    let fence = own_fence(&mut fields)?;
    let command = CloseTree { project: project_of_item(session, &mut fields).await?, what, cancel, fence };
    fields.end()?;
    let closed = if dry {
        session.engine().rehearse(writer.call(session), &command).await?
    } else {
        session.engine().run(writer.call(session), command).await?
    };
    Ok(tree_answer(session, &closed, dry).await)
}

async fn tree_answer(session: &Session, closed: &TreeClosed, dry: bool) -> Answer {
    let mentioned = closed.results.iter().map(|result| result.item).chain(moved::cascaded(&closed.cascades));
    let names = Names::of(session, mentioned.collect()).await;
    let (mut done, mut already, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    for result in &closed.results {
        let key = names.get(result.item);
        match &result.outcome {
            CloseOutcome::Closed { .. } => done.push(key),
            CloseOutcome::AlreadyClosed => already.push(key),
            CloseOutcome::Refused(error) => refused.push(json!({ "key": key, "error": error_value(error, &names) })),
            CloseOutcome::BlockerRefused => refused.push(json!({ "key": key, "reason": "blocker-refused" })),
        }
    }
    let mut split = Split::default();
    split.say("dryRun", dry.then_some(true));
    split.say("closed", done);
    split.say("alreadyClosed", already);
    split.say("refused", refused);
    split.say("cascades", moved::cascades(&closed.cascades, &names));
    split.answer()
}
