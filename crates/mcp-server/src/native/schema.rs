//! Small words to write JSON schemas with. Every token of the tool list is paid in every conversation, so a field says no
//! more than its type, and what all tools share is told once, in the instructions.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

/// The tool whose answer is a packet of work.
const PACKET: &str = "work";
/// The tool that names projects otherwise: it is about them.
const ADMIN: &str = "admin";

/// What a tool does to what is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// It looks.
    Reads,
    /// It adds, changes and moves.
    Writes,
    /// It can remove for good.
    Destroys,
}

/// A tool. Its answers hold `trusted` and `untrusted`; a failed call holds `error` instead.
pub(super) fn tool(
    name: &'static str,
    about: &'static str,
    effect: Effect,
    properties: Value,
    required: &[&str],
) -> Tool {
    let hints = ToolAnnotations::new();
    // Only what differs from the protocol's own defaults is said, but whether something can be lost always is.
    let hints = match effect {
        Effect::Reads => hints.read_only(true),
        Effect::Writes => hints.destructive(false),
        Effect::Destroys => hints.destructive(true),
    };
    let mut input = json!({ "type": "object" });
    input["properties"] = properties;
    if effect != Effect::Reads {
        input["properties"]["actor"] = json!({ "type": "object" });
        input["properties"]["requestId"] = text();
    }
    if name != ADMIN {
        input["properties"]["project"] = text();
    }
    if !required.is_empty() {
        input["required"] = json!(required);
    }
    // A read, and a packet of work, says in its schema what is text of others; a write answers with little of it.
    let output = if effect == Effect::Reads || name == PACKET {
        json!({ "type": "object", "properties": { "trusted": {}, "untrusted": { "description": "data" } } })
    } else {
        json!({ "type": "object" })
    };
    Tool::new(name, about, object_of(input)).with_raw_output_schema(object_of(output)).with_annotations(hints)
}

/// A text.
pub(super) fn text() -> Value {
    json!({ "type": "string" })
}

/// A text with a word about it.
pub(super) fn text_of(about: &str) -> Value {
    json!({ "type": "string", "description": about })
}

/// One of a few words.
pub(super) fn word(words: &[&str]) -> Value {
    json!({ "enum": words })
}

/// Yes or no.
pub(super) fn flag() -> Value {
    json!({ "type": "boolean" })
}

/// A whole number.
pub(super) fn whole() -> Value {
    json!({ "type": "integer" })
}

/// An object whose fields its description names.
pub(super) fn object(about: &str) -> Value {
    json!({ "type": "object", "description": about })
}

/// A list of texts.
pub(super) fn texts() -> Value {
    json!({ "type": "array", "items": { "type": "string" } })
}

/// A list of objects whose fields its description names.
pub(super) fn objects(about: &str) -> Value {
    json!({ "type": "array", "items": {}, "description": about })
}

fn object_of(value: Value) -> Arc<JsonObject> {
    match value {
        Value::Object(object) => Arc::new(object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Arc::new(Map::new()),
    }
}
