//! The one error type. Every surface renders it in its own envelope; none adds a meaning of its own.

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::model::{Authority, CheckStanding, CriterionId, ItemId, Role, Standing, Text, Tree};

/// Whether trying again can help.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Trying again may succeed.
    Transient,
    /// The same request will fail the same way.
    Permanent,
    /// The server is over capacity: wait, then try again.
    Shedding,
}

impl Kind {
    /// Its name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Permanent => "permanent",
            Self::Shedding => "shedding",
        }
    }
}

/// The class of a failure, stable across surfaces.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Code {
    /// The request is malformed.
    Validation,
    /// What it names does not exist, or may not be seen.
    NotFound,
    /// The caller may not do this.
    Forbidden,
    /// It collides with the present state or with another request.
    Conflict,
    /// A rule of the workflow refuses it; the refusals say which.
    RuleBlocked,
    /// No project was named and none can be assumed.
    ProjectRequired,
    /// Too many requests.
    RateLimited,
    /// The store cannot serve this now.
    Unavailable,
}

impl Code {
    /// The code as it is written on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Validation => "VALIDATION",
            Self::NotFound => "NOT_FOUND",
            Self::Forbidden => "FORBIDDEN",
            Self::Conflict => "CONFLICT",
            Self::RuleBlocked => "RULE_BLOCKED",
            Self::ProjectRequired => "PROJECT_REQUIRED",
            Self::RateLimited => "RATE_LIMITED",
            Self::Unavailable => "UNAVAILABLE",
        }
    }
}

/// The precise cause, for programs. Each has a line in `docs/errors.md`.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the documentation; docs/errors.md explains each")]
pub enum Reason {
    Blank,
    TooLong,
    TooMany,
    TooFew,
    BadChar,
    BadId,
    BadValue,
    BadTtl,
    BadCursor,
    BadRequestId,
    BadJson,
    BadUtf8,
    UnknownField,
    MissingField,
    UnknownValue,
    AmbiguousId,
    BatchTooLarge,
    Duplicate,
    Cycle,
    SelfEdge,
    TooDeep,
    GraphTooLarge,
    HasChildren,
    NotFound,
    OtherProject,
    Terminal,
    NotReady,
    AlreadyClaimed,
    NotClaimedByYou,
    ClaimLost,
    ClaimLimit,
    ForeignClaim,
    VersionMismatch,
    RequestIdReused,
    RefusedByGate,
    QuestionOpen,
    QuestionClosed,
    SessionOpen,
    SessionEnded,
    ActorMismatch,
    Archived,
    QuotaExceeded,
    NotYours,
    OutsideWorktree,
    CheckNotApproved,
    ChecksNeeded,
    NoRunner,
    StillRunning,
    RunEnded,
    RejectedByPolicy,
    CredentialMissing,
    BadCredential,
    KeyRevoked,
    KeyExpired,
    ProofRejected,
    ProfileTooLow,
    RateLimited,
    OutOfScope,
    ActorRequired,
    ProjectRequired,
    StoreBusy,
    StoreFull,
    StoreReadOnly,
    StoreCorrupt,
    StoreNewer,
    StoreForeign,
    StoreReplaced,
    StoreFailed,
    NotConfigured,
    EmbedderFailed,
    WrongHost,
    BadMedia,
    TooSlow,
    Overloaded,
}

impl Reason {
    /// The reason as it is written on the wire.
    pub fn as_str(self) -> String {
        serde_json::to_value(self).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
    }
}

/// A value that may not enter the model. Made by the parsing constructors of [`crate::model`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invalid {
    /// The precise cause.
    pub reason: Reason,
    /// What is wrong and what would be right.
    pub message: String,
    /// The field at fault, where one is known.
    pub field: Option<String>,
}

impl Invalid {
    /// A refusal of a value, without a field yet.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), field: None }
    }

    /// Names the field, unless a deeper parser already did.
    #[must_use]
    pub fn at(mut self, field: &str) -> Self {
        if self.field.is_none() {
            self.message = format!("{field} {}", self.message);
            self.field = Some(field.to_owned());
        }
        self
    }
}

/// Between the reason, the field and the message in the alternate form; no message holds it.
const ALTERNATE: char = '\u{1f}';

/// The message; in the alternate form (`{:#}`) the reason and the field before it. Serde hands on nothing of an error but how
/// it is written, and [`crate::wire`] wants them.
impl std::fmt::Display for Invalid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if f.alternate() {
            let field = self.field.as_deref().unwrap_or_default();
            write!(f, "{}{ALTERNATE}{field}{ALTERNATE}", self.reason.as_str())?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Invalid {}

impl Invalid {
    /// Reads the alternate form.
    pub(crate) fn from_alternate(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, ALTERNATE);
        let (reason, field, message) = (parts.next()?, parts.next()?, parts.next()?);
        let reason = serde_json::from_value(serde_json::Value::String(reason.to_owned())).ok()?;
        let field = Some(field.to_owned()).filter(|field| !field.is_empty());
        Some(Self { field, ..Self::new(reason, message) })
    }
}

/// The gates of a move, in the order in which they are reported.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Gate {
    /// The workflow has no such move.
    Transition,
    /// A live claim is someone else's, or the caller's fence is stale.
    Ownership,
    /// A blocking edge's source has not come far enough.
    Dependencies,
    /// A required note is missing or blank.
    Notes,
    /// An acceptance criterion is not shown.
    Criteria,
    /// A check has not passed, or not of what there is now.
    Checks,
    /// A descendant is still open.
    Descendants,
    /// A question to a person is not answered.
    Question,
    /// The workflow leads to success only by way of review.
    Review,
}

impl Gate {
    /// The gate's name as configuration and answers spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Transition => "transition",
            Self::Ownership => "ownership",
            Self::Dependencies => "dependencies",
            Self::Notes => "notes",
            Self::Criteria => "criteria",
            Self::Checks => "checks",
            Self::Descendants => "descendants",
            Self::Question => "question",
            Self::Review => "review",
        }
    }
}

/// One gate's no: what is missing and how to mend it.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    /// The gate that refuses.
    pub gate: Gate,
    /// What is the matter.
    pub message: String,
    /// The act that would clear it.
    pub remedy: String,
    /// Blockers that have not come far enough (`dependencies`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<Blocker>,
    /// Note keys to fill (`notes`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_notes: Vec<String>,
    /// Criteria that are not shown (`criteria`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unproved: Vec<UnprovedCriterion>,
    /// Checks that have not passed (`checks`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unshown: Vec<UnshownCheck>,
    /// Open items in the way (`descendants`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open_items: Vec<ItemId>,
    /// How long a live claim still runs (`ownership`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// A more precise cause than the gate's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}

impl Refusal {
    /// A plain refusal.
    pub fn new(gate: Gate, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            gate,
            message: message.into(),
            remedy: remedy.into(),
            blockers: Vec::new(),
            missing_notes: Vec::new(),
            unproved: Vec::new(),
            unshown: Vec::new(),
            open_items: Vec::new(),
            retry_after_ms: None,
            reason: None,
        }
    }
}

/// A criterion that keeps an item from moving on.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnprovedCriterion {
    /// Its name in the item.
    pub id: CriterionId,
    /// What must be true.
    pub text: Text,
    /// Who shows it.
    pub verifier: Authority,
    /// How far it is shown.
    pub status: Standing,
}

/// A check that keeps an item from being done.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnshownCheck {
    /// Its place among the checks of the item, counted from 0.
    pub index: usize,
    /// What it verifies.
    pub desc: Text,
    /// How it stands.
    pub status: CheckStanding,
    /// Whether it waits for a person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub manual: bool,
    /// The work tree that its result is of, where that does not count, or nobody has compared it with the one there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub tree: Option<Tree>,
}

/// A blocker that has not reached the role its edge waits for.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Blocker {
    /// The item that blocks.
    pub item: ItemId,
    /// Where it stands.
    pub current_role: Role,
    /// Where it must stand.
    pub required_role: Role,
}

impl Blocker {
    /// What must become of it, in a word or two that need no knowledge of roles.
    pub fn must_be(&self) -> &'static str {
        match self.required_role {
            Role::Queue | Role::Blocked => "there",
            Role::Work => "begun",
            Role::Review => "in review",
            Role::Terminal => "closed",
        }
    }
}

/// Why a request failed.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
#[serde(rename_all = "camelCase")]
pub struct Error {
    /// Whether trying again can help.
    pub kind: Kind,
    /// The class of the failure.
    pub code: Code,
    /// The precise cause.
    pub reason: Reason,
    /// What is the matter, for a reader.
    pub message: String,
    /// The field at fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The gates that said no.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refusals: Vec<Refusal>,
    /// When trying again is sensible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The item that was contended for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contended_item: Option<ItemId>,
}

impl Error {
    /// A failure without details.
    pub fn new(kind: Kind, code: Code, reason: Reason, message: impl Into<String>) -> Self {
        Self {
            kind,
            code,
            reason,
            message: message.into(),
            field: None,
            refusals: Vec::new(),
            retry_after_ms: None,
            contended_item: None,
        }
    }

    /// A malformed request.
    pub fn validation(reason: Reason, message: impl Into<String>) -> Self {
        Self::new(Kind::Permanent, Code::Validation, reason, message)
    }

    /// Something that is not there.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(Kind::Permanent, Code::NotFound, Reason::NotFound, message)
    }

    /// A collision that trying again will not solve.
    pub fn conflict(reason: Reason, message: impl Into<String>) -> Self {
        Self::new(Kind::Permanent, Code::Conflict, reason, message)
    }

    /// A move that gates refuse. `what` names the move. Where nothing but somebody else's claim is in the way, that passes by
    /// itself; whatever else is has to be cleared first, and to wait is no help.
    pub fn blocked(what: &str, refusals: Vec<Refusal>) -> Self {
        let messages: Vec<&str> = refusals.iter().map(|refusal| refusal.message.as_str()).collect();
        let message = format!("{what}: {}", messages.join("; "));
        let reason = refusals.iter().find_map(|refusal| refusal.reason).unwrap_or(Reason::RefusedByGate);
        let passes =
            !refusals.is_empty() && refusals.iter().all(|refusal| refusal.reason == Some(Reason::AlreadyClaimed));
        let kind = if passes { Kind::Transient } else { Kind::Permanent };
        let retry_after_ms = refusals.iter().find_map(|refusal| refusal.retry_after_ms).filter(|_| passes);
        Self { refusals, retry_after_ms, ..Self::new(kind, Code::RuleBlocked, reason, message) }
    }

    /// Says what the field at fault lies in.
    #[must_use]
    pub fn within(mut self, outer: &str) -> Self {
        self.field = Some(self.field.map_or_else(|| outer.to_owned(), |field| format!("{outer}.{field}")));
        self
    }

    /// The same to a caller who knows a field, and what lies beneath it, by another name.
    #[must_use]
    pub fn called(mut self, ours: &str, theirs: &str) -> Self {
        let rest = self.field.as_deref().and_then(|field| field.strip_prefix(ours));
        if let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with(['.', '['])) {
            self.field = Some(if theirs.is_empty() {
                rest.trim_start_matches('.').to_owned()
            } else {
                format!("{theirs}{rest}")
            });
        }
        self
    }

    /// Names the field at fault.
    #[must_use]
    pub fn at(mut self, field: impl Into<String>) -> Self {
        self.field.get_or_insert_with(|| field.into());
        self
    }
}

impl From<Invalid> for Error {
    fn from(invalid: Invalid) -> Self {
        Self { field: invalid.field, ..Self::validation(invalid.reason, invalid.message) }
    }
}

/// Text from a caller, made safe to show inside a message: no control characters, no more than the echo limit.
pub fn echo(text: &str) -> String {
    let mut shown: String = text
        .chars()
        .take(limits::ECHO_CHARS)
        .map(|c| if c.is_control() || is_bidi_control(c) { '\u{fffd}' } else { c })
        .collect();
    if text.chars().nth(limits::ECHO_CHARS).is_some() {
        shown.push('…');
    }
    shown
}

/// Whether a word of a text mixes Latin letters with Cyrillic or Greek ones, of which many look the same: whoever reads it takes
/// it for another word than a program does.
pub fn is_confusable(text: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric()).any(|word| {
        let latin = word.chars().any(|c| c.is_ascii_alphabetic() || matches!(c, '\u{c0}'..='\u{24f}'));
        latin && word.chars().any(|c| matches!(c, '\u{370}'..='\u{52f}' | '\u{1f00}'..='\u{1fff}'))
    })
}

/// Characters that reorder what follows on a screen.
pub fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{061c}')
}
