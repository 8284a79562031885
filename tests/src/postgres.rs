//! A Postgres server for tests, thrown away afterwards, and a database of its own for each test.
//!
//! `DOCKET_TEST_POSTGRES` names a server to use instead, by the address of a database from which others may be made.
//! Otherwise it is a throwaway cluster.

use std::sync::OnceLock;

use docket_store_postgres::{PostgresOptions, PostgresStore, testing};
pub(crate) use docket_test_cluster::at_database as address;
pub use docket_test_cluster::{Cluster, Flushes, ROLE, VARIABLE, pooler};
pub(crate) use docket_test_cluster::{
    as_other, first_database, hand_over, launch, make_cluster, own_folder, programs, quiet, stop_words, watch_over,
};

/// Databases are copied from one that was migrated once; another schema is another template.
const SCHEMA: &str = concat!(
    include_str!("../../migrations/postgres/0001_init.sql"),
    include_str!("../../migrations/postgres/0002_keys.sql"),
    include_str!("../../migrations/postgres/0003_contract.sql"),
    include_str!("../../migrations/postgres/0004_checks.sql"),
    include_str!("../../migrations/postgres/0005_sessions.sql"),
    include_str!("../../migrations/postgres/0006_knowledge.sql"),
    include_str!("../../migrations/postgres/0007_unindexed.sql"),
    include_str!("../../migrations/postgres/0008_sign_offs.sql")
);

/// A role that has what Docket needs and nothing else: whoever works under it would meet what is forgotten to be asked for.
pub const GRANTED: &str = "docket_granted";

/// What that is, on each table beside `SELECT`.
pub const NEEDED: [(&str, &str); 21] = [
    ("docket", ""),
    ("projects", "INSERT, UPDATE"),
    ("rules", "INSERT, UPDATE"),
    ("items", "INSERT, UPDATE, DELETE"),
    ("edges", "INSERT, DELETE"),
    ("notes", "INSERT, UPDATE, DELETE"),
    ("events", "INSERT"),
    ("answers", "INSERT, UPDATE, DELETE"),
    ("api_keys", "INSERT, UPDATE"),
    ("briefs", "INSERT, UPDATE"),
    ("questions", "INSERT, UPDATE"),
    ("comments", "INSERT"),
    ("links", "INSERT, DELETE"),
    ("runs", "INSERT, UPDATE"),
    ("sessions", "INSERT, UPDATE"),
    ("knowledge", "INSERT, UPDATE, DELETE"),
    ("knowledge_words", "INSERT, UPDATE, DELETE"),
    ("knowledge_facets", "INSERT, DELETE"),
    ("knowledge_links", "INSERT, UPDATE, DELETE"),
    ("knowledge_vectors", "INSERT, UPDATE, DELETE"),
    ("knowledge_counts", "UPDATE"),
];

/// Gives a role what is needed, to write or to read alone.
pub fn grant(role: &str, writes: bool) -> String {
    let grants = NEEDED.iter().map(|(table, written)| {
        let also = if writes && !written.is_empty() { format!(", {written}") } else { String::new() };
        format!("GRANT SELECT{also} ON {table} TO {role};")
    });
    let numbers = if writes { "SELECT, USAGE" } else { "SELECT" };
    format!("{} GRANT {numbers} ON events_seq TO {role};", grants.collect::<Vec<_>>().join(" "))
}

/// A database of its own, removed when it is dropped.
#[derive(Debug)]
pub struct Database {
    server: String,
    name: String,
}

impl Database {
    /// An empty Docket database, with its tables.
    pub fn new() -> Self {
        Self::make(&format!("TEMPLATE {}", template()))
    }

    /// A database without anything in it.
    pub fn empty() -> Self {
        Self::make("TEMPLATE template0 ENCODING 'UTF8'")
    }

    /// A database made as these words of `CREATE DATABASE` say.
    pub fn make(how: &str) -> Self {
        let name = format!("docket_test_{}", uuid::Uuid::new_v4().simple());
        run(server(), &format!("CREATE DATABASE {name} {how}"));
        Self { server: server().to_owned(), name }
    }

    /// Its address.
    pub fn url(&self) -> String {
        address(&self.server, &self.name)
    }

    /// Its address behind the pooler whose socket lies in this folder.
    pub fn url_behind(&self, folder: &str) -> String {
        let server = std::path::Path::new(folder).parent().unwrap_or(std::path::Path::new("/"));
        let told = format!("docket_pooled=true&docket_listen={}:5432", server.display());
        format!("postgres://{ROLE}@localhost/{}?host={folder}&port={}&{told}", self.name, pooler::PORT)
    }

    /// Its address for another role.
    pub fn url_for(&self, role: &str) -> String {
        self.url().replacen(&format!("//{ROLE}@"), &format!("//{role}@"), 1)
    }

    /// Runs statements in it.
    pub fn run(&self, statements: &str) {
        run(&self.url(), statements);
    }

    /// Asks it a question whose answer is one text.
    pub fn ask(&self, question: &str) -> String {
        ask(&self.url(), question)
    }

    /// Opens it.
    pub async fn open(&self) -> PostgresStore {
        let options = PostgresOptions::parse(&self.url()).unwrap_or_else(|error| panic!("its address: {error}"));
        PostgresStore::open(options.create(true)).await.unwrap_or_else(|error| panic!("it does not open: {error:?}"))
    }
}

impl Default for Database {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let (server, statement) = (self.server.clone(), format!("DROP DATABASE {} WITH (FORCE)", self.name));
        // It is gone with its cluster in any case.
        apart(async move { drop(testing::run(&server, &statement).await) });
    }
}

/// The address of the server that tests use: of a database from which others may be made.
pub fn server() -> &'static str {
    static SERVER: OnceLock<(String, Option<Cluster>)> = OnceLock::new();
    let (url, _) = SERVER.get_or_init(|| match std::env::var(VARIABLE) {
        Ok(url) if !url.is_empty() => (url, None),
        _ => {
            let cluster = Cluster::join(Flushes::Never);
            (cluster.url(), Some(cluster))
        }
    });
    url
}

/// The database that others are copied from.
fn template() -> &'static str {
    static TEMPLATE: OnceLock<String> = OnceLock::new();
    TEMPLATE.get_or_init(|| {
        let granted = format!(
            "DO 'BEGIN CREATE ROLE {GRANTED} LOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END'; {}",
            grant(GRANTED, true)
        );
        let hash = SCHEMA
            .bytes()
            .chain(granted.bytes())
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        let name = format!("docket_template_{hash:016x}");
        // Several programs may come at once: a name in the making tells the one that makes it from those that wait.
        let found = format!("SELECT count(*)::text FROM pg_database WHERE datname = '{name}'");
        let count = |question: String| {
            apart(async move { testing::ask(server(), &question).await.unwrap_or_else(|error| panic!("{error:?}")) })
        };
        if count(found.clone()) == "0" {
            let half = Database::empty();
            apart({
                let url = half.url();
                async move {
                    let options = PostgresOptions::parse(&url).unwrap_or_else(|error| panic!("{error}"));
                    let store = PostgresStore::open(options.create(true)).await;
                    store.unwrap_or_else(|error| panic!("no schema: {error:?}")).close().await;
                }
            });
            half.run(&granted);
            let rename = format!("ALTER DATABASE {} RENAME TO {name}", half.name);
            let renamed = apart(async move { testing::run(server(), &rename).await });
            assert!(renamed.is_ok() || count(found) != "0", "the template cannot be made: {renamed:?}");
        }
        name
    })
}

pub(crate) fn run(url: &str, statements: &str) {
    let (url, statements) = (url.to_owned(), statements.to_owned());
    apart(async move {
        testing::run(&url, &statements).await.unwrap_or_else(|error| panic!("{statements}: {error:?}"));
    });
}

/// Asks a question whose answer is one text.
pub(crate) fn ask(url: &str, question: &str) -> String {
    let (url, question) = (url.to_owned(), question.to_owned());
    apart(async move { testing::ask(&url, &question).await.unwrap_or_else(|error| panic!("{question}: {error:?}")) })
}

/// Runs something to its end on a thread of its own: also for callers that are inside a runtime.
fn apart<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap_or_else(|error| panic!("no runtime: {error}")).block_on(work)
    });
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
