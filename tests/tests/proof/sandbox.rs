//! What keeps a check from writing elsewhere is told where it matters: in the log of a command that failed by it.
#![expect(clippy::print_stderr, reason = "what was not tried is told")]

use docket_tests::mcp::Server;
use docket_tests::repository::Repository;
use serde_json::{Value, json};

use super::{checked, results, text};

fn newest_log(repository: &Repository) -> Value {
    let runs = repository.docket_json(&["check", "runs", "PROO-1"]);
    repository.docket_json(&["check", "log", &text(&runs["runs"][0]["id"])])
}

#[test]
fn a_command_that_may_not_write_somewhere_is_told_what_to_do() {
    let outside = tempfile::tempdir().expect("a folder");
    let repository = Repository::new("\"all\"");
    let place = outside.path().join("made");
    let command = format!("touch {}", place.display());
    let agent = repository.server(repository.path(), "cairn", "agent:ann", None);
    let task = checked(&agent, "one", json!([{ "desc": "writes elsewhere", "cmd": command }]));
    let ran = agent.ok("run_checks", json!({ "id": task }));
    let log = newest_log(&repository);
    let confined = log["run"]["sandbox"]
        .as_str()
        .is_some_and(|sandbox| sandbox.contains("landlock") && !sandbox.contains("files open"));
    let hinted = text(&log["text"]).contains("[runner] writable");
    assert_eq!(hinted, confined, "{log}");
    assert_eq!(results(&ran), [if confined { "fail" } else { "pass" }]);
    // Where the operator allows it, it works, and nothing is hinted at.
    let toml = std::fs::read_to_string(repository.path().join("docket.toml")).expect("docket.toml");
    repository.write("docket.toml", &format!("{toml}writable = [\"{}\"]\n", outside.path().display()));
    drop(agent);
    let agent = repository.server(repository.path(), "cairn", "agent:ann", None);
    assert_eq!(results(&agent.ok("run_checks", json!({ "id": task }))), ["pass"]);
    assert!(place.exists() && !text(&newest_log(&repository)["text"]).contains("writable"));
}

#[test]
fn no_log_tells_a_key_or_a_password() {
    let repository = Repository::new("\"all\"");
    let agent = repository.server(repository.path(), "cairn", "agent:ann", None);
    let key = text(&repository.docket_json(&["key", "create", "--profile", "viewer", "--name", "ci"])["secret"]);
    let says = format!("echo using {key}; echo 'DB_PASSWORD=hunter-two'; echo token count 3");
    let task = checked(&agent, "one", json!([{ "desc": "talks", "cmd": says }]));
    agent.ok("run_checks", json!({ "id": task }));
    assert_eq!(newest_log(&repository)["text"], "using [redacted]\nDB_PASSWORD=[redacted]\ntoken count 3\n");
}

#[test]
fn what_was_kept_from_being_written_is_said_as_it_is() {
    for (repository, said) in [
        (Repository::new("\"all\""), ", own files read-only"),
        // On a server there is no file of the database: what was kept is the configuration.
        (Repository::on_server("\"all\""), ", own files read-only"),
    ] {
        let agent = repository.server(repository.path(), "cairn", "agent:ann", None);
        let task = checked(&agent, "one", json!([{ "desc": "writes it", "cmd": "echo x >> docket.toml" }]));
        let before = std::fs::read(repository.path().join("docket.toml")).expect("docket.toml");
        let ran = agent.ok("run_checks", json!({ "id": task }));
        let sandbox = text(&newest_log(&repository)["run"]["sandbox"]);
        if !sandbox.contains("namespace") {
            eprintln!("NOT TRIED: there are no namespaces here");
            return;
        }
        assert!(sandbox.ends_with(said), "{sandbox}");
        assert_eq!(results(&ran), ["fail"]);
        assert_eq!(std::fs::read(repository.path().join("docket.toml")).expect("docket.toml"), before);
    }
}

#[test]
fn a_command_that_makes_what_docket_would_go_by_has_failed() {
    let repository = Repository::new("\"all\"");
    let arguments = ["--surface", "cairn", "--actor", "agent:ann"];
    let started = Server::try_start_on("sqlite:work.db", repository.path(), &arguments, |command| {
        command.env_remove("DOCKET_ACTOR");
    });
    let agent = started.unwrap_or_else(|_| panic!("the server ended at once"));
    for made in ["work.db-journal", ".taskorchestrator/config.yaml"] {
        let cmd = format!("mkdir -p $(dirname {made}) && echo forged > {made}");
        let task = checked(&agent, made, json!([{ "desc": "makes it", "cmd": cmd }]));
        let ran = agent.ok("run_checks", json!({ "id": task }));
        assert_eq!(results(&ran), ["fail"], "{ran}");
        let note = text(&ran["checks"][0]["untrusted"]["note"]);
        assert!(note.contains(&format!("{made} was not there before: moved to {made}.set-aside")), "{ran}");
        assert!(!repository.path().join(made).exists());
        assert!(repository.path().join(format!("{made}.set-aside")).exists(), "it is not lost");
    }
}

/// What an agent sees of the one check of a new task.
fn result_of(agent: &Server, cmd: &str) -> String {
    let task = checked(agent, "one", json!([{ "desc": "does it", "cmd": cmd }]));
    results(&agent.ok("run_checks", json!({ "id": task }))).remove(0)
}

#[test]
fn a_command_that_changes_the_work_tree_and_breaks_git_shows_nothing() {
    let repository = Repository::new("\"all\"");
    let agent = repository.server(repository.path(), "cairn", "agent:ann", None);
    let task =
        checked(&agent, "one", json!([{ "desc": "breaks it", "cmd": "echo 2 >> state; mv .git/HEAD .git/H; true" }]));
    // It is not taken for a folder without git from then on.
    for _ in 0..2 {
        let refused = agent.err("run_checks", json!({ "id": task }));
        assert!(refused.to_string().contains("its .git is no repository"), "{refused}");
    }
    let person = repository.server(repository.path(), "cairn", "human:rita", None);
    person.err("transition", json!({ "id": task, "to": "done" }));
    let git = repository.path().join(".git");
    std::fs::rename(git.join("H"), git.join("HEAD")).expect("mended");
    let shown = person.ok("get", json!({ "id": task }));
    assert_eq!(
        (results(&shown), &shown["status"] == "done"),
        (vec!["pending".to_owned()], false),
        "as `cairn` spells what is stale: {shown}"
    );
}

#[test]
fn a_command_that_makes_a_database_or_configuration_where_it_would_be_found_first_has_failed() {
    let repository = Repository::new("\"all\"");
    let place = repository.worktree("w1");
    std::fs::create_dir_all(place.join("deep/er")).expect("folders");
    let agent = repository.server(&place.join("deep/er"), "cairn", "agent:ann", None);
    for made in
        [".docket/docket.db", "deep/.docket/docket.db", "deep/er/docket.toml", "deep/.taskorchestrator/config.yaml"]
    {
        let cmd = format!("mkdir -p $(dirname {made}) && echo forged > {made}");
        assert_eq!(result_of(&agent, &cmd), "fail", "{made}");
        assert!(!place.join(made).exists(), "{made}");
    }
    // Nor may it say that its work tree belongs to another repository.
    let forged = "mkdir -p f/.git/worktrees/w && mv .git away; echo \"gitdir: $PWD/f/.git/worktrees/w\" > .git; true";
    let before = std::fs::read(place.join(".git")).expect("a file");
    result_of(&agent, forged);
    let sandbox = text(&newest_log(&repository)["run"]["sandbox"]);
    if sandbox.contains("namespace") {
        assert_eq!(std::fs::read(place.join(".git")).expect("a file"), before);
    }
}
