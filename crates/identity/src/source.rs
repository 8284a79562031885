//! Keys from a file and from a server, cached. While a server is away the keys it last gave go on being used, and whoever
//! is checked with them is told so.
//!
//! Nobody fetches for himself: a fetch is a task of its own, one at a time, and goes on when those who wait for it hang up.
//! Whoever is content with keys that are old waits for it a moment and no longer.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use reqwest::Url;
use serde::Deserialize;
use tokio::sync::watch;

use crate::fetch::{FetchError, Fetcher};
use crate::file::KeyFile;
use crate::keyset::KeySet;
use crate::settings::{JwksSettings, SetupError};
use crate::{FETCH_TIMEOUT, REFRESH_MOMENT};

/// Keys and where they come from.
pub(crate) struct KeySource(Arc<Shared>);

/// What callers and the one fetch that is under way share.
struct Shared {
    settings: JwksSettings,
    file: Option<Arc<KeyFile>>,
    /// What stands for the file where there is none.
    no_keys: Arc<KeySet>,
    fetcher: Option<Fetcher>,
    known: Mutex<Known>,
}

/// What is known of the server.
#[derive(Default)]
struct Known {
    cached: Option<Cached>,
    /// The last attempt to fetch: how soon there may be another counts from its beginning.
    attempt: Option<Attempt>,
    /// Why it failed, if it did.
    failed: Option<String>,
}

/// An attempt to fetch.
#[derive(Clone)]
struct Attempt {
    begun: Instant,
    /// Turns true when it has ended.
    ended: watch::Receiver<bool>,
}

/// What a server gave.
#[derive(Clone)]
struct Cached {
    given: Arc<KeySet>,
    /// The same with those of the file.
    all: Arc<KeySet>,
    /// The file's that these are.
    file: Arc<KeySet>,
    issuer: Option<String>,
    fetched: Instant,
}

/// Keys to check with.
#[derive(Clone)]
pub(crate) struct Keys {
    pub(crate) set: Arc<KeySet>,
    /// Who must have issued a token.
    pub(crate) issuer: Option<String>,
    /// How old they are, where they should have been fetched again and were not yet.
    pub(crate) stale: Option<Duration>,
}

#[derive(Deserialize)]
struct Discovery {
    issuer: Option<String>,
    jwks_uri: Option<String>,
}

impl KeySource {
    /// Reads the file and asks the server for the first time. Keys that are there and useless are refused; a server that
    /// is away is not: it may come back.
    pub(crate) async fn open(settings: JwksSettings) -> Result<Self, SetupError> {
        let remote = settings.jwks_uri.is_some() || settings.oidc_discovery.is_some();
        if !remote && settings.jwks_path.is_none() {
            return Err(SetupError("one of oidc_discovery, jwks_uri and jwks_path is needed".to_owned()));
        }
        if settings.algorithms.is_empty() {
            return Err(SetupError("algorithms must not be empty".to_owned()));
        }
        let file = match &settings.jwks_path {
            None => None,
            Some(path) => Some(Arc::new(KeyFile::open(path.clone(), settings.cache_ttl)?)),
        };
        let plain = |address: &Option<String>| address.as_ref().is_some_and(|address| !is_encrypted(address));
        if plain(&settings.jwks_uri) || plain(&settings.oidc_discovery) {
            tracing::info!("keys are fetched without TLS: whoever is between can change them");
        }
        let fetcher = if remote { Some(Fetcher::new()?) } else { None };
        let shared = Arc::new(Shared { settings, file, no_keys: Arc::default(), fetcher, known: Mutex::default() });
        if shared.fetcher.is_some() {
            let (_, ended) = watch::channel(true);
            shared.known().attempt = Some(Attempt { begun: Instant::now(), ended });
            match shared.fetch_in_time().await {
                Ok(cached) => shared.known().cached = Some(cached),
                Err(Failed::Useless(what)) => return Err(SetupError(format!("the key server's answer: {what}"))),
                Err(Failed::Away(FetchError(what))) => {
                    tracing::warn!(what, "the keys that proofs are checked with are not there yet");
                    shared.known().failed = Some(what);
                }
            }
        }
        Ok(Self(shared))
    }

    pub(crate) fn settings(&self) -> &JwksSettings {
        &self.0.settings
    }

    /// Who issues tokens: as the settings say, else as was discovered.
    pub(crate) fn issuer(&self) -> Option<String> {
        let found = || self.0.known().cached.as_ref().and_then(|cached| cached.issuer.clone());
        self.0.settings.issuer.clone().or_else(found)
    }

    /// Keys for a token that names this one; fetched again when they are old, or when it is not among them.
    pub(crate) async fn keys(&self, id: Option<&str>) -> Result<Keys, String> {
        let file = match &self.0.file {
            Some(file) => file.keys().await,
            None => Arc::clone(&self.0.no_keys),
        };
        if self.0.fetcher.is_none() {
            return Ok(Keys { set: file, issuer: self.0.settings.issuer.clone(), stale: None });
        }
        let (attempt, will_do) = match self.0.look(id, &file) {
            Look::Good(keys) => return Ok(keys),
            Look::Old { attempt, will_do } => (attempt, will_do),
        };
        if let Some(attempt) = &attempt {
            // A server that is well answers by then, and a key that it took back is known to be gone.
            attempt.wait(if will_do { REFRESH_MOMENT } else { FETCH_TIMEOUT }).await;
        }
        self.0.settle(id, &file, attempt.map(|attempt| attempt.begun))
    }
}

/// What is found at first.
enum Look {
    /// Keys that are fresh, with the one that is wanted.
    Good(Keys),
    Old {
        /// The attempt to fetch that is under way; none where there was one lately.
        attempt: Option<Attempt>,
        /// Whether there is a key that will do for now.
        will_do: bool,
    },
}

impl Shared {
    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_fresh(&self, cached: &Cached) -> bool {
        cached.fetched.elapsed() < self.settings.cache_ttl
    }

    fn may_be_used(&self, cached: &Cached) -> bool {
        self.settings.stale_on_error && cached.fetched.elapsed() <= self.settings.max_age
    }

    fn look(self: &Arc<Self>, id: Option<&str>, file: &Arc<KeySet>) -> Look {
        let mut known = self.known();
        let mut will_do = false;
        if let Some(cached) = &mut known.cached {
            cached.stand_beside(file);
            if cached.all.find(id).is_some() {
                if self.is_fresh(cached) {
                    return Look::Good(cached.keys(None));
                }
                will_do = self.may_be_used(cached);
            }
        }
        Look::Old { attempt: self.refresh(&mut known), will_do }
    }

    /// The attempt that is under way, or a new one. Not lately after another where that failed, or where the keys are fresh and
    /// only lack the one that is named: neither a server that is away nor a stranger's key id makes us a nuisance, however often
    /// he comes and hangs up. Keys that have had their time are fetched again whenever that is.
    fn refresh(self: &Arc<Self>, known: &mut Known) -> Option<Attempt> {
        let is_due = known.failed.is_none() && known.cached.as_ref().is_some_and(|cached| !self.is_fresh(cached));
        match &known.attempt {
            Some(last) if last.is_under_way() => return Some(last.clone()),
            Some(last) if !is_due && last.begun.elapsed() < self.settings.refresh_pause => return None,
            Some(_) | None => {}
        }
        let (tell, ended) = watch::channel(false);
        let attempt = Attempt { begun: Instant::now(), ended };
        known.attempt = Some(attempt.clone());
        let shared = Arc::clone(self);
        tokio::spawn(async move {
            let outcome = shared.fetch_in_time().await;
            {
                let mut known = shared.known();
                match outcome {
                    Ok(cached) => (known.cached, known.failed) = (Some(cached), None),
                    Err(failed) => {
                        let what = failed.to_string();
                        tracing::warn!(what, "the keys that tokens are checked with could not be fetched again");
                        known.failed = Some(what);
                    }
                }
            }
            tell.send_replace(true);
        });
        Some(attempt)
    }

    /// What counts after an attempt that was waited for, or without one.
    fn settle(&self, id: Option<&str>, file: &Arc<KeySet>, attempt: Option<Instant>) -> Result<Keys, String> {
        let mut known = self.known();
        let why = known.failed.clone().unwrap_or_else(|| "the key server was asked a moment ago".to_owned());
        if let Some(cached) = &mut known.cached {
            cached.stand_beside(file);
            if self.is_fresh(cached) || attempt.is_some_and(|begun| cached.fetched >= begun) {
                return Ok(cached.keys(None));
            }
            if self.may_be_used(cached) {
                tracing::debug!(why, "keys are used that were not fetched again yet");
                return Ok(cached.keys(Some(cached.fetched.elapsed())));
            }
        }
        let filed = || self.filed(id, file, known.cached.as_ref());
        if self.settings.stale_on_error { filed().ok_or(why) } else { Err(why) }
    }

    /// The file's keys alone, for a token that names one of them. They are the operator's word and do not age. Nothing else
    /// is decided by them while the server is away: it may know a key that they lack. Nor is anything as long as who issues
    /// tokens is still to be discovered: any issuer would do.
    fn filed(&self, id: Option<&str>, file: &Arc<KeySet>, known: Option<&Cached>) -> Option<Keys> {
        let named = id.is_some_and(|id| file.find(Some(id)).is_some());
        let issuer = self.settings.issuer.clone().or_else(|| known.and_then(|cached| cached.issuer.clone()));
        let settled = issuer.is_some() || self.settings.oidc_discovery.is_none();
        (named && settled).then(|| Keys { set: Arc::clone(file), issuer, stale: None })
    }

    /// What the server gives, within the time that is for all that is asked of it.
    async fn fetch_in_time(&self) -> Result<Cached, Failed> {
        let late = || Failed::Away(FetchError("the key server did not answer in time".to_owned()));
        tokio::time::timeout(FETCH_TIMEOUT, self.fetch()).await.unwrap_or_else(|_| Err(late()))
    }

    async fn fetch(&self) -> Result<Cached, Failed> {
        let Some(fetcher) = &self.fetcher else { return Err(Failed::Useless("no address".to_owned())) };
        let discovered = match &self.settings.oidc_discovery {
            Some(address) if self.settings.jwks_uri.is_none() || self.settings.issuer.is_none() => {
                let text = fetcher.get(address).await?;
                let document: Discovery = serde_json::from_slice(&text)
                    .map_err(|_| Failed::Useless("this is no discovery document".to_owned()))?;
                let plain = document.jwks_uri.as_ref().is_some_and(|named| !is_encrypted(named));
                if self.settings.jwks_uri.is_none() && plain && is_encrypted(address) {
                    let what = "the discovery document came by https and names a key set that would not: whoever is \
                                between could change the keys";
                    return Err(Failed::Useless(what.to_owned()));
                }
                document
            }
            Some(_) | None => Discovery { issuer: None, jwks_uri: None },
        };
        let address = self.settings.jwks_uri.clone().or(discovered.jwks_uri);
        let address = address.ok_or_else(|| Failed::Useless("the discovery document names no key set".to_owned()))?;
        let keys = KeySet::parse(&fetcher.get(&address).await?).map_err(Failed::Useless)?;
        let given = Arc::new(keys);
        Ok(Cached {
            all: Arc::clone(&given),
            given,
            file: Arc::clone(&self.no_keys),
            issuer: self.settings.issuer.clone().or(discovered.issuer),
            fetched: Instant::now(),
        })
    }
}

impl Attempt {
    fn is_under_way(&self) -> bool {
        // One whose task was lost has ended, too.
        !*self.ended.borrow() && self.ended.has_changed().is_ok()
    }

    /// Waits for its end, until so long after its beginning at the most.
    async fn wait(&self, patience: Duration) {
        let mut ended = self.ended.clone();
        let left = patience.saturating_sub(self.begun.elapsed());
        _ = tokio::time::timeout(left, ended.wait_for(|ended| *ended)).await;
    }
}

impl Cached {
    /// Takes in the file's keys as they are now.
    fn stand_beside(&mut self, file: &Arc<KeySet>) {
        if !Arc::ptr_eq(&self.file, file) {
            self.all = Arc::new(self.given.with(file));
            self.file = Arc::clone(file);
        }
    }

    fn keys(&self, stale: Option<Duration>) -> Keys {
        Keys { set: Arc::clone(&self.all), issuer: self.issuer.clone(), stale }
    }
}

fn is_encrypted(address: &str) -> bool {
    Url::parse(address).is_ok_and(|address| address.scheme() == "https")
}

/// Why keys were not fetched.
#[derive(Debug, thiserror::Error)]
enum Failed {
    /// The server is away, for now.
    #[error(transparent)]
    Away(#[from] FetchError),
    /// It answered, and not with keys.
    #[error("{0}")]
    Useless(String),
}
