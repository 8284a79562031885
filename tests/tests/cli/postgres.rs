//! The same commands on a Postgres server.

use docket_tests::mcp::Server;
use docket_tests::postgres::Database;
use serde_json::json;

use crate::desk::Desk;

/// A folder, and an empty database on the server.
struct Office {
    desk: Desk,
    database: Database,
    url: String,
}

impl Office {
    fn bare() -> Self {
        let database = Database::empty();
        let url = database.url();
        Self { desk: Desk::bare(), database, url }
    }

    fn new() -> Self {
        let office = Self::bare();
        let ready = office.json(&["init", "--surface", "task-orchestrator", "--prefix", "W", "--name", "Work"]);
        assert_eq!(ready["created"], json!(true));
        office
    }

    fn words<'w>(&'w self, words: &[&'w str]) -> Vec<&'w str> {
        ["--db", self.url.as_str()].into_iter().chain(words.iter().copied()).collect()
    }

    fn ok(&self, words: &[&str]) -> String {
        self.desk.ok(&self.words(words))
    }

    fn json(&self, words: &[&str]) -> serde_json::Value {
        self.desk.json(&self.words(words))
    }

    fn fails(&self, code: i32, words: &[&str]) -> String {
        self.desk.fails(code, &self.words(words))
    }
}

#[test]
fn work_is_done_on_a_server_as_in_a_file() {
    let office = Office::new();
    let again = office.json(&["init", "--surface", "task-orchestrator", "--prefix", "W", "--name", "Work"]);
    assert_eq!(again["created"], json!(false), "to run it again changes nothing");
    for title in ["Zebra crossing", "apple pie", "Äpfel"] {
        office.ok(&["item", "add", title]);
    }
    let list = office.json(&["item", "list", "--sort", "title", "--order", "asc"]);
    let titles: Vec<&str> =
        list["items"].as_array().expect("items").iter().map(|item| item["title"].as_str().expect("a title")).collect();
    assert_eq!(titles, ["Zebra crossing", "apple pie", "Äpfel"], "by code point, whatever the server's language");
    assert_eq!(office.json(&["search", "apfel"])["total"], json!(1));
    office.ok(&["link", "W-1", "blocks", "W-2"]);
    office.ok(&["note", "set", "W-1", "plan", "one step"]);
    office.ok(&["claim", "W-1"]);
    office.ok(&["advance", "W-1", "start"]);
    assert!(office.ok(&["blocked"]).contains("W-2"));
    assert!(office.ok(&["events"]).contains("claimed"));
    assert!(office.ok(&["doctor"]).contains("nothing is wrong"));
    // From here to a file, and back into another server.
    office.ok(&["export", "all.jsonl"]);
    let file = Desk::bare();
    std::fs::copy(office.desk.file("all.jsonl"), file.file("all.jsonl")).expect("a copy");
    file.ok(&["import", "all.jsonl", "--create"]);
    file.ok(&["doctor"]);
    let other = Office::bare();
    std::fs::copy(office.desk.file("all.jsonl"), other.desk.file("all.jsonl")).expect("a copy");
    other.ok(&["import", "all.jsonl", "--create"]);
    assert!(other.ok(&["doctor"]).contains("nothing is wrong"));
    other.ok(&["export", "again.jsonl"]);
    assert_eq!(other.desk.read("again.jsonl"), office.desk.read("all.jsonl"), "not a row is lost on the way");
}

#[test]
fn what_items_are_found_by_is_mended() {
    let office = Office::new();
    office.ok(&["item", "add", "Lost and found"]);
    office.ok(&["item", "add", "Elsewhere"]);
    office.database.run("UPDATE items SET words = 'ghost' WHERE number = 1");
    assert_eq!(office.json(&["search", "found"])["total"], json!(0));
    let said = office.desk.run(&office.words(&["doctor"]));
    assert!(said.code == 1 && said.out.contains("W-1 it is not found by its words"), "{said:?}");
    let mended = office.json(&["doctor", "--repair"]);
    assert_eq!((&mended["repaired"], &mended["rows"]), (&json!(1), &json!([])));
    assert_eq!(
        (&office.json(&["search", "found"])["total"], &office.json(&["search", "ghost"])["total"]),
        (&json!(1), &json!(0))
    );
}

#[test]
fn an_agent_is_served_from_a_server() {
    let office = Office::bare();
    let server = Server::try_start_on(&office.url, &office.desk.path(), &[], |_| {}).expect("it starts");
    let made = server.ok("manage_items", json!({ "operation": "create", "items": [{ "title": "One" }] }));
    assert_eq!(made["items"].as_array().map(Vec::len), Some(1));
    drop(server);
    assert_eq!(office.json(&["item", "list"])["total"], json!(1));
}

#[test]
fn what_a_server_does_otherwise_is_said() {
    let office = Office::new();
    assert!(office.fails(3, &["backup", "b.db"]).contains("pg_dump"));
    assert!(office.fails(3, &["restore", "b.db"]).contains("pg_restore"));
    office.database.run("UPDATE docket SET version = 99");
    assert!(office.fails(3, &["item", "list"]).contains("99"));
    let empty = Office::bare();
    assert!(empty.fails(3, &["item", "list"]).contains("docket init"));
    let desk = Desk::bare();
    let away = "postgres://ann:hunter2@127.0.0.1:1/work";
    let said = desk.fails(6, &["--db", away, "item", "list"]);
    assert!(said.contains("127.0.0.1:1") && said.contains("cannot be reached"), "{said}");
    assert!(!said.contains("hunter2"), "a password is never shown: {said}");
    assert!(desk.fails(3, &["--db", "postgres://h/d?docket_pooled=maybe", "item", "list"]).contains("docket_pooled"));
}

/// As in a file: whoever only reads brings it to the newest schema first, where it may.
#[test]
fn an_older_schema_is_brought_to_the_newest_by_whoever_reads() {
    let office = Office::new();
    office.ok(&["item", "add", "Kept"]);
    let newest = office.database.ask("SELECT version::text FROM docket");
    for read in [&["item", "list"][..], &["events"], &["overview"], &["search", "kept"], &["export", "all.jsonl"]] {
        office.database.run("DROP TABLE knowledge_counts, knowledge_vectors, knowledge_links, knowledge_facets, knowledge_words, knowledge; \
             UPDATE docket SET version = 5");
        office.ok(read);
        assert_eq!(office.database.ask("SELECT version::text FROM docket"), newest, "{read:?}");
    }
    assert_eq!(office.json(&["item", "list"])["items"][0]["title"], json!("Kept"));
    // Whoever may not bring it there is told what to do, and nothing is touched.
    office.database.run("UPDATE docket SET version = 5");
    let role = format!("guest_{}", uuid::Uuid::new_v4().simple());
    office.database.run(&format!("CREATE ROLE {role} LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}"));
    let url = office.database.url_for(&role);
    let said = office.desk.fails(3, &["--db", &url, "item", "list"]);
    assert!(said.contains(&role) && said.contains("may not make tables") && said.contains("GRANT"), "{said}");
    assert_eq!(office.database.ask("SELECT version::text FROM docket"), "5");
    office.database.run(&format!("REVOKE SELECT ON ALL TABLES IN SCHEMA public FROM {role}; DROP ROLE {role}"));
}
