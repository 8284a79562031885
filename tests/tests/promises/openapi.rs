//! What docs/openapi.json says there is to ask for, so that no experiment can forget an operation.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

const METHODS: [&str; 5] = ["get", "put", "post", "patch", "delete"];

/// A method and an address with names in braces.
pub(crate) type Operation = (String, String);

/// The document as it is checked in.
pub(crate) struct Document(Value);

impl Document {
    pub(crate) fn read() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/openapi.json");
        Self(serde_json::from_slice(&std::fs::read(path).expect("the document")).expect("JSON"))
    }

    /// Every operation.
    pub(crate) fn operations(&self) -> BTreeSet<Operation> {
        self.those(|_| true)
    }

    /// Those that take the fence of a claim, in the address or anywhere in the body.
    pub(crate) fn taking_a_fence(&self) -> BTreeSet<Operation> {
        self.those(|operation| has_parameter(operation, "fence") || self.says_fence(&operation["requestBody"], &[]))
    }

    /// Those that take a name for the request, so that it can be sent again.
    pub(crate) fn retried(&self) -> BTreeSet<Operation> {
        self.those(|operation| has_parameter(operation, "Idempotency-Key"))
    }

    /// The operation that a request means: where several fit, /knowledge/search is no entry.
    pub(crate) fn meant(&self, method: &str, path: &str) -> Operation {
        let path = path.split('?').next().unwrap_or_default();
        let known = self.operations().into_iter().filter(|(known, template)| known == method && fits(template, path));
        let meant = known.min_by_key(|(_, template)| template.matches('{').count());
        meant.unwrap_or_else(|| panic!("{method} {path} is no operation of the document"))
    }

    fn those(&self, wanted: impl Fn(&Value) -> bool) -> BTreeSet<Operation> {
        let mut found = BTreeSet::new();
        for (path, item) in self.0["paths"].as_object().expect("paths") {
            let methods = METHODS.into_iter().filter(|method| item.get(method).is_some_and(&wanted));
            found.extend(methods.map(|method| (method.to_uppercase(), path.clone())));
        }
        found
    }

    /// Whether a schema has a field of this name, itself or in one that it refers to; `above` are those it was reached by.
    fn says_fence(&self, schema: &Value, above: &[&str]) -> bool {
        match schema {
            Value::Object(fields) => {
                if let Some(name) = fields.get("$ref").and_then(Value::as_str).and_then(|name| name.rsplit('/').next())
                {
                    let seen = above.contains(&name);
                    return !seen
                        && self.says_fence(&self.0["components"]["schemas"][name], &[above, &[name]].concat());
                }
                let own = fields.get("properties").is_some_and(|properties| properties.get("fence").is_some());
                own || fields.values().any(|value| self.says_fence(value, above))
            }
            Value::Array(values) => values.iter().any(|value| self.says_fence(value, above)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }
}

fn fits(template: &str, path: &str) -> bool {
    let (wanted, given): (Vec<&str>, Vec<&str>) = (template.split('/').collect(), path.split('/').collect());
    wanted.len() == given.len()
        && wanted.iter().zip(&given).all(|(wanted, given)| wanted.starts_with('{') || wanted == given)
}

fn has_parameter(operation: &Value, name: &str) -> bool {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    parameters.into_iter().any(|parameter| parameter["name"] == name)
}
