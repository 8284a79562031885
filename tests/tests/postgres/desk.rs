//! A server of ours on a database on which bad days can be had.

use docket_tests::postgres::Database;
use docket_tests::web::{Reply, Web};
use serde_json::{Value, json};

/// A server of ours on a database of the tests' cluster.
pub(crate) struct Desk {
    pub(crate) web: Web,
    pub(crate) database: Database,
    pub(crate) folder: tempfile::TempDir,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self::on(Database::new(), "")
    }

    pub(crate) fn on(database: Database, option: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mark = if database.url().contains('?') { '&' } else { '?' };
        let url = if option.is_empty() { database.url() } else { format!("{}{mark}{option}", database.url()) };
        Self { web: Web::serving(&url, folder.path(), |_| {}), database, folder }
    }

    /// Makes an item under a name that may be given again.
    pub(crate) fn make(&self, name: &str) -> Reply {
        let body = json!({ "title": name }).to_string();
        self.web.send("POST", "/items", &[("idempotency-key", name)], Some(body.as_bytes()))
    }

    /// What is done whenever an event is written.
    pub(crate) fn whenever(&self, statements: &str) {
        self.database.run(&format!(
            "CREATE OR REPLACE FUNCTION bad_day() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {statements} RETURN NEW; END $$; \
             DROP TRIGGER IF EXISTS bad_day ON events; \
             CREATE TRIGGER bad_day BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION bad_day()"
        ));
    }

    pub(crate) fn total(&self) -> Value {
        self.web.get("/items").with(200)["total"].clone()
    }
}
