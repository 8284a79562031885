//! A fleet at work: agents in processes of their own, on one database, go through the loop of the native surface until
//! nothing is left. Everything is done, in the order that the dependencies ask for, and each item once.

use std::collections::BTreeMap;
use std::path::Path;

use docket_core::model::{ItemId, Role, Verb};
use docket_tests::audit;
use docket_tests::mcp::Server;
use serde_json::{Value, json};

const AGENTS: usize = 10;
const ITEMS: usize = 500;
/// How many items one call makes.
const BATCH: usize = 50;

/// Items with two criteria each; each waits for two earlier ones, so that work comes free as it goes on.
fn plan(server: &Server) {
    let mut keys: Vec<String> = Vec::new();
    for begin in (0..ITEMS).step_by(BATCH) {
        let item = |at: usize| {
            let mut blockers: Vec<usize> = if at < 20 { vec![] } else { vec![at - 20, at / 2] };
            blockers.dedup();
            let name = |other: usize| keys.get(other).cloned().unwrap_or_else(|| format!("n{other}"));
            let blockers: Vec<String> = blockers.into_iter().map(name).collect();
            let brief = json!({ "objective": format!("do {at}"), "acceptanceCriteria": ["it works", "it is tested"] });
            json!({ "ref": format!("n{at}"), "title": format!("item {at}"), "blockedBy": blockers, "brief": brief })
        };
        let items: Vec<Value> = (begin..begin + BATCH).map(item).collect();
        let made = server.ok("plan", json!({ "items": items }));
        let rows = made["trusted"]["items"].as_array().expect("items");
        keys.extend(rows.iter().map(|row| row["key"].as_str().expect("a key").to_owned()));
    }
    assert_eq!(keys.len(), ITEMS);
}

/// One agent: begins work, shows it, ends it, until there is none for a while and nobody is at work any more.
fn work(database: &Path, name: &str) -> usize {
    let server = Server::start_with(database, &["--surface", "docket", "--actor", &format!("subagent:{name}")], |_| {});
    let mut done = 0;
    loop {
        let packet = server.ok("work", json!({ "phase": "start", "waitMs": 2000 }));
        let Some(key) = packet["trusted"]["key"].as_str() else {
            let left = server.ok("find", json!({ "what": "list", "roles": ["queue", "work", "blocked"], "limit": 1 }));
            if left["trusted"]["rows"].as_array().is_none_or(Vec::is_empty) {
                return done;
            }
            continue;
        };
        let fence = packet["trusted"]["fence"].clone();
        let verify = json!([{ "id": "c1", "passed": true }, { "id": "c2", "passed": true, "note": "seen" }]);
        let ended = server.ok(
            "work",
            json!({ "phase": "finish", "id": key, "fence": fence, "verify": verify, "to": "complete", "comment": "done" }),
        );
        assert_eq!(ended["trusted"]["to"], "done", "{ended}");
        done += 1;
    }
}

#[test]
fn ten_agents_finish_five_hundred_items_once_each() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("docket.db");
    plan(&Server::start_with(&database, &["--surface", "docket"], |_| {}));
    let done: Vec<usize> = std::thread::scope(|scope| {
        let database = &database;
        let agents = (0..AGENTS).map(|at| scope.spawn(move || work(database, &format!("agent-{at}"))));
        let agents: Vec<_> = agents.collect();
        agents.into_iter().map(|agent| agent.join().expect("an agent")).collect()
    });
    assert_eq!(done.iter().sum::<usize>(), ITEMS, "{done:?}");
    assert!(done.iter().all(|count| *count > 0), "nobody was left without work: {done:?}");

    // Rows obey every rule, events rebuild them, and no two claims overlapped; then what is peculiar to this.
    let world = audit::check(&database);
    assert!(world.items.values().all(|item| item.role == Role::Terminal));
    let mut ended: BTreeMap<ItemId, usize> = BTreeMap::new();
    let mut place: BTreeMap<ItemId, u64> = BTreeMap::new();
    let closing = |to: &Value| to.as_str() == Some(Role::Terminal.as_str());
    for event in world.events.iter().filter(|event| event.verb == Verb::Moved && closing(&event.data["toRole"])) {
        let item = event.item.expect("an item");
        *ended.entry(item).or_default() += 1;
        place.insert(item, event.seq);
    }
    assert!(ended.len() == ITEMS && ended.values().all(|times| *times == 1), "each is finished once");
    for edge in world.edges.values() {
        assert!(place[&edge.from] < place[&edge.to], "what waits is finished after what it waits for");
    }
    assert_eq!(world.comments.len(), ITEMS);
}
