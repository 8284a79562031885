//! Keys over REST: made, listed, rotated and revoked by maintainers, and secrets that are told once.

use docket_tests::web::{Reply, Web};
use serde_json::{Value, json};

use crate::callers::{database, key};

fn send(web: &Web, as_whom: &str, method: &str, path: &str, body: &Value) -> Reply {
    let body = (!body.is_null()).then(|| body.to_string());
    web.send(method, path, &[("authorization", as_whom)], body.as_deref().map(str::as_bytes))
}

fn bearer(shown: &Value) -> String {
    format!("Bearer {}", shown["secret"].as_str().expect("a secret"))
}

#[test]
fn a_maintainer_makes_rotates_and_revokes_keys() {
    let (_folder, database) = database();
    let admin = key(&database, &["--profile", "maintainer", "--name", "admin"]);
    let web = Web::on(&database, |_| {});
    let new = json!({"name": "ci", "profile": "worker", "projects": ["web"], "lastsSeconds": 3600});
    let made = send(&web, &admin, "POST", "/keys", &new).with(201);
    assert_eq!((&made["key"]["name"], &made["key"]["profile"]), (&json!("ci"), &json!("worker")), "{made}");
    let (first, handle) = (bearer(&made), made["key"]["handle"].as_str().expect("a handle").to_owned());
    assert_eq!(send(&web, &first, "GET", "/items", &Value::Null).with(200)["total"], json!(1), "its project alone");
    let listed = send(&web, &admin, "GET", "/keys", &Value::Null);
    let text = String::from_utf8_lossy(&listed.body).into_owned();
    assert!(text.contains(&handle) && !text.contains("secret") && !text.contains("digest"), "{text}");
    assert_eq!(listed.with(200)["keys"].as_array().map(Vec::len), Some(2));
    assert_eq!(send(&web, &admin, "POST", "/keys", &new).reason(409), "duplicate");

    let rotated = send(&web, &admin, "POST", "/keys/ci/rotate", &Value::Null).with(200);
    assert_eq!(rotated["key"]["id"], made["key"]["id"]);
    assert_eq!(send(&web, &first, "POST", "/items", &json!({"title": "x"})).status, 401, "the old secret has ended");
    let second = bearer(&rotated);
    send(&web, &second, "POST", "/items", &json!({"title": "x"})).with(201);

    let id = made["key"]["id"].as_str().expect("an id");
    let revoked = send(&web, &admin, "DELETE", &format!("/keys/{id}"), &Value::Null).with(200);
    assert!(revoked["key"]["revokedAt"].is_string(), "{revoked}");
    assert_eq!(send(&web, &second, "POST", "/items", &json!({"title": "x"})).status, 401);
    assert_eq!(send(&web, &admin, "GET", "/keys", &Value::Null).with(200)["keys"].as_array().map(Vec::len), Some(1));
    let all = send(&web, &admin, "GET", "/keys?all=true", &Value::Null).with(200);
    assert_eq!(all["keys"].as_array().map(Vec::len), Some(2));
    assert_eq!(send(&web, &admin, "DELETE", "/keys/nobody", &Value::Null).reason(404), "not_found");
    for bad in [json!({"profile": "king"}), json!({"name": "x"}), json!({"profile": "viewer", "lastsSeconds": 1})] {
        assert_eq!(send(&web, &admin, "POST", "/keys", &bad).status, 422, "{bad}");
    }
}

#[test]
fn nobody_else_sees_or_makes_keys() {
    let (_folder, database) = database();
    let web = Web::on(&database, |_| {});
    let operator = key(&database, &["--profile", "operator"]);
    let of_one = key(&database, &["--profile", "maintainer", "--project", "web"]);
    let of_item = key(&database, &["--profile", "maintainer", "--item", "WEB-1"]);
    for who in [&operator, &of_one, &of_item] {
        for (method, path, body) in [
            ("GET", "/keys", Value::Null),
            ("POST", "/keys", json!({"profile": "viewer"})),
            ("POST", "/keys/nobody/rotate", Value::Null),
            ("DELETE", "/keys/nobody", Value::Null),
        ] {
            assert_eq!(send(&web, who, method, path, &body).error(403)["code"], json!("FORBIDDEN"), "{method} {path}");
        }
    }
}

#[test]
fn a_secret_is_told_once_and_written_nowhere() {
    let (folder, database) = database();
    let admin = key(&database, &["--profile", "maintainer", "--name", "admin"]);
    let log = folder.path().join("log");
    let web = Web::on(&database, |command| {
        command.env("DOCKET_LOG", "trace").stderr(std::fs::File::create(&log).expect("a file"));
    });
    let body = json!({"name": "ci", "profile": "viewer"}).to_string();
    let again = || {
        let headers = [("authorization", admin.as_str()), ("idempotency-key", "one")];
        web.send("POST", "/keys", &headers, Some(body.as_bytes()))
    };
    let made = again().with(201);
    let secret = made["secret"].as_str().expect("a secret").to_owned();
    let digits = secret.rsplit('_').next().expect("digits");
    let refused = again();
    assert_eq!(refused.reason(422), "request_id_reused", "a retry makes no second key");
    assert!(!String::from_utf8_lossy(&refused.body).contains(digits));
    assert_eq!(send(&web, &admin, "GET", "/keys", &Value::Null).with(200)["keys"].as_array().map(Vec::len), Some(2));
    send(&web, &format!("Bearer {secret}"), "GET", "/items", &Value::Null).with(200);
    let events = send(&web, &admin, "GET", "/events", &Value::Null);
    assert!(!String::from_utf8_lossy(&events.body).contains(digits), "events tell it");
    drop(web);
    for entry in std::fs::read_dir(folder.path()).expect("a folder").flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            let bytes = std::fs::read(entry.path()).expect("a file");
            let found = bytes.windows(digits.len()).any(|window| window == digits.as_bytes());
            assert!(!found, "{} has the secret", entry.path().display());
        }
    }
}
