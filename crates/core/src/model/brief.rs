//! The work contract of an item: six sections, and how far each acceptance criterion is shown.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{Check, CheckStanding, Name, Text, Timestamp};
use crate::error::{Invalid, Reason, echo};
use crate::plant::{Bug, planted};

/// Whose word settles a criterion, and how much a piece of evidence weighs: a lower one never overrides a higher one.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Authority {
    /// The agent that does the work.
    #[default]
    Agent,
    /// A check that was run.
    Check,
    /// A person.
    Human,
}

impl Authority {
    /// All of them, the least first.
    pub const ALL: [Self; 3] = [Self::Agent, Self::Check, Self::Human];

    /// The authority as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Check => "check",
            Self::Human => "human",
        }
    }
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Authority {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let lower = text.to_ascii_lowercase();
        Self::ALL.into_iter().find(|authority| authority.as_str() == lower).ok_or_else(|| {
            Invalid::new(Reason::UnknownValue, format!("must be agent, check or human, not \"{}\"", echo(text)))
        })
    }
}

/// Names a criterion within its item for as long as the item lives: `c1`, `c2`; numbers are never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CriterionId(pub u32);

impl fmt::Display for CriterionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c{}", self.0)
    }
}

impl From<CriterionId> for String {
    fn from(id: CriterionId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for CriterionId {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        text.parse()
    }
}

impl FromStr for CriterionId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let digits = text.trim().strip_prefix(['c', 'C']).filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
        digits.and_then(|digits| digits.parse().ok()).filter(|number| *number > 0).map(Self).ok_or_else(|| {
            Invalid::new(Reason::BadId, format!("must be the id of a criterion, such as c1, not \"{}\"", echo(text)))
        })
    }
}

/// What a piece of evidence was about: it counts for as long as the criterion still says the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct About(String);

impl About {
    /// What evidence for this text is about.
    pub fn of(text: &Text) -> Self {
        let digest = Sha256::digest(text.as_str().as_bytes());
        let mut shown = String::with_capacity(32);
        for byte in digest.iter().take(16) {
            // Writing into a text cannot fail.
            _ = write!(shown, "{byte:02x}");
        }
        Self(shown)
    }
}

/// Somebody's word, or a run's, on one criterion. The newest of each authority is kept; events hold the rest.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// How much it weighs.
    pub authority: Authority,
    /// Whether it holds.
    pub passed: bool,
    /// What was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Text>,
    /// Who says so.
    pub by: Name,
    /// When.
    pub at: Timestamp,
    /// The text it was given for.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub about: About,
}

/// How far a criterion is shown.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// Shown to hold.
    Pass,
    /// Shown not to hold.
    Fail,
    /// Nothing was shown yet, or not by who must.
    Open,
    /// It was shown, and says something else since.
    Stale,
}

impl Standing {
    /// The standing as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Open => "open",
            Self::Stale => "stale",
        }
    }
}

/// One line that must be true when the work is done.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Criterion {
    /// Its name in the item.
    pub id: CriterionId,
    /// What must be true.
    pub text: Text,
    /// Who shows it.
    #[serde(default)]
    pub verifier: Authority,
    /// Whether it gates moves; a soft one is only told.
    pub hard: bool,
    /// How to show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<Text>,
    /// What was shown, at most one piece of each authority.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
}

impl Criterion {
    /// The evidence that settles it: the weightiest that is about the present text and comes from who must show it, or from
    /// somebody weightier.
    pub fn settled_by(&self) -> Option<&Evidence> {
        let about = About::of(&self.text);
        let same = |evidence: &Evidence| evidence.about == about || planted(Bug::WordsNotCompared);
        let counts = |evidence: &&Evidence| same(evidence) && evidence.authority >= self.verifier;
        self.evidence.iter().filter(counts).max_by_key(|evidence| evidence.authority)
    }

    /// How far it is shown.
    pub fn standing(&self) -> Standing {
        match self.settled_by() {
            Some(evidence) if evidence.passed => Standing::Pass,
            Some(_) => Standing::Fail,
            None if self.evidence.iter().any(|evidence| evidence.authority >= self.verifier) => Standing::Stale,
            None => Standing::Open,
        }
    }

    /// Takes in a piece of evidence, in place of an earlier one of its authority.
    pub fn take(&mut self, evidence: Evidence) {
        self.evidence.retain(|known| known.authority != evidence.authority);
        self.evidence.push(evidence);
        self.evidence.sort_by_key(|evidence| evidence.authority);
    }
}

/// The contract: what is to be done, and when it counts as done.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Brief {
    /// The goal, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<Text>,
    /// What one must know: background, places, paths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Text>,
    /// Done is when each of these is true.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acceptance_criteria: Vec<Criterion>,
    /// What must or must never be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<Text>,
    /// How to prove that it works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<Text>,
    /// What to leave for review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff_expectations: Option<Text>,
    /// The highest number a criterion was ever given.
    #[serde(default)]
    pub last_criterion: u32,
    /// What must be shown, beside the criteria or for them, before it counts as done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
    /// Whether the work was handed in, and is done as soon as everything is shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closes_when_shown: bool,
    /// The work tree that it was handed in from: what shows it is made there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handed_in_at: Option<Name>,
}

impl Brief {
    /// Which of its sections say something.
    pub fn sections(&self) -> Sections {
        let said = |text: &Option<Text>| text.as_ref().is_some_and(|text| !text.is_blank());
        let flags = [
            (said(&self.objective), Sections::OBJECTIVE),
            (said(&self.context), Sections::CONTEXT),
            (!self.acceptance_criteria.is_empty(), Sections::CRITERIA),
            (!self.constraints.is_empty(), Sections::CONSTRAINTS),
            (said(&self.verification), Sections::VERIFICATION),
            (said(&self.handoff_expectations), Sections::HANDOFF),
            (self.wants_a_person(), Sections::UNSIGNED),
            (!self.checks.is_empty(), Sections::CHECKS),
        ];
        Sections(flags.into_iter().filter(|(said, _)| *said).fold(0, |all, (_, flag)| all | flag))
    }

    /// Whether nothing stands in it.
    pub fn is_empty(&self) -> bool {
        self.sections() == Sections::default()
    }

    /// What is no section of it: the checks, and what is remembered of criteria.
    #[must_use]
    pub fn without_sections(&self) -> Self {
        Self {
            last_criterion: self.last_criterion,
            checks: self.checks.clone(),
            closes_when_shown: self.closes_when_shown,
            handed_in_at: self.handed_in_at.clone(),
            ..Self::default()
        }
    }

    /// The criterion of this name.
    pub fn criterion(&self, id: CriterionId) -> Option<&Criterion> {
        self.acceptance_criteria.iter().find(|criterion| criterion.id == id)
    }

    /// Whether a person has yet to sign something off.
    pub fn wants_a_person(&self) -> bool {
        let open = |criterion: &&Criterion| criterion.standing() != Standing::Pass;
        let unattested = |check: &Check| !check.kind.is_runnable() && check.standing() != CheckStanding::Pass;
        self.acceptance_criteria.iter().filter(open).any(|criterion| criterion.verifier == Authority::Human)
            || self.checks.iter().any(unattested)
    }
}

/// The sections of a brief that say something, as a set that an item keeps, so that ranking need not read the brief.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sections(pub u8);

impl Sections {
    /// The goal.
    pub const OBJECTIVE: u8 = 1;
    /// The background.
    pub const CONTEXT: u8 = 2;
    /// Acceptance criteria.
    pub const CRITERIA: u8 = 4;
    /// Constraints.
    pub const CONSTRAINTS: u8 = 8;
    /// How to prove it.
    pub const VERIFICATION: u8 = 16;
    /// What to leave.
    pub const HANDOFF: u8 = 32;
    /// Not a section: a criterion is for a person to sign off, and is not.
    pub const UNSIGNED: u8 = 64;
    /// Not a section: there are checks.
    pub const CHECKS: u8 = 128;

    /// Whether a section says something.
    pub fn has(self, section: u8) -> bool {
        self.0 & section != 0
    }
}
