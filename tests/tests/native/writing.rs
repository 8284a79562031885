//! `plan`, `edit`, `annotate`, `remove` and `admin`.

use serde_json::{Value, json};

use crate::{World, each, text};

#[test]
fn a_tree_is_planned_with_edges_notes_and_briefs_or_not_at_all() {
    let world = World::new();
    let plan = json!({ "items": [{
        "title": "root", "ref": "r", "children": [
            { "title": "a", "ref": "a", "brief": { "objective": "so" }, "notes": [{ "key": "why", "body": "because" }] },
            { "title": "b", "blockedBy": ["a"], "status": "ready", "dueAt": "2030-01-01T00:00:00Z", "estimateMinutes": 30 },
        ] }, { "title": "c", "parent": "r" }],
        "edges": [{ "from": "a", "to": "r", "kind": "relates-to" }] });
    let mut dry = plan.clone();
    dry["dryRun"] = json!(true);
    let told = world.ok("plan", dry);
    assert_eq!(
        (&told["trusted"]["dryRun"], told["trusted"]["items"].as_array().map(Vec::len)),
        (&json!(true), Some(4))
    );
    assert_eq!(world.ok("find", json!({ "what": "list" }))["trusted"]["total"], 0, "nothing was made");
    let made = world.ok("plan", plan);
    let keys = each(&made["trusted"]["items"], "key");
    assert_eq!(made["untrusted"]["refs"], json!({ "r": keys[0], "a": keys[1] }));
    let read = world.ok("get", json!({ "id": keys[2], "profile": "full" }));
    assert_eq!(read["trusted"]["relations"]["rows"][0]["from"], json!(keys[1]), "{read}");
    assert_eq!(read["trusted"]["task"]["estimateMinutes"], 30);
    assert_eq!(read["untrusted"]["parent"]["title"], "root");
    let noted = world.ok("get", json!({ "id": keys[1], "include": ["notes"] }));
    assert_eq!(noted["untrusted"]["notes"]["rows"][0]["body"], "because");
    for (plan, field) in [
        (json!({}), "items"),
        (json!({ "items": [{}] }), "items[0].title"),
        (json!({ "items": [{ "title": "x", "colour": "red" }] }), "items[0].colour"),
        (json!({ "items": [{ "title": "x" }, { "title": "y", "priority": "huge" }] }), "items[1].priority"),
        (json!({ "items": [{ "title": "x", "parent": "nobody" }] }), "items[0].parent"),
        (json!({ "items": [{ "title": "x", "blockedBy": ["nobody"] }] }), "items[0].blockedBy[0]"),
        (json!({ "items": [{ "title": "x" }], "markdown": "# y" }), "items"),
    ] {
        let refused = world.err("plan", plan);
        assert_eq!(refused["field"], json!(field), "{refused}");
    }
    let cycle =
        json!([{ "title": "x", "ref": "x", "blockedBy": ["y"] }, { "title": "y", "ref": "y", "blockedBy": ["x"] }]);
    assert_eq!(world.err("plan", json!({ "items": cycle }))["reason"], "cycle");
    let many: Vec<Value> = (0..201).map(|n| json!({ "title": format!("{n}") })).collect();
    assert_eq!(world.err("plan", json!({ "items": many }))["reason"], "batch_too_large");
    assert_eq!(world.ok("find", json!({ "what": "list" }))["trusted"]["total"], 4, "of all that nothing was made");
}

#[test]
fn an_outline_is_planned_and_a_retry_makes_nothing_twice() {
    let world = World::new();
    let outline = "# Goal\n\n- [ ] first\n  - [x] done\n- second\n";
    let preview = world.ok("plan", json!({ "markdown": outline, "dryRun": true }));
    assert_eq!(preview["untrusted"]["1"], "Goal", "{preview}");
    assert!(preview["trusted"]["items"][0]["key"].is_null());
    let call = json!({ "markdown": outline, "status": "ready", "requestId": "once" });
    let made = world.ok("plan", call.clone());
    assert_eq!(world.ok("plan", call), made);
    assert_eq!(world.ok("find", json!({ "what": "list" }))["trusted"]["total"], 4);
    assert_eq!(world.err("plan", json!({ "markdown": " " }))["field"], "markdown");
}

#[test]
fn items_are_edited_one_by_one_or_together() {
    let world = World::new();
    let keys = world.plan(json!([{ "title": "a", "intent": "why" }, { "title": "b" }, { "title": "c" }]));
    let edited = world.ok("edit", json!({ "items": [{ "id": keys[0], "title": "A", "intent": null, "version": 1 }, { "id": keys[1], "parent": keys[0], "tags": ["red"] }] }));
    assert_eq!(each(&edited["trusted"]["items"], "key"), keys[..2]);
    let read = world.get(&keys[0]);
    assert!(read["untrusted"]["task"]["title"] == "A" && read["untrusted"]["task"]["intent"].is_null(), "{read}");
    world.ok("edit", json!({ "ids": keys, "patch": { "priority": "high" } }));
    assert_eq!(world.ok("find", json!({ "what": "list", "priority": "high" }))["trusted"]["total"], 3);
    let stale = json!([{ "id": keys[2], "title": "C" }, { "id": keys[0], "title": "x", "version": 1 }]);
    assert_eq!(world.err("edit", json!({ "items": stale }))["reason"], "version_mismatch");
    let own = world.ok("edit", json!({ "items": stale, "atomic": false }));
    assert_eq!(own["trusted"]["items"][1]["error"]["reason"], "version_mismatch", "{own}");
    assert_eq!(world.get(&keys[2])["untrusted"]["task"]["title"], "C");
    let dry = world.ok("edit", json!({ "ids": [keys[2]], "patch": { "title": "D" }, "dryRun": true }));
    assert!(dry["trusted"]["dryRun"] == true && world.get(&keys[2])["untrusted"]["task"]["title"] == "C");
    for (arguments, field) in [
        (json!({}), "items"),
        (json!({ "ids": keys }), "patch"),
        (json!({ "patch": {} }), "ids"),
        (json!({ "items": [], "ids": [] }), "items"),
        (json!({ "items": [] }), "items"),
        (json!({ "items": [{ "title": "x" }] }), "items[0].id"),
        (json!({ "ids": [keys[0]], "patch": { "status": "done" } }), "patch.status"),
        (json!({ "ids": ["?"], "patch": {} }), "ids[0]"),
    ] {
        let refused = world.err("edit", arguments);
        assert_eq!(refused["field"], json!(field), "{refused}");
    }
}

#[test]
fn things_are_said_beside_an_item_and_taken_away() {
    let world = World::new();
    let keys = world.plan(json!([{ "title": "a" }, { "title": "b" }]));
    let (a, b) = (&keys[0], &keys[1]);
    let note = world.ok("annotate", json!({ "id": a, "notes": [{ "key": "k", "body": "text", "phase": "work" }] }));
    let said = world.ok(
        "annotate",
        json!({ "id": a, "comment": "hello", "links": [{ "kind": "pr", "ref": "1", "url": "https://example.org" }] }),
    );
    let edge = world.ok("annotate", json!({ "id": a, "edges": [{ "from": b, "unblockAt": "work" }] }));
    let flag = world.ok("annotate", json!({ "id": a, "attention": "look" }));
    assert_eq!(flag["trusted"]["needsAttention"], true);
    assert_eq!(world.ok("annotate", json!({ "id": a, "attention": null }))["trusted"]["needsAttention"], false);
    let read = world.ok("get", json!({ "id": a, "include": ["notes", "comments", "links", "relations"] }));
    for section in ["notes", "comments", "links", "relations"] {
        assert_eq!(read["trusted"][section]["rows"].as_array().map(Vec::len), Some(1), "{section}: {read}");
    }
    for (arguments, field) in [
        (json!({ "id": a }), "notes"),
        (json!({ "id": a, "comment": "x", "attention": "y" }), "notes"),
        (json!({ "id": a, "comment": " " }), "comment"),
        (json!({ "id": a, "edges": [{ "kind": "blocks" }] }), "edges[0].to"),
        (json!({ "id": a, "notes": [] }), "notes"),
        (json!({ "id": a, "links": [{ "kind": "x", "ref": "y", "url": "ftp://z" }] }), "links[0].url"),
    ] {
        let refused = world.err("annotate", arguments);
        assert_eq!(refused["field"], json!(field), "{refused}");
    }
    assert_eq!(world.err("annotate", json!({ "id": a, "edges": [{ "to": a }] }))["reason"], "self_edge");
    let gone = |arguments: Value| world.ok("remove", arguments)["trusted"]["removed"].clone();
    assert_eq!(gone(json!({ "links": [said["trusted"]["links"][0]] })), 1);
    assert_eq!(gone(json!({ "edges": [edge["trusted"]["edges"][0]] })), 1);
    assert_eq!(gone(json!({ "notes": [note["trusted"]["notes"][0]["id"]] })), 1);
    assert_eq!(gone(json!({ "notesOf": { "id": a } })), 0);
    world.plan(json!([{ "title": "below", "parent": a }]));
    assert_eq!(world.err("remove", json!({ "items": [a] }))["reason"], "has_children");
    let dry = world.ok("remove", json!({ "items": [a], "recursive": true, "dryRun": true }));
    assert_eq!(dry["trusted"]["items"][0]["descendants"], 1);
    let removed = world.ok("remove", json!({ "items": [a], "recursive": true }));
    assert_eq!(removed["trusted"]["items"][0]["key"], json!(a), "it is called what it was called");
    assert_eq!(world.err("get", json!({ "id": a }))["code"], "NOT_FOUND");
    assert_eq!(world.err("remove", json!({ "items": [b], "links": [] }))["field"], "items");
}

#[test]
fn projects_and_keys_are_looked_after() {
    let world = World::new();
    let made = world.ok(
        "admin",
        json!({ "op": "project.create", "slug": "web", "prefix": "WEB", "name": "Web shop", "preset": "standard" }),
    );
    assert_eq!((&made["trusted"]["slug"], &made["untrusted"]["name"]), (&json!("web"), &json!("Web shop")));
    assert_eq!(world.err("admin", json!({ "op": "project.create", "slug": "web" }))["code"], "CONFLICT");
    assert_eq!(world.err("admin", json!({ "op": "project.set", "slug": "wep", "name": "x" }))["code"], "NOT_FOUND");
    let there = world.ok("plan", json!({ "items": [{ "title": "x" }], "project": "web" }));
    assert_eq!(there["trusted"]["items"][0]["key"], "WEB-1");
    assert_eq!(world.ok("find", json!({ "what": "list" }))["trusted"]["total"], 0, "this connection is about another");
    assert_eq!(world.ok("get", json!({ "id": "WEB-1", "project": "web" }))["untrusted"]["task"]["title"], "x");
    let key = world.ok("admin", json!({ "op": "key.create", "name": "ci", "profile": "worker", "projects": ["web"] }));
    let secret = text(&key["trusted"]["secret"]);
    let listed = world.ok("admin", json!({ "op": "key.list" }));
    assert_eq!(listed["trusted"]["keys"][0]["profile"], "worker");
    assert!(!listed.to_string().contains(&secret), "a secret is shown once");
    let rotated = world.ok("admin", json!({ "op": "key.rotate", "key": "ci" }));
    assert_ne!(text(&rotated["trusted"]["secret"]), secret);
    assert!(world.ok("admin", json!({ "op": "key.revoke", "key": "ci" }))["trusted"]["revokedAt"].is_string());
    world.ok("admin", json!({ "op": "project.set", "slug": "web", "archived": true }));
    let refused = world.err("plan", json!({ "items": [{ "title": "y" }], "project": "web" }));
    assert_eq!((&refused["code"], &refused["reason"]), (&json!("CONFLICT"), &json!("archived")), "{refused}");
    assert_eq!(world.err("advance", json!({ "id": "WEB-1", "to": "start", "project": "web" }))["reason"], "archived");
    assert_eq!(world.ok("find", json!({ "what": "list", "project": "web" }))["trusted"]["total"], 1, "it is read");
    world.ok("admin", json!({ "op": "project.set", "slug": "web", "archived": false }));
    world.ok("plan", json!({ "items": [{ "title": "y" }], "project": "web" }));
    for (arguments, field) in [
        (json!({}), "op"),
        (json!({ "op": "setting" }), "op"),
        (json!({ "op": "settings" }), "slug"),
        (json!({ "op": "settings", "slug": "web", "name": "x" }), "name"),
        (json!({ "op": "project.create" }), "slug"),
        (json!({ "op": "key.create" }), "profile"),
        (json!({ "op": "key.create", "profile": "king" }), "profile"),
        (json!({ "op": "key.list", "slug": "web" }), "slug"),
    ] {
        let refused = world.err("admin", arguments);
        assert_eq!(refused["field"], json!(field), "{refused}");
    }
}

#[test]
fn a_retry_takes_effect_once_and_another_body_is_a_conflict() {
    let world = World::new();
    let call = json!({ "items": [{ "title": "x" }], "requestId": "one" });
    let first = world.ok("plan", call.clone());
    assert_eq!(world.ok("plan", call), first);
    assert_eq!(
        world.another(&[]).ok("plan", json!({ "items": [{ "title": "x" }], "requestId": "one" })),
        first,
        "by another process"
    );
    assert_eq!(
        world.err("plan", json!({ "items": [{ "title": "y" }], "requestId": "one" }))["reason"],
        "request_id_reused"
    );
    assert_eq!(world.err("plan", json!({ "items": [{ "title": "y" }], "requestId": "" }))["reason"], "bad_request_id");
    assert_eq!(world.ok("find", json!({ "what": "list" }))["trusted"]["total"], 1);
    let refused = world.err("plan", json!({ "items": [{ "title": "y" }], "actor": { "id": "x" } }));
    assert_eq!(refused["field"], "actor.kind");
}

#[test]
fn settings_of_a_project_are_shown_and_changed_one_by_one() {
    let world = World::new();
    let admin = |more: Value| {
        let mut arguments = json!({ "op": "settings", "slug": "default" });
        arguments.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
        arguments
    };
    let shown = world.ok("admin", admin(json!({})))["trusted"].clone();
    assert_eq!(
        (&shown["preset"], &shown["settings"]["claims"]["ttlSeconds"]),
        (&json!("standard"), &json!(900)),
        "{shown}"
    );
    assert!(shown.get("changed").is_none(), "{shown}");
    let set =
        world.ok("admin", admin(json!({ "settings": { "requireReview": true, "claims": { "ttlSeconds": 60 } } })));
    let now = &set["trusted"]["settings"];
    assert_eq!(
        (&set["trusted"]["changed"], &now["requireReview"], &now["claims"]["ttlSeconds"]),
        (&json!(true), &json!(true), &json!(60))
    );
    assert_eq!(now["claims"]["perAgent"], shown["settings"]["claims"]["perAgent"], "what is left out stays");
    // It counts at once, for every process.
    let key = world.plan(json!([{ "title": "x", "status": "ready" }])).remove(0);
    let begun = world.ok("work", json!({ "phase": "start", "id": key, "actor": crate::agent("ann") }));
    assert!(begun["trusted"]["leaseUntil"].is_string());
    let refused = world.err("advance", json!({ "id": key, "to": "complete", "actor": crate::agent("ann") }));
    assert_eq!(refused["code"], "RULE_BLOCKED", "by way of review alone: {refused}");
    assert_eq!(world.ok("admin", admin(json!({ "settings": {} })))["trusted"]["changed"], json!(false));
    for (settings, field) in [
        (json!({ "requireReveiw": true }), "settings.requireReveiw"),
        (json!({ "claims": { "ttl": 1 } }), "settings.claims.ttl"),
        (json!({ "maxDepth": 200 }), "settings"),
        (json!({ "maxDepth": -1 }), "settings.maxDepth"),
        (json!({ "gates": ["none"] }), "settings.gates[0]"),
        (json!("all"), "settings"),
    ] {
        let error = world.err("admin", admin(json!({ "settings": settings })));
        assert_eq!((&error["code"], &error["field"]), (&json!("VALIDATION"), &json!(field)), "{settings}: {error}");
    }
    let error = world.err("admin", json!({ "op": "settings", "slug": "never", "settings": {} }));
    assert_eq!(error["code"], "NOT_FOUND", "{error}");
}
