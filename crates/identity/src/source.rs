//! Keys from a file and from a server, cached. While a server is away the keys it last gave go on being used, and whoever
//! is checked with them is told so.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio::sync::{Mutex, RwLock};

use crate::fetch::{FetchError, Fetcher};
use crate::keyset::KeySet;
use crate::settings::{JwksSettings, SetupError};

/// Keys and where they come from.
pub(crate) struct KeySource {
    settings: JwksSettings,
    file: KeySet,
    fetcher: Option<Fetcher>,
    cached: RwLock<Option<Cached>>,
    /// When somebody last tried to fetch. Held while fetching: one at a time.
    tried: Mutex<Option<Instant>>,
}

/// What a server gave.
#[derive(Clone)]
struct Cached {
    keys: Arc<KeySet>,
    issuer: Option<String>,
    fetched: Instant,
}

/// Keys to check with.
#[derive(Clone)]
pub(crate) struct Keys {
    pub(crate) set: Arc<KeySet>,
    /// Who must have issued a token.
    pub(crate) issuer: Option<String>,
    /// How old they are, where they should have been fetched again and could not be.
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
            None => KeySet::default(),
            Some(path) => {
                let text = std::fs::read(path)
                    .map_err(|error| SetupError(format!("{}: cannot be read: {error}", path.display())))?;
                KeySet::parse(&text).map_err(|what| SetupError(format!("{}: {what}", path.display())))?
            }
        };
        let plain = |address: &Option<String>| address.as_ref().is_some_and(|address| address.starts_with("http://"));
        if plain(&settings.jwks_uri) || plain(&settings.oidc_discovery) {
            tracing::info!("keys are fetched without TLS: whoever is between can change them");
        }
        let fetcher = if remote { Some(Fetcher::new()?) } else { None };
        let source = Self { settings, file, fetcher, cached: RwLock::new(None), tried: Mutex::new(None) };
        if source.fetcher.is_some() {
            match source.fetch().await {
                Ok(cached) => *source.cached.write().await = Some(cached),
                Err(Failed::Useless(what)) => return Err(SetupError(format!("the key server's answer: {what}"))),
                Err(Failed::Away(FetchError(what))) => {
                    tracing::warn!(what, "the keys that proofs are checked with are not there yet");
                }
            }
            *source.tried.lock().await = Some(Instant::now());
        }
        Ok(source)
    }

    pub(crate) fn settings(&self) -> &JwksSettings {
        &self.settings
    }

    /// Who issues tokens: as the settings say, else as was discovered.
    pub(crate) async fn issuer(&self) -> Option<String> {
        match &self.settings.issuer {
            Some(issuer) => Some(issuer.clone()),
            None => self.cached.read().await.as_ref().and_then(|cached| cached.issuer.clone()),
        }
    }

    /// Keys for a token that names this one; fetched again when they are old, or when it is not among them.
    pub(crate) async fn keys(&self, id: Option<&str>) -> Result<Keys, String> {
        if self.fetcher.is_none() {
            let issuer = self.settings.issuer.clone();
            return Ok(Keys { set: Arc::new(self.file.clone()), issuer, stale: None });
        }
        let asked = Instant::now();
        let known = self.cached.read().await.clone();
        let fresh = |cached: &Cached| cached.fetched.elapsed() < self.settings.cache_ttl;
        if let Some(cached) = known.filter(|cached| fresh(cached) && cached.keys.find(id).is_some()) {
            return Ok(Keys { set: cached.keys, issuer: cached.issuer, stale: None });
        }
        let mut tried = self.tried.lock().await;
        let known = self.cached.read().await.clone();
        // Somebody else fetched while we waited for our turn, or lately: what is there counts.
        let lately = tried.is_some_and(|last| last > asked || last.elapsed() < self.settings.refresh_pause);
        let outcome = if lately {
            Err("the key server was asked a moment ago".to_owned())
        } else {
            let outcome = self.fetch().await.map_err(|failed| failed.to_string());
            *tried = Some(Instant::now());
            outcome
        };
        match (outcome, known) {
            (Ok(cached), _) => {
                *self.cached.write().await = Some(cached.clone());
                Ok(Keys { set: cached.keys, issuer: cached.issuer, stale: None })
            }
            (Err(_), Some(cached)) if fresh(&cached) => {
                Ok(Keys { set: cached.keys, issuer: cached.issuer, stale: None })
            }
            (Err(what), _) if !self.settings.stale_on_error => Err(what),
            (Err(what), Some(cached)) if cached.fetched.elapsed() <= self.settings.max_age => {
                tracing::debug!(what, "keys are used that could not be fetched again");
                let stale = Some(cached.fetched.elapsed());
                Ok(Keys { set: cached.keys, issuer: cached.issuer, stale })
            }
            (Err(what), known) => self.filed(id, known.as_ref()).ok_or(what),
        }
    }

    /// The file's keys alone, for a token that names one of them. They are the operator's word and do not age. Nothing else
    /// is decided by them while the server is away: it may know a key that they lack. Nor is anything as long as who issues
    /// tokens is still to be discovered: any issuer would do.
    fn filed(&self, id: Option<&str>, known: Option<&Cached>) -> Option<Keys> {
        let named = id.is_some_and(|id| self.file.find(Some(id)).is_some());
        let issuer = self.settings.issuer.clone().or_else(|| known.and_then(|cached| cached.issuer.clone()));
        let settled = issuer.is_some() || self.settings.oidc_discovery.is_none();
        (named && settled).then(|| Keys { set: Arc::new(self.file.clone()), issuer, stale: None })
    }

    async fn fetch(&self) -> Result<Cached, Failed> {
        let Some(fetcher) = &self.fetcher else { return Err(Failed::Useless("no address".to_owned())) };
        let discovered = match &self.settings.oidc_discovery {
            Some(address) if self.settings.jwks_uri.is_none() || self.settings.issuer.is_none() => {
                let text = fetcher.get(address).await?;
                serde_json::from_slice(&text)
                    .map_err(|_| Failed::Useless("this is no discovery document".to_owned()))?
            }
            Some(_) | None => Discovery { issuer: None, jwks_uri: None },
        };
        let address = self.settings.jwks_uri.clone().or(discovered.jwks_uri);
        let address = address.ok_or_else(|| Failed::Useless("the discovery document names no key set".to_owned()))?;
        let keys = KeySet::parse(&fetcher.get(&address).await?).map_err(Failed::Useless)?;
        Ok(Cached {
            keys: Arc::new(keys.with(&self.file)),
            issuer: self.settings.issuer.clone().or(discovered.issuer),
            fetched: Instant::now(),
        })
    }
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
