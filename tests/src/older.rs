//! Databases as older programs left them: what later migrations have made is taken back, and rows stay.

use std::path::Path;

use crate::postgres::Database;

/// What makes a file one of the first schema.
const SQLITE: &str = "INSERT INTO items_fts (rowid, words) SELECT pk, words FROM items_unindexed; DROP TABLE items_unindexed; \
    CREATE INDEX answers_expiry ON answers (expires_at); DROP TABLE knowledge_counts; DROP TABLE knowledge_vectors; \
    DROP TABLE knowledge_links; DROP TABLE knowledge_facets; DROP TABLE knowledge_words; DROP TABLE knowledge; \
    DROP TABLE api_keys; DROP TABLE briefs; DROP TABLE questions; DROP TABLE comments; DROP TABLE links; DROP TABLE runs; \
    DROP TABLE sessions; DROP INDEX items_inbox; DROP INDEX items_left; ALTER TABLE items DROP COLUMN sections; \
    ALTER TABLE items DROP COLUMN inbox; ALTER TABLE items DROP COLUMN due_at; \
    ALTER TABLE items DROP COLUMN estimate_minutes; ALTER TABLE items DROP COLUMN position; \
    ALTER TABLE items DROP COLUMN attention; ALTER TABLE items DROP COLUMN intent; \
    ALTER TABLE projects DROP COLUMN archived_at; PRAGMA user_version = 1";

/// The same of a database on a server.
const POSTGRES: &str = "DROP TABLE knowledge_counts, knowledge_vectors, knowledge_links, knowledge_facets, knowledge_words, knowledge, \
    api_keys, briefs, questions, comments, links, runs, sessions; DROP INDEX items_left; \
    ALTER TABLE projects DROP COLUMN archived_at; ALTER TABLE items DROP COLUMN sections, DROP COLUMN inbox, \
    DROP COLUMN due_at, DROP COLUMN estimate_minutes, DROP COLUMN position, DROP COLUMN attention, DROP COLUMN intent; \
    UPDATE docket SET version = 1";

/// Makes a file one of the first schema.
pub fn file(database: &Path) {
    let made = docket_store_sqlite::testing::run(database, SQLITE);
    made.unwrap_or_else(|error| panic!("{}: {error:?}", database.display()));
}

/// Makes a database on a server one of the first schema.
pub fn server(database: &Database) {
    database.run(POSTGRES);
}
