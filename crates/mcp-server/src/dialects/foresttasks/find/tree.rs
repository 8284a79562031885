//! A task with everything beneath it.

use std::collections::BTreeMap;

use docket_core::model::{Item, ItemId};
use docket_core::store::Around;
use docket_core::{Error, limits};
use serde_json::{Map, Value, json};

use super::super::task_args::number;
use super::args::{DETAILS, need_task, one_of};
use super::rows::{MOST, Names, Shown, row, say_cut};
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

pub(super) async fn call(session: &Session, mut fields: Fields) -> Result<Answer, Error> {
    let root = need_task(&mut fields, "id")?;
    let depth: Option<u8> = number(&mut fields, "maxDepth")?;
    let full = fields.parsed("detail", one_of(DETAILS))?.unwrap_or(false);
    let around = Around { subtree: Some(limits::SUBTREE), ..Around::default() };
    let seen = session.engine().show(session.project(), std::slice::from_ref(&root), around).await?;
    let root = seen.resolve(&root)?;
    let deepest = depth.map_or(u8::MAX, |depth| root.depth.saturating_add(depth));
    // Parents come before their children, so what is kept hangs together.
    let mut beneath: Vec<&Item> = seen.subtree.rows.iter().filter_map(|id| seen.items.get(id)).collect();
    beneath.retain(|item| item.depth <= deepest && item.id != root.id);
    let cut = (beneath.len() + 1).saturating_sub(MOST);
    beneath.truncate(MOST - 1);
    let names = Names::of(session, beneath.iter().copied().chain([root])).await?;
    let shown = Shown { full, only: None };
    let mut children: BTreeMap<ItemId, Vec<&Item>> = BTreeMap::new();
    for item in &beneath {
        if let Some(parent) = item.parent {
            children.entry(parent).or_default().push(item);
        }
    }
    let node = |item: &Item| row(item, &names, seen.now, &shown);
    let mut answer = Map::new();
    answer.insert("tree".to_owned(), nested(root, &children, &node));
    if seen.subtree.truncated {
        // How many there are is not known, nor how many of those that were not seen lie as deep as was asked for.
        answer.insert("truncated".to_owned(), json!(true));
        let most = limits::SUBTREE;
        let hint =
            format!("more than {most} tasks lie beneath: ask for the trees of its subtasks, or for less with maxDepth");
        answer.insert("hint".to_owned(), json!(hint));
    } else {
        answer.insert("total".to_owned(), json!(beneath.len() + 1 + cut));
        say_cut(&mut answer, cut as u64);
    }
    if full {
        answer.insert("labels".to_owned(), names.labels(std::iter::once(root)));
    }
    Ok(Answer::of(&answer))
}

/// A task with its children inside it. As deep as a tree may be, which is not deep.
fn nested(item: &Item, children: &BTreeMap<ItemId, Vec<&Item>>, node: &impl Fn(&Item) -> Map<String, Value>) -> Value {
    let mut told = node(item);
    if let Some(below) = children.get(&item.id) {
        let below = below.iter().map(|child| nested(child, children, node)).collect();
        told.insert("children".to_owned(), Value::Array(below));
    }
    Value::Object(told)
}
