//! Who a caller is that sends `Authorization: Bearer …`: the holder of a key or of a token.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use docket_core::access::{Access, Profile};
use docket_core::model::{ApiKey, Handle, ItemId, ItemRef, KeySecret, Name, ProjectId, SecretDigest, Timestamp};
use docket_core::query::Recognised;
use docket_core::store::{Around, ProjectRef, StoreError};
use docket_core::{Code, Engine, Error, Kind, Reason};
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::LEEWAY_SECONDS;
use crate::lasting::Holding;
use crate::settings::{SetupError, TokenSettings};
use crate::source::KeySource;
use crate::token::{Failure, FailureKind, check};

/// How long a key that was found to hold is taken to hold for reading. Writes look again, each in its own unit.
const KEY_KEPT: Duration = Duration::from_secs(1);
/// Most keys that are remembered for that long.
const KEYS_KEPT: usize = 1024;
/// Most keys that are looked up at a time: the store reads no faster when more are.
const LOOKING: usize = 8;
/// How long the others wait for those that look before they are turned away. With a server's patience for a turn it makes a
/// quarter of a second.
const LOOKING_WAIT: Duration = Duration::from_millis(150);

/// Who calls, and what it may do.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Who it is.
    pub principal: Name,
    /// What it may do, and where.
    pub access: Access,
    /// What it showed, for as long as it is being answered.
    pub holding: Holding,
}

/// Finds out who callers are.
pub struct Bearer {
    engine: Engine,
    tokens: Option<Tokens>,
    kept: Mutex<HashMap<Handle, Found>>,
    /// Places for those who look keys up.
    looking: Semaphore,
    /// The place of whoever looks again for those who were let in: they have time, and must not stand before those who come.
    looking_again: Semaphore,
}

/// A key that was found to hold.
#[derive(Clone)]
pub(crate) struct Found {
    digest: SecretDigest,
    key: ApiKey,
    at: Instant,
    /// What was known of changes to keys just before.
    pub(crate) mark: Option<u64>,
    /// When its own time is over, counted from then.
    pub(crate) ends: Option<Instant>,
}

struct Tokens {
    source: KeySource,
    settings: TokenSettings,
}

impl std::fmt::Debug for Bearer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bearer").field("tokens", &self.tokens.is_some()).finish_non_exhaustive()
    }
}

impl Bearer {
    /// Keys of the engine's database, and tokens where they are configured.
    pub async fn new(engine: Engine, tokens: Option<TokenSettings>) -> Result<Self, SetupError> {
        let tokens = match tokens {
            None => None,
            Some(settings) => {
                let named = settings.keys.issuer.is_some() || settings.keys.oidc_discovery.is_some();
                if !named || settings.keys.audience.is_none() {
                    return Err(SetupError("bearer tokens need an issuer and an audience".to_owned()));
                }
                Some(Tokens { source: KeySource::open(settings.keys.clone()).await?, settings })
            }
        };
        Ok(Self {
            engine,
            tokens,
            kept: Mutex::default(),
            looking: Semaphore::new(LOOKING),
            looking_again: Semaphore::new(1),
        })
    }

    /// Who sent this credential: what follows `Bearer ` in the header.
    pub async fn caller(&self, credential: &str) -> Result<Caller, Error> {
        if let Some(secret) = KeySecret::parse(credential) {
            let Found { key, mark, ends, .. } = self.key(&secret).await?;
            let holding = Holding::Key { secret: Arc::new(secret), mark, ends };
            return Ok(Caller { principal: key.principal(), access: key.access(), holding });
        }
        match &self.tokens {
            Some(tokens) if credential.split('.').count() == 3 => tokens.caller(&self.engine, credential).await,
            Some(_) | None => Err(refused(Reason::BadCredential, "this key is not known here".to_owned())),
        }
    }

    /// That nobody said who calls.
    pub fn missing() -> Error {
        refused(Reason::CredentialMissing, "say who calls: Authorization: Bearer, and a key or a token".to_owned())
    }

    /// Who gives out the tokens that are taken here, as far as that is known; none where none are.
    pub fn issuers(&self) -> Option<Vec<String>> {
        self.tokens.as_ref().map(|tokens| tokens.source.issuer().into_iter().collect())
    }

    pub(crate) fn keys_mark(&self) -> Option<u64> {
        self.engine.keys_mark()
    }

    async fn key(&self, secret: &KeySecret) -> Result<Found, Error> {
        let digest = secret.digest();
        let known = || self.kept(secret, &digest, |_| true);
        if let Some(found) = known() {
            return Ok(found);
        }
        // Many calls with one key that come together wait for the first of them, which finds it for all.
        let Ok(_place) = tokio::time::timeout(LOOKING_WAIT, self.looking.acquire()).await else {
            return Err(StoreError::Overloaded.into());
        };
        if let Some(found) = known() {
            return Ok(found);
        }
        let mark = self.keys_mark();
        let Recognised { key, now, is_noted } = self.engine.recognise(secret).await?;
        if !is_noted {
            // Nobody waits for it: a disk that is slow to take the note must not keep callers at the door.
            let (engine, id) = (self.engine.clone(), key.id);
            tokio::spawn(async move { engine.note_use(id).await });
        }
        Ok(self.keep(secret, Found::new(digest, key, now, mark)))
    }

    /// The same for a caller who was let in before. What was found for others counts only if keys have not changed since.
    pub(crate) async fn look_again(&self, secret: &KeySecret) -> Result<Found, Error> {
        let digest = secret.digest();
        let mark = self.keys_mark();
        let known = || self.kept(secret, &digest, |found| mark.is_some() && found.mark == mark);
        if let Some(found) = known() {
            return Ok(found);
        }
        let _place = self.looking_again.acquire().await;
        if let Some(found) = known() {
            return Ok(found);
        }
        let Recognised { key, now, .. } = self.engine.recognise(secret).await?;
        Ok(self.keep(secret, Found::new(digest, key, now, mark)))
    }

    fn kept(&self, secret: &KeySecret, digest: &SecretDigest, good: impl Fn(&Found) -> bool) -> Option<Found> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.get(secret.handle())?;
        (found.at.elapsed() < KEY_KEPT && found.digest.matches(digest) && good(found)).then(|| found.clone())
    }

    fn keep(&self, secret: &KeySecret, found: Found) -> Found {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|_, found| found.at.elapsed() < KEY_KEPT);
        if kept.len() < KEYS_KEPT {
            kept.insert(secret.handle().clone(), found.clone());
        }
        found
    }
}

impl Found {
    fn new(digest: SecretDigest, key: ApiKey, now: Timestamp, mark: Option<u64>) -> Self {
        let at = Instant::now();
        let left = key.expires_at.map(|end| u64::try_from(end.as_millis() - now.as_millis()).unwrap_or(0));
        let ends = left.and_then(|left| at.checked_add(Duration::from_millis(left)));
        Self { digest, key, at, mark, ends }
    }
}

impl Tokens {
    async fn caller(&self, engine: &Engine, token: &str) -> Result<Caller, Error> {
        let checked = check(&self.source, token).await.map_err(rejected)?;
        let names = &self.settings.claims;
        let text = |claim: &str| checked.claims.get(claim).and_then(Value::as_str);
        let principal = text(&names.principal).and_then(|id| Name::parse(&format!("token:{id}")).ok());
        let principal = principal.ok_or_else(|| claim_error(&names.principal, "names nobody"))?;
        let profile = text(&names.profile).and_then(|profile| profile.parse::<Profile>().ok());
        let profile = profile.ok_or_else(|| claim_error(&names.profile, "names no profile"))?;
        let mut projects = self.projects(engine, checked.claims.get(&names.projects)).await?;
        let item = match text(&names.item) {
            None => None,
            Some(item) => {
                let (item, project) = self.item(engine, item).await?;
                projects = Some(match &projects {
                    Some(projects) if !projects.contains(&project) => BTreeSet::new(),
                    Some(_) | None => BTreeSet::from([project]),
                });
                Some(item)
            }
        };
        // It was looked at: a token without its end is refused.
        let ends = checked.claims.get("exp").and_then(Value::as_u64).unwrap_or(0);
        let until = SystemTime::UNIX_EPOCH + Duration::from_secs(ends.saturating_add(LEEWAY_SECONDS));
        let access = Access { projects, item, token: true, ..Access::everywhere(profile) };
        Ok(Caller { principal, access, holding: Holding::Token { until } })
    }

    /// Projects by slug. One that is not there is left out: the token's author may know more projects than we do.
    async fn projects(&self, engine: &Engine, claim: Option<&Value>) -> Result<Option<BTreeSet<ProjectId>>, Error> {
        let wanted: Vec<&str> = match claim {
            None if self.settings.all_projects => return Ok(None),
            None => Vec::new(),
            Some(Value::String(slugs)) => slugs.split_whitespace().collect(),
            Some(Value::Array(slugs)) => slugs.iter().filter_map(Value::as_str).collect(),
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
                return Err(claim_error(&self.settings.claims.projects, "must be a list of slugs"));
            }
        };
        let known = engine.projects().await?;
        let meant = known.iter().filter(|project| wanted.contains(&project.slug.as_str())).map(|project| project.id);
        Ok(Some(meant.collect()))
    }

    async fn item(&self, engine: &Engine, text: &str) -> Result<(ItemId, ProjectId), Error> {
        let bad = || claim_error(&self.settings.claims.item, "names no item");
        let id: ItemId = text.strip_prefix("task:").unwrap_or(text).parse().map_err(|_| bad())?;
        let seen = engine.show(&ProjectRef::Any, &[ItemRef::Id(id)], Around::default()).await?;
        seen.items.get(&id).map(|item| (item.id, item.project)).ok_or_else(bad)
    }
}

fn rejected(failure: Failure) -> Error {
    match failure.kind {
        FailureKind::Network => Error::new(Kind::Transient, Code::Unavailable, Reason::ProofRejected, failure.reason),
        FailureKind::Crypto | FailureKind::Claims | FailureKind::Policy | FailureKind::Internal => {
            refused(Reason::ProofRejected, failure.reason)
        }
    }
}

fn claim_error(claim: &str, what: &str) -> Error {
    refused(Reason::ProofRejected, format!("the token's claim {claim} {what}"))
}

fn refused(reason: Reason, message: String) -> Error {
    Error::new(Kind::Permanent, Code::Forbidden, reason, message)
}
