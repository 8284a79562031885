//! Limits that an operator has lowered in `docket.toml`: held to by every way in, and never raised.

use docket_tests::web::{Web, command};
use serde_json::{Value, json};

const TOML: &str = "[limits]\ntitle_bytes = 20\ntext_bytes = 40\nbatch = 3\ntags = 2\npage = 2\nlease_seconds = 60\n\
                    wait_ms = 200\n\n[server]\nbody_bytes = 4096\nheader_bytes = 4096\n";

fn folder() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("work.db");
    let made = command(&database).args(["--project", "web", "init", "--prefix", "WEB"]).output().expect("it runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    (folder, database)
}

fn on(folder: &tempfile::TempDir, database: &std::path::Path) -> Web {
    std::fs::write(folder.path().join("docket.toml"), TOML).expect("a file");
    let place = folder.path().to_owned();
    Web::on(database, |serve| {
        serve.current_dir(place);
    })
}

#[test]
fn what_is_beyond_a_lowered_limit_is_refused_by_name_and_number() {
    let (folder, database) = folder();
    let web = on(&folder, &database);
    let new = |fields: Value| {
        let mut body = json!({"title": "short", "project": "web"});
        body.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
        web.post("/items", &body)
    };
    for (fields, reason, number) in [
        (json!({"title": "x".repeat(21)}), "too_long", "20"),
        (json!({"description": "x".repeat(41)}), "too_long", "40"),
        (json!({"tags": ["a", "b", "c"]}), "too_many", "2"),
    ] {
        let refused = new(fields.clone());
        assert_eq!(refused.reason(422), reason, "{fields}");
        let message = refused.error(422)["message"].as_str().unwrap_or_default().to_owned();
        assert!(message.contains(number), "{message}");
    }
    for number in 1..=3 {
        new(json!({"title": format!("{number}{}", "x".repeat(19)), "tags": ["a", "b"]})).with(201);
    }
    assert_eq!(web.send("PUT", "/items/WEB-1/claim", &[], Some(br#"{"ttlSeconds":61}"#)).reason(422), "bad_ttl");
    let held = web.send("PUT", "/items/WEB-1/claim", &[], Some(b"{}")).with(200);
    assert!(held.to_string().contains("\"ttlSeconds\":60"), "{held}");
    let many: Vec<Value> = (1..=4).map(|number| json!({"title": number.to_string()})).collect();
    let refused = web.post("/bulk/items", &json!({"items": many, "project": "web"}));
    assert_eq!(refused.reason(422), "batch_too_large");
    assert!(refused.error(422)["message"].to_string().contains('3'), "{refused:?}");
    // A page is shorter, and says how to go on.
    let page = web.get("/items?limit=50").with(200);
    assert_eq!(page["items"].as_array().map(Vec::len), Some(2), "{page}");
    let rest = web.get(&format!("/items?limit=50&cursor={}", page["nextCursor"].as_str().expect("a cursor"))).with(200);
    assert_eq!(rest["items"].as_array().map(Vec::len), Some(1), "{rest}");
    // Somebody who wants to wait for long is answered sooner.
    let begun = std::time::Instant::now();
    let after = web.get("/events?newestFirst=true&limit=1").with(200)["cursor"].clone();
    web.get(&format!("/events?after={after}&waitMs=30000")).with(200);
    assert!(begun.elapsed() < std::time::Duration::from_secs(10), "{:?}", begun.elapsed());
    let large = json!({"title": "short", "project": "web", "description": "x".repeat(5000)});
    assert_eq!(web.post("/items", &large).status, 413);
    let long = "x".repeat(5000);
    assert_eq!(web.send("GET", "/items", &[("x-long", &long)], None).status, 431);
    // The command line reads the same file.
    let mut add = command(&database);
    add.current_dir(folder.path()).args(["--project", "web", "item", "add", &"x".repeat(21)]);
    let told = add.output().expect("it runs");
    assert_eq!(told.status.code(), Some(2), "{told:?}");
    assert!(String::from_utf8_lossy(&told.stderr).contains("at most 20 bytes"), "{told:?}");
}

#[test]
fn none_is_raised() {
    let (folder, database) = folder();
    for (name, most) in [
        ("title_bytes", 1024),
        ("text_bytes", 262_144),
        ("batch", 200),
        ("tags", 50),
        ("page", 200),
        ("lease_seconds", 86_400),
        ("wait_ms", 60_000),
    ] {
        for (number, said) in [(most + 1, "lowered and not raised"), (0, "from 1"), (most, "")] {
            std::fs::write(folder.path().join("docket.toml"), format!("[limits]\n{name} = {number}\n"))
                .expect("a file");
            let told = command(&database).current_dir(folder.path()).args(["item", "list"]).output().expect("it runs");
            let words = String::from_utf8_lossy(&told.stderr);
            if number == most {
                assert!(told.status.success(), "{name} = {number}: {words}");
                continue;
            }
            assert_eq!(told.status.code(), Some(3), "{name} = {number}: {words}");
            assert!(words.contains("docket.toml:2:") && words.contains(said), "{words}");
            assert!(words.contains(&most.to_string()), "{words}");
        }
    }
}
