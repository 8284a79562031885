//! How SQLite runs the reads that are asked often: by an index, never through all items, edges or events.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use docket_core::model::{
    ApiKeyId, EdgeId, EntryId, ItemId, ItemRef, Key, KeyPrefix, LinkId, Name, NoteId, Priority, ProjectId, QuestionId,
    RequestId, Role, RunId, SessionId, SessionState, Tag, Timestamp, Title,
};
use docket_core::store::{
    AnswerKey, Around, Candidates, ClaimState, EdgeReach, EventFilter, Filter, Heading, Heads, KeyReach,
    KnowledgeReach, Mark, NoteReach, Order, Place, ProjectRef, RunFilter, Scope, SessionFilter, SortBy, Tie, TimeRange,
    Visible,
};
use uuid::Uuid;

use super::load::show;
use super::look::Look;
use super::{events, families, find, sessions, tally};
use crate::context::Context;
use crate::script::Script;
use crate::{SqliteOptions, SqliteStore};

/// Names under which tables that grow are read; the newest event is read by itself, as the end of `events`.
const GROWING: [&str; 15] =
    ["i", "r", "c", "e", "v", "b", "q", "t", "u", "y", "a", "items", "edges", "questions", "comments"];
/// The same of knowledge.
const KNOWLEDGE: [&str; 5] = ["w", "x", "g", "v", "y"];

pub(super) struct Planner {
    _folder: tempfile::TempDir,
    store: SqliteStore,
    context: Context,
}

/// The statements that show a scope, where each finds one row, and where each finds several.
pub(super) fn load(planner: &Planner, scope: &Scope) -> Vec<Script> {
    let scripts = |rows| {
        let mut look = Look::made_up(rows, &scope.visible);
        show(&mut look, &planner.context.clock, scope).expect("nothing that can fail is asked");
        look.scripts()
    };
    [scripts(1), scripts(2)].concat()
}

impl Planner {
    pub(super) async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let options = SqliteOptions::new(folder.path().join("docket.db")).create(true);
        let store = SqliteStore::open(options).await.expect("a database");
        Self { _folder: folder, store, context: Context::new(Arc::new(AtomicI64::new(0))) }
    }

    /// The steps of a plan, each with the number of the step that it is a part of.
    async fn steps(&self, script: Script) -> Vec<(i64, String)> {
        self.store.pool.lease().await.expect("a reader").plan(&script.explained()).expect("a plan")
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

impl Planner {
    /// The steps of several plans; no two of them have a step in common.
    pub(super) async fn all_steps(&self, scripts: Vec<Script>) -> Vec<(i64, String)> {
        let mut all = Vec::new();
        for (place, script) in (0..).zip(scripts) {
            let steps = self.steps(script).await;
            all.extend(steps.into_iter().map(|(part, step)| (place * 1_000_000 + part, step)));
        }
        all
    }

    pub(super) async fn assert_all_search(&self, what: &str, scripts: Vec<Script>) -> Vec<String> {
        let mut plans = Vec::new();
        for script in scripts {
            plans.extend(self.assert_searches(what, script).await);
        }
        plans
    }
}

/// All projects, one, and several.
fn limits() -> [Visible; 3] {
    let project = |number| ProjectId::from_uuid(Uuid::from_u128(number));
    [None, Some([project(1)].into()), Some([project(1), project(2)].into())]
}

pub(super) fn id() -> ItemId {
    ItemId::from_uuid(Uuid::max())
}

pub(super) fn wanted() -> Candidates {
    Candidates {
        role: Some(Role::Queue),
        left: false,
        parent: None,
        under: None,
        tags: Vec::new(),
        item_type: None,
        include_claimed: false,
        offered_only: true,
        urgent: None,
        after: None,
        limit: 8,
    }
}

fn page() -> Filter {
    Filter { limit: 50, bytes: Some(docket_core::limits::PAGE_BYTES), ..Filter::default() }
}

pub(super) fn project() -> ProjectRef {
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
            subtree_bytes: Some(1 << 20),
            open_children: Some(9),
            edges: EdgeReach::Shown,
            notes: NoteReach::Heads,
            waits: true,
            gives_way: true,
            component: true,
            briefs: true,
            questions: true,
            comments: Some(9),
            links: true,
            sessions: true,
            open_runs: true,
        },
        edge_ids: vec![EdgeId::from_uuid(Uuid::max())],
        note_ids: vec![NoteId::from_uuid(Uuid::max())],
        question_ids: vec![QuestionId(ulid::Ulid(u128::MAX))],
        link_ids: vec![LinkId(ulid::Ulid(u128::MAX))],
        session_ids: vec![SessionId(ulid::Ulid(u128::MAX))],
        run_ids: vec![RunId(ulid::Ulid(u128::MAX))],
        knowledge: KnowledgeReach { entries: vec![EntryId(ulid::Ulid(u128::MAX))], count: true, making: true },
        held_by: vec![name.clone()],
        candidates: Some(wanted()),
        busy: true,
        answer: Some(AnswerKey { principal: name, operation: "o".into(), request }),
        every_project: false,
        keys: KeyReach::Ids(vec![ApiKeyId::from_uuid(Uuid::max())]),
        visible: None,
    };
    for visible in limits() {
        let scope = Scope { visible, ..scope.clone() };
        planner.assert_all_search("everything at once", load(&planner, &scope)).await;
        let anywhere = Scope { project: ProjectRef::Any, ..scope };
        planner.assert_all_search("everything anywhere", load(&planner, &anywhere)).await;
    }
    let bodies =
        Scope { around: Around { notes: NoteReach::Bodies, ..scope.around }, project: ProjectRef::Any, ..scope };
    planner.assert_all_search("bodies", load(&planner, &bodies)).await;
    let unnamed = Scope { question_ids: Vec::new(), link_ids: Vec::new(), session_ids: Vec::new(), ..bodies.clone() };
    let plan = planner.assert_all_search("what was said about the named", load(&planner, &unnamed)).await;
    for index in [
        "questions_item (item_id=?)",
        "comments_item (item_id=?)",
        "links_item (item_id=?)",
        "sessions_item (item_id=?)",
    ] {
        assert!(plan.iter().any(|step| step.contains(index)), "{index}: {plan:#?}");
    }
    let counted = Scope { around: Around { edges: EdgeReach::Counted, ..Around::default() }, ..bodies };
    planner.assert_all_search("edges counted", load(&planner, &counted)).await;
}

#[tokio::test]
async fn runs_come_in_order_from_their_index() {
    let planner = Planner::new().await;
    for visible in limits() {
        let of_item = RunFilter { item: Some(id()), limit: 9, visible, ..RunFilter::default() };
        let plan = planner.assert_searches("runs of an item", super::runs::compose(&of_item)).await;
        assert!(plan.iter().any(|step| step.contains("runs_item (item_id=?)")), "{plan:#?}");
    }
    // A runner asks for what waits: the index holds nothing else, so it is read from its start.
    let waiting = RunFilter { open_only: true, limit: 9, ..RunFilter::default() };
    let steps = planner.steps(super::runs::compose(&waiting)).await;
    assert!(steps.iter().any(|(_, step)| step.contains("USING INDEX runs_open")), "{steps:#?}");
    // Further pages begin where the one before ended.
    let further = RunFilter { after: Some(docket_core::model::RunId(ulid::Ulid(1))), ..waiting };
    let plan = planner.assert_searches("runs that wait, further on", super::runs::compose(&further)).await;
    assert!(plan.iter().any(|step| step.contains("runs_open (id>?)")), "{plan:#?}");
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
        (Filter { inbox: Some(true), ..all() }, "items_inbox (project_id=?)"),
        (Filter { held_by: Name::parse("a").ok(), ..all() }, "items_held (holder=? AND project_id=?)"),
        (
            Filter { held_by: Name::parse("a").ok(), parent: Some(None), inbox: Some(false), ..all() },
            "items_held (holder=? AND project_id=?)",
        ),
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
async fn the_next_page_begins_where_the_one_before_ended() {
    let planner = Planner::new().await;
    let at = |mark, tie| Some(Place(mark, tie));
    let created = |order| Filter { project: project(), order, after: at(Mark::Created, Tie::Number(7)), ..page() };
    let modified = |order| Filter {
        project: project(),
        sort: SortBy::ModifiedAt,
        order,
        after: at(Mark::Modified(Timestamp::from_millis(1)), Tie::Number(7)),
        ..page()
    };
    let anywhere = |order| Filter { order, after: at(Mark::Created, Tie::Id(id())), ..page() };
    for (filter, way) in [
        (created(Order::Asc), "(project_id=? AND number>?)"),
        (created(Order::Desc), "(project_id=? AND number<?)"),
        (Filter { parent: Some(None), ..created(Order::Asc) }, "items_roots (project_id=? AND number>?)"),
        (Filter { blocked: Some(true), ..created(Order::Asc) }, "items_blocked (project_id=? AND number>?)"),
        (Filter { inbox: Some(true), ..created(Order::Asc) }, "items_inbox (project_id=? AND number>?)"),
        (anywhere(Order::Asc), "(id>?)"),
        (anywhere(Order::Desc), "(id<?)"),
        (modified(Order::Asc), "items_modified (project_id=? AND modified_at>?)"),
        (modified(Order::Desc), "items_modified (project_id=? AND modified_at<?)"),
    ] {
        let plan = planner.assert_searches(way, find::compose(&planner.context, &filter)).await;
        assert!(plan.iter().any(|step| step.contains(way)), "{way}: {plan:#?}");
        let sorts = plan.iter().filter(|step| step.contains("TEMP B-TREE"));
        // Of what was changed in the same millisecond, and of nothing else.
        let few = sorts.clone().all(|step| step.contains("LAST TERM"));
        assert!(few && (filter.sort == SortBy::ModifiedAt || sorts.count() == 0), "{way}: {plan:#?}");
    }
    for (sort, mark) in [
        (SortBy::Title, Mark::Title(Title::parse("t").expect("a title"))),
        (SortBy::Priority, Mark::Priority(Priority::High)),
        (SortBy::Complexity, Mark::Complexity(None)),
    ] {
        let filter = Filter { project: project(), sort, after: at(mark, Tie::Number(7)), ..page() };
        planner.assert_searches("one project", find::compose(&planner.context, &filter)).await;
    }
}

#[tokio::test]
async fn sessions_are_listed_in_the_order_of_an_index() {
    let planner = Planner::new().await;
    let all =
        || SessionFilter { limit: 50, before: Some(SessionId(ulid::Ulid(u128::MAX))), ..SessionFilter::default() };
    let actor = || Some(Name::parse("ann").expect("a name"));
    let active = vec![SessionState::Active];
    let ended = vec![SessionState::Finished, SessionState::Lost];
    for visible in limits() {
        for (filter, way) in [
            (all(), "(id<?)"),
            (SessionFilter { states: ended.clone(), ..all() }, "(id<?)"),
            (SessionFilter { project: project(), ..all() }, "sessions_project (project_id=? AND id<?)"),
            (SessionFilter { item: Some(id()), ..all() }, "sessions_item (item_id=? AND id<?)"),
            (SessionFilter { item: Some(id()), actor: actor(), ..all() }, "sessions_item (item_id=? AND id<?)"),
            (SessionFilter { actor: actor(), ..all() }, "sessions_actor (actor=? AND id<?)"),
            (SessionFilter { actor: actor(), project: project(), ..all() }, "sessions_actor (actor=? AND id<?)"),
            (SessionFilter { states: active.clone(), ..all() }, "sessions_active (id<?)"),
            (SessionFilter { states: active.clone(), project: project(), ..all() }, "sessions_active (id<?)"),
        ] {
            let one = visible.as_ref().is_some_and(|projects| projects.len() == 1);
            let way = if one && way == "(id<?)" { "sessions_project (project_id=? AND id<?)" } else { way };
            let filter = SessionFilter { visible: visible.clone(), ..filter };
            let plan = planner.assert_searches(way, sessions::compose(&filter)).await;
            assert!(plan.iter().any(|step| step.contains(way)), "{way}: {plan:#?}");
            assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "{way}: {plan:#?}");
        }
    }
}

#[tokio::test]
async fn knowledge_is_read_by_keys() {
    use super::knowledge::{
        compose_having, compose_having_all, compose_headed, compose_list, compose_pending, compose_postings,
        compose_sketches, compose_vectors,
    };
    let planner = Planner::new().await;
    let entry = EntryId(ulid::Ulid(u128::MAX));
    let projects = [1, 2].map(|number| ProjectId::from_uuid(Uuid::from_u128(number)));
    let words = ["a".to_owned(), "b".to_owned()];
    let facets = Heading::Facets(words.to_vec());
    let under = [facets.clone(), Heading::Item(id())];
    let by_word = "PRIMARY KEY (project_id=? AND word=?)";
    let by_facet = "PRIMARY KEY (project_id=? AND facet=?)";
    for (script, way) in [
        (compose_postings(&projects, &words, &[], 9), by_word),
        (compose_postings(&projects, &words, &under, 9), by_word),
        (compose_having(&[(entry, "a".to_owned())]), "knowledge_words_entry (entry_id=? AND word=?)"),
        (compose_having_all(&projects, &[words.to_vec()], &under, 9), by_word),
        (compose_headed(&projects, &facets, 9), by_facet),
        (compose_headed(&projects, &under[1], 9), "knowledge_links_item (item_id=?)"),
        (compose_list(&projects, &[], None, 9, 9), "knowledge_project (project_id=?)"),
        (compose_list(&projects, &[], Some(entry), 9, 9), "knowledge_project (project_id=? AND id<?)"),
        (compose_list(&projects, &under, None, 9, 9), by_facet),
        (compose_list(&projects, &under[1..], Some(entry), 9, 9), "knowledge_links_item (item_id=? AND entry_id<?)"),
        (compose_pending(9), "knowledge_made (made<?)"),
        (compose_sketches(1, 2, 9), "(generation=? AND place>?)"),
        (compose_vectors(&[entry]), "(entry_id=?)"),
    ] {
        let plan = planner.assert_searches(way, script).await;
        assert!(plan.iter().any(|step| step.contains(way)), "{way}: {plan:#?}");
        for step in &plan {
            let scanned = step.strip_prefix("SCAN ").and_then(|rest| rest.split(' ').next());
            let read_whole = scanned.is_some_and(|table| KNOWLEDGE.contains(&table) || table == "k");
            // What a walk found is gone through, under the name of the rows it is shown as.
            let found = plan.contains(&"CO-ROUTINE k".to_owned()) && scanned == Some("k");
            assert!(!read_whole || found, "{way}: {step}\nin {plan:#?}");
        }
    }
}

#[tokio::test]
async fn counts_and_events_are_read_by_indexes() {
    let planner = Planner::new().await;
    for most in [None, Some(9)] {
        let children = tally::compose_children(&planner.context, &[id()], most);
        let plan = planner.assert_searches("children", children).await;
        assert!(plan.iter().any(|step| step.contains("COVERING INDEX items_children")), "{plan:#?}");
        assert!(plan.iter().any(|step| step.contains("INDEX items_claimed_children (parent_id=?)")), "{plan:#?}");
    }
    let family = |of: Heads| families::compose(&planner.context, &of, 3);
    planner.assert_searches("family", family(Heads::These(vec![id()]))).await;
    for project in [project(), ProjectRef::Any] {
        let roots = Filter { project: project.clone(), parent: Some(None), ..page() };
        let plan = planner.assert_searches("families", family(Heads::Page(Box::new(roots)))).await;
        assert!(plan.iter().any(|step| step.contains("SEARCH x USING COVERING INDEX items_children")), "{plan:#?}");
        for visible in limits() {
            planner.assert_searches("claims", tally::compose_claims(&planner.context, &project, &visible)).await;
            planner.assert_searches("expiry", tally::compose_expiry(&planner.context, &project, &visible)).await;
        }
    }
    let all = || EventFilter { limit: 50, newest_first: true, ..EventFilter::default() };
    for filter in [
        EventFilter { item: Some(id()), ..all() },
        EventFilter { item: Some(id()), project: project(), ..all() },
        EventFilter { each: vec![id(), id()], ..all() },
        EventFilter { each: vec![id()], project: project(), ..all() },
        EventFilter { project: project(), since: Some(Timestamp::from_millis(1)), ..all() },
        EventFilter { after: Some(1), ..all() },
        EventFilter { before: Some(9), ..all() },
        EventFilter { before: Some(9), project: project(), ..all() },
        EventFilter { visible: limits()[1].clone(), ..all() },
        EventFilter { visible: limits()[1].clone(), item: Some(id()), ..all() },
    ] {
        let plan = planner.plan(events::compose(&filter)).await;
        assert!(!plan.iter().any(|step| step == "SCAN v USING INDEX events_project"), "{filter:?}: {plan:#?}");
        let sorted = plan.iter().any(|step| step.contains("TEMP B-TREE FOR ORDER BY"));
        assert!(!sorted, "events come in order for {filter:?}: {plan:#?}");
    }
}
