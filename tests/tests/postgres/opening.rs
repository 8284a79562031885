//! A database is made, recognised, upgraded once and refused with a word on what to do.

use docket_core::model::Inbox;
use docket_core::store::{Filter, KeyReach, Scope, Store, StoreError};
use docket_store_postgres::{PostgresOptions, PostgresStore, testing};
use docket_tests::older;
use docket_tests::postgres::{Database, NEEDED, grant};
use docket_tests::web::{Web, command_on};
use serde_json::json;

/// What a database is made of, as one text.
const SCHEMA: &str = "SELECT (SELECT string_agg(concat_ws(' ', table_name, column_name, data_type, is_nullable, \
     column_default, collation_name), E'\\n' ORDER BY table_name, column_name) FROM information_schema.columns \
     WHERE table_schema = current_schema()) || E'\\n' || (SELECT string_agg(indexdef, E'\\n' ORDER BY indexname) \
     FROM pg_indexes WHERE schemaname = current_schema())";

async fn open(url: &str, create: bool) -> Result<PostgresStore, StoreError> {
    PostgresStore::open(PostgresOptions::parse(url)?.create(create)).await
}

async fn refusal(url: &str, create: bool) -> StoreError {
    match open(url, create).await {
        Ok(_) => panic!("it was opened"),
        Err(error) => error,
    }
}

fn must_say(error: &StoreError, words: &[&str]) {
    let StoreError::Unfit(said) = error else { panic!("not said in words: {error:?}") };
    for word in words {
        assert!(said.contains(word), "\"{word}\" is not in: {said}");
    }
}

#[tokio::test]
async fn an_empty_database_is_made_ours_when_that_is_asked_for() {
    let database = Database::empty();
    assert!(matches!(refusal(&database.url(), false).await, StoreError::Foreign));
    open(&database.url(), true).await.expect("a new database").close().await;
    let store = open(&database.url(), false).await.expect("it is there now");
    assert_eq!(store.projects().await.expect("projects"), []);
    assert_eq!(store.integrity().await.expect("findings"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_that_make_it_at_once_one_does() {
    let database = Database::empty();
    let openers: Vec<_> = (0..8)
        .map(|_| {
            let url = database.url();
            tokio::spawn(async move { open(&url, true).await.map(|_| ()) })
        })
        .collect();
    for opener in openers {
        opener.await.expect("no panic").expect("all of them serve it");
    }
    assert_eq!(database.ask("SELECT count(*)::text FROM docket"), "1");
}

#[tokio::test]
async fn a_database_of_the_first_schema_is_brought_to_the_newest_and_keeps_its_rows() {
    let database = Database::new();
    older::server(&database);
    database.run(
        "INSERT INTO projects (id, slug, prefix, name, next_number, \
         version, created_at) VALUES (gen_random_uuid(), 'kept', 'K', 'kept', 1, 1, 1); \
         INSERT INTO items (id, project_id, number, depth, role, priority, requires_verification, offered, fence, version, \
         created_at, modified_at, role_changed_at, blockers, moot, unblocks, rank, status, title, summary, tags, traits, \
         touches, needs, required_capabilities, words) SELECT gen_random_uuid(), id, role, 0, role, 1, false, false, 0, 1, \
         1, 1, 1, 0, 0, 0, 0, 'some', 'kept', '', '[]', '[]', '[]', '[]', '[]', '' FROM projects, generate_series(1, 2) role; \
         INSERT INTO rules SELECT id, '{}', '{}' FROM projects",
    );
    let read_only = PostgresOptions::parse(&database.url()).expect("its address").read_only(true);
    assert!(matches!(PostgresStore::open(read_only).await, Err(StoreError::ReadOnly(_))));
    let store = open(&database.url(), false).await.expect("brought to the newest schema");
    let keys = Scope { keys: KeyReach::All, ..Scope::default() };
    assert!(store.view(&keys).await.expect("a table of keys").keys.is_empty());
    assert_eq!(database.ask("SELECT slug FROM projects"), "kept");
    let waits = Filter { inbox: Some(true), limit: 9, ..Filter::default() };
    let waits = store.find(&waits).await.expect("items").items;
    let waits: Vec<(u32, Inbox)> = waits.iter().map(|item| (item.number, item.derived.inbox)).collect();
    assert_eq!(waits, [(2, Inbox(Inbox::REVIEW))], "what is in review waits for a person");
    assert_eq!(store.integrity().await.expect("findings"), Vec::<String>::new());
    let fresh = Database::new();
    for question in ["SELECT version::text FROM docket", SCHEMA] {
        assert_eq!(database.ask(question), fresh.ask(question), "and it is like a new one");
    }
    store.close().await;
}

/// Where there is no review, the seventh schema asked nobody to sign off what is at work.
#[tokio::test]
async fn what_waits_for_a_person_where_nothing_is_reviewed_is_told_after_the_upgrade() {
    let database = Database::new();
    let rules = |statuses: &str| format!("'{{\"statuses\": [{statuses}]}}', '{{}}'");
    let item = |of: &str, number: u8, role: u8, sections: u8| {
        format!(
            "INSERT INTO items (id, project_id, number, depth, role, priority, requires_verification, offered, fence, version, \
             created_at, modified_at, role_changed_at, blockers, moot, unblocks, rank, status, title, summary, tags, traits, \
             touches, needs, required_capabilities, words, sections) SELECT gen_random_uuid(), id, {number}, 0, {role}, 1, false, \
             false, 0, 1, 1, 1, 1, 0, 0, 0, 0, 'some', 'kept', '', '[]', '[]', '[]', '[]', '[]', '', {sections} \
             FROM projects WHERE slug = '{of}';"
        )
    };
    let project = |slug: &str, statuses: &str| {
        format!(
            "INSERT INTO projects (id, slug, prefix, name, next_number, version, created_at) \
             VALUES (gen_random_uuid(), '{slug}', upper('{slug}'), '{slug}', 1, 1, 1); \
             INSERT INTO rules SELECT id, {} FROM projects WHERE slug = '{slug}';",
            rules(statuses)
        )
    };
    let (work, review) = ("{\"name\": \"work\", \"role\": \"work\"}", "{\"name\": \"seen\", \"role\": \"review\"}");
    let statements = [
        project("a", work),
        project("b", &format!("{work}, {review}")),
        item("a", 1, 1, 64),
        item("a", 2, 1, 0),
        item("a", 3, 0, 64),
        item("b", 4, 1, 64),
        "UPDATE docket SET version = 7".to_owned(),
    ];
    database.run(&statements.concat());
    open(&database.url(), false).await.expect("brought to the newest schema").close().await;
    let waits = "SELECT string_agg(number || ' ' || inbox, ', ' ORDER BY number) FROM items WHERE inbox <> 0";
    assert_eq!(database.ask(waits), "1 2");
}

/// An event of nobody's in a schema, with this number, or the next one.
fn event(seq: &str) -> String {
    format!(
        "INSERT INTO events (seq, id, unit, at, project_id, verb, principal, data) \
         VALUES ({seq}, gen_random_uuid(), gen_random_uuid(), 1, gen_random_uuid(), 1, 'x', '{{}}');"
    )
}

/// Numbers of events are those of a schema: what is under way in another one holds nobody up.
#[tokio::test]
async fn two_schemas_of_one_database_do_not_hold_up_each_others_events() {
    let database = Database::new();
    database.run("CREATE SCHEMA other");
    let url = database.url();
    let other = format!("{url}{}options[search_path]=other", if url.contains('?') { '&' } else { '?' });
    open(&other, true).await.expect("a schema of its own").close().await;
    database.run(&format!("SELECT setval('events_seq', 603); {}", event("603")));
    let taken = "BEGIN; SELECT docket_announce(); SELECT nextval('events_seq'); SELECT pg_sleep(2); COMMIT";
    let busy = tokio::spawn({
        let other = other.clone();
        async move { testing::run(&other, taken).await }
    });
    let is_settled = "SELECT settled::text FROM docket_head()";
    while testing::ask(&other, is_settled).await.expect("an answer") == "true" {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let head = "SELECT head || ' ' || settled FROM docket_head()";
    assert_eq!(database.ask(head), "603 true");
    busy.await.expect("no panic").expect("it ran");
    assert_eq!(testing::ask(&other, is_settled).await.expect("an answer"), "true");
}

/// The name of an announcement holds the lower half of a number: the upper one is found again, also where it has just changed.
#[tokio::test]
async fn numbers_of_events_may_be_larger_than_half_a_name() {
    let database = Database::new();
    for last in [0_i64, 5, (1 << 31) - 1, 1 << 31, (3 << 32) - 1, 3 << 32, (7 << 40) + 9] {
        let first = if last == 0 {
            String::new()
        } else {
            format!("PERFORM setval('events_seq', {last}); {}", event(&last.to_string()))
        };
        let next = event("nextval('events_seq')");
        database.run(&format!(
            "DO $$ DECLARE h bigint; s boolean; BEGIN {first} PERFORM docket_announce(); {next} {next} \
             SELECT head, settled INTO h, s FROM docket_head(); ASSERT h = {last} AND NOT s, h::text; END $$; DELETE FROM events"
        ));
    }
}

#[tokio::test]
async fn what_belongs_to_others_is_left_alone() {
    let database = Database::empty();
    database.run("CREATE TABLE invoices (id int)");
    assert!(matches!(refusal(&database.url(), true).await, StoreError::Foreign));
    assert_eq!(database.ask("SELECT count(*)::text FROM pg_tables WHERE schemaname = 'public'"), "1");
    // In a schema of its own it is welcome.
    database.run(
        "CREATE SCHEMA work; ALTER ROLE CURRENT_USER IN DATABASE current SET search_path = work"
            .replace("DATABASE current", &format!("DATABASE {}", database.ask("SELECT current_database()")))
            .as_str(),
    );
    open(&database.url(), true).await.expect("a schema of its own").close().await;
    assert_eq!(
        database.ask("SELECT count(*)::text FROM pg_tables WHERE schemaname = 'work' AND tablename = 'items'"),
        "1"
    );
}

/// None of that age is at hand: this one says that it is, to the question by which it is known.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_too_old_is_refused_and_left_alone() {
    let database = Database::empty();
    database.run(
        "CREATE SCHEMA aged; \
         CREATE FUNCTION aged.current_setting(text) RETURNS text LANGUAGE sql AS \
         'SELECT CASE $1 WHEN ''server_version_num'' THEN ''120022'' ELSE pg_catalog.current_setting($1) END'; \
         DO 'BEGIN EXECUTE format(''ALTER DATABASE %I SET search_path = aged, pg_catalog'', current_database()); END'",
    );
    must_say(&refusal(&database.url(), true).await, &["Postgres 12", "13 is the oldest", "upgrade"]);
    let folder = tempfile::tempdir().expect("a folder");
    let out = command_on(&database.url(), folder.path()).arg("init").output().expect("it runs");
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(3), "{said}");
    assert!(said.contains("Postgres 12"), "{said}");
    assert_eq!(database.ask("SELECT count(*)::text FROM pg_class WHERE relname = 'docket'"), "0");
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_left_alone() {
    let database = Database::new();
    database.run("UPDATE docket SET version = 99");
    assert!(matches!(refusal(&database.url(), true).await, StoreError::Newer { found: 99, .. }));
    assert_eq!(database.ask("SELECT version::text FROM docket"), "99");
}

#[tokio::test]
async fn what_an_operator_must_mend_is_said() {
    let latin = Database::make("TEMPLATE template0 ENCODING 'LATIN1' LOCALE_PROVIDER libc LC_COLLATE 'C' LC_CTYPE 'C'");
    must_say(&refusal(&latin.url(), true).await, &["LATIN1", "ENCODING 'UTF8'"]);
    let ascii =
        Database::make("TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE_PROVIDER libc LC_COLLATE 'C' LC_CTYPE 'C'");
    must_say(&refusal(&ascii.url(), true).await, &["SQL_ASCII", "ENCODING 'UTF8'"]);
    let lost = Database::new();
    let name = lost.ask("SELECT current_database()");
    lost.run(&format!("ALTER DATABASE {name} SET search_path = nowhere"));
    must_say(&refusal(&lost.url(), true).await, &["search_path", "CREATE SCHEMA"]);
    must_say(&refusal(&lost.url_for("nobody_we_know"), false).await, &["nobody_we_know", "pg_hba.conf"]);
    let nowhere = lost.url().replace("docket_test_", "no_such_");
    must_say(&refusal(&nowhere, true).await, &["CREATE DATABASE"]);
    let away = refusal("postgres://docket@127.0.0.1:1/docket", true).await;
    assert!(matches!(&away, StoreError::Away(said) if said.contains("127.0.0.1:1")), "{away:?}");
}

/// A role that may do some things and not others: told at the start, and not at the first call that needs it.
#[tokio::test]
async fn every_privilege_that_is_missing_is_said() {
    let database = Database::new();
    let role = format!("guest_{}", uuid::Uuid::new_v4().simple());
    database.run(&format!("CREATE ROLE {role} LOGIN"));
    let url = database.url_for(&role);
    let reading = || PostgresOptions::parse(&url).expect("an address").read_only(true);
    must_say(&refusal(&url, false).await, &[&role, "GRANT"]);
    database.run(&grant(&role, false));
    must_say(&refusal(&url, false).await, &[&role, "not write", "INSERT on projects"]);
    let store = PostgresStore::open(reading()).await.expect("to read, it may");
    assert_eq!(store.projects().await.expect("projects"), []);
    store.close().await;
    database.run(&grant(&role, true));
    open(&url, false).await.expect("all that is needed").close().await;
    for (table, written) in NEEDED {
        database.run(&format!("REVOKE SELECT ON {table} FROM {role}"));
        // Without this one it is not even known how old the tables are.
        let said = if table == "docket" { "permission denied" } else { "may not read" };
        must_say(&refusal(&url, false).await, &[&role, said, table, "GRANT"]);
        must_say(&PostgresStore::open(reading()).await.expect_err("one is missing"), &[&role, said, table, "GRANT"]);
        database.run(&format!("GRANT SELECT ON {table} TO {role}"));
        for privilege in written.split(", ").filter(|privilege| !privilege.is_empty()) {
            database.run(&format!("REVOKE {privilege} ON {table} FROM {role}"));
            must_say(&refusal(&url, false).await, &[&role, "not write", &format!("{privilege} on {table}"), "GRANT"]);
            PostgresStore::open(reading()).await.expect("it is not needed to read").close().await;
            database.run(&format!("GRANT {privilege} ON {table} TO {role}"));
        }
    }
    for (taken, given, said) in [
        ("SELECT ON events_seq FROM", "SELECT ON events_seq TO", "SELECT on events_seq"),
        ("USAGE ON events_seq FROM", "USAGE ON events_seq TO", "USAGE on events_seq"),
        ("EXECUTE ON FUNCTION docket_head FROM", "EXECUTE ON FUNCTION docket_head TO", "docket_head"),
        ("EXECUTE ON FUNCTION docket_announce FROM", "EXECUTE ON FUNCTION docket_announce TO", "docket_announce"),
    ] {
        // Everybody may call functions unless somebody has said otherwise.
        database.run(&format!("REVOKE {taken} {role}, PUBLIC"));
        must_say(&refusal(&url, false).await, &[&role, said, "GRANT"]);
        database.run(&format!("GRANT {given} {role}"));
        open(&url, false).await.expect("given back").close().await;
    }
    let all = "SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class WHERE relkind = 'r' \
               AND relnamespace = current_schema()::regnamespace";
    let mut known: Vec<&str> = NEEDED.iter().map(|(table, _)| *table).collect();
    known.sort_unstable();
    assert_eq!(database.ask(all), known.join(" "), "a table of which nobody says what is needed there");
    let empty = Database::empty();
    must_say(&refusal(&empty.url_for(&role), true).await, &[&role, "GRANT"]);
    database.run(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
}

/// One that is taken away while a server runs is told as what it is: nothing that comes again would help.
#[test]
fn a_privilege_that_is_taken_away_later_is_said_for_good() {
    let database = Database::new();
    let role = format!("guest_{}", uuid::Uuid::new_v4().simple());
    database.run(&format!("CREATE ROLE {role} LOGIN; {}", grant(&role, true)));
    let folder = tempfile::tempdir().expect("a folder");
    let web = Web::serving(&database.url_for(&role), folder.path(), |_| {});
    let item = web.item("One");
    let comment = || web.post(&format!("/items/{item}/comments"), &json!({ "comment": "words" }));
    comment().with(201);
    database.run(&format!("REVOKE INSERT ON comments FROM {role}"));
    let refused = comment();
    let error = refused.error(503);
    assert_eq!((&error["kind"], &error["reason"]), (&json!("permanent"), &json!("not_configured")), "{error}");
    let said = error["message"].as_str().expect("a message");
    assert!(said.contains("log"), "{said}");
    for told in ["GRANT", "schema", "comments", role.as_str()] {
        assert!(!said.contains(told), "what an operator does about it is for the log: {said}");
    }
    let out = command_on(&database.url_for(&role), folder.path()).args(["comment", &item, "words"]).output();
    assert_eq!(out.expect("it runs").status.code(), Some(3), "a command does not even begin");
    database.run(&format!("GRANT INSERT ON comments TO {role}"));
    comment().with(201);
    drop(web);
    database.run(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
}
