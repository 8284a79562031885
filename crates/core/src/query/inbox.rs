//! Everything that waits for a person, in one list.

use serde::Serialize;

use crate::checks::Allowed;
use crate::contract::unattested;
use crate::engine::Engine;
use crate::error::Error;
use crate::model::{
    Authority, Check, CheckStanding, CriterionId, Inbox, Item, ItemRef, Key, Question, QuestionState, Standing, Text,
    Timestamp,
};
use crate::query::list::ItemPage;
use crate::store::{Around, Filter, Order, ProjectRef, Scope, SortBy};

/// Why an item waits for a person.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "reason", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Waits {
    /// A question is open.
    Question {
        /// The question.
        question: Box<Question>,
    },
    /// Criteria are for a person to sign off.
    SignOff {
        /// Their names and texts.
        #[serde(serialize_with = "named")]
        #[cfg_attr(feature = "openapi", schema(value_type = Vec<SignOff>))]
        criteria: Vec<(CriterionId, Text)>,
    },
    /// Checks are for a person to make.
    Attest {
        /// Their places and what they verify.
        #[serde(serialize_with = "placed")]
        #[cfg_attr(feature = "openapi", schema(value_type = Vec<Attestable>))]
        checks: Vec<(usize, Text)>,
    },
    /// Checks are for a person to approve: nobody lets them run.
    Approve {
        /// Their places and what they verify.
        #[serde(serialize_with = "placed")]
        #[cfg_attr(feature = "openapi", schema(value_type = Vec<Attestable>))]
        checks: Vec<(usize, Text)>,
    },
    /// Checks of what was handed in have failed: it is mended and handed in again.
    Failed {
        /// Their places and what they verify.
        #[serde(serialize_with = "placed")]
        #[cfg_attr(feature = "openapi", schema(value_type = Vec<Attestable>))]
        checks: Vec<(usize, Text)>,
    },
    /// It is in review.
    Review,
    /// Somebody asked for attention.
    Attention {
        /// Why.
        why: Text,
    },
}

/// A criterion to be signed off, as it is written out.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Serialize)]
struct SignOff<'t> {
    /// Its name.
    id: CriterionId,
    /// What must be true.
    text: &'t Text,
}

fn named<S: serde::Serializer>(criteria: &[(CriterionId, Text)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(criteria.iter().map(|(id, text)| SignOff { id: *id, text }))
}

/// A check that a person has something to do about, as it is written out.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Serialize)]
struct Attestable<'t> {
    /// Its place among the checks of the item.
    index: usize,
    /// What it verifies.
    desc: &'t Text,
}

fn placed<S: serde::Serializer>(checks: &[(usize, Text)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(checks.iter().map(|(index, desc)| Attestable { index: *index, desc }))
}

/// An item that waits for a person.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Waiting {
    /// Its key.
    pub key: Key,
    /// The item, without its long texts.
    pub item: Item,
    /// Why it waits.
    pub waits: Vec<Waits>,
    /// Since when it has stood where it stands.
    pub since: Timestamp,
}

/// A page of what waits for a person.
#[derive(Clone, Debug, Default)]
pub struct InboxPage {
    /// The database's time.
    pub now: Timestamp,
    /// The items, the oldest first.
    pub items: Vec<Waiting>,
    /// How many there are in all.
    pub total: u64,
    /// Where the next page begins; none on the last.
    pub next: Option<String>,
}

impl Engine {
    /// Everything that waits for a person, the oldest first: in a project, or in all that may be seen and were not put away.
    pub async fn inbox(&self, project: &ProjectRef, limit: usize, cursor: Option<&str>) -> Result<InboxPage, Error> {
        self.among_living(project).await?.waiting_in(project, self.page(limit), cursor).await
    }

    async fn waiting_in(&self, project: &ProjectRef, limit: usize, cursor: Option<&str>) -> Result<InboxPage, Error> {
        let filter = Filter {
            project: project.clone(),
            inbox: Some(true),
            sort: SortBy::CreatedAt,
            order: Order::Asc,
            limit,
            count: true,
            ..Filter::default()
        };
        let ItemPage { items, total, next, .. } = self.list(&filter, cursor).await?;
        let named: Vec<ItemRef> = items.iter().map(|item| ItemRef::Id(item.id)).collect();
        let around = Around { briefs: true, questions: true, ..Around::default() };
        let seen = self.view(&Scope { items: named, around, ..Scope::default() }).await?;
        let mut waiting = Vec::with_capacity(items.len());
        // Both reads are of their own moment: what is not there any more waits no more.
        for item in items.iter().filter_map(|item| seen.items.get(&item.id)) {
            let inbox = item.derived.inbox;
            let mut waits = Vec::new();
            let question = seen.question_of(item.id).filter(|question| question.state == QuestionState::Open);
            waits.extend(question.map(|question| Waits::Question { question: Box::new(question.clone()) }));
            if inbox.has(Inbox::SIGN_OFF)
                && let Some(brief) = seen.briefs.get(&item.id)
            {
                let open = brief.acceptance_criteria.iter().filter(|criterion| {
                    criterion.verifier == Authority::Human && criterion.standing() != Standing::Pass
                });
                let criteria: Vec<_> = open.map(|criterion| (criterion.id, criterion.text.clone())).collect();
                if !criteria.is_empty() {
                    waits.push(Waits::SignOff { criteria });
                }
                let checks = unattested(&brief.checks);
                if !checks.is_empty() {
                    waits.push(Waits::Attest { checks });
                }
            }
            if inbox.has(Inbox::REVIEW) {
                let checks = seen.briefs.get(&item.id).map_or(&[][..], |brief| &brief.checks);
                waits.extend(of_runs(checks, self.allowed()));
                waits.push(Waits::Review);
            }
            waits.extend(item.attention.clone().map(|why| Waits::Attention { why }));
            let key = seen.project_of(item)?.key(item.number);
            waiting.push(Waiting { key, item: item.brief(), waits, since: item.role_changed_at });
        }
        Ok(InboxPage { now: seen.now, items: waiting, total, next })
    }
}

/// What people have to do about checks that are run.
fn of_runs(checks: &[Check], allowed: &Allowed) -> Vec<Waits> {
    let named = |index: usize| checks.get(index).map(|check| (index, check.desc.clone()));
    let barred: Vec<_> = allowed.barred(checks).into_iter().filter_map(named).collect();
    let failed: Vec<_> = failed(checks).into_iter().filter_map(named).collect();
    let mut waits = Vec::new();
    if !barred.is_empty() {
        waits.push(Waits::Approve { checks: barred });
    }
    if !failed.is_empty() {
        waits.push(Waits::Failed { checks: failed });
    }
    waits
}

/// Checks that were run and do not hold, by their places.
pub(super) fn failed(checks: &[Check]) -> Vec<usize> {
    let failed = |check: &Check| check.kind.is_runnable() && check.standing() == CheckStanding::Fail;
    checks.iter().enumerate().filter(|(_, check)| failed(check)).map(|(index, _)| index).collect()
}
