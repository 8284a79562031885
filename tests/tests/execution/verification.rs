//! What completing a task means by what its checks ask for.

use std::time::{Duration, Instant};

use docket_tests::mcp::Server;
use docket_tests::repository::Repository;
use serde_json::{Value, json};

/// Long enough for any machine: what is waited for comes or does not.
const PATIENCE: Duration = Duration::from_mins(5);

/// A repository whose project has the preset of this surface, and an agent in it.
pub(crate) fn desk() -> (Repository, Server) {
    let repository = Repository::new("\"all\"");
    let rules = "[project]\nslug = \"proof\"\npreset = \"execution\"\n[runner]\nallow = \"all\"\n";
    repository.write("docket.toml", rules);
    repository.commit("other rules");
    let agent = repository.server(repository.path(), "execution", "agent:ann", None);
    (repository, agent)
}

/// A task that the agent has begun, with these checks.
pub(crate) fn begun(repository: &Repository, agent: &Server, title: &str, checks: &[&[&str]]) -> String {
    let made = repository.docket_json(&["item", "add", title]);
    let id = made.pointer("/items/0/item/id").or(made.pointer("/item/id")).or(made.get("id"));
    let task = id.and_then(Value::as_str).unwrap_or_else(|| panic!("no id in {made}")).to_owned();
    for check in checks {
        repository.docket_json(&[&["check", "add", &task][..], check].concat());
    }
    agent.ok("claim_task", json!({ "taskId": task }));
    agent.ok("update_task_status", json!({ "taskId": task, "status": "in_progress" }));
    task
}

pub(crate) fn status(repository: &Repository, task: &str) -> String {
    let shown = repository.docket_json(&["item", "show", task]);
    let status = shown.pointer("/item/status").or(shown.get("status"));
    status.and_then(Value::as_str).unwrap_or_else(|| panic!("no status in {shown}")).to_owned()
}

/// Waits until a task is in a status.
pub(crate) fn until(repository: &Repository, task: &str, wanted: &str) {
    let given_up = Instant::now() + PATIENCE;
    while status(repository, task) != wanted {
        assert!(Instant::now() < given_up, "never {wanted}: {}", repository.docket_json(&["check", "runs", task]));
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// How completing was answered: the state, the kind and the hint.
fn told(done: &Value) -> (&Value, &Value, &Value) {
    (&done["task"]["state"], &done["verification"]["kind"], &done["verificationEtaSec"])
}

#[test]
fn a_task_without_checks_is_done_at_once() {
    let (repository, agent) = desk();
    let task = begun(&repository, &agent, "plain", &[]);
    let done = agent.ok("complete_task", json!({ "taskId": task }));
    assert_eq!(told(&done), (&json!("done"), &json!("none"), &json!(0)));
}

#[test]
fn a_task_for_a_person_waits_until_it_is_attested() {
    let (repository, agent) = desk();
    let task = begun(&repository, &agent, "looked at", &[&["Ann likes it"]]);
    let learnings = json!([{ "title": "Ann", "body": "likes short errors" }]);
    let complete =
        json!({ "taskId": task, "learnings": learnings, "requestId": "00000000-0000-4000-8000-000000000007" });
    let done = agent.ok("complete_task", complete.clone());
    assert_eq!(told(&done), (&json!("needs_review"), &json!("manual"), &Value::Null));
    assert!(done.as_object().is_some_and(|fields| fields.contains_key("verificationEtaSec")), "null, and said: {done}");
    let entry = done["knowledgeEntryIds"][0].as_str().expect("what was learned is kept before it is shown");
    assert_eq!(repository.docket_json(&["knowledge", "show", entry])["sourceItem"], json!(task));
    assert_eq!(agent.ok("complete_task", complete), done, "sent again it is the same, though the claim has ended");
    let again = agent.err("complete_task", json!({ "taskId": task }));
    assert_eq!(again["code"], "task.already_claimed", "what was handed in is held by nobody");
    assert_eq!(status(&repository, &task), "needs_review");
    repository.docket_json(&["check", "attest", &task, "0=pass"]);
    assert_eq!(status(&repository, &task), "done");
}

#[test]
fn a_task_with_a_command_closes_by_itself() {
    let (repository, agent) = desk();
    repository.write("state", "fixed\n");
    let task = begun(&repository, &agent, "proven", &[&["It is fixed", "--cmd", "sh check.sh"]]);
    let done = agent.ok("complete_task", json!({ "taskId": task, "output": "mended" }));
    assert_eq!((&done["verification"]["kind"], &done["verificationEtaSec"]), (&json!("command"), &json!(30)));
    until(&repository, &task, "done");
    let runs = repository.docket_json(&["check", "runs", &task]);
    assert_eq!(runs["runs"][0]["state"], "passed");
}

#[test]
fn a_task_whose_command_fails_is_found_again() {
    let (repository, agent) = desk();
    let task = begun(&repository, &agent, "not proven", &[&["It is fixed", "--cmd", "sh check.sh"]]);
    agent.ok("complete_task", json!({ "taskId": task }));
    until(&repository, &task, "in_progress");
    assert_eq!(repository.docket_json(&["check", "runs", &task])["runs"][0]["state"], "failed");
    let bob = repository.server(repository.path(), "execution", "agent:bob", None);
    let found = bob.ok("get_next_actionable", json!({}));
    assert_eq!((&found["tasks"][0]["id"], &found["tasks"][0]["state"]), (&json!(task), &json!("in_progress")));
    bob.ok("claim_task", json!({ "taskId": task }));
    repository.write("state", "fixed\n");
    bob.ok("complete_task", json!({ "taskId": task }));
    until(&repository, &task, "done");
}

#[test]
fn only_what_is_to_be_done_can_be_claimed() {
    let (repository, agent) = desk();
    let task = begun(&repository, &agent, "looked at", &[&["Ann likes it"]]);
    agent.ok("complete_task", json!({ "taskId": task }));
    let bob = repository.server(repository.path(), "execution", "agent:bob", None);
    assert_eq!(bob.err("claim_task", json!({ "taskId": task }))["code"], "task.not_actionable", "it is in review");
    repository.docket_json(&["check", "attest", &task, "0=fail"]);
    assert_eq!(status(&repository, &task), "in_progress");
    repository.docket_json(&["advance", &task, "block"]);
    assert_eq!(bob.err("claim_task", json!({ "taskId": task }))["code"], "task.not_actionable", "it is put aside");
    repository.docket_json(&["advance", &task, "resume"]);
    bob.ok("claim_task", json!({ "taskId": task }));
}

#[test]
fn what_a_person_approves_elsewhere_is_made_by_the_server_that_the_agent_has() {
    let (repository, _) = desk();
    repository.write("docket.toml", "[project]\nslug = \"proof\"\npreset = \"execution\"\n");
    repository.write("state", "fixed\n");
    repository.commit("nothing runs without approval");
    let agent = repository.server(repository.path(), "execution", "agent:ann", None);
    let task = begun(&repository, &agent, "approved later", &[]);
    repository.docket_json(&["--actor", "agent:ann", "check", "add", &task, "It is fixed", "--cmd", "sh check.sh"]);
    let done = agent.ok("complete_task", json!({ "taskId": task }));
    assert_eq!(done["task"]["state"], json!("needs_review"), "{done}");
    let version = repository.docket_json(&["item", "show", &task]);
    let version = version.pointer("/item/version").or(version.get("version")).expect("a version").to_string();
    let approve = ["--actor", "user:bob", "check", "approve", &task, "--if-version", &version];
    let said = repository.docket(repository.path(), &approve);
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    assert!(String::from_utf8_lossy(&said.stdout).contains("docket mcp"), "it says what makes them");
    until(&repository, &task, "done");
}
