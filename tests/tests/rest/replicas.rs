//! Two servers on one database.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use docket_tests::audit;
use docket_tests::web::{Stream, Web};
use serde_json::json;

#[test]
fn servers_wake_each_others_waiters_and_never_hand_out_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("work.db");
    let (one, two) = (Web::on(&database, |_| {}), Web::on(&database, |_| {}));
    let mut stream = Stream::open(&two, "/events/stream", &[]);
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

    let items: Vec<_> = (0..40).map(|number| json!({"title": format!("i{number}")})).collect();
    one.post("/bulk/items", &json!({ "items": items })).with(200);
    let taken: Vec<String> = std::thread::scope(|scope| {
        let agents: Vec<_> = (0..8)
            .map(|agent| {
                let web = if agent % 2 == 0 { &one } else { &two };
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
    drop((one, two));
    audit::check(&database);
}
