//! Ready work is told though the knowledge about it cannot be: its search fails under a server that runs.

use std::fs::File;
use std::time::{Duration, Instant};

use docket_tests::mcp::Server;
use docket_tests::postgres::Database;
use docket_tests::web::command_on;
use serde_json::{Value, json};

#[test]
fn a_search_that_fails_takes_the_digests_and_nothing_else() {
    let (folder, database) = (tempfile::tempdir().expect("a folder"), Database::new());
    let log = folder.path().join("log");
    let arguments = ["--surface", "execution", "--actor", "agent:ann"];
    let server = Server::try_start_on(&database.url(), folder.path(), &arguments, |command| {
        command.env_remove("DOCKET_ACTOR").env("DOCKET_LOG", "warn").stderr(File::create(&log).expect("a log"));
    })
    .expect("a server");
    let operate = |words: &[&str]| {
        let ran = command_on(&database.url(), folder.path()).args(words).output().expect("it runs");
        assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    };
    operate(&["learn", "The linker needs gcc", "aws-lc builds with gcc alone"]);
    operate(&["item", "add", "Mend the linker"]);
    operate(&["item", "add", "Later"]);
    let next = || server.ok("get_next_actionable", json!({}))["tasks"].clone();
    let before = next();
    assert_eq!(before[0]["knowledge"]["references"].as_array().map(Vec::len), Some(1), "{before}");
    database.run("ALTER TABLE knowledge_words RENAME TO gone");
    let after = next();
    let titles: Vec<&Value> = (0..2).map(|place| &after[place]["title"]).collect();
    assert_eq!(titles, ["Mend the linker", "Later"]);
    for place in 0..2 {
        assert_eq!(after[place]["knowledge"], json!({ "references": [] }), "{after}");
    }
    let task = after[0]["id"].clone();
    assert_eq!(server.ok("claim_task", json!({ "taskId": task }))["task"]["state"], "claimed");
    // Whoever keeps the server is told.
    let given_up = Instant::now() + Duration::from_mins(1);
    while !std::fs::read_to_string(&log).expect("a log").contains("no knowledge was found for items") {
        assert!(Instant::now() < given_up, "{}", std::fs::read_to_string(&log).expect("a log"));
        std::thread::sleep(Duration::from_millis(50));
    }
    // Once it is mended they are there again.
    database.run("ALTER TABLE gone RENAME TO knowledge_words");
    operate(&["--actor", "agent:ann", "release", "DEFA-1"]);
    operate(&["item", "add", "The linker again"]);
    let mended = next();
    assert!(mended.to_string().contains("The linker needs gcc"), "{mended}");
}
