//! What the API says of a pull request, as far as we need it.

use serde::Deserialize;

use super::Failure;

/// A pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pull {
    /// Its number.
    pub number: u64,
    /// Where a person sees it.
    pub url: String,
    /// How far it is.
    pub state: PullState,
    /// The commit that it proposes, as it is now.
    pub head_commit: String,
    /// The branch it goes to.
    pub base_branch: String,
}

/// How far a pull request is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PullState {
    /// Neither merged nor closed.
    Open,
    /// Closed without being merged.
    Closed,
    /// Merged.
    Merged {
        /// The commit by which it was merged.
        commit: String,
        /// When, as the API says it.
        at: String,
    },
}

impl Pull {
    /// Whether it was merged.
    pub const fn is_merged(&self) -> bool {
        matches!(self.state, PullState::Merged { .. })
    }
}

#[derive(Deserialize)]
struct Raw {
    number: u64,
    html_url: String,
    state: String,
    // A list says when, one by itself says so twice.
    merged_at: Option<String>,
    merge_commit_sha: Option<String>,
    head: RawHead,
    base: RawBase,
}

#[derive(Deserialize)]
struct RawHead {
    sha: String,
}

#[derive(Deserialize)]
struct RawBase {
    #[serde(rename = "ref")]
    name: String,
}

/// One pull request.
pub(super) fn one(body: &[u8]) -> Result<Pull, Failure> {
    pull(serde_json::from_slice(body).map_err(|_| Failure::BadAnswer("it is no pull request"))?)
}

/// The newest of a list.
pub(super) fn newest(body: &[u8]) -> Result<Pull, Failure> {
    let list: Vec<Raw> =
        serde_json::from_slice(body).map_err(|_| Failure::BadAnswer("it is no list of pull requests"))?;
    // Servers that are only compatible may not sort.
    pull(list.into_iter().max_by_key(|raw| raw.number).ok_or(Failure::NotFound)?)
}

fn pull(raw: Raw) -> Result<Pull, Failure> {
    let state = match (raw.state.as_str(), raw.merged_at, raw.merge_commit_sha) {
        (_, Some(at), Some(commit)) => PullState::Merged { commit, at },
        (_, Some(_), None) => return Err(Failure::BadAnswer("it names no merge commit")),
        // An open one may have a commit that tries the merge out.
        ("open", None, _) => PullState::Open,
        ("closed", None, _) => PullState::Closed,
        _ => return Err(Failure::BadAnswer("its state is not known")),
    };
    Ok(Pull { number: raw.number, url: raw.html_url, state, head_commit: raw.head.sha, base_branch: raw.base.name })
}
