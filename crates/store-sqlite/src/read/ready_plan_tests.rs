//! How SQLite finds ready work: by the index of it, and in its order where that is the one that is asked for.

use docket_core::model::{Name, Priority, ProjectId, Tag};
use docket_core::store::{Candidates, ProjectRef, Scope};
use uuid::Uuid;

use super::plan_tests::{Planner, id, load, project, wanted};

#[tokio::test]
async fn candidates_come_in_order_from_their_index() {
    let planner = Planner::new().await;
    let tag = Tag::parse("t").expect("a tag");
    for (what, wanted) in [
        ("plain", wanted()),
        ("after", Candidates { after: Some((1, 2, ProjectId::from_uuid(Uuid::max()))), ..wanted() }),
        ("left too", Candidates { left: true, ..wanted() }),
        (
            "left too, after",
            Candidates { left: true, after: Some((1, 2, ProjectId::from_uuid(Uuid::max()))), ..wanted() },
        ),
        ("claimed too", Candidates { include_claimed: true, ..wanted() }),
        ("unblocked", Candidates { offered_only: false, ..wanted() }),
        ("type and tags", Candidates { item_type: Name::parse("bug").ok(), tags: vec![tag], ..wanted() }),
        ("children", Candidates { parent: Some(id()), ..wanted() }),
        ("descendants", Candidates { under: Some(id()), ..wanted() }),
    ] {
        for project in [project(), ProjectRef::Any] {
            let beneath = wanted.parent.is_some() || wanted.under.is_some();
            let scope = Scope { project, candidates: Some(wanted.clone()), ..Scope::default() };
            planner.assert_all_search(what, load(&planner, &scope)).await;
            let steps = planner.all_steps(load(&planner, &scope)).await;
            let by_rank = |step: &str| {
                step.contains("COVERING INDEX items_ready (project_id=? AND role=? AND offered=?")
                    || step.contains("INDEX items_left (project_id=?")
            };
            let left = steps.iter().any(|(_, step)| step.contains("items_left"));
            assert_eq!(left, wanted.left, "{what}: {steps:#?}");
            let ordered: Vec<i64> = steps.iter().filter(|(_, step)| by_rank(step)).map(|(part, _)| *part).collect();
            assert!(ordered.is_empty() == beneath, "{what}: {steps:#?}");
            let sorts = |(part, step): &(i64, String)| ordered.contains(part) && step.contains("TEMP B-TREE");
            assert!(!steps.iter().any(sorts), "{what}: the index gives the order: {steps:#?}");
        }
    }
}

/// Urgency is no order of an index: the ready work is found by one, and only that is sorted.
#[tokio::test]
async fn urgent_candidates_are_found_by_their_index() {
    let planner = Planner::new().await;
    let urgent = Candidates { urgent: Some(Priority::Medium), left: true, ..wanted() };
    for (what, wanted) in [
        ("plain", urgent.clone()),
        ("claimed too", Candidates { include_claimed: true, ..urgent.clone() }),
        ("descendants", Candidates { under: Some(id()), ..urgent }),
    ] {
        for project in [project(), ProjectRef::Any] {
            let beneath = wanted.under.is_some();
            let scope = Scope { project, candidates: Some(wanted.clone()), ..Scope::default() };
            planner.assert_all_search(what, load(&planner, &scope)).await;
            let steps = planner.all_steps(load(&planner, &scope)).await;
            let found =
                |(_, step): &(i64, String)| step.contains("INDEX items_ready (project_id=? AND role=? AND offered=?");
            assert!(steps.iter().any(found) != beneath, "{what}: {steps:#?}");
        }
    }
}
