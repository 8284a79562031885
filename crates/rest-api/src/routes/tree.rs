//! Trees: show them, make one at once, close what lies beneath an item.

use std::collections::{BTreeMap, BTreeSet};

use axum::extract::State;
use docket_core::command::{CloseTree, Create, End, NewEdge, NewItem, NewNote, Parent, TreeClosed, What};
use docket_core::model::{Edge, EdgeKind, Fence, Item, ItemId, ItemRef, Name, NoteId, Role, Slug};
use docket_core::store::{Around, Filter, Order, ProjectRef, SortBy};
use docket_core::{Error, Reason, limits};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::item::CreatedOut;
use super::item_body::TreeItemBody;
use crate::answer::{self, Answer, ItemOut, children, json, ok};
use crate::extract::{Idempotency, ItemPath, Json, MaybeJson, Query};
use crate::gate::Caller;
use crate::keys::Keys;
use crate::limits::TREE_ITEMS;

/// An item with what lies beneath it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Branch {
    /// The item.
    item: ItemOut,
    /// What lies beneath it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(no_recursion)]
    children: Vec<Branch>,
}

/// Some trees.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Forest {
    /// Their roots.
    roots: Vec<Branch>,
    /// Whether there is more than is shown.
    truncated: bool,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct TreeQuery {
    /// Of this project; of all where it is not said.
    project: Option<Slug>,
    /// Also what is closed.
    all: bool,
}

/// A tree to be made, whole or not at all.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewTree {
    /// Where it goes; may be left out where there is one project.
    project: Option<Slug>,
    /// What its root lies beneath.
    parent: Option<ItemRef>,
    /// Its root, with what lies beneath.
    root: TreeItemBody,
    /// Edges between its items, or with items that exist.
    #[serde(default)]
    edges: Vec<TreeEdge>,
    /// Whether every note that a schema knows is made, blank.
    #[serde(default)]
    blank_notes: bool,
}

/// An edge of a new tree. An end is the `ref` of an item in this request, or an item that exists.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TreeEdge {
    /// Where it begins: the blocker.
    from: String,
    /// Where it ends.
    to: String,
    /// What it says; `blocks` where it is not said.
    kind: Option<EdgeKind>,
    /// How far the blocker must come.
    unblock_at: Option<Role>,
}

/// What was made.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TreeMade {
    /// The items, parents before children.
    items: Vec<CreatedOut>,
    /// The edges.
    edges: Vec<Edge>,
    /// The notes.
    notes: Vec<NoteMade>,
}

/// A note that was made.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct NoteMade {
    /// Names it for ever.
    id: NoteId,
    /// The name of its item in the request, where it has one.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    local: Option<String>,
    /// Its name there.
    key: Name,
    /// The phase it belongs to.
    phase: Role,
}

/// How what lies beneath an item is closed.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct CloseBody {
    /// Whether it is given up: then no note and no blocker is asked for.
    cancel: bool,
    /// The fence of the caller's claim on the item.
    fence: Option<u64>,
}

/// How an item and what lies beneath it is closed.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct CloseTreeBody {
    /// Whether it is given up: then nothing has to be shown.
    cancel: bool,
    /// Whether each item is closed by its own gates, as far as they allow, instead of all or nothing by force.
    gated: bool,
    /// The fence of the caller's claim on the item.
    fence: Option<u64>,
}

/// Show trees
#[utoipa::path(
    get, path = "/tree", tag = "trees", params(TreeQuery),
    responses((status = 200, description = "The roots with what lies beneath them", body = Forest)),
)]
pub(crate) async fn forest(State(shared): answer::State, caller: Caller, Query(query): Query<TreeQuery>) -> Answer {
    let filter = Filter {
        project: shared.scope(&caller, query.project.as_ref()).await?,
        parent: Some(None),
        sort: SortBy::CreatedAt,
        order: Order::Asc,
        limit: limits::PAGE,
        ..Filter::default()
    };
    let found = caller.engine.list(&filter, None).await?;
    let cut = found.next.is_some();
    let roots: Vec<ItemRef> = found.items.iter().map(|item| ItemRef::Id(item.id)).collect();
    ok(&grow(&shared, &caller, &roots, query.all, cut).await?)
}

/// Show an item with what lies beneath it
#[utoipa::path(
    get, path = "/items/{id}/tree", tag = "trees",
    params(("id" = ItemRef, Path, description = "The item"), TreeQuery),
    responses((status = 200, description = "One tree", body = Forest)),
)]
pub(crate) async fn beneath(
    State(shared): answer::State,
    caller: Caller,
    ItemPath(item): ItemPath,
    Query(query): Query<TreeQuery>,
) -> Answer {
    ok(&grow(&shared, &caller, std::slice::from_ref(&item), query.all, false).await?)
}

async fn grow(
    shared: &crate::app::Shared,
    caller: &Caller,
    roots: &[ItemRef],
    all: bool,
    cut: bool,
) -> Result<Forest, Error> {
    let around = Around { subtree: Some(TREE_ITEMS), subtree_bytes: Some(limits::PAGE_BYTES), ..Around::default() };
    let seen = caller.engine.show(&ProjectRef::Any, roots, around).await?;
    let keys = shared.keys(&caller.engine, seen.items.values()).await;
    let below = children(seen.subtree.rows.iter().filter_map(|id| seen.items.get(id)));
    let mut branches = Vec::new();
    for root in roots {
        branches.extend(branch(seen.resolve(root)?, &below, &keys, all));
    }
    Ok(Forest { roots: branches, truncated: cut || seen.subtree.truncated })
}

/// The item, if it or anything beneath it is to be shown. Trees are no deeper than a workflow may allow.
fn branch(item: &Item, below: &BTreeMap<ItemId, Vec<&Item>>, keys: &Keys, all: bool) -> Option<Branch> {
    let children: Vec<Branch> =
        below.get(&item.id).into_iter().flatten().filter_map(|child| branch(child, below, keys, all)).collect();
    let shown = all || item.role.is_open() || !children.is_empty();
    shown.then(|| Branch { item: ItemOut::listed(item.clone(), keys), children })
}

/// Make a tree at once
///
/// Items, edges and notes: all of them or none.
#[utoipa::path(
    post, path = "/trees", tag = "trees",
    request_body(content = NewTree, example = json!({
        "root": {"title": "Compiler", "children": [
            {"ref": "lexer", "title": "Lexer"},
            {"ref": "parser", "title": "Parser", "notes": [{"key": "grammar", "phase": "queue", "body": "LL(1)"}]},
        ]},
        "edges": [{"from": "lexer", "to": "parser"}],
    })),
    responses((status = 201, description = "Made", body = TreeMade)),
)]
pub(crate) async fn create(
    State(shared): answer::State,
    caller: Caller,
    Idempotency(request): Idempotency,
    Json(body): Json<NewTree>,
) -> Answer {
    let project = shared.project(&caller, body.project.as_ref()).await?;
    let mut plan = Plan::default();
    plan.add(&body.root, body.parent.map(Parent::Existing), "root")?;
    let edges = body.edges.iter().enumerate().map(|(at, edge)| plan.edge(at, edge)).collect::<Result<_, _>>()?;
    let places = plan.places;
    let create = Create {
        project,
        items: plan.items,
        edges,
        notes: plan.notes,
        blank_notes: body.blank_notes,
        room_below: false,
        atomic: true,
    };
    let created = caller.engine.run(caller.call(request), create).await.map_err(|error| placed(error, &places))?;
    let mut items = Vec::with_capacity(created.items.len());
    for made in created.items {
        let mut made = made?;
        made.local = made.local.filter(|local| !local.starts_with(UNNAMED));
        items.push(shared.created(&caller, made).await);
    }
    let notes = created.notes.into_iter().map(|note| NoteMade {
        id: note.id,
        local: Some(note.local).filter(|local| !local.starts_with(UNNAMED)),
        key: note.key,
        phase: note.phase,
    });
    json(StatusCode::CREATED, &TreeMade { items, edges: created.edges, notes: notes.collect() })
}

/// Before the names that we give to items without one; no caller can write it.
const UNNAMED: char = '\u{1}';

/// A tree laid out flat, parents before children.
#[derive(Default)]
struct Plan {
    items: Vec<NewItem>,
    notes: Vec<NewNote>,
    named: BTreeSet<String>,
    /// Where each item is written.
    places: Vec<String>,
}

/// The same error, with the place that an item has in the tree.
fn placed(error: Error, places: &[String]) -> Error {
    let field = error.field.as_deref().and_then(|field| field.strip_prefix("items["));
    let place = field.and_then(|field| field.split_once(']')).and_then(|(index, rest)| {
        let place = places.get(index.parse::<usize>().ok()?)?;
        Some(format!("{place}{rest}"))
    });
    let field = place.or_else(|| error.field.clone());
    Error { field, ..error }
}

impl Plan {
    fn add(&mut self, body: &TreeItemBody, parent: Option<Parent>, place: &str) -> Result<(), Error> {
        if self.items.len() >= limits::BATCH {
            let message = format!("a tree must be at most {} items", limits::BATCH);
            return Err(Error::validation(Reason::BatchTooLarge, message).at("root"));
        }
        let local = match &body.local {
            None => format!("{UNNAMED}{}", self.items.len()),
            Some(local) if local.trim().is_empty() || local.chars().any(char::is_control) => {
                return Err(Error::validation(Reason::Blank, format!("{place}.ref must be a name")).at(place));
            }
            Some(local) => local.clone(),
        };
        self.named.extend(body.local.clone());
        let item = body.new_item().map_err(|error| error.at(place))?;
        self.items.push(NewItem { local: Some(local.clone()), parent, ..item });
        self.places.push(place.to_owned());
        for note in &body.notes {
            self.notes.push(NewNote {
                local: local.clone(),
                key: note.key.clone(),
                phase: note.phase,
                body: note.body.clone(),
            });
        }
        for (at, child) in body.children.iter().enumerate() {
            self.add(child, Some(Parent::Local(local.clone())), &format!("{place}.children[{at}]"))?;
        }
        Ok(())
    }

    fn edge(&self, at: usize, edge: &TreeEdge) -> Result<NewEdge, Error> {
        let end = |text: &str, side: &str| {
            if self.named.contains(text) {
                return Ok(End::Local(text.to_owned()));
            }
            text.parse()
                .map(End::Existing)
                .map_err(|invalid: docket_core::Invalid| Error::from(invalid.at(&format!("edges[{at}].{side}"))))
        };
        Ok(NewEdge {
            from: end(&edge.from, "from")?,
            to: end(&edge.to, "to")?,
            kind: edge.kind.unwrap_or(EdgeKind::Blocks),
            unblock_at: edge.unblock_at,
            inverse: false,
        })
    }
}

/// Close what lies beneath an item
///
/// Blockers and children first, each as far as its gates allow; the item itself stays as it is.
#[utoipa::path(
    post, path = "/items/{id}/close-beneath", tag = "trees",
    params(("id" = ItemRef, Path, description = "The item")),
    request_body(content = CloseBody, example = json!({"cancel": true})),
    responses((status = 200, description = "How each item ended, in the order in which they were closed", body = TreeClosed)),
)]
pub(crate) async fn close(
    caller: Caller,
    ItemPath(item): ItemPath,
    Idempotency(request): Idempotency,
    MaybeJson(body): MaybeJson<CloseBody>,
) -> Answer {
    let fence = body.fence.map(Fence);
    let close = CloseTree { project: ProjectRef::Any, what: What::Beneath(item), cancel: body.cancel, fence };
    ok(&caller.engine.run(caller.call(request), close).await?)
}

/// Close an item with everything beneath it
///
/// By force: all of it or nothing. It is the one way past the workflow's path and the notes that are missing on it; criteria must be
/// shown all the same, and what others hold stays theirs. With `gated` blockers and children come first and the item last, each by its
/// own gates: what is refused stays open, with whatever waits for it.
#[utoipa::path(
    post, path = "/items/{id}/close-tree", tag = "trees",
    params(("id" = ItemRef, Path, description = "The item")),
    request_body(content = CloseTreeBody, example = json!({"cancel": true})),
    responses((status = 200, description = "How each item ended, in the order in which they were closed", body = TreeClosed)),
)]
pub(crate) async fn close_whole(
    caller: Caller,
    ItemPath(item): ItemPath,
    Idempotency(request): Idempotency,
    MaybeJson(body): MaybeJson<CloseTreeBody>,
) -> Answer {
    let fence = body.fence.map(Fence);
    let what = if body.gated { What::Tree(item) } else { What::Whole(item) };
    let close = CloseTree { project: ProjectRef::Any, what, cancel: body.cancel, fence };
    ok(&caller.engine.run(caller.call(request), close).await?)
}
