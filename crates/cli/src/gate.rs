//! Who may come in over HTTP: the holders of keys and tokens, or, without any, the local user; and how often.

use std::sync::Arc;

use async_trait::async_trait;
use docket_core::model::DegradedMode;
use docket_core::{Engine, Error};
use docket_identity::{Bearer, Limiter, Rate, TokenSettings};
use docket_rest_api::{Caller, Denied, Gatekeeper, LocalUser, Resource, stated_actor};
use http::header::AUTHORIZATION;
use http::request::Parts;

use crate::exit::Failure;

/// Lets in whoever shows a key or a token that holds.
struct KeyHolders {
    bearer: Bearer,
    engine: Engine,
    policy: DegradedMode,
    resource: Option<Resource>,
}

#[async_trait]
impl Gatekeeper for KeyHolders {
    async fn admit(&self, request: &Parts) -> Result<Caller, Denied> {
        let credential = credential(request).ok_or_else(|| denied(Bearer::missing()))?;
        let known = self.bearer.caller(credential).await.map_err(denied)?;
        Ok(Caller {
            by: stated_actor(request)?,
            principal: known.principal,
            policy: self.policy,
            engine: self.engine.limited_to(known.access),
        })
    }

    fn resource(&self) -> Option<Resource> {
        self.resource.clone()
    }
}

/// What follows `Bearer` in the header; the scheme is written in any case.
fn credential(request: &Parts) -> Option<&str> {
    let (scheme, credential) = request.headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let credential = credential.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !credential.is_empty()).then_some(credential)
}

/// A store that is away or a key server that does not answer says nothing about the credential.
fn denied(error: Error) -> Denied {
    if error.kind == docket_core::Kind::Permanent {
        tracing::info!(target: "docket::audit", reason = ?error.reason, "not let in");
        Denied::Unauthenticated(error)
    } else {
        Denied::Refused(error)
    }
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

    fn resource(&self) -> Option<Resource> {
        self.gate.resource()
    }
}

/// The gate of a server whose callers are known by keys and tokens.
pub(crate) async fn for_key_holders(
    engine: &Engine,
    policy: DegradedMode,
    tokens: Option<TokenSettings>,
    rate: Option<Rate>,
) -> Result<Arc<dyn Gatekeeper>, Failure> {
    let resource = tokens.as_ref().and_then(resource);
    let bearer = Bearer::new(engine.clone(), tokens)
        .await
        .map_err(|error| Failure::environment(format!("bearer tokens cannot be checked: {error}")))?;
    Ok(counted(KeyHolders { bearer, engine: engine.clone(), policy, resource }, rate))
}

/// The gate of a server that only the user who started it can reach.
pub(crate) fn for_local_user(caller: Caller, rate: Option<Rate>) -> Arc<dyn Gatekeeper> {
    counted(LocalUser::new(caller), rate)
}

fn counted(gate: impl Gatekeeper, rate: Option<Rate>) -> Arc<dyn Gatekeeper> {
    match rate {
        Some(rate) => Arc::new(Counted { gate, limiter: Limiter::new(rate) }),
        None => Arc::new(gate),
    }
}

fn resource(tokens: &TokenSettings) -> Option<Resource> {
    let keys = &tokens.keys;
    Some(Resource { resource: keys.audience.clone()?, authorization_servers: keys.issuer.iter().cloned().collect() })
}
