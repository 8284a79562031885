//! Which pull request is meant.

/// The longest name of an owner or a repository.
const NAME_MOST: usize = 100;
/// The longest name of a branch, in bytes.
const BRANCH_MOST: usize = 255;

/// A repository on the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    pub(super) owner: String,
    pub(super) name: String,
}

/// A name that cannot be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadReference {
    /// No repository is called so.
    #[error("a repository is named owner/name, of letters, digits, `-`, `_` and `.`")]
    Repository,
    /// Not a number from 1.
    #[error("a pull request has a number from 1")]
    Number,
    /// No branch is called so.
    #[error("a branch has a name of at most {BRANCH_MOST} bytes, without spaces and control characters")]
    Branch,
    /// Not the address of a pull request.
    #[error("the address of a pull request ends in /owner/name/pull/number")]
    Address,
}

impl Repository {
    /// Reads an owner and a name.
    pub fn new(owner: &str, name: &str) -> Result<Self, BadReference> {
        let fits = |word: &str| {
            (1..=NAME_MOST).contains(&word.len())
                && !matches!(word, "." | "..")
                && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        };
        if fits(owner) && fits(name) {
            Ok(Self { owner: owner.to_owned(), name: name.to_owned() })
        } else {
            Err(BadReference::Repository)
        }
    }

    /// Reads `owner/name`.
    pub fn parse(text: &str) -> Result<Self, BadReference> {
        let (owner, name) = text.split_once('/').ok_or(BadReference::Repository)?;
        Self::new(owner, name)
    }

    /// Who it belongs to.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Which pull request is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PullRef {
    /// The one with this number.
    Number {
        /// Where it is.
        repository: Repository,
        /// Its number.
        number: u64,
    },
    /// The newest one from this branch.
    Branch {
        /// Where it goes to.
        repository: Repository,
        /// Who the branch belongs to, when it is not the repository's owner: a fork's.
        head_owner: Option<String>,
        /// What the branch is called.
        branch: String,
    },
}

impl PullRef {
    /// By number.
    pub fn number(repository: Repository, number: u64) -> Result<Self, BadReference> {
        if number == 0 { Err(BadReference::Number) } else { Ok(Self::Number { repository, number }) }
    }

    /// By branch, `name` or `owner:name`.
    pub fn branch(repository: Repository, branch: &str) -> Result<Self, BadReference> {
        let (head_owner, branch) = match branch.split_once(':') {
            Some((owner, branch)) => (Some(Repository::new(owner, "any")?.owner), branch),
            None => (None, branch),
        };
        let fits = (1..=BRANCH_MOST).contains(&branch.len())
            && !branch.starts_with('-')
            && !branch.chars().any(|char| char.is_control() || char.is_whitespace());
        if fits {
            Ok(Self::Branch { repository, head_owner, branch: branch.to_owned() })
        } else {
            Err(BadReference::Branch)
        }
    }

    /// By the address that a person sees. Its host is not asked: only the operator's is.
    pub fn parse_url(address: &str) -> Result<Self, BadReference> {
        let address = reqwest::Url::parse(address).map_err(|_| BadReference::Address)?;
        if !matches!(address.scheme(), "http" | "https") {
            return Err(BadReference::Address);
        }
        let path: Vec<&str> = address.path_segments().map(Iterator::collect).unwrap_or_default();
        // Behind the number there may be a tab of the page, such as `files`.
        let at = path.iter().position(|word| matches!(*word, "pull" | "pulls")).ok_or(BadReference::Address)?;
        let (Some(owner), Some(name), Some(number)) =
            (at.checked_sub(2).map(|at| path[at]), at.checked_sub(1).map(|at| path[at]), path.get(at + 1))
        else {
            return Err(BadReference::Address);
        };
        let number = number.parse().map_err(|_| BadReference::Number)?;
        Self::number(Repository::new(owner, name)?, number)
    }

    /// The repository that it goes to.
    pub const fn repository(&self) -> &Repository {
        match self {
            Self::Number { repository, .. } | Self::Branch { repository, .. } => repository,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_before_they_are_used() {
        assert!(Repository::parse("docket-work/docket.rs").is_ok());
        for text in ["", "docket", "a/b/c", "../x", "a/..", "a b/c", "a/b?c", "é/x", &format!("a/{}", "b".repeat(101))]
        {
            assert_eq!(Repository::parse(text).err(), Some(BadReference::Repository), "{text}");
        }
    }

    #[test]
    fn branches_and_numbers_are_bounded() {
        let repository = || Repository::parse("o/r").expect("a repository");
        assert_eq!(PullRef::number(repository(), 0), Err(BadReference::Number));
        for branch in ["", "-x", "a b", "a\nb", &"x".repeat(256)] {
            assert_eq!(PullRef::branch(repository(), branch), Err(BadReference::Branch), "{branch}");
        }
        let fork = PullRef::branch(repository(), "someone:fix/it").expect("a branch");
        let expected = PullRef::Branch {
            repository: repository(),
            head_owner: Some("someone".to_owned()),
            branch: "fix/it".to_owned(),
        };
        assert_eq!(fork, expected);
    }

    #[test]
    fn the_address_of_a_page_names_a_pull_request() {
        let expected = PullRef::number(Repository::parse("o/r").expect("a repository"), 7);
        for address in ["https://github.com/o/r/pull/7", "https://git.example.org/o/r/pulls/7/files#diff"] {
            assert_eq!(PullRef::parse_url(address), expected, "{address}");
        }
        for address in ["", "o/r#7", "https://github.com/o/r", "https://github.com/pull/7", "ftp://h/o/r/pull/7"] {
            assert_eq!(PullRef::parse_url(address), Err(BadReference::Address), "{address}");
        }
        assert_eq!(PullRef::parse_url("https://github.com/o/r/pull/x"), Err(BadReference::Number));
    }
}
