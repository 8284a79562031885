//! Keys of callers: made, shown once, listed, rotated and revoked.

use serde_json::json;

use crate::desk::Desk;

/// The secret's part of a key.
fn secret(shown: &serde_json::Value) -> String {
    shown["secret"].as_str().expect("a secret").to_owned()
}

#[test]
fn a_key_is_shown_once_and_kept_as_a_hash() {
    let desk = Desk::new();
    let shown = desk.json(&["key", "create", "--profile", "worker", "--name", "ci", "--expires", "30d"]);
    let key = secret(&shown);
    let (handle, digits) = (&key[..12], &key[13..]);
    assert!(key.starts_with("dkt_") && digits.len() == 64, "{key}");
    assert_eq!(shown["key"]["profile"], json!("worker"));
    let listed = desk.json(&["key", "list"]);
    assert_eq!(listed["keys"][0]["name"], json!("ci"));
    assert_eq!(handle, format!("dkt_{}", listed["keys"][0]["handle"].as_str().expect("a handle")));
    assert!(listed["keys"][0]["expiresAt"].is_string());
    let told = [desk.ok(&["key", "list"]), listed.to_string(), desk.ok(&["--json", "export"]), events(&desk)].concat();
    assert!(!told.contains(digits), "the secret is told again");
    let rows = std::fs::read(desk.database()).expect("the database");
    let log = std::fs::read(desk.file(".docket/docket.db-wal")).unwrap_or_default();
    let holds = |bytes: &[u8]| bytes.windows(64).any(|part| part == digits.as_bytes());
    assert!(!holds(&rows) && !holds(&log), "the secret is stored");
    let table = desk.ok(&["key", "list"]);
    assert!(table.contains("ci") && table.contains(handle) && table.contains("everything"), "{table}");
}

fn events(desk: &Desk) -> String {
    let out = desk.run(&["--json", "events", "--limit", "200"]);
    out.out + &out.err
}

#[test]
fn a_key_is_limited_to_projects_or_to_an_item() {
    let desk = Desk::new();
    desk.ok(&["project", "set", "api"]);
    let slug = desk.json(&["project", "list"])[1]["slug"].as_str().expect("a slug").to_owned();
    let both = desk.json(&["key", "create", "--profile", "viewer", "--project", "api", "--project", &slug]);
    assert_eq!(both["key"]["projects"].as_array().map(Vec::len), Some(2), "{both}");
    let one = desk.json(&["key", "create", "--profile", "viewer", "--project", "api"]);
    assert_eq!(one["key"]["projects"].as_array().map(Vec::len), Some(1), "{one}");
    let item = desk.json(&["--project", &slug, "item", "add", "the one"])["key"].as_str().expect("a key").to_owned();
    let narrow = desk.json(&["key", "create", "--profile", "worker", "--item", &item]);
    assert!(narrow["key"]["item"].is_string() && narrow["key"]["projects"].as_array().map(Vec::len) == Some(1));
    assert_eq!(
        desk.error(2, &["key", "create", "--profile", "worker", "--item", &item, "--project", "api"])["reason"],
        json!("other_project")
    );
    assert_eq!(
        desk.error(2, &["key", "create", "--profile", "worker", "--project", "nowhere"])["code"],
        json!("NOT_FOUND")
    );
    assert_eq!(desk.error(2, &["key", "create", "--profile", "worker", "--item", "W-999"])["code"], json!("NOT_FOUND"));
}

#[test]
fn keys_are_rotated_and_revoked_by_name_handle_or_id() {
    let desk = Desk::new();
    let made = desk.json(&["key", "create", "--profile", "worker", "--name", "ci"]);
    let rotated = desk.json(&["key", "rotate", "ci"]);
    assert_eq!(made["key"]["id"], rotated["key"]["id"], "the same key");
    assert_ne!(secret(&made), secret(&rotated));
    assert_eq!(desk.json(&["key", "list"])["keys"].as_array().map(Vec::len), Some(1));
    let handle = &secret(&rotated)[..12];
    assert!(desk.json(&["key", "revoke", handle])["key"]["revokedAt"].is_string());
    assert!(desk.json(&["key", "revoke", "ci"])["key"]["revokedAt"].is_string(), "once is enough");
    assert_eq!(desk.json(&["key", "list"]), json!({ "keys": [] }));
    assert_eq!(desk.json(&["key", "list", "--all"])["keys"].as_array().map(Vec::len), Some(1));
    assert_eq!(desk.error(5, &["key", "rotate", "ci"])["reason"], json!("key_revoked"));
    assert_eq!(desk.error(2, &["key", "revoke", "nobody"])["code"], json!("NOT_FOUND"));
    desk.json(&["key", "create", "--profile", "worker", "--name", "ci"]);
    assert_eq!(desk.error(5, &["key", "create", "--profile", "viewer", "--name", "ci"])["reason"], json!("duplicate"));
}

#[test]
fn what_is_malformed_makes_no_key() {
    let desk = Desk::new();
    for arguments in [
        &["--profile", "root"][..],
        &["--profile", "worker", "--expires", "soon"],
        &["--profile", "worker", "--expires", "1s"],
        &["--profile", "worker", "--expires", "99999d"],
        &["--profile", "worker", "--expires", "-1d"],
        &["--profile", "worker", "--name", ""],
        &["--profile", "worker", "--item", "../x"],
        &[],
    ] {
        let arguments: Vec<&str> = ["key", "create"].iter().chain(arguments).copied().collect();
        desk.error(2, &arguments);
    }
    assert_eq!(desk.json(&["key", "list", "--all"]), json!({ "keys": [] }));
}

#[test]
fn a_request_sent_again_makes_no_second_key() {
    let desk = Desk::new();
    let arguments = ["--request-id", "once", "key", "create", "--profile", "worker", "--name", "ci"];
    desk.json(&arguments);
    assert_eq!(desk.error(5, &arguments)["reason"], json!("request_id_reused"));
    assert_eq!(desk.json(&["key", "list"])["keys"].as_array().map(Vec::len), Some(1));
}

#[test]
fn keys_leave_a_sound_database() {
    let desk = Desk::new();
    desk.ok(&["key", "create", "--profile", "worker", "--name", "ci"]);
    desk.ok(&["key", "revoke", "ci"]);
    let told = desk.ok(&["doctor"]);
    assert!(told.contains("nothing is wrong"), "{told}");
}
