//! The sections of a read: which a profile has, and what stands in each.

use std::collections::BTreeMap;

use docket_core::Error;
use docket_core::model::ItemRef;
use docket_core::query::{Dossier, Includes, ParentReach, Section};
use docket_core::store::ProjectRef;
use serde_json::{Map, Value, json};

use super::args::Profile;
use super::guard::{Voice, guard};
use super::{parent, render};
use crate::session::Session;

/// How much of a task's history a read tells.
const ACTIVITY: usize = 20;
/// How many comments a full read tells.
pub(super) const COMMENTS: usize = 20;

/// The sections that a read is made of.
pub(super) fn asked(profile: Profile, include: &[Section]) -> Vec<Section> {
    let mut asked = vec![Section::Guard];
    if profile != Profile::Compact {
        asked.extend([Section::Task, Section::Parent, Section::Brief, Section::Verdict, Section::Question]);
    }
    if profile == Profile::Full {
        asked.extend([Section::Links, Section::Relations, Section::Activity, Section::Subtasks]);
        asked.extend([Section::Comments, Section::Raw]);
    }
    for section in include {
        if !asked.contains(section) {
            asked.push(*section);
        }
    }
    asked
}

/// Reads a task with these sections.
pub(super) async fn read(
    session: &Session,
    project: &ProjectRef,
    task: &ItemRef,
    sections: &[Section],
) -> Result<Dossier, Error> {
    let has = |section| sections.contains(&section);
    let parent = match (has(Section::Raw), has(Section::Parent)) {
        (true, _) => ParentReach::Full,
        (false, true) => ParentReach::Summary,
        (false, false) => ParentReach::None,
    };
    let includes = Includes {
        parent,
        links: has(Section::Links),
        relations: has(Section::Relations),
        // One more than is told, so that it is known whether there is more.
        activity: has(Section::Activity).then_some(ACTIVITY + 1),
        subtasks: has(Section::Subtasks),
        comments: has(Section::Comments).then_some(COMMENTS),
        notes: false,
    };
    session.engine().dossier(project, task, includes).await
}

/// What of these sections was left out, and how to get it.
pub(super) fn cut(dossier: &Dossier, sections: &[Section], comments: usize) -> Value {
    let mut told = Map::new();
    let mut say = |section: Section, shown: usize, how: String| {
        if sections.contains(&section) {
            told.insert(section.as_str().to_owned(), json!({ "shown": shown, "hint": how }));
        }
    };
    let id = dossier.item.id;
    if dossier.subtasks.truncated {
        let how = format!("find {{action:\"list\", parentTaskId:\"{id}\"}} with filters shows the others");
        say(Section::Subtasks, dossier.subtasks.rows.len(), how);
    }
    if dossier.comments.truncated || dossier.comments.rows.len() > comments {
        let how = if comments < COMMENTS {
            format!("get_task {{id:\"{id}\", profile:\"full\"}} shows the newest {COMMENTS}")
        } else {
            format!("GET /api/v1/items/{id}/comments has all of them")
        };
        say(Section::Comments, dossier.comments.rows.len().min(comments), how);
    }
    if dossier.activity.len() > ACTIVITY {
        say(Section::Activity, ACTIVITY, format!("GET /api/v1/events?item={id} has all of it"));
    }
    if told.is_empty() { Value::Null } else { Value::Object(told) }
}

/// What stands in the sections; those that have nothing are not there.
pub(super) fn contents(dossier: &Dossier, sections: &[Section]) -> BTreeMap<Section, Value> {
    let told = sections.iter().map(|section| (*section, content(dossier, *section)));
    told.filter(|(_, value)| !value.is_null()).collect()
}

fn content(dossier: &Dossier, section: Section) -> Value {
    match section {
        Section::Guard => guard(dossier, Voice::Whole),
        Section::Task => task(dossier),
        Section::Parent => json!(dossier.parent.as_ref().map(parent::summary)),
        Section::Brief => {
            let told = |brief| json!({ "rendered": render::brief(brief), "completeness": dossier.score });
            json!(dossier.brief.as_ref().map(told))
        }
        Section::Verdict => json!(Some(&dossier.verdict).filter(|verdict| !verdict.criteria.is_empty())),
        Section::Question => json!(dossier.question.as_ref().map(render::question)),
        Section::Links => render::links(&dossier.links),
        Section::Relations => render::relations(dossier),
        Section::Activity => render::activity(dossier, ACTIVITY),
        Section::Subtasks => render::subtasks(&dossier.subtasks, None, dossier.now),
        Section::Comments => render::comments(&dossier.comments),
        Section::Raw => raw(dossier),
        Section::Notes | Section::Rows | Section::Checks => Value::Null,
    }
}

fn task(dossier: &Dossier) -> Value {
    let item = &dossier.item;
    let mut told = Map::new();
    let mut put = |field: &str, value: Value| {
        if !value.is_null() {
            told.insert(field.to_owned(), value);
        }
    };
    put("intent", json!(item.intent));
    put("description", json!(item.description));
    put("labels", if item.tags.is_empty() { Value::Null } else { json!(item.tags) });
    put("dueAt", json!(item.due_at));
    put("estimateMinutes", json!(item.estimate_minutes));
    Value::Object(told)
}

/// Rows as they are kept, without what changes by itself: leases.
fn raw(dossier: &Dossier) -> Value {
    let row = |item| {
        let mut row = json!(item);
        if let Some(row) = row.as_object_mut() {
            row.remove("claim");
        }
        row
    };
    let parent = dossier.parent.as_ref();
    json!({
        "task": row(&dossier.item),
        "agentBrief": dossier.brief,
        "parent": parent.map(|parent| row(&parent.item)),
        "parentAgentBrief": parent.and_then(|parent| parent.brief.as_ref()),
        "labels": {
            "projects": { dossier.project.id.to_string(): dossier.project.slug },
            "tasks": labels(dossier),
        },
    })
}

/// The keys of all tasks that a full read names, by id.
fn labels(dossier: &Dossier) -> Value {
    let parent = dossier.parent.iter().map(|parent| (parent.item.id.to_string(), json!(parent.key)));
    let others = dossier.relations.iter().map(|relation| (relation.other.id.to_string(), json!(relation.key)));
    let own = [(dossier.item.id.to_string(), json!(dossier.key))];
    Value::Object(own.into_iter().chain(parent).chain(others).collect())
}
