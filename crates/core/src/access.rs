//! Who may do what: a profile says how much, a limit says where.
//!
//! An [`Engine`] runs everything under one [`Access`]. What lies outside is as if it did not exist: a caller is told the
//! same of what is not there and of what it may not see. Stores apply the limit to whatever a caller can name; what a
//! decision only comes upon, such as a blocker in another project, it must take into account, and does not tell.

use std::collections::BTreeSet;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::engine::{Draft, Engine};
use crate::error::{Code, Error, Invalid, Kind, Reason, echo};
use crate::limits::{self, Lowered};
use crate::model::{ApiKeyId, Handle, ItemId, Name, ProjectId, Trigger, Verb};
use crate::plant::{Bug, planted};
use crate::query::unknown_key;
use crate::store::{ChangeSet, Resolution, Slice};

/// How much a caller may do; each profile may do what those before it may.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Reads.
    Viewer,
    /// Makes items.
    Planner,
    /// Claims, moves and changes them.
    Worker,
    /// Reviews.
    Operator,
    /// Removes, and changes projects, keys and settings.
    Maintainer,
}

impl Profile {
    /// All profiles, the least first.
    pub const ALL: [Self; 5] = [Self::Viewer, Self::Planner, Self::Worker, Self::Operator, Self::Maintainer];

    /// The profile as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Planner => "planner",
            Self::Worker => "worker",
            Self::Operator => "operator",
            Self::Maintainer => "maintainer",
        }
    }
}

/// The least profile of whoever removes anything for good, whatever it is and by whichever surface: items, notes, edges, links,
/// entries of knowledge.
pub const REMOVES: Profile = Profile::Maintainer;

impl std::fmt::Display for Profile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Profile {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let lower = text.to_ascii_lowercase();
        Self::ALL.into_iter().find(|profile| profile.as_str() == lower).ok_or_else(|| {
            Invalid::new(
                Reason::UnknownValue,
                format!("must be one of viewer, planner, worker, operator, maintainer, not \"{}\"", echo(text)),
            )
        })
    }
}

/// How far a command may reach; a caller that is limited to less may not run it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// The items it names, one at a time.
    Item,
    /// Anything in the projects it names.
    Project,
    /// The whole database.
    Everything,
}

/// Who may run a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The least profile.
    pub profile: Profile,
    /// How far it may reach.
    pub reach: Reach,
}

impl Needs {
    /// At least this profile, for a command of this reach.
    pub const fn new(profile: Profile, reach: Reach) -> Self {
        Self { profile, reach }
    }
}

/// What a caller may do, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// How much.
    pub profile: Profile,
    /// In these projects; `None` is all of them.
    pub projects: Option<BTreeSet<ProjectId>>,
    /// On this item alone, as far as writing goes; its project must be among those above.
    pub item: Option<ItemId>,
    /// The key that grants it: writes are refused when it is revoked or has expired by then.
    pub key: Option<ApiKeyId>,
    /// The part of that key that is no secret, as it was shown: for the audit, and to know when the key got another.
    pub handle: Option<Handle>,
    /// That a signed token grants it.
    pub token: bool,
    /// That it is granted because there never was a key: writes are refused when one was made by then.
    pub keyless: bool,
    /// How much of everything may be kept; the same for all callers of an engine.
    pub quotas: Quotas,
    /// The limits that are lower than they might be; the same for all callers of an engine.
    pub limits: Lowered,
}

/// How much a database may hold of what grows by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quotas {
    /// Entries of knowledge.
    pub knowledge_stored: u64,
}

impl Default for Quotas {
    fn default() -> Self {
        Self { knowledge_stored: limits::KNOWLEDGE_STORED }
    }
}

impl Default for Access {
    /// The local user: a maintainer of everything.
    fn default() -> Self {
        Self::everywhere(Profile::Maintainer)
    }
}

impl Access {
    /// This profile, in all projects.
    pub const fn everywhere(profile: Profile) -> Self {
        let quotas = Quotas { knowledge_stored: limits::KNOWLEDGE_STORED };
        Self {
            profile,
            projects: None,
            item: None,
            key: None,
            handle: None,
            token: false,
            keyless: false,
            quotas,
            limits: Lowered::NOT,
        }
    }

    /// This profile, in these projects.
    pub fn within(profile: Profile, projects: impl IntoIterator<Item = ProjectId>) -> Self {
        Self { projects: Some(projects.into_iter().collect()), ..Self::everywhere(profile) }
    }

    /// The same, in this project at the most: for a call that is about one.
    #[must_use]
    pub fn narrowed_to(&self, project: ProjectId) -> Self {
        let projects = Some(if self.sees(project) { BTreeSet::from([project]) } else { BTreeSet::new() });
        Self { projects, ..self.clone() }
    }

    /// Whether a key or a token was shown for it, and nobody is taken for the local user.
    pub fn is_shown(&self) -> bool {
        self.key.is_some() || self.token
    }

    /// Whether a project may be seen.
    pub fn sees(&self, project: ProjectId) -> bool {
        self.projects.as_ref().is_none_or(|projects| projects.contains(&project))
    }

    /// Whether a command may be run at all: for lists of what can be asked for.
    pub fn allows(&self, needs: Needs) -> bool {
        self.check(needs).is_ok()
    }

    /// Refuses a command that asks for more than this, before anything is looked at.
    pub fn check(&self, needs: Needs) -> Result<(), Error> {
        if self.profile < needs.profile && !planted(Bug::ProfileIgnored) {
            return Err(forbidden(
                Reason::ProfileTooLow,
                format!("this needs the profile {}; the caller's is {}", needs.profile, self.profile),
            ));
        }
        let reach = match (&self.item, &self.projects) {
            (Some(_), _) => Reach::Item,
            (None, Some(_)) => Reach::Project,
            (None, None) => Reach::Everything,
        };
        match reach {
            Reach::Item if reach < needs.reach => Err(only_its_item()),
            Reach::Project if reach < needs.reach => {
                Err(forbidden(Reason::OutOfScope, "this concerns all projects; the caller is limited to some"))
            }
            Reach::Item | Reach::Project | Reach::Everything => Ok(()),
        }
    }

    /// Tells whoever looks after the server that a caller was refused, and why. What it asked for is not told.
    pub(crate) fn tell_denied(&self, operation: &'static str, principal: Option<&Name>, error: &Error) {
        let (principal, key) =
            (principal.map(tracing::field::display), self.handle.as_ref().map(tracing::field::display));
        tracing::info!(target: "docket::audit", operation, principal, key, reason = ?error.reason, "denied");
    }

    /// Refuses a write under a key that does not hold any more, or under none where one was made meanwhile, as of the moment
    /// of the write.
    pub(crate) fn check_key(&self, seen: &Slice) -> Result<(), Error> {
        match self.key {
            None if self.keyless && !seen.keys.is_empty() => Err(forbidden(
                Reason::CredentialMissing,
                "a key was made: say who calls, as Authorization: Bearer and a key",
            )),
            None => Ok(()),
            Some(key) => {
                let stored = seen.keys.get(&key).ok_or_else(unknown_key)?;
                // Another secret since: what the caller showed is nobody's any more.
                if self.handle.as_ref().is_some_and(|handle| *handle != stored.key.handle) {
                    return Err(unknown_key());
                }
                stored.key.check(seen.now)
            }
        }
    }

    /// Refuses a command on items other than the one that the caller may change, before it says how they stand.
    pub(crate) fn check_named(&self, seen: &Slice) -> Result<(), Error> {
        let Some(own) = self.item else { return Ok(()) };
        let named = seen.refs.values().any(|meant| matches!(meant, Resolution::One(id) if *id != own));
        let run = seen.runs.values().any(|run| run.item != own);
        let session = seen.sessions.values().any(|session| session.item != own);
        if named || run || session { Err(only_its_item()) } else { Ok(()) }
    }

    /// Refuses what was decided, if it changes more than the caller may. Derived numbers of neighbours, and parents that
    /// follow their children, are the engine's own doing.
    pub(crate) fn check_changes(&self, seen: &Slice, changes: &ChangeSet) -> Result<(), Error> {
        if !changes.events.iter().all(|event| self.sees(event.project)) {
            return Err(forbidden(Reason::OutOfScope, "this would change what the caller may not see"));
        }
        let Some(own) = self.item else { return Ok(()) };
        let inside = changes.events.iter().all(|event| match event.verb {
            Verb::Edited
            | Verb::Claimed
            | Verb::Noted
            | Verb::NoteRemoved
            | Verb::Briefed
            | Verb::Verified
            | Verb::Asked
            | Verb::Answered
            | Verb::Withdrawn
            | Verb::Commented
            | Verb::Attached
            | Verb::Detached
            | Verb::Learned
            | Verb::Cited
            | Verb::Uncited
            | Verb::SessionBegun
            | Verb::SessionBeat
            | Verb::SessionEnded
            | Verb::ChecksSet
            | Verb::ChecksApproved
            | Verb::Attested
            | Verb::RunsOrdered
            | Verb::RunTaken
            | Verb::RunEnded => event.item == Some(own),
            Verb::Moved | Verb::Released => {
                let trigger = event.data.get("trigger").and_then(serde_json::Value::as_str);
                event.item == Some(own) || trigger == Some(Trigger::Cascade.as_str())
            }
            Verb::ProjectSet
            | Verb::KeySet
            | Verb::Created
            | Verb::Linked
            | Verb::Unlinked
            | Verb::Removed
            | Verb::Revised
            | Verb::Reviewed
            | Verb::Forgotten => false,
        });
        let stays = changes
            .changed_items
            .iter()
            .filter(|change| change.item.id == own)
            .all(|change| seen.items.get(&own).is_some_and(|before| before.parent == change.item.parent));
        if inside && stays { Ok(()) } else { Err(only_its_item()) }
    }
}

impl Engine {
    /// The same engine under this access, whatever it was under before; its quotas stay.
    #[must_use]
    pub fn limited_to(&self, access: Access) -> Self {
        let access = Access { quotas: self.access.quotas, limits: self.access.limits, ..access };
        Self { access: std::sync::Arc::new(access), ..self.clone() }
    }

    /// The same engine with lower limits, for all its callers.
    #[must_use]
    pub fn with_limits(&self, limits: Lowered) -> Self {
        let access = Access { limits, ..Access::clone(&self.access) };
        Self { access: std::sync::Arc::new(access), ..self.clone() }
    }

    /// How many rows a page may have for which so many were asked: what is left out is on the next one.
    pub fn page(&self, asked: usize) -> usize {
        self.access.limits.rows(asked)
    }

    /// How long somebody may wait who wants to wait this long.
    pub fn patience(&self, asked: std::time::Duration) -> std::time::Duration {
        asked.min(std::time::Duration::from_millis(self.access.limits.wait_ms))
    }

    /// The same engine with other quotas, for all its callers.
    #[must_use]
    pub fn with_quotas(&self, quotas: Quotas) -> Self {
        let access = Access { quotas, ..Access::clone(&self.access) };
        Self { access: std::sync::Arc::new(access), ..self.clone() }
    }

    /// Refuses what asks for more than the caller may, before anything is looked at, and tells the audit.
    pub fn may(&self, operation: &'static str, needs: Needs) -> Result<(), Error> {
        let checked = self.access.check(needs);
        if let Err(error) = &checked {
            self.access.tell_denied(operation, None, error);
        }
        checked
    }

    /// What this engine's caller may do, and where.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// The same, for a call that says who its holder is before the engine runs it.
    pub fn granted(&self) -> std::sync::Arc<Access> {
        std::sync::Arc::clone(&self.access)
    }
}

impl Draft<'_> {
    /// Whether the caller may be told of an item that a decision came upon.
    pub fn may_tell(&self, id: ItemId) -> bool {
        self.call.access.projects.is_none() || self.item(id).is_some_and(|item| self.call.access.sees(item.project))
    }

    /// What an item that a decision came upon goes by, where the caller may be told of it: its key, or its id where it was not
    /// loaded.
    pub fn name_told(&self, id: ItemId) -> Option<String> {
        self.may_tell(id).then(|| self.name_of(id))
    }

    /// The key of an item, or its id where it was not loaded.
    pub fn name_of(&self, id: ItemId) -> String {
        let item = self.item(id);
        let project = item.and_then(|item| self.project(item.project));
        item.zip(project).map_or_else(|| id.to_string(), |(item, project)| project.key(item.number).to_string())
    }
}

fn only_its_item() -> Error {
    forbidden(Reason::OutOfScope, "the caller may change one item alone, and this reaches beyond it")
}

fn forbidden(reason: Reason, message: impl Into<String>) -> Error {
    Error::new(Kind::Permanent, Code::Forbidden, reason, message)
}
