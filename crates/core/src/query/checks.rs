//! The checks of an item as they stand, for whoever looks and for whoever has just had them made.

use serde::{Deserialize, Serialize};

use crate::checks::{Look, standing};
use crate::command::{ApproveChecks, ChecksSet};
use crate::engine::{Call, Command, Engine};
use crate::error::{Code, Error};
use crate::model::{Check, CheckStanding, ItemId, ItemRef, Run, Timestamp, Tree, VerificationKind};
use crate::prove::{Proved, Wanted};
use crate::store::{Around, ProjectRef};

/// One check, its place, and how it stands.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownCheck {
    /// Its place among the checks of the item, counted from 0.
    pub index: usize,
    /// How it stands: on the work tree, where whoever answers can see it; else of the tree that its result names. Closing looks
    /// at the work tree: what passed of another one is made again.
    pub status: CheckStanding,
    /// Whether it may be run exactly as it is, where somebody must approve it.
    pub may_run: bool,
    /// The check.
    #[serde(flatten)]
    pub check: Check,
}

/// The checks of an item.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChecksShown {
    /// The item.
    pub item: ItemId,
    /// Its checks.
    pub checks: Vec<ShownCheck>,
    /// What completing it asks for.
    pub verification: VerificationKind,
    /// The item's version.
    pub version: u64,
    /// Whether the item was closed by what was just said: it was handed in, and everything is shown now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
}

/// What became of checks that were made.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProvedShown {
    /// The runs that were made, in the order of the checks.
    pub runs: Vec<Run>,
    /// The checks that needed no run: nothing changed since their last.
    pub unchanged: Vec<usize>,
    /// The work tree they were made on; none where there is no git, or it changed meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub tree: Option<Tree>,
    /// Whether every check that was wanted holds.
    pub passed: bool,
    /// All checks of the item, as they stand on that work tree.
    #[serde(flatten)]
    pub now: ChecksShown,
}

impl ShownCheck {
    /// Checks with their places; with how they stand on a work tree that somebody looked at, where somebody did.
    pub fn list(checks: &[Check], look: Option<&Look>) -> Vec<Self> {
        let shown = |(index, check): (usize, &Check)| Self {
            index,
            status: look.map_or_else(|| check.standing(), |look| standing(check, Some(look))),
            may_run: check.is_approved(),
            check: check.clone(),
        };
        checks.iter().enumerate().map(shown).collect()
    }
}

impl From<ChecksSet> for ChecksShown {
    fn from(set: ChecksSet) -> Self {
        let ChecksSet { item, checks, verification, version, closed } = set;
        Self { item, checks: ShownCheck::list(&checks, None), verification, version, closed }
    }
}

impl Engine {
    /// Lets checks run for a caller who may have left out which version was read: then nothing is let run, and that is what is said,
    /// unless it is refused all the same.
    pub async fn approve_checks(
        &self,
        call: Call,
        project: ProjectRef,
        item: ItemRef,
        only: Vec<usize>,
        read: Option<u64>,
    ) -> Result<ChecksSet, Error> {
        let approve =
            |expected_version| ApproveChecks { project: project.clone(), item: item.clone(), only, expected_version };
        if let Some(read) = read {
            return self.run(call, approve(read)).await;
        }
        self.may(ApproveChecks::NAME, ApproveChecks::NEEDS)?;
        let seen = self.show(&project, std::slice::from_ref(&item), Around::default()).await?;
        let (now, principal) = (seen.resolve(&item)?.version, call.principal.clone());
        match self.rehearse(call, &approve(now)).await {
            Ok(_) => Err(ApproveChecks::unread()),
            Err(refused) => {
                if refused.code == Code::Forbidden {
                    self.access().tell_denied(ApproveChecks::NAME, Some(&principal), &refused);
                }
                Err(refused)
            }
        }
    }

    /// The checks of an item, as they stand on the work tree where this process can see it.
    pub async fn checks_of(&self, project: &ProjectRef, item: &ItemRef) -> Result<ChecksShown, Error> {
        self.checks_after(project, item, None).await
    }

    /// Has checks of an item made, and says how all of them stand then.
    pub async fn run_checks(
        &self,
        call: &Call,
        project: &ProjectRef,
        item: &ItemRef,
        wanted: Wanted,
    ) -> Result<ProvedShown, Error> {
        let named = wanted.only.clone();
        let Proved { mut look, runs, unchanged } = self.prove(call, project.clone(), item.clone(), wanted).await?;
        // Whoever asks again under the name of a request is told of the runs that it made, as whoever asked first.
        look.since = runs.iter().map(|run| run.ordered_at).fold(look.since, Timestamp::min);
        let now = self.checks_after(project, item, Some(&look)).await?;
        let holds = |index: &usize| now.checks.get(*index).is_some_and(|check| check.status == CheckStanding::Pass);
        let made = runs.iter().map(|run| run.check).chain(unchanged.iter().copied());
        // Whoever names one that only a person can make is not told that it holds.
        let passed = made.chain(named).all(|index| holds(&index));
        Ok(ProvedShown { runs, unchanged, tree: look.tree, passed, now })
    }

    async fn checks_after(
        &self,
        project: &ProjectRef,
        item: &ItemRef,
        look: Option<&Look>,
    ) -> Result<ChecksShown, Error> {
        let around = Around { briefs: true, ..Around::default() };
        let seen = self.show(project, std::slice::from_ref(item), around).await?;
        let item = seen.resolve(item)?;
        let checks = seen.briefs.get(&item.id).map_or(&[][..], |brief| &brief.checks);
        let now = match look {
            Some(_) => None,
            None => self.look_at(seen.project_of(item)?, checks, seen.now).await,
        };
        let look = look.or(now.as_ref());
        Ok(ChecksShown {
            item: item.id,
            checks: ShownCheck::list(checks, look),
            verification: VerificationKind::of(checks),
            version: item.version,
            closed: false,
        })
    }
}
