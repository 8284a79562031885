//! Packets: what a task is about and how it stands, in two halves. Nothing that anybody wrote stands in the trusted one.

use docket_core::command::Finished;
use docket_core::engine::Cascade;
use docket_core::model::{Authority, CriterionId, Standing};
use docket_core::query::{Dossier, Section};
use serde_json::{Map, Value, json};

use super::error::violation;
use super::guard::{Voice, guard, readiness};
use super::render;
use super::sections::{contents, cut};
use super::start::Taken;

/// How many comments a packet has.
const COMMENTS: usize = 5;

/// The sections that a start reads.
pub(super) fn asked(include: &[Section]) -> Vec<Section> {
    let mut asked = vec![Section::Links, Section::Comments];
    asked.extend(include.iter().copied().filter(|section| *section != Section::Links));
    asked
}

/// The packet of a start.
pub(super) fn start(
    mode: &str,
    dossier: &Dossier,
    taken: Option<&Taken>,
    parent_context: Value,
    sections: &[Section],
) -> Value {
    let mut trusted = Map::new();
    trusted.insert("guard".to_owned(), guard(dossier, Voice::Trusted));
    if let Some(taken) = taken {
        trusted.insert("claim".to_owned(), claim(taken));
    }
    if let Some(started) = taken.and_then(|taken| taken.started.as_ref()) {
        trusted.insert("transition".to_owned(), json!({ "from": started.from_status, "to": started.to_status }));
        if !started.refusals.is_empty() {
            trusted.insert("startBlockers".to_owned(), started.refusals.iter().map(violation).collect());
        }
    }
    trusted.insert("legalNextStates".to_owned(), json!(dossier.next_statuses));
    trusted.insert("briefCompleteness".to_owned(), json!(dossier.score));
    trusted.insert("criteria".to_owned(), criteria(dossier));
    trusted.insert("actions".to_owned(), actions(dossier));
    say_cut(&mut trusted, dossier, sections);
    let mut untrusted = written(dossier, sections);
    untrusted.insert("parentContext".to_owned(), parent_context);
    json!({ "phase": "start", "mode": mode, "found": true, "trusted": trusted, "untrusted": untrusted })
}

/// The packet of a finish: slim, with nothing of the task's texts but the sections that were asked for.
pub(super) fn finish(
    action: &str,
    dossier: &Dossier,
    finished: &Finished,
    proved: &[CriterionId],
    include: &[Section],
) -> Value {
    let mut trusted = Map::new();
    let mut put = |field: &str, value: Value| trusted.insert(field.to_owned(), value);
    put("guard", guard(dossier, Voice::Trusted));
    put("closureBlockers", finished.blockers.iter().map(violation).collect());
    put("legalNextStates", json!(dossier.next_statuses));
    put("verdict", readiness(&finished.verdict));
    let moved = finished.moved.as_ref();
    let transition =
        moved.map(|moved| json!({ "from": moved.from_status, "to": moved.to_status, "applied": finished.applied }));
    put("transition", json!(transition));
    if let Some(moved) = moved {
        put("unblocked", moved.unblocked.iter().map(|task| json!(task.item)).collect());
        put("cascades", moved.cascades.iter().map(cascade).collect());
    }
    if let Some(pending) = &finished.handed_in {
        put("handedIn", json!({ "verification": pending.verification, "etaSeconds": pending.eta_seconds }));
    }
    if finished.applied {
        let status = moved.map(|moved| &moved.to_status);
        put(
            "applied",
            json!({ "commentId": finished.comment, "linkIds": finished.links, "verified": proved, "status": status }),
        );
    }
    say_cut(&mut trusted, dossier, include);
    let untrusted: Map<String, Value> = named(dossier, include);
    json!({ "phase": "finish", "action": action, "trusted": trusted, "untrusted": untrusted })
}

/// Says which sections of a packet are not whole.
fn say_cut(trusted: &mut Map<String, Value>, dossier: &Dossier, sections: &[Section]) {
    let cut = cut(dossier, sections, COMMENTS);
    if !cut.is_null() {
        trusted.insert("cut".to_owned(), cut);
    }
}

/// A relative that moved too, or could not, without its title.
pub(super) fn cascade(cascade: &Cascade) -> Value {
    json!({
        "taskId": cascade.item, "fromRole": cascade.from_role, "toRole": cascade.to_role, "applied": cascade.applied,
        "violations": cascade.refusals.iter().map(violation).collect::<Vec<_>>(),
    })
}

fn claim(taken: &Taken) -> Value {
    json!({
        "fence": taken.held.fence,
        "expiresAt": taken.held.claim.expires_at,
        "autoReleased": taken.auto_released,
    })
}

/// How each criterion stands, by name.
fn criteria(dossier: &Dossier) -> Value {
    let told = dossier.verdict.criteria.iter().map(|criterion| {
        json!({ "id": criterion.id, "status": criterion.status, "verifier": criterion.verifier, "hard": criterion.hard })
    });
    told.collect()
}

/// What the verdict leaves to be done, as calls.
fn actions(dossier: &Dossier) -> Value {
    let open = |verifier: Authority| -> Vec<Value> {
        let open = dossier.verdict.criteria.iter().filter(|criterion| criterion.status != Standing::Pass);
        open.filter(|criterion| criterion.verifier == verifier).map(|criterion| json!(criterion.id)).collect()
    };
    let mut actions = Vec::new();
    let agents = open(Authority::Agent);
    if !agents.is_empty() {
        actions.push(json!({ "tool": "contract", "action": "verify_criteria", "criteria": agents }));
    }
    // What a check is to show and no check proves is for people as well: they add the check, or sign it off.
    let proves = |id: CriterionId| {
        let checks = dossier.brief.as_ref().map_or(&[][..], |brief| &brief.checks);
        checks.iter().any(|check| check.proves == Some(id))
    };
    let unchecked = dossier.verdict.criteria.iter().filter(|criterion| {
        criterion.verifier == Authority::Check && criterion.status != Standing::Pass && !proves(criterion.id)
    });
    let unchecked: Vec<Value> = unchecked.map(|criterion| json!(criterion.id)).collect();
    let people: Vec<Value> = open(Authority::Human).into_iter().chain(unchecked).collect();
    if !people.is_empty() {
        actions.push(json!({ "tool": "task", "action": "ask", "criteria": people }));
    }
    actions.push(json!({ "tool": "work", "phase": "finish", "action": "preview" }));
    Value::Array(actions)
}

/// Everything that was written about a task, by whoever it was.
fn written(dossier: &Dossier, sections: &[Section]) -> Map<String, Value> {
    let item = &dossier.item;
    let mut told = Map::new();
    let mut put = |field: &str, value: Value| {
        if !value.is_null() {
            told.insert(field.to_owned(), value);
        }
    };
    put("title", json!(item.title));
    put("intent", json!(item.intent));
    put("description", json!(item.description));
    put("labels", if item.tags.is_empty() { Value::Null } else { json!(item.tags) });
    put("assignee", json!(item.live_claim(dossier.now).map(|claim| &claim.holder)));
    put("needsAttentionReason", json!(item.attention));
    put("brief", json!(dossier.brief.as_ref().map(render::brief)));
    put("question", json!(dossier.question.as_ref().map(render::question)));
    let mut comments = dossier.comments.clone();
    comments.rows.truncate(COMMENTS);
    put("comments", render::comments(&comments));
    let rest: Vec<Section> = sections.iter().copied().filter(|section| *section != Section::Comments).collect();
    told.extend(named(dossier, &rest));
    told
}

fn named(dossier: &Dossier, sections: &[Section]) -> Map<String, Value> {
    contents(dossier, sections).into_iter().map(|(section, value)| (section.as_str().to_owned(), value)).collect()
}
