//! What the protocol has beside tools, through the real program: resources, subscriptions, prompts, completion, and
//! questions put to the person at the other end.
#![expect(clippy::needless_pass_by_value, reason = "arguments are made on the spot, for the call alone")]

mod completion;
mod elicitation;
mod prompts;
mod resources;
mod rounds;
mod rounds_of_signs;
mod subscriptions;

use std::path::PathBuf;

use docket_tests::mcp::Server;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A server of the native surface, and another process through which things are done.
struct World {
    server: Server,
    hand: Server,
    folder: TempDir,
}

impl World {
    fn new() -> Self {
        Self::with(json!({}))
    }

    /// With a client that can do this.
    fn with(capabilities: Value) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let database = folder.path().join("docket.db");
        let server = Server::start_as(&database, &["--surface", "docket"], capabilities);
        let hand = Server::start_with(&database, &["--surface", "task-orchestrator"], |_| {});
        Self { server, hand, folder }
    }

    fn database(&self) -> PathBuf {
        self.folder.path().join("docket.db")
    }

    /// Makes an item; returns its key.
    fn item(&self, title: &str) -> String {
        let made = self.hand.ok("manage_items", json!({ "operation": "create", "items": [{ "title": title }] }));
        made["items"][0]["key"].as_str().expect("a key").to_owned()
    }

    fn advance(&self, key: &str, trigger: &str) {
        let moved = self.hand.ok("advance_item", json!({ "transitions": [{ "itemId": key, "trigger": trigger }] }));
        assert_eq!(moved["results"][0]["applied"], json!(true), "{moved}");
    }

    /// What a method answers.
    fn result(&self, method: &str, params: Value) -> Value {
        let answer = self.server.request(method, params).expect("an answer");
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// The error that a method answers with.
    fn error(&self, method: &str, params: Value) -> Value {
        let answer = self.server.request(method, params).expect("an answer");
        assert!(answer["result"].is_null(), "{method}: {answer}");
        answer["error"].clone()
    }

    /// The JSON of a resource.
    fn read(&self, uri: &str) -> Value {
        let contents = self.result("resources/read", json!({ "uri": uri }))["contents"].clone();
        assert_eq!(contents[0]["uri"], json!(uri));
        assert_eq!(contents[0]["mimeType"], json!("application/json"));
        serde_json::from_str(contents[0]["text"].as_str().expect("text")).expect("JSON")
    }
}
