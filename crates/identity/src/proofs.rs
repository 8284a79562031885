//! Checks what actors show for being who they say: a signed token, against a key set.

use std::collections::BTreeMap;

use async_trait::async_trait;
use docket_core::model::{Name, Verification, VerificationStatus};
use docket_core::proof::ProofVerifier;

use crate::settings::{JwksSettings, SetupError};
use crate::source::KeySource;
use crate::token::{Failure, FailureKind, check};

/// Checks proofs against a JSON Web Key Set.
pub struct JwksVerifier {
    source: KeySource,
}

impl std::fmt::Debug for JwksVerifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JwksVerifier").finish_non_exhaustive()
    }
}

impl JwksVerifier {
    /// Sets a verifier up. Refuses settings that could verify nothing.
    pub async fn new(settings: JwksSettings) -> Result<Self, SetupError> {
        Ok(Self { source: KeySource::open(settings).await? })
    }

    async fn check(&self, actor: &Name, proof: &str) -> Result<Option<u64>, Failure> {
        let checked = check(&self.source, proof).await?;
        let subject = checked.claims.get("sub").and_then(serde_json::Value::as_str);
        if self.source.settings().require_sub_match && subject != Some(actor.as_str()) {
            return Err(Failure { kind: FailureKind::Claims, reason: "sub is not the actor's id".to_owned() });
        }
        Ok(checked.stale.map(|age| age.as_secs()))
    }
}

#[async_trait]
impl ProofVerifier for JwksVerifier {
    async fn verify(&self, actor: &Name, proof: Option<&str>) -> Verification {
        let mut metadata = BTreeMap::new();
        let (status, reason) = match proof {
            None => (VerificationStatus::Absent, None),
            Some(proof) => match self.check(actor, proof).await {
                Ok(stale) => {
                    if let Some(age) = stale {
                        metadata.insert("verifiedFromCache".to_owned(), "true".to_owned());
                        metadata.insert("cacheAgeSeconds".to_owned(), age.to_string());
                    }
                    (VerificationStatus::Verified, None)
                }
                Err(Failure { kind, reason }) => {
                    metadata.insert("failureKind".to_owned(), kind.as_str().to_owned());
                    let status = match kind {
                        FailureKind::Network => VerificationStatus::Unavailable,
                        FailureKind::Crypto | FailureKind::Claims | FailureKind::Policy | FailureKind::Internal => {
                            VerificationStatus::Rejected
                        }
                    };
                    (status, Some(reason))
                }
            },
        };
        Verification { status, verifier: "jwks".to_owned(), reason, metadata }
    }
}
