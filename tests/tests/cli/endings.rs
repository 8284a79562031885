//! Commands that end in every way there is, through the real program: each leaves a result that says so, and a log that harms nobody.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::desk::Desk;

/// Makes the one check of an item and says how: the exit code of the program, the run and its log.
fn made(desk: &Desk, item: &str) -> (i32, Value, String) {
    let ran = desk.run(&["--json", "check", "run", item, "--again"]);
    let proved: Value = serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    let run = proved["runs"][0].clone();
    let log = desk.json(&["check", "log", run["id"].as_str().expect("a run")]);
    (ran.code, run, log["text"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn commands_end_as_they_end() {
    let desk = Desk::standard();
    desk.write("plain", "no program\n");
    let exits = |code: i32| json!({ "how": "exited", "code": code });
    let table = [
        // What it does, how it ends, what is found in its log.
        ("printf '\\200\\376\\000\\033]0;x\\007\\377 end'", exits(0), "end"),
        ("cat; echo read to its end", exits(0), "read to its end"),
        ("kill -9 $$", json!({ "how": "signalled", "signal": 9 }), ""),
        ("kill -TERM $$", json!({ "how": "signalled", "signal": 15 }), ""),
        ("trap 'exit 0' TERM; while :; do sleep 0.1; done", json!({ "how": "timed_out" }), ""),
        ("./plain", exits(126), "plain"),
        ("./nowhere", exits(127), "nowhere"),
        ("exit 3", exits(3), ""),
    ];
    let item = desk.add(&["One"]);
    for (cmd, end, says) in table {
        desk.ok(&["check", "set", &item, "--clear"]);
        desk.ok(&["check", "add", &item, "ends", "--cmd", cmd, "--timeout", "5s"]);
        let begun = Instant::now();
        let (code, run, log) = made(&desk, &item);
        let passes = end == exits(0);
        assert_eq!(run["end"], end, "{cmd}: {log}");
        let wanted = if passes { (0, json!("passed")) } else { (8, json!("failed")) };
        assert_eq!((code, run["state"].clone()), wanted, "{cmd}");
        assert!(log.contains(says), "{cmd}: {log:?}");
        assert!(!log.chars().any(|said| said.is_control() && !"\n\t".contains(said)), "{cmd}: {log:?}");
        // Nobody waits for an input that never comes, and nobody for what does not want to end.
        assert!(begun.elapsed() < Duration::from_mins(1), "{cmd}");
    }
    // What has ended is not given up any more.
    let run = desk.json(&["check", "runs", &item])["runs"][0]["id"].as_str().expect("a run").to_owned();
    assert_eq!(desk.error(5, &["check", "cancel", &run])["reason"], "run_ended");
}
