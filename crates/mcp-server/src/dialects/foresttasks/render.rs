//! What was written about a task, as answers show it.

use docket_core::model::{Brief, Comment, Criterion, Item, Link, Question, Timestamp};
use docket_core::query::{Activity, Dossier};
use docket_core::store::Capped;
use serde_json::{Map, Value, json};

/// A brief as a text to read: its sections in order, criteria with their names.
pub(super) fn brief(brief: &Brief) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut part = |title: &str, body: String| {
        if !body.is_empty() {
            parts.push(format!("## {title}\n{body}"));
        }
    };
    let said = |text: &Option<docket_core::model::Text>| text.as_ref().map(ToString::to_string).unwrap_or_default();
    part("Objective", said(&brief.objective));
    part("Context", said(&brief.context));
    part("Acceptance criteria", lines(brief.acceptance_criteria.iter().map(criterion)));
    part("Constraints", lines(brief.constraints.iter().map(ToString::to_string)));
    part("Verification", said(&brief.verification));
    part("Handoff", said(&brief.handoff_expectations));
    parts.join("\n\n")
}

fn criterion(criterion: &Criterion) -> String {
    let soft = if criterion.hard { "" } else { ", soft" };
    let how = criterion.instructions.as_ref().map(|how| format!(" — {how}")).unwrap_or_default();
    format!("{} ({}{soft}): {}{how}", criterion.id, criterion.verifier, criterion.text)
}

fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n")
}

/// A brief as it is written, with the names of its criteria.
pub(super) fn raw_brief(brief: &Brief) -> Value {
    let criteria = brief.acceptance_criteria.iter().map(|criterion| {
        let mut told = Map::new();
        told.insert("id".to_owned(), json!(criterion.id));
        told.insert("text".to_owned(), json!(criterion.text));
        told.insert("verifier".to_owned(), json!(criterion.verifier));
        told.insert("hard".to_owned(), json!(criterion.hard));
        if let Some(how) = &criterion.instructions {
            told.insert("instructions".to_owned(), json!(how));
        }
        Value::Object(told)
    });
    json!({
        "objective": brief.objective,
        "context": brief.context,
        "acceptanceCriteria": criteria.collect::<Vec<_>>(),
        "constraints": brief.constraints,
        "verification": brief.verification,
        "handoffExpectations": brief.handoff_expectations,
    })
}

/// A question with its answer, if it has one.
pub(super) fn question(question: &Question) -> Value {
    let mut told = Map::new();
    let mut put = |field: &str, value: Value| {
        if !value.is_null() {
            told.insert(field.to_owned(), value);
        }
    };
    put("id", json!(question.id));
    put("state", json!(question.state));
    put("question", json!(question.text));
    put("options", if question.options.is_empty() { Value::Null } else { json!(question.options) });
    put("askedBy", json!(question.asked_by));
    put("askedAt", json!(question.asked_at));
    put("answer", json!(question.answer));
    put("answeredBy", json!(question.answer.as_ref().and(question.ended_by.as_ref())));
    put("answeredAt", json!(question.answer.as_ref().and(question.ended_at.as_ref())));
    Value::Object(told)
}

/// Links, each in four words.
pub(super) fn links(links: &[Link]) -> Value {
    let told = links.iter().map(|link| {
        let mut told = Map::new();
        told.insert("kind".to_owned(), json!(link.kind));
        told.insert("ref".to_owned(), json!(link.reference));
        told.insert("url".to_owned(), json!(link.url));
        if let Some(title) = &link.title {
            told.insert("title".to_owned(), json!(title));
        }
        Value::Object(told)
    });
    told.collect()
}

/// Comments, the newest first.
pub(super) fn comments(comments: &Capped<Comment>) -> Value {
    let told = comments.rows.iter().map(
        |comment| json!({ "id": comment.id, "body": comment.body, "by": comment.by, "createdAt": comment.created_at }),
    );
    told.collect()
}

/// Relations, each with the task at its other end.
pub(super) fn relations(dossier: &Dossier) -> Value {
    let told = dossier.relations.iter().map(|relation| {
        json!({
            "id": relation.edge,
            "kind": relation.kind,
            "direction": if relation.outgoing { "outgoing" } else { "incoming" },
            "task": {
                "id": relation.other.id, "key": relation.key, "title": relation.other.title, "status": relation.other.status,
            },
        })
    });
    told.collect()
}

/// What was done, the newest first.
pub(super) fn activity(dossier: &Dossier, most: usize) -> Value {
    dossier.activity.iter().take(most).map(|event| json!(Activity::from(event))).collect()
}

/// Children, in short.
pub(super) fn subtasks(children: &Capped<Item>, current: Option<&Item>, now: Timestamp) -> Value {
    let told = children.rows.iter().map(|child| {
        let mut told = Map::new();
        told.insert("id".to_owned(), json!(child.id));
        told.insert("title".to_owned(), json!(child.title));
        told.insert("status".to_owned(), json!(child.status));
        told.insert("blocked".to_owned(), json!(child.derived.blockers > 0));
        match current {
            Some(current) => {
                told.insert("current".to_owned(), json!(current.id == child.id));
            }
            None => {
                told.insert("assigned".to_owned(), json!(child.live_claim(now).is_some()));
            }
        }
        Value::Object(told)
    });
    told.collect()
}
