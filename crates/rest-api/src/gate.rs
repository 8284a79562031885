//! Who a caller is: the seam between the routes and whatever knows keys and tokens.

use std::sync::Arc;

use async_trait::async_trait;
use axum::extract::FromRequestParts;
use docket_core::engine::Call;
use docket_core::model::{ActorClaim, Attribution, DegradedMode, Name, RequestId, Text};
use docket_core::proof::ProofVerifier;
use docket_core::{Code, Engine, Error, Kind, Reason};
use http::request::Parts;
use http::{HeaderName, Method};

use crate::app::Shared;
use crate::failure::Failure;
use crate::limits::PROOF_BYTES;

/// Says who acts: as `--actor` does on the command line.
pub(crate) const ACTOR: HeaderName = HeaderName::from_static("x-docket-actor");
/// What the actor shows for it.
pub(crate) const PROOF: HeaderName = HeaderName::from_static("x-docket-actor-proof");
/// Says which work tree the caller is in, by the name that its runner gives it: what it has checked is checked there.
pub(crate) const WORK_TREE: HeaderName = HeaderName::from_static("x-docket-work-tree");

/// Who a request comes from, and the engine it may use.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Who we know is calling.
    pub principal: Name,
    /// Who is said to act, where somebody said so.
    pub by: Option<Attribution>,
    /// Whose word counts when a proof could not be verified.
    pub policy: DegradedMode,
    /// The rules, limited to what this caller may do and see.
    pub engine: Engine,
    /// What it was let in by.
    pub pass: Arc<dyn Pass>,
}

impl Caller {
    /// The circumstances of one request, with fresh randomness for the ids it makes.
    pub fn call(&self, request: Option<RequestId>) -> Call {
        Call {
            by: self.by.clone(),
            policy: self.policy,
            request,
            access: self.engine.granted(),
            ..Call::new(self.principal.clone(), uuid::Uuid::new_v4().as_u128())
        }
    }
}

/// What somebody was let in by. It may end while an answer still goes on.
#[async_trait]
pub trait Pass: std::fmt::Debug + Send + Sync + 'static {
    /// Resolves once the same credential would not be let in any more, a second later at the most.
    async fn ended(&self);
}

/// A pass that does not end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lasting;

#[async_trait]
impl Pass for Lasting {
    async fn ended(&self) {
        std::future::pending::<()>().await;
    }
}

/// Put into the request by the middleware, after the gatekeeper has let it in.
impl FromRequestParts<Arc<Shared>> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Shared>) -> Result<Self, Failure> {
        let missing = || Error::new(Kind::Permanent, Code::Forbidden, Reason::CredentialMissing, "nobody let this in");
        parts.extensions.get::<Self>().cloned().ok_or_else(|| missing().into())
    }
}

/// Why a caller is not let in.
#[derive(Clone, Debug)]
pub enum Denied {
    /// There is no credential, or it is not good: the caller may come again with another one. What exactly is wrong with it
    /// is told where that helps nobody to guess.
    Unauthenticated(Error),
    /// Anything else: too many requests, an actor that cannot be read, a store that is away.
    Refused(Error),
}

/// Knows callers. One of these stands before every route that touches work.
#[async_trait]
pub trait Gatekeeper: Send + Sync + 'static {
    /// Who sent this request, or why nobody is let in. There is at most one `Authorization` header; the body was not read.
    async fn admit(&self, request: &Parts) -> Result<Caller, Denied>;

    /// The same for a call that nobody counts, or not yet: it tells whoever looks after the server how that does; or what it is, is known by
    /// its body.
    async fn recognise(&self, request: &Parts) -> Result<Caller, Denied> {
        self.admit(request).await
    }

    /// Counts a call of a caller that was recognised; or says why it may make no more.
    fn count(&self, caller: &Caller) -> Result<(), Error> {
        _ = caller;
        Ok(())
    }

    /// Who gives tokens out (RFC 9728), if tokens are taken at all.
    async fn token_issuers(&self) -> Option<Vec<String>> {
        None
    }
}

/// Local mode: whoever reaches this address is the user who started the server.
#[derive(Clone, Debug)]
pub struct LocalUser {
    caller: Caller,
}

impl LocalUser {
    /// Everybody is this caller.
    pub fn new(caller: Caller) -> Self {
        Self { caller }
    }
}

#[async_trait]
impl Gatekeeper for LocalUser {
    async fn admit(&self, request: &Parts) -> Result<Caller, Denied> {
        if request.headers.contains_key(http::header::AUTHORIZATION) {
            // Whoever shows a key means to be somebody; to take them for the local user would widen what they may do.
            return Err(Denied::Unauthenticated(Error::new(
                Kind::Permanent,
                Code::Forbidden,
                Reason::BadCredential,
                "this server knows no keys: leave the Authorization header out",
            )));
        }
        Ok(self.caller.clone())
    }
}

/// How actors are taken, by whatever way requests come.
#[derive(Clone, Debug)]
pub struct Actors {
    /// How their proofs are checked.
    pub verifier: Arc<dyn ProofVerifier>,
    /// Whether writes must say who makes them.
    pub required: bool,
}

impl Actors {
    /// A caller with the actor that its request names, if it names one: recorded beside who is known to call, by the name
    /// that its proof gives it.
    pub(crate) async fn stated(&self, request: &Parts, caller: Caller) -> Result<Caller, Error> {
        let proof = only(request, &PROOF)?;
        if proof.is_some_and(|proof| proof.len() > PROOF_BYTES) {
            let message = format!("must be at most {PROOF_BYTES} bytes");
            return Err(Error::validation(Reason::TooLong, message).at(PROOF.as_str()));
        }
        let Some(actor) = only(request, &ACTOR)? else {
            if proof.is_some() {
                let message = format!("{PROOF} goes with {ACTOR}, which says whom it proves");
                return Err(Error::validation(Reason::ActorRequired, message).at(ACTOR.as_str()));
            }
            return Ok(caller);
        };
        let mut actor: ActorClaim =
            actor.parse().map_err(|invalid: docket_core::Invalid| invalid.at(ACTOR.as_str()))?;
        actor.proof = proof.map(Text::parse).transpose().map_err(|invalid| invalid.at(PROOF.as_str()))?;
        let verdict = self.verifier.verify(&actor.id, proof).await;
        let by = Attribution::checked(actor, verdict, caller.policy);
        Ok(Caller { by: Some(by), ..caller })
    }

    /// Refuses a write that nobody says they make, where that is asked for. What protocols of their own carry they check
    /// themselves: their actors are in their bodies.
    pub(crate) fn check(&self, request: &Parts, caller: &Caller) -> Result<(), Error> {
        let reads = matches!(request.method, Method::GET | Method::HEAD);
        let ours = request.uri.path().starts_with(crate::routes::BASE);
        if !self.required || caller.by.is_some() || reads || !ours {
            return Ok(());
        }
        let message = format!("{ACTOR} is required: this server asks who makes each write; send {ACTOR}: KIND:NAME");
        Err(Error::validation(Reason::ActorRequired, message).at(ACTOR.as_str()))
    }
}

/// A caller in the work tree that its request names, if it names one. Whether there is one of that name only runners know.
pub(crate) fn placed(request: &Parts, caller: Caller) -> Result<Caller, Error> {
    let Some(said) = only(request, &WORK_TREE)? else { return Ok(caller) };
    let place = Name::parse(said).map_err(|invalid| invalid.at(WORK_TREE.as_str()))?;
    Ok(Caller { engine: caller.engine.said_to_be_in(Some(place)), ..caller })
}

/// A header that may be there once.
fn only<'r>(request: &'r Parts, name: &HeaderName) -> Result<Option<&'r str>, Error> {
    let mut given = request.headers.get_all(name).iter();
    let Some(first) = given.next() else { return Ok(None) };
    if given.next().is_some() {
        return Err(Error::validation(Reason::Duplicate, format!("{name} is there twice")));
    }
    Ok(Some(std::str::from_utf8(first.as_bytes()).unwrap_or_default()))
}
