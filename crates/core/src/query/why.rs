//! Why is nothing ready? Every reason for every item, with the act that would clear it.

use serde::Serialize;

use crate::checks::Allowed;
use crate::engine::Engine;
use crate::error::{Error, Gate};
use crate::limits;
use crate::model::{Check, Item, ItemRef, Key, Name, NoteHead, Project, Role};
use crate::overlap::collision;
use crate::readiness::{Obstacle, What, obstacles};
use crate::store::{Around, EdgeReach, Filter, NoteReach, Order, ProjectRef, Scope, SortBy};

/// One item with everything that keeps it from being handed out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Why {
    /// The item.
    pub item: Item,
    /// What stands in the way; empty when it is ready.
    pub obstacles: Vec<Obstacle>,
    /// Notes that its next move will owe: they keep nobody from taking it, and everybody from moving it on.
    pub missing_notes: Vec<Name>,
}

/// A page of items with their reasons.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WhyPage {
    /// The items.
    pub items: Vec<Why>,
    /// Where the next page begins; none on the last.
    pub next: Option<String>,
}

impl Engine {
    /// The reasons for one item.
    pub async fn why(&self, project: &ProjectRef, item: &ItemRef) -> Result<Vec<Why>, Error> {
        self.reasons(project, vec![item.clone()]).await
    }

    /// The reasons for the open items of a project, the oldest first: a page of them, `PAGE` at the most.
    pub async fn why_open(&self, project: &ProjectRef, limit: usize, cursor: Option<&str>) -> Result<WhyPage, Error> {
        let filter = Filter {
            project: project.clone(),
            roles: vec![Role::Queue, Role::Work, Role::Review, Role::Blocked],
            sort: SortBy::CreatedAt,
            order: Order::Asc,
            limit: self.page(limit.min(limits::PAGE)),
            ..Filter::default()
        };
        let page = self.list(&filter, cursor).await?;
        let open = page.items.iter().map(|item| ItemRef::Id(item.id)).collect();
        Ok(WhyPage { items: self.reasons(project, open).await?, next: page.next })
    }

    async fn reasons(&self, project: &ProjectRef, named: Vec<ItemRef>) -> Result<Vec<Why>, Error> {
        let around = Around { edges: EdgeReach::Named, notes: NoteReach::Heads, briefs: true, ..Around::default() };
        let scope = Scope { project: project.clone(), items: named.clone(), around, busy: true, ..Scope::default() };
        let seen = self.view(&scope).await?;
        let mut reasons = Vec::with_capacity(named.len());
        for item in &named {
            let item = seen.resolve(item)?;
            let rules = seen.project_of(item)?;
            let touching = seen.edges.values().filter(|edge| edge.from == item.id || edge.to == item.id);
            let mut found = obstacles(&rules.workflow, item, touching, |id| seen.items.get(&id), seen.now);
            if self.access().projects.is_some() {
                found.extend(out_of_sight(item, &found));
            }
            if item.role.is_open() {
                if let Some(other) = collision(item, &seen.busy) {
                    found.push(Obstacle {
                        what: What::CollidesWith { item: other },
                        remedy: "wait until that claim is released: both use the same paths or resources".to_owned(),
                    });
                }
                if !item.required_capabilities.is_empty() {
                    found.push(Obstacle {
                        what: What::NeedsCapabilities {
                            capabilities: item.required_capabilities.iter().map(ToString::to_string).collect(),
                        },
                        remedy: "claim it with an agent that states these capabilities".to_owned(),
                    });
                }
            }
            if item.role == Role::Review {
                let checks = seen.briefs.get(&item.id).map_or(&[][..], |brief| &brief.checks);
                found.extend(of_checks(checks, self.allowed(), &rules.key(item.number)));
            }
            reasons.push(Why {
                item: item.clone(),
                obstacles: found,
                missing_notes: owed(rules, item, seen.heads(item.id)),
            });
        }
        Ok(reasons)
    }
}

/// What keeps work in review that its checks would show.
fn of_checks(checks: &[Check], allowed: &Allowed, key: &Key) -> Vec<Obstacle> {
    let mut found = Vec::new();
    let failed = super::inbox::failed(checks);
    if !failed.is_empty() {
        let remedy = format!("mend it (`docket check log {key}` says why), then `docket submit {key}` again");
        found.push(Obstacle { what: What::ChecksFailed { checks: failed }, remedy });
    }
    let barred = allowed.barred(checks);
    if !barred.is_empty() {
        let remedy = format!("have a person who did not write them approve them: `docket check approve {key}`");
        found.push(Obstacle { what: What::ChecksNotApproved { checks: barred }, remedy });
    }
    found
}

/// The notes that the next move of an item along its way would be refused for.
fn owed(rules: &Project, item: &Item, written: &[NoteHead]) -> Vec<Name> {
    let Some(schema) = rules.schemas.resolve(item).filter(|_| rules.workflow.has_gate(Gate::Notes)) else {
        return Vec::new();
    };
    if rules.workflow.next(item, schema.has_review()).is_none() {
        return Vec::new();
    }
    schema.missing(Some(item.role), written).into_iter().map(|rule| rule.key.clone()).collect()
}

/// What holds an item up beyond what was shown: its numbers count everything, the edges shown are those to be seen.
pub(super) fn out_of_sight(item: &Item, shown: &[Obstacle]) -> Option<Obstacle> {
    let seen = shown.iter().filter(|obstacle| match obstacle.what {
        What::WaitsFor(_) | What::SupersededBy { .. } | What::DuplicateOf { .. } => true,
        What::Closed
        | What::Blocked
        | What::NotClaimable { .. }
        | What::UnderWay
        | What::Claimed { .. }
        | What::CollidesWith { .. }
        | What::OutOfSight { .. }
        | What::ChecksFailed { .. }
        | What::ChecksNotApproved { .. }
        | What::NeedsCapabilities { .. }
        | What::InReview => false,
    });
    let all = item.derived.blockers + item.derived.moot;
    let count = all.saturating_sub(u32::try_from(seen.count()).unwrap_or(u32::MAX));
    (count > 0).then(|| Obstacle {
        what: What::OutOfSight { count },
        remedy: "look beyond the projects that this call is limited to, or ask somebody who may".to_owned(),
    })
}
