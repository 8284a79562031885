//! A git repository of a test's own, with a database beside its files.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::mcp::Server;
use crate::postgres::Database;
use crate::program::docket;

/// A repository in which `sh check.sh` passes once the file `state` says `fixed`.
#[derive(Debug)]
pub struct Repository {
    folder: TempDir,
    server: Option<Database>,
}

impl Repository {
    /// One whose operator lets these commands run: `all`, or a list as TOML spells it.
    pub fn new(allow: &str) -> Self {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("no folder: {error}"));
        let repository = Self { folder, server: None };
        repository.write(
            "docket.toml",
            &format!("[project]\nslug = \"proof\"\npreset = \"cairn\"\n[runner]\nallow = {allow}\n"),
        );
        repository.write(".gitignore", ".docket/\nclock\n");
        repository.write("check.sh", "echo looking at $(cat state)\ntest \"$(cat state)\" = fixed\n");
        repository.write("state", "broken\n");
        repository.git(&["init", "--quiet", "--initial-branch", "main"]);
        repository.commit("begun");
        std::fs::create_dir(repository.path().join(".docket")).unwrap_or_else(|error| panic!("no folder: {error}"));
        repository
    }

    /// The same with a database of its own on a server.
    pub fn on_server(allow: &str) -> Self {
        Self { server: Some(Database::new()), ..Self::new(allow) }
    }

    /// Its root.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Its database, where that is a file.
    pub fn database(&self) -> PathBuf {
        self.path().join(".docket/docket.db")
    }

    /// Its database as `--db` names it.
    pub fn word(&self) -> String {
        self.server.as_ref().map_or_else(|| format!("sqlite:{}", self.database().display()), Database::url)
    }

    /// Writes a file.
    pub fn write(&self, name: &str, text: &str) {
        write(self.path(), name, text);
    }

    /// Commits everything.
    pub fn commit(&self, message: &str) {
        commit(self.path(), message);
    }

    /// Runs git in it.
    pub fn git(&self, words: &[&str]) -> String {
        git(self.path(), words)
    }

    /// A worktree beside it, on a branch of its own.
    pub fn worktree(&self, name: &str) -> PathBuf {
        let place = self.path().join(".docket").join(name);
        self.git(&["worktree", "add", "--quiet", "-b", name, &place.display().to_string()]);
        place
    }

    /// A server on its database, started in one of its folders.
    pub fn server(&self, folder: &Path, surface: &str, actor: &str, plant: Option<&str>) -> Server {
        let arguments = ["--surface", surface, "--actor", actor];
        let started = Server::try_start_on(&self.word(), folder, &arguments, |command| {
            command.env_remove("DOCKET_ACTOR");
            if let Some(bug) = plant {
                command.env("DOCKET_PLANT", bug);
            }
        });
        started.unwrap_or_else(|_| panic!("the server ended at once"))
    }

    /// Runs the program in one of its folders.
    pub fn docket(&self, folder: &Path, arguments: &[&str]) -> Output {
        let mut command = Command::new(docket());
        command.arg("--db").arg(self.word()).args(arguments);
        command.current_dir(folder).env_remove("DOCKET_ACTOR");
        command.output().unwrap_or_else(|error| panic!("the program does not start: {error}"))
    }

    /// The same for an answer in JSON.
    pub fn docket_json(&self, arguments: &[&str]) -> Value {
        let arguments: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
        let ran = self.docket(self.path(), &arguments);
        assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
        serde_json::from_slice(&ran.stdout).unwrap_or_else(|error| panic!("no JSON: {error}"))
    }
}

/// Writes a file into a folder.
pub fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).unwrap_or_else(|error| panic!("{name} cannot be written: {error}"));
}

/// Commits everything in a work tree.
pub fn commit(folder: &Path, message: &str) {
    git(folder, &["add", "-A"]);
    git(folder, &["-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "--quiet", "-m", message]);
}

/// Runs git in a folder.
pub fn git(folder: &Path, words: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(words).current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let ran = command.output().unwrap_or_else(|error| panic!("git does not start: {error}"));
    assert!(ran.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).trim().to_owned()
}
