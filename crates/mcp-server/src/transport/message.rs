//! One JSON-RPC message, however it came: read strictly, and answered where it cannot be read.

use docket_core::wire::{Fault, NAMES, look_over};
use rmcp::model::{ClientJsonRpcMessage, ErrorCode};
use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde_json::{Value, json};

/// What is answered by the transport itself.
#[derive(Debug)]
pub(super) struct Bad {
    pub(super) code: ErrorCode,
    pub(super) message: String,
    pub(super) id: Value,
}

impl Bad {
    pub(super) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), id: Value::Null }
    }

    /// The answer.
    pub(super) fn to_json(&self) -> Value {
        let error = json!({ "code": self.code.0, "message": self.message });
        json!({ "jsonrpc": "2.0", "id": self.id, "error": error })
    }

    pub(super) fn to_line(&self) -> Vec<u8> {
        let mut line = self.to_json().to_string().into_bytes();
        line.push(b'\n');
        line
    }
}

/// The message; nothing where nobody waits for an answer and nothing can be done.
pub(super) fn parse(line: &[u8]) -> Result<Option<ClientJsonRpcMessage>, Bad> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    if line.is_empty() {
        return Ok(None);
    }
    let invalid = |message: String, id| Bad { id, ..Bad::new(ErrorCode::INVALID_REQUEST, message) };
    match look_over(line) {
        Ok(()) => {}
        Err(Fault::NotJson) => return Err(Bad::new(ErrorCode::PARSE_ERROR, "the line is not JSON in UTF-8")),
        Err(Fault::Twice(name)) => {
            let id = if name == "id" { Value::Null } else { id_of(line) };
            return Err(invalid(format!("the name \"{}\" stands twice in one object", docket_core::echo(&name)), id));
        }
        Err(Fault::TooMany) => return Err(invalid(format!("more than {NAMES} names in one message"), id_of(line))),
    }
    if line.first() == Some(&b'[') {
        return Err(invalid("batches are not served: send one message a line".to_owned(), Value::Null));
    }
    serde_json::from_slice(line).map(Some).or_else(|_| {
        let value: Value = serde_json::from_slice(line).unwrap_or(Value::Null);
        // Nobody waits for an answer to a notification.
        if value.get("method").is_some_and(Value::is_string) && value.get("id").is_none() {
            return Ok(None);
        }
        Err(invalid("this is no JSON-RPC 2.0 request".to_owned(), id_of(line)))
    })
}

/// The id that an answer to a bad message can name, so that whoever waits for it learns of it.
fn id_of(line: &[u8]) -> Value {
    let value: Value = serde_json::from_slice(line).unwrap_or(Value::Null);
    value.get("id").filter(|id| id.is_string() || id.is_i64()).cloned().unwrap_or(Value::Null)
}

/// The id of a message of which only the beginning is there, so that whoever waits for the answer learns of it too.
pub(super) fn id_at_start(start: &[u8]) -> Value {
    let mut found = Value::Null;
    // It ends with an error, as the message does not.
    let _ = UpToId(&mut found).deserialize(&mut serde_json::Deserializer::from_slice(start));
    if found.is_string() || found.is_i64() { found } else { Value::Null }
}

/// Reads an object as far as its id.
struct UpToId<'f>(&'f mut Value);

impl<'de> DeserializeSeed<'de> for UpToId<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for UpToId<'_> {
    type Value = ();

    fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            if name == "id" {
                *self.0 = map.next_value()?;
                break;
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_cut_message_is_found_where_it_comes_first() {
        for (start, id) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"a":"xx"#, Value::from(7)),
            (r#"{"id":"a-1","params":{"id":3,"#, Value::from("a-1")),
            (r#"{"params":{"id":3,"more":"xx"#, Value::Null),
            (r#"{"jsonrpc":"2.0","id":{"x":1},"params":"#, Value::Null),
            (r#"{"jsonrpc":"2.0","id":"cut in tw"#, Value::Null),
            (r#"[{"id":1,"#, Value::Null),
            ("no JSON", Value::Null),
        ] {
            assert_eq!(id_at_start(start.as_bytes()), id, "{start}");
        }
    }
}
