//! Signatures, approvals and attestations of people behind clients that are sent no requests; see `rounds`.

use serde_json::{Value, json};

use crate::rounds::{Client, accept, back, by, folder, serve};

#[test]
fn a_sign_off_is_asked_for_when_it_is_all_that_is_missing_and_of_what_it_says_now() {
    let folder = folder(&[]);
    let web = serve(folder.path());
    let client = Client::of(&web);
    let key = client.item();
    let agent = json!({ "id": "painter", "kind": "subagent" });
    let criteria = |looks: &str| {
        json!({ "acceptanceCriteria": [
            { "id": "c1", "text": "The wall is dry", "hard": true },
            { "id": "c2", "text": looks, "verifier": "human", "hard": true, "instructions": "Stand back" } ] })
    };
    client.ok(
        "contract",
        json!({ "id": key, "brief": { "acceptanceCriteria": [
        { "text": "The wall is dry", "hard": true },
        { "text": "It looks well", "verifier": "human", "hard": true, "instructions": "Stand back" } ] } }),
    );
    client.ok("work", json!({ "phase": "start", "id": key, "actor": agent }));
    // The agent's own part comes first: nobody is bothered for what would be refused all the same.
    let bare = json!({ "phase": "finish", "id": key, "to": "done", "actor": agent });
    assert_eq!(client.ok("work", bare)["error"]["code"], json!("RULE_BLOCKED"));
    let finish = json!({ "phase": "finish", "id": key, "to": "done", "actor": agent,
        "verify": [{ "id": "c1", "passed": true, "note": "touched it" }] });
    let (form, state) = client.first("work", &finish).form();
    let message = form["message"].as_str().expect("a message");
    assert!(message.contains("It looks well") && message.contains("Stand back"), "{message}");
    let declined = client.call("work", &finish, &back(&state, json!({ "action": "decline" }))).answer();
    assert_eq!(declined["error"]["code"], json!("RULE_BLOCKED"), "{declined}");
    // What the person signed says something else by now: the new words are shown.
    let passed = accept(json!({ "c2": "pass", "note": "Lovely" }));
    client.ok("contract", json!({ "id": key, "brief": criteria("It looks very well"), "actor": agent }));
    let (form, newer) = client.call("work", &finish, &back(&state, passed.clone())).form();
    assert!(form["message"].as_str().is_some_and(|message| message.contains("very well")), "{form}");
    assert_eq!(by(folder.path(), "verified").len(), 0, "nothing was signed");
    for _ in 0..2 {
        let told = client.call("work", &finish, &back(&newer, passed.clone())).answer();
        assert_eq!(told["trusted"]["applied"], json!(true), "{told}");
    }
    let got = client.ok("get", json!({ "id": key }));
    assert_eq!(got["trusted"]["guard"]["status"], json!("done"), "{got}");
    let signed: Vec<Value> = by(folder.path(), "verified");
    let people = signed.iter().filter(|by| by["verification"]["verifier"] == json!("elicitation")).count();
    assert_eq!(people, 1, "{signed:?}");
}

#[test]
fn a_move_alone_and_checks_are_asked_for_too() {
    let folder = folder(&[]);
    let web = serve(folder.path());
    let client = Client::of(&web);
    let key = client.item();
    let brief = json!({ "acceptanceCriteria": [{ "text": "It looks well", "verifier": "human" }] });
    client.ok("contract", json!({ "id": key, "brief": brief }));
    let arguments = json!({ "id": key, "to": "complete" });
    let (_, state) = client.first("advance", &arguments).form();
    let told = client.call("advance", &arguments, &back(&state, accept(json!({ "c1": "pass" })))).answer();
    assert_eq!(told["trusted"]["moves"][0]["to"], json!("done"), "{told}");
    let key = client.item();
    let author = json!({ "id": "painter", "kind": "subagent" });
    let checks = json!([{ "desc": "it dries", "cmd": "dry --all" }, { "desc": "it shines" }]);
    client.ok("contract", json!({ "id": key, "checks": checks, "actor": author }));
    let approve = json!({ "id": key, "approve": [], "actor": author });
    let (form, state) = client.first("contract", &approve).form();
    assert!(form["message"].as_str().is_some_and(|message| message.contains("dry --all")), "{form}");
    for _ in 0..2 {
        let told = client.call("contract", &approve, &back(&state, accept(json!({ "approve": "yes" })))).answer();
        assert_eq!(told["trusted"]["checks"]["rows"][0]["approved"], json!(true), "{told}");
    }
    assert_eq!(by(folder.path(), "checks-approved").len(), 1);
    let attest = json!({ "id": key, "attest": 1, "actor": author });
    let (_, state) = client.first("contract", &attest).form();
    let told = client.call("contract", &attest, &back(&state, json!({ "action": "decline" }))).answer();
    assert_eq!(told["error"]["reason"], json!("not_yours"), "{told}");
    // What changed while the form was open is not what the person was shown.
    client.ok("contract", json!({ "id": key, "checks": [{ "desc": "more" }], "actor": author }));
    let told = client.call("contract", &attest, &back(&state, accept(json!({ "holds": "pass" })))).answer();
    assert_eq!(told["error"]["reason"], json!("version_mismatch"), "{told}");
    let (_, state) = client.first("contract", &attest).form();
    let told = client.call("contract", &attest, &back(&state, accept(json!({ "holds": "pass" })))).answer();
    assert_eq!(told["trusted"]["checks"]["rows"][1]["status"], json!("pass"), "{told}");
}

#[test]
fn the_surface_foresttasks_asks_in_rounds_too() {
    let folder = folder(&["--preset", "foresttasks"]);
    let web = serve(folder.path());
    let client = Client { surface: "foresttasks", ..Client::of(&web) };
    let made = client.ok("task", json!({ "action": "create", "title": "Paint", "status": "ready" }));
    let task = made["task"]["id"].as_str().expect("an id").to_owned();
    let arguments = json!({ "action": "ask", "id": task, "question": "Which?" });
    let (_, state) = client.first("task", &arguments).form();
    let told = client.call("task", &arguments, &back(&state, accept(json!({ "answer": "Blue" })))).answer();
    assert_eq!(told["question"]["answer"], json!("Blue"), "{told}");
    assert_eq!(told["status"], json!("ready"), "{told}");
    let brief = json!({ "acceptanceCriteria": [{ "text": "It looks well", "verifier": "human" }] });
    client.ok("contract", json!({ "action": "brief_replace", "id": task, "brief": brief }));
    for status in ["in_progress", "in_review"] {
        client.ok("task", json!({ "action": "status", "id": task, "status": status }));
    }
    let done = json!({ "action": "status", "id": task, "status": "done" });
    let (_, state) = client.first("task", &done).form();
    let told = client.call("task", &done, &back(&state, accept(json!({ "c1": "pass" })))).answer();
    assert_eq!(told["status"], json!("done"), "{told}");
}
