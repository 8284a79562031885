//! The six-field brief: written whole, merged by section, cleared; how complete it is and what that does to the queue.

use serde_json::{Value, json};

use crate::{World, names};

fn whole() -> Value {
    json!({
        "objective": "Parse it",
        "context": "src/parse.rs",
        "acceptanceCriteria": ["it parses", { "text": "a person likes it", "verifier": "human", "hard": false, "instructions": "look" }],
        "constraints": ["no unsafe"],
        "verification": "cargo test",
        "handoffExpectations": "a summary",
    })
}

fn replace(world: &World, task: &str, brief: Value) -> Value {
    world.ok("contract", json!({ "action": "brief_replace", "id": task, "brief": brief }))
}

fn merge(world: &World, task: &str, patch: Value) -> Value {
    world.ok("contract", json!({ "action": "brief_merge", "id": task, "patch": patch }))["brief"].clone()
}

#[test]
fn a_brief_has_six_fields() {
    let world = World::new();
    let task = world.task("t");
    let set = replace(&world, &task, whole());
    assert_eq!(
        names(&set["brief"]),
        ["acceptanceCriteria", "constraints", "context", "handoffExpectations", "objective", "verification"]
    );
    assert_eq!(set["completeness"], 100);
    let rendered = world.get(&task)["sections"]["brief"]["rendered"].clone();
    let rendered = rendered.as_str().expect("a text");
    for part in [
        "Parse it",
        "src/parse.rs",
        "c1 (agent): it parses",
        "c2 (human, soft): a person likes it",
        "no unsafe",
        "cargo test",
        "a summary",
    ] {
        assert!(rendered.contains(part), "{part}: {rendered}");
    }
    let unknown = json!({ "action": "brief_replace", "id": task, "brief": { "goal": "x" } });
    assert_eq!(world.code("contract", unknown), "VALIDATION");
}

#[test]
fn replacing_takes_away_what_is_not_there_and_null_clears() {
    let world = World::new();
    let task = world.task("t");
    replace(&world, &task, whole());
    let brief = replace(&world, &task, json!({ "objective": "Only this" }))["brief"].clone();
    assert_eq!(
        (&brief["objective"], &brief["context"], &brief["acceptanceCriteria"]),
        (&json!("Only this"), &Value::Null, &json!([]))
    );
    assert_eq!(replace(&world, &task, Value::Null)["brief"], Value::Null);
    assert!(world.get(&task)["sections"].get("brief").is_none());
}

#[test]
fn merging_keeps_what_is_absent_and_null_deletes() {
    let world = World::new();
    let task = world.task("t");
    replace(&world, &task, whole());
    let brief = merge(&world, &task, json!({ "context": null, "verification": "by hand" }));
    assert_eq!((&brief["context"], &brief["verification"]), (&Value::Null, &json!("by hand")));
    assert_eq!((&brief["objective"], &brief["constraints"]), (&json!("Parse it"), &json!(["no unsafe"])));
    assert_eq!(brief["acceptanceCriteria"].as_array().map(Vec::len), Some(2));
    let brief = merge(&world, &task, json!({ "acceptanceCriteria": null, "constraints": null }));
    assert_eq!((&brief["acceptanceCriteria"], &brief["constraints"]), (&json!([]), &json!([])));
    let empty = world.err("contract", json!({ "action": "brief_merge", "id": task, "patch": {} }));
    assert_eq!((&empty["code"], &empty["field"]), (&json!("VALIDATION"), &json!("patch")));
}

#[test]
fn a_criterion_keeps_its_name_and_its_evidence_through_edits_of_the_list() {
    let world = World::new();
    let task = world.task("t");
    world.criteria(&task, json!(["first", "second"]));
    world.verify(&task, "c2", "pass");
    let brief = world.criteria(&task, json!(["new", "second"]))["brief"].clone();
    let ids: Vec<&Value> =
        brief["acceptanceCriteria"].as_array().expect("a list").iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, [&json!("c3"), &json!("c2")], "c1 is not used again");
    let verdict = world.ok("contract", json!({ "action": "verdict", "taskId": task }))["verdict"].clone();
    assert_eq!(verdict["criteria"][1]["status"], "pass");
    let changed = json!([{ "id": "c2", "text": "second, and better" }]);
    let stale = world.criteria(&task, changed)["verdict"]["criteria"][0]["status"].clone();
    assert_eq!(stale, "stale", "what was shown was something else");
}

#[test]
fn intent_and_description_stand_in_and_the_heaviest_sections_weigh_most() {
    let world = World::new();
    let score = |task: &str| {
        world.ok("find", json!({ "action": "list", "fields": ["briefScore"] }))["tasks"]
            .as_array()
            .and_then(|rows| rows.iter().find(|row| row["id"] == task))
            .and_then(|row| row["briefScore"].as_u64())
            .expect("a score")
    };
    let bare = world.task("bare");
    let meant = world.made(json!({ "title": "meant", "intent": "why", "description": "what" }));
    assert_eq!(score(&bare), 0);
    assert!(score(&meant) > 0);
    let mut scores = Vec::new();
    for section in ["objective", "acceptanceCriteria", "context", "constraints", "verification", "handoffExpectations"]
    {
        let task = world.task(section);
        replace(&world, &task, json!({ section: whole()[section] }));
        scores.push(score(&task));
    }
    assert!(scores[..2].iter().min() > scores[2..].iter().max(), "{scores:?}");
    replace(&world, &meant, json!({ "objective": "better" }));
    assert!(score(&meant) > scores[0], "the description still counts");
}

#[test]
fn brief_complete_tasks_come_first_and_thin_ones_stay_claimable() {
    let world = World::new();
    let thin = world.made(json!({ "title": "thin", "status": "ready", "priority": "high" }));
    let complete = world.made(json!({ "title": "complete", "status": "ready", "priority": "low" }));
    assert_eq!(world.queue(), [thin.clone(), complete.clone()]);
    replace(&world, &complete, whole());
    assert_eq!(world.queue(), [complete.clone(), thin.clone()]);
    let start = || world.ok("work", json!({ "phase": "start" }))["trusted"]["guard"]["id"].clone();
    assert_eq!(start(), json!(complete));
    assert_eq!(start(), json!(thin));
}
