//! What shows that work is done: commands that are run, a person's attestation, facts outside.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{Authority, CriterionId, Name, RunId, Text, Timestamp};
use crate::error::{Invalid, Reason, echo};
use crate::limits;
use crate::plant::{Bug, planted};

/// A folder inside a repository, as it is written: relative, never upwards.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Folder(String);

impl Folder {
    /// A folder beneath the root of a repository. Whether it exists, and leads nowhere else, is seen when it is used.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let outside = |why: &str| {
            let message = format!("must be a folder inside the repository, {why}: \"{}\"", echo(text));
            Invalid::new(Reason::OutsideWorktree, message)
        };
        if text.len() > limits::FOLDER_BYTES {
            return Err(Invalid::new(Reason::TooLong, format!("must be at most {} bytes", limits::FOLDER_BYTES)));
        }
        if text.chars().any(char::is_control) {
            return Err(Invalid::new(Reason::BadChar, "must not hold control characters"));
        }
        if text.is_empty() {
            return Err(Invalid::new(Reason::Blank, "must not be empty; \".\" is the repository itself"));
        }
        if text.starts_with('/') || text.starts_with('\\') || text.starts_with('~') {
            return Err(outside("relative to its root"));
        }
        if text.split(['/', '\\']).any(|part| part == "..") {
            return Err(outside("without \"..\""));
        }
        Ok(Self(text.to_owned()))
    }

    /// The folder as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Folder {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        Self::parse(&text)
    }
}

impl From<Folder> for String {
    fn from(folder: Folder) -> Self {
        folder.0
    }
}

/// A repository on a server that hosts it: `owner/name`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Repository(String);

impl Repository {
    /// A repository as it is named there.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let plain = |part: &str| {
            !part.is_empty()
                && part.len() <= 100
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
                && !part.bytes().all(|byte| byte == b'.')
        };
        match text.split_once('/') {
            Some((owner, name)) if plain(owner) && plain(name) => Ok(Self(text.to_owned())),
            Some(_) | None => {
                Err(Invalid::new(Reason::BadValue, format!("must be owner/name, not \"{}\"", echo(text))))
            }
        }
    }

    /// The repository as it is named.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Repository {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        Self::parse(&text)
    }
}

impl From<Repository> for String {
    fn from(repository: Repository) -> Self {
        repository.0
    }
}

/// How a check is made.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum CheckKind {
    /// A command line that ends well.
    Command {
        /// What a shell is given.
        cmd: Text,
        /// Where it runs: a folder of the repository; its root, where nothing is said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
        cwd: Option<Folder>,
        /// How long it may take.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_seconds: Option<u32>,
    },
    /// A person's word.
    Manual,
    /// A pull request that was merged.
    PullRequest {
        /// Where.
        #[cfg_attr(feature = "openapi", schema(value_type = String))]
        repository: Repository,
        /// Which one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        number: Option<u64>,
        /// The newest of this branch, where no number is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<Name>,
    },
}

impl CheckKind {
    /// Whether a runner can make it.
    pub fn is_runnable(&self) -> bool {
        match self {
            Self::Command { .. } | Self::PullRequest { .. } => true,
            Self::Manual => false,
        }
    }

    /// Whether it is made in a work tree, where another could disturb it.
    pub fn needs_room(&self) -> bool {
        match self {
            Self::Command { .. } => true,
            Self::PullRequest { .. } | Self::Manual => false,
        }
    }

    /// The same with a time of its own: this one, where it names none.
    #[must_use]
    pub fn within(mut self, usual: u32) -> Self {
        if let Self::Command { timeout_seconds, .. } = &mut self {
            timeout_seconds.get_or_insert(usual);
        }
        self
    }

    /// How long it may take.
    pub fn timeout_seconds(&self) -> u32 {
        match self {
            Self::Command { timeout_seconds, .. } => timeout_seconds.unwrap_or(limits::CHECK_SECONDS),
            Self::Manual | Self::PullRequest { .. } => limits::CHECK_SECONDS,
        }
    }
}

/// What a check says, in short: a result and an approval count for as long as it says the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Definition(String);

impl Definition {
    /// What a check with this text and this way of making it says.
    pub fn of(desc: &Text, kind: &CheckKind) -> Self {
        // Plain data: it always serialises.
        let bytes = serde_json::to_vec(&(desc, kind)).unwrap_or_default();
        let mut shown = String::with_capacity(32);
        for byte in Sha256::digest(&bytes).iter().take(16) {
            // Writing into a text cannot fail.
            _ = write!(shown, "{byte:02x}");
        }
        Self(shown)
    }

    /// The definition as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The content of a work tree, as git names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Tree(String);

impl Tree {
    /// A tree by its name: hex digits.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let hex = (8..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if hex {
            return Ok(Self(text.to_ascii_lowercase()));
        }
        Err(Invalid::new(Reason::BadValue, format!("must be the hex digits of a git tree, not \"{}\"", echo(text))))
    }

    /// The tree as it is named.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its first digits, for a reader.
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

impl TryFrom<String> for Tree {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        Self::parse(&text)
    }
}

impl From<Tree> for String {
    fn from(tree: Tree) -> Self {
        tree.0
    }
}

/// What somebody let run.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// Who.
    pub by: Name,
    /// When.
    pub at: Timestamp,
    /// What the check said then.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub definition: Definition,
}

/// What became of a check when it was last made.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckResult {
    /// Whether it holds.
    pub passed: bool,
    /// What the check said then.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub definition: Definition,
    /// The work tree it was made on, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub tree: Option<Tree>,
    /// Whether the work tree was another one after it was made, or could not be looked at any more: then a pass counts for nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tree_changed: bool,
    /// When.
    pub at: Timestamp,
    /// Who made it.
    pub by: Name,
    /// Who asked for the run, where it was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<Name>,
    /// The run, where it was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub run: Option<RunId>,
    /// What was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Text>,
}

/// One thing that must be shown before its item counts as done.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// What it verifies.
    pub desc: Text,
    /// How it is made.
    #[serde(flatten)]
    pub kind: CheckKind,
    /// The acceptance criterion that it proves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub proves: Option<CriterionId>,
    /// Who wrote it.
    pub author: Name,
    /// The same as we know them, where they showed a key or a token: whatever they call themselves, they do not approve it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_by: Option<Name>,
    /// Whose word it is: only the same, or a weightier one, takes it away again.
    pub authority: Authority,
    /// Who let it run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<Approval>,
    /// What became of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<CheckResult>,
}

impl Check {
    /// What it says.
    pub fn definition(&self) -> Definition {
        Definition::of(&self.desc, &self.kind)
    }

    /// Whether somebody let exactly this run.
    pub fn is_approved(&self) -> bool {
        self.approved.as_ref().is_some_and(|approval| approval.definition == self.definition())
    }

    /// What became of it, as far as that still counts for what it says.
    pub fn current(&self) -> Option<&CheckResult> {
        let same =
            |result: &&CheckResult| result.definition == self.definition() || planted(Bug::DefinitionNotCompared);
        self.result.as_ref().filter(same)
    }

    /// How it stands, whatever the work tree is now.
    pub fn standing(&self) -> CheckStanding {
        match (self.current(), &self.result) {
            (Some(result), _) if result.passed && result.tree_changed => CheckStanding::Stale,
            (Some(result), _) if result.passed => CheckStanding::Pass,
            (Some(_), _) => CheckStanding::Fail,
            (None, Some(_)) => CheckStanding::Stale,
            (None, None) => CheckStanding::Pending,
        }
    }
}

/// How a check stands.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckStanding {
    /// It was not made yet.
    Pending,
    /// It holds.
    Pass,
    /// It does not hold.
    Fail,
    /// It was made, of something else: the check or the work tree changed since.
    Stale,
    /// It was made of this check on a work tree, and nobody has looked whether that is the one there is.
    Unseen,
}

impl CheckStanding {
    /// The standing as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Stale => "stale",
            Self::Unseen => "unseen",
        }
    }
}

/// What completing an item asks for before it counts as done.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerificationKind {
    /// Nothing.
    #[default]
    None,
    /// A person's word.
    Manual,
    /// Commands that end well.
    Command,
    /// A merged pull request.
    GithubPr,
}

impl VerificationKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::None, Self::Manual, Self::Command, Self::GithubPr];

    /// The kind as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Manual => "manual",
            Self::Command => "command",
            Self::GithubPr => "github_pr",
        }
    }

    /// What an item with these checks asks for: what takes longest to come says it.
    pub fn of(checks: &[Check]) -> Self {
        let has = |wanted: fn(&CheckKind) -> bool| checks.iter().any(|check| wanted(&check.kind));
        if has(|kind| matches!(kind, CheckKind::PullRequest { .. })) {
            Self::GithubPr
        } else if has(|kind| matches!(kind, CheckKind::Command { .. })) {
            Self::Command
        } else if checks.is_empty() {
            Self::None
        } else {
            Self::Manual
        }
    }

    /// About how long until it is known, in seconds; nobody can say of a person.
    pub fn eta_seconds(self) -> Option<u32> {
        match self {
            Self::None => Some(0),
            Self::Command => Some(30),
            Self::GithubPr => Some(60),
            Self::Manual => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Text {
        Text::parse(text).expect("a text")
    }

    #[test]
    fn a_folder_stays_inside() {
        for good in [".", "crates/core", "a..b", "./x"] {
            Folder::parse(good).expect(good);
        }
        for (bad, reason) in [
            ("..", Reason::OutsideWorktree),
            ("a/../b", Reason::OutsideWorktree),
            ("/etc", Reason::OutsideWorktree),
            ("~/x", Reason::OutsideWorktree),
            ("a\\..\\b", Reason::OutsideWorktree),
            ("", Reason::Blank),
            ("a\nb", Reason::BadChar),
        ] {
            assert_eq!(Folder::parse(bad).expect_err(bad).reason, reason, "{bad:?}");
        }
    }

    #[test]
    fn every_part_of_a_definition_counts() {
        let command = |cmd: &str, cwd: Option<&str>, timeout_seconds| CheckKind::Command {
            cmd: text(cmd),
            cwd: cwd.map(|cwd| Folder::parse(cwd).expect("a folder")),
            timeout_seconds,
        };
        let all = [
            Definition::of(&text("tests"), &command("true", None, None)),
            Definition::of(&text("other"), &command("true", None, None)),
            Definition::of(&text("tests"), &command("false", None, None)),
            Definition::of(&text("tests"), &command("true", Some("a"), None)),
            Definition::of(&text("tests"), &command("true", None, Some(3))),
            Definition::of(&text("tests"), &CheckKind::Manual),
        ];
        let different: std::collections::HashSet<&Definition> = all.iter().collect();
        assert_eq!(different.len(), all.len());
        assert_eq!(all[0], Definition::of(&text("tests"), &command("true", None, None)));
    }

    #[test]
    fn a_check_reads_as_it_is_written() {
        let json = r#"{"desc":"tests pass","type":"command","cmd":"true","author":"ada","authority":"human"}"#;
        let check: Check = serde_json::from_str(json).expect("a check");
        assert_eq!(serde_json::to_string(&check).expect("text"), json);
        assert_eq!(check.standing(), CheckStanding::Pending);
    }
}
