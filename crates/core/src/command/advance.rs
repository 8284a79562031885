//! Moves items, in order; each move sees what the ones before it did.

use serde::{Deserialize, Serialize};

use super::{caller, check_batch, check_version, may_close};
use crate::access::{Needs, Profile, Reach};
use crate::engine::{Call, Cascade, Command, Decision, Draft, move_item};
use crate::error::{Error, Refusal};
use crate::model::{Attribution, Fence, Item, ItemId, ItemRef, Name, Outcome, Role, Text, Trigger};
use crate::store::{Around, EdgeReach, NoteReach, ProjectRef, Scope, Slice};
use crate::workflow::{ExpectedNote, Guide, Target, Transitions};

/// One move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MoveRequest {
    /// What moves.
    pub item: ItemRef,
    /// Where to.
    pub target: Target,
    /// A word about it, kept with the event.
    pub summary: Option<Text>,
    /// Who moves it, where that differs from the call's actor.
    #[serde(serialize_with = "Attribution::id_alone")]
    pub by: Option<Attribution>,
    /// The fence of the caller's claim.
    pub fence: Option<Fence>,
    /// Refuses unless the item still has this version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u64>,
}

impl MoveRequest {
    /// A move about which nothing else is said.
    pub fn of(item: ItemRef, target: Target) -> Self {
        Self { item, target, summary: None, by: None, fence: None, expected_version: None }
    }
}

/// Moves items.
#[derive(Clone, Debug, Serialize)]
pub struct Advance {
    /// The project the items are looked up in.
    pub project: ProjectRef,
    /// The moves, in order.
    pub moves: Vec<MoveRequest>,
    /// Whether one refused move refuses all; otherwise the others are made.
    pub atomic: bool,
}

/// An item by id and title.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Named {
    /// The item.
    pub item: ItemId,
    /// Its title.
    pub title: String,
}

/// The move that would come next.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Next {
    /// By this trigger.
    pub trigger: Trigger,
    /// Into this status.
    pub status: Name,
    /// In this role.
    pub role: Role,
}

/// A move that was made.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Applied {
    /// What moved.
    pub item: ItemId,
    /// Its title.
    pub title: String,
    /// The trigger it counted as.
    pub trigger: Trigger,
    /// Where it stood.
    pub from_role: Role,
    /// Where it stands.
    pub to_role: Role,
    /// The status it left.
    pub from_status: Name,
    /// The status it has.
    pub to_status: Name,
    /// Its label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Name>,
    /// The caller's word about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Text>,
    /// Who moved it, where that was said of this move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Attribution>,
    /// What moved with it.
    pub cascades: Vec<Cascade>,
    /// Open items that nothing blocks any more.
    pub unblocked: Vec<Named>,
    /// The notes of the phase it is in now.
    pub expected_notes: Vec<ExpectedNote>,
    /// What to write next.
    pub guide: Guide,
    /// What would come next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Next>,
    /// The item's version now.
    pub version: u64,
}

/// A move that was not made.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RefusedMove {
    /// What should have moved, as the caller spelled it.
    pub asked: String,
    /// What that meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<ItemId>,
    /// Why not.
    pub error: Error,
}

/// How one move ended.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MoveResult {
    /// It was made.
    Applied(Box<Applied>),
    /// It was not.
    Refused(Box<RefusedMove>),
}

/// How the moves ended, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advanced {
    /// One for each move asked for.
    pub results: Vec<MoveResult>,
}

impl Command for Advance {
    type Output = Advanced;
    const NAME: &'static str = "advance";
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Item);

    fn scope(&self, _call: &Call) -> Scope {
        let mut items: Vec<ItemRef> = self.moves.iter().map(|request| request.item.clone()).collect();
        items.sort_unstable();
        items.dedup();
        let may_end = self.moves.iter().any(|request| match &request.target {
            Target::Status(_) | Target::Trigger(Trigger::Start | Trigger::Complete | Trigger::Cancel) => true,
            Target::Trigger(Trigger::Block | Trigger::Hold | Trigger::Resume | Trigger::Reopen | Trigger::Cascade) => {
                false
            }
        });
        let around = Around {
            ancestors: true,
            open_children: may_end.then(|| may_close(self.moves.len())),
            edges: EdgeReach::Shown,
            notes: NoteReach::Heads,
            briefs: true,
            ..Around::default()
        };
        Scope { project: self.project.clone(), items, around, ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<Advanced>, Error> {
        check_batch("transitions", self.moves.len(), call.access.limits.batch)?;
        let mut draft = Draft::new(call, seen);
        let mut results = Vec::with_capacity(self.moves.len());
        for request in &self.moves {
            let result = match seen.resolve(&request.item) {
                Ok(item) => advance(&mut draft, item.id, request)?,
                Err(error) => refused(request, None, error),
            };
            if let (MoveResult::Refused(refused), true) = (&result, self.atomic) {
                return Err(refused.error.clone());
            }
            results.push(result);
        }
        Ok(Decision::done(draft.finish(), Advanced { results }))
    }
}

fn refused(request: &MoveRequest, item: Option<ItemId>, error: Error) -> MoveResult {
    MoveResult::Refused(Box::new(RefusedMove { asked: request.item.to_string(), item, error }))
}

/// Makes one move, of the item that its request names.
pub(super) fn advance(draft: &mut Draft<'_>, id: ItemId, request: &MoveRequest) -> Result<MoveResult, Error> {
    let refused = |item, error| Ok(refused(request, item, error));
    if let Some(closed) = closed_by_its_checks(draft, id, request)? {
        return Ok(MoveResult::Applied(Box::new(closed)));
    }
    let expected = draft.call.expected_now(draft.expect(id)?, request.expected_version);
    if let Err(error) = check_version(draft.expect(id)?, expected) {
        return refused(Some(id), error);
    }
    if let Some(there) = already_there(draft, id, request)? {
        return Ok(MoveResult::Applied(Box::new(there)));
    }
    let by = request.by.as_ref();
    let who = match caller(draft.call, by, request.fence) {
        Ok(who) => who,
        Err(error) => return refused(Some(id), error),
    };
    let summary = request.summary.as_ref().map(Text::as_str);
    match move_item(draft, id, &request.target, who, by, summary)? {
        Err(refusals) => refused(Some(id), refusal_error(id, &request.target, refusals)),
        Ok(moved) => {
            let item = draft.expect(id)?.clone();
            let project = draft.project_of(&item)?;
            let schema = draft.schema(&project, &item);
            let heads = draft.note_heads(id);
            let has_review = schema.as_ref().is_some_and(crate::workflow::Resolved::has_review);
            let next = project.workflow.next(&item, has_review);
            Ok(MoveResult::Applied(Box::new(Applied {
                item: id,
                title: item.title.to_string(),
                trigger: moved.trigger,
                from_role: moved.from_role,
                to_role: moved.to_role,
                from_status: moved.from_status,
                to_status: moved.to_status,
                label: item.status_label.clone(),
                summary: request.summary.clone(),
                by: by.or(draft.call.by.as_ref()).cloned(),
                cascades: moved.cascades,
                unblocked: moved.unblocked.into_iter().filter_map(|id| named(draft, id)).collect(),
                expected_notes: schema
                    .as_ref()
                    .map(|schema| schema.expected(Some(item.role), &heads))
                    .unwrap_or_default(),
                guide: schema.as_ref().map(|schema| schema.guide(item.role, &heads)).unwrap_or_default(),
                next: next.map(|next| Next { trigger: next.trigger, status: next.to.name.clone(), role: next.to.role }),
                version: item.version,
            })))
        }
    }
}

/// The move that somebody asked for and the item has made meanwhile: it was handed in, its checks were made for this very call,
/// and the last of them closed it.
fn closed_by_its_checks(draft: &Draft<'_>, id: ItemId, request: &MoveRequest) -> Result<Option<Applied>, Error> {
    let item = draft.expect(id)?;
    let project = draft.project_of(item)?;
    let wanted = match &request.target {
        Target::Trigger(trigger) => *trigger == Trigger::Complete,
        Target::Status(status) => *status == item.status,
    };
    let handed_in = draft.brief(id).is_some_and(|brief| brief.closes_when_shown);
    let done = item.role == Role::Terminal && item.outcome == Some(Outcome::Success);
    let review = project.workflow.first_of(Role::Review);
    let Some(review) = review.filter(|_| wanted && handed_in && done && draft.looked_at(id).is_some()) else {
        return Ok(None);
    };
    Ok(Some(Applied {
        from_role: Role::Review,
        from_status: review.name.clone(),
        ..standing(draft, item, request, Trigger::Complete)
    }))
}

/// The move to where an item stands, where every move is free: it is made already, and nothing is written, so that whoever was not
/// told of the first may ask again.
fn already_there(draft: &Draft<'_>, id: ItemId, request: &MoveRequest) -> Result<Option<Applied>, Error> {
    let item = draft.expect(id)?;
    let workflow = &draft.project_of(item)?.workflow;
    let there = matches!(&request.target, Target::Status(status) if *status == item.status);
    let silent = request.summary.is_none() && workflow.transitions == Transitions::Free;
    Ok((there && silent).then(|| standing(draft, item, request, workflow.stays_as(item))))
}

/// A move that has led to where its item stands.
fn standing(draft: &Draft<'_>, item: &Item, request: &MoveRequest, trigger: Trigger) -> Applied {
    Applied {
        item: item.id,
        title: item.title.to_string(),
        trigger,
        from_role: item.role,
        to_role: item.role,
        from_status: item.status.clone(),
        to_status: item.status.clone(),
        label: item.status_label.clone(),
        summary: None,
        by: request.by.as_ref().or(draft.call.by.as_ref()).cloned(),
        cascades: Vec::new(),
        unblocked: Vec::new(),
        expected_notes: Vec::new(),
        guide: Guide::default(),
        next: None,
        version: item.version,
    }
}

/// The error that carries a move's refusals.
pub(super) fn refusal_error(id: ItemId, target: &Target, refusals: Vec<Refusal>) -> Error {
    let what = match target {
        Target::Trigger(trigger) => format!("{trigger} refused"),
        Target::Status(status) => format!("move to {status} refused"),
    };
    Error { contended_item: Some(id), ..Error::blocked(&what, refusals) }
}

fn named(draft: &Draft<'_>, id: ItemId) -> Option<Named> {
    draft.item(id).map(|item: &Item| Named { item: id, title: item.title.to_string() })
}
