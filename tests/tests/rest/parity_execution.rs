//! The same act by `execution`, over stdio and HTTP, by the native tools, REST and the command line: claims, work that is handed in and
//! shown by a runner, and what is learned by it.

use serde_json::json;

use crate::parity_surfaces::{Act, Step, compare, desk, step};

/// How a task is claimed, by each way in.
fn claim(name: &'static str, id: &'static str, path: &'static str, cli: &'static [&'static str]) -> Act {
    Act::new(name, "claim_task", json!({ "taskId": id }), ("PUT", path, json!({ "readyOnly": true })), cli)
}

/// How work on it is said to have begun.
fn begin(name: &'static str, id: &'static str, path: &'static str, cli: &'static [&'static str]) -> Act {
    // A heartbeat besides would be another act.
    let arguments = json!({ "taskId": id, "status": "in_progress", "heartbeat": false });
    Act::new(name, "update_task_status", arguments, ("POST", path, json!({ "status": "in_progress" })), cli)
        .native("advance", json!({ "id": id, "to": "in_progress" }))
}

/// How it is handed in, with something learned.
fn hand_in(
    name: &'static str,
    id: &'static str,
    learned: Option<&str>,
    path: &'static str,
    cli: &'static [&'static str],
) -> Act {
    let (mut arguments, mut body) = (json!({ "taskId": id }), json!({}));
    if let Some(title) = learned {
        let learnings = json!([{ "title": title, "body": "b" }]);
        (arguments["learnings"], body["learnings"]) = (learnings.clone(), learnings);
    }
    Act::new(name, "complete_task", arguments, ("POST", path, body), cli)
}

fn execution_steps() -> Vec<Step> {
    let one: (&str, &[&str]) = ("/items/DEFA-1/claim", &["claim", "DEFA-1", "--ready"]);
    let work: (&str, &[&str]) = ("/items/DEFA-1/transitions", &["advance", "DEFA-1", "in_progress"]);
    let submit = "/items/DEFA-1/submit";
    let before = vec![
        step(claim("claim", "DEFA-1", one.0, one.1)),
        step(
            claim("claim what another holds", "DEFA-1", one.0, one.1)
                .by("agent:bob")
                .fails("CONFLICT", "task.already_claimed"),
        ),
        step(
            claim("claim what is not there", "DEFA-99", "/items/DEFA-99/claim", &["claim", "DEFA-99", "--ready"])
                .fails("NOT_FOUND", "task.not_found"),
        ),
        step(
            claim("claim what waits", "DEFA-2", "/items/DEFA-2/claim", &["claim", "DEFA-2", "--ready"])
                .by("agent:bob")
                .fails("CONFLICT", "task.not_actionable"),
        ),
        step(
            begin("begin what another holds", "DEFA-1", work.0, work.1)
                .by("agent:bob")
                .fails("RULE_BLOCKED", "task.already_claimed"),
        ),
        step(begin("begin", "DEFA-1", work.0, work.1)),
        step(
            hand_in(
                "hand in with a blank learning",
                "DEFA-1",
                Some(" "),
                submit,
                &["submit", "DEFA-1", "--learned", "  :: b"],
            )
            .fails("VALIDATION", "validation.failed"),
        ),
        step(hand_in("hand in", "DEFA-1", Some("first"), submit, &["submit", "DEFA-1", "--learned", "first :: b"])),
        Step::Settle,
        Step::Mend,
        step(claim("claim what came back", "DEFA-1", one.0, one.1)),
        step(hand_in("hand in again", "DEFA-1", None, submit, &["submit", "DEFA-1"])),
        Step::Settle,
        step(begin("begin what is done", "DEFA-1", work.0, work.1).fails("RULE_BLOCKED", "task.invariant_violated")),
    ];
    before.into_iter().chain(other_tasks().into_iter().map(step)).collect()
}

/// One for a person, one without checks, and what there is no room for.
fn other_tasks() -> Vec<Act> {
    let submit_three = "/items/DEFA-3/submit";
    let submit_four = "/items/DEFA-4/submit";
    vec![
        claim("claim one for a person", "DEFA-3", "/items/DEFA-3/claim", &["claim", "DEFA-3", "--ready"]),
        hand_in("hand it in", "DEFA-3", None, submit_three, &["submit", "DEFA-3"]),
        claim("claim what is in review", "DEFA-3", "/items/DEFA-3/claim", &["claim", "DEFA-3", "--ready"])
            .by("agent:bob")
            .fails("CONFLICT", "task.not_actionable"),
        claim("claim one without checks", "DEFA-4", "/items/DEFA-4/claim", &["claim", "DEFA-4", "--ready"]),
        Act::new(
            "hand in more than there is room for",
            "complete_task",
            json!({ "taskId": "DEFA-4", "learnings": [{ "title": "a", "body": "b" }, { "title": "c", "body": "b" }, { "title": "d", "body": "b" }] }),
            ("POST", submit_four, json!({ "learnings": [{ "title": "a", "body": "b" }, { "title": "c", "body": "b" }, { "title": "d", "body": "b" }] })),
            &["submit", "DEFA-4", "--learned", "a :: b", "--learned", "c :: b", "--learned", "d :: b"],
        )
        .fails("RULE_BLOCKED", "quota.exceeded"),
        Act::new(
            "hand it in with a word and a learning",
            "complete_task",
            json!({ "taskId": "DEFA-4", "output": "mended", "learnings": [{ "title": "a", "body": "b" }] }),
            ("POST", submit_four, json!({ "output": "mended", "learnings": [{ "title": "a", "body": "b" }] })),
            &["submit", "DEFA-4", "--output", "mended", "--learned", "a :: b"],
        ),
        hand_in("hand in what is not there", "DEFA-99", None, "/items/DEFA-99/submit", &["submit", "DEFA-99"])
            .fails("NOT_FOUND", "task.not_found"),
    ]
}

#[test]
fn every_way_in_answers_and_does_the_same_as_execution() {
    compare(false, "execution", desk, execution_steps);
}

#[test]
fn they_do_on_a_server() {
    compare(true, "execution", desk, execution_steps);
}
