//! What an operator configures.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// A way of signing that may be allowed: those with a public and a private key alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Algorithm(pub(crate) jsonwebtoken::Algorithm);

impl Algorithm {
    /// All that may be allowed, as they are written.
    pub const NAMES: [&'static str; 9] =
        ["EdDSA", "ES256", "ES384", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512"];
}

impl FromStr for Algorithm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::NAMES.contains(&text).then(|| text.parse().ok()).flatten();
        known
            .map(Self)
            .ok_or_else(|| format!("must be one of {}, not \"{}\"", Self::NAMES.join(", "), docket_core::echo(text)))
    }
}

/// Where keys come from and what a token signed with one must say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JwksSettings {
    /// A discovery document that names the key set and the issuer.
    pub oidc_discovery: Option<String>,
    /// The key set; goes before the discovered one.
    pub jwks_uri: Option<String>,
    /// A file with keys, beside those that are fetched.
    pub jwks_path: Option<PathBuf>,
    /// Who must have issued a token; goes before the discovered one.
    pub issuer: Option<String>,
    /// Whom a token must be for.
    pub audience: Option<String>,
    /// The ways of signing that are accepted.
    pub algorithms: Vec<Algorithm>,
    /// How long fetched keys are good before they are fetched again.
    pub cache_ttl: Duration,
    /// Whether keys that could not be fetched again go on being used, for a day at the most.
    pub stale_on_error: bool,
    /// Shortest time between two fetches that tokens cause.
    pub refresh_pause: Duration,
    /// Longest time that keys are used which could not be fetched again.
    pub max_age: Duration,
    /// Whether a token's subject must be the actor that it is shown for.
    pub require_sub_match: bool,
}

impl Default for JwksSettings {
    fn default() -> Self {
        Self {
            oidc_discovery: None,
            jwks_uri: None,
            jwks_path: None,
            issuer: None,
            audience: None,
            algorithms: vec![
                Algorithm(jsonwebtoken::Algorithm::EdDSA),
                Algorithm(jsonwebtoken::Algorithm::ES256),
                Algorithm(jsonwebtoken::Algorithm::RS256),
            ],
            cache_ttl: Duration::from_mins(5),
            stale_on_error: true,
            refresh_pause: crate::REFRESH_PAUSE,
            max_age: crate::KEYS_MAX_AGE,
            require_sub_match: false,
        }
    }
}

/// Which claims of a bearer token say what its holder may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimNames {
    /// Who it is.
    pub principal: String,
    /// The profile.
    pub profile: String,
    /// The slugs of projects; all where the claim is missing and `all_projects` is set, none otherwise.
    pub projects: String,
    /// The one item that may be changed, by its id or as `task:<id>`.
    pub item: String,
}

impl Default for ClaimNames {
    fn default() -> Self {
        Self {
            principal: "sub".to_owned(),
            profile: "docket_profile".to_owned(),
            projects: "docket_projects".to_owned(),
            item: "docket_item".to_owned(),
        }
    }
}

/// How bearer tokens are checked and read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenSettings {
    /// Keys, issuer and audience; both of these are needed.
    pub keys: JwksSettings,
    /// Which claims say what.
    pub claims: ClaimNames,
    /// Whether a token without the claim of projects is for all of them.
    pub all_projects: bool,
}

/// Why a verifier cannot be set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SetupError(pub String);
