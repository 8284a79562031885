//! How many checks are made at once: several by one runner, but one command at a time in one work tree, unless its operator
//! says more.

use std::path::Path;
use std::time::{Duration, Instant};

use docket_tests::repository::{Repository, commit, write};
use docket_tests::web::{Runner, Web};
use serde_json::{Value, json};

use super::{checked, results, text};

/// Long enough for any machine: what is waited for comes or does not.
const PATIENCE: Duration = Duration::from_mins(3);

/// Fails when another is at it in the same work tree. `clock` is ignored by git.
const ALONE: &str = "mkdir clock || exit 1; sleep 0.5; rmdir clock";

/// Passes once as many as are wanted have come to the same folder, and fails when they do not come in time.
fn together(meeting: &Path, wanted: usize) -> String {
    let meeting = meeting.display();
    format!(
        "touch {meeting}/$DOCKET_ITEM; for i in $(seq 300); do test $(ls {meeting} | wc -l) -ge {wanted} && exit 0; sleep 0.1; done; exit 1"
    )
}

/// A repository with a folder that all commands may write to, and more lines in `[runner]`.
fn desk(lines: &str) -> (Repository, tempfile::TempDir) {
    let meeting = tempfile::tempdir().expect("a folder");
    let repository = Repository::new("\"all\"");
    let writable = meeting.path().display();
    let rules = format!(
        "[project]\nslug = \"proof\"\npreset = \"cairn\"\n[runner]\nallow = \"all\"\nwritable = [\"{writable}\"]\n{lines}\n"
    );
    repository.write("docket.toml", &rules);
    repository.commit("other rules");
    (repository, meeting)
}

/// A server beside a repository.
fn served(repository: &Repository) -> Web {
    // The project is made with the rules of the file.
    drop(repository.server(repository.path(), "cairn", "human:planner", None));
    Web::on(&repository.database(), |_| {})
}

/// Tasks with one check each.
fn tasks(web: &Web, many: usize, cmd: &str) -> Vec<String> {
    let tasks: Vec<String> = (0..many).map(|number| web.item(&format!("part {number}"))).collect();
    for task in &tasks {
        let checks = json!({ "checks": [{ "desc": "it holds", "cmd": cmd, "timeout": 60 }] });
        web.json("PUT", &format!("/items/{task}/checks"), &checks).with(200);
    }
    tasks
}

/// Hands every task in, each from the work tree that is named beside it.
fn hand_in(web: &Web, tasks: &[String], place: impl Fn(usize) -> Option<String>) {
    for (number, task) in tasks.iter().enumerate() {
        let place = place(number);
        let headers: Vec<(&str, &str)> = place.iter().map(|place| ("x-docket-work-tree", place.as_str())).collect();
        web.send("POST", &format!("/items/{task}/submit"), &headers, Some(b"{}")).with(200);
    }
}

/// The newest run of a task.
fn newest(web: &Web, task: &str) -> Value {
    web.get(&format!("/items/{task}/runs")).with(200)["runs"][0].clone()
}

/// The runs of all tasks, once none of them waits any more.
fn ended(web: &Web, tasks: &[String]) -> Vec<Value> {
    let given_up = Instant::now() + PATIENCE;
    loop {
        let runs: Vec<Value> = tasks.iter().map(|task| newest(web, task)).collect();
        let is_open = |run: &Value| matches!(run["state"].as_str(), Some("queued" | "running"));
        if !runs.iter().any(is_open) {
            return runs;
        }
        assert!(Instant::now() < given_up, "they do not end: {runs:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn states(runs: &[Value]) -> Vec<&str> {
    runs.iter().filter_map(|run| run["state"].as_str()).collect()
}

#[test]
fn a_runner_makes_checks_of_several_work_trees_at_once() {
    let (repository, meeting) = desk("worktrees = true");
    let web = served(&repository);
    let tasks = tasks(&web, 3, &together(meeting.path(), 3));
    let _runner = Runner::with(&web, &["--jobs", "3"]);
    // Made after it has begun, and found all the same.
    for number in 0..3 {
        repository.worktree(&format!("w{number}"));
    }
    hand_in(&web, &tasks, |number| Some(format!("w{number}")));
    let runs = ended(&web, &tasks);
    assert_eq!(states(&runs), ["passed"; 3], "each waits for the others: {runs:?}");
    let mut places: Vec<String> = runs.iter().map(|run| text(&run["place"])).collect();
    places.sort();
    for (number, place) in places.iter().enumerate() {
        assert!(place.starts_with(&format!("w{number}@")), "the whole name of where it was made: {place}");
    }
}

#[test]
fn no_more_are_made_at_once_than_was_said() {
    let (repository, meeting) = desk("worktrees = true\njobs = 1");
    // Fails when another is at it, in whichever work tree.
    let alone = format!("mkdir {0}/busy || exit 1; sleep 0.5; rmdir {0}/busy", meeting.path().display());
    let web = served(&repository);
    let tasks = tasks(&web, 3, &alone);
    for number in 0..3 {
        repository.worktree(&format!("w{number}"));
    }
    let _runner = Runner::beside(&web);
    hand_in(&web, &tasks, |number| Some(format!("w{number}")));
    let runs = ended(&web, &tasks);
    assert_eq!(states(&runs), ["passed"; 3], "no two were made at once: {runs:?}");
}

#[test]
fn in_one_work_tree_commands_run_one_by_one() {
    let (repository, _meeting) = desk("jobs = 4");
    let web = served(&repository);
    let tasks = tasks(&web, 4, ALONE);
    let _runner = Runner::beside(&web);
    hand_in(&web, &tasks, |_| None);
    let runs = ended(&web, &tasks);
    assert_eq!(states(&runs), ["passed"; 4], "none disturbed another: {runs:?}");
}

#[test]
fn in_one_work_tree_as_many_run_at_once_as_its_operator_says() {
    let (repository, meeting) = desk("jobs = 4\njobs_per_worktree = 2");
    let web = served(&repository);
    let tasks = tasks(&web, 2, &together(meeting.path(), 2));
    let _runner = Runner::beside(&web);
    hand_in(&web, &tasks, |_| None);
    assert_eq!(states(&ended(&web, &tasks)), ["passed"; 2]);
}

#[test]
fn of_checks_that_are_made_at_once_each_is_told_once_and_by_its_own_name() {
    let (repository, meeting) = desk("jobs_per_worktree = 3");
    let web = served(&repository);
    let tasks: Vec<String> = (0..3).map(|number| web.item(&format!("part {number}"))).collect();
    for (number, task) in tasks.iter().enumerate() {
        let cmd = together(meeting.path(), 3);
        let checks = json!({ "checks": [{ "desc": format!("check {number}"), "cmd": cmd, "timeout": 60 }] });
        web.json("PUT", &format!("/items/{task}/checks"), &checks).with(200);
    }
    hand_in(&web, &tasks, |_| None);
    let ran = repository.docket(repository.path(), &["runner", "--once", "--jobs", "3"]);
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{said}");
    for (number, task) in tasks.iter().enumerate() {
        let run = text(&newest(&web, task)["id"]);
        let of_it: Vec<&str> = said.lines().filter(|line| line.contains(&format!("check {number}"))).collect();
        let told = [format!("{run}  begins  check {number}"), format!("{run}  passed  check {number} (exit 0)")];
        assert_eq!(of_it, told, "{said}");
    }
    assert_eq!(said.lines().count(), 2 * tasks.len(), "{said}");
}

#[test]
fn agents_of_one_server_on_stdio_do_not_disturb_each_other() {
    let (repository, _meeting) = desk("");
    let agent = repository.server(repository.path(), "cairn", "agent:ann", None);
    let check = json!([{ "desc": "it holds", "cmd": ALONE }]);
    let tasks: Vec<String> = (0..3).map(|number| checked(&agent, &format!("part {number}"), check.clone())).collect();
    // The first twice: whoever comes second joins what waits or runs.
    let wanted = [&tasks[0], &tasks[1], &tasks[2], &tasks[0]];
    let agent = &agent;
    std::thread::scope(|scope| {
        for task in wanted {
            scope.spawn(move || {
                let made = agent.ok("run_checks", json!({ "id": task }));
                assert_eq!(results(&made), ["pass"], "{made}");
            });
        }
    });
}

#[test]
fn a_work_tree_that_nobody_has_is_waited_for_and_a_bad_name_is_told() {
    let (repository, _meeting) = desk("worktrees = true");
    let web = served(&repository);
    let tasks = tasks(&web, 1, "sh check.sh");
    let _runner = Runner::beside(&web);
    let path = format!("/items/{}/submit", tasks[0]);
    let named = |name: &str| web.send("POST", &path, &[("x-docket-work-tree", name)], Some(b"{}"));
    assert_eq!(named(" ").error(422)["field"], "x-docket-work-tree");
    named("w7").with(200);
    std::thread::sleep(Duration::from_millis(500));
    let run = newest(&web, &tasks[0]);
    assert_eq!((&run["state"], &run["place"]), (&json!("queued"), &json!("w7")));
    // It is made as soon as there is one of that name.
    let place = repository.worktree("w7");
    write(&place, "state", "fixed\n");
    commit(&place, "fixed");
    web.item("anything that is written wakes it");
    assert_eq!(states(&ended(&web, &tasks)), ["passed"]);
}
