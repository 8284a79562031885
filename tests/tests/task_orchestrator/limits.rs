//! Lists that are cut: what says so, and where.

use docket_core::limits;
use docket_core::model::{EdgeKind, Item};
use docket_core::store::{ChangeSet, Store as _};
use docket_store_sqlite::{Durability, SqliteOptions, SqliteStore};
use docket_tests::contract::support::{Put, edge, item};
use serde_json::{Value, json};

use crate::{World, each, start, text};

/// Makes this many items beneath another.
fn children(world: &World, parent: &str, many: usize) {
    let items: Vec<Value> = (0..many).map(|number| json!({ "title": format!("child {number}") })).collect();
    for page in items.chunks(limits::BATCH) {
        let arguments = json!({ "operation": "create", "items": page, "parentId": parent });
        assert_eq!(world.ok("manage_items", arguments)["failed"], 0);
    }
}

fn rows(list: &Value) -> usize {
    list.as_array().unwrap_or_else(|| panic!("no list: {list}")).len()
}

#[test]
fn an_overview_says_which_children_are_not_all() {
    let world = World::new();
    let [full, more, few] = ["full", "more", "few"].map(|title| world.item(title));
    children(&world, &full, limits::PAGE);
    children(&world, &more, limits::PAGE + 1);
    children(&world, &few, 1);
    let scoped = |item: &str| {
        world.ok("query_items", json!({ "operation": "overview", "itemId": item, "limit": 2 * limits::PAGE }))
    };
    let cut = scoped(&more);
    assert_eq!((rows(&cut["children"]), &cut["truncated"]), (limits::PAGE, &json!(true)));
    assert_eq!(cut["childCounts"]["queue"], limits::PAGE + 1, "all are counted");
    assert_eq!(text(&cut["children"][0]["title"]), "child 0", "the oldest are shown");
    let whole = scoped(&full);
    assert_eq!((rows(&whole["children"]), whole.get("truncated")), (limits::PAGE, None));
    let all = world.ok("query_items", json!({ "operation": "overview", "includeChildren": true }));
    for (item, shown, truncated) in
        [(&full, limits::PAGE, None), (&more, limits::PAGE, Some(&json!(true))), (&few, 1, None)]
    {
        let row = all["items"].as_array().expect("rows").iter().find(|row| row["id"] == json!(item)).expect("its row");
        assert_eq!((rows(&row["children"]), row.get("truncated")), (shown, truncated), "{}", row["title"]);
    }
    let bare = world.ok("query_items", json!({ "operation": "overview" }));
    assert!(!bare.to_string().contains("truncated"), "nothing was asked for that could be cut: {bare}");
}

#[test]
fn an_operator_who_makes_pages_smaller_makes_all_lists_smaller() {
    let mut world = World::new();
    let roots: Vec<String> = ["a", "b", "c"].map(|title| world.item(title)).into();
    children(&world, &roots[0], 3);
    children(&world, &roots[1], 2);
    let work = |title: &str, trigger: &str| {
        let item = world.child(&roots[2], title);
        world.moves(&item, trigger);
    };
    let active = |world: &World, more: Value| world.ok("get_context", more);
    for (title, trigger) in [("x", "start"), ("y", "start"), ("p", "block"), ("q", "block")] {
        work(title, trigger);
    }
    std::fs::write(world.folder.path().join("docket.toml"), "[limits]\npage = 3\n").expect("a file");
    world.server = start(&world.folder, &[], &[]);
    // Two and their parent, which began with them: as many as a page holds.
    let health = active(&world, json!({}));
    assert_eq!((rows(&health["activeItems"]), rows(&health["blockedItems"])), (3, 2));
    assert!(health.get("truncated").is_none(), "{health}");
    std::fs::write(world.folder.path().join("docket.toml"), "[limits]\npage = 2\n").expect("a file");
    world.server = start(&world.folder, &[], &[]);
    let health = active(&world, json!({}));
    assert_eq!((rows(&health["activeItems"]), rows(&health["blockedItems"])), (2, 2));
    assert_eq!(health["truncated"], true, "{health}");
    let resume = active(&world, json!({ "since": "2020-01-01T00:00:00Z", "limit": 100 }));
    assert_eq!((rows(&resume["activeItems"]), rows(&resume["recentTransitions"])), (2, 2));
    assert_eq!(resume["truncated"], true, "{resume}");
    let all = world.ok("query_items", json!({ "operation": "overview", "includeChildren": true, "limit": 100 }));
    assert_eq!((each(&all["items"], "title"), &all["total"]), (vec!["c".to_owned(), "b".to_owned()], &json!(2)));
    assert_eq!((rows(&all["items"][0]["children"]), &all["items"][0]["truncated"]), (2, &json!(true)));
    assert_eq!((rows(&all["items"][1]["children"]), all["items"][1].get("truncated")), (2, None));
    let scoped = world.ok("query_items", json!({ "operation": "overview", "itemId": roots[0] }));
    assert_eq!((rows(&scoped["children"]), &scoped["truncated"]), (2, &json!(true)), "{scoped}");
}

#[test]
fn the_root_of_a_tree_counts_with_its_children() {
    let world = World::new();
    let tree = |many: usize| {
        let children: Vec<Value> =
            (0..many).map(|number| json!({ "ref": format!("c{number}"), "title": "child" })).collect();
        json!({ "root": { "title": "root" }, "children": children })
    };
    let error = world.err("create_work_tree", tree(limits::BATCH));
    assert_eq!((&error["reason"], &error["field"]), (&json!("batch_too_large"), &json!("children")));
    assert!(text(&error["message"]).contains("at most 199 entries, not 200"), "{error}");
    assert_eq!(rows(&world.ok("create_work_tree", tree(limits::BATCH - 1))["children"]), limits::BATCH - 1);
}

/// Fills a database with one item that blocks ten, each of which blocks ten thousand and one; returns one of the last.
async fn very_many(database: std::path::PathBuf) -> Item {
    let store = SqliteStore::open(SqliteOptions::new(database).durability(Durability::Normal)).await.expect("it opens");
    let project = store.projects().await.expect("projects").remove(0);
    let put = |changes: ChangeSet| async { store.execute(Box::new(Put(changes))).await.expect("it is written") };
    let top = item(&project, 1_000_000, "top");
    let hubs: Vec<Item> = (1..=10).map(|number| item(&project, 1_000_000 + number, "hub")).collect();
    let first = hubs.iter().map(|hub| edge(EdgeKind::Blocks, &top, hub)).collect();
    let new_items = std::iter::once(top.clone()).chain(hubs.iter().cloned()).collect();
    put(ChangeSet { new_items, new_edges: first, ..ChangeSet::default() }).await;
    let mut last = top;
    let each = u32::try_from(limits::GRAPH_NODES / hubs.len()).expect("a small number") + 1;
    for (hub, place) in hubs.iter().zip(0..) {
        let leaves: Vec<Item> =
            (0..each).map(|number| item(&project, 2_000_000 + place * each + number, "leaf")).collect();
        last = leaves[0].clone();
        let new_edges = leaves.iter().map(|leaf| edge(EdgeKind::Blocks, hub, leaf)).collect();
        put(ChangeSet { new_items: leaves, new_edges, ..ChangeSet::default() }).await;
    }
    store.close().await;
    last
}

#[test]
fn a_graph_that_is_too_large_is_cut_and_says_so() {
    let world = World::new();
    let alone = world.item("alone");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let leaf = runtime.block_on(very_many(world.folder.path().join("docket.db"))).id.to_string();
    let graph =
        |item: &str| world.ok("query_dependencies", json!({ "itemId": item, "neighborsOnly": false }))["graph"].clone();
    let cut = graph(&leaf);
    assert_eq!(cut["truncated"], true);
    assert!((2..=limits::GRAPH_NODES + 1).contains(&rows(&cut["chain"])), "{} in the chain", rows(&cut["chain"]));
    assert_eq!(cut["depth"], 2, "from the top by way of a hub");
    assert_eq!(graph(&alone), json!({ "chain": [alone], "depth": 0 }), "nothing of it was cut");
    let neighbours = world.ok("query_dependencies", json!({ "itemId": leaf }));
    assert_eq!(neighbours["counts"], json!({ "incoming": 1, "outgoing": 0, "relatesTo": 0 }));
}
