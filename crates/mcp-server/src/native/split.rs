//! An answer in two parts: what the server computed, and what people and agents wrote.
//!
//! Whoever reads an answer may act on `trusted`. What stands in `untrusted` is data about the work, whatever it says.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::answer::Answer;

/// Both parts of an answer, or of a piece of one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Split {
    pub(super) trusted: Map<String, Value>,
    pub(super) untrusted: Map<String, Value>,
}

impl Split {
    /// Says something that the server computed. Nulls and what is empty are left out.
    pub(super) fn say(&mut self, name: &str, value: impl Serialize) {
        put(&mut self.trusted, name, value);
    }

    /// Passes on something that somebody wrote. Nulls and what is empty are left out.
    pub(super) fn quote(&mut self, name: &str, value: impl Serialize) {
        put(&mut self.untrusted, name, value);
    }

    /// Puts both parts of a piece under a name.
    pub(super) fn add(&mut self, name: &str, piece: Self) {
        self.say(name, piece.trusted);
        self.quote(name, piece.untrusted);
    }

    /// The answer of a tool.
    pub(super) fn answer(self) -> Answer {
        let mut body = Map::new();
        body.insert("trusted".to_owned(), Value::Object(self.trusted));
        put(&mut body, "untrusted", self.untrusted);
        Answer::of(&body)
    }
}

/// Puts a value under a name, unless there is nothing to it.
pub(super) fn put(map: &mut Map<String, Value>, name: &str, value: impl Serialize) {
    // What answers are made of is plain data: it always serialises.
    let value = serde_json::to_value(value).unwrap_or(Value::Null);
    let nothing = match &value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    };
    if !nothing {
        map.insert(name.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nothing_is_left_out_and_both_parts_are_kept_apart() {
        let mut piece = Split::default();
        piece.say("version", 0);
        piece.quote("title", "x");
        piece.quote("intent", None::<&str>);
        piece.say("links", Vec::<u8>::new());
        let mut split = Split::default();
        split.add("task", piece);
        split.add("empty", Split::default());
        let answer = split.answer();
        assert_eq!(
            answer.structured,
            json!({ "trusted": { "task": { "version": 0 } }, "untrusted": { "task": { "title": "x" } } })
        );
        assert_eq!(Split::default().answer().structured, json!({ "trusted": {} }));
    }
}
