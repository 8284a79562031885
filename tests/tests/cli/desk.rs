//! A folder of its own for each test, and the program run in it with nothing of the developer's around.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use docket_tests::program::docket;
use serde_json::Value;
use tempfile::TempDir;

/// A folder with a database in it.
pub(crate) struct Desk {
    folder: TempDir,
}

/// How a run of the program ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Desk {
    /// A folder without a database.
    pub(crate) fn bare() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("here")).expect("a folder");
        Self { folder }
    }

    /// A folder with a database and a project whose keys begin with `W`.
    pub(crate) fn new() -> Self {
        let desk = Self::bare();
        desk.ok(&["init", "--surface", "task-orchestrator", "--prefix", "W", "--name", "Work"]);
        desk
    }

    /// The same with another preset.
    pub(crate) fn standard() -> Self {
        let desk = Self::bare();
        desk.ok(&["init", "--prefix", "W", "--preset", "standard"]);
        desk
    }

    /// The working folder.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("here")
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let file = self.file(name);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(&file, text).expect("a file");
        file
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).expect("a file")
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.file(".docket/docket.db")
    }

    /// The program, ready to be started.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(docket());
        command.args(arguments).current_dir(self.path()).env_clear();
        command.env("HOME", self.folder.path()).env("USER", "ann").env("COLUMNS", "100");
        command.stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command(arguments).output().expect("the program starts"))
    }

    pub(crate) fn run_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Ran {
        Ran::of(self.command(arguments).envs(variables.iter().copied()).output().expect("the program starts"))
    }

    pub(crate) fn run_fed(&self, input: &[u8], arguments: &[&str]) -> Ran {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        // It may refuse without reading to the end.
        _ = child.stdin.take().expect("its input").write_all(input);
        Ran::of(child.wait_with_output().expect("the program ends"))
    }

    /// What it prints when all is well.
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        self.run(arguments).good()
    }

    /// The same as JSON.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let arguments: Vec<&str> = ["--json"].iter().chain(arguments).copied().collect();
        serde_json::from_str(&self.run(&arguments).good()).expect("JSON")
    }

    /// What it says when it ends with this code.
    pub(crate) fn fails(&self, code: i32, arguments: &[&str]) -> String {
        self.run(arguments).bad(code)
    }

    /// The error for programs.
    pub(crate) fn error(&self, code: i32, arguments: &[&str]) -> Value {
        let arguments: Vec<&str> = ["--json"].iter().chain(arguments).copied().collect();
        self.run(&arguments).error(code)
    }

    /// Makes an item and returns its key.
    pub(crate) fn add(&self, arguments: &[&str]) -> String {
        let arguments: Vec<&str> = ["item", "add"].iter().chain(arguments).copied().collect();
        self.json(&arguments)["key"].as_str().expect("a key").to_owned()
    }

    /// One field of an item.
    pub(crate) fn field(&self, key: &str, field: &str) -> Value {
        self.json(&["item", "show", key])["item"][field].clone()
    }
}

impl Ran {
    fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        Self { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
    }

    pub(crate) fn good(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        assert!(!self.err.contains("panicked"), "{self:?}");
        self.out
    }

    /// What a run says that must end with this code and answer nothing.
    pub(crate) fn bad(self, code: i32) -> String {
        assert_eq!(self.code, code, "{self:?}");
        assert!(!self.err.contains("panicked"), "{self:?}");
        assert_eq!(self.out, "", "a failure answers nothing: {self:?}");
        assert!(!self.err.trim().is_empty(), "a failure says something: {self:?}");
        self.err
    }

    pub(crate) fn error(self, code: i32) -> Value {
        let said = self.bad(code);
        let line = said.lines().last().expect("a line");
        serde_json::from_str::<Value>(line).expect("JSON")["error"].clone()
    }
}

/// Whether a terminal would act on anything in a text.
pub(crate) fn is_harmless(text: &str) -> bool {
    !text.chars().any(|c| (c.is_control() && c != '\n' && c != '\t') || docket_core::is_bidi_control(c))
}

/// The path as text.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}
