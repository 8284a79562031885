//! One agent's round of work over MCP: what it creates, it looks at, claims, annotates and completes.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::peer::{Answer, Peer};

/// The calls of one round, in order.
pub(super) const STEPS: [Step; 6] = [Step::Create, Step::Get, Step::Next, Step::Claim, Step::Note, Step::Complete];

/// One call of a round.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Create,
    Get,
    Next,
    Claim,
    Note,
    Complete,
}

impl Step {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Get => "get",
            Self::Next => "next",
            Self::Claim => "claim",
            Self::Note => "note",
            Self::Complete => "complete",
        }
    }
}

/// Items made with one call while a database is filled.
const AT_ONCE: usize = 100;

/// An agent at work on the item it made.
pub(super) struct Agent {
    actor: Value,
    item: Value,
}

impl Agent {
    pub(super) fn new(name: &str) -> Self {
        Self { actor: json!({ "id": name, "kind": "subagent" }), item: Value::Null }
    }

    /// Takes one step; the first of a round makes the item that the others are about.
    pub(super) fn take(&mut self, peer: &mut Peer, step: Step, round: usize) -> Result<Answer> {
        let (tool, arguments) = self.words(step, round);
        let answer = peer.call(tool, &arguments)?;
        let done = match step {
            Step::Create => {
                self.item = answer.content["items"][0]["id"].clone();
                self.item.is_string()
            }
            Step::Get => answer.content["id"] == self.item || answer.content["item"]["id"] == self.item,
            Step::Next => answer.content["recommendations"][0]["itemId"].is_string(),
            Step::Claim => answer.content["claimResults"][0]["outcome"] == "success",
            Step::Note => answer.content["upserted"] == 1,
            Step::Complete => answer.content["results"][0]["applied"] == true,
        };
        ensure!(done, "{}: {}", step.as_str(), answer.content);
        Ok(answer)
    }

    fn words(&self, step: Step, round: usize) -> (&'static str, Value) {
        let (item, actor) = (&self.item, &self.actor);
        match step {
            Step::Create => ("manage_items", json!({ "operation": "create", "items": [new_item(round)] })),
            Step::Get => ("query_items", json!({ "operation": "get", "id": item })),
            Step::Next => ("get_next_item", json!({})),
            Step::Claim => {
                ("claim_item", json!({ "actor": actor, "claims": [{ "itemId": item }], "requestId": Uuid::new_v4() }))
            }
            Step::Note => {
                let body = "The handler checks the signature first and answers 401 when it does not hold. ".repeat(4);
                let note = json!({ "itemId": item, "key": "findings", "role": "work", "body": body, "actor": actor });
                ("manage_notes", json!({ "operation": "upsert", "notes": [note] }))
            }
            Step::Complete => {
                ("advance_item", json!({ "transitions": [{ "itemId": item, "trigger": "complete", "actor": actor }] }))
            }
        }
    }
}

/// Makes so many ready items.
pub(super) fn fill(peer: &mut Peer, items: usize) -> Result<()> {
    for first in (0..items).step_by(AT_ONCE) {
        let batch: Vec<Value> = (first..items.min(first + AT_ONCE)).map(new_item).collect();
        let answer = peer.call("manage_items", &json!({ "operation": "create", "items": batch }))?;
        ensure!(answer.content["created"] == json!(batch.len()), "not all were created: {}", answer.content);
    }
    Ok(())
}

fn new_item(number: usize) -> Value {
    json!({
        "title": format!("Check the signature of request {number}"),
        "summary": "A request without a valid signature must be refused before anything is read from it.",
        "priority": "medium",
        "complexity": 3,
    })
}
