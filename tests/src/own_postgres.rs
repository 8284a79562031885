//! Postgres servers of a test's own, to be killed, stopped, copied and promoted.
//!
//! A guard beside each, a process of its own, stops it and removes its files when the test's process has gone, however that
//! ended.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::postgres;

/// How long a server may take to get where it is wanted.
const PATIENCE: Duration = Duration::from_secs(20);
/// What suits a small server that a few programs use.
const SETTINGS: &str =
    "-c fsync=off -c max_connections=120 -c shared_buffers=32MB -c max_wal_senders=4 -c wal_keep_size=64MB";

/// A running server with its own files.
#[derive(Debug)]
pub struct OwnServer {
    folder: PathBuf,
    /// Locked for as long as the server is wanted.
    _wanted: File,
}

impl OwnServer {
    /// A new one.
    pub fn start() -> Self {
        Self::start_with("", |_| {})
    }

    /// The same with more words for the server, after something was done to its folder.
    pub fn start_with(settings: &str, prepare: impl FnOnce(&Path)) -> Self {
        let server = Self::guarded();
        postgres::make_cluster(&server.folder);
        prepare(&server.folder);
        postgres::launch(&server.folder, &format!("{SETTINGS} {settings}"));
        server
    }

    /// A standby that follows this one.
    #[must_use]
    pub fn standby(&self) -> Self {
        let standby = Self::guarded();
        let mut copy = postgres::as_other(postgres::programs().join("pg_basebackup"));
        copy.arg("-h").arg(&self.folder).args(["-U", "docket", "-R", "-X", "stream", "-c", "fast", "--no-sync", "-D"]);
        assert!(postgres::quiet(copy.arg(standby.folder.join("data")).current_dir("/")), "no copy was made");
        postgres::launch(&standby.folder, SETTINGS);
        standby
    }

    fn guarded() -> Self {
        let folder = postgres::own_folder();
        let path = folder.join("wanted");
        let wanted = File::create(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        wanted.lock().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let (shown, stop) = (folder.display(), postgres::stop_words());
        postgres::watch_over(&format!(
            "cd /; while [ -d '{shown}' ]; do sleep 2; flock -n -x '{shown}/wanted' true || continue; \
             {stop} -D '{shown}/data' -m immediate stop; rm -rf '{shown}'; done"
        ));
        Self { folder, _wanted: wanted }
    }

    /// Where its socket lies.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The address of one of its databases.
    pub fn url(&self, database: &str) -> String {
        postgres::address(&postgres::first_database(&self.folder), database)
    }

    /// Runs statements.
    pub fn run(&self, statements: &str) {
        postgres::run(&self.url("postgres"), statements);
    }

    /// Asks a question whose answer is one text.
    pub fn ask(&self, question: &str) -> String {
        postgres::ask(&self.url("postgres"), question)
    }

    /// Asks until the answer is the one that is wanted.
    pub fn wait_for(&self, question: &str, wanted: &str) {
        let begun = Instant::now();
        loop {
            let answer = self.ask(question);
            if answer == wanted {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{question} is {answer}, not {wanted}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Changes a setting and has the server read it.
    pub fn set(&self, setting: &str, value: &str) {
        self.run(&format!("ALTER SYSTEM SET {setting} = {value}"));
        self.ask("SELECT pg_reload_conf()::text");
    }

    /// Acknowledges writes only when a standby has them, which must be there.
    pub fn wait_for_standbys(&self) {
        self.set("synchronous_standby_names", "'*'");
        self.wait_for("SELECT count(*)::text FROM pg_stat_replication WHERE sync_state = 'sync'", "1");
    }

    /// A standby hears no more of its primary.
    pub fn cut_off(&self) {
        self.set("primary_conninfo", "''");
        self.wait_for("SELECT count(*)::text FROM pg_stat_wal_receiver", "0");
    }

    /// A standby becomes a primary.
    pub fn promote(&self) {
        let mut promote = postgres::as_other(postgres::programs().join("pg_ctl"));
        promote.arg("-D").arg(self.folder.join("data")).args(["-w", "promote"]).current_dir("/");
        assert!(postgres::quiet(&mut promote), "the standby is not promoted");
    }

    /// Stops it in good order, connections or not.
    pub fn stop(&self) {
        let mut stop = postgres::as_other(postgres::programs().join("pg_ctl"));
        stop.arg("-D").arg(self.folder.join("data")).args(["-w", "-m", "fast", "stop"]).current_dir("/");
        assert!(postgres::quiet(&mut stop), "the server does not stop");
    }

    /// Starts it again.
    pub fn start_again(&self) {
        postgres::launch(&self.folder, SETTINGS);
    }

    /// All its processes end at once, as when the machine loses its power.
    pub fn kill(&self) {
        let Some(postmaster) = self.postmaster() else { panic!("the server does not run") };
        // Stopped first: it would start others in the place of those that are killed.
        signal("STOP", postmaster);
        for child in children(postmaster) {
            signal("KILL", child);
        }
        signal("KILL", postmaster);
        let begun = Instant::now();
        while Path::new("/proc").join(postmaster.to_string()).join("exe").exists() {
            assert!(begun.elapsed() < PATIENCE, "the server does not die");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn postmaster(&self) -> Option<u32> {
        let file = fs::read_to_string(self.folder.join("data/postmaster.pid")).ok()?;
        file.lines().next()?.parse().ok()
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        let mut stop = postgres::as_other(postgres::programs().join("pg_ctl"));
        stop.arg("-D").arg(self.folder.join("data")).args(["-m", "immediate", "stop"]).current_dir("/");
        postgres::quiet(&mut stop);
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Makes a file one that the server alone may read.
pub fn keep_for_server(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let set = fs::set_permissions(path, fs::Permissions::from_mode(0o600));
    set.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    postgres::hand_over(path);
}

/// Runs statements at an address.
pub fn run_on(url: &str, statements: &str) {
    postgres::run(url, statements);
}

/// Stops processes of the server that tests use, until they are told to go on. A server that somebody named may be on another machine:
/// then what has this number here is somebody else's, and is left alone.
pub fn put_to_sleep(processes: &[u32]) {
    for process in processes {
        let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
        assert!(
            name.trim() == "postgres",
            "process {process} is no Postgres of this machine: name one that is by {}, or none",
            postgres::VARIABLE
        );
    }
    for process in processes {
        signal("STOP", *process);
    }
}

/// Sends a signal to a process, by name.
pub fn signal(name: &str, process: u32) {
    let sent = Command::new("kill").arg(format!("-{name}")).arg(process.to_string()).status();
    assert!(sent.is_ok(), "no signal: {sent:?}");
}

/// The processes that a process has started.
fn children(of: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap_or_else(|error| panic!("/proc: {error}"));
    let numbers = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_child = |process: &u32| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        // The name of the program may hold anything; what follows it is the state and the parent.
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
        parent == Some(of)
    };
    numbers.filter(is_child).collect()
}
