//! Checks what actors show for being who they say: a signed token, against a key set.

use std::collections::BTreeMap;

use async_trait::async_trait;
use docket_core::model::{Name, Verdict, Verification, VerificationStatus};
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

    /// Whom a proof names, and how old the keys were where they could not be fetched again. A token that names nobody
    /// proves nobody.
    async fn check(&self, actor: &Name, proof: &str) -> Result<(Name, Option<u64>), Failure> {
        let bad = |reason: &str| Failure { kind: FailureKind::Claims, reason: reason.to_owned() };
        let checked = check(&self.source, proof).await?;
        let subject = checked.claims.get("sub").and_then(serde_json::Value::as_str);
        let subject = subject.ok_or_else(|| bad("sub is missing, or no text: the token names nobody"))?;
        let subject = Name::parse(subject).map_err(|_| bad("sub is no name that an actor may have"))?;
        if self.source.settings().require_sub_match && subject != *actor {
            return Err(bad("sub is not the actor's id"));
        }
        Ok((subject, checked.stale.map(|age| age.as_secs())))
    }
}

#[async_trait]
impl ProofVerifier for JwksVerifier {
    async fn verify(&self, actor: &Name, proof: Option<&str>) -> Verdict {
        let (mut metadata, mut subject) = (BTreeMap::new(), None);
        let (status, reason) = match proof {
            None => (VerificationStatus::Absent, None),
            Some(proof) => match self.check(actor, proof).await {
                Ok((named, stale)) => {
                    subject = Some(named);
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
        let record = Verification { status, verifier: "jwks".to_owned(), reason, metadata };
        Verdict { record, subject }
    }
}
