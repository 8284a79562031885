//! Two servers on one database: a file, a database on a Postgres server, and one behind a `PgBouncer` in transaction mode.
#![expect(clippy::print_stderr, reason = "what was not tried is told")]

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use docket_tests::audit;
use docket_tests::postgres::{Database, pooler};
use docket_tests::web::{Stream, Web};
use serde_json::json;

#[test]
fn servers_wake_each_others_waiters_and_never_hand_out_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("work.db");
    {
        let (one, two) = (Web::on(&database, |_| {}), Web::on(&database, |_| {}));
        wake_each_other(&one, &two);
        hand_out_once(&one, &two);
    }
    audit::check(&database);
}

#[test]
fn and_so_they_do_on_a_postgres_server() {
    let database = Database::empty();
    on_postgres(&database, &database.url());
}

#[test]
fn and_so_they_do_behind_a_transaction_mode_pooler() {
    let folder = std::env::var(pooler::VARIABLE).ok().filter(|folder| !folder.is_empty());
    let Some(folder) = folder else {
        eprintln!("NOT TRIED: {} names no PgBouncer, so nothing was served behind one", pooler::VARIABLE);
        return;
    };
    let database = Database::empty();
    on_postgres(&database, &database.url_behind(&folder));
}

fn on_postgres(database: &Database, word: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    {
        let (one, two) = (Web::serving(word, folder.path(), |_| {}), Web::serving(word, folder.path(), |_| {}));
        wake_each_other(&one, &two);
        hand_out_once(&one, &two);
        take_effect_once(&one, &two);
    }
    audit::check_server(&database.url());
}

/// Who waits at one server hears of what is made at the other.
fn wake_each_other(one: &Web, two: &Web) {
    let mut stream = Stream::open(two, "/events/stream", &[]);
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let begun = Instant::now();
            let offer =
                two.send("POST", "/queue/claim", &[("x-docket-actor", "agent:w")], Some(br#"{"waitMs":20000}"#));
            (offer.with(200)["item"]["title"].clone(), begun.elapsed())
        });
        std::thread::sleep(Duration::from_millis(300));
        one.item("From the other");
        let (title, took) = waiter.join().expect("an answer");
        assert_eq!(title, json!("From the other"));
        assert!(took < Duration::from_secs(5), "{took:?}");
    });
    assert_eq!(stream.next_event().expect("an event").data["data"]["title"], json!("From the other"));
}

/// Eight agents at two servers get forty items, and none of them twice.
fn hand_out_once(one: &Web, two: &Web) {
    let items: Vec<_> = (0..40).map(|number| json!({"title": format!("i{number}")})).collect();
    one.post("/bulk/items", &json!({ "items": items })).with(200);
    let taken: Vec<String> = std::thread::scope(|scope| {
        let agents: Vec<_> = (0..8)
            .map(|agent| {
                let web = if agent % 2 == 0 { one } else { two };
                scope.spawn(move || {
                    let mut mine = Vec::new();
                    loop {
                        let name = format!("agent:a{agent}-{}", mine.len());
                        let offer =
                            web.send("POST", "/queue/claim", &[("x-docket-actor", &name)], Some(b"{}")).with(200);
                        match offer["item"]["id"].as_str() {
                            Some(id) => mine.push(id.to_owned()),
                            None => return mine,
                        }
                    }
                })
            })
            .collect();
        agents.into_iter().flat_map(|agent| agent.join().expect("an agent")).collect()
    });
    assert_eq!(taken.len(), 40);
    assert_eq!(taken.iter().collect::<BTreeSet<_>>().len(), 40, "each was handed out once");
}

/// One request that is sent to both servers at once, and again, is answered alike and makes one item.
fn take_effect_once(one: &Web, two: &Web) {
    let body = json!({ "title": "Once" }).to_string();
    let send = |web: &Web| {
        // Whoever is second is told to come again while the first is at it.
        for _ in 0..100 {
            let reply = web.send("POST", "/items", &[("idempotency-key", "once")], Some(body.as_bytes()));
            if reply.status < 400 {
                return reply.json()["item"]["id"].clone();
            }
            assert_eq!(reply.status, 409, "{}", String::from_utf8_lossy(&reply.body));
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("the request stays under way");
    };
    let (first, second) = std::thread::scope(|scope| {
        let other = scope.spawn(|| send(two));
        (send(one), other.join().expect("an answer"))
    });
    assert!(first.is_string() && first == second && second == send(two), "{first} and {second}");
    let named = one.get("/search?q=Once").with(200);
    assert_eq!(named["items"].as_array().map(Vec::len), Some(1), "{named}");
}
