//! How SQLite runs the reads that are asked often: by an index, never through all items, edges or events.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use docket_core::model::{
    ApiKeyId, EdgeId, ItemId, ItemRef, Key, KeyPrefix, Name, NoteId, ProjectId, RequestId, Role, Tag, Timestamp,
};
use docket_core::store::{
    AnswerKey, Around, Candidates, ClaimState, EdgeReach, EventFilter, Filter, KeyReach, NoteReach, ProjectRef, Scope,
    SortBy, TimeRange, Visible,
};
use sqlx::Row;
use uuid::Uuid;

use super::load::compose;
use super::{events, find, tally};
use crate::context::Context;
use crate::script::Script;
use crate::{SqliteOptions, SqliteStore};

/// Names under which tables that grow are read; the newest event is read by itself, as the end of `events`.
const GROWING: [&str; 7] = ["i", "r", "c", "e", "v", "items", "edges"];

struct Planner {
    _folder: tempfile::TempDir,
    store: SqliteStore,
    context: Context,
}

/// The script that shows a scope.
fn load(planner: &Planner, scope: &Scope) -> Script {
    let mut script = Script::default();
    compose(&mut script, &planner.context, scope);
    script
}

impl Planner {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let options = SqliteOptions::new(folder.path().join("docket.db")).create(true);
        let store = SqliteStore::open(options).await.expect("a database");
        Self { _folder: folder, store, context: Context::new(Arc::new(AtomicI64::new(0))) }
    }

    /// The steps of a plan, each with the number of the step that it is a part of.
    async fn steps(&self, script: Script) -> Vec<(i64, String)> {
        let rows = self.store.pool.lease().await.expect("a reader").run(script.explained()).await.expect("a plan");
        rows.iter().map(|row| (row.get("parent"), row.get("detail"))).collect()
    }

    async fn plan(&self, script: Script) -> Vec<String> {
        self.steps(script).await.into_iter().map(|(_, step)| step).collect()
    }

    /// The plan goes through no table that grows.
    async fn assert_searches(&self, what: &str, script: Script) -> Vec<String> {
        let plan = self.plan(script).await;
        for step in &plan {
            let scanned = step.strip_prefix("SCAN ").and_then(|rest| rest.split(' ').next());
            assert!(!scanned.is_some_and(|table| GROWING.contains(&table)), "{what}: {step}\nin {plan:#?}");
        }
        plan
    }
}

/// All projects, one, and several.
fn limits() -> [Visible; 3] {
    let project = |number| ProjectId::from_uuid(Uuid::from_u128(number));
    [None, Some([project(1)].into()), Some([project(1), project(2)].into())]
}

fn id() -> ItemId {
    ItemId::from_uuid(Uuid::max())
}

fn wanted() -> Candidates {
    Candidates {
        role: Role::Queue,
        parent: None,
        under: None,
        tags: Vec::new(),
        item_type: None,
        include_claimed: false,
        offered_only: true,
        after: None,
        limit: 8,
    }
}

fn project() -> ProjectRef {
    ProjectRef::Id(ProjectId::from_uuid(Uuid::max()))
}

#[tokio::test]
async fn a_scope_is_read_by_indexes() {
    let planner = Planner::new().await;
    let name = Name::parse("a").expect("a name");
    let request = RequestId::parse("r").expect("a request");
    let scope = Scope {
        project: project(),
        items: vec![
            id().into(),
            ItemRef::Key(Key { prefix: KeyPrefix::parse("A").expect("a prefix"), number: 1 }),
            ItemRef::Prefix("abcd".to_owned()),
        ],
        around: Around {
            ancestors: true,
            subtree: Some(9),
            open_children: Some(9),
            edges: EdgeReach::Shown,
            notes: NoteReach::Heads,
            waits: true,
            component: true,
        },
        edge_ids: vec![EdgeId::from_uuid(Uuid::max())],
        note_ids: vec![NoteId::from_uuid(Uuid::max())],
        held_by: vec![name.clone()],
        candidates: Some(wanted()),
        busy: true,
        answer: Some(AnswerKey { principal: name, operation: "o", request }),
        every_project: false,
        keys: KeyReach::Ids(vec![ApiKeyId::from_uuid(Uuid::max())]),
        visible: None,
    };
    for visible in limits() {
        let scope = Scope { visible, ..scope.clone() };
        planner.assert_searches("everything at once", load(&planner, &scope)).await;
        let anywhere = Scope { project: ProjectRef::Any, ..scope };
        planner.assert_searches("everything anywhere", load(&planner, &anywhere)).await;
    }
    let bodies =
        Scope { around: Around { notes: NoteReach::Bodies, ..scope.around }, project: ProjectRef::Any, ..scope };
    planner.assert_searches("bodies", load(&planner, &bodies)).await;
}

#[tokio::test]
async fn candidates_come_in_order_from_their_index() {
    let planner = Planner::new().await;
    let tag = Tag::parse("t").expect("a tag");
    for (what, wanted) in [
        ("plain", wanted()),
        ("after", Candidates { after: Some((1, 2)), ..wanted() }),
        ("claimed too", Candidates { include_claimed: true, ..wanted() }),
        ("unblocked", Candidates { offered_only: false, ..wanted() }),
        ("type and tags", Candidates { item_type: Name::parse("bug").ok(), tags: vec![tag], ..wanted() }),
        ("children", Candidates { parent: Some(id()), ..wanted() }),
        ("descendants", Candidates { under: Some(id()), ..wanted() }),
    ] {
        for project in [project(), ProjectRef::Any] {
            let beneath = wanted.parent.is_some() || wanted.under.is_some();
            let scope = Scope { project, candidates: Some(wanted.clone()), ..Scope::default() };
            planner.assert_searches(what, load(&planner, &scope)).await;
            let steps = planner.steps(load(&planner, &scope)).await;
            let by_rank =
                |step: &str| step.contains("COVERING INDEX items_ready (project_id=? AND role=? AND offered=?");
            let ordered: Vec<i64> = steps.iter().filter(|(_, step)| by_rank(step)).map(|(part, _)| *part).collect();
            assert!(ordered.is_empty() == beneath, "{what}: {steps:#?}");
            let sorts = |(part, step): &(i64, String)| ordered.contains(part) && step.contains("TEMP B-TREE");
            assert!(!steps.iter().any(sorts), "{what}: the index gives the order: {steps:#?}");
        }
    }
}

#[tokio::test]
async fn lists_are_read_by_an_index_that_narrows_them() {
    let planner = Planner::new().await;
    let all = || Filter { project: project(), limit: 50, count: true, ..Filter::default() };
    let since = TimeRange { after: Some(Timestamp::from_millis(1)), before: None };
    for (filter, way) in [
        (all(), "sqlite_autoindex_items"),
        (Filter { words: vec!["word".to_owned()], ..all() }, "VIRTUAL TABLE INDEX"),
        (Filter { tags: vec![Tag::parse("t").expect("a tag")], ..all() }, "PRIMARY KEY (tag=?)"),
        (Filter { parent: Some(Some(id())), ..all() }, "items_children (parent_id=?)"),
        (Filter { parent: Some(None), ..all() }, "items_roots (project_id=?)"),
        (Filter { roles: vec![Role::Work], ..all() }, "items_role (project_id=? AND role=?)"),
        (Filter { item_type: Name::parse("bug").ok(), ..all() }, "items_type (project_id=? AND item_type=?)"),
        (Filter { blocked: Some(true), ..all() }, "items_blocked (project_id=?)"),
        (Filter { claim: Some(ClaimState::Claimed), ..all() }, "items_claimed (project_id=?)"),
        (Filter { claim: Some(ClaimState::Expired), ..all() }, "items_claimed (project_id=? AND claim_expires_at<?)"),
        (Filter { modified: since, ..all() }, "items_modified (project_id=? AND modified_at>?)"),
        (Filter { sort: SortBy::ModifiedAt, ..all() }, "items_modified (project_id=?)"),
    ] {
        for visible in limits().into_iter().skip(1) {
            let limited = Filter { visible, project: ProjectRef::Any, ..filter.clone() };
            planner.assert_searches(way, find::compose(&planner.context, &limited)).await;
        }
        let plan = planner.assert_searches(way, find::compose(&planner.context, &filter)).await;
        assert!(plan.iter().any(|step| step.contains(way)), "{way}: {plan:#?}");
        if way.starts_with("sqlite_autoindex") || way.starts_with("items_roots") {
            assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "the newest come in order: {plan:#?}");
        }
    }
}

#[tokio::test]
async fn counts_and_events_are_read_by_indexes() {
    let planner = Planner::new().await;
    let children = tally::compose_children(&planner.context, &[id()]);
    let plan = planner.assert_searches("children", children).await;
    assert!(plan.iter().any(|step| step.contains("COVERING INDEX items_children")), "{plan:#?}");
    assert!(plan.iter().any(|step| step.contains("INDEX items_claimed_children (parent_id=?)")), "{plan:#?}");
    for project in [project(), ProjectRef::Any] {
        for visible in limits() {
            planner.assert_searches("claims", tally::compose_claims(&planner.context, &project, &visible)).await;
        }
    }
    let all = || EventFilter { limit: 50, newest_first: true, ..EventFilter::default() };
    for filter in [
        EventFilter { item: Some(id()), ..all() },
        EventFilter { item: Some(id()), project: project(), ..all() },
        EventFilter { project: project(), since: Some(Timestamp::from_millis(1)), ..all() },
        EventFilter { after: Some(1), ..all() },
        EventFilter { visible: limits()[1].clone(), ..all() },
        EventFilter { visible: limits()[1].clone(), item: Some(id()), ..all() },
    ] {
        let plan = planner.plan(events::compose(&filter)).await;
        assert!(!plan.iter().any(|step| step == "SCAN v USING INDEX events_project"), "{filter:?}: {plan:#?}");
        let sorted = plan.iter().any(|step| step.contains("TEMP B-TREE FOR ORDER BY"));
        assert!(!sorted, "events come in order for {filter:?}: {plan:#?}");
    }
}
