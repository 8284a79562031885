//! A `PgBouncer` before a throwaway server, in transaction mode: what is promised of poolers is tried behind a real one.
//!
//! It lies in the folder of its server and goes with it. A machine without `PgBouncer` gets Debian's, where we may install it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{ROLE, as_other, hand_over, is_root, quiet};

/// The port that names its socket.
pub const PORT: u16 = 6432;

/// Names the folder of a pooler's socket, for the programs of one run.
pub const VARIABLE: &str = "DOCKET_TEST_POOLER";

/// Starts a pooler before the server of a folder; returns the folder of its socket, or none where there is no `PgBouncer` to be had.
/// One that runs already is taken.
pub fn start(server: &Path) -> Option<PathBuf> {
    let folder = server.join("pooler");
    if runs(&folder) {
        return Some(folder);
    }
    let program = program()?;
    fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let shown = folder.display();
    let settings = format!(
        "[databases]\n* = host={server} port=5432\n[pgbouncer]\nlisten_addr =\nlisten_port = {PORT}\nunix_socket_dir = {shown}\n\
         auth_type = trust\nauth_file = {shown}/users\npool_mode = transaction\ndefault_pool_size = 24\nmax_client_conn = 2000\n\
         server_idle_timeout = 10\nignore_startup_parameters = extra_float_digits\nlogfile = {shown}/log\npidfile = {shown}/pid\n",
        server = server.display()
    );
    for (name, text) in [("settings", settings), ("users", format!("\"{ROLE}\" \"\"\n"))] {
        let file = folder.join(name);
        fs::write(&file, text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        hand_over(&file);
    }
    hand_over(&folder);
    let mut command = as_other(program);
    command.arg("-d").arg(folder.join("settings")).current_dir(&folder);
    let said = || fs::read_to_string(folder.join("log")).unwrap_or_default();
    assert!(quiet(&mut command), "PgBouncer does not start: {}", said());
    let begun = std::time::Instant::now();
    while !folder.join(format!(".s.PGSQL.{PORT}")).exists() {
        assert!(begun.elapsed() < std::time::Duration::from_secs(10), "PgBouncer opens no socket: {}", said());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    Some(folder)
}

/// How a shell ends the pooler of a server's folder, if there is one.
pub(crate) fn end_words(server: &str) -> String {
    format!("[ -f '{server}/pooler/pid' ] && kill $(cat '{server}/pooler/pid') 2>/dev/null")
}

/// Ends the pooler of a server's folder.
pub(crate) fn end(server: &Path) {
    if let Ok(process) = fs::read_to_string(server.join("pooler/pid")) {
        quiet(Command::new("kill").arg(process.trim()));
    }
}

fn runs(folder: &Path) -> bool {
    let process = fs::read_to_string(folder.join("pid")).unwrap_or_default();
    !process.trim().is_empty() && Path::new("/proc").join(process.trim()).exists()
}

/// `PgBouncer`'s program: on the path, else where Debian has it, else after installing it.
fn program() -> Option<PathBuf> {
    if let Some(found) = find() {
        return Some(found);
    }
    if is_root() && Path::new("/usr/bin/apt-get").exists() {
        quiet(Command::new("apt-get").args(["update", "-q"]));
        let mut install = Command::new("apt-get");
        install.args(["install", "-q", "-y", "--no-install-recommends", "pgbouncer"]);
        quiet(install.env("DEBIAN_FRONTEND", "noninteractive"));
    }
    find()
}

fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin"), PathBuf::from("/usr/local/sbin")]);
    folders.map(|folder| folder.join("pgbouncer")).find(|file| File::open(file).is_ok())
}
