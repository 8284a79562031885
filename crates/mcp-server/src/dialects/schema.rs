//! Small words to write JSON schemas with: every token of a tool list is paid in every conversation.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

/// What a tool does to what is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// It looks.
    Reads,
    /// It adds and moves.
    Writes,
    /// It can overwrite or remove.
    Destroys,
}

/// A tool with its schemas. The output names what an answer can hold; a failed call holds `error` instead.
pub(super) fn tool(name: &'static str, about: &'static str, effect: Effect, input: Value, output: Value) -> Tool {
    let mut properties = output;
    properties["error"] = shape();
    let output = plain_object(properties);
    Tool::new(name, about, object_of(input)).with_raw_output_schema(object_of(output)).with_annotations(hints(effect))
}

/// A tool whose answers are told by its description alone.
pub(super) fn plain_tool(name: &'static str, about: &'static str, effect: Effect, input: Value) -> Tool {
    Tool::new(name, about, object_of(input)).with_annotations(hints(effect))
}

fn hints(effect: Effect) -> ToolAnnotations {
    ToolAnnotations::new()
        .read_only(effect == Effect::Reads)
        .destructive(effect == Effect::Destroys)
        .idempotent(effect == Effect::Reads)
        .open_world(false)
}

/// An object that knows these fields and no others.
pub(super) fn object(properties: Value, required: &[&str]) -> Value {
    let mut object = plain_object(properties);
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    object["additionalProperties"] = json!(false);
    object
}

/// A text.
pub(super) fn text(about: &str) -> Value {
    about_it(json!({ "type": "string" }), about)
}

/// A text that `null` clears.
pub(super) fn clearable(about: &str) -> Value {
    about_it(json!({ "type": ["string", "null"] }), about)
}

/// A text of at most so many characters.
pub(super) fn short_text(most: usize, about: &str) -> Value {
    about_it(json!({ "type": "string", "maxLength": most }), about)
}

/// One of a few words.
pub(super) fn word(words: &[&str], about: &str) -> Value {
    about_it(json!({ "type": "string", "enum": words }), about)
}

/// Yes or no.
pub(super) fn flag(about: &str) -> Value {
    about_it(json!({ "type": "boolean" }), about)
}

/// A whole number inside bounds.
pub(super) fn whole(least: i64, most: Option<i64>, about: &str) -> Value {
    let mut number = json!({ "type": "integer", "minimum": least });
    if let Some(most) = most {
        number["maximum"] = json!(most);
    }
    about_it(number, about)
}

/// A list.
pub(super) fn list(items: &Value, about: &str) -> Value {
    about_it(json!({ "type": "array", "items": items }), about)
}

/// A list of texts.
pub(super) fn texts(about: &str) -> Value {
    list(&text(""), about)
}

/// Who acts.
pub(super) fn actor(about: &str) -> Value {
    let fields = json!({
        "id": text(""),
        "kind": word(&["orchestrator", "subagent", "user", "external"], ""),
        "parent": text("who dispatched it"),
        "proof": text(""),
    });
    about_it(object(fields, &["id", "kind"]), about)
}

/// The caller's name for the request.
pub(super) fn request_id() -> Value {
    about_it(
        json!({ "type": "string", "minLength": 1, "maxLength": 255 }),
        "UUID; a retry with the same one takes effect once",
    )
}

/// The fence of the caller's claim.
pub(super) fn fence() -> Value {
    whole(0, None, "from your claim; refused once the item changed hands")
}

/// A list in an answer.
pub(super) fn rows() -> Value {
    json!({ "type": "array", "items": { "type": "object" } })
}

/// An object in an answer.
pub(super) fn shape() -> Value {
    json!({ "type": "object" })
}

/// A number in an answer.
pub(super) fn count() -> Value {
    json!({ "type": "integer" })
}

/// A text in an answer.
pub(super) fn word_out() -> Value {
    json!({ "type": "string" })
}

fn plain_object(properties: Value) -> Value {
    Value::Object(JsonObject::from_iter([("type".to_owned(), json!("object")), ("properties".to_owned(), properties)]))
}

pub(super) fn about_it(mut schema: Value, about: &str) -> Value {
    if !about.is_empty() {
        schema["description"] = json!(about);
    }
    schema
}

fn object_of(value: Value) -> Arc<JsonObject> {
    match value {
        Value::Object(object) => Arc::new(object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Arc::default(),
    }
}
