//! Who a caller is: the seam between the routes and whatever knows keys and tokens.

use std::sync::Arc;

use async_trait::async_trait;
use axum::extract::FromRequestParts;
use docket_core::engine::Call;
use docket_core::model::{ActorClaim, Attribution, DegradedMode, Name, RequestId, Verification};
use docket_core::{Code, Engine, Error, Kind, Reason};
use http::request::Parts;

use crate::app::Shared;
use crate::failure::Failure;

/// Says who is speaking when no key is needed: as `--actor` does on the command line.
const ACTOR: &str = "x-docket-actor";

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
}

impl Caller {
    /// The circumstances of one request, with fresh randomness for the ids it makes.
    pub fn call(&self, request: Option<RequestId>) -> Call {
        Call {
            by: self.by.clone(),
            policy: self.policy,
            request,
            ..Call::new(self.principal.clone(), uuid::Uuid::new_v4().as_u128())
        }
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

/// What a client must know to get a token (RFC 9728).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Our own address, as tokens name it.
    pub resource: String,
    /// Who gives tokens out.
    pub authorization_servers: Vec<String>,
}

/// Knows callers. One of these stands before every route that touches work.
#[async_trait]
pub trait Gatekeeper: Send + Sync + 'static {
    /// Who sent this request, or why nobody is let in. There is at most one `Authorization` header; the body was not read.
    async fn admit(&self, request: &Parts) -> Result<Caller, Denied>;

    /// Where tokens come from, if tokens are taken at all.
    fn resource(&self) -> Option<Resource> {
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
        let by = stated_actor(request)?.or_else(|| self.caller.by.clone());
        Ok(Caller { by, ..self.caller.clone() })
    }
}

/// Who is said to act, where the request says so: recorded beside who is known to call.
pub fn stated_actor(request: &Parts) -> Result<Option<Attribution>, Denied> {
    let mut stated = request.headers.get_all(ACTOR).iter();
    let Some(first) = stated.next() else { return Ok(None) };
    if stated.next().is_some() {
        return Err(Denied::Refused(Error::validation(Reason::Duplicate, format!("{ACTOR} is there twice"))));
    }
    let text = std::str::from_utf8(first.as_bytes()).unwrap_or_default();
    let actor: ActorClaim =
        text.parse().map_err(|invalid: docket_core::Invalid| Denied::Refused(Error::from(invalid.at(ACTOR))))?;
    Ok(Some(Attribution { actor, verification: Verification::unchecked() }))
}
