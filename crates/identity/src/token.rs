//! Checks a signed token: how it is signed, by whom, for whom, and when.

use std::time::Duration;

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Header, Validation, decode, decode_header};
use serde_json::Value;

use crate::settings::{Algorithm, JwksSettings};
use crate::source::KeySource;
use crate::{LEEWAY_SECONDS, TOKEN_BYTES};

/// The latest second that a claim may name: the end of the year 9999.
const LATEST_SECOND: u64 = 253_402_300_799;

/// A token that holds.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    pub(crate) claims: Value,
    /// How old the keys were, where they should have been fetched again and could not be.
    pub(crate) stale: Option<Duration>,
}

/// Why a token does not hold, in the categories that records use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    Crypto,
    Claims,
    Policy,
    Network,
    Internal,
}

impl FailureKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Crypto => "crypto",
            Self::Claims => "claims",
            Self::Policy => "policy",
            Self::Network => "network",
            Self::Internal => "internal",
        }
    }
}

/// A token that does not hold. The text holds nothing of the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) kind: FailureKind,
    pub(crate) reason: String,
}

fn failure(kind: FailureKind, reason: impl Into<String>) -> Failure {
    Failure { kind, reason: reason.into() }
}

/// Checks a token against the keys of a source. The time is the machine's: a token's own times are others' clocks.
pub(crate) async fn check(source: &KeySource, token: &str) -> Result<Checked, Failure> {
    let header = read_header(token, source.settings())?;
    let keys = source.keys(header.kid.as_deref()).await.map_err(|what| failure(FailureKind::Network, what))?;
    let key = keys
        .set
        .find(header.kid.as_deref())
        .ok_or_else(|| failure(FailureKind::Crypto, "no key of the key set has the token's key id"))?;
    let settings = source.settings();
    let mut validation = Validation::new(header.alg);
    validation.leeway = LEEWAY_SECONDS;
    validation.validate_nbf = true;
    let mut needed = vec!["exp"];
    match &settings.audience {
        Some(audience) => {
            validation.set_audience(&[audience]);
            needed.push("aud");
        }
        None => validation.validate_aud = false,
    }
    if let Some(issuer) = &keys.issuer {
        validation.set_issuer(&[issuer]);
        needed.push("iss");
    }
    validation.set_required_spec_claims(&needed);
    let claims = decode::<Value>(token, key, &validation).map_err(|error| explained(error.kind()))?.claims;
    check_times(&claims)?;
    Ok(Checked { claims, stale: keys.stale })
}

/// What a token says of itself. Addresses and keys in it count for nothing; a token that has them is refused.
fn read_header(token: &str, settings: &JwksSettings) -> Result<Header, Failure> {
    if token.len() > TOKEN_BYTES {
        return Err(failure(FailureKind::Policy, format!("the token is longer than {TOKEN_BYTES} bytes")));
    }
    let header = decode_header(token)
        .map_err(|_| failure(FailureKind::Policy, "this is no signed token, or it is signed in no way known here"))?;
    if !settings.algorithms.contains(&Algorithm(header.alg)) {
        return Err(failure(FailureKind::Policy, format!("tokens signed with {:?} are not accepted here", header.alg)));
    }
    if header.crit.is_some() {
        return Err(failure(FailureKind::Policy, "the token demands extensions that are not known here"));
    }
    if header.jwk.is_some() || header.jku.is_some() || header.x5u.is_some() {
        return Err(failure(FailureKind::Policy, "the token brings its own key, which is not looked at"));
    }
    Ok(header)
}

/// Times are whole seconds; one that says it was issued later than now was not issued by a clock like ours.
fn check_times(claims: &Value) -> Result<(), Failure> {
    for name in ["exp", "nbf", "iat"] {
        let Some(time) = claims.get(name) else { continue };
        if time.as_u64().is_none_or(|time| time > LATEST_SECOND) {
            return Err(failure(FailureKind::Claims, format!("{name} is no time in whole seconds")));
        }
    }
    let now = jsonwebtoken::get_current_timestamp();
    if claims.get("iat").and_then(Value::as_u64).is_some_and(|issued| issued > now + LEEWAY_SECONDS) {
        return Err(failure(FailureKind::Claims, "iat lies in the future"));
    }
    Ok(())
}

fn explained(kind: &ErrorKind) -> Failure {
    match kind {
        ErrorKind::InvalidSignature => failure(FailureKind::Crypto, "the signature does not hold"),
        ErrorKind::InvalidAlgorithm | ErrorKind::InvalidKeyFormat => {
            failure(FailureKind::Crypto, "the key is not for this way of signing")
        }
        ErrorKind::ExpiredSignature => failure(FailureKind::Claims, "exp lies in the past"),
        ErrorKind::ImmatureSignature => failure(FailureKind::Claims, "nbf lies in the future"),
        ErrorKind::InvalidIssuer => failure(FailureKind::Claims, "iss is not the issuer expected"),
        ErrorKind::InvalidAudience => failure(FailureKind::Claims, "aud is not the audience expected"),
        ErrorKind::MissingRequiredClaim(claim) => failure(FailureKind::Claims, format!("{claim} is missing")),
        ErrorKind::InvalidClaimFormat(claim) => failure(FailureKind::Claims, format!("{claim} has a wrong form")),
        ErrorKind::InvalidToken | ErrorKind::Base64(_) | ErrorKind::Json(_) | ErrorKind::Utf8(_) => {
            failure(FailureKind::Policy, "this is no signed token")
        }
        _ => failure(FailureKind::Internal, "the token cannot be checked"),
    }
}
