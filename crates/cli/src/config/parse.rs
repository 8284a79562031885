//! TOML and YAML into the tree that both readers walk. No file of a few lines needs more than the limits here.

use std::fmt;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use toml::de::{DeTable, DeValue};

use super::node::{ConfigError, Entry, Node, Place, Value};

/// Largest configuration file.
const FILE_BYTES: u64 = 1024 * 1024;
/// Most values that a YAML file may have after its aliases are written out.
const YAML_VALUES: usize = 100_000;
/// Deepest nesting of a YAML file.
const YAML_DEPTH: usize = 32;

/// Reads a file, whole and bounded.
pub(crate) fn read_file(path: &Path) -> Result<String, ConfigError> {
    let bad = |message: String| ConfigError { file: path.to_owned(), place: None, key: String::new(), message };
    let file = std::fs::File::open(path).map_err(|error| bad(format!("cannot be read: {error}")))?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| bad(format!("cannot be read: {error}")))?;
    if bytes.len() as u64 > FILE_BYTES {
        return Err(bad(format!("is larger than {FILE_BYTES} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let line = String::from_utf8_lossy(&error.as_bytes()[..good]).lines().count().max(1) as u64;
        ConfigError { place: Some(Place { line, column: 1 }), ..bad("is not UTF-8 text".to_owned()) }
    })
}

/// A TOML file as a tree.
pub(crate) fn toml(file: &Path, text: &str) -> Result<Node, ConfigError> {
    let table = DeTable::parse(text).map_err(|error| ConfigError {
        file: file.to_owned(),
        place: error.span().map(|span| place_at(text, span.start)),
        key: String::new(),
        message: error.message().to_owned(),
    })?;
    Ok(Node { at: Place { line: 1, column: 1 }, value: toml_table(text, table.get_ref()) })
}

/// A YAML file as a tree. An empty file is an empty table.
pub(crate) fn yaml(file: &Path, text: &str) -> Result<Node, ConfigError> {
    let bad = |place, message: String| ConfigError { file: file.to_owned(), place, key: String::new(), message };
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: YAML_VALUES,
            max_nodes: YAML_VALUES,
            max_depth: YAML_DEPTH,
            flow_nesting_limit: YAML_DEPTH,
            max_documents: 1,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: YAML_VALUES },
        with_snippet: false,
    };
    let tree: serde_saphyr::Spanned<Yaml> = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let place = error.location().map(place_of).filter(|place| place.line > 0);
        bad(place, yaml_message(&error))
    })?;
    let root = Node { at: place_of(tree.referenced), value: tree.value.0 };
    match root.value {
        Value::Null => Ok(Node { at: Place { line: 1, column: 1 }, value: Value::Table(Vec::new()) }),
        _ => Ok(root),
    }
}

/// The parser's words on one line, without the place, which is told apart.
fn yaml_message(error: &serde_saphyr::Error) -> String {
    let text = error.without_snippet().to_string();
    let first = text.lines().next().unwrap_or("is not valid YAML").trim();
    let plain = first.split(" at line ").next().unwrap_or(first);
    format!("is not valid YAML: {}", docket_core::echo(plain))
}

fn toml_table(text: &str, table: &DeTable<'_>) -> Value {
    let mut entries: Vec<(usize, Entry)> = table
        .iter()
        .map(|(key, value)| {
            let entry = Entry {
                key: key.get_ref().to_string(),
                at: place_at(text, key.span().start),
                node: toml_node(text, value.span().start, value.get_ref()),
            };
            (key.span().start, entry)
        })
        .collect();
    entries.sort_by_key(|(start, _)| *start);
    Value::Table(entries.into_iter().map(|(_, entry)| entry).collect())
}

fn toml_node(text: &str, start: usize, value: &DeValue<'_>) -> Node {
    let value = match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or(Value::Other("a number out of range"), Value::Integer),
        DeValue::Float(_) => Value::Other("a fraction"),
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Datetime(_) => Value::Other("a date"),
        DeValue::Array(values) => {
            Value::List(values.iter().map(|value| toml_node(text, value.span().start, value.get_ref())).collect())
        }
        DeValue::Table(table) => toml_table(text, table),
    };
    Node { at: place_at(text, start), value }
}

fn place_at(text: &str, offset: usize) -> Place {
    let before = text.get(..offset.min(text.len())).unwrap_or(text);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() as u64 + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() as u64 + 1;
    Place { line, column }
}

fn place_of(location: serde_saphyr::Location) -> Place {
    Place { line: location.line(), column: location.column() }
}

/// A value of YAML, whatever it is.
struct Yaml(Value);

impl<'de> Deserialize<'de> for Yaml {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(YamlVisitor).map(Yaml)
    }
}

struct YamlVisitor;

impl<'de> Visitor<'de> for YamlVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Flag(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Integer(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(i64::try_from(number).map_or(Value::Other("a number out of range"), Value::Integer))
    }

    fn visit_i128<E>(self, _: i128) -> Result<Value, E> {
        Ok(Value::Other("a number out of range"))
    }

    fn visit_u128<E>(self, _: u128) -> Result<Value, E> {
        Ok(Value::Other("a number out of range"))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Value, E> {
        Ok(Value::Other("a fraction"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_bytes<E>(self, _: &[u8]) -> Result<Value, E> {
        Ok(Value::Other("binary data"))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = access.next_element::<serde_saphyr::Spanned<Yaml>>()? {
            nodes.push(Node { at: place_of(node.referenced), value: node.value.0 });
        }
        Ok(Value::List(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = access.next_key::<serde_saphyr::Spanned<String>>()? {
            let node = access.next_value::<serde_saphyr::Spanned<Yaml>>()?;
            entries.push(Entry {
                key: key.value,
                at: place_of(key.referenced),
                node: Node { at: place_of(node.referenced), value: node.value.0 },
            });
        }
        Ok(Value::Table(entries))
    }
}
