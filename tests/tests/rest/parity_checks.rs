//! The same answer on every surface, of checks: written, made, attested, and refused where they are not shown.

use serde_json::{Value, json};

use crate::parity::{Case, compare};

const TOML: &str = "[project]\nslug = \"default\"\npreset = \"standard\"\n";

fn cases() -> Vec<Case> {
    let case =
        |name, tool, arguments: Value, rest, cli, code| Case { name, tool, arguments, rest, cli, code, actor: None };
    let contract = |name, arguments, rest, cli, code| case(name, "contract", arguments, rest, cli, code);
    vec![
        case(
            "make",
            "plan",
            json!({"items": [{"title": "One"}]}),
            ("POST", "/items", json!({"title": "One"})),
            &["item", "add", "One"],
            None,
        ),
        contract(
            "a folder outside",
            json!({"id": "DEFA-1", "checks": [{"desc": "t", "cmd": "true", "cwd": "/etc"}]}),
            ("POST", "/items/DEFA-1/checks", json!({"checks": [{"desc": "t", "cmd": "true", "cwd": "/etc"}]})),
            &["check", "add", "DEFA-1", "t", "--cmd", "true", "--cwd", "/etc"],
            Some("VALIDATION"),
        ),
        contract(
            "a person's to make",
            json!({"id": "DEFA-1", "checks": [{"desc": "t"}]}),
            ("POST", "/items/DEFA-1/checks", json!({"checks": [{"desc": "t"}]})),
            &["check", "add", "DEFA-1", "t"],
            None,
        ),
        contract(
            "the same again",
            json!({"id": "DEFA-1", "checks": [{"desc": "t"}]}),
            ("POST", "/items/DEFA-1/checks", json!({"checks": [{"desc": "t"}]})),
            &["check", "add", "DEFA-1", "t"],
            Some("VALIDATION"),
        ),
        contract(
            "one that a runner would make",
            json!({"id": "DEFA-1", "checks": [{"desc": "u", "cmd": "true"}]}),
            ("POST", "/items/DEFA-1/checks", json!({"checks": [{"desc": "u", "cmd": "true"}]})),
            &["check", "add", "DEFA-1", "u", "--cmd", "true"],
            None,
        ),
        contract(
            "run one that is not there",
            json!({"id": "DEFA-1", "run": {"only": [9]}}),
            ("POST", "/items/DEFA-1/checks/run", json!({"only": [9]})),
            &["check", "run", "DEFA-1", "--only", "9"],
            Some("VALIDATION"),
        ),
    ]
    .into_iter()
    .chain(closing())
    .chain(words_of_agents())
    .collect()
}

/// Nothing closes over what is not shown, and nobody ends a run that never was.
fn closing() -> Vec<Case> {
    let case = |name, tool, arguments, rest, cli, code| Case { name, tool, arguments, rest, cli, code, actor: None };
    let contract = |name, arguments, rest, cli, code| case(name, "contract", arguments, rest, cli, code);
    vec![
        case(
            "begin",
            "advance",
            json!({"id": "DEFA-1", "to": "start"}),
            ("POST", "/items/DEFA-1/transitions", json!({"trigger": "start"})),
            &["advance", "DEFA-1", "start"],
            None,
        ),
        case(
            "close what is not shown",
            "advance",
            json!({"id": "DEFA-1", "to": "complete"}),
            ("POST", "/items/DEFA-1/transitions", json!({"trigger": "complete"})),
            &["close", "DEFA-1"],
            Some("RULE_BLOCKED"),
        ),
        contract(
            "a run that never was",
            json!({"id": "DEFA-1", "cancel": "01JZK3V5Q8X4R2M7N9P6T1B0CD"}),
            ("POST", "/runs/01JZK3V5Q8X4R2M7N9P6T1B0CD/cancel", Value::Null),
            &["check", "cancel", "01JZK3V5Q8X4R2M7N9P6T1B0CD"],
            Some("NOT_FOUND"),
        ),
        case(
            "the log of one",
            "find",
            json!({"what": "log", "id": "01JZK3V5Q8X4R2M7N9P6T1B0CD"}),
            ("GET", "/runs/01JZK3V5Q8X4R2M7N9P6T1B0CD/log", Value::Null),
            &["check", "log", "01JZK3V5Q8X4R2M7N9P6T1B0CD"],
            Some("NOT_FOUND"),
        ),
    ]
}

/// What an agent may not say, however it says it.
fn words_of_agents() -> Vec<Case> {
    let case = |name, arguments: Value, rest, cli| {
        let mut arguments = arguments;
        arguments["id"] = json!("DEFA-1");
        arguments["actor"] = json!({"id": "bot", "kind": "subagent"});
        Case { name, tool: "contract", arguments, rest, cli, code: Some("FORBIDDEN"), actor: Some("bot") }
    };
    vec![
        case(
            "an agent lets a command run",
            json!({"approve": [0]}),
            ("POST", "/items/DEFA-1/checks/approve", json!({"only": [0]})),
            &["check", "approve", "DEFA-1", "--only", "0"],
        ),
        case(
            "an agent has a command made that nobody let run",
            json!({"run": {"only": [1]}}),
            ("POST", "/items/DEFA-1/checks/run", json!({"only": [1]})),
            &["check", "run", "DEFA-1", "--only", "1"],
        ),
        case(
            "an agent attests",
            json!({"attest": 0}),
            ("POST", "/items/DEFA-1/checks/0/attest", json!({"passed": true})),
            &["check", "attest", "DEFA-1", "0=pass"],
        ),
    ]
}

#[test]
fn every_surface_answers_and_does_the_same_of_checks() {
    compare(false, "docket", TOML, cases);
}

#[test]
fn they_do_on_a_server() {
    compare(true, "docket", TOML, cases);
}
