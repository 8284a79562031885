//! The same answer on every surface, of the work contract: briefs, evidence, questions, previews and ends, closing by force, and
//! Markdown; through `docket`, and through `foresttasks` where that has the act.

use serde_json::{Value, json};

use crate::parity::{Case, compare};

const STANDARD: &str = "[project]\nslug = \"default\"\npreset = \"standard\"\n";
const FORESTTASKS: &str = "[project]\nslug = \"default\"\npreset = \"foresttasks\"\n";

type Words = &'static [&'static str];

/// A request in the words of one surface of MCP: the tool and its arguments.
type Said = (&'static str, Value);

/// What both surfaces can say: a step by REST and by the command line, with its code.
struct Step {
    name: &'static str,
    docket: Option<Said>,
    foresttasks: Option<Said>,
    rest: (&'static str, &'static str, Value),
    cli: Words,
    code: Option<&'static str>,
}

fn brief() -> Value {
    json!({"objective": "o", "acceptanceCriteria": ["a", {"text": "b", "verifier": "human"}]})
}

/// The contract is written.
fn writing() -> Vec<Step> {
    let make = |name, title: &str, cli| Step {
        name,
        docket: Some(("plan", json!({"items": [{"title": title, "status": "ready"}]}))),
        foresttasks: Some(("task", json!({"action": "create", "title": title, "status": "ready"}))),
        rest: ("POST", "/items", json!({"title": title, "status": "ready"})),
        cli,
        code: None,
    };
    vec![
        make("make", "One", &["item", "add", "One", "--status", "ready"]),
        make("make another", "Two", &["item", "add", "Two", "--status", "ready"]),
        Step {
            name: "a brief",
            docket: Some(("contract", json!({"id": "DEFA-1", "brief": brief(), "replace": true}))),
            foresttasks: Some(("contract", json!({"action": "brief_replace", "id": "DEFA-1", "brief": brief()}))),
            rest: ("PUT", "/items/DEFA-1/brief", brief()),
            cli: &["brief", "set", "DEFA-1", "--objective", "o", "--criterion", "a", "--sign-off", "b"],
            code: None,
        },
        Step {
            name: "a section that is none",
            docket: Some(("contract", json!({"id": "DEFA-1", "brief": {"goal": "x"}}))),
            foresttasks: Some(("contract", json!({"action": "brief_merge", "id": "DEFA-1", "patch": {"goal": "x"}}))),
            rest: ("PATCH", "/items/DEFA-1/brief", json!({"goal": "x"})),
            cli: &["brief", "merge", "DEFA-1", "--clear", "goal"],
            code: Some("VALIDATION"),
        },
        Step {
            name: "sections",
            docket: Some(("contract", json!({"id": "DEFA-1", "brief": {"objective": null, "context": "c"}}))),
            foresttasks: Some((
                "contract",
                json!({"action": "brief_merge", "id": "DEFA-1", "patch": {"objective": null, "context": "c"}}),
            )),
            rest: ("PATCH", "/items/DEFA-1/brief", json!({"objective": null, "context": "c"})),
            cli: &["brief", "merge", "DEFA-1", "--context", "c", "--clear", "objective"],
            code: None,
        },
    ]
}

/// Work begins, is shown and ends.
fn showing() -> Vec<Step> {
    let verify = |name, criterion: &str, cli, code| Step {
        name,
        docket: Some(("contract", json!({"id": "DEFA-1", "verify": [{"id": criterion, "passed": true}]}))),
        foresttasks: Some((
            "contract",
            json!({"action": "verify_criterion", "taskId": "DEFA-1", "criterionId": criterion, "status": "pass"}),
        )),
        rest: ("POST", "/items/DEFA-1/evidence", json!({"criteria": [{"id": criterion, "passed": true}]})),
        cli,
        code,
    };
    let finish = |name, docket: Value, foresttasks: Value, rest: Value, cli, code| {
        let mut call = (json!({"phase": "finish", "id": "DEFA-1"}), json!({"phase": "finish", "taskId": "DEFA-1"}));
        for (call, more) in [(&mut call.0, docket), (&mut call.1, foresttasks)] {
            let more = more.as_object().cloned().unwrap_or_default();
            call.as_object_mut().expect("an object").extend(more);
        }
        let rest = ("POST", "/items/DEFA-1/finish", rest);
        Step { name, docket: Some(("work", call.0)), foresttasks: Some(("work", call.1)), rest, cli, code }
    };
    let apply = || json!({"action": "apply"});
    vec![
        Step {
            name: "begin",
            docket: Some(("work", json!({"phase": "start", "id": "DEFA-1"}))),
            foresttasks: Some(("work", json!({"phase": "start", "id": "DEFA-1"}))),
            rest: ("POST", "/items/DEFA-1/begin", json!({})),
            cli: &["start", "DEFA-1"],
            code: None,
        },
        finish(
            "preview",
            json!({"preview": true}),
            json!({"action": "preview"}),
            json!({"preview": true}),
            &["finish", "DEFA-1", "--preview"],
            None,
        ),
        finish("too early", json!({}), apply(), json!({}), &["finish", "DEFA-1"], Some("RULE_BLOCKED")),
        verify("a criterion that is none", "c9", &["verify", "DEFA-1", "c9=pass"], Some("NOT_FOUND")),
        verify("a person's criterion", "c2", &["verify", "DEFA-1", "c2=pass"], Some("RULE_BLOCKED")),
        verify("the agent's criterion", "c1", &["verify", "DEFA-1", "c1=pass"], None),
        finish(
            "finish",
            json!({"comment": "w"}),
            json!({"action": "apply", "finalComment": "w"}),
            json!({"comment": "w"}),
            &["finish", "DEFA-1", "--comment", "w"],
            None,
        ),
    ]
}

/// What is said beside the work.
fn decorating() -> Vec<Step> {
    let edge = |name, from: &str, cli, code| Step {
        name,
        docket: Some(("annotate", json!({"id": from, "edges": [{"to": "DEFA-2", "kind": "relates-to"}]}))),
        foresttasks: Some((
            "annotate",
            json!({"type": "relation", "fromTaskId": from, "toTaskId": "DEFA-2", "kind": "relates-to"}),
        )),
        rest: ("POST", "/edges", json!({"from": from, "to": "DEFA-2", "kind": "relates-to"})),
        cli,
        code,
    };
    vec![
        Step {
            name: "a comment",
            docket: Some(("annotate", json!({"id": "DEFA-2", "comment": "so"}))),
            foresttasks: Some(("annotate", json!({"type": "comment", "taskId": "DEFA-2", "body": "so"}))),
            rest: ("POST", "/items/DEFA-2/comments", json!({"comment": "so"})),
            cli: &["comment", "DEFA-2", "so"],
            code: None,
        },
        edge("a relation", "DEFA-1", &["link", "DEFA-1", "relates-to", "DEFA-2"], None),
        edge("the same again", "DEFA-1", &["link", "DEFA-1", "relates-to", "DEFA-2"], Some("CONFLICT")),
        edge("of nothing", "DEFA-99", &["link", "DEFA-99", "relates-to", "DEFA-2"], Some("NOT_FOUND")),
        Step {
            name: "a flag",
            docket: Some(("annotate", json!({"id": "DEFA-2", "attention": "look"}))),
            foresttasks: Some((
                "task",
                json!({"action": "update", "id": "DEFA-2", "needsAttention": true, "needsAttentionReason": "look"}),
            )),
            rest: ("PATCH", "/items/DEFA-2", json!({"attention": "look"})),
            cli: &["item", "edit", "DEFA-2", "--attention", "look"],
            code: None,
        },
        Step {
            name: "a status that there is not",
            docket: Some(("plan", json!({"items": [{"title": "x", "status": "redy"}]}))),
            foresttasks: Some(("task", json!({"action": "create", "title": "x", "status": "redy"}))),
            rest: ("POST", "/items", json!({"title": "x", "status": "redy"})),
            cli: &["item", "add", "x", "--status", "redy"],
            code: Some("VALIDATION"),
        },
    ]
}

/// What people are asked, what is closed by force, and what was written down before.
fn ending() -> Vec<Step> {
    let ask = |name, question: &str, cli, code| Step {
        name,
        docket: Some(("ask", json!({"id": "DEFA-2", "question": question}))),
        foresttasks: Some(("task", json!({"action": "ask", "id": "DEFA-2", "question": question}))),
        rest: ("POST", "/items/DEFA-2/questions", json!({"question": question})),
        cli,
        code,
    };
    let close = |name, key: &str, path, cancel: bool, cli, code| {
        let (to, status) = if cancel { ("cancel", "cancelled") } else { ("complete", "done") };
        Step {
            name,
            docket: Some(("advance", json!({"id": key, "to": to, "tree": true, "force": true}))),
            foresttasks: Some(("task", json!({"action": "cascade_close", "id": key, "status": status}))),
            rest: ("POST", path, json!({"cancel": cancel})),
            cli,
            code,
        }
    };
    let blocked = Some("RULE_BLOCKED");
    vec![
        ask("ask", "q", &["ask", "DEFA-2", "q"], None),
        ask("ask again", "r", &["ask", "DEFA-2", "r"], Some("CONFLICT")),
        Step {
            name: "answer",
            docket: Some(("ask", json!({"id": "DEFA-2", "answer": "y"}))),
            foresttasks: Some(("task", json!({"action": "answer", "questionId": "QUESTION", "answer": "y"}))),
            rest: ("POST", "/questions/QUESTION/answer", json!({"answer": "y"})),
            cli: &["answer", "DEFA-2", "y"],
            code: None,
        },
        close(
            "force what is not shown",
            "DEFA-1",
            "/items/DEFA-1/close-tree",
            false,
            &["close", "DEFA-1", "--tree"],
            blocked,
        ),
        close("force", "DEFA-2", "/items/DEFA-2/close-tree", false, &["close", "DEFA-2", "--tree"], None),
        close("give up", "DEFA-1", "/items/DEFA-1/close-tree", true, &["close", "DEFA-1", "--tree", "--cancel"], None),
        Step {
            name: "Markdown",
            docket: Some(("plan", json!({"markdown": "- three"}))),
            foresttasks: Some(("bulk", json!({"action": "import", "markdown": "- three", "mode": "apply"}))),
            rest: ("POST", "/projects/default/import-markdown", json!({"markdown": "- three"})),
            cli: &["import-markdown", "outline.md"],
            code: None,
        },
        Step {
            name: "close by gates",
            docket: Some(("advance", json!({"id": "DEFA-3", "to": "cancel", "tree": true}))),
            foresttasks: None,
            rest: ("POST", "/items/DEFA-3/close-tree", json!({"cancel": true, "gated": true})),
            cli: &["close", "DEFA-3", "--tree", "--gated", "--cancel"],
            code: None,
        },
    ]
}

fn cases(said: fn(&Step) -> Option<Said>) -> Vec<Case> {
    let steps = writing().into_iter().chain(decorating()).chain(showing()).chain(ending());
    let case = |step: Step| {
        let (tool, arguments) = said(&step)?;
        Some(Case { name: step.name, tool, arguments, rest: step.rest, cli: step.cli, code: step.code, actor: None })
    };
    steps.filter_map(case).collect()
}

fn of_docket() -> Vec<Case> {
    cases(|step| step.docket.clone())
}

fn of_foresttasks() -> Vec<Case> {
    cases(|step| step.foresttasks.clone())
}

#[test]
fn docket_rest_and_the_command_line_answer_and_do_the_same_of_the_contract() {
    compare(false, "docket", STANDARD, of_docket);
}

#[test]
fn they_do_on_a_server() {
    compare(true, "docket", STANDARD, of_docket);
}

#[test]
fn foresttasks_rest_and_the_command_line_do_too() {
    compare(false, "foresttasks", FORESTTASKS, of_foresttasks);
}

#[test]
fn foresttasks_does_on_a_server() {
    compare(true, "foresttasks", FORESTTASKS, of_foresttasks);
}
