//! The OpenAPI document: made from the same annotations as the routes, with what all of them have in common added once.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::OnceLock;

use http::Method;
use serde_json::{Map, Value, json};
use utoipa::openapi::{InfoBuilder, LicenseBuilder, OpenApiBuilder};

use crate::gate::{ACTOR, PROOF, WORK_TREE};
use crate::limits::PROOF_BYTES;
use crate::routes::{BASE, resources};

/// Every status that a failure may have, and when.
const FAILURES: [(&str, &str); 13] = [
    ("400", "Not JSON, not UTF-8, a name twice, or a header that cannot be read"),
    ("401", "Nobody we know: send one good key or token in `Authorization`"),
    ("403", "Not allowed, or a fence that was never given out; or a host or origin that is not ours"),
    ("404", "There is no such thing, or the caller may not see it"),
    ("408", "The body did not arrive in time"),
    ("409", "A conflict with the present state, or refused by a rule: every refusal says what would clear it"),
    ("412", "`If-Match` does not hold any more: read the item again"),
    ("413", "The body is too large"),
    ("415", "The body is not of the type that is taken"),
    ("422", "A field is missing, unknown or has a bad value; or an `Idempotency-Key` that stands for another request"),
    ("429", "Too much asked for: wait as long as `Retry-After` says"),
    ("503", "Over capacity, or the store is away: try again after `Retry-After`"),
    ("507", "The disk is full: reads go on meanwhile"),
];

const TAGS: [(&str, &str); 18] = [
    ("items", "Work items: the one type of node, in a tree and a graph"),
    ("trees", "Whole trees at once"),
    ("queue", "Ready work, what is not ready, and why"),
    ("claims", "Leases: at most one live claim on an item"),
    ("sessions", "Attempts at items: begun, heard of, ended, and how they fare"),
    ("contract", "Briefs, acceptance criteria and how far they are shown"),
    ("checks", "What is run, attested or looked up before an item counts as done, and the runs of it"),
    ("people", "Questions, comments, links, and what waits for a person"),
    ("knowledge", "What was learned, and what answers a question"),
    ("notes", "Keyed documents on items, which gates may ask for"),
    ("edges", "What waits for what"),
    ("events", "What was done, by whom, as pages and live"),
    ("projects", "Named sets of items with rules of their own"),
    ("types", "What notes a type of item asks for, and workflows"),
    ("bulk", "Many at once"),
    ("exchange", "Everything out and in"),
    ("keys", "Keys that callers are known by, for maintainers"),
    ("server", "The server and its caller"),
];

const ABOUT: &str = "One graph of work items, gates that must be passed, claims that cannot be held twice.\n\n\
An item is named by its UUID, its key such as `DEFA-1`, or 4 or more hex digits of its UUID. Any write may carry an \
`Idempotency-Key`: sent again with the same content within 24 hours it takes effect once and answers the same. Unknown fields \
are refused, and so is `If-Match` where it is not listed. Nulls are left out of answers. Failures have one form, the `Failure` below; program against `code` and `reason`.";

/// The document.
pub fn document() -> &'static Value {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    DOCUMENT.get_or_init(build)
}

/// Whether a write at this address, as the document names it, is done under a condition where one is sent.
pub(crate) fn takes_condition(method: &Method, path: &str) -> bool {
    static CONDITIONS: OnceLock<BTreeSet<(String, String)>> = OnceLock::new();
    let conditions = CONDITIONS.get_or_init(|| {
        let paths = document()["paths"].as_object();
        let operations = paths.into_iter().flatten().flat_map(|(path, item)| {
            let conditional = item.as_object().into_iter().flatten().filter(|(_, operation)| is_conditional(operation));
            conditional.map(|(method, _)| (method.to_uppercase(), path.clone()))
        });
        operations.collect()
    });
    conditions.contains(&(method.to_string(), path.to_owned()))
}

fn is_conditional(operation: &Value) -> bool {
    let parameters = operation["parameters"].as_array();
    parameters.is_some_and(|parameters| parameters.iter().any(|parameter| parameter["name"] == "If-Match"))
}

fn build() -> Value {
    let (_, resources) = resources().split_for_parts();
    let info = InfoBuilder::new()
        .title("Docket")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(ABOUT))
        .license(Some(LicenseBuilder::new().name("MIT OR Apache-2.0").build()))
        .build();
    let mut api = OpenApiBuilder::new().info(info).build();
    api.paths = resources.paths;
    api.components = resources.components;
    let mut document = serde_json::to_value(&api).unwrap_or_default();
    document["servers"] = json!([{ "url": BASE }]);
    document["tags"] = TAGS.iter().map(|(name, about)| json!({ "name": name, "description": about })).collect();
    document["security"] = json!([{}, { "bearer": [] }]);
    add_components(&mut document);
    add_to_operations(&mut document);
    document
}

/// The envelope of failures, and how callers are known.
fn add_components(document: &mut Value) {
    let error = <docket_core::Error as utoipa::PartialSchema>::schema();
    let mut error = serde_json::to_value(&error).unwrap_or_default();
    error["properties"]["requestId"] =
        json!({ "type": "string", "description": "The request's name in the server's log, also in `x-request-id`" });
    if let Some(required) = error["required"].as_array_mut() {
        required.push(json!("requestId"));
    }
    let mut schemas: Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::schema::Schema>)> = Vec::new();
    <docket_core::Error as utoipa::ToSchema>::schemas(&mut schemas);
    add_parameters(&mut schemas);
    for (name, schema) in schemas {
        document["components"]["schemas"][name] = serde_json::to_value(&schema).unwrap_or_default();
    }
    document["components"]["schemas"]["Failure"] = json!({
        "type": "object",
        "description": "What every failed request is answered with.",
        "properties": { "error": error },
        "required": ["error"],
    });
    document["components"]["securitySchemes"] = json!({
        "bearer": { "type": "http", "scheme": "bearer", "description": "An API key or a token; none on loopback without keys" },
    });
}

/// What parameters are made of: only bodies bring their parts along.
fn add_parameters(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::schema::Schema>)>) {
    use docket_core::model::{
        EdgeId, EdgeKind, EntryId, Health, ItemRef, LinkId, Name, Priority, QuestionId, Role, SessionId, SessionState,
        Slug, Source, Tag, Timestamp, Verb,
    };
    use docket_core::store::{ClaimState, Order, SortBy};

    use crate::routes::{Include, Reading};
    macro_rules! add {
        ($($name:ty),* $(,)?) => {
            $(schemas.push((
                <$name as utoipa::ToSchema>::name().into_owned(),
                <$name as utoipa::PartialSchema>::schema(),
            ));)*
        };
    }
    add!(
        ClaimState, EdgeId, EdgeKind, EntryId, ItemRef, LinkId, Name, Order, Priority, QuestionId, Role, Slug, SortBy,
        Source, Tag, Timestamp, Verb
    );
    add!(Health, Include, Reading, SessionId, SessionState);
}

fn add_to_operations(document: &mut Value) {
    let Some(paths) = document["paths"].as_object_mut() else { return };
    for (path, item) in paths.iter_mut() {
        let Some(operations) = item.as_object_mut() else { continue };
        for (method, operation) in operations.iter_mut().filter(|(method, _)| is_method(method)) {
            let name = operation["operationId"].as_str().unwrap_or_default().to_owned();
            operation["operationId"] = json!(operation_id(method, path, &name));
            let writes = method != "get";
            let conditional = is_conditional(operation);
            if writes {
                match operation["parameters"].as_array_mut() {
                    Some(parameters) => parameters.extend(headers()),
                    None => operation["parameters"] = headers().into(),
                }
            }
            if let Some(responses) = operation["responses"].as_object_mut() {
                add_failures(responses, writes, conditional);
            }
            let sample = sample(method, path, operation);
            operation["x-codeSamples"] = json!([{ "lang": "Shell", "source": sample }]);
        }
    }
}

/// The headers that every write may carry.
fn headers() -> Vec<Value> {
    let header = |name: &str, about: &str, schema: Value| json!({ "name": name, "in": "header", "required": false, "description": about, "schema": schema });
    vec![
        header(
            "Idempotency-Key",
            "A name for this request, best a UUID: sent again, it takes effect once",
            json!({ "type": "string", "minLength": 1, "maxLength": 255 }),
        ),
        header(
            ACTOR.as_str(),
            "Who acts, as `KIND:NAME`: recorded beside who calls, and who holds what is claimed",
            json!({ "type": "string", "pattern": "^(user|orchestrator|subagent|external|agent|human):.+$" }),
        ),
        header(
            PROOF.as_str(),
            "A signed token that shows it; where proofs are checked, its `sub` is who acts",
            json!({ "type": "string", "maxLength": PROOF_BYTES }),
        ),
        header(
            WORK_TREE.as_str(),
            "The work tree the caller is in, by the name that its runner gives it: checks are made there",
            json!({ "type": "string", "minLength": 1, "maxLength": docket_core::limits::NAME_BYTES }),
        ),
    ]
}

fn add_failures(responses: &mut Map<String, Value>, writes: bool, conditional: bool) {
    for (status, about) in FAILURES {
        if !writes && matches!(status, "408" | "413" | "415" | "507") || !conditional && status == "412" {
            continue;
        }
        responses.entry(status).or_insert_with(|| {
            json!({
                "description": about,
                "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Failure" } } },
            })
        });
    }
}

fn is_method(name: &str) -> bool {
    matches!(name, "get" | "put" | "post" | "patch" | "delete")
}

/// A name that is unlike all others: handlers of different files share names.
fn operation_id(method: &str, path: &str, name: &str) -> String {
    let mut id = method.to_owned();
    for part in path.split(['/', '-']).filter(|part| !part.is_empty()) {
        let plain = part.trim_matches(['{', '}']);
        let mut letters = plain.chars();
        id.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        id.push_str(letters.as_str());
    }
    if id == method { name.to_owned() } else { id }
}

/// What can be pasted into a shell.
fn sample(method: &str, path: &str, operation: &Value) -> String {
    let mut address = path.replace("{id}", "DEFA-1").replace("{key}", "plan").replace("{slug}", "default");
    address = address.replace("{edge}", "0199f3a2-7c1e-7d3b-8f00-2a4b5c6d7e8f");
    address =
        address.replace("{question}", "01K7SA4Z0C8R5QY3M2B1N0V9XT").replace("{link}", "01K7SA4Z0C8R5QY3M2B1N0V9XT");
    address = address
        .replace("{entry}", "01K7SA4Z0C8R5QY3M2B1N0V9XT")
        .replace("/knowledge/plan", "/knowledge/01K7SA4Z0C8R5QY3M2B1N0V9XT")
        .replace("/keys/plan", "/keys/ci");
    address = address.replace("{session}", "01K7SA4Z0C8R5QY3M2B1N0V9XT");
    address = address.replace("{run}", "01K7SA4Z0C8R5QY3M2B1N0V9XT").replace("{index}", "0");
    address = address.replace("{name}", if path.starts_with("/workflows") { "standard" } else { "default" });
    let mut query: Vec<String> = Vec::new();
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        if parameter["in"] == "query" && parameter["required"] == true {
            let name = parameter["name"].as_str().unwrap_or_default();
            let example = parameter["example"].as_str().or(parameter["schema"]["example"].as_str());
            let value = match (name, example) {
                ("from", None) => "DEFA-1",
                ("to", None) => "DEFA-3",
                (_, example) => example.unwrap_or("x"),
            };
            query.push(format!("{name}={value}"));
        }
    }
    if !query.is_empty() {
        address = format!("{address}?{}", query.join("&"));
    }
    let verb = if method == "get" { String::new() } else { format!(" -X {}", method.to_uppercase()) };
    let mut text = format!("curl -s{verb} 'http://127.0.0.1:7420{BASE}{address}'");
    if let Some(content) = operation["requestBody"]["content"].as_object()
        && let Some((kind, content)) = content.iter().next()
    {
        let body = match &content["example"] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        // Writing to a string does not fail.
        _ = write!(text, " \\\n  -H 'content-type: {kind}' \\\n  -d '{body}'");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operations() -> Vec<(String, String, Value)> {
        let paths = document()["paths"].as_object().expect("paths");
        let all = paths.iter().flat_map(|(path, item)| {
            let operations = item.as_object().expect("a path").iter().filter(|(method, _)| is_method(method));
            operations.map(|(method, operation)| (path.clone(), method.clone(), operation.clone()))
        });
        all.collect()
    }

    #[test]
    fn every_operation_says_what_it_is_for_and_how_it_fails() {
        let mut names = BTreeSet::new();
        let all = operations();
        assert!(all.len() >= 50, "{} operations", all.len());
        for (path, method, operation) in all {
            let at = format!("{method} {path}");
            assert!(operation["summary"].as_str().is_some_and(|summary| summary.len() > 5), "{at}: no summary");
            assert!(names.insert(operation["operationId"].as_str().expect("an id").to_owned()), "{at}: a name twice");
            for status in ["401", "422", "503"] {
                assert_eq!(
                    operation["responses"][status]["content"]["application/json"]["schema"]["$ref"],
                    "#/components/schemas/Failure",
                    "{at}"
                );
            }
            if let Some(content) = operation["requestBody"]["content"].as_object() {
                assert!(content.values().all(|content| !content["example"].is_null()), "{at}: no example");
            }
        }
    }

    /// Two of one name in one place would be one that clients read twice.
    #[test]
    fn no_operation_has_a_parameter_twice() {
        for (path, method, operation) in operations() {
            let mut known = BTreeSet::new();
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let named = (parameter["in"].to_string(), parameter["name"].to_string().to_lowercase());
                assert!(known.insert(named), "{method} {path}: {} is there twice", parameter["name"]);
            }
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        fn references(value: &Value, found: &mut BTreeSet<String>) {
            match value {
                Value::Object(fields) => {
                    if let Some(Value::String(to)) = fields.get("$ref") {
                        found.insert(to.clone());
                    }
                    fields.values().for_each(|inner| references(inner, found));
                }
                Value::Array(values) => values.iter().for_each(|inner| references(inner, found)),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
        let mut found = BTreeSet::new();
        references(document(), &mut found);
        for reference in found {
            let pointer = reference.trim_start_matches('#');
            assert!(document().pointer(pointer).is_some(), "{reference} leads nowhere");
        }
        assert_eq!(document()["openapi"].as_str().map(|version| version.starts_with("3.1")), Some(true));
    }
}
