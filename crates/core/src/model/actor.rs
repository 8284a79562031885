//! Who says they act, and how far that was checked.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Name, Text};
use crate::error::{Code, Error, Invalid, Kind, Reason, echo};

/// What sort of actor it is.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ActorKind {
    /// Dispatches other agents.
    Orchestrator,
    /// Works for another agent.
    Subagent,
    /// A person.
    User,
    /// Anything outside.
    External,
}

impl ActorKind {
    /// The kind as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Orchestrator => "orchestrator",
            Self::Subagent => "subagent",
            Self::User => "user",
            Self::External => "external",
        }
    }
}

impl FromStr for ActorKind {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let lower = text.to_ascii_lowercase();
        [Self::Orchestrator, Self::Subagent, Self::User, Self::External]
            .into_iter()
            .find(|kind| kind.as_str() == lower)
            .ok_or_else(|| {
                Invalid::new(
                    Reason::UnknownValue,
                    format!("must be one of orchestrator, subagent, user, external, not \"{}\"", echo(text)),
                )
            })
    }
}

/// Who a caller says is acting.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActorClaim {
    /// Identifies the actor.
    pub id: Name,
    /// What sort of actor it is.
    pub kind: ActorKind,
    /// The agent that dispatched it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Name>,
    /// A credential, kept as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Text>,
}

/// `KIND:NAME`, as people write it: `agent` is a subagent, `human` a user.
impl FromStr for ActorClaim {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let bad = |message: String| Invalid::new(Reason::BadValue, message);
        let (kind, name) = text.split_once(':').ok_or_else(|| {
            bad(format!("must be KIND:NAME, such as user:ann or subagent:parser-1, not \"{}\"", echo(text)))
        })?;
        let kind = match kind.to_ascii_lowercase().as_str() {
            "agent" => ActorKind::Subagent,
            "human" => ActorKind::User,
            other => other.parse().map_err(|_| {
                bad(format!("must be of the kind user, orchestrator, subagent or external, not \"{}\"", echo(kind)))
            })?,
        };
        let id = Name::parse(name).map_err(|invalid| bad(format!("has a name that {}", invalid.message)))?;
        Ok(Self { id, kind, parent: None, proof: None })
    }
}

/// How the check of a proof ended.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VerificationStatus {
    /// There was no proof.
    Absent,
    /// No verifier is configured.
    Unchecked,
    /// The proof holds.
    Verified,
    /// The proof does not hold.
    Rejected,
    /// It could not be checked now.
    Unavailable,
}

/// The record of a check, kept beside the claim it was about.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    /// How it ended.
    pub status: VerificationStatus,
    /// Which verifier looked.
    pub verifier: String,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Details such as the failure's category or the age of the keys.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

impl Verification {
    /// The record of a server that checks nothing.
    pub fn unchecked() -> Self {
        Self {
            status: VerificationStatus::Unchecked,
            verifier: "noop".to_owned(),
            reason: None,
            metadata: BTreeMap::new(),
        }
    }
}

/// An actor with the record of its check: what an event remembers of "who".
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribution {
    /// Who says they act.
    pub actor: ActorClaim,
    /// How far that was checked.
    pub verification: Verification,
}

/// What came of a check: its record, and whom a proof that holds names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What is kept of it.
    pub record: Verification,
    /// Whom the proof names, where it holds and names anybody.
    pub subject: Option<Name>,
}

impl Verdict {
    /// A check that names nobody.
    pub fn of(record: Verification) -> Self {
        Self { record, subject: None }
    }
}

impl Attribution {
    /// An actor after its proof was looked at. Whoever a proof that holds names is who acts, whatever the actor calls itself,
    /// unless the policy takes callers at their word. Where the two differ, the record says both.
    pub fn checked(mut actor: ActorClaim, verdict: Verdict, policy: DegradedMode) -> Self {
        let Verdict { record: mut verification, subject } = verdict;
        let proven = subject.filter(|_| verification.status == VerificationStatus::Verified);
        if let Some(proven) = proven.filter(|proven| *proven != actor.id) {
            verification.metadata.insert("statedId".to_owned(), actor.id.to_string());
            verification.metadata.insert("provenId".to_owned(), proven.to_string());
            match policy {
                DegradedMode::AcceptCached | DegradedMode::Reject => actor.id = proven,
                DegradedMode::AcceptSelfReported => {}
            }
        }
        Self { actor, verification }
    }

    /// Serialises the actor's id alone: a request that is sent again with a new proof is the same request.
    #[expect(clippy::ref_option, reason = "the shape that serde calls")]
    pub(crate) fn id_alone<S: serde::Serializer>(who: &Option<Self>, serializer: S) -> Result<S::Ok, S::Error> {
        who.as_ref().map(|who| &who.actor.id).serialize(serializer)
    }
}

/// Whose word counts when a proof could not be verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DegradedMode {
    /// A proof verified against stale keys counts; without a proof the actor's word does.
    #[default]
    AcceptCached,
    /// The actor's word counts.
    AcceptSelfReported,
    /// Only a verified proof counts.
    Reject,
}

impl FromStr for DegradedMode {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text.to_ascii_lowercase().as_str() {
            "accept-cached" => Ok(Self::AcceptCached),
            "accept-self-reported" => Ok(Self::AcceptSelfReported),
            "reject" => Ok(Self::Reject),
            _ => Err(Invalid::new(
                Reason::UnknownValue,
                format!("must be accept-cached, accept-self-reported or reject, not \"{}\"", echo(text)),
            )),
        }
    }
}

impl DegradedMode {
    /// The identity that may hold claims, or why there is none. A rejected proof is never taken for its word.
    pub fn trusted(self, who: &Attribution) -> Result<&Name, Error> {
        let trusted = match who.verification.status {
            VerificationStatus::Verified => true,
            VerificationStatus::Rejected => false,
            VerificationStatus::Absent | VerificationStatus::Unchecked | VerificationStatus::Unavailable => {
                self != Self::Reject
            }
        };
        if trusted {
            return Ok(&who.actor.id);
        }
        Err(rejected("the actor's identity is not verified and the degraded-mode policy rejects it"))
    }

    /// The same where nobody says that they act: then whoever is connected does, unless only proofs count.
    pub fn unnamed(self, principal: &Name) -> Result<&Name, Error> {
        match self {
            Self::AcceptCached | Self::AcceptSelfReported => Ok(principal),
            Self::Reject => {
                Err(rejected("no actor is named, so none is verified, and the degraded-mode policy rejects that"))
            }
        }
    }
}

fn rejected(message: &str) -> Error {
    Error::new(Kind::Permanent, Code::Forbidden, Reason::RejectedByPolicy, message)
}
