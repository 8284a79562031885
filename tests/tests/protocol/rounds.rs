//! What only a person can decide, put to the person of a client that is sent no requests: a call is answered with a form, and
//! comes again with what the person said. Over HTTP, where nothing is kept between the two, and over standard input and output.

use std::path::Path;

use docket_tests::mcp::Server;
use docket_tests::web::{Web, command};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Somebody's client, at a server over HTTP.
pub(crate) struct Client<'w> {
    pub(crate) web: &'w Web,
    pub(crate) surface: &'static str,
    pub(crate) bearer: Option<String>,
    pub(crate) capabilities: Value,
    /// Who is said to act, and the project that is meant, where the requests say so.
    pub(crate) actor: Option<&'static str>,
    pub(crate) project: Option<&'static str>,
}

/// What came back from a call: an answer, or a form with its state.
#[derive(Debug)]
pub(crate) enum Came {
    Answer(Value),
    Form { form: Value, state: String },
}

impl Came {
    pub(crate) fn answer(self) -> Value {
        match self {
            Self::Answer(answer) => answer,
            Self::Form { form, .. } => panic!("a form instead of an answer: {form}"),
        }
    }

    pub(crate) fn form(self) -> (Value, String) {
        match self {
            Self::Form { form, state } => (form, state),
            Self::Answer(answer) => panic!("an answer instead of a form: {answer}"),
        }
    }
}

pub(crate) fn params(tool: &str, arguments: &Value, back: &Value, capabilities: &Value) -> Value {
    let mut params = json!({ "name": tool, "arguments": arguments, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "tests", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": capabilities } });
    for (name, value) in back.as_object().into_iter().flatten() {
        params[name] = value.clone();
    }
    params
}

fn came(result: &Value) -> Came {
    if result["resultType"] != json!("input_required") {
        return Came::Answer(result["structuredContent"].clone());
    }
    let forms = result["inputRequests"].as_object().expect("forms");
    assert_eq!(forms.keys().collect::<Vec<_>>(), ["form"], "{result}");
    let form = &forms["form"];
    assert_eq!((&form["method"], &form["params"]["mode"]), (&json!("elicitation/create"), &json!("form")), "{result}");
    Came::Form { form: form["params"].clone(), state: result["requestState"].as_str().expect("a state").to_owned() }
}

/// What a client sends back: the state, and what became of the form.
pub(crate) fn back(state: &str, reply: Value) -> Value {
    json!({ "requestState": state, "inputResponses": { "form": reply } })
}

pub(crate) fn accept(content: Value) -> Value {
    json!({ "action": "accept", "content": content })
}

impl<'w> Client<'w> {
    pub(crate) fn of(web: &'w Web) -> Self {
        let capabilities = json!({ "elicitation": { "form": {} } });
        Self { web, surface: "docket", bearer: None, capabilities, actor: None, project: None }
    }

    fn send(&self, tool: &str, arguments: &Value, back: &Value) -> Value {
        let params = params(tool, arguments, back, &self.capabilities);
        let message = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params });
        let mut headers = vec![
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", tool),
        ];
        if let Some(bearer) = &self.bearer {
            headers.push(("authorization", bearer));
        }
        headers.extend(self.actor.map(|actor| ("x-docket-actor", actor)));
        let query = self.project.map(|project| format!("?project={project}")).unwrap_or_default();
        let path = format!("/mcp/{}{query}", self.surface);
        self.web.to("POST", &path, &headers, Some(message.to_string().as_bytes())).json()
    }

    pub(crate) fn call(&self, tool: &str, arguments: &Value, back: &Value) -> Came {
        let answer = self.send(tool, arguments, back);
        assert!(answer["error"].is_null(), "{tool} {arguments}: {answer}");
        came(&answer["result"])
    }

    pub(crate) fn first(&self, tool: &str, arguments: &Value) -> Came {
        self.call(tool, arguments, &Value::Null)
    }

    pub(crate) fn ok(&self, tool: &str, arguments: Value) -> Value {
        self.first(tool, &arguments).answer()
    }

    /// Makes an item; returns its key.
    pub(crate) fn item(&self) -> String {
        let made = self.ok("plan", json!({ "items": [{ "title": "Paint", "status": "ready" }] }));
        made["trusted"]["items"][0]["key"].as_str().expect("a key").to_owned()
    }

    /// How the newest question of an item stands, and its words.
    fn question(&self, key: &str) -> (Value, Value) {
        let got = self.ok("get", json!({ "id": key }));
        (got["trusted"]["question"]["state"].clone(), got["untrusted"]["question"]["answer"].clone())
    }
}

/// A folder with a database of the standard workflow, or of another.
pub(crate) fn folder(init: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    run(folder.path(), &[&["init"], init].concat());
    folder
}

pub(crate) fn run(folder: &Path, words: &[&str]) -> Value {
    let out = command(&folder.join("work.db")).arg("--json").args(words).output().expect("it runs");
    assert!(out.status.success(), "{words:?}: {}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).unwrap_or(Value::Null)
}

pub(crate) fn serve(folder: &Path) -> Web {
    Web::on(&folder.join("work.db"), |_| {})
}

/// Who did things of this kind.
pub(crate) fn by(folder: &Path, verb: &str) -> Vec<Value> {
    let events = run(folder, &["events", "--limit", "200"]);
    let events = events["events"].as_array().expect("events");
    events.iter().filter(|event| event["verb"] == json!(verb)).map(|event| event["by"].clone()).collect()
}

#[test]
fn a_call_is_answered_with_a_form_and_its_return_answers_the_question() {
    let folder = folder(&[]);
    let web = serve(folder.path());
    let client = Client::of(&web);
    let key = client.item();
    let arguments = json!({ "id": key, "question": "Which colour?", "options": ["Blue", "Red"], "actor": { "id": "painter", "kind": "subagent" } });
    let (form, state) = client.first("ask", &arguments).form();
    let message = form["message"].as_str().expect("a message");
    assert!(message.contains("Which colour?") && message.contains(&key) && message.contains("painter"), "{message}");
    assert_eq!(form["requestedSchema"]["properties"]["answer"]["enum"], json!(["Blue", "Red"]), "{form}");
    // The question stands meanwhile, for everybody.
    assert_eq!(client.question(&key).0, json!("open"));
    let told = client.call("ask", &arguments, &back(&state, accept(json!({ "answer": "Red" })))).answer();
    assert_eq!(
        (&told["trusted"]["state"], &told["untrusted"]["answer"]),
        (&json!("answered"), &json!("Red")),
        "{told}"
    );
    assert_eq!(client.question(&key), (json!("answered"), json!("Red")));
    let who = &by(folder.path(), "answered")[0];
    assert_eq!(who["actor"]["kind"], json!("user"), "{who}");
    assert_ne!(who["actor"]["id"], json!("painter"), "{who}");
    assert_eq!(who["verification"]["verifier"], json!("elicitation"), "{who}");
}

#[test]
fn whatever_is_no_answer_leaves_the_question_open_and_asks_no_more() {
    let folder = folder(&[]);
    let web = serve(folder.path());
    let client = Client::of(&web);
    for reply in [
        json!({ "action": "decline" }),
        json!({ "action": "cancel" }),
        json!({ "action": "accept" }),
        accept(json!({})),
        accept(json!({ "answer": " " })),
        accept(json!({ "answer": "Not offered" })),
        accept(json!({ "answer": 7 })),
        json!({ "action": "perhaps", "content": { "answer": "Blue" } }),
        json!({}),
        json!("Blue"),
        Value::Null,
    ] {
        let key = client.item();
        let arguments = json!({ "id": key, "question": "Which?", "options": ["Blue"] });
        let (_, state) = client.first("ask", &arguments).form();
        let told = client.call("ask", &arguments, &back(&state, reply.clone())).answer();
        assert_eq!(told["trusted"]["state"], json!("open"), "{reply}: {told}");
        assert_eq!(client.question(&key).0, json!("open"), "{reply}");
    }
    assert_eq!(by(folder.path(), "answered").len(), 0);
}

#[test]
fn rounds_that_are_sent_again_take_effect_once() {
    let folder = folder(&[]);
    let web = serve(folder.path());
    let client = Client::of(&web);
    let key = client.item();
    let arguments = json!({ "id": key, "question": "Which?" });
    let (form, state) = client.first("ask", &arguments).form();
    // Back without a word of the form: it is shown again, and the question is still the one.
    let again = client.call("ask", &arguments, &json!({ "requestState": state }));
    let (shown_again, second) = again.form();
    assert_eq!(form, shown_again);
    let elsewhere =
        json!({ "requestState": second, "inputResponses": { "other": accept(json!({ "answer": "Blue" })) } });
    client.call("ask", &arguments, &elsewhere).form();
    assert_eq!(by(folder.path(), "asked").len(), 1);
    for state in [&second, &second, &state] {
        let told = client.call("ask", &arguments, &back(state, accept(json!({ "answer": "Blue" })))).answer();
        let said = (&told["trusted"]["state"], &told["untrusted"]["answer"]);
        assert_eq!(said, (&json!("answered"), &json!("Blue")), "{told}");
    }
    // A second answer is none: what was said first stands, and is what is told.
    let told = client.call("ask", &arguments, &back(&state, accept(json!({ "answer": "Red" })))).answer();
    assert_eq!(told["untrusted"]["answer"], json!("Blue"), "{told}");
    assert_eq!(by(folder.path(), "answered").len(), 1);
}

#[test]
fn somebody_who_answers_while_the_form_is_open_is_heard() {
    let folder = folder(&[]);
    let web = serve(folder.path());
    let client = Client::of(&web);
    let key = client.item();
    let arguments = json!({ "id": key, "question": "Which?" });
    let (_, state) = client.first("ask", &arguments).form();
    run(folder.path(), &["answer", &key, "Green"]);
    let told = client.call("ask", &arguments, &back(&state, accept(json!({ "answer": "Blue" })))).answer();
    assert_eq!(
        (&told["trusted"]["state"], &told["untrusted"]["answer"]),
        (&json!("answered"), &json!("Green")),
        "{told}"
    );
}

/// The server may be another by the next round: the same after a restart, or one beside it.
#[test]
fn a_restart_or_another_server_between_the_rounds_changes_nothing() {
    let folder = folder(&[]);
    let first = serve(folder.path());
    let (key, other_key) = (Client::of(&first).item(), Client::of(&first).item());
    let arguments = json!({ "id": key, "question": "Which?" });
    let (_, state) = Client::of(&first).first("ask", &arguments).form();
    let beside = serve(folder.path());
    let about_other = json!({ "id": other_key, "question": "Which?" });
    let (_, other_state) = Client::of(&beside).first("ask", &about_other).form();
    let told = Client::of(&first).call("ask", &about_other, &back(&other_state, accept(json!({ "answer": "B" }))));
    assert_eq!(told.answer()["trusted"]["state"], json!("answered"));
    drop((first, beside));
    let again = serve(folder.path());
    let told = Client::of(&again).call("ask", &arguments, &back(&state, accept(json!({ "answer": "A" }))));
    assert_eq!(told.answer()["trusted"]["state"], json!("answered"));
    assert_eq!(Client::of(&again).question(&key), (json!("answered"), json!("A")));
}

#[test]
fn a_state_counts_for_its_caller_its_tool_and_its_arguments_alone() {
    let folder = folder(&[]);
    let secret = |name: &str| {
        let made = run(folder.path(), &["key", "create", "--profile", "worker", "--name", name]);
        Some(format!("Bearer {}", made["secret"].as_str().expect("a secret")))
    };
    let (mine, theirs) = (secret("mine"), secret("theirs"));
    let viewer = run(folder.path(), &["key", "create", "--profile", "viewer"]);
    let web = serve(folder.path());
    let client = Client { bearer: mine.clone(), ..Client::of(&web) };
    let key = client.item();
    let arguments = json!({ "id": key, "question": "Which?" });
    let (_, state) = client.first("ask", &arguments).form();
    let blue = accept(json!({ "answer": "Blue" }));
    let refused = |client: &Client<'_>, tool: &str, arguments: &Value, state: &str| {
        let answer = client.send(tool, arguments, &back(state, blue.clone()));
        assert_eq!(answer["error"]["code"], json!(-32602), "{tool} {arguments} {state}: {answer}");
        answer["error"]["message"].as_str().expect("a message").to_owned()
    };
    let flipped = |at: usize| {
        let mut bytes = state.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        String::from_utf8(bytes).expect("text")
    };
    let (slot, rest) = state.split_once('.').expect("a slot");
    let slot: u64 = slot.parse().expect("a number");
    let mut messages = vec![
        refused(&client, "ask", &arguments, &flipped(state.len() - 2)),
        refused(&client, "ask", &arguments, &flipped(state.len() / 2)),
        refused(&client, "ask", &arguments, ""),
        refused(&client, "ask", &arguments, "forged"),
        refused(&client, "ask", &arguments, &format!("{}.{rest}", slot - 1)),
        refused(&client, "ask", &arguments, &format!("{}.{rest}", slot + 1)),
        refused(&client, "ask", &arguments, &format!("0.{rest}")),
        refused(&client, "ask", &arguments, &format!("{slot}.rs1.AAAA.AAAA")),
        refused(&client, "ask", &json!({ "id": key, "question": "Which other?" }), &state),
        refused(&client, "advance", &arguments, &state),
        refused(
            &Client { surface: "foresttasks", bearer: mine.clone(), ..Client::of(&web) },
            "task",
            &arguments,
            &state,
        ),
    ];
    for bearer in [theirs, viewer["secret"].as_str().map(|secret| format!("Bearer {secret}"))] {
        messages.push(refused(&Client { bearer, ..Client::of(&web) }, "ask", &arguments, &state));
    }
    messages.dedup();
    assert_eq!(messages.len(), 1, "which of them it was is told: {messages:?}");
    assert_eq!(client.question(&key).0, json!("open"), "nothing has come of any of it");
    // Names may stand in another order, and it is the same call.
    let told = client.call("ask", &json!({ "question": "Which?", "id": key }), &back(&state, blue)).answer();
    assert_eq!(told["trusted"]["state"], json!("answered"), "{told}");
}

/// One caller may speak for several actors and about several projects: what a person was shown for one counts for no other.
#[test]
fn a_state_counts_for_its_actor_and_its_project_alone() {
    let folder = folder(&[]);
    for (project, prefix) in [("mine", "MINE"), ("other", "OTHER")] {
        run(folder.path(), &["project", "set", project, "--prefix", prefix]);
    }
    let web = serve(folder.path());
    let of = |actor, project| Client { actor, project, ..Client::of(&web) };
    let (painter, mine) = (Some("subagent:painter"), Some("mine"));
    let client = of(painter, mine);
    let key = client.item();
    let arguments = json!({ "id": key, "question": "Which?" });
    let (_, state) = client.first("ask", &arguments).form();
    let blue = back(&state, accept(json!({ "answer": "Blue" })));
    for (actor, project) in
        [(Some("subagent:other"), mine), (Some("user:painter"), mine), (None, mine), (painter, Some("other"))]
    {
        let answer = of(actor, project).send("ask", &arguments, &blue);
        assert_eq!(answer["error"]["code"], json!(-32602), "{actor:?} {project:?}: {answer}");
    }
    assert_eq!(client.question(&key).0, json!("open"), "nothing has come of any of it");
    let told = client.call("ask", &arguments, &blue).answer();
    assert_eq!(told["trusted"]["state"], json!("answered"), "{told}");
}

#[test]
fn whoever_cannot_show_a_form_is_asked_nothing() {
    let folder = folder(&[]);
    let web = serve(folder.path());
    for capabilities in [json!({}), json!({ "elicitation": { "url": {} } }), json!({ "sampling": {} })] {
        let client = Client { capabilities: capabilities.clone(), ..Client::of(&web) };
        let key = client.item();
        let told = client.ok("ask", json!({ "id": key, "question": "Which?" }));
        assert_eq!(told["trusted"]["state"], json!("open"), "{capabilities}");
    }
}

#[test]
fn a_client_on_standard_input_that_shakes_no_hands_is_asked_so_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("docket.db");
    let capabilities = json!({ "elicitation": {} });
    let call = |server: &Server, tool: &str, arguments: &Value, back: &Value| {
        let answer = server.request("tools/call", params(tool, arguments, back, &capabilities)).expect("an answer");
        assert!(answer["error"].is_null(), "{tool} {arguments}: {answer}");
        came(&answer["result"])
    };
    let server = Server::start_without_hello(&database, &["--surface", "docket"]);
    let made = call(&server, "plan", &json!({ "items": [{ "title": "Paint" }] }), &Value::Null).answer();
    let arguments = json!({ "id": made["trusted"]["items"][0]["key"], "question": "Which?" });
    let (_, state) = call(&server, "ask", &arguments, &Value::Null).form();
    drop(server);
    let server = Server::start_without_hello(&database, &["--surface", "docket"]);
    let told = call(&server, "ask", &arguments, &back(&state, accept(json!({ "answer": "Blue" })))).answer();
    assert_eq!(
        (&told["trusted"]["state"], &told["untrusted"]["answer"]),
        (&json!("answered"), &json!("Blue")),
        "{told}"
    );
}
