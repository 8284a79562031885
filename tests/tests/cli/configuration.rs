//! Configuration: applied to the project at start, and refused with file, line and key when it is wrong.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use docket_core::model::Timestamp;
use docket_tests::mcp::Server;
use serde_json::{Value, json};

use crate::desk::{Desk, is_harmless, text};

fn project_sets(desk: &Desk) -> usize {
    let events = desk.json(&["events", "--limit", "200"]);
    events["events"].as_array().expect("events").iter().filter(|event| event["verb"] == "project-set").count()
}

#[test]
fn rules_are_applied_when_they_differ_and_as_an_event() {
    let desk = Desk::new();
    desk.write(
        "docket.toml",
        "[workflow]\nmax_depth = 1\n[schemas.job]\nnotes = [{ key = 'plan', phase = 'queue', required = true }]\n",
    );
    let looked = desk.run(&["item", "list"]);
    assert!(looked.err.contains("has rules that the next write will apply"), "{looked:?}");
    assert_eq!(project_sets(&desk), 1, "looking changes nothing");
    let job = desk.add(&["Job", "--type", "job"]);
    assert_eq!(project_sets(&desk), 2);
    desk.add(&["Other"]);
    assert_eq!(project_sets(&desk), 2, "the same rules are no event");
    assert_eq!(desk.run(&["item", "list"]).err, "");
    assert!(desk.fails(5, &["advance", &job, "start"]).contains("write plan"));
    let child = desk.add(&["Child", "--parent", &job]);
    assert_eq!(desk.error(2, &["item", "add", "Deep", "--parent", &child])["reason"], json!("too_deep"));
    desk.write("docket.toml", "[workflow]\nmax-depth = 2\n[schemas.job]\n");
    desk.add(&["Deep", "--parent", &child]);
    desk.ok(&["advance", &job, "start"]);
    let rules = desk.json(&["project", "show"]);
    assert_eq!((&rules["workflow"]["maxDepth"], &rules["version"]), (&json!(2), &json!(3)));
}

#[test]
fn a_server_applies_them_at_its_start() {
    let desk = Desk::bare();
    desk.write("docket.toml", "[project]\nslug = 'web'\nname = 'Web'\nprefix = 'WEB'\npreset = 'standard'\n");
    desk.ok(&["--db", "new.db", "mcp"]);
    let made = desk.json(&["--db", "new.db", "project", "show"]);
    assert_eq!(
        (&made["slug"], &made["prefix"], &made["workflow"]["preset"]),
        (&json!("web"), &json!("WEB"), &json!("standard"))
    );
    desk.write("docket.toml", "[project]\nslug = 'web'\n[workflow]\nrequire_review = true\n");
    desk.ok(&["--db", "new.db", "mcp"]);
    let rules = desk.json(&["--db", "new.db", "project", "show"]);
    assert_eq!((&rules["workflow"]["requireReview"], &rules["workflow"]["preset"]), (&json!(true), &json!("standard")));
}

#[test]
fn a_misspelt_trait_stops_the_start() {
    let desk = Desk::bare();
    desk.write(
        ".taskorchestrator/config.yaml",
        "default_traits: [needs-securty-review]\ntraits:\n  needs-security-review: {notes: [{key: k, role: review}]}\n",
    );
    let said = desk.fails(3, &["--db", "new.db", "mcp", "--surface", "task-orchestrator"]);
    assert!(said.contains("config.yaml:1:") && said.contains("did you mean \"needs-security-review\""), "{said}");
}

#[test]
fn a_verifier_that_cannot_work_leaves_no_database_behind() {
    let desk = Desk::bare();
    desk.write(
        ".taskorchestrator/config.yaml",
        "actor_authentication: {verifier: {type: jwks, jwks_path: missing.json}}\n",
    );
    for verb in [&["mcp"][..], &["serve", "--listen", "127.0.0.1:0"]] {
        let said = desk.fails(3, &[&["--db", "new.db"][..], verb].concat());
        assert!(said.contains("cannot be verified") && !said.contains("made a new database"), "{said}");
        assert!(!desk.file("new.db").exists(), "{verb:?}");
    }
}

#[test]
fn a_project_that_only_the_file_names_is_not_taken_for_another() {
    let desk = Desk::new();
    let item = desk.add(&["In the first"]);
    let first = desk.json(&["project", "show"])["slug"].as_str().expect("a slug").to_owned();
    desk.write("docket.toml", "[project]\nslug = 'web'\npreset = 'standard'\n");
    for words in [&["item", "add", "Lost"][..], &["item", "list"], &["next"], &["start"]] {
        let refused = desk.error(2, words);
        assert_eq!(refused["reason"], json!("not_found"), "{words:?}");
        let told = refused["message"].as_str().unwrap_or_default();
        assert!(told.contains("no project \"web\"") && told.contains("docket init"), "{told}");
    }
    // What is named is found; what is asked for is made.
    desk.ok(&["item", "show", &item]);
    desk.ok(&["--project", &first, "item", "list"]);
    desk.ok(&["init"]);
    desk.add(&["In web"]);
    assert_eq!(desk.json(&["item", "list"])["total"], json!(1));
}

#[test]
fn a_server_that_asks_for_actors_refuses_moves_without_one() {
    let desk = Desk::new();
    let item = desk.add(&["One"]);
    let id = desk.field(&item, "id");
    desk.write(".taskorchestrator/config.yaml", "actor_authentication: {enabled: true}\n");
    let move_it = |actor: Value| json!({ "transitions": [{ "itemId": id, "trigger": "start", "actor": actor }] });
    let server = Server::start_with(&desk.database(), &[], |command| {
        command.current_dir(desk.path());
    });
    let refused = server
        .call("advance_item", json!({ "transitions": [{ "itemId": id, "trigger": "start" }] }))
        .expect("an answer");
    assert!(refused.content.to_string().contains("actor"), "{refused:?}");
    assert_eq!(desk.field(&item, "role"), json!("queue"));
    server.ok("advance_item", move_it(json!({ "id": "a", "kind": "subagent" })));
    assert_eq!(desk.field(&item, "role"), json!("work"));
}

#[test]
fn rules_of_another_project_are_left_alone() {
    let desk = Desk::new();
    desk.write("docket.toml", "[project]\nslug = 'other'\n[workflow]\nmax_depth = 1\n");
    desk.ok(&["--project", "here", "item", "add", "One"]);
    assert_eq!(desk.json(&["--project", "here", "project", "show"])["workflow"]["maxDepth"], json!(3));
    let events = desk.json(&["--project", "here", "events", "--limit", "200"]);
    let sets = events["events"].as_array().expect("events").iter().filter(|event| event["verb"] == "project-set");
    assert_eq!(sets.count(), 1);
}

#[test]
fn rules_that_would_leave_items_without_a_place_are_refused() {
    let desk = Desk::new();
    desk.add(&["One"]);
    desk.write("docket.toml", "[project]\npreset = 'standard'\n");
    let said = desk.fails(3, &["item", "add", "Two"]);
    assert!(said.contains("docket.toml") && said.contains("keeps its statuses"), "{said}");
    desk.write("docket.toml", "[workflow]\ninitial = 'nowhere'\n");
    assert!(desk.fails(3, &["item", "add", "Two"]).contains("none of its statuses"));
    assert_eq!(desk.run(&["mcp"]).bad(3).matches("nowhere").count(), 1);
}

#[test]
fn the_task_orchestrators_file_gates_the_same_work() {
    let desk = Desk::new();
    desk.write(
        ".taskorchestrator/config.yaml",
        "work_item_schemas:\n  bug:\n    notes:\n      - {key: cause, role: queue, required: true, guidance: think}\n      - {key: check, role: review}\n\
         status_labels: {start: doing}\nactor_authentication: {enabled: true}\n",
    );
    let bug = desk.add(&["Bug", "--tags", "bug"]);
    assert!(desk.fails(5, &["advance", &bug, "start"]).contains("required notes not filled for queue phase: cause"));
    desk.ok(&["note", "set", &bug, "cause", "because"]);
    let moved = desk.json(&["advance", &bug, "start"]);
    assert_eq!((&moved["label"], &moved["next"]["role"]), (&json!("doing"), &json!("review")));
    let elsewhere = desk.path().join("conf");
    desk.write("conf/.taskorchestrator/config.yaml", "status_labels: {complete: finished}\n");
    let ran = desk.run_with(&[("AGENT_CONFIG_DIR", text(&elsewhere))], &["--json", "advance", &bug, "complete"]).good();
    assert_eq!(serde_json::from_str::<Value>(&ran).expect("JSON")["label"], json!("finished"));
}

#[test]
fn bad_configuration_stops_every_command_with_file_line_and_key() {
    for (file, content, parts) in [
        ("docket.toml", "[project]\nslug = 'a'\nsulg = 'b'\n", vec!["docket.toml:3:1", "project.sulg", "slug"]),
        ("docket.toml", "[workflow]\nmax_depth = 'x'\n", vec!["docket.toml:2:13", "workflow.max_depth"]),
        ("docket.toml", "[runner]\njobs = 0\n", vec!["docket.toml:2:8", "runner.jobs", "from 1 to 64"]),
        ("docket.toml", "[runner]\njobs_per_worktree = 65\n", vec!["docket.toml:2:21", "from 1 to 64"]),
        ("docket.toml", "[workflow\n", vec!["docket.toml:1:"]),
        ("docket.toml", "\u{1b}[31m = 1\n", vec!["docket.toml:1:"]),
        (".taskorchestrator/config.yaml", "work_item_schemas: [", vec!["config.yaml:1"]),
        (".taskorchestrator/config.yaml", "traits:\n  a:\n    notes: 3\n", vec!["config.yaml:3:12", "traits.a.notes"]),
        (
            ".taskorchestrator/config.yaml",
            "actor_authentication: {verifier: {type: jwks}}\n",
            vec!["config.yaml:1:34", "keys are needed"],
        ),
    ] {
        let desk = Desk::new();
        desk.write(file, content);
        for arguments in [vec!["item", "list"], vec!["item", "add", "a"], vec!["mcp"], vec!["init"]] {
            let said = desk.fails(3, &arguments);
            assert!(is_harmless(&said), "{said:?}");
            for part in &parts {
                assert!(said.contains(part), "{arguments:?}: {part} is not in {said}");
            }
        }
        // Whoever has to mend things must be able to.
        for arguments in [vec!["doctor"], vec!["backup", "b.db"], vec!["export"], vec!["--help"]] {
            desk.ok(&arguments);
        }
    }
}

#[test]
fn the_environment_overrides_and_is_checked() {
    let desk = Desk::new();
    let said = desk.run_with(&[("DEGRADED_MODE_POLICY", "trust-me")], &["mcp"]).bad(3);
    assert!(said.contains("DEGRADED_MODE_POLICY") && said.contains("accept-self-reported"), "{said}");
    desk.write("docket.toml", "[identity]\ndegraded_mode_policy = 'reject'\n");
    let item = desk.run_with(&[("DEGRADED_MODE_POLICY", "ACCEPT-CACHED")], &["item", "add", "One"]).good();
    assert!(item.contains("W-1"), "{item}");
    desk.fails(4, &["claim", "W-1"]);
    let said = desk.run_with(&[("AGENT_CONFIG_DIR", "nowhere")], &["item", "list"]).bad(3);
    assert!(said.contains("AGENT_CONFIG_DIR"), "{said}");
    let said = desk.run_with(&[("DOCKET_CONFIG", "none.toml")], &["item", "list"]).bad(3);
    assert!(said.contains("none.toml"), "{said}");
    desk.fails(3, &["--config", "none.toml", "item", "list"]);
    desk.write("other.toml", "[project]\nname = 'Other'\n");
    desk.ok(&["--config", "other.toml", "item", "add", "Two"]);
    assert_eq!(desk.json(&["project", "show"])["name"], json!("Other"));
}

#[test]
fn the_log_goes_to_standard_error_as_loud_as_it_is_asked_to_be() {
    let desk = Desk::new();
    let ran = desk.run_with(&[("DOCKET_LOG", "info")], &["mcp"]);
    assert!(ran.err.contains("serving"), "{ran:?}");
    assert_eq!(ran.good(), "");
    desk.write("docket.toml", "[log]\nlevel = 'info'\n");
    assert!(desk.run(&["mcp"]).err.contains("serving"));
    assert_eq!(desk.run_with(&[("RUST_LOG", "error")], &["mcp"]).err, "");
    desk.write("docket.toml", "[log]\n");
    assert_eq!(desk.run(&["mcp"]).err, "");
}

/// Where the clocks of a place jump while a claim lasts, it lasts as long as elsewhere, and times are told in UTC. A zone that there
/// is not changes nothing either.
#[test]
fn the_time_zone_of_the_machine_changes_nothing() {
    for (zone, jump) in [
        ("Europe/Berlin", "2027-03-28T01:00:00Z"),
        ("America/New_York", "2027-11-07T06:00:00Z"),
        ("Australia/Lord_Howe", "2028-04-01T15:00:00Z"),
        ("Nowhere/At_All", "2028-10-01T00:00:00Z"),
    ] {
        let desk = Desk::new();
        let item = desk.field(&desk.add(&["One"]), "id");
        let jump = jump.parse::<Timestamp>().expect("a time").as_millis();
        let now =
            i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_millis()).expect("ms");
        let at = |seconds: i64| {
            desk.write("clock", (jump - now + seconds * 1000).to_string());
            std::thread::sleep(Duration::from_millis(150));
        };
        let clock = desk.file("clock");
        let server = Server::start_with(&desk.database(), &[], |command| {
            command.env("TZ", zone).env("DOCKET_CLOCK_FILE", &clock);
        });
        let claim = |who: &str| {
            let actor = json!({ "id": who, "kind": "subagent" });
            let claims = json!([{ "itemId": item, "ttlSeconds": 60 }]);
            let request = uuid::Uuid::new_v4().to_string();
            let arguments = json!({ "claims": claims, "actor": actor, "requestId": request });
            server.ok("claim_item", arguments)["claimResults"][0].clone()
        };
        at(-30);
        let held = claim("ann");
        assert_eq!(held["outcome"], json!("success"), "{zone}: {held}");
        at(20);
        assert_eq!(claim("bob")["outcome"], json!("already_claimed"), "{zone}: the lease has 10 s left");
        at(35);
        assert_eq!(claim("bob")["outcome"], json!("success"), "{zone}: the lease is over");
        drop(server);
        let said = |zone: &str| desk.run_with(&[("TZ", zone)], &["events"]).good();
        assert_eq!(said(zone), said("UTC"), "{zone}");
        let told = desk.json(&["events", "--limit", "200"]);
        let times: Vec<&str> =
            told["events"].as_array().expect("events").iter().filter_map(|event| event["at"].as_str()).collect();
        assert!(!times.is_empty() && times.iter().all(|at| at.ends_with('Z')), "{zone}: {times:?}");
    }
}
