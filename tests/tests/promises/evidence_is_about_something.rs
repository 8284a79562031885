//! P10: evidence counts only for what it was about: its check as it says it, its criterion as it says it, the files as
//! they are.

use docket_tests::repository::Repository;
use serde_json::{Value, json};

use crate::fleet::must_fail_with;

fn result(task: &Value) -> &str {
    task["checks"][0]["result"].as_str().unwrap_or_default()
}

/// What somebody does to the files.
type Change = fn(&Repository);

/// What the check looks at.
const CHECK: &str =
    "grep -q fixed state && test $(wc -c < state) -lt 14 && test ! -e new && ! grep -q broken part/state\n";

/// What makes the check fail that has passed, and what was done to that end before it passed.
const CHANGES: [(&str, Change, Change); 11] = [
    ("a file that git knows", |_| {}, |repository| repository.write("state", "broken\n")),
    (
        "a commit",
        |_| {},
        |repository| {
            repository.write("state", "broken\n");
            repository.commit("broken again");
        },
    ),
    ("a file that git does not know yet", |_| {}, |repository| repository.write("new", "")),
    (
        "a file that is gone",
        |_| {},
        |repository| std::fs::remove_file(repository.path().join("state")).expect("it is there"),
    ),
    (
        "a file that git is told to take as unchanged",
        |_| {},
        |repository| {
            repository.git(&["update-index", "--assume-unchanged", "state"]);
            repository.write("state", "broken\n");
        },
    ),
    (
        "a file that git is told to pass over",
        |_| {},
        |repository| {
            repository.git(&["update-index", "--skip-worktree", "state"]);
            repository.write("state", "broken\n");
        },
    ),
    (
        "a file of which git keeps less than there is",
        |repository| {
            repository.write(".gitattributes", "* ident\n");
            repository.write("state", "$Id: fixed $\n");
        },
        |repository| repository.write("state", "$Id: broken$\n"),
    ),
    (
        "a file of which git does not keep how its lines end",
        |repository| {
            repository.write(".gitattributes", "* text=auto\n");
            repository.write("state", "fixed\n\n\n\n\n");
        },
        |repository| repository.write("state", "fixed\r\n\r\n\r\n\r\n\r\n"),
    ),
    (
        "a file that git is told to leave out, where that is no part of the work",
        |_| {},
        |repository| {
            repository.write("new", "");
            repository.write(".git/info/exclude", "/new\n");
        },
    ),
    ("a file that git's index denies", |_| {}, deny),
    (
        "a file in what is listed as a repository of its own",
        |repository| {
            let commit = repository.git(&["rev-parse", "HEAD"]);
            repository.git(&["rm", "-rq", "--cached", "part"]);
            repository.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{commit},part")]);
        },
        |repository| repository.write("part/state", "broken\n"),
    ),
];

/// Stages a change, and then writes into git's index that it has the content of before.
fn deny(repository: &Repository) {
    let index = repository.path().join(".git/index");
    let id = |text: &str| -> Vec<u8> {
        let pairs = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("hex"));
        pairs.map(|pair| u8::from_str_radix(pair, 16).expect("hex")).collect()
    };
    let before = id(&repository.git(&["rev-parse", ":state"]));
    repository.write("state", "BROKE\n");
    repository.git(&["add", "state"]);
    let after = id(&repository.git(&["rev-parse", ":state"]));
    // Git looks into files of the same second as its index, whatever that says of them.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let mut bytes = std::fs::read(&index).expect("an index");
    let at = bytes.windows(after.len()).position(|found| found == after).expect("an entry");
    bytes[at..at + before.len()].copy_from_slice(&before);
    std::fs::write(&index, bytes).expect("written");
    assert_eq!(repository.git(&["diff", "--stat"]), "", "git believes it");
}

/// A check passes; then the files change so that it would not; then the task is closed.
fn experiment(made: fn(&str) -> Repository, plant: Option<&str>) {
    for (what, before, change) in CHANGES {
        let repository = made("\"all\"");
        let agent = repository.server(repository.path(), "cairn", "agent:ann", plant);
        let checks = json!([{ "desc": "it is fixed", "cmd": "sh check.sh" }]);
        let made = agent.ok("create", json!({ "title": "prove it", "checks": checks }));
        let task = made["id"].as_str().expect("an id");
        std::fs::create_dir(repository.path().join("part")).expect("a folder");
        repository.write("part/state", "fixed\n");
        repository.write("check.sh", CHECK);
        repository.write("state", "fixed\n");
        repository.commit("fixed");
        before(&repository);
        let run = agent.ok("run_checks", json!({ "id": task }));
        assert_eq!(result(&run), "pass", "{what}");
        change(&repository);
        let closing = agent.call("transition", json!({ "id": task, "to": "done" })).expect("a server");
        assert!(closing.is_error, "{what}: closed on evidence about something else");
        let shown = agent.ok("get", json!({ "id": task }));
        assert_eq!(result(&shown), "fail", "{what}: it was run again, on what is there");
    }
}

#[test]
fn evidence_counts_for_the_files_that_it_was_about() {
    experiment(Repository::new, None);
}

#[test]
fn on_a_server_it_counts_for_them_alone_too() {
    experiment(Repository::on_server, None);
}

#[test]
fn and_a_tree_that_is_not_compared_would_be_seen() {
    must_fail_with(&["closed on evidence about something else"], || {
        experiment(Repository::new, Some("tree-not-compared"));
    });
}

#[test]
fn evidence_counts_for_the_check_that_it_was_about() {
    let repository = Repository::new("\"all\"");
    repository.write("state", "fixed\n");
    let agent = repository.server(repository.path(), "cairn", "agent:ann", None);
    let made =
        agent.ok("create", json!({ "title": "prove it", "checks": [{ "desc": "it is fixed", "cmd": "sh check.sh" }] }));
    let task = made["id"].as_str().expect("an id").to_owned();
    assert_eq!(result(&agent.ok("run_checks", json!({ "id": task }))), "pass");
    repository.write(".docket/checks.json", "[{\"desc\": \"it is fixed\", \"cmd\": \"false\"}]");
    repository.docket_json(&["check", "set", "PROO-1", "--file", ".docket/checks.json"]);
    assert_eq!(result(&agent.ok("get", json!({ "id": task }))), "pending", "an edit voids the result");
    agent.err("transition", json!({ "id": task, "to": "done" }));
    assert_eq!(result(&agent.ok("get", json!({ "id": task }))), "fail");
}

#[test]
fn evidence_counts_for_the_words_that_it_was_about() {
    let repository = Repository::new("\"all\"");
    repository.write("docket.toml", "[project]\nslug = \"proof\"\npreset = \"standard\"\n[runner]\nallow = \"all\"\n");
    repository.write("state", "fixed\n");
    repository.commit("fixed");
    let docket = |words: &[&str]| repository.docket_json(words);
    let says = |words: &str| {
        let by_check = json!({ "id": "c1", "text": format!("The file says fixed{words}."), "verifier": "check" });
        let by_word = json!({ "id": "c2", "text": format!("It is fixed{words}.") });
        let brief = json!({ "objective": "it works", "acceptanceCriteria": [by_check, by_word] });
        repository.write(".docket/brief.json", &brief.to_string());
        docket(&["brief", "set", "PROO-1", "--file", ".docket/brief.json"]);
    };
    let stands = || {
        let verdict = docket(&["verdict", "PROO-1"]);
        let status = |at: usize| verdict["criteria"][at]["status"].as_str().map(str::to_owned);
        [status(0), status(1)].map(|status| status.unwrap_or_else(|| panic!("no criterion: {verdict}")))
    };
    let runs = || docket(&["check", "runs", "PROO-1"])["runs"].as_array().map(Vec::len);
    docket(&["init"]);
    docket(&["item", "add", "prove it", "--criterion", "The file says fixed.", "--criterion", "It is fixed."]);
    docket(&["check", "add", "PROO-1", "it is fixed", "--cmd", "sh check.sh", "--proves", "c1"]);
    docket(&["start", "PROO-1"]);
    docket(&["check", "run", "PROO-1"]);
    docket(&["verify", "PROO-1", "c2=pass"]);
    assert_eq!(stands(), ["pass", "pass"]);
    says(", and says so twice");
    assert_eq!(stands(), ["stale", "stale"], "they were shown of other words");
    let closing = repository.docket(repository.path(), &["advance", "PROO-1", "complete", "--json"]);
    let said = String::from_utf8_lossy(&closing.stderr).into_owned();
    assert!(!closing.status.success(), "closed on evidence about other words");
    assert!(said.contains("c2") && said.contains("(stale"), "{said}");
    // A word has to be given anew; a check is made anew by whoever closes, though the files are the same.
    docket(&["verify", "PROO-1", "c2=pass"]);
    assert_eq!(stands()[1], "pass");
    docket(&["close", "PROO-1"]);
    assert_eq!((stands(), runs()), (["pass", "pass"].map(str::to_owned), Some(2)));
}
