//! `query_dependencies`: the edges of an item, and the graph they belong to.

use docket_core::Error;
use docket_core::model::{Edge, EdgeKind, Item, ItemId, Priority, Role};
use docket_core::query::Dependencies;
use rmcp::model::{JsonObject, Tool};
use serde::Serialize;
use serde_json::json;

use super::args::{item_ref, one_of};
use super::manage_dependencies::TYPES;
use super::query_notes::none_of_unknown;
use super::render::Dependency;
use super::schema::{self, Effect, flag, object, rows, shape, text, word};
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

const KNOWN: &[&str] = &["itemId", "direction", "type", "includeItemInfo", "neighborsOnly"];

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Direction {
    #[default]
    All,
    Incoming,
    Outgoing,
}

const DIRECTIONS: &[(&str, Direction)] =
    &[("incoming", Direction::Incoming), ("outgoing", Direction::Outgoing), ("all", Direction::All)];

pub(super) fn tool() -> Tool {
    let input = object(
        json!({
            "itemId": text(""),
            "direction": word(&["incoming", "outgoing", "all"], "incoming: what blocks it; outgoing: what it blocks; default all"),
            "type": word(&["BLOCKS", "IS_BLOCKED_BY", "RELATES_TO"], ""),
            "includeItemInfo": flag("title, role and priority of both ends"),
            "neighborsOnly": flag("default true; false adds the whole graph in order, with its depth"),
        }),
        &["itemId"],
    );
    let output = json!({ "dependencies": rows(), "counts": shape(), "graph": shape() });
    schema::tool("query_dependencies", "Read the dependencies of an item.", Effect::Reads, input, output)
}

#[derive(Default, Serialize)]
struct DependenciesAnswer<'a> {
    dependencies: Vec<EdgeRow<'a>>,
    counts: Counts,
    #[serde(skip_serializing_if = "Option::is_none")]
    graph: Option<Graph<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EdgeRow<'a> {
    #[serde(flatten)]
    edge: Dependency,
    #[serde(skip_serializing_if = "Option::is_none")]
    effective_unblock_role: Option<Role>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from_item: Option<End<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to_item: Option<End<'a>>,
}

#[derive(Serialize)]
struct End<'a> {
    title: &'a str,
    role: Role,
    priority: Priority,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Counts {
    incoming: usize,
    outgoing: usize,
    relates_to: usize,
}

#[derive(Serialize)]
struct Graph<'a> {
    chain: &'a [ItemId],
    depth: usize,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    let item = fields.need("itemId", item_ref)?;
    let direction = fields.parsed("direction", one_of(DIRECTIONS))?.unwrap_or_default();
    let kind = fields.parsed("type", one_of(TYPES))?.map(super::manage_dependencies::DependencyType::edge);
    let with_ends = fields.flag("includeItemInfo")?.unwrap_or(false);
    let graph = !fields.flag("neighborsOnly")?.unwrap_or(true);
    let found = session.engine().dependencies(session.project(), &item, graph).await.map(Some);
    let Some(found) = none_of_unknown(&item, found)? else { return Ok(Answer::of(&DependenciesAnswer::default())) };
    let goes = |edge: &&Edge| match direction {
        Direction::All => true,
        Direction::Incoming => edge.to == found.item.id,
        Direction::Outgoing => edge.from == found.item.id,
    };
    let shown =
        found.edges.iter().filter(goes).filter(|edge| kind.is_none_or(|kind| kind == (edge.kind, edge.inverse)));
    let dependencies = shown.map(|edge| row(&found, edge, with_ends)).collect();
    let graph =
        found.chain.as_ref().map(|chain| Graph { chain: &chain.items, depth: chain.depth, truncated: chain.truncated });
    Ok(Answer::of(&DependenciesAnswer { dependencies, counts: counts(&found), graph }))
}

fn row<'a>(found: &'a Dependencies, edge: &Edge, with_ends: bool) -> EdgeRow<'a> {
    let shown = Dependency::of(edge);
    let end = |id: ItemId| found.ends.get(&id).filter(|_| with_ends).map(end_of);
    EdgeRow {
        effective_unblock_role: (edge.kind == EdgeKind::Blocks).then(|| edge.threshold()),
        from_item: end(shown.from_item_id),
        to_item: end(shown.to_item_id),
        edge: shown,
    }
}

fn end_of(item: &Item) -> End<'_> {
    End { title: item.title.as_str(), role: item.role, priority: item.priority }
}

/// All edges of the item, whatever was filtered.
fn counts(found: &Dependencies) -> Counts {
    let count = |matches: &dyn Fn(&Edge) -> bool| found.edges.iter().filter(|edge| matches(edge)).count();
    Counts {
        incoming: count(&|edge| edge.kind == EdgeKind::Blocks && edge.to == found.item.id),
        outgoing: count(&|edge| edge.kind == EdgeKind::Blocks && edge.from == found.item.id),
        relates_to: count(&|edge| edge.kind == EdgeKind::RelatesTo),
    }
}
