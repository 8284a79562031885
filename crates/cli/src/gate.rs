//! Who may come in over HTTP: the holders of keys and tokens, or, without any, the local user; and how often.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use docket_core::access::Access;
use docket_core::model::{DegradedMode, KeySecret};
use docket_core::store::StoreError;
use docket_core::{Code, Engine, Error, Kind, Reason};
use docket_identity::{Bearer, Holding, Limiter, Rate, TokenSettings};
use docket_rest_api::{Caller, Denied, Gatekeeper, LocalUser, Pass};
use http::header::AUTHORIZATION;
use http::request::Parts;

use crate::exit::Failure;

/// How long it is taken for granted that there is a key, or none, when nothing says that keys were changed.
const KNOWN_FOR: Duration = Duration::from_secs(1);
/// The same while somebody asks the store again and it takes its time.
const KNOWN_MEANWHILE: Duration = Duration::from_secs(5);
/// How long the others wait for the one that asks before they are turned away. With the server's patience for a turn it makes a
/// quarter of a second.
const ASKING_WAIT: Duration = Duration::from_millis(150);

/// What proxies write into a request, beside whatever begins with [`FORWARDED_ALSO`]. One that has such a header comes from wherever
/// the proxy is reached.
const FORWARDED: [&str; 7] =
    ["forwarded", "via", "x-real-ip", "x-client-ip", "x-original-forwarded-for", "true-client-ip", "cf-connecting-ip"];
/// How the names of the others begin: what it came by, to whom, at which port.
const FORWARDED_ALSO: &str = "x-forwarded";

/// How often those who are still being answered look whether the door has been closed.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Lets in whoever shows a key or a token that holds.
struct KeyHolders {
    bearer: Arc<Bearer>,
    engine: Engine,
    policy: DegradedMode,
}

/// A key or a token that let somebody in.
#[derive(Debug)]
struct Shown {
    bearer: Arc<Bearer>,
    holding: Holding,
}

#[async_trait]
impl Pass for Shown {
    async fn ended(&self) {
        self.bearer.ended(&self.holding).await;
    }
}

#[async_trait]
impl Gatekeeper for KeyHolders {
    async fn admit(&self, request: &Parts) -> Result<Caller, Denied> {
        let credential = credential(request).ok_or_else(|| denied(Bearer::missing(), None))?;
        let known = self.bearer.caller(credential).await.map_err(|error| denied(error, Some(credential)))?;
        Ok(Caller {
            by: None,
            principal: known.principal,
            policy: self.policy,
            engine: self.engine.limited_to(known.access),
            pass: Arc::new(Shown { bearer: Arc::clone(&self.bearer), holding: known.holding }),
        })
    }

    async fn token_issuers(&self) -> Option<Vec<String>> {
        self.bearer.issuers()
    }
}

/// What follows `Bearer` in the header; the scheme is written in any case.
fn credential(request: &Parts) -> Option<&str> {
    let (scheme, credential) = request.headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let credential = credential.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !credential.is_empty()).then_some(credential)
}

/// A store that is away or a key server that does not answer says nothing about the credential. Of a key the audit gets the
/// part that is no secret.
fn denied(error: Error, credential: Option<&str>) -> Denied {
    if error.kind == Kind::Permanent {
        let key = credential.and_then(KeySecret::parse).map(|secret| secret.handle().to_string());
        tracing::info!(target: "docket::audit", key, reason = ?error.reason, "not let in");
        Denied::Unauthenticated(error)
    } else {
        Denied::Refused(error)
    }
}

/// Lets in whoever shows a key or a token; as long as no key was ever made, the local user too.
///
/// Whether there is one is asked again when keys may have changed, as far as the store knows without asking, and after a
/// second in any case. A write looks once more, in its own unit: what is remembered here is for reading.
struct Door {
    holders: KeyHolders,
    local: LocalUser,
    leaf: Arc<Leaf>,
}

/// Whether the door is open.
struct Leaf {
    engine: Engine,
    known: Mutex<Option<Known>>,
    /// Held by the one that asks for all who come together.
    asking: tokio::sync::Mutex<()>,
}

/// That the door was open when somebody came in.
struct CameIn {
    leaf: Arc<Leaf>,
    mark: Option<u64>,
}

impl std::fmt::Debug for CameIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CameIn").finish_non_exhaustive()
    }
}

#[async_trait]
impl Pass for CameIn {
    /// The first key ends it. The store is asked only when keys may have changed.
    async fn ended(&self) {
        let mut seen = self.mark;
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let mark = self.leaf.engine.keys_mark();
            if mark.is_some() && mark == seen {
                continue;
            }
            match self.leaf.is_open().await {
                Ok(true) => seen = mark,
                Ok(false) => return,
                // A store that is away says nothing about keys.
                Err(_) => {}
            }
        }
    }
}

/// Whether there had never been a key when the store was last asked.
#[derive(Clone, Copy)]
struct Known {
    keyless: bool,
    mark: Option<u64>,
    at: Instant,
}

impl Leaf {
    async fn is_open(&self) -> Result<bool, Denied> {
        if let Some(keyless) = self.known(KNOWN_FOR) {
            return Ok(keyless);
        }
        let _asking = match self.asking.try_lock() {
            Ok(asking) => asking,
            // Somebody asks already, and nothing says that the answer will be another one.
            Err(_) if let Some(keyless) = self.known(KNOWN_MEANWHILE) => return Ok(keyless),
            Err(_) => match tokio::time::timeout(ASKING_WAIT, self.asking.lock()).await {
                Ok(asking) => asking,
                Err(_) => return Err(Denied::Refused(StoreError::Overloaded.into())),
            },
        };
        if let Some(keyless) = self.known(KNOWN_FOR) {
            return Ok(keyless);
        }
        // Before the store is asked: what changes after it is another mark.
        let mark = self.engine.keys_mark();
        let keyless = self.engine.is_keyless().await.map_err(Denied::Refused)?;
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(Known { keyless, mark, at: Instant::now() });
        Ok(keyless)
    }

    /// What was found within this time, unless keys may have changed since.
    fn known(&self, within: Duration) -> Option<bool> {
        let known = (*self.known.lock().unwrap_or_else(PoisonError::into_inner))?;
        let mark = self.engine.keys_mark();
        (mark.is_some() && known.mark == mark && known.at.elapsed() < within).then_some(known.keyless)
    }
}

#[async_trait]
impl Gatekeeper for Door {
    async fn admit(&self, request: &Parts) -> Result<Caller, Denied> {
        if !request.headers.contains_key(AUTHORIZATION) {
            // Before it is looked whether it is open: what changes after it is another mark.
            let mark = self.leaf.engine.keys_mark();
            return if self.leaf.is_open().await? {
                direct(request)?;
                let pass = Arc::new(CameIn { leaf: Arc::clone(&self.leaf), mark });
                Ok(Caller { pass, ..self.local.admit(request).await? })
            } else {
                self.holders.admit(request).await
            };
        }
        match self.holders.admit(request).await {
            // That there are no keys is told for what it is.
            Err(Denied::Unauthenticated(_)) if self.leaf.is_open().await? => self.local.admit(request).await,
            answer => answer,
        }
    }
}

/// Refuses a request that was passed on: it need not come from this machine, whatever address it has now.
fn direct(request: &Parts) -> Result<(), Denied> {
    let forwarded = |name: &&str| FORWARDED.contains(name) || name.starts_with(FORWARDED_ALSO);
    let Some(header) = request.headers.keys().map(http::HeaderName::as_str).find(forwarded) else { return Ok(()) };
    let message = format!(
        "this came through a proxy ({header}), and without keys this server answers its own machine alone: whoever runs it makes \
         a key (docket key create)"
    );
    Err(denied(Error::new(Kind::Permanent, Code::Forbidden, Reason::CredentialMissing, message), None))
}

/// Counts the calls of each principal, on whatever surface.
struct Counted<G> {
    gate: G,
    limiter: Limiter,
}

#[async_trait]
impl<G: Gatekeeper> Gatekeeper for Counted<G> {
    async fn admit(&self, request: &Parts) -> Result<Caller, Denied> {
        let caller = self.gate.admit(request).await?;
        self.limiter.admit(&caller.principal).map_err(Denied::Refused)?;
        Ok(caller)
    }

    async fn recognise(&self, request: &Parts) -> Result<Caller, Denied> {
        self.gate.admit(request).await
    }

    fn count(&self, caller: &Caller) -> Result<(), Error> {
        self.limiter.admit(&caller.principal)
    }

    async fn token_issuers(&self) -> Option<Vec<String>> {
        self.gate.token_issuers().await
    }
}

/// The gate of a server whose callers are known by keys and tokens.
pub(crate) async fn for_key_holders(
    engine: &Engine,
    policy: DegradedMode,
    tokens: Option<TokenSettings>,
    rate: Option<Rate>,
) -> Result<Arc<dyn Gatekeeper>, Failure> {
    let bearer = Bearer::new(engine.clone(), tokens)
        .await
        .map_err(|error| Failure::environment(format!("bearer tokens cannot be checked: {error}")))?;
    Ok(counted(KeyHolders { bearer: Arc::new(bearer), engine: engine.clone(), policy }, rate))
}

/// The gate of a server that only those on this machine can reach, and that takes no tokens: until a key is made, everybody is
/// the user who started it.
pub(crate) async fn for_this_machine(
    engine: &Engine,
    caller: Caller,
    rate: Option<Rate>,
) -> Result<Arc<dyn Gatekeeper>, Failure> {
    let bearer = Bearer::new(engine.clone(), None)
        .await
        .map_err(|error| Failure::environment(format!("keys cannot be checked: {error}")))?;
    let holders = KeyHolders { bearer: Arc::new(bearer), engine: engine.clone(), policy: caller.policy };
    let keyless = Access { keyless: true, ..engine.access().clone() };
    let local = LocalUser::new(Caller { engine: engine.limited_to(keyless), ..caller });
    let leaf = Leaf { engine: engine.clone(), known: Mutex::default(), asking: tokio::sync::Mutex::default() };
    Ok(counted(Door { holders, local, leaf: Arc::new(leaf) }, rate))
}

fn counted(gate: impl Gatekeeper, rate: Option<Rate>) -> Arc<dyn Gatekeeper> {
    match rate {
        Some(rate) => Arc::new(Counted { gate, limiter: Limiter::new(rate) }),
        None => Arc::new(gate),
    }
}
