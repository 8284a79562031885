//! What only a person can decide, put to the person at the other end of a connection there and then.

use std::time::{Duration, Instant};

use docket_tests::mcp::Server;
use serde_json::{Value, json};

use crate::World;

const SOON: Duration = Duration::from_secs(10);
const QUIET: Duration = Duration::from_millis(700);

/// What the server waits for a person with.
fn form(server: &Server) -> Value {
    let form = server.hear(SOON).expect("a form");
    assert_eq!(form["method"], json!("elicitation/create"), "{form}");
    form
}

/// A call of a tool whose answer comes later.
fn begin(server: &Server, tool: &str, arguments: Value) -> (u64, std::sync::mpsc::Receiver<Value>) {
    server.ask("tools/call", json!({ "name": tool, "arguments": arguments }))
}

fn content(answer: &std::sync::mpsc::Receiver<Value>) -> Value {
    let message = answer.recv_timeout(SOON).expect("an answer");
    assert_eq!(message["result"]["isError"], json!(false), "{message}");
    message["result"]["structuredContent"].clone()
}

fn world() -> World {
    World::with(json!({ "elicitation": {} }))
}

/// How the question of an item stands.
fn state(world: &World, key: &str) -> Value {
    let got = world.server.ok("get", json!({ "id": key, "profile": "work" }));
    got["trusted"]["question"]["state"].clone()
}

/// Who did the newest thing of this kind.
fn by(world: &World, verb: &str) -> Value {
    let mut command = std::process::Command::new(docket_tests::program::docket());
    command
        .arg("--db")
        .arg(format!("sqlite:{}", world.database().display()))
        .args(["--json", "events", "--limit", "50"]);
    let done = command.current_dir(world.folder.path()).output().expect("it runs");
    let events: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    let events = events["events"].as_array().expect("events");
    let found = events.iter().filter(|event| event["verb"] == json!(verb)).max_by_key(|event| event["seq"].as_u64());
    found.unwrap_or_else(|| panic!("no {verb} in {events:?}"))["by"].clone()
}

#[test]
fn an_answer_is_committed_with_the_person_as_its_actor() {
    let world = world();
    let key = world.item("Paint");
    let arguments = json!({ "id": key, "question": "Which colour?", "options": ["Blue", "Red", "Blue"], "actor": { "id": "painter", "kind": "subagent" } });
    let (_, answer) = begin(&world.server, "ask", arguments);
    let shown = form(&world.server);
    let message = shown["params"]["message"].as_str().expect("a message");
    assert!(message.contains("Which colour?") && message.contains(&key) && message.contains("painter"), "{message}");
    let properties = &shown["params"]["requestedSchema"]["properties"];
    assert_eq!(properties["answer"]["enum"], json!(["Blue", "Red"]), "{shown}");
    assert!(properties["other"].is_object(), "{shown}");
    // The question stands while the form is open, and other calls go on.
    assert_eq!(state(&world, &key), json!("open"));
    world.server.reply(&shown, json!({ "action": "accept", "content": { "answer": "Red" } }));
    let told = content(&answer);
    assert_eq!(told["trusted"]["state"], json!("answered"), "{told}");
    assert_eq!(told["untrusted"]["answer"], json!("Red"), "{told}");
    assert_eq!(state(&world, &key), json!("answered"));
    let who = by(&world, "answered");
    assert_eq!(who["actor"]["kind"], json!("user"), "{who}");
    assert_ne!(who["actor"]["id"], json!("painter"), "{who}");
    assert_eq!(who["verification"]["verifier"], json!("elicitation"), "{who}");
}

#[test]
fn a_person_may_answer_in_their_own_words() {
    let world = world();
    for (options, content_sent, wanted) in [
        (json!(["Blue"]), json!({ "answer": "Blue", "other": "Green, please" }), "Green, please"),
        (json!([]), json!({ "answer": "As you like" }), "As you like"),
    ] {
        let key = world.item("Paint");
        let (_, answer) = begin(&world.server, "ask", json!({ "id": key, "question": "Which?", "options": options }));
        let shown = form(&world.server);
        world.server.reply(&shown, json!({ "action": "accept", "content": content_sent }));
        assert_eq!(content(&answer)["untrusted"]["answer"], json!(wanted));
    }
}

#[test]
fn whatever_is_no_answer_leaves_the_question_open() {
    let world = world();
    for reply in [
        json!({ "action": "decline" }),
        json!({ "action": "cancel" }),
        json!({ "action": "accept" }),
        json!({ "action": "accept", "content": {} }),
        json!({ "action": "accept", "content": { "answer": " " } }),
        json!({ "action": "accept", "content": { "answer": "Not offered" } }),
        json!({ "action": "accept", "content": { "answer": 7 } }),
        json!({ "action": "perhaps" }),
        json!({}),
    ] {
        let key = world.item("Paint");
        let (_, answer) = begin(&world.server, "ask", json!({ "id": key, "question": "Which?", "options": ["Blue"] }));
        let shown = form(&world.server);
        world.server.reply(&shown, reply.clone());
        let told = content(&answer);
        assert_eq!(told["trusted"]["state"], json!("open"), "{reply}: {told}");
        assert_eq!(state(&world, &key), json!("open"), "{reply}");
    }
    // A client that answers with an error is no different.
    let key = world.item("Paint");
    let (_, answer) = begin(&world.server, "ask", json!({ "id": key, "question": "Which?" }));
    let shown = form(&world.server);
    let error = json!({ "jsonrpc": "2.0", "id": shown["id"], "error": { "code": -1, "message": "no" } });
    world.server.send_line(&error.to_string()).expect("sent");
    assert_eq!(content(&answer)["trusted"]["state"], json!("open"));
    // And an answer that nobody asked for is told so.
    let nothing = json!({ "jsonrpc": "2.0", "id": 4711, "result": { "action": "accept" } });
    world.server.send_line(&nothing.to_string()).expect("sent");
    world.item("still served");
}

#[test]
fn whoever_cannot_show_a_form_is_asked_nothing() {
    for capabilities in [json!({}), json!({ "elicitation": { "url": {} } }), json!({ "sampling": {} })] {
        let world = World::with(capabilities.clone());
        let key = world.item("Paint");
        let begun = Instant::now();
        let told = world.server.ok("ask", json!({ "id": key, "question": "Which?" }));
        assert_eq!(told["trusted"]["state"], json!("open"), "{capabilities}");
        assert!(begun.elapsed() < Duration::from_secs(5), "{capabilities}");
        assert_eq!(world.server.hear(QUIET), None, "{capabilities}");
    }
}

#[test]
fn forms_are_few_and_one_that_nobody_waits_for_is_taken_back() {
    let world = world();
    let keys: Vec<String> = (0..5).map(|number| world.item(&format!("Paint {number}"))).collect();
    let mut calls = Vec::new();
    for key in &keys[..4] {
        calls.push(begin(&world.server, "ask", json!({ "id": key, "question": "Which?" })));
        form(&world.server);
    }
    // A fifth waits in the inbox like any other.
    let told = world.server.ok("ask", json!({ "id": keys[4], "question": "Which?" }));
    assert_eq!(told["trusted"]["state"], json!("open"));
    assert_eq!(world.server.hear(QUIET), None);
    world.server.notify("notifications/cancelled", json!({ "requestId": calls[0].0 }));
    let taken_back = world.server.hear(SOON).expect("word of it");
    assert_eq!(taken_back["method"], json!("notifications/cancelled"), "{taken_back}");
    assert_eq!(state(&world, &keys[0]), json!("open"), "the question was asked all the same");
    // Its place is free again.
    let key = world.item("Paint another");
    let _call = begin(&world.server, "ask", json!({ "id": key, "question": "Which?" }));
    form(&world.server);
    // And open forms do not keep a server whose client is gone.
    let begun = Instant::now();
    assert!(world.server.hang_up(SOON).is_some_and(|ended| ended.success()), "a clean end");
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

#[test]
fn a_question_that_is_asked_again_after_its_answer_is_not_put_again() {
    let world = world();
    let key = world.item("Paint");
    let arguments = json!({ "id": key, "question": "Which?", "requestId": "once" });
    let (_, answer) = begin(&world.server, "ask", arguments.clone());
    let shown = form(&world.server);
    world.server.reply(&shown, json!({ "action": "accept", "content": { "answer": "Blue" } }));
    assert_eq!(content(&answer)["trusted"]["state"], json!("answered"));
    world.server.ok("ask", arguments);
    assert_eq!(world.server.hear(QUIET), None);
    assert_eq!(state(&world, &key), json!("answered"));
}

#[test]
fn a_sign_off_is_put_to_the_person_when_it_is_all_that_is_missing() {
    let world = world();
    let key = world.item("Paint");
    let brief = json!({ "acceptanceCriteria": [
        { "text": "The wall is dry", "hard": true },
        { "text": "It looks well", "verifier": "human", "hard": true, "instructions": "Stand back" },
    ] });
    world.server.ok("contract", json!({ "id": key, "brief": brief }));
    let agent = json!({ "id": "painter", "kind": "subagent" });
    world.server.ok("work", json!({ "phase": "start", "id": key, "actor": agent }));
    let finish =
        |verify: Value| json!({ "phase": "finish", "id": key, "to": "done", "verify": verify, "actor": agent });
    // The agent's own part comes first: nobody is bothered for what would be refused all the same.
    world.server.err("work", finish(json!([])));
    assert_eq!(world.server.hear(QUIET), None);
    let dry = json!([{ "id": "c1", "passed": true, "note": "touched it" }]);
    for reply in [json!({ "action": "decline" }), json!({ "action": "accept", "content": { "c2": "maybe" } })] {
        let (_, answer) = begin(&world.server, "work", finish(dry.clone()));
        let shown = form(&world.server);
        let message = shown["params"]["message"].as_str().expect("a message");
        assert!(message.contains("It looks well") && message.contains("Stand back"), "{message}");
        assert!(!message.contains("The wall is dry"), "{message}");
        assert_eq!(shown["params"]["requestedSchema"]["properties"]["c2"]["enum"], json!(["pass", "fail"]), "{shown}");
        world.server.reply(&shown, reply);
        let refused = answer.recv_timeout(SOON).expect("an answer");
        assert_eq!(refused["result"]["isError"], json!(true), "{refused}");
    }
    let (_, answer) = begin(&world.server, "work", finish(dry.clone()));
    let shown = form(&world.server);
    world.server.reply(&shown, json!({ "action": "accept", "content": { "c2": "pass", "note": "Lovely" } }));
    let told = content(&answer);
    assert_eq!(told["trusted"]["applied"], json!(true), "{told}");
    let who = by(&world, "verified");
    assert!(["user", "subagent"].contains(&who["actor"]["kind"].as_str().unwrap_or_default()), "{who}");
    let got = world.server.ok("get", json!({ "id": key, "profile": "work" }));
    assert_eq!(got["trusted"]["guard"]["status"], json!("done"), "{got}");
}

#[test]
fn a_move_alone_asks_for_the_sign_off_too() {
    let world = world();
    let key = world.item("Paint");
    let brief = json!({ "acceptanceCriteria": [{ "text": "It looks well", "verifier": "human" }] });
    world.server.ok("contract", json!({ "id": key, "brief": brief }));
    let (_, answer) = begin(&world.server, "advance", json!({ "id": key, "to": "complete" }));
    let shown = form(&world.server);
    world.server.reply(&shown, json!({ "action": "accept", "content": { "c1": "pass" } }));
    let told = content(&answer);
    assert_eq!(told["trusted"]["moves"][0]["to"], json!("done"), "{told}");
}

#[test]
fn checks_are_approved_and_attested_by_the_person_who_is_shown_them() {
    let world = world();
    let key = world.item("Paint");
    let author = json!({ "id": "painter", "kind": "subagent" });
    let checks = json!([{ "desc": "it dries", "cmd": "dry --all" }, { "desc": "it shines" }]);
    world.server.ok("contract", json!({ "id": key, "checks": checks, "actor": author }));
    let (_, answer) = begin(&world.server, "contract", json!({ "id": key, "approve": [0], "actor": author }));
    let shown = form(&world.server);
    let message = shown["params"]["message"].as_str().expect("a message");
    assert!(message.contains("dry --all") && message.contains("painter") && message.contains(&key), "{message}");
    world.server.reply(&shown, json!({ "action": "accept", "content": { "approve": "yes" } }));
    let told = content(&answer);
    assert_eq!(told["trusted"]["checks"]["rows"][0]["approved"], json!(true), "{told}");
    assert_eq!(by(&world, "checks-approved")["verification"]["verifier"], json!("elicitation"));
    // A person who says no has not said yes.
    let (_, answer) = begin(&world.server, "contract", json!({ "id": key, "attest": 1, "actor": author }));
    let shown = form(&world.server);
    world.server.reply(&shown, json!({ "action": "decline" }));
    let refused = answer.recv_timeout(SOON).expect("an answer");
    assert_eq!(refused["result"]["structuredContent"]["error"]["reason"], json!("not_yours"), "{refused}");
    let (_, answer) = begin(&world.server, "contract", json!({ "id": key, "attest": 1, "actor": author }));
    let shown = form(&world.server);
    assert!(shown["params"]["message"].as_str().is_some_and(|message| message.contains("it shines")), "{shown}");
    world.server.reply(&shown, json!({ "action": "accept", "content": { "holds": "pass", "note": "like new" } }));
    let told = content(&answer);
    assert_eq!(told["trusted"]["checks"]["rows"][1]["status"], json!("pass"), "{told}");
    // What changed while the form was open is not what the person was shown.
    let (_, answer) = begin(&world.server, "contract", json!({ "id": key, "attest": 1, "actor": author }));
    let shown = form(&world.server);
    world.server.ok("contract", json!({ "id": key, "checks": [{ "desc": "more" }], "actor": author }));
    world.server.reply(&shown, json!({ "action": "accept", "content": { "holds": "fail" } }));
    let refused = answer.recv_timeout(SOON).expect("an answer");
    assert_eq!(refused["result"]["structuredContent"]["error"]["reason"], json!("version_mismatch"), "{refused}");
}
