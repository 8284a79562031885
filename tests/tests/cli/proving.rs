//! Running checks at the command line: who lets what run, what an interrupt leaves, and what is told where nothing was shown.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use docket_tests::repository::{commit, git};
use serde_json::{Value, json};

use crate::desk::Desk;

/// Far longer than anything here takes: only what never happens is waited for so long.
const PATIENCE: Duration = Duration::from_mins(2);

/// A desk whose folder is a git work tree.
fn with_git() -> Desk {
    let desk = Desk::standard();
    desk.write(".gitignore", ".docket/\nclock\ngo\n");
    desk.write("state", "begun\n");
    git(&desk.path(), &["init", "--quiet", "--initial-branch", "main"]);
    commit(&desk.path(), "begun");
    desk
}

/// An item in work with one check.
fn checked(desk: &Desk, cmd: &str) -> String {
    let item = desk.add(&["One"]);
    desk.ok(&["check", "add", &item, "tests", "--cmd", cmd]);
    desk.ok(&["start", &item]);
    item
}

fn approve(desk: &Desk, item: &str) {
    let read = desk.json(&["check", "list", item])["version"].to_string();
    desk.ok(&["--actor", "user:zoe", "check", "approve", item, "--if-version", &read]);
}

/// The newest run of an item.
fn newest(desk: &Desk, item: &str) -> Value {
    desk.json(&["check", "runs", item])["runs"][0].clone()
}

fn count_of_runs(desk: &Desk, item: &str) -> usize {
    desk.json(&["check", "runs", item])["runs"].as_array().map_or(0, Vec::len)
}

/// Waits until the newest run of an item is in a state.
fn until(desk: &Desk, item: &str, state: &str) {
    let begun = Instant::now();
    while newest(desk, item)["state"] != json!(state) {
        assert!(begun.elapsed() < PATIENCE, "never {state}: {}", newest(desk, item));
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn started(desk: &Desk, arguments: &[&str]) -> Child {
    let mut command: Command = desk.command(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").arg(format!("-{name}")).arg(child.id().to_string()).status();
    assert!(sent.is_ok_and(|status| status.success()), "no signal");
}

#[test]
fn an_agent_at_the_command_line_runs_nothing_that_nobody_let_run() {
    let desk = Desk::standard();
    let item = checked(&desk, "touch ran");
    desk.ok(&["release", &item]);
    let agent = [("DOCKET_ACTOR", "subagent:eve")];
    for words in [vec!["check", "run", &item], vec!["close", &item]] {
        let refused = desk.run_with(&agent, &words).bad(4);
        assert!(refused.contains("docket check approve"), "{words:?}: {refused}");
    }
    assert!(!desk.file("ran").exists() && count_of_runs(&desk, &item) == 0);
    // What the operator allows runs for anybody.
    desk.write("docket.toml", "[runner]\nallow = [\"touch ran\"]\n");
    desk.run_with(&agent, &["check", "run", &item]).good();
    assert!(desk.file("ran").exists());
    desk.write("docket.toml", "");
    // A person who asks approves by asking, and is named.
    let item = checked(&desk, "true");
    let ran = desk.ok(&["check", "run", &item]);
    assert!(ran.contains("exit 0 (for ann)"), "{ran}");
    approve(&desk, &item);
    assert!(desk.ok(&["check", "list", &item]).contains("approved by zoe"));
    desk.run_with(&agent, &["check", "run", &item, "--again"]).good();
}

/// What an agent wrote a person has neither read nor asked for: to close the item is not to let it run.
#[test]
fn a_person_who_moves_an_item_lets_nothing_run_that_somebody_else_wrote() {
    let desk = Desk::standard();
    let item = desk.add(&["One"]);
    let agent = [("DOCKET_ACTOR", "subagent:eve")];
    desk.run_with(&agent, &["check", "add", &item, "tests", "--cmd", "touch ran"]).good();
    desk.ok(&["start", &item]);
    let moves: [&[&str]; 3] = [&["close", &item], &["advance", &item, "complete"], &["close", &item, "--json"]];
    for words in moves {
        let refused = desk.run(words).bad(4);
        for remedy in ["docket check run", "docket check approve", "docket check list"] {
            assert!(refused.contains(remedy), "{words:?}: {refused}");
        }
    }
    assert!(!desk.file("ran").exists() && count_of_runs(&desk, &item) == 0, "nothing was run");
    // Whoever has read it asks for it, or closes what is their own.
    desk.ok(&["check", "run", &item]);
    assert!(desk.file("ran").exists());
    let own = desk.add(&["Two"]);
    desk.ok(&["check", "add", &own, "tests", "--cmd", "touch own"]);
    desk.ok(&["start", &own]);
    desk.ok(&["close", &own]);
    assert!(desk.file("own").exists());
    // An agent of the same name is somebody else.
    let third = desk.add(&["Three"]);
    desk.run_with(&[("DOCKET_ACTOR", "subagent:ann")], &["check", "add", &third, "tests", "--cmd", "touch third"])
        .good();
    desk.ok(&["start", &third]);
    desk.fails(4, &["close", &third]);
    assert!(!desk.file("third").exists());
}

#[test]
fn what_waits_for_an_approval_says_so_everywhere() {
    let desk = Desk::standard();
    let item = checked(&desk, "true");
    let submitted = desk.ok(&["submit", &item]);
    assert!(submitted.contains("nobody has approved: check 0") && submitted.contains("docket check approve"));
    let told = desk.run(&["runner", "--once"]);
    assert!(told.err.contains("waits for approval") && told.err.contains("docket check approve W-1"), "{told:?}");
    assert!(desk.ok(&["inbox"]).contains("to approve: 0 tests"));
    assert!(desk.ok(&["why", &item]).contains("docket check approve W-1"));
    let own = desk.fails(4, &["check", "approve", &item]);
    assert!(own.contains("another person") && own.contains("docket check run") && own.contains("[runner] allow"));
    approve(&desk, &item);
    assert!(!desk.ok(&["inbox"]).contains("to approve"));
    let told = desk.run(&["runner", "--once"]);
    assert!(told.err.contains("begins") && told.err.contains("passed"), "{told:?}");
    assert_eq!(desk.field(&item, "status"), json!("done"));
}

#[test]
fn closing_what_was_handed_in_ends_well() {
    let desk = Desk::standard();
    let item = checked(&desk, "true");
    approve(&desk, &item);
    desk.ok(&["submit", &item]);
    let closed = desk.ok(&["close", &item]);
    assert!(closed.contains("in_review → done"), "{closed}");
    assert_eq!(count_of_runs(&desk, &item), 1, "the run that waited is the one that was made");
    assert!(desk.fails(5, &["close", &item]).contains("terminal"));
}

#[test]
fn an_interrupt_gives_the_run_up_and_a_runner_hands_it_back() {
    let desk = Desk::standard();
    let item = checked(&desk, "sleep 600");
    let temporary = desk.file("tmp");
    std::fs::create_dir(&temporary).expect("a folder");
    for words in [vec!["check", "run", &item], vec!["close", &item]] {
        let mut command = desk.command(&words);
        command.env("TMPDIR", &temporary).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the program starts");
        until(&desk, &item, "running");
        signal(&child, "INT");
        assert_eq!(child.wait().expect("it ends").code(), Some(130), "{words:?}");
        assert_eq!(newest(&desk, &item)["state"], json!("cancelled"), "{words:?}");
        assert_eq!(std::fs::read_dir(&temporary).expect("a folder").count(), 0, "nothing is left behind");
    }
    approve(&desk, &item);
    desk.ok(&["submit", &item]);
    for name in ["TERM", "INT"] {
        let mut runner = started(&desk, &["runner"]);
        until(&desk, &item, "running");
        signal(&runner, name);
        assert!(runner.wait().expect("it ends").success());
        let run = newest(&desk, &item);
        assert_eq!((&run["state"], run.get("runner")), (&json!("queued"), None), "{run}");
    }
}

#[test]
fn two_who_close_at_once_make_a_check_once() {
    let desk = with_git();
    let item = checked(&desk, "echo x >> clock; until test -e go; do sleep 0.1; done");
    let first = started(&desk, &["check", "run", &item]);
    until(&desk, &item, "running");
    let second = started(&desk, &["check", "run", &item]);
    let run = newest(&desk, &item);
    std::thread::sleep(Duration::from_secs(2));
    desk.write("go", "");
    for (child, waits) in [(first, false), (second, true)] {
        let done = child.wait_with_output().expect("it ends");
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{told}");
        let named = ["id", "runner"].iter().all(|field| told.contains(run[field].as_str().expect("a text")));
        assert_eq!(told.contains("waits for run") && named, waits, "{told}");
    }
    assert_eq!(desk.read("clock").lines().count(), 1);
    assert_eq!(count_of_runs(&desk, &item), 1);
}

#[test]
fn what_failed_is_said_and_handed_in_again() {
    let desk = with_git();
    let item = checked(&desk, "grep fixed state");
    approve(&desk, &item);
    desk.ok(&["submit", &item]);
    desk.ok(&["runner", "--once"]);
    let inbox = desk.ok(&["inbox"]);
    assert!(inbox.contains("failed: 0 tests") && inbox.contains("docket submit W-1"), "{inbox}");
    let why = desk.ok(&["why", &item]);
    assert!(why.contains("failed: check 0") && why.contains("docket check log W-1"), "{why}");
    desk.write("state", "fixed\n");
    assert!(desk.ok(&["submit", &item]).contains("handed in again"));
    desk.ok(&["runner", "--once"]);
    assert_eq!(desk.field(&item, "status"), json!("done"));
}

#[test]
fn a_criterion_that_a_check_proves_is_handed_in_for_the_check_to_show() {
    let desk = Desk::standard();
    let item = desk.add(&["One", "--criterion", "it compiles"]);
    desk.ok(&["check", "add", &item, "tests", "--cmd", "true", "--proves", "c1"]);
    desk.ok(&["start", &item]);
    approve(&desk, &item);
    desk.ok(&["submit", &item]);
    desk.ok(&["runner", "--once"]);
    assert_eq!(desk.field(&item, "status"), json!("done"));
}

#[test]
fn a_runner_without_its_repository_turns_nothing_red() {
    let desk = Desk::standard();
    let item = checked(&desk, "true");
    let merged = desk.add(&["Two"]);
    desk.ok(&["check", "add", &merged, "merged", "--pull-request", "acme/web#31"]);
    desk.ok(&["start", &merged]);
    desk.write("docket.toml", "[runner]\nrepository = \"gone\"\nallow = \"all\"\n");
    let ran = desk.run(&["check", "run", &item]);
    assert_eq!(ran.code, 8, "{ran:?}");
    for part in ["could not be made", "gone", "[runner] repository"] {
        assert!(ran.err.contains(part), "{part}: {ran:?}");
    }
    assert_eq!(desk.json(&["check", "list", &item])["checks"][0]["status"], json!("pending"));
    assert!(desk.ok(&["check", "log", &item]).contains("cannot be opened"));
    let closing = desk.fails(3, &["close", &item]);
    assert!(closing.contains("check 0 could not be made"), "{closing}");
    assert!(desk.fails(3, &["close", &merged]).contains("[runner] github_api"));
    // What waits for any runner goes on waiting, for another.
    desk.ok(&["submit", &item]);
    let told = desk.run(&["runner", "--once"]);
    assert!(told.err.contains("is looked at again") && told.err.contains("could not be made"), "{told:?}");
    let run = newest(&desk, &item);
    assert_eq!((&run["state"], &run["end"]["how"]), (&json!("queued"), &json!("not_made")), "{run}");
    desk.write("docket.toml", "[runner]\nallow = \"all\"\n");
    desk.ok(&["runner", "--once"]);
    assert_eq!(desk.field(&item, "status"), json!("done"));
}

#[test]
fn a_runner_has_one_project() {
    let desk = Desk::standard();
    let item = checked(&desk, "touch ran");
    approve(&desk, &item);
    desk.ok(&["project", "set", "other", "--prefix", "O"]);
    desk.ok(&["submit", &item]);
    let refused = desk.fails(2, &["runner", "--once"]);
    assert!(refused.contains("several projects") && refused.contains("--project"), "{refused}");
    desk.ok(&["--project", "other", "runner", "--once"]);
    assert!(!desk.file("ran").exists(), "it is of another project");
    let mine = desk.json(&["project", "list"])[0]["slug"].as_str().expect("a slug").to_owned();
    desk.ok(&["--project", &mine, "runner", "--once"]);
    assert!(desk.file("ran").exists());
}

#[test]
fn a_project_says_how_long_checks_may_take() {
    let desk = Desk::standard();
    desk.write("docket.toml", "[workflow]\ncheck_timeout_default = 1\n[runner]\nallow = \"all\"\n");
    let item = checked(&desk, "sleep 600");
    let ran = desk.run(&["check", "run", &item]);
    assert!(ran.code == 8 && ran.out.contains("timed out"), "{ran:?}");
    desk.write("docket.toml", "[workflow]\ncheck_timeout_default = 0\n");
    let refused = desk.fails(3, &["check", "run", &item]);
    assert!(refused.contains("1 to 3600"), "{refused}");
}

#[test]
fn how_a_check_stands_is_said_of_the_work_tree_that_is_there() {
    let desk = with_git();
    let item = checked(&desk, "true");
    desk.ok(&["check", "add", &item, "Ann likes it"]);
    desk.ok(&["check", "run", &item]);
    let refused = desk.fails(5, &["close", &item]);
    assert!(refused.contains("1 \"Ann likes it\" (pending)") && !refused.contains("0 \"tests\""), "{refused}");
    let stands = || desk.json(&["check", "list", &item])["checks"][0]["status"].clone();
    assert_eq!(stands(), json!("pass"));
    desk.write("state", "edited\n");
    assert_eq!(stands(), json!("stale"));
    assert!(desk.ok(&["item", "show", &item]).contains("stale   0 tests"));
    let refused = desk.fails(5, &["close", &item]);
    assert!(refused.contains("it is another now"), "{refused}");
    assert!(refused.contains("have a person attest") && refused.contains("once nothing else is missing"), "{refused}");
    // One whose folder is missing has failed, at once and later.
    desk.ok(&["check", "set", &item, "--clear"]);
    desk.ok(&["check", "add", &item, "nowhere", "--cmd", "true", "--cwd", "nowhere"]);
    let ran = desk.run(&["--json", "check", "run", &item]);
    let proved: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!((ran.code, &proved["checks"][0]["status"], stands()), (8, &json!("fail"), json!("fail")));
    // One that writes what git does not ignore says so.
    desk.ok(&["check", "set", &item, "--clear"]);
    desk.ok(&["check", "add", &item, "writes", "--cmd", "date +%N >> litter"]);
    let ran = desk.run(&["check", "run", &item]);
    assert!(ran.code == 8 && ran.out.contains("the work tree changed while it ran"), "{ran:?}");
    // Whoever asks later is told the same, here and where nobody looks.
    assert_eq!(stands(), json!("stale"));
    assert!(desk.ok(&["item", "show", &item]).contains("stale   0 writes"));
}

#[test]
fn under_the_name_of_a_request_checks_are_made_once() {
    let desk = with_git();
    let item = checked(&desk, "echo x >> clock");
    let request = ["--json", "--request-id", "one", "check", "run", &item, "--again"];
    let first: Value = serde_json::from_str(&desk.run(&request).good()).expect("JSON");
    let second: Value = serde_json::from_str(&desk.run(&request).good()).expect("JSON");
    assert_eq!(first, second);
    assert_eq!(desk.read("clock").lines().count(), 1);
    let other = ["--request-id", "one", "check", "run", &item, "--again", "--only", "0"];
    assert!(desk.fails(5, &other).contains("requestId was used for another request"));
    assert_eq!(desk.read("clock").lines().count(), 1);
    desk.ok(&["--request-id", "two", "check", "run", &item, "--again"]);
    assert_eq!(desk.read("clock").lines().count(), 2);
}

#[test]
fn what_was_not_made_is_not_said_to_hold() {
    let desk = with_git();
    let item = checked(&desk, "echo heard");
    desk.ok(&["check", "add", &item, "Ann likes it"]);
    assert_eq!(desk.run(&["check", "run", &item, "--only", "1"]).code, 8, "a person has not said so");
    assert!(desk.fails(5, &["--actor", "user:zoe", "check", "approve", &item, "--only", "1"]).contains("attest it"));
    approve(&desk, &item);
    desk.ok(&["check", "run", &item]);
    let made = newest(&desk, &item)["id"].clone();
    // Twice handed in, twice found unchanged: what is shown is the run that was made.
    for _ in 0..2 {
        desk.ok(&["submit", &item]);
        desk.ok(&["runner", "--once"]);
    }
    let unchanged = newest(&desk, &item);
    assert_eq!(unchanged["end"], json!({"how": "unchanged", "since": made}), "{unchanged}");
    assert!(desk.ok(&["check", "log", &item]).contains("heard"));
    // With the last word a runner looks once more, and that closes it; where no work tree counts, the word itself does.
    desk.ok(&["check", "attest", &item, "1=pass"]);
    desk.ok(&["runner", "--once"]);
    assert_eq!(desk.field(&item, "status"), json!("done"));
    let item = desk.add(&["Two"]);
    desk.ok(&["check", "add", &item, "Ann likes it"]);
    desk.ok(&["start", &item]);
    desk.ok(&["submit", &item]);
    assert!(desk.ok(&["check", "attest", &item, "0=pass"]).contains("closed W-2"));
}
