//! One item with all that whoever works on it must know, whole or as what changed since an earlier read.

use std::collections::BTreeMap;

use axum::extract::State;
use docket_core::contract::Verdict;
use docket_core::model::{
    Brief, Comment, EdgeId, EdgeKind, Item, ItemId, ItemRef, Key, Link, Name, Note, Priority, Question, Role, Text,
    Timestamp, Title,
};
use docket_core::query::{Activity, Delta, Dossier, Includes, ParentReach, ParentView, Relation, Section};
use docket_core::readiness::Obstacle;
use docket_core::store::{Capped, ChildTally, ProjectRef};
use docket_core::{Error, Reason, Refusal};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::answer::{self, Answer, ItemOut, note_out, ok};
use crate::extract::{ItemPath, Query};
use crate::gate::Caller;
use crate::keys::Keys;

/// How many lines of activity and how many comments are shown.
const SHOWN: usize = 20;

/// How much of an item is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Reading {
    /// The guard alone: for whoever looks often.
    Compact,
    /// The guard, the item, its contract and its newest question, and where its parent stands.
    #[default]
    Work,
    /// Everything.
    Full,
}

/// What else is shown of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Include {
    /// Its parent with its texts, brief, children and newest comments.
    Parent,
    /// Links to things outside.
    Links,
    /// Edges, with the items at their other ends.
    Relations,
    /// What was done to it, the newest first.
    Activity,
    /// Its children.
    Subtasks,
    /// The newest comments on it.
    Comments,
    /// Notes with their bodies.
    Notes,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct DossierQuery {
    /// How much is shown: `compact`, `work` or `full`; `work` where it is not said.
    profile: Reading,
    /// What else is shown, separated by commas.
    #[param(style = Form, explode = false)]
    include: Vec<Include>,
    /// The `readToken` of an earlier read: only what changed since then is shown.
    since: Option<String>,
}

/// One item, or what changed of it. A section that is gone since the earlier read is null.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Dossier)]
pub(crate) struct DossierOut {
    /// Stands for this read: hand it back as `since`.
    read_token: String,
    /// That nothing changed since the earlier read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unchanged: bool,
    /// The sections that changed since the earlier read.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<Vec<&'static str>>,
    /// What must be known before anything is done; always there.
    guard: Guard,
    /// The sections.
    #[schema(value_type = Sections)]
    sections: BTreeMap<&'static str, Value>,
}

/// What must be known of an item before anything is done about it.
#[expect(clippy::struct_excessive_bools, reason = "each of them is a fact of its own")]
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Guard {
    /// The item.
    id: ItemId,
    /// Its key.
    key: Key,
    /// Its title.
    title: Title,
    /// Its version.
    version: u64,
    /// Its status.
    status: Name,
    /// Its role.
    role: Role,
    /// How soon.
    priority: Priority,
    /// What it lies beneath.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<ItemId>,
    /// Who holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    holder: Option<Name>,
    /// Until when.
    #[serde(skip_serializing_if = "Option::is_none")]
    held_until: Option<Timestamp>,
    /// Whether open blockers hold it up.
    blocked: bool,
    /// Whether shipped work replaces it.
    superseded: bool,
    /// Whether it repeats live work.
    duplicate: bool,
    /// Why it is not ready; empty when it is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    obstacles: Vec<Obstacle>,
    /// Why a person must look at it.
    #[serde(skip_serializing_if = "Option::is_none")]
    attention: Option<Text>,
    /// Whether a question waits for an answer.
    has_open_question: bool,
    /// Whether its criteria let it into review.
    ready_for_review: bool,
    /// Whether they let it be done.
    ready_for_done: bool,
    /// What would refuse its success, its claim and its path aside.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    closure_blockers: Vec<Refusal>,
    /// The statuses that its workflow leads to from here.
    next_statuses: Vec<Name>,
}

/// The sections of an item; those that were not asked for, are empty or did not change are left out.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Sections {
    /// The item.
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<ItemOut>,
    /// Its parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<ParentOut>,
    /// Its contract, with how complete it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    brief: Option<BriefOut>,
    /// How far it is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<Verdict>,
    /// The newest question on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<Question>,
    /// Links to things outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<Vec<Link>>,
    /// Edges.
    #[serde(skip_serializing_if = "Option::is_none")]
    relations: Option<Vec<RelationOut>>,
    /// What was done to it, the newest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    activity: Option<Vec<Activity>>,
    /// Its children.
    #[serde(skip_serializing_if = "Option::is_none")]
    subtasks: Option<Children>,
    /// The newest comments on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    comments: Option<Remarks>,
    /// Notes with their bodies.
    #[serde(skip_serializing_if = "Option::is_none")]
    notes: Option<Vec<Note>>,
}

/// A contract, with how complete it is.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScoredBrief)]
pub(crate) struct BriefOut {
    /// How complete it is, from 0 to 100.
    score: u8,
    #[serde(flatten)]
    brief: Brief,
}

/// An item's parent.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ParentView)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ParentOut {
    /// The parent; its long texts only where it was asked for.
    item: ItemOut,
    /// How its children stand.
    tally: ChildTally,
    /// Whether it has more children of a role than were counted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    tally_cut: bool,
    /// Its brief, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    brief: Option<Brief>,
    /// Its children, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    children: Option<Children>,
    /// The newest comments on it, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    comments: Option<Remarks>,
}

/// Children of an item.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Children {
    /// The items, in the order in which they were made.
    items: Vec<ItemOut>,
    /// Whether there are more.
    truncated: bool,
}

/// Comments, the newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Remarks {
    /// The comments.
    comments: Vec<Comment>,
    /// Whether there are older ones.
    truncated: bool,
}

/// An edge as one of its ends sees it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Relation)]
pub(crate) struct RelationOut {
    /// The edge.
    edge: EdgeId,
    /// What it means.
    kind: EdgeKind,
    /// Whether it leads away from the item.
    outgoing: bool,
    /// The other end.
    other: ItemOut,
}

/// Show all that is to be known of an item
///
/// The guard is always there. With `since` only the sections that changed are shown; nothing is kept on the server for it.
#[utoipa::path(
    get, path = "/items/{id}/dossier", tag = "items",
    params(("id" = ItemRef, Path, description = "The item"), DossierQuery),
    responses((status = 200, description = "The guard, and the sections that were asked for", body = DossierOut)),
)]
pub(crate) async fn show(
    State(shared): answer::State,
    caller: Caller,
    ItemPath(item): ItemPath,
    Query(query): Query<DossierQuery>,
) -> Answer {
    let includes = includes(&query);
    let asked = asked(&query);
    let dossier = caller.engine.dossier(&ProjectRef::Any, &item, includes).await?;
    let around = dossier.parent.iter().map(|parent| &parent.item).chain(dossier.relations.iter().map(|end| &end.other));
    let keys = shared.keys(&caller.engine, std::iter::once(&dossier.item).chain(around)).await;
    let (id, guard) = (dossier.item.id, guard(&dossier));
    let sections = sections(dossier, &asked, includes.parent == ParentReach::Full, &keys);
    let mut values = split(&sections)?;
    // That the guard changed is told as well: it is a section of the token, and always shown.
    values.insert(Section::Guard, lasting(&guard)?);
    let asked_too: Vec<Section> = std::iter::once(Section::Guard).chain(asked).collect();
    let delta = Delta::new(&id.to_string(), &asked_too, values, query.since.as_deref())?;
    let changed = delta.since.then(|| delta.changed.iter().map(|section| section.as_str()).collect());
    ok(&DossierOut {
        unchanged: delta.is_unchanged(),
        read_token: delta.token,
        changed,
        guard,
        sections: delta
            .sections
            .into_iter()
            .filter(|(section, _)| *section != Section::Guard)
            .map(|(section, value)| (section.as_str(), value))
            .collect(),
    })
}

fn includes(query: &DossierQuery) -> Includes {
    let wants = |include| query.profile == Reading::Full || query.include.contains(&include);
    Includes {
        parent: match query.profile {
            _ if wants(Include::Parent) => ParentReach::Full,
            Reading::Compact => ParentReach::None,
            Reading::Work | Reading::Full => ParentReach::Summary,
        },
        links: wants(Include::Links),
        relations: wants(Include::Relations),
        activity: wants(Include::Activity).then_some(SHOWN),
        subtasks: wants(Include::Subtasks),
        comments: wants(Include::Comments).then_some(SHOWN),
        notes: wants(Include::Notes),
    }
}

/// The sections that were asked for, there or not.
fn asked(query: &DossierQuery) -> Vec<Section> {
    let contract = query.profile != Reading::Compact;
    let wants = |include| query.profile == Reading::Full || query.include.contains(&include);
    [
        (contract, Section::Task),
        (contract || wants(Include::Parent), Section::Parent),
        (contract, Section::Brief),
        (contract, Section::Verdict),
        (contract, Section::Question),
        (wants(Include::Links), Section::Links),
        (wants(Include::Relations), Section::Relations),
        (wants(Include::Activity), Section::Activity),
        (wants(Include::Subtasks), Section::Subtasks),
        (wants(Include::Comments), Section::Comments),
        (wants(Include::Notes), Section::Notes),
    ]
    .into_iter()
    .filter_map(|(asked, section)| asked.then_some(section))
    .collect()
}

fn guard(dossier: &Dossier) -> Guard {
    let item = &dossier.item;
    let claim = item.live_claim(dossier.now);
    Guard {
        id: item.id,
        key: dossier.key.clone(),
        title: item.title.clone(),
        version: item.version,
        status: item.status.clone(),
        role: item.role,
        priority: item.priority,
        parent: item.parent,
        holder: claim.map(|claim| claim.holder.clone()),
        held_until: claim.and_then(|claim| claim.expires_at),
        blocked: dossier.is_blocked(),
        superseded: dossier.is_superseded(),
        duplicate: dossier.is_duplicate(),
        obstacles: dossier.obstacles.clone(),
        attention: item.attention.clone(),
        has_open_question: dossier.open_question().is_some(),
        ready_for_review: dossier.verdict.ready_for_review,
        ready_for_done: dossier.verdict.ready_for_done,
        closure_blockers: dossier.closure.clone(),
        next_statuses: dossier.next_statuses.clone(),
    }
}

fn sections(dossier: Dossier, asked: &[Section], whole_parent: bool, keys: &Keys) -> Sections {
    let wants = |section| asked.contains(&section);
    let score = dossier.score;
    let children = |children: Capped<_>| Children {
        truncated: children.truncated,
        items: children.rows.into_iter().map(|item| ItemOut::listed(item, keys)).collect(),
    };
    let remarks = |comments: Capped<_>| Remarks { truncated: comments.truncated, comments: comments.rows };
    let parent = |view: ParentView| ParentOut {
        item: ItemOut::listed(if whole_parent { view.item } else { view.item.brief() }, keys),
        tally: view.tally,
        tally_cut: view.tally_cut,
        brief: view.brief,
        children: whole_parent.then(|| children(view.children)),
        comments: whole_parent.then(|| remarks(view.comments)),
    };
    let relation = |relation: Relation| RelationOut {
        edge: relation.edge,
        kind: relation.kind,
        outgoing: relation.outgoing,
        other: ItemOut::listed(relation.other.brief(), keys),
    };
    Sections {
        parent: dossier.parent.filter(|_| wants(Section::Parent)).map(parent),
        brief: dossier.brief.filter(|_| wants(Section::Brief)).map(|brief| BriefOut { score, brief }),
        verdict: wants(Section::Verdict).then_some(dossier.verdict),
        question: dossier.question.filter(|_| wants(Section::Question)),
        links: wants(Section::Links).then_some(dossier.links),
        relations: wants(Section::Relations).then(|| dossier.relations.into_iter().map(relation).collect()),
        activity: wants(Section::Activity).then(|| dossier.activity.iter().map(Activity::from).collect()),
        subtasks: wants(Section::Subtasks).then(|| children(dossier.subtasks)),
        comments: wants(Section::Comments).then(|| remarks(dossier.comments)),
        notes: wants(Section::Notes).then(|| dossier.notes.into_iter().map(note_out).collect()),
        // Who holds it is in the guard.
        task: wants(Section::Task).then(|| ItemOut::whole(Item { claim: None, ..dossier.item }, keys)),
    }
}

/// Each section as it is written.
fn split(sections: &Sections) -> Result<BTreeMap<Section, Value>, Error> {
    let mut whole = serde_json::to_value(sections).map_err(|error| unwritable(&error))?;
    let mut take = |section: Section| Some((section, whole.as_object_mut()?.remove(section.as_str())?));
    Ok(Section::ALL.into_iter().filter_map(&mut take).collect())
}

/// The guard without the ends of leases: that one was extended is no news.
fn lasting(guard: &Guard) -> Result<Value, Error> {
    let mut value = serde_json::to_value(guard).map_err(|error| unwritable(&error))?;
    if let Some(fields) = value.as_object_mut() {
        fields.remove("heldUntil");
        let obstacles = fields.get_mut("obstacles").and_then(Value::as_array_mut).into_iter().flatten();
        obstacles.filter_map(Value::as_object_mut).for_each(|obstacle| drop(obstacle.remove("until")));
    }
    Ok(value)
}

fn unwritable(error: &serde_json::Error) -> Error {
    tracing::error!(%error, "an answer could not be written");
    Error::new(
        docket_core::Kind::Transient,
        docket_core::Code::Unavailable,
        Reason::StoreFailed,
        "the answer could not be written",
    )
}
