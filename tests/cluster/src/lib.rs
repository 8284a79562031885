//! A Postgres server that is thrown away afterwards: for tests, and for the bench.
//!
//! A cluster is started in a temporary folder, as another user where we are root, since the server refuses that. All
//! programs of one target folder share it: each holds a lock on a file for as long as it lives, and a guard, a process of
//! its own, stops the server and removes the folder when nobody holds it any more. So it is gone also after programs that
//! were killed.
//!
//! A machine without Postgres gets Debian's, where we may install it. Where there is none, this panics: nothing may pass
//! because there was nothing to try it with.
#![expect(clippy::missing_panics_doc, reason = "those who use it stop at the first thing that is wrong")]

pub mod pooler;
mod programs;

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub use programs::programs;

/// Names a server to use instead, by the address of a database from which others may be made.
pub const VARIABLE: &str = "DOCKET_TEST_POSTGRES";

/// The role that owns everything in a throwaway cluster.
pub const ROLE: &str = "docket";

/// The same address with another database.
pub fn at_database(url: &str, name: &str) -> String {
    let (place, query) = url.split_once('?').map_or((url, None), |(place, query)| (place, Some(query)));
    let begin = place.find("//").map_or(0, |at| at + 2);
    let end = place[begin..].find('/').map_or(place.len(), |at| begin + at);
    let query = query.map_or_else(String::new, |query| format!("?{query}"));
    format!("{}/{name}{query}", &place[..end])
}

/// When a cluster's commits are flushed to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flushes {
    /// Never: nothing is lost while the machine runs, and tests are quicker.
    Never,
    /// Each before it is answered, as where others run it.
    Always,
}

/// A running cluster, and our share in it.
#[derive(Debug)]
pub struct Cluster {
    desk: PathBuf,
    folder: PathBuf,
    /// Held for as long as the cluster is used.
    share: File,
}

impl Cluster {
    /// Joins the cluster of this target folder; starts it when there is none.
    pub fn join(flushes: Flushes) -> Self {
        let desk = desk(flushes);
        let users = open(&desk.join("users"));
        // While we hold this, nobody else starts or stops one.
        let door = open(&desk.join("door"));
        door.lock().unwrap_or_else(|error| panic!("the lock of the test cluster: {error}"));
        users.lock_shared().unwrap_or_else(|error| panic!("the lock of the test cluster: {error}"));
        let note = desk.join("folder");
        if let Ok(folder) = fs::read_to_string(&note)
            && runs(Path::new(&folder))
        {
            return Self { desk, folder: PathBuf::from(folder), share: users };
        }
        let folder = start(&desk, flushes);
        fs::write(&note, folder.display().to_string()).unwrap_or_else(|error| panic!("{}: {error}", note.display()));
        Self { desk, folder, share: users }
    }

    /// Gives our share back, and stops the cluster at once where nobody else has one. The guard would do so a little later.
    pub fn leave(self) {
        let door = open(&self.desk.join("door"));
        let alone = door.lock().is_ok() && self.share.unlock().is_ok() && self.share.try_lock().is_ok();
        if alone {
            let mut stop = as_other(programs().join("pg_ctl"));
            stop.arg("-D").arg(self.folder.join("data")).args(["-m", "immediate", "stop"]).current_dir("/");
            quiet(&mut stop);
            pooler::end(&self.folder);
            let _ = fs::remove_dir_all(&self.folder);
        }
    }

    /// A pooler before it, by the folder of its socket; none where there is no `PgBouncer` to be had.
    pub fn pooler(&self) -> Option<PathBuf> {
        let door = open(&self.desk.join("door"));
        door.lock().unwrap_or_else(|error| panic!("the lock of the test cluster: {error}"));
        pooler::start(&self.folder)
    }

    /// The address of its first database.
    pub fn url(&self) -> String {
        first_database(&self.folder)
    }
}

/// Where the programs of one target folder meet. Those that find another version of Postgres have another cluster.
fn desk(flushes: Flushes) -> PathBuf {
    let version = programs::version(&programs());
    let name = match flushes {
        Flushes::Never => format!("postgres-{version}"),
        Flushes::Always => format!("postgres-{version}-flushing"),
    };
    let here = std::env::current_exe().unwrap_or_else(|error| panic!("this program has no path: {error}"));
    let profile = here.ancestors().find(|folder| folder.join("deps").is_dir());
    let desk = profile.unwrap_or_else(|| panic!("{} lies in no target folder", here.display())).join(name);
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
fn start(desk: &Path, flushes: Flushes) -> PathBuf {
    let folder = own_folder();
    make_cluster(&folder);
    let flushing = match flushes {
        Flushes::Never => "-c fsync=off -c full_page_writes=off",
        Flushes::Always => "-c fsync=on",
    };
    launch(&folder, &format!("{flushing} -c max_connections=400 -c shared_buffers=64MB"));
    let (desk, shown, stop) = (desk.display(), folder.display(), stop_words());
    let end = pooler::end_words(&folder.display().to_string());
    // Between two programs of one run there may be a moment without any: it looks twice, some time apart.
    watch_over(&format!(
        "cd '{shown}'; while :; do sleep 10; flock -n -x '{desk}/users' true || continue; sleep 5; \
         flock -x '{desk}/door' flock -n -x '{desk}/users' {stop} -D '{shown}/data' -m immediate stop && break; \
         [ -d '{shown}/data' ] || break; done; {end}; cd /; rm -rf '{shown}'"
    ));
    folder
}

/// A folder that belongs to the user that servers run as. Nobody removes it but a guard.
pub fn own_folder() -> PathBuf {
    let folder = tempfile::Builder::new().prefix("docket-pg-").tempdir();
    let folder = folder.unwrap_or_else(|error| panic!("no temporary folder: {error}")).keep();
    hand_over(&folder);
    folder
}

/// Gives a file or folder to the user that servers run as.
pub fn hand_over(path: &Path) {
    if let Some((user, group)) = other_user() {
        let number = |text: String| text.parse().ok();
        std::os::unix::fs::chown(path, number(user), number(group))
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

/// Makes the files of a new cluster in a folder.
pub fn make_cluster(folder: &Path) {
    let data = folder.join("data");
    // With rules of a language for the order of texts, where the server knows any: ours must not depend on them.
    let made = [&["--locale-provider=icu", "--icu-locale=en-US"][..], &[]].into_iter().any(|locale| {
        let mut command = as_other(programs().join("initdb"));
        command.args(["-U", ROLE, "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C.UTF-8"]).args(locale);
        quiet(command.arg("-D").arg(&data).current_dir(folder))
    });
    assert!(made, "initdb does not make a cluster in {}", data.display());
}

/// Starts the server of a folder, with a socket there.
pub fn launch(folder: &Path, settings: &str) {
    let settings = format!(
        "-c listen_addresses='' -c unix_socket_directories='{}' -c logging_collector=off {settings}",
        folder.display()
    );
    let log = folder.join("log");
    let mut command = as_other(programs().join("pg_ctl"));
    command.arg("-D").arg(folder.join("data")).arg("-l").arg(&log).args(["-w", "-o", &settings, "start"]);
    let said = || fs::read_to_string(&log).unwrap_or_default();
    assert!(quiet(command.current_dir(folder)), "the Postgres server does not start: {}", said());
}

/// The address of the first database of a folder's server.
pub fn first_database(folder: &Path) -> String {
    format!("postgres://{ROLE}@localhost/postgres?host={}", folder.display())
}

/// How a shell stops a server.
pub fn stop_words() -> String {
    let stop = as_other(programs().join("pg_ctl"));
    let words = std::iter::once(stop.get_program()).chain(stop.get_args());
    words.map(|word| format!("'{}'", word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

/// Starts the process that stops a server when nobody uses it any more.
pub fn watch_over(script: &str) {
    let started = Command::new("setsid")
        .args(["sh", "-c", script])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    assert!(started.is_ok(), "no process watches over the test cluster: {started:?}");
}

/// A command as the user that the server runs as.
pub fn as_other(program: PathBuf) -> Command {
    let Some((user, group)) = other_user() else { return Command::new(program) };
    let mut command = Command::new("setpriv");
    command.args([&format!("--reuid={user}"), &format!("--regid={group}"), "--clear-groups", "--"]);
    command.arg(program);
    command
}

/// Runs a command without a word; says whether it succeeded.
pub fn quiet(command: &mut Command) -> bool {
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

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0)
}
