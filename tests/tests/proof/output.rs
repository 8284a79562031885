//! Much output, through `docket check run`: the log is capped and says so, what makes it stays small, and it is read in pages.

use std::process::{Command, Stdio};
use std::time::Duration;

use docket_tests::program::docket;
use docket_tests::repository::Repository;
use serde_json::{Value, json};

use super::{checked, text};

/// What a program may take besides what it needs anyway, however much a check says.
const MOST_KIB: u64 = 300 << 10;

/// 200 MB; `DOCKET_SOAK=50` makes it 10 GB.
fn much() -> u64 {
    let soak: u64 = std::env::var("DOCKET_SOAK").ok().and_then(|times| times.parse().ok()).unwrap_or(1);
    200_000_000 * soak
}

/// The most memory that a process has had so far.
fn peak_kib(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[test]
fn much_output_is_capped_and_read_in_pages() {
    let repository = Repository::new("\"all\"");
    let agent = repository.server(repository.path(), "cairn", "agent:ann", None);
    let cmd = format!("yes 0123456789abcdef | head -c {}; echo the end", much());
    checked(&agent, "one", json!([{ "desc": "talks", "cmd": cmd, "timeout": 3600 }]));
    drop(agent);
    let mut command = Command::new(docket());
    command.arg("--db").arg(repository.word()).args(["--json", "check", "run", "PROO-1"]);
    command.current_dir(repository.path()).env_remove("DOCKET_ACTOR");
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("the program starts");
    let mut peak = 0;
    let ended = loop {
        peak = peak_kib(child.id()).unwrap_or(0).max(peak);
        if let Some(ended) = child.try_wait().expect("it is ours") {
            break ended;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(ended.success(), "{ended}");
    assert!(peak > 0 && peak < MOST_KIB, "{peak} KiB");
    let run = repository.docket_json(&["check", "runs", "PROO-1"])["runs"][0].clone();
    let (kept, left_out) = (run["logBytes"].as_u64().expect("a number"), run["logLeftOut"].as_u64().expect("a number"));
    assert!(kept <= 256 << 10 && left_out > much() - kept, "{run}");
    let id = text(&run["id"]);
    let by_cli = in_pages(|offset| {
        let page = repository.docket_json(&["check", "log", &id, "--offset", offset]);
        assert_eq!(page["truncated"], true);
        assert_eq!(page["hasMore"] == json!(true), page["nextOffset"].is_u64(), "{}", page["offset"]);
        (text(&page["text"]), page["nextOffset"].as_u64().map(|offset| offset.to_string()))
    });
    assert_eq!(by_cli.len() as u64, kept);
    assert!(by_cli.starts_with("0123456789abcdef\n") && by_cli.ends_with("the end\n"), "the beginning and the end");
    assert!(by_cli.contains("bytes left out"), "and in between it says what is not there");
    let agent = repository.server(repository.path(), "docket", "agent:ann", None);
    let by_tool = in_pages(|cursor| {
        let mut ask = json!({ "what": "log", "id": id });
        if cursor != "0" {
            ask["cursor"] = json!(cursor);
        }
        let page = agent.ok("find", ask);
        assert_eq!(page["trusted"]["log"]["leftOut"], left_out, "{}", page["trusted"]);
        (text(&page["untrusted"]["log"]), page["trusted"]["cursor"].as_str().map(str::to_owned))
    });
    assert!(by_tool == by_cli, "the same in all ways");
}

/// A log from its pages; each but the first is asked for by what the one before it ended with.
fn in_pages(page: impl Fn(&str) -> (String, Option<String>)) -> String {
    let (mut log, mut at, mut pages) = (String::new(), "0".to_owned(), 0);
    loop {
        let (text, next) = page(&at);
        log.push_str(&text);
        pages += 1;
        assert!(pages < 1000 && (next.is_none() || !text.is_empty()), "it never ends");
        match next {
            Some(next) => at = next,
            None => break,
        }
    }
    assert!(pages > 1, "there are several");
    log
}

/// What a check finds of the server that made it: nothing that it was not given.
#[test]
fn a_check_finds_nothing_of_the_environment_and_the_files_of_docket() {
    let repository = Repository::new("\"all\"");
    let toml = std::fs::read_to_string(repository.path().join("docket.toml")).expect("docket.toml");
    repository.write("docket.toml", &format!("{toml}keep_variables = [\"BUILD_*\", \"FLAVOUR\"]\n"));
    let arguments = ["--surface", "cairn", "--actor", "agent:ann"];
    let started =
        docket_tests::mcp::Server::try_start_on(&repository.word(), repository.path(), &arguments, |command| {
            command.env_remove("DOCKET_ACTOR").env("DEPLOY_TOKEN", "hunter-two").env("LD_LIBRARY_PATH", "none-of-it");
            command.env("PGPASSWORD", "hunter-three").env("FLAVOUR", "vanilla").env("BUILD_NUMBER", "17");
        });
    let agent = started.unwrap_or_else(|_| panic!("the server ended at once"));
    let cmd = "env; echo open: $(ls /proc/self/fd | tr '\\n' ' '); ls -l /proc/self/fd";
    let task = checked(&agent, "one", json!([{ "desc": "looks around", "cmd": cmd }]));
    agent.ok("run_checks", json!({ "id": task }));
    let run = repository.docket_json(&["check", "runs", "PROO-1"])["runs"][0].clone();
    let log = text(&repository.docket_json(&["check", "log", &text(&run["id"])])["text"]);
    let lines: Vec<&str> = log.lines().collect();
    for kept in ["FLAVOUR=vanilla", "BUILD_NUMBER=17", "DOCKET_ITEM=PROO-1"] {
        assert!(lines.contains(&kept), "{kept} is not in {log}");
    }
    for gone in ["DEPLOY_TOKEN", "hunter", "PGPASSWORD", "LD_LIBRARY_PATH", "none-of-it", "DOCKET_PLANT", "DOCKET_DB"] {
        assert!(!log.contains(gone), "{gone} is in {log}");
    }
    // Its input and its two outputs, and what `ls` itself opens to look.
    let open = lines.iter().find_map(|line| line.strip_prefix("open: ")).expect("what is open");
    let open: Vec<Value> = open.split_whitespace().map(|number| json!(number)).collect();
    assert_eq!(open, ["0", "1", "2", "3"].map(|number| json!(number)), "{log}");
    assert!(!log.contains("docket.db") && !log.contains("socket:"), "{log}");
}
