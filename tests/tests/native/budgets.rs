//! What the surface costs, counted with the tokenizer of the crate `tiktoken-rs`, encoding `o200k_base`: of a call, its
//! arguments and the text of its answer, for that is what a model is given.
#![expect(clippy::print_stderr, reason = "what was counted is told")]

use std::collections::BTreeSet;

use docket_core::access::{Access, Profile};
use docket_mcp_server::{Surface, surface};
use serde_json::{Value, json};
use tiktoken_rs::o200k_base_singleton;

use crate::{World, agent, each, text};

/// The tool list of a worker, at the most.
const WORKER_LIST: usize = 2_500;
/// The tool list of a maintainer, at the most.
const MAINTAINER_LIST: usize = 4_500;
/// Words of a description, at the most.
const DESCRIPTION: usize = 120;
/// Calls and tokens of a whole loop, at the most.
const LOOP_CALLS: usize = 4;
const LOOP: usize = 1_500;
/// A read that finds nothing changed, at the most.
const UNCHANGED: usize = 120;

fn tokens(text: &str) -> usize {
    o200k_base_singleton().encode_ordinary(text).len()
}

/// What a call costs: the arguments and the answer.
fn cost(arguments: &Value, answer: &Value) -> usize {
    tokens(&arguments.to_string()) + tokens(&answer.to_string())
}

/// The tools that a profile is offered, as the list has them.
fn offered(surface: &dyn Surface, profile: Profile) -> Vec<Value> {
    let access = Access::everywhere(profile);
    let tools =
        surface.tools().iter().filter(|tool| surface.needs(&tool.name).is_none_or(|needs| access.allows(needs)));
    tools.map(|tool| serde_json::to_value(tool).expect("JSON")).collect()
}

#[test]
fn the_tool_list_is_small_and_says_nothing_long() {
    let surface = surface("docket").expect("a surface");
    let list = |profile| json!({ "tools": offered(&*surface, profile) }).to_string();
    for (profile, most) in [(Profile::Worker, WORKER_LIST), (Profile::Maintainer, MAINTAINER_LIST)] {
        let counted = tokens(&list(profile));
        eprintln!("tools/list of a {profile}: {counted} tokens");
        assert!(counted <= most, "{profile}: {counted}");
    }
    eprintln!("instructions: {} tokens", tokens(surface.instructions()));
    for tool in offered(&*surface, Profile::Maintainer) {
        eprintln!("{}: {} tokens", tool["name"], tokens(&tool.to_string()));
        let mut texts = Vec::new();
        descriptions(&tool, &mut texts);
        for text in texts {
            assert!(text.split_whitespace().count() <= DESCRIPTION, "{}: {text}", tool["name"]);
        }
    }
}

fn descriptions(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("description").and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|value| descriptions(value, found));
        }
        Value::Array(list) => list.iter().for_each(|value| descriptions(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn each_profile_is_offered_what_it_may_do() {
    let surface = surface("docket").expect("a surface");
    let named =
        |profile| -> BTreeSet<String> { offered(&*surface, profile).iter().map(|tool| text(&tool["name"])).collect() };
    let reads = ["get", "find", "wait"];
    let works = ["work", "edit", "advance", "annotate", "contract", "ask", "learn"];
    let set = |parts: &[&[&str]]| parts.iter().flat_map(|part| part.iter().map(|name| (*name).to_owned())).collect();
    assert_eq!(named(Profile::Viewer), set(&[&reads]));
    assert_eq!(named(Profile::Planner), set(&[&reads, &["plan"]]));
    assert_eq!(named(Profile::Worker), set(&[&reads, &["plan"], &works]));
    assert_eq!(named(Profile::Operator), named(Profile::Worker));
    assert_eq!(named(Profile::Maintainer), set(&[&reads, &["plan"], &works, &["remove", "admin"]]));
}

#[test]
fn the_list_over_the_wire_is_the_one_that_is_counted() {
    let world = World::new();
    let listed = world.server.request("tools/list", json!({})).expect("an answer");
    let names = each(&listed["result"]["tools"], "name");
    let counted = each(&Value::Array(offered(&*surface("docket").expect("a surface"), Profile::Maintainer)), "name");
    assert_eq!(names, counted);
    for tool in listed["result"]["tools"].as_array().expect("tools") {
        let hints = &tool["annotations"];
        let reads = ["get", "find", "wait"].contains(&tool["name"].as_str().expect("a name"));
        assert_eq!(hints["readOnlyHint"] == json!(true), reads, "{tool}");
        let destroys = ["remove", "admin"].contains(&tool["name"].as_str().expect("a name"));
        assert!(reads || hints["destructiveHint"] == json!(destroys), "{tool}");
        assert_eq!(tool["outputSchema"]["type"], "object", "{tool}");
        let told = tool["outputSchema"]["properties"]["untrusted"].is_object();
        assert_eq!(told, reads || tool["name"] == "work", "what is text of others is said: {tool}");
    }
}

/// Two hundred words of a contract.
fn brief() -> Value {
    let words = |count: usize, about: &str| {
        let some = ["the", "parser", "keeps", "every", "line", "of", "input", "and", "says", "where", "it", "stopped"];
        let text: Vec<&str> = some.iter().cycle().take(count - 1).copied().collect();
        format!("{about} {}", text.join(" "))
    };
    json!({
        "objective": words(40, "So"),
        "context": words(70, "Because"),
        "constraints": [words(15, "Never"), words(15, "Always")],
        "verification": words(20, "Run"),
        "handoffExpectations": words(20, "Leave"),
        "acceptanceCriteria": [words(10, "First"), words(10, "Second")],
    })
}

#[test]
fn a_whole_loop_costs_little() {
    let world = World::new();
    world.plan(json!([{ "title": "Say where the parser stopped", "status": "ready", "brief": brief() }]));
    let mut spent = 0;
    let mut calls = 0;
    let mut call = |arguments: Value| {
        let answer = world.ok("work", arguments.clone());
        let cost = cost(&arguments, &answer);
        eprintln!("{}: {cost} tokens: {answer}", arguments["phase"]);
        (spent, calls) = (spent + cost, calls + 1);
        answer["trusted"].clone()
    };
    let actor = agent("parser-1");
    let packet = call(json!({ "phase": "start", "actor": actor, "requestId": "3f0c6f0e-4a55-4c7e-9c9d-0c2f5f6a7b81" }));
    let key = &packet["key"];
    let fence = &packet["fence"];
    assert_eq!(packet["status"], "in_progress", "{packet}");
    assert_eq!(each(&packet["verdict"]["criteria"], "id"), ["c1", "c2"]);
    call(json!({ "phase": "heartbeat", "id": key, "fence": fence, "actor": actor }));
    let verify = json!([
        { "id": "c1", "passed": true, "note": "cargo test parser: 41 passed" },
        { "id": "c2", "passed": true, "note": "ran it on the broken file, it names line 7" },
    ]);
    let done = call(json!({
        "phase": "finish", "id": key, "fence": fence, "verify": verify, "to": "complete",
        "comment": "The parser says the line and the column where it stopped; see the tests.",
        "actor": actor, "requestId": "8a3a2c5e-21c1-4d3f-8a51-5b1d9a0c4e77",
    }));
    assert_eq!((&done["to"], &done["applied"]), (&json!("done"), &json!(true)), "{done}");
    eprintln!("a loop: {calls} calls, {spent} tokens");
    assert!(calls <= LOOP_CALLS && spent <= LOOP, "{calls} calls, {spent} tokens");
}

#[test]
fn a_read_that_finds_nothing_new_costs_almost_nothing() {
    let world = World::new();
    let key = world.plan(json!([{ "title": "x", "brief": brief(), "children": [{ "title": "below" }] }])).remove(0);
    cheap_when_unchanged(&world, &key);
}

/// All that can be read of an item, each part with something in it.
#[test]
fn a_read_of_everything_costs_almost_nothing_either() {
    let world = World::new();
    let keys = world.plan(json!([{ "title": "up", "children": [{
        "title": "x", "description": "what", "brief": brief(), "children": [{ "title": "below" }],
        "notes": [{ "key": "why", "body": "because" }],
    }] }, { "title": "other" }]));
    let (key, other) = (&keys[1], &keys[3]);
    let link = json!({ "kind": "pr", "ref": "7", "url": "https://example.org/7", "title": "seven" });
    for part in [
        json!({ "comment": "said", "links": [link] }),
        json!({ "edges": [{ "to": other, "kind": "relates-to" }] }),
        json!({ "attention": "look" }),
    ] {
        let mut annotate = part;
        annotate["id"] = json!(key);
        world.ok("annotate", annotate);
    }
    world.ok("contract", json!({ "id": key, "checks": [{ "desc": "it runs", "cmd": "true" }] }));
    world.ok("ask", json!({ "id": key, "question": "which?" }));
    cheap_when_unchanged(&world, key);
}

fn cheap_when_unchanged(world: &World, key: &str) {
    for profile in ["compact", "work", "full"] {
        let first = world.ok("get", json!({ "id": key, "profile": profile }));
        let arguments = json!({ "id": key, "profile": profile, "since": first["readToken"] });
        let again = world.ok("get", arguments.clone());
        assert_eq!(again["unchanged"], true, "{again}");
        assert_eq!(again["readToken"], first["readToken"]);
        let counted = cost(&arguments, &again);
        let answered = tokens(&again.to_string());
        eprintln!("unchanged, {profile}: {counted} tokens, {answered} of them answered: {again}");
        assert!(counted <= UNCHANGED, "{profile}: {counted}");
    }
}
