//! Acceptance criteria: who shows them, what their evidence lets a task do, and that a batch is one.

use serde_json::{Value, json};

use crate::{World, text};

const MIXED: &str =
    r#"["it builds", { "text": "ann likes it", "verifier": "human" }, { "text": "it is short", "hard": false }]"#;

fn mixed(world: &World) -> String {
    let task = world.task("t");
    world.criteria(&task, serde_json::from_str(MIXED).expect("JSON"));
    world.begin(&task);
    task
}

fn verdict(world: &World, task: &str) -> Value {
    world.ok("contract", json!({ "action": "verdict", "taskId": task }))["verdict"].clone()
}

#[test]
fn a_verdict_names_each_criterion_with_how_and_by_whom_it_is_shown() {
    let world = World::new();
    let task = world.task("t");
    world.criteria(
        &task,
        json!([{ "text": "it builds", "instructions": "run make" }, { "text": "ok?", "verifier": "human" }]),
    );
    let read = world.get(&task);
    let first = &read["sections"]["verdict"]["criteria"][0];
    assert_eq!(
        (&first["id"], &first["text"], &first["status"], &first["verifier"], &first["instructions"]),
        (&json!("c1"), &json!("it builds"), &json!("open"), &json!("agent"), &json!("run make"))
    );
    assert_eq!(read["sections"]["verdict"], verdict(&world, &task));
    assert_eq!(read["guard"]["verdict"]["readyForReview"], false);
    assert_eq!(read["guard"]["verdict"]["counts"], json!({ "pass": 0, "fail": 0, "open": 2 }));
    let blocker = &read["guard"]["closureBlockers"][0];
    assert_eq!((&blocker["rule"], &blocker["criteria"][0]["id"]), (&json!("criteria"), &json!("c1")));
}

#[test]
fn the_gate_is_staged() {
    let world = World::new();
    let task = mixed(&world);
    let refused = world.not_to(&task, "in_review");
    assert_eq!((&refused["code"], &refused["rule"]), (&json!("RULE_BLOCKED"), &json!("criteria")), "{refused}");
    let named: Vec<&Value> =
        refused["violations"][0]["criteria"].as_array().expect("criteria").iter().map(|one| &one["id"]).collect();
    assert_eq!(named, [&json!("c1")], "what a person or nobody must show does not keep it from review");
    assert_eq!(world.verify(&task, "c1", "fail")["verdict"]["readyForReview"], false);
    assert_eq!(world.not_to(&task, "in_review")["code"], "RULE_BLOCKED", "a fail is no pass");
    world.verify(&task, "c1", "pass");
    world.to(&task, "in_review");
    let refused = world.not_to(&task, "done");
    assert_eq!(refused["violations"][0]["criteria"][0]["id"], "c2", "{refused}");
    assert_eq!(world.guard(&task)["blockingHumanRequests"], json!([{ "kind": "criterion", "criterionId": "c2" }]));
}

#[test]
fn soft_criteria_never_block() {
    let world = World::new();
    let task = world.task("t");
    world.criteria(&task, json!([{ "text": "nice", "hard": false }]));
    world.begin(&task);
    world.verify(&task, "c1", "fail");
    world.to(&task, "in_review");
    world.to(&task, "done");
    assert_eq!(verdict(&world, &task)["counts"]["fail"], 1, "and are told all the same");
}

#[test]
fn human_criteria_are_not_an_agents() {
    let world = World::new();
    let task = mixed(&world);
    let refused = world.err(
        "contract",
        json!({ "action": "verify_criterion", "taskId": task, "criterionId": "c2", "status": "pass" }),
    );
    assert_eq!((&refused["code"], &refused["reason"]), (&json!("RULE_BLOCKED"), &json!("not_yours")), "{refused}");
    assert!(text(&refused["message"]).contains("ask"), "it says what to do instead: {refused}");
    assert_eq!(verdict(&world, &task)["criteria"][1]["status"], "open");
    // Nor a person's who sends it as an agent would.
    let person = world.actor("user:eve");
    let sent = json!({ "action": "verify_criterion", "taskId": task, "criterionId": "c2", "status": "pass" });
    person.err("contract", sent);
}

#[test]
fn a_batch_is_taken_whole_or_not_at_all() {
    let world = World::new();
    let task = world.task("t");
    world.criteria(&task, json!(["a", "b", { "text": "c", "verifier": "human" }]));
    let batch = |items: Value| json!({ "action": "verify_criteria", "taskId": task, "items": items });
    let pass = |id: &str| json!({ "criterionId": id, "status": "pass" });
    for (items, code) in [
        (json!([pass("c1"), pass("c9")]), "NOT_FOUND"),
        (json!([pass("c1"), pass("c3")]), "RULE_BLOCKED"),
        (json!([pass("c1"), pass("c1")]), "VALIDATION"),
        (json!([pass("c1"), { "criterionId": "c2", "status": "maybe" }]), "VALIDATION"),
        (json!([pass("c1"), { "criterionId": "c2" }]), "VALIDATION"),
        (json!([]), "VALIDATION"),
    ] {
        assert_eq!(world.code("contract", batch(items.clone())), code, "{items}");
        assert_eq!(verdict(&world, &task)["counts"]["pass"], 0, "{items}");
    }
    let note = json!({ "criterionId": "c2", "status": "pass", "note": "seen it" });
    let done = world.ok("contract", batch(json!([pass("c1"), note])))["verdict"].clone();
    assert_eq!((&done["counts"]["pass"], &done["readyForReview"]), (&json!(2), &json!(true)));
    assert_eq!(done["criteria"][1]["note"], "seen it");
}

/// An agent's word overrides neither a check's nor a person's, whenever it is said.
#[test]
fn a_person_outweighs_an_agent() {
    let world = World::new();
    let task = world.task("t");
    world.criteria(&task, json!(["it works"]));
    world.begin(&task);
    world.verify(&task, "c1", "pass");
    world.operate(&["verify", &task, "c1=fail", "--as", "human", "--note", "it does not"]);
    let verdict = world.verify(&task, "c1", "pass")["verdict"].clone();
    assert_eq!((&verdict["counts"]["fail"], &verdict["readyForReview"]), (&json!(1), &json!(false)), "{verdict}");
    let refused = world.not_to(&task, "in_review");
    assert_eq!((&refused["code"], &refused["rule"]), (&json!("RULE_BLOCKED"), &json!("criteria")), "{refused}");
    assert_eq!(refused["violations"][0]["criteria"][0]["status"], "fail");
    let finish = json!({
        "phase": "finish", "taskId": task, "action": "apply", "verify": [{ "criterionId": "c1", "status": "pass" }],
    });
    assert_eq!(world.code("work", finish), "RULE_BLOCKED");
    // The other way round it holds too: a person's pass stands, whatever an agent finds after it.
    world.operate(&["verify", &task, "c1=pass", "--as", "human"]);
    assert_eq!(world.verify(&task, "c1", "fail")["verdict"]["counts"]["pass"], 1);
    world.to(&task, "in_review");
}

#[test]
fn soft_criteria_are_told_where_a_task_goes_on_without_them() {
    let world = World::new();
    let task = world.task("t");
    world.criteria(&task, json!([{ "text": "nice", "hard": false }]));
    world.begin(&task);
    for status in ["in_review", "done"] {
        let call = json!({ "phase": "finish", "taskId": task, "action": "apply", "targetStatus": status });
        let packet = world.ok("work", call);
        assert_eq!(packet["trusted"]["guard"]["status"], status);
        assert_eq!(packet["trusted"]["closureBlockers"], json!([]), "it keeps it from nothing: {packet}");
        assert_eq!(packet["trusted"]["verdict"]["counts"], json!({ "pass": 0, "fail": 0, "open": 1 }), "{packet}");
    }
    assert_eq!(verdict(&world, &task)["criteria"][0]["hard"], false);
}

#[test]
fn a_batch_has_fifty_criteria_at_the_most() {
    let world = World::new();
    let task = world.task("t");
    let lines: Vec<String> = (1..=50).map(|number| format!("line {number}")).collect();
    world.criteria(&task, json!(lines));
    let items = |most: usize| -> Value {
        (1..=most).map(|number| json!({ "criterionId": format!("c{number}"), "status": "pass" })).collect()
    };
    let batch = |most: usize| json!({ "action": "verify_criteria", "taskId": task, "items": items(most) });
    let refused = world.err("contract", batch(51));
    assert_eq!((&refused["reason"], &refused["field"]), (&json!("batch_too_large"), &json!("items")), "{refused}");
    assert_eq!(world.ok("contract", batch(50))["verdict"]["counts"]["pass"], 50);
}

#[test]
fn a_word_about_one_criterion_is_kept() {
    let world = World::new();
    let task = world.task("t");
    world.criteria(&task, json!(["it works"]));
    let verify = json!({ "action": "verify_criterion", "taskId": task, "criterionId": "c1", "status": "pass", "note": "ran it" });
    assert_eq!(world.ok("contract", verify)["verdict"]["criteria"][0]["note"], "ran it");
}

#[test]
fn what_a_check_is_to_show_is_not_an_agents() {
    let world = World::new();
    let task = world.task("t");
    world.criteria(&task, json!([{ "text": "it runs", "verifier": "check" }]));
    let packet = world.begin(&task);
    let asks = packet["trusted"]["actions"].as_array().expect("actions").iter().find(|act| act["action"] == "ask");
    assert_eq!(asks.map(|act| &act["criteria"]), Some(&json!(["c1"])), "no check proves it: {packet}");
    let verify = json!({ "action": "verify_criterion", "taskId": task, "criterionId": "c1", "status": "pass" });
    let refused = world.err("contract", verify);
    assert_eq!((&refused["code"], &refused["rule"]), (&json!("RULE_BLOCKED"), &json!("criteria")), "{refused}");
    world.to(&task, "in_review");
    let refused = world.not_to(&task, "done");
    assert!(text(&refused["violations"][0]["remedy"]).contains("check"), "{refused}");
    world.operate(&["verify", &task, "c1=pass", "--as", "human"]);
    world.to(&task, "done");
}

/// An agent's word does not override a check's.
#[test]
fn a_check_outweighs_an_agent() {
    let world = World::new();
    let task = world.task("t");
    world.criteria(&task, json!(["it works"]));
    std::fs::write(world.folder.path().join("docket.toml"), "[runner]\nallow = \"all\"\n").expect("a file");
    world.operate(&["check", "add", &task, "it runs", "--cmd", "exit 1", "--proves", "c1"]);
    // A check that fails is told by how the program ends.
    let database = format!("sqlite:{}", crate::database(&world.folder).display());
    let mut run = std::process::Command::new(docket_tests::program::docket());
    run.args(["--db", &database, "check", "run", &task]).current_dir(world.folder.path());
    assert!(!run.output().expect("the program").status.success(), "it fails");
    world.begin(&task);
    let verdict = world.verify(&task, "c1", "pass")["verdict"].clone();
    assert_eq!(
        (&verdict["criteria"][0]["status"], &verdict["counts"]["pass"]),
        (&json!("fail"), &json!(0)),
        "{verdict}"
    );
}
