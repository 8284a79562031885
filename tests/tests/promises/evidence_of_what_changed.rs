//! P10: evidence counts only for what it was about, also where that changes while it is made: the words of the criterion, the
//! check, the files; and where the gate `checks` is off and a criterion alone rests on it.
//!
//! Planted: `words-not-compared`, `definition-not-compared`, `tree-not-compared`.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use docket_tests::program::docket;
use docket_tests::repository::Repository;
use serde_json::{Value, json};

use crate::fleet::must_fail_with;

/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_mins(2);
/// Waits until somebody lets it go on, by a file that git ignores.
const SLOW: &str = "until test -e clock; do sleep 0.1; done; sh check.sh";

/// A repository whose check would pass, and an item in work with a criterion that a check proves.
fn begun(repository: &Repository, rules: &str, cmd: &str) {
    let toml = format!("[project]\nslug = \"proof\"\npreset = \"standard\"\n[runner]\nallow = \"all\"\n{rules}");
    repository.write("docket.toml", &toml);
    repository.write("state", "fixed\n");
    repository.commit("fixed");
    repository.docket_json(&["init"]);
    repository.docket_json(&["item", "add", "prove it", "--criterion", "The file says fixed."]);
    repository.docket_json(&["check", "add", "PROO-1", "it is fixed", "--cmd", cmd, "--proves", "c1"]);
    repository.docket_json(&["start", "PROO-1"]);
}

fn says(repository: &Repository, words: &str) {
    let criterion = json!({ "id": "c1", "text": words });
    repository.write(".docket/brief.json", &json!({ "acceptanceCriteria": [criterion] }).to_string());
    repository.docket_json(&["brief", "set", "PROO-1", "--file", ".docket/brief.json"]);
}

fn defines(repository: &Repository, cmd: &str) {
    let checks = json!([{ "desc": "it is fixed", "cmd": cmd, "proves": "c1" }]);
    repository.write(".docket/checks.json", &checks.to_string());
    repository.docket_json(&["check", "set", "PROO-1", "--file", ".docket/checks.json"]);
}

fn closing(repository: &Repository, plant: Option<&str>) -> Child {
    let mut command = Command::new(docket());
    command.arg("--db").arg(repository.word()).args(["close", "PROO-1"]).current_dir(repository.path());
    command.env_remove("DOCKET_ACTOR").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(bug) = plant {
        command.env("DOCKET_PLANT", bug);
    }
    command.spawn().expect("the program starts")
}

fn until_running(repository: &Repository) {
    let begun = Instant::now();
    while repository.docket_json(&["check", "runs", "PROO-1"])["runs"][0]["state"] != json!("running") {
        assert!(begun.elapsed() < PATIENCE, "never running");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// How the criterion stands, and whether it lets the item be done.
fn verdict(repository: &Repository) -> (Value, Value) {
    let verdict = repository.docket_json(&["verdict", "PROO-1"]);
    (verdict["criteria"][0]["status"].clone(), verdict["readyForDone"].clone())
}

/// Somebody closes an item, and what is to be shown changes while its check runs.
fn during(repository: &Repository, plant: Option<&str>, change: fn(&Repository), what: &str) {
    begun(repository, "", SLOW);
    let child = closing(repository, plant);
    until_running(repository);
    change(repository);
    repository.write("clock", "");
    let ended = child.wait_with_output().expect("it ends");
    assert!(!ended.status.success(), "closed on evidence about {what}");
    let (status, ready) = verdict(repository);
    assert_ne!((status, ready), (json!("pass"), json!(true)), "{what}");
    let status = repository.docket_json(&["item", "show", "PROO-1"])["item"]["role"].clone();
    assert_eq!(status, "work");
}

fn other_words(repository: &Repository) {
    says(repository, "The file says fixed, and says so twice.");
}

fn other_check(repository: &Repository) {
    defines(repository, "false");
}

#[test]
fn words_that_change_while_a_check_runs_are_not_shown_by_it() {
    let repository = Repository::new("\"all\"");
    during(&repository, None, other_words, "other words");
    // Made anew of these words it shows them.
    repository.docket_json(&["close", "PROO-1"]);
    assert_eq!(verdict(&repository).0, "pass");
}

#[test]
fn on_a_server_they_are_not_shown_either() {
    during(&Repository::on_server("\"all\""), None, other_words, "other words");
}

#[test]
fn and_words_that_are_not_compared_would_be_seen() {
    must_fail_with(&["closed on evidence about other words"], || {
        during(&Repository::new("\"all\""), Some("words-not-compared"), other_words, "other words");
    });
}

#[test]
fn a_check_that_changes_while_it_runs_has_no_result_of_what_it_said() {
    let repository = Repository::new("\"all\"");
    during(&repository, None, other_check, "another check");
    let closing = repository.docket(repository.path(), &["close", "PROO-1"]);
    assert!(!closing.status.success(), "the check as it is fails");
}

#[test]
fn on_a_server_it_has_none_either() {
    during(&Repository::on_server("\"all\""), None, other_check, "another check");
}

#[test]
fn and_a_definition_that_is_not_compared_would_be_seen() {
    must_fail_with(&["closed on evidence about another check"], || {
        during(&Repository::new("\"all\""), Some("definition-not-compared"), other_check, "another check");
    });
}

/// With the gate `checks` off a criterion is all that rests on a check: it goes stale with it all the same.
fn criterion_alone(repository: &Repository, plant: Option<&str>) {
    begun(repository, "[workflow]\ngates = [\"dependencies\", \"criteria\"]\n", "sh check.sh");
    repository.docket_json(&["check", "run", "PROO-1"]);
    assert_eq!(verdict(repository), (json!("pass"), json!(true)));
    repository.write("state", "broken\n");
    let ended = closing(repository, plant).wait_with_output().expect("it ends");
    assert!(!ended.status.success(), "closed on evidence about other files");
    assert_eq!(verdict(repository), (json!("fail"), json!(false)), "it was made again, on what is there");
    repository.write("state", "fixed\n");
    repository.docket_json(&["check", "run", "PROO-1"]);
    repository.write("new", "");
    assert_eq!(verdict(repository), (json!("stale"), json!(false)), "nobody has shown it of these files");
    repository.docket_json(&["check", "run", "PROO-1"]);
    // What changes the files that it runs on shows nothing of any.
    defines(repository, "date +%N >> litter");
    let ended = closing(repository, plant).wait_with_output().expect("it ends");
    assert!(!ended.status.success(), "closed on evidence about files that it changed");
    assert_eq!(verdict(repository).1, json!(false));
    defines(repository, "sh check.sh");
    repository.docket_json(&["close", "PROO-1"]);
}

#[test]
fn a_criterion_goes_stale_with_the_files_of_the_check_that_shows_it() {
    criterion_alone(&Repository::new("\"all\""), None);
}

#[test]
fn on_a_server_it_goes_stale_too() {
    criterion_alone(&Repository::on_server("\"all\""), None);
}

#[test]
fn and_a_tree_that_is_not_compared_would_be_seen_there() {
    must_fail_with(&["closed on evidence about other files"], || {
        criterion_alone(&Repository::new("\"all\""), Some("tree-not-compared"));
    });
}
