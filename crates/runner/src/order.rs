//! What is to be run, and why it may be refused before anything is.

use std::path::PathBuf;
use std::time::Duration;

use crate::limits::{COMMAND_BYTES, FOLDER_BYTES, TIMEOUT_DEFAULT, TIMEOUT_LEAST, TIMEOUT_MOST};

/// A command line to be run once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The repository or worktree that was registered. It is trusted, what lies in it is not.
    pub root: PathBuf,
    /// The working folder, relative to the root; empty or `.` is the root.
    pub folder: String,
    /// What `/bin/sh -c` is given.
    pub command: String,
    /// How long it may take.
    pub timeout: Duration,
    /// Variables of ours that say what is run, such as `DOCKET_ITEM`.
    pub marks: Vec<(String, String)>,
}

impl Order {
    /// A command line in the root, with the default time limit.
    pub fn new(root: impl Into<PathBuf>, command: impl Into<String>) -> Self {
        Self {
            root: root.into(),
            folder: String::new(),
            command: command.into(),
            timeout: TIMEOUT_DEFAULT,
            marks: Vec::new(),
        }
    }

    /// Whether it can be run at all, the folder's existence apart: that is looked at when it runs.
    pub fn check(&self) -> Result<(), Refusal> {
        check_command(&self.command)?;
        check_folder(&self.folder)?;
        check_timeout(self.timeout)
    }
}

/// Why nothing was run. The message is for whoever wrote the order and quotes nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no command.
    #[error("the command is empty")]
    CommandEmpty,
    /// The command is too long.
    #[error("the command is longer than {COMMAND_BYTES} bytes")]
    CommandTooLong,
    /// The command is no line of text.
    #[error("the command has a line break or another control character: it must be one line")]
    CommandNotALine,
    /// The time limit is outside what is allowed.
    #[error("the time limit must be between {} and {} seconds", TIMEOUT_LEAST.as_secs(), TIMEOUT_MOST.as_secs())]
    BadTimeout,
    /// The folder is no path that could lie in a repository.
    #[error("the working folder is no plain relative path of at most {FOLDER_BYTES} bytes")]
    BadFolder,
    /// The folder leads out of the repository: absolute, by `..` or by a link.
    #[error("the working folder leads out of the repository")]
    OutsideWorktree,
    /// The folder is not there.
    #[error("the working folder does not exist")]
    NoSuchFolder,
    /// The folder is something else.
    #[error("the working folder is not a folder")]
    NotAFolder,
    /// The registered root cannot be opened.
    #[error("the registered repository cannot be opened")]
    NoSuchRoot,
    /// The folder may not be entered.
    #[error("the working folder cannot be opened: {0}")]
    FolderUnreadable(String),
}

impl Refusal {
    /// A stable name.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::CommandEmpty | Self::CommandTooLong | Self::CommandNotALine => "bad_command",
            Self::BadTimeout => "bad_timeout",
            Self::BadFolder => "bad_folder",
            Self::OutsideWorktree => "outside_worktree",
            Self::NoSuchFolder => "no_such_folder",
            Self::NotAFolder => "not_a_folder",
            Self::NoSuchRoot => "no_such_repository",
            Self::FolderUnreadable(_) => "folder_unreadable",
        }
    }
}

/// Whether a text is one line that a shell can be given.
pub fn check_command(command: &str) -> Result<(), Refusal> {
    if command.trim().is_empty() {
        return Err(Refusal::CommandEmpty);
    }
    if command.len() > COMMAND_BYTES {
        return Err(Refusal::CommandTooLong);
    }
    if command.chars().any(|char| char.is_control() && char != '\t') {
        return Err(Refusal::CommandNotALine);
    }
    Ok(())
}

/// Whether a folder could lie beneath a repository, going by its name alone. What it really leads to is seen when it is
/// opened.
pub fn check_folder(folder: &str) -> Result<(), Refusal> {
    if folder.len() > FOLDER_BYTES || folder.chars().any(char::is_control) {
        return Err(Refusal::BadFolder);
    }
    if folder.starts_with('/') || folder.split('/').any(|part| part == "..") {
        return Err(Refusal::OutsideWorktree);
    }
    Ok(())
}

/// Whether a time limit is within what is allowed.
pub fn check_timeout(timeout: Duration) -> Result<(), Refusal> {
    if (TIMEOUT_LEAST..=TIMEOUT_MOST).contains(&timeout) { Ok(()) } else { Err(Refusal::BadTimeout) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_one_line_of_bounded_length() {
        for (command, expected) in [
            (String::new(), Err(Refusal::CommandEmpty)),
            (" \t".to_owned(), Err(Refusal::CommandEmpty)),
            ("x".repeat(COMMAND_BYTES), Ok(())),
            ("x".repeat(COMMAND_BYTES + 1), Err(Refusal::CommandTooLong)),
            ("x".repeat(100 * 1024), Err(Refusal::CommandTooLong)),
            ("true\0false".to_owned(), Err(Refusal::CommandNotALine)),
            ("true\nfalse".to_owned(), Err(Refusal::CommandNotALine)),
            ("true\rfalse".to_owned(), Err(Refusal::CommandNotALine)),
            ("\u{1b}[2J".to_owned(), Err(Refusal::CommandNotALine)),
            ("printf 'a\tb' && cargo test".to_owned(), Ok(())),
        ] {
            assert_eq!(check_command(&command), expected, "{command:.40}");
        }
    }

    #[test]
    fn a_time_limit_has_bounds() {
        for (millis, fits) in [(0, false), (999, false), (1000, true), (3_600_000, true), (3_600_001, false)] {
            assert_eq!(check_timeout(Duration::from_millis(millis)).is_ok(), fits, "{millis}");
        }
        assert_eq!(check_timeout(Duration::from_secs(1_000_000_000)), Err(Refusal::BadTimeout));
    }

    #[test]
    fn a_folder_is_relative_and_goes_down_only() {
        for folder in ["", ".", "src", "src/deep", "a..b", "..."] {
            assert_eq!(check_folder(folder), Ok(()), "{folder}");
        }
        for folder in ["..", "../x", "a/../b", "a/..", "/", "/etc"] {
            assert_eq!(check_folder(folder), Err(Refusal::OutsideWorktree), "{folder}");
        }
        for folder in ["a\0b", "a\nb", &"x".repeat(FOLDER_BYTES + 1)] {
            assert_eq!(check_folder(folder), Err(Refusal::BadFolder));
        }
    }
}
