//! Asking a person: the task is parked and given back, and returns to ready with the answer.

use serde_json::{Value, json};

use crate::{World, text};

fn ask(world: &World, task: &str) -> Value {
    let options = ["blue", "green"];
    world.ok("task", json!({ "action": "ask", "id": task, "question": "which colour?", "options": options }))
}

#[test]
fn asking_parks_the_task_and_unassigns_the_agent() {
    let world = World::new();
    let task = world.task("t");
    world.begin(&task);
    assert_eq!(world.guard(&task)["assignee"]["name"], "ann");
    let asked = ask(&world, &task);
    assert_eq!((&asked["status"], &asked["question"]["state"]), (&json!("waiting_for_input"), &json!("open")));
    assert_eq!(asked["question"]["options"], json!(["blue", "green"]));
    let read = world.get(&task);
    assert_eq!(read["guard"]["assignee"], Value::Null);
    assert_eq!(read["guard"]["openQuestion"]["id"], asked["question"]["id"]);
    assert_eq!(read["guard"]["blockingHumanRequests"][0]["kind"], "question");
    assert_eq!(read["sections"]["question"]["question"], "which colour?");
    assert!(world.queue().is_empty(), "the fleet moves on");
    assert_eq!(world.ok("work", json!({ "phase": "start" }))["found"], false);
}

#[test]
fn an_answer_returns_it_to_ready_and_rides_along() {
    let world = World::new();
    let task = world.task("t");
    world.begin(&task);
    let question = text(&ask(&world, &task)["question"]["id"]);
    // Another agent may answer.
    let bob = world.actor("agent:bob");
    let answered = bob.ok("task", json!({ "action": "answer", "questionId": question, "answer": "blue" }));
    assert_eq!((&answered["status"], &answered["question"]["state"]), (&json!("ready"), &json!("answered")));
    assert_eq!(world.queue(), std::slice::from_ref(&task));
    let packet = world.ok("work", json!({ "phase": "start" }));
    assert_eq!(packet["untrusted"]["question"]["answer"], "blue", "whoever claims it next need not ask again");
    assert_eq!(packet["trusted"]["guard"]["openQuestion"], Value::Null);
    assert_eq!(world.get(&task)["sections"]["question"]["answeredBy"], "bob");
    let again = world.err("task", json!({ "action": "answer", "questionId": question, "answer": "green" }));
    assert_eq!(again["code"], "CONFLICT");
}

#[test]
fn there_is_one_open_question_at_a_time() {
    let world = World::new();
    let task = world.task("t");
    let question = text(&ask(&world, &task)["question"]["id"]);
    let second = world.err("task", json!({ "action": "ask", "id": task, "question": "and another?" }));
    assert_eq!((&second["code"], &second["reason"]), (&json!("CONFLICT"), &json!("question_open")));
    world.actor("user:eve").ok("task", json!({ "action": "answer", "questionId": question, "answer": "blue" }));
    world.ok("task", json!({ "action": "ask", "id": task, "question": "and another?" }));
}

#[test]
fn moving_it_out_cancels_the_question() {
    let world = World::new();
    let task = world.task("t");
    let question = text(&ask(&world, &task)["question"]["id"]);
    world.to(&task, "ready");
    let read = world.get(&task);
    assert_eq!(read["guard"]["openQuestion"], Value::Null);
    assert_eq!(read["sections"]["question"]["state"], "cancelled");
    let late = world.err("task", json!({ "action": "answer", "questionId": question, "answer": "blue" }));
    assert_eq!(late["code"], "CONFLICT");
}

#[test]
fn asking_is_ungated_and_a_closed_task_has_nothing_to_ask() {
    let world = World::new();
    let task = world.task("t");
    world.criteria(&task, json!(["it works"]));
    world.begin(&task);
    ask(&world, &task);
    let closed = world.task("closed");
    world.finish(&closed);
    assert_eq!(world.code("task", json!({ "action": "ask", "id": closed, "question": "?" })), "CONFLICT");
    let unknown = json!({ "action": "answer", "questionId": "01J00000000000000000000000", "answer": "a" });
    assert_eq!(world.code("task", unknown), "NOT_FOUND");
    assert_eq!(world.code("task", json!({ "action": "answer", "questionId": "7", "answer": "a" })), "VALIDATION");
}

#[test]
fn what_waits_for_an_answer_is_not_begun_and_what_another_holds_is_not_asked_about() {
    let world = World::new();
    let task = world.task("t");
    ask(&world, &task);
    let refused = world.err("work", json!({ "phase": "start", "id": task }));
    assert_eq!((&refused["code"], &refused["rule"]), (&json!("RULE_BLOCKED"), &json!("question")), "{refused}");
    assert_eq!(world.guard(&task)["openQuestion"]["id"], world.get(&task)["sections"]["question"]["id"]);
    let held = world.task("held");
    world.actor("agent:bob").ok("work", json!({ "phase": "start", "id": held }));
    let refused = world.err("task", json!({ "action": "ask", "id": held, "question": "mine?" }));
    assert_eq!((&refused["code"], &refused["kind"]), (&json!("CONFLICT"), &json!("transient")), "{refused}");
    assert_eq!((world.status(&held).as_str(), &world.guard(&held)["openQuestion"]), ("in_progress", &Value::Null));
}

#[test]
fn closing_a_subtree_by_force_takes_its_questions_back() {
    let world = World::new();
    let parent = world.task("parent");
    let child = world.child(&parent, "child");
    let question = text(&ask(&world, &child)["question"]["id"]);
    world.ok("task", json!({ "action": "cascade_close", "id": parent, "status": "cancelled" }));
    assert_eq!(world.get(&child)["sections"]["question"]["state"], "cancelled");
    let late = world.err("task", json!({ "action": "answer", "questionId": question, "answer": "blue" }));
    assert_eq!(late["code"], "CONFLICT");
}

#[test]
fn no_rule_keeps_anybody_from_asking() {
    let world = World::new();
    let (blocker, task) = (world.task("blocker"), world.task("task"));
    world.relate(&blocker, "blocks", &task);
    world.criteria(&task, json!(["it works"]));
    assert_eq!(ask(&world, &task)["status"], "waiting_for_input");
}

#[test]
fn who_asked_does_not_answer() {
    let world = World::new();
    let task = world.task("t");
    let question = text(&ask(&world, &task)["question"]["id"]);
    let own = world.err("task", json!({ "action": "answer", "questionId": question, "answer": "blue" }));
    assert_eq!((&own["code"], &own["reason"]), (&json!("FORBIDDEN"), &json!("not_yours")), "{own}");
}
