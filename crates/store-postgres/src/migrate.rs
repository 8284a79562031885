//! Whose database it is, which schema it has, and how it gets the newest one.
//!
//! The tables live in the first schema of the search path. The schema version is read again under a lock of the
//! database's: of several processes that start at once, one finds work to do and the others find it done.

use std::sync::Arc;

use docket_core::plant::{Bug, planted};
use docket_core::store::StoreError;
use serde::Deserialize;

use crate::error::{no_privilege, open_error};
use crate::options::OLDEST_SERVER;
use crate::pool::{Connector, Link};
use crate::queue::MIGRATION_LOCK;
use crate::script::Script;

/// Every migration, in order; the schema version is their number.
const MIGRATIONS: [&str; 8] = [
    include_str!("../../../migrations/postgres/0001_init.sql"),
    include_str!("../../../migrations/postgres/0002_keys.sql"),
    include_str!("../../../migrations/postgres/0003_contract.sql"),
    include_str!("../../../migrations/postgres/0004_checks.sql"),
    include_str!("../../../migrations/postgres/0005_sessions.sql"),
    include_str!("../../../migrations/postgres/0006_knowledge.sql"),
    include_str!("../../../migrations/postgres/0007_unindexed.sql"),
    include_str!("../../../migrations/postgres/0008_sign_offs.sql"),
];
/// The newest schema that this program knows.
pub(crate) const SCHEMA_VERSION: i64 = 8;

/// What is asked of a database, in the order of [`Found`]. The table of ours cannot be named before it is known to be there.
const LOOK: &str = "SELECT json_build_array(current_setting('server_version_num')::bigint, \
    (SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database()), current_schema(), \
    to_regclass(quote_ident(current_schema()) || '.docket') IS NOT NULL, \
    (SELECT count(*) FROM pg_class c WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) \
     AND c.relkind IN ('r', 'p', 'v', 'm') \
     AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')), \
    coalesce(has_schema_privilege(current_schema(), 'CREATE'), false), pg_is_in_recovery())::text";

/// What a database turned out to be.
#[derive(Debug, Deserialize)]
struct Found {
    server: i64,
    encoding: String,
    schema: Option<String>,
    marked: bool,
    tables: u64,
    may_create: bool,
    standby: bool,
}

/// What whoever reads needs on every table, and beside that.
const TABLES: [&str; 21] = [
    "docket",
    "projects",
    "rules",
    "items",
    "edges",
    "notes",
    "events",
    "answers",
    "api_keys",
    "briefs",
    "questions",
    "comments",
    "links",
    "runs",
    "sessions",
    "knowledge",
    "knowledge_words",
    "knowledge_facets",
    "knowledge_links",
    "knowledge_vectors",
    "knowledge_counts",
];
/// What whoever writes needs beside that. To lock a row is to update it, as far as privileges go.
const WRITTEN: [(&str, &[&str]); 20] = [
    ("projects", &["INSERT", "UPDATE"]),
    ("rules", &["INSERT", "UPDATE"]),
    ("items", &["INSERT", "UPDATE", "DELETE"]),
    ("edges", &["INSERT", "DELETE"]),
    ("notes", &["INSERT", "UPDATE", "DELETE"]),
    ("events", &["INSERT"]),
    ("answers", &["INSERT", "UPDATE", "DELETE"]),
    ("api_keys", &["INSERT", "UPDATE"]),
    ("briefs", &["INSERT", "UPDATE"]),
    ("questions", &["INSERT", "UPDATE"]),
    ("comments", &["INSERT"]),
    ("links", &["INSERT", "DELETE"]),
    ("runs", &["INSERT", "UPDATE"]),
    ("sessions", &["INSERT", "UPDATE"]),
    ("knowledge", &["INSERT", "UPDATE", "DELETE"]),
    ("knowledge_words", &["INSERT", "UPDATE", "DELETE"]),
    ("knowledge_facets", &["INSERT", "DELETE"]),
    ("knowledge_links", &["INSERT", "UPDATE", "DELETE"]),
    ("knowledge_vectors", &["INSERT", "UPDATE", "DELETE"]),
    ("knowledge_counts", &["UPDATE"]),
];
/// Missing privileges that are told; the rest would say no more.
const MISSING_SHOWN: usize = 5;

/// How far it has come, and which privileges this role lacks there.
#[derive(Debug, Deserialize)]
struct Inside {
    version: i64,
    to_read: Vec<String>,
    to_write: Vec<String>,
}

/// What is asked of a database that is ours. Some tables came later than others: what is not there needs no privilege.
fn look_inside_for() -> String {
    let on_tables = |wanted: &[String]| {
        format!(
            "SELECT privilege || ' on ' || name FROM (VALUES {}) n (name, privilege) \
             WHERE NOT coalesce(has_table_privilege(to_regclass(name), privilege), true)",
            wanted.join(", ")
        )
    };
    let on_events = |privilege: &str| {
        format!("SELECT '{privilege} on events_seq' WHERE NOT has_sequence_privilege('events_seq', '{privilege}')")
    };
    let on_function =
        |name: &str| format!("SELECT 'EXECUTE on {name}()' WHERE NOT has_function_privilege('{name}()', 'EXECUTE')");
    let all = |parts: [String; 3]| {
        format!("(SELECT coalesce(json_agg(missing), '[]') FROM ({}) m (missing))", parts.join(" UNION ALL "))
    };
    let to_read: Vec<String> = TABLES.iter().map(|table| format!("('{table}', 'SELECT')")).collect();
    let to_write: Vec<String> = WRITTEN
        .iter()
        .flat_map(|(table, privileges)| privileges.iter().map(move |privilege| format!("('{table}', '{privilege}')")))
        .collect();
    let to_read = all([on_tables(&to_read), on_events("SELECT"), on_function("docket_head")]);
    let to_write = all([on_tables(&to_write), on_events("USAGE"), on_function("docket_announce")]);
    format!("SELECT json_build_array((SELECT version FROM docket), {to_read}, {to_write})::text")
}

/// Opens the database and brings it to the newest schema; returns the connection that did so.
pub(crate) async fn open(connector: &Arc<Connector>) -> Result<Link, StoreError> {
    let options = &connector.options;
    let fault = |error| open_error(error, options.server.get_username(), &options.place());
    let mut link = connector.connect().await.map_err(fault)?;
    let create = options.create && !options.read_only;
    let found: Found = ask(&mut link, connector, LOOK).await?;
    check_server(&found)?;
    if !found.marked && (found.tables > 0 || !create) {
        return Err(StoreError::Foreign);
    }
    let inside = if found.marked { Some(look_inside(&mut link, connector).await?) } else { None };
    let version = inside.as_ref().map_or(0, |inside| inside.version);
    check_version(version)?;
    if version < SCHEMA_VERSION {
        if options.read_only || found.standby {
            return Err(StoreError::ReadOnly(None));
        }
        if !found.may_create {
            let said = format!("it may not make tables in the schema {}", found.schema.unwrap_or_default());
            return Err(StoreError::Unfit(no_privilege(options.server.get_username(), &said)));
        }
        upgrade(&mut link, connector, create).await?;
    }
    let Inside { to_read, to_write, .. } = look_inside(&mut link, connector).await?;
    let (what, missing) = if !to_read.is_empty() {
        ("it may not read the tables", to_read)
    } else if options.read_only || found.standby {
        return Ok(link);
    } else {
        ("it may read the tables, not write them", to_write)
    };
    if missing.is_empty() {
        return Ok(link);
    }
    let said = format!("{what}: what is missing is {}", listed(&missing));
    Err(StoreError::Unfit(no_privilege(options.server.get_username(), &said)))
}

fn listed(missing: &[String]) -> String {
    let more = missing.len().saturating_sub(MISSING_SHOWN);
    let shown = missing.iter().take(MISSING_SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

fn check_server(found: &Found) -> Result<(), StoreError> {
    if found.server < OLDEST_SERVER {
        return Err(StoreError::Unfit(format!(
            "the server is Postgres {}, and {} is the oldest that will do: upgrade it",
            found.server / 10_000,
            OLDEST_SERVER / 10_000
        )));
    }
    if found.encoding != "UTF8" {
        return Err(StoreError::Unfit(format!(
            "its encoding is {}, which cannot hold every text: make one with CREATE DATABASE ... ENCODING 'UTF8' \
             TEMPLATE template0",
            found.encoding
        )));
    }
    if found.schema.is_none() {
        return Err(StoreError::Unfit(
            "no schema of the search path exists: CREATE SCHEMA, or set search_path with ALTER ROLE ... SET search_path"
                .to_owned(),
        ));
    }
    Ok(())
}

fn check_version(found: i64) -> Result<(), StoreError> {
    if found > SCHEMA_VERSION {
        return Err(StoreError::Newer { found, known: SCHEMA_VERSION });
    }
    Ok(())
}

async fn upgrade(link: &mut Link, connector: &Connector, create: bool) -> Result<(), StoreError> {
    let fault = |error| open_error(error, connector.options.server.get_username(), &connector.options.place());
    let lock = if planted(Bug::MigrationUnlocked) {
        String::new()
    } else {
        format!("; SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")
    };
    // Others may be at it, and large tables take their time.
    let patience = link.patience.take();
    link.begin(&lock).await.map_err(fault)?;
    // Read again: another process may have been quicker.
    let found: Found = ask(link, connector, LOOK).await?;
    if !found.marked && (found.tables > 0 || !create) {
        link.rollback().await.map_err(fault)?;
        return Err(StoreError::Foreign);
    }
    let version = if found.marked { look_inside(link, connector).await?.version } else { 0 };
    if version >= SCHEMA_VERSION {
        link.rollback().await.map_err(fault)?;
        link.patience = patience;
        return check_version(version);
    }
    if planted(Bug::MigrationUnlocked) {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let done = usize::try_from(version).unwrap_or(0);
    for migration in MIGRATIONS.iter().skip(done) {
        link.send(migration).await.map_err(fault)?;
    }
    let mark = format!(
        "INSERT INTO docket (version) VALUES ({SCHEMA_VERSION}) ON CONFLICT (one) DO UPDATE SET version = excluded.version"
    );
    link.send(&mark).await.map_err(fault)?;
    link.commit().await.map_err(fault)?;
    link.patience = patience;
    tracing::info!(from = version, to = SCHEMA_VERSION, "brought the database to the newest schema");
    Ok(())
}

async fn look_inside(link: &mut Link, connector: &Connector) -> Result<Inside, StoreError> {
    ask(link, connector, &look_inside_for()).await
}

async fn ask<T: serde::de::DeserializeOwned>(
    link: &mut Link,
    connector: &Connector,
    question: &str,
) -> Result<T, StoreError> {
    let mut script = Script::default();
    script.set(question.to_owned());
    link.ask(script).await.map_err(|trouble| match trouble {
        crate::error::Trouble::Sql(error) => {
            open_error(error, connector.options.server.get_username(), &connector.options.place())
        }
        crate::error::Trouble::Rows(error) => error,
    })
}
