//! A Postgres server for tests, thrown away afterwards, and a database of its own for each test.
//!
//! `DOCKET_TEST_POSTGRES` names a server to use instead, by the address of a database from which others may be made.
//! Otherwise a cluster is started in a temporary folder, as another user where we are root, since the server refuses that.
//! All test programs of one target folder share it: each holds a lock on a file for as long as it lives, and a guard, a
//! process of its own, stops the server and removes the folder when nobody holds it any more. So it is gone also after
//! programs that were killed.
//!
//! A machine without Postgres gets Debian's, where we may install it. Where there is none, tests fail: they never pass
//! because there was nothing to test with.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use docket_store_postgres::{PostgresOptions, PostgresStore, testing};

/// Names a server to use.
pub const VARIABLE: &str = "DOCKET_TEST_POSTGRES";

/// The role that owns everything in a throwaway cluster.
const ROLE: &str = "docket";

/// Databases are copied from one that was migrated once; another schema is another template.
const SCHEMA: &str = concat!(
    include_str!("../../migrations/postgres/0001_init.sql"),
    include_str!("../../migrations/postgres/0002_keys.sql")
);

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
        let (url, question) = (self.url(), question.to_owned());
        apart(
            async move { testing::ask(&url, &question).await.unwrap_or_else(|error| panic!("{question}: {error:?}")) },
        )
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
            let cluster = Cluster::join();
            (cluster.url(), Some(cluster))
        }
    });
    url
}

/// The database that others are copied from.
fn template() -> &'static str {
    static TEMPLATE: OnceLock<String> = OnceLock::new();
    TEMPLATE.get_or_init(|| {
        let hash = SCHEMA
            .bytes()
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
            let rename = format!("ALTER DATABASE {} RENAME TO {name}", half.name);
            let renamed = apart(async move { testing::run(server(), &rename).await });
            assert!(renamed.is_ok() || count(found) != "0", "the template cannot be made: {renamed:?}");
        }
        name
    })
}

fn run(url: &str, statements: &str) {
    let (url, statements) = (url.to_owned(), statements.to_owned());
    apart(async move {
        testing::run(&url, &statements).await.unwrap_or_else(|error| panic!("{statements}: {error:?}"));
    });
}

/// Runs something to its end on a thread of its own: also for callers that are inside a runtime.
fn apart<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap_or_else(|error| panic!("no runtime: {error}")).block_on(work)
    });
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The same address with another database.
fn address(url: &str, name: &str) -> String {
    let (place, query) = url.split_once('?').map_or((url, None), |(place, query)| (place, Some(query)));
    let begin = place.find("//").map_or(0, |at| at + 2);
    let end = place[begin..].find('/').map_or(place.len(), |at| begin + at);
    let query = query.map_or_else(String::new, |query| format!("?{query}"));
    format!("{}/{name}{query}", &place[..end])
}

/// A running cluster, and our share in it.
#[derive(Debug)]
pub struct Cluster {
    folder: PathBuf,
    /// Held for as long as the cluster is used.
    share: File,
}

impl Cluster {
    /// Joins the cluster of this target folder; starts it when there is none.
    pub fn join() -> Self {
        let desk = desk();
        let users = open(&desk.join("users"));
        // While we hold this, nobody else starts or stops one.
        let door = open(&desk.join("door"));
        door.lock().unwrap_or_else(|error| panic!("the lock of the test cluster: {error}"));
        users.lock_shared().unwrap_or_else(|error| panic!("the lock of the test cluster: {error}"));
        let note = desk.join("folder");
        if let Ok(folder) = fs::read_to_string(&note)
            && runs(Path::new(&folder))
        {
            return Self { folder: PathBuf::from(folder), share: users };
        }
        let folder = start(&desk);
        fs::write(&note, folder.display().to_string()).unwrap_or_else(|error| panic!("{}: {error}", note.display()));
        Self { folder, share: users }
    }

    /// Gives our share back, and stops the cluster at once where nobody else has one. The guard would do so a little later.
    pub fn leave(self) {
        let door = open(&desk().join("door"));
        let alone = door.lock().is_ok() && self.share.unlock().is_ok() && self.share.try_lock().is_ok();
        if alone {
            let mut stop = as_other(programs().join("pg_ctl"));
            stop.arg("-D").arg(self.folder.join("data")).args(["-m", "immediate", "stop"]).current_dir("/");
            quiet(&mut stop);
            let _ = fs::remove_dir_all(&self.folder);
        }
    }

    /// The address of its first database.
    pub fn url(&self) -> String {
        format!("postgres://{ROLE}@localhost/postgres?host={}", self.folder.display())
    }
}

/// Where the programs of one target folder meet.
fn desk() -> PathBuf {
    let here = std::env::current_exe().unwrap_or_else(|error| panic!("this program has no path: {error}"));
    let profile = here.ancestors().find(|folder| folder.join("deps").is_dir());
    let desk = profile.unwrap_or_else(|| panic!("{} lies in no target folder", here.display())).join("postgres");
    fs::create_dir_all(&desk).unwrap_or_else(|error| panic!("{}: {error}", desk.display()));
    desk
}

fn open(path: &Path) -> File {
    let file = File::options().create(true).append(true).open(path);
    file.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Whether a server runs in a folder.
fn runs(folder: &Path) -> bool {
    let file = fs::read_to_string(folder.join("data/postmaster.pid"));
    let process = file.ok().and_then(|text| text.lines().next().map(str::to_owned));
    process.is_some_and(|process| Path::new("/proc").join(process).exists())
}

/// Makes a cluster, starts it, and sets a guard beside it.
fn start(desk: &Path) -> PathBuf {
    let programs = programs();
    let folder = tempfile::Builder::new().prefix("docket-pg-").tempdir();
    // The guard removes it.
    let folder = folder.unwrap_or_else(|error| panic!("no temporary folder: {error}")).keep();
    if let Some((user, group)) = other_user() {
        let number = |text: String| text.parse().ok();
        std::os::unix::fs::chown(&folder, number(user), number(group))
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    }
    let data = folder.join("data");
    // With rules of a language for the order of texts, where the server knows any: ours must not depend on them.
    let made = [&["--locale-provider=icu", "--icu-locale=en-US"][..], &[]].into_iter().any(|locale| {
        let mut command = as_other(programs.join("initdb"));
        command.args(["-U", ROLE, "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C.UTF-8"]).args(locale);
        quiet(command.arg("-D").arg(&data).current_dir(&folder))
    });
    assert!(made, "initdb does not make a cluster in {}", data.display());
    let settings = format!(
        "-c listen_addresses='' -c unix_socket_directories='{}' -c fsync=off -c full_page_writes=off \
         -c max_connections=400 -c shared_buffers=64MB -c logging_collector=off",
        folder.display()
    );
    let log = folder.join("log");
    let mut command = as_other(programs.join("pg_ctl"));
    command.arg("-D").arg(&data).arg("-l").arg(&log).args(["-w", "-o", &settings, "start"]).current_dir(&folder);
    let said = || fs::read_to_string(&log).unwrap_or_default();
    assert!(quiet(&mut command), "the Postgres server does not start: {}", said());
    guard(desk, &folder, &as_other(programs.join("pg_ctl")));
    folder
}

/// Starts the process that stops the server when nobody uses it any more.
fn guard(desk: &Path, folder: &Path, stop: &Command) {
    let stop: Vec<String> = std::iter::once(stop.get_program())
        .chain(stop.get_args())
        .map(|word| format!("'{}'", word.to_string_lossy()))
        .collect();
    let (desk, folder, stop) = (desk.display(), folder.display(), stop.join(" "));
    // Between two programs of one run there may be a moment without any: it looks twice, some time apart.
    let script = format!(
        "cd '{folder}'; while :; do sleep 10; flock -n -x '{desk}/users' true || continue; sleep 5; \
         flock -x '{desk}/door' flock -n -x '{desk}/users' {stop} -D '{folder}/data' -m immediate stop && break; \
         [ -d '{folder}/data' ] || break; done; cd /; rm -rf '{folder}'"
    );
    let started = Command::new("setsid")
        .args(["sh", "-c", &script])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    assert!(started.is_ok(), "no process watches over the test cluster: {started:?}");
}

/// A command as the user that the server runs as.
fn as_other(program: PathBuf) -> Command {
    let Some((user, group)) = other_user() else { return Command::new(program) };
    let mut command = Command::new("setpriv");
    command.args([&format!("--reuid={user}"), &format!("--regid={group}"), "--clear-groups", "--"]);
    command.arg(program);
    command
}

fn quiet(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Whom the server runs as when we are root: a user that exists, by number, with its group.
fn other_user() -> Option<(String, String)> {
    let me = fs::metadata("/proc/self").ok()?.uid();
    if me != 0 {
        return None;
    }
    let known = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let find = |name: &str| {
        known.lines().find_map(|line| {
            let fields: Vec<&str> = line.split(':').collect();
            (fields.first() == Some(&name))
                .then(|| Some(((*fields.get(2)?).to_owned(), (*fields.get(3)?).to_owned())))?
        })
    };
    Some(
        find("postgres")
            .or_else(|| find("nobody"))
            .unwrap_or_else(|| panic!("Postgres refuses root, and no other user is known")),
    )
}

/// The folder of Postgres' programs: on the path, else where Debian has them, else after installing them.
fn programs() -> PathBuf {
    if let Some(found) = find_programs() {
        return found;
    }
    let root = fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0);
    if root && Path::new("/usr/bin/apt-get").exists() {
        let mut update = Command::new("apt-get");
        quiet(update.args(["update", "-q"]));
        let mut install = Command::new("apt-get");
        install.args(["install", "-q", "-y", "--no-install-recommends", "postgresql"]);
        quiet(install.env("DEBIAN_FRONTEND", "noninteractive"));
        if let Some(found) = find_programs() {
            return found;
        }
    }
    panic!(
        "these tests need Postgres 13 or newer: install it (initdb and pg_ctl on the path or beneath /usr/lib/postgresql), \
         or name a server with {VARIABLE}=postgres://..."
    )
}

fn find_programs() -> Option<PathBuf> {
    let has_all = |folder: &Path| folder.join("initdb").is_file() && folder.join("pg_ctl").is_file();
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Where a link stands on the path, the programs beside it may be missing: what it points to has all.
    let on_path = std::env::split_paths(&path).filter(|folder| has_all(folder)).find_map(|folder| {
        fs::canonicalize(folder.join("initdb")).ok().and_then(|file| file.parent().map(Path::to_owned))
    });
    on_path.or_else(|| {
        let versions = fs::read_dir("/usr/lib/postgresql").ok()?.filter_map(Result::ok);
        let mut found: Vec<(u32, PathBuf)> = versions
            .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
            .filter(|(_, folder)| has_all(folder))
            .collect();
        found.sort();
        found.pop().map(|(_, folder)| folder)
    })
}
