//! P2 over HTTP: every operation of the document that takes a fence, at each of two servers on one database.

use serde_json::{Value, json};

use crate::fleet::Place;
use crate::openapi::Document;
use crate::stale_holders_write_nothing::lost;

/// An item and what is around it.
pub(crate) struct Target {
    pub(crate) item: String,
    pub(crate) other: String,
    pub(crate) edge: String,
    pub(crate) link: String,
    pub(crate) note: String,
}

impl Target {
    /// Gives an item a criterion, an edge, a link and a note, so that there is something for each operation to change.
    pub(crate) fn prepare(place: &Place, item: &str, other: &str) -> Self {
        let web = place.web();
        let brief = json!({ "acceptanceCriteria": ["it works"] });
        web.json("PUT", &format!("/items/{item}/brief"), &brief).with(200);
        let edge = web.post("/edges", &json!({ "from": item, "to": other, "kind": "relates-to" })).with(201);
        let link = json!({ "kind": "pr", "ref": "0", "url": "https://example.com/0" });
        let links = web.post(&format!("/items/{item}/links"), &json!({ "links": [link] })).with(201);
        let kept = json!({ "body": "words", "phase": "work" });
        let note = web.json("PUT", &format!("/items/{item}/notes/kept"), &kept).with(200);
        let id = |found: &Value| found.as_str().unwrap_or_else(|| panic!("no id: {edge} {links} {note}")).to_owned();
        Self {
            item: item.to_owned(),
            other: other.to_owned(),
            edge: id(&edge["id"]),
            link: id(&links["links"][0]),
            note: id(&note["note"]["id"]),
        }
    }

    fn writes(&self, fence: u64) -> Vec<(&'static str, String, Value)> {
        let mut all = self.moves(fence);
        all.extend(self.bulk(fence));
        all.extend(self.own(fence));
        all.extend(self.around(fence));
        all
    }

    fn moves(&self, fence: u64) -> Vec<(&'static str, String, Value)> {
        let path = format!("/items/{}/transitions", self.item);
        let triggers = ["start", "complete", "block", "hold", "resume", "cancel", "reopen"].into_iter();
        triggers.map(|trigger| ("POST", path.clone(), json!({ "trigger": trigger, "fence": fence }))).collect()
    }

    fn bulk(&self, fence: u64) -> [(&'static str, String, Value); 6] {
        let item = &self.item;
        let edge = json!({ "from": self.other, "to": item });
        let note = json!({ "item": item, "key": "late", "body": "words", "phase": "work", "fence": fence });
        [
            ("PATCH", "items", json!({ "items": [{ "item": item, "title": "late", "fence": fence }] })),
            ("POST", "items/patch", json!({ "ids": [item], "patch": { "title": "late", "fence": fence } })),
            ("POST", "items/remove", json!({ "items": [item], "fence": fence })),
            ("POST", "transitions", json!({ "transitions": [{ "item": item, "trigger": "start", "fence": fence }] })),
            ("PUT", "notes", json!({ "notes": [note] })),
            ("POST", "edges", json!({ "edges": [edge], "fence": fence, "fenceOf": item })),
        ]
        .map(|(method, path, body)| (method, format!("/bulk/{path}"), body))
    }

    fn own(&self, fence: u64) -> Vec<(&'static str, String, Value)> {
        let item = &self.item;
        let mut all = vec![("PATCH", format!("/items/{item}"), json!({ "title": "late", "fence": fence }))];
        let parts = [
            ("PUT", "notes/late", json!({ "body": "words", "phase": "work" })),
            ("PUT", "brief", json!({ "objective": "late" })),
            ("PATCH", "brief", json!({ "objective": "late" })),
            ("PUT", "checks", json!({ "checks": [{ "type": "manual", "desc": "look at it" }] })),
            ("POST", "checks", json!({ "checks": [{ "type": "manual", "desc": "look at it" }] })),
            ("POST", "evidence", json!({ "criteria": [{ "id": "c1", "passed": true, "note": "late" }] })),
            ("POST", "comments", json!({ "comment": "late" })),
            ("POST", "links", json!({ "links": [{ "kind": "pr", "ref": "1", "url": "https://example.com/1" }] })),
            ("POST", "questions", json!({ "question": "late?" })),
            ("POST", "finish", json!({ "comment": "late" })),
            ("POST", "submit", json!({ "output": "late" })),
            ("POST", "close-beneath", json!({ "cancel": true })),
            ("POST", "close-tree", json!({ "cancel": true })),
        ];
        all.extend(parts.map(|(method, part, mut body)| {
            body["fence"] = json!(fence);
            (method, format!("/items/{item}/{part}"), body)
        }));
        all
    }

    /// What is beside the item, and its end.
    fn around(&self, fence: u64) -> [(&'static str, String, Value); 6] {
        let Self { item, other, edge, link, note: _ } = self;
        let held = json!({ "from": other, "to": item, "fence": fence, "fenceOf": item });
        let gone = |path: String| ("DELETE", path, Value::Null);
        [
            ("POST", "/edges".to_owned(), held),
            gone(format!("/edges?from={other}&to={item}&fence={fence}&fenceOf={item}")),
            gone(format!("/edges/{edge}?fence={fence}&fenceOf={item}")),
            gone(format!("/links/{link}?fence={fence}")),
            gone(format!("/items/{item}/notes/late?fence={fence}")),
            gone(format!("/items/{item}?fence={fence}")),
        ]
    }
}

/// Asks everything of each of two servers, for a holder whose claim is gone.
pub(crate) fn over_http(place: &Place, target: &Target, fence: u64) {
    let document = Document::read();
    let mut left = document.taking_a_fence();
    for web in [place.web(), place.web()] {
        for (method, path, body) in target.writes(fence) {
            left.remove(&document.meant(method, &path));
            let body = if body.is_null() { None } else { Some(body.to_string()) };
            let ann = [("x-docket-actor", "subagent:ann")];
            let reply = web.send(method, &path, &ann, body.as_deref().map(str::as_bytes));
            // What stands alone has a status of its own; an entry of a list says it inside.
            let listed = path.starts_with("/bulk") && path != "/bulk/edges";
            assert_eq!(reply.status, if listed { 200 } else { 409 }, "{method} {path}: {}", reply.json());
            lost(&reply.json(), &format!("{method} {path}"));
        }
    }
    assert!(left.is_empty(), "these take a fence, and no late holder tried them: {left:?}");
}
