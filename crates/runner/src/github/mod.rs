//! Asks a GitHub-compatible API what became of a pull request. Address and token are the operator's; what an item names
//! is an owner, a repository and a number or branch, each parsed before it becomes part of an address.

mod answer;
mod reference;
mod retry;

pub use answer::{Pull, PullState};
pub use reference::{BadReference, PullRef, Repository};

use std::fmt;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Response, StatusCode, Url, redirect};

use crate::limits::{FETCH_BYTES, FETCH_PAUSE, FETCH_PAUSE_MOST, FETCH_TIMEOUT, FETCH_TRIES};
use retry::Pauses;

/// How many redirects within the same server are followed: a repository that was renamed needs one.
const REDIRECTS: usize = 3;

/// What the operator says.
#[derive(Clone)]
pub struct Settings {
    /// Where the API is, such as `https://api.github.com`.
    pub api: String,
    /// What it is shown, if anything.
    pub token: Option<String>,
    /// How long one request may take.
    pub timeout: Duration,
    /// How often it is asked before it counts as failing.
    pub tries: u32,
    /// The first pause between two tries.
    pub pause: Duration,
    /// The longest pause between two tries.
    pub pause_most: Duration,
}

impl Settings {
    /// The usual limits.
    pub fn new(api: impl Into<String>, token: Option<String>) -> Self {
        Self {
            api: api.into(),
            token,
            timeout: FETCH_TIMEOUT,
            tries: FETCH_TRIES,
            pause: FETCH_PAUSE,
            pause_most: FETCH_PAUSE_MOST,
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = if self.token.is_some() { "given" } else { "none" };
        to.debug_struct("Settings").field("api", &self.api).field("token", &token).finish_non_exhaustive()
    }
}

/// Settings that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// The address is none.
    #[error("the address of the pull request API must be http or https, without a user, a query or a fragment")]
    BadAddress,
    /// The token cannot stand in a header.
    #[error("the token of the pull request API has characters that cannot be sent")]
    BadToken,
    /// There is no way to speak HTTP here.
    #[error("no connection can be prepared for the pull request API")]
    NoClient,
}

/// Why it is not known what became of a pull request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// 401: the token is wrong or has expired.
    #[error("the pull request API does not know the token: set a valid one")]
    Unauthorized,
    /// 403: the token may not see this repository.
    #[error("the token may not read this repository's pull requests")]
    Forbidden,
    /// 404, or a branch without a pull request.
    #[error("there is no such pull request, or the token may not see it")]
    NotFound,
    /// 404 for somebody who showed no token: nothing is known of a repository that not everybody may see.
    #[error(
        "there is no such pull request for everybody to see, and no token is configured: name the variable that holds one by \
         [runner] github_token_variable in docket.toml"
    )]
    Hidden,
    /// 429, or 403 with an exhausted quota; asking again is of no use before then.
    #[error("the pull request API takes no more requests for now")]
    RateLimited {
        /// How long it asked to be left alone, if it said.
        after: Option<Duration>,
    },
    /// It failed as often as it was asked.
    #[error("the pull request API {0}")]
    Unavailable(&'static str),
    /// It answered with something that is not expected here.
    #[error("the pull request API answered {0}")]
    Unexpected(u16),
    /// It answered with something that is no pull request.
    #[error("the pull request API's answer cannot be read: {0}")]
    BadAnswer(&'static str),
}

impl Failure {
    /// Whether asking again later may help.
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::RateLimited { .. } | Self::Unavailable(_) | Self::Hidden => true,
            Self::Unauthorized | Self::Forbidden | Self::NotFound | Self::Unexpected(_) | Self::BadAnswer(_) => false,
        }
    }
}

/// The means to ask.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    api: Url,
    settings: Settings,
}

/// One try that failed.
enum Try {
    /// Another may do better, perhaps after a pause that was asked for.
    Again(Failure, Option<Duration>),
    /// No other will.
    Over(Failure),
}

impl Client {
    /// A client that keeps to these settings.
    pub fn new(settings: Settings) -> Result<Self, SetupError> {
        let api = Url::parse(&settings.api).map_err(|_| SetupError::BadAddress)?;
        let plain = matches!(api.scheme(), "http" | "https")
            && api.has_host()
            && api.username().is_empty()
            && api.password().is_none()
            && api.query().is_none()
            && api.fragment().is_none();
        if !plain {
            return Err(SetupError::BadAddress);
        }
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/vnd.github+json"));
        headers.insert("x-github-api-version", HeaderValue::from_static("2022-11-28"));
        if let Some(token) = &settings.token {
            let mut value = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| SetupError::BadToken)?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let http = reqwest::Client::builder()
            .default_headers(headers)
            .redirect(redirect::Policy::custom(same_server))
            .timeout(settings.timeout)
            .connect_timeout(settings.timeout)
            .no_proxy()
            .user_agent(concat!("docket/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|_| SetupError::NoClient)?;
        Ok(Self { http, api, settings })
    }

    /// The pull request as it is now. Of several with the same branch, the newest.
    pub async fn pull(&self, wanted: &PullRef) -> Result<Pull, Failure> {
        let address = self.address(wanted);
        let mut pauses = Pauses::new(self.settings.pause, self.settings.pause_most);
        let mut tries = 1;
        let body = loop {
            let (failure, asked) = match self.get(address.clone()).await {
                Ok(body) => break body,
                Err(Try::Over(failure)) => return Err(failure),
                Err(Try::Again(failure, asked)) => (failure, asked),
            };
            // Whoever asks for a longer pause than we make is asked another day.
            if tries >= self.settings.tries || asked.is_some_and(|asked| asked > self.settings.pause_most) {
                return Err(failure);
            }
            tries += 1;
            tokio::time::sleep(pauses.next(asked)).await;
        };
        match wanted {
            PullRef::Number { .. } => answer::one(&body),
            PullRef::Branch { .. } => answer::newest(&body),
        }
    }

    fn address(&self, wanted: &PullRef) -> Url {
        let mut address = self.api.clone();
        let Repository { owner, name } = wanted.repository();
        if let Ok(mut path) = address.path_segments_mut() {
            path.pop_if_empty().extend(["repos", owner, name, "pulls"]);
            if let PullRef::Number { number, .. } = wanted {
                path.push(&number.to_string());
            }
        }
        if let PullRef::Branch { head_owner, branch, .. } = wanted {
            let head = format!("{}:{branch}", head_owner.as_deref().unwrap_or(owner));
            let pairs = [("head", head.as_str()), ("state", "all"), ("sort", "created"), ("direction", "desc")];
            address.query_pairs_mut().extend_pairs(pairs);
        }
        address
    }

    fn seen_without_token(&self, failure: Try) -> Try {
        match failure {
            Try::Over(Failure::NotFound) if self.settings.token.is_none() => Try::Over(Failure::Hidden),
            Try::Over(_) | Try::Again(..) => failure,
        }
    }

    async fn get(&self, address: Url) -> Result<Vec<u8>, Try> {
        let mut response = self.http.get(address).send().await.map_err(|error| unreachable(&error))?;
        judge(&response).map_err(|failure| self.seen_without_token(failure))?;
        let mut body = Vec::new();
        while let Some(part) = response.chunk().await.map_err(|error| unreachable(&error))? {
            if body.len() + part.len() > FETCH_BYTES {
                return Err(Try::Over(Failure::BadAnswer("it is too long")));
            }
            body.extend_from_slice(&part);
        }
        Ok(body)
    }
}

/// What a status means for somebody with a token.
fn judge(response: &Response) -> Result<(), Try> {
    let status = response.status();
    let asked = retry::asked(response.headers());
    let exhausted = asked.is_some() || retry::is_exhausted(response.headers());
    Err(match status {
        StatusCode::OK => return Ok(()),
        StatusCode::UNAUTHORIZED => Try::Over(Failure::Unauthorized),
        StatusCode::TOO_MANY_REQUESTS => Try::Again(Failure::RateLimited { after: asked }, asked),
        StatusCode::FORBIDDEN if exhausted => Try::Again(Failure::RateLimited { after: asked }, asked),
        StatusCode::FORBIDDEN => Try::Over(Failure::Forbidden),
        StatusCode::NOT_FOUND | StatusCode::GONE => Try::Over(Failure::NotFound),
        _ if status.is_server_error() => Try::Again(Failure::Unavailable("keeps failing"), asked),
        _ => Try::Over(Failure::Unexpected(status.as_u16())),
    })
}

fn unreachable(error: &reqwest::Error) -> Try {
    let what = if error.is_timeout() {
        "did not answer in time"
    } else if error.is_connect() {
        "cannot be reached"
    } else {
        "broke off its answer"
    };
    if error.is_redirect() {
        return Try::Over(Failure::BadAnswer("it redirects without end"));
    }
    Try::Again(Failure::Unavailable(what), None)
}

/// The token is for one server: a redirect to another is not followed.
fn same_server(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let same = attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
    if attempt.previous().len() > REDIRECTS {
        attempt.error("too many redirects")
    } else if same {
        attempt.follow()
    } else {
        attempt.stop()
    }
}
