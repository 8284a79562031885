//! The verbs, one a file: parse, call the engine, print. None of them holds a rule.

pub(crate) mod advance;
mod agents;
pub(crate) mod answer;
pub(crate) mod ask;
pub(crate) mod attach;
pub(crate) mod backup;
pub(crate) mod blocked;
pub(crate) mod brief;
pub(crate) mod check;
pub(crate) mod claim;
mod clients;
pub(crate) mod close;
pub(crate) mod comment;
pub(crate) mod completions;
mod contract;
mod crew;
pub(crate) mod detach;
pub(crate) mod doctor;
pub(crate) mod estimate;
pub(crate) mod events;
pub(crate) mod export;
pub(crate) mod finish;
pub(crate) mod import;
pub(crate) mod import_markdown;
pub(crate) mod inbox;
pub(crate) mod init;
pub(crate) mod item;
pub(crate) mod key;
pub(crate) mod knowledge;
pub(crate) mod learn;
pub(crate) mod link;
mod listing;
pub(crate) mod mcp;
pub(crate) mod next;
pub(crate) mod note;
pub(crate) mod overview;
mod progress;
pub(crate) mod project;
pub(crate) mod release;
pub(crate) mod restore;
pub(crate) mod runner;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod session;
mod snapshot;
pub(crate) mod start;
pub(crate) mod submit;
pub(crate) mod tree;
pub(crate) mod unlink;
mod values;
pub(crate) mod verdict;
pub(crate) mod verify;
pub(crate) mod why;
pub(crate) mod withdraw;

use docket_core::command::Imported;
use docket_core::model::Key;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::args::Verb;
use crate::exit::Failure;
use crate::names::Names;
use crate::session::{Session, Shell};

/// Runs a verb.
pub(crate) async fn run(shell: &Shell, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Init(args) => init::run(shell, args).await,
        Verb::Mcp(args) => Box::pin(mcp::run(shell, args)).await,
        Verb::Serve(args) => serve::run(shell, args).await,
        Verb::Runner(args) => Box::pin(runner::run(shell, args)).await,
        Verb::Item(act) => item::run(shell, act).await,
        Verb::Tree(args) => tree::run(shell, args).await,
        Verb::Next(args) => next::run(shell, args).await,
        Verb::Start(args) => start::run(shell, args).await,
        Verb::Finish(args) => finish::run(shell, args).await,
        Verb::Session(act) => session::run(shell, act).await,
        Verb::Claim(args) => claim::run(shell, args).await,
        Verb::Release(args) => release::run(shell, args).await,
        Verb::Advance(args) => advance::run(shell, args).await,
        Verb::Close(args) => close::run(shell, args).await,
        Verb::Brief(act) => brief::run(shell, act).await,
        Verb::Verify(args) => verify::run(shell, args).await,
        Verb::Verdict(args) => verdict::run(shell, args).await,
        Verb::Check(act) => check::run(shell, act).await,
        Verb::Submit(args) => submit::run(shell, args).await,
        Verb::Ask(args) => ask::run(shell, args).await,
        Verb::Answer(args) => answer::run(shell, args).await,
        Verb::Withdraw(args) => withdraw::run(shell, args).await,
        Verb::Inbox(args) => inbox::run(shell, args).await,
        Verb::Comment(args) => comment::run(shell, args).await,
        Verb::Attach(args) => attach::run(shell, args).await,
        Verb::Detach(args) => detach::run(shell, args).await,
        Verb::Learn(args) => learn::run(shell, args).await,
        Verb::Knowledge(act) => knowledge::run(shell, act).await,
        Verb::Note(act) => note::run(shell, act).await,
        Verb::Link(args) => link::run(shell, args).await,
        Verb::Unlink(args) => unlink::run(shell, args).await,
        Verb::Why(args) => why::run(shell, args).await,
        Verb::Blocked(args) => blocked::run(shell, args).await,
        Verb::Events(args) => events::run(shell, args).await,
        Verb::Search(args) => search::run(shell, args).await,
        Verb::Overview(args) => overview::run(shell, args).await,
        Verb::Estimate(args) => estimate::run(shell, args).await,
        Verb::Project(act) => project::run(shell, act).await,
        Verb::Key(act) => key::run(shell, act).await,
        Verb::Doctor(args) => doctor::run(shell, args).await,
        Verb::Backup(args) => backup::run(shell, args).await,
        Verb::Restore(args) => restore::run(shell, args).await,
        Verb::Export(args) => export::run(shell, args).await,
        Verb::Import(args) => import::run(shell, args).await,
        Verb::ImportMarkdown(args) => import_markdown::run(shell, args).await,
        Verb::Completions(args) => completions::run(&args),
    }
}

/// "1 note", "2 notes".
fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// "1 project, 3 items, 2 edges and 0 notes", and what else there is.
fn counts(rows: &Imported) -> String {
    let always = [(rows.projects, "project"), (rows.items, "item"), (rows.edges, "edge"), (rows.notes, "note")];
    let more = [
        (rows.briefs, "brief"),
        (rows.questions, "question"),
        (rows.comments, "comment"),
        (rows.links, "link"),
        (rows.sessions, "session"),
        (rows.entries, "entry of knowledge"),
    ];
    let said = always.into_iter().chain(more.into_iter().filter(|(number, _)| *number > 0));
    let said: Vec<String> = said.map(|(number, what)| count(number, what)).collect();
    match said.split_last() {
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// An answer of the engine that lists items: their claims say nothing of who holds them.
fn to_value<T: Serialize>(answer: &T) -> Result<Value, Failure> {
    let mut value = serde_json::to_value(answer).map_err(std::io::Error::from)?;
    strip(&mut value, "claim", "holder");
    Ok(value)
}

/// An answer of the engine with the short key of every item in it, beside its id.
fn with_keys<T: Serialize>(answer: &T, session: &Session, names: &Names) -> Result<Value, Failure> {
    let mut value = serde_json::to_value(answer).map_err(std::io::Error::from)?;
    add_keys(&mut value, session, names);
    Ok(value)
}

fn add_keys(value: &mut Value, session: &Session, names: &Names) {
    match value {
        Value::Object(fields) => {
            if !fields.contains_key("key")
                && let Some(key) = key_of(fields, session, names)
            {
                let rest = std::mem::take(fields);
                fields.insert("key".to_owned(), Value::String(key.to_string()));
                fields.extend(rest);
            }
            fields.values_mut().for_each(|inner| add_keys(inner, session, names));
        }
        Value::Array(values) => values.iter_mut().for_each(|inner| add_keys(inner, session, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The key of an item that is here whole, or by its id.
fn key_of(fields: &Map<String, Value>, session: &Session, names: &Names) -> Option<Key> {
    if let Some(id) = fields.get("item").and_then(Value::as_str) {
        return names.key(id.parse().ok()?);
    }
    let (project, number) = (fields.get("project")?.as_str()?, fields.get("number")?.as_u64()?.try_into().ok()?);
    session.projects.iter().find(|known| known.id.to_string() == project).map(|known| known.key(number))
}

/// Notes and events without the credentials that their actors gave.
fn without_credentials<T: Serialize>(answer: &T) -> Result<Value, Failure> {
    let mut value = serde_json::to_value(answer).map_err(std::io::Error::from)?;
    without_proofs(&mut value);
    Ok(value)
}

/// Takes credentials out: whoever reads an answer or a file has no use for them but a bad one.
fn without_proofs(value: &mut Value) {
    strip(value, "actor", "proof");
}

/// Takes a field out of every object of a name.
fn strip(value: &mut Value, object: &str, field: &str) {
    match value {
        Value::Object(fields) => {
            if let Some(inner) = fields.get_mut(object).and_then(Value::as_object_mut) {
                inner.remove(field);
            }
            fields.values_mut().for_each(|inner| strip(inner, object, field));
        }
        Value::Array(values) => values.iter_mut().for_each(|inner| strip(inner, object, field)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
