//! What is a person's: the last word on a criterion, and the answer that an item waits for.

use serde_json::{Value, json};

use crate::{World, text};

/// An agent's word overrides neither a check's nor a person's, whenever it is said.
#[test]
fn a_check_outweighs_an_agent_and_a_person_both() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("docket.toml"), "[runner]\nallow = \"all\"\n").expect("a file");
    let world = World { server: crate::start(&folder, &[]), folder };
    let brief = json!({ "acceptanceCriteria": ["it works"] });
    let key = world.plan(json!([{ "title": "x", "status": "ready", "brief": brief }])).remove(0);
    world.moves(&key, "start");
    let says = |passed: bool| {
        let told = world.ok("contract", json!({ "id": key, "verify": [{ "id": "c1", "passed": passed }] }));
        text(&told["trusted"]["verdict"]["c1"])
    };
    let refusals = || {
        let refused = world.err("advance", json!({ "id": key, "to": "complete" }));
        refused["refusals"].as_array().expect("refusals").clone()
    };
    assert_eq!(says(true), "pass");
    let check = json!([{ "desc": "it runs", "cmd": "exit 1", "proves": "c1" }]);
    world.ok("contract", json!({ "id": key, "checks": check }));
    world.ok("contract", json!({ "id": key, "run": {} }));
    assert_eq!(says(true), "fail", "a check found that it does not");
    world.moves(&key, "in_review");
    let refused = refusals();
    let told = refused.iter().find(|refusal| refusal["gate"] == "criteria").expect("the criterion is not shown");
    assert_eq!(told["unproved"][0]["status"], "fail", "{told}");
    world.signs_off(&key, "c1");
    assert_eq!(says(false), "pass", "a person has the last word");
    let gates: Vec<Value> = refusals().iter().map(|refusal| refusal["gate"].clone()).collect();
    assert_eq!(gates, [json!("checks")], "the check itself is still to be mended");
}

/// The same where only a person and an agent have looked.
#[test]
fn a_person_outweighs_an_agent() {
    let world = World::new();
    let brief = json!({ "acceptanceCriteria": ["it works"] });
    let key = world.plan(json!([{ "title": "x", "status": "ready", "brief": brief }])).remove(0);
    world.moves(&key, "start");
    world.finds(&key, "c1=fail");
    let told = world.ok("contract", json!({ "id": key, "verify": [{ "id": "c1", "passed": true }] }));
    assert_eq!(told["trusted"]["verdict"]["c1"], "fail", "{told}");
    let refused = world.err("advance", json!({ "id": key, "to": "in_review" }));
    assert_eq!(
        (&refused["code"], &refused["refusals"][0]["gate"]),
        (&json!("RULE_BLOCKED"), &json!("criteria")),
        "{refused}"
    );
    assert_eq!(refused["refusals"][0]["unproved"][0]["status"], "fail", "{refused}");
}

#[test]
fn only_a_question_parks_an_item() {
    let world = World::new();
    let key = world.plan(json!([{ "title": "x", "status": "ready" }])).remove(0);
    let refused = world.err("advance", json!({ "id": key, "to": "waiting_for_input" }));
    assert_eq!(
        (&refused["code"], &refused["refusals"][0]["gate"]),
        (&json!("RULE_BLOCKED"), &json!("transition")),
        "{refused}"
    );
    assert!(text(&refused["refusals"][0]["remedy"]).contains("ask"), "{refused}");
    for plan in [
        json!({ "items": [{ "title": "y", "status": "waiting_for_input" }] }),
        json!({ "markdown": "- y", "status": "waiting_for_input" }),
    ] {
        let refused = world.err("plan", plan);
        assert_eq!(refused["reason"], "bad_value", "{refused}");
    }
    let next = world.get(&key)["trusted"]["guard"]["next"].clone();
    assert!(!next.to_string().contains("waiting_for_input") && next.to_string().contains("blocked"), "{next}");
    assert_eq!(world.moves(&key, "block")["to"], "blocked", "what is put aside without a question");
    world.ok("ask", json!({ "id": key, "question": "?" }));
    assert_eq!(world.status(&key), "waiting_for_input");
}
