//! What the claims of a token limit its holder to, through the real server: by REST and by MCP, on each store.

use docket_tests::postgres::Database;
use docket_tests::web::{Reply, Web, command_on};
use serde_json::{Value, json};

use crate::server::{KeyServer, Mood};
use crate::sign::{Signer, claims, set};

/// A server with an item in each of two projects, and two in the first.
struct Site {
    web: Web,
    signer: Signer,
    /// The ids of the two in `web`, and of the one in `api`.
    own: String,
    beside: String,
    other: String,
    _folder: tempfile::TempDir,
}

impl Site {
    async fn new(word: impl FnOnce(&std::path::Path) -> String, all_projects: bool) -> Self {
        let signer = Signer::new("k1");
        let keys = KeyServer::start(Mood::Body(set(&[&signer]))).await;
        let folder = tempfile::tempdir().expect("a folder");
        let word = word(folder.path());
        let run = |words: &[&str]| -> Value {
            let out = command_on(&word, folder.path()).arg("--json").args(words).output().expect("it runs");
            assert!(out.status.success(), "{words:?}: {}", String::from_utf8_lossy(&out.stderr));
            serde_json::from_slice(&out.stdout).expect("JSON")
        };
        run(&["--project", "web", "init", "--prefix", "WEB"]);
        run(&["project", "set", "api", "--prefix", "API"]);
        let add = |project: &str, title: &str| {
            let made = run(&["--project", project, "item", "add", title]);
            made["item"]["id"].as_str().unwrap_or_else(|| panic!("no id: {made}")).to_owned()
        };
        let (own, beside, other) = (add("web", "Own"), add("web", "Beside"), add("api", "Other"));
        let toml = format!(
            "[identity.tokens]\njwks_uri = \"{}/keys\"\nissuer = \"https://issuer\"\naudience = \"docket\"\n\
             all_projects = {all_projects}\n",
            keys.address
        );
        std::fs::write(folder.path().join("docket.toml"), toml).expect("docket.toml");
        let web = Web::serving(&word, folder.path(), |_| {});
        Self { web, signer, own, beside, other, _folder: folder }
    }

    fn token(&self, changes: Value) -> String {
        format!("Bearer {}", self.signer.sign(&claims(changes)))
    }

    fn ask(&self, token: &str, method: &str, path: &str, body: &Value) -> Reply {
        let body = (!body.is_null()).then(|| body.to_string());
        self.web.send(method, path, &[("authorization", token)], body.as_deref().map(str::as_bytes))
    }

    fn read(&self, token: &str, path: &str) -> Reply {
        self.ask(token, "GET", path, &Value::Null)
    }

    /// The titles of the items that are seen, by REST and by MCP alike.
    fn seen(&self, token: &str) -> Vec<&'static str> {
        let listed = self.read(token, "/items").with(200);
        let rows = listed["items"].as_array().expect("items");
        let known = [(&self.beside, "Beside"), (&self.other, "Other"), (&self.own, "Own")];
        let by_rest = known.iter().filter(|(id, _)| rows.iter().any(|row| row["id"] == json!(id)));
        let by_rest: Vec<&str> = by_rest.map(|(_, title)| *title).collect();
        let by_mcp = known.iter().filter(|(id, title)| {
            let got = self.web.tool("docket", &[("authorization", token)], "get", &json!({ "id": id }));
            assert_eq!(got.content.to_string().contains(title), !got.is_error, "{}", got.content);
            assert!(!got.is_error || got.content["error"]["code"] == json!("NOT_FOUND"), "{}", got.content);
            !got.is_error
        });
        assert_eq!(by_rest, by_mcp.map(|(_, title)| *title).collect::<Vec<_>>());
        by_rest
    }
}

fn projects_limit_what_is_seen_and_changed(site: &Site) {
    let maintainer =
        |projects: Value| site.token(json!({ "docket_profile": "maintainer", "docket_projects": projects }));
    assert_eq!(site.seen(&maintainer(json!(["web"]))), ["Beside", "Own"]);
    assert_eq!(site.seen(&maintainer(json!("api"))), ["Other"]);
    assert_eq!(site.seen(&maintainer(json!("web api"))), ["Beside", "Other", "Own"]);
    assert_eq!(site.seen(&maintainer(json!([]))), Vec::<&str>::new());
    assert_eq!(site.seen(&maintainer(json!(["nowhere"]))), Vec::<&str>::new(), "one that is not there is none");
    let web = maintainer(json!(["web"]));
    site.ask(&web, "POST", "/items", &json!({ "title": "More", "project": "web" })).with(201);
    site.ask(&web, "PATCH", &format!("/items/{}", site.own), &json!({ "title": "Own" })).with(200);
    // What lies outside is as if it were not there, whoever asks how.
    for (method, body) in [("GET", Value::Null), ("PATCH", json!({ "title": "x" })), ("DELETE", Value::Null)] {
        let there = site.ask(&web, method, &format!("/items/{}", site.other), &body);
        let nowhere = site.ask(&web, method, "/items/01890000-0000-7000-8000-000000000000", &body);
        assert_eq!(there.reason(404), nowhere.reason(404), "{method}");
    }
    assert_eq!(site.ask(&web, "POST", "/items", &json!({ "title": "x", "project": "api" })).reason(404), "not_found");
    let hidden = json!({ "items": [{ "id": site.other, "title": "x" }] });
    let refused = site.web.tool("docket", &[("authorization", &web)], "edit", &hidden).err();
    assert_eq!(refused["code"], json!("NOT_FOUND"), "{refused}");
    // What concerns the whole database is nobody's who is limited.
    assert_eq!(site.read(&web, "/keys").reason(403), "out_of_scope");
}

fn an_item_limits_what_is_changed(site: &Site) {
    for named in [site.own.clone(), format!("task:{}", site.own)] {
        let worker = |more: Value| {
            let mut all = json!({ "docket_profile": "worker", "docket_item": named });
            for (name, value) in more.as_object().into_iter().flatten() {
                all[name] = value.clone();
            }
            site.token(all)
        };
        let token = worker(json!({ "docket_projects": ["web", "api"] }));
        assert!(site.seen(&token).contains(&"Beside"), "its project is read");
        assert_eq!(site.read(&token, &format!("/items/{}", site.other)).reason(404), "not_found", "and no other");
        let note = json!({ "body": "words", "phase": "queue" });
        site.ask(&token, "PUT", &format!("/items/{}/notes/n", site.own), &note).with(200);
        let beside = site.ask(&token, "PUT", &format!("/items/{}/notes/n", site.beside), &note);
        assert_eq!(beside.reason(403), "out_of_scope");
        let annotate = |id: &str| {
            let arguments = json!({ "id": id, "notes": [{ "key": "m", "body": "words" }] });
            site.web.tool("docket", &[("authorization", &token)], "annotate", &arguments)
        };
        annotate(&site.own).ok();
        assert_eq!(annotate(&site.beside).err()["reason"], json!("out_of_scope"));
        assert_eq!(site.ask(&token, "POST", "/items", &json!({ "title": "x", "project": "web" })).status, 403);
        let outside = worker(json!({ "docket_projects": ["api"] }));
        assert_eq!(site.seen(&outside), Vec::<&str>::new(), "an item outside of its projects is nothing");
    }
}

fn claims_that_mean_nothing_let_nobody_in(site: &Site) {
    for flawed in [
        json!({ "docket_projects": 3 }),
        json!({ "docket_projects": { "web": true } }),
        json!({ "docket_projects": null, "docket_item": "WEB-1" }),
        json!({ "docket_item": "task:" }),
        json!({ "docket_item": "01890000-0000-7000-8000-000000000000" }),
    ] {
        let mut all = json!({ "docket_profile": "maintainer" });
        for (name, value) in flawed.as_object().into_iter().flatten() {
            all[name] = value.clone();
        }
        assert_eq!(site.read(&site.token(all), "/items").reason(401), "proof_rejected", "{flawed}");
    }
}

fn all_of_it(site: &Site) {
    assert_eq!(site.seen(&site.token(json!({ "docket_profile": "viewer" }))), Vec::<&str>::new(), "none is none");
    an_item_limits_what_is_changed(site);
    claims_that_mean_nothing_let_nobody_in(site);
    projects_limit_what_is_seen_and_changed(site);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn claims_limit_what_the_holder_of_a_token_sees_and_changes() {
    all_of_it(&Site::new(|folder| format!("sqlite:{}", folder.join("work.db").display()), false).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn they_do_on_a_server() {
    let database = Database::empty();
    let word = database.url();
    all_of_it(&Site::new(|_| word, false).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_token_without_the_claim_is_for_all_projects_where_that_is_said() {
    let site = Site::new(|folder| format!("sqlite:{}", folder.join("work.db").display()), true).await;
    assert_eq!(site.seen(&site.token(json!({ "docket_profile": "viewer" }))), ["Beside", "Other", "Own"]);
    let none = site.token(json!({ "docket_profile": "viewer", "docket_projects": [] }));
    assert_eq!(site.seen(&none), Vec::<&str>::new(), "an empty claim is one");
}
