//! How Postgres runs what is asked often: by an index, never through all items, edges, notes or events.
//!
//! Not by looking at plans, which are made anew for every shape of a statement, but at what the server counts: after each
//! operation on a database that is full enough for the planner to care, no table that grows was gone through from end to
//! end. Planted bug it catches: an index is missing.

use std::sync::Arc;

use docket_core::command::{
    Advance, Ask, BriefText, Change, Claim, ClaimNext, ClaimRequest, Create, EdgeSpec, Edit, EndQuestion, Link,
    MoveRequest, NewItem, NewLink, NotePut, Patch, PutNotes, Remark, Remove, RemoveLinks, SetBrief, SetProject, Wanted,
};
use docket_core::engine::Call;
use docket_core::model::{
    ActorClaim, ActorKind, Attribution, Authority, EdgeKind, ItemId, ItemRef, Key, KeyPrefix, Name, ProjectId,
    RequestId, Role, Slug, Tag, Text, Timestamp, Title, Trigger, Url, Verb, Verification,
};
use docket_core::query::{Agent, Includes, NextQuery, ParentReach};
use docket_core::store::{
    Around, ClaimState, EdgeReach, EventFilter, Filter, NoteReach, ProjectRef, SortBy, Store, TimeRange,
};
use docket_core::workflow::{Target, Workflow};
use docket_core::{Engine, Error};
use docket_tests::postgres::Database;

/// Projects, all alike; what is asked is about one of them.
const PROJECTS: usize = 20;
/// Items of each.
const ITEMS: usize = 1500;

/// Most entries of indexes that an operation may read: a project has so many, with what goes with it, and all have far more.
const MOST_READ: u64 = 8000;

/// The tables that grow which were gone through from end to end.
const GONE_THROUGH: &str = "SELECT coalesce(string_agg(relname || ' ' || seq_scan || ' times', ', ' ORDER BY relname), '') \
     FROM pg_stat_user_tables WHERE relname IN ('items', 'edges', 'notes', 'briefs', 'questions', 'comments', \
     'links', 'events', 'answers') AND seq_scan > 0";

/// Entries of indexes that were read.
const READ: &str = "SELECT coalesce(sum(idx_tup_read), 0)::text FROM pg_stat_user_indexes";

fn call(request: Option<&str>) -> Call {
    let name = Name::parse("ann").expect("a name");
    let actor = ActorClaim { id: name.clone(), kind: ActorKind::Subagent, parent: None, proof: None };
    let by = Some(Attribution { actor, verification: Verification::unchecked() });
    let request = request.map(|request| RequestId::parse(request).expect("a name"));
    Call { by, request, ..Call::new(name, uuid::Uuid::new_v4().as_u128()) }
}

fn create(project: ProjectRef, titles: impl Iterator<Item = String>) -> Create {
    let item = |title: String| NewItem {
        tags: vec![Tag::parse("ui").expect("a tag")],
        item_type: Name::parse("bug").ok(),
        ..NewItem::titled(Title::parse(&title).expect("a title"))
    };
    Create {
        project,
        items: titles.map(item).collect(),
        edges: vec![],
        notes: vec![],
        blank_notes: false,
        room_below: false,
        atomic: true,
    }
}

/// A database with one item that was really made, and thousands like it; with edges, notes, events, answers.
async fn full() -> (Database, ProjectId, Vec<ItemId>) {
    let database = Database::new();
    let store = Arc::new(database.open().await);
    let engine = Engine::new(Arc::clone(&store) as Arc<dyn Store>);
    let set = SetProject {
        slug: Slug::parse("p1").expect("a slug"),
        name: None,
        prefix: Some(KeyPrefix::parse("P1").expect("a prefix")),
        workflow: Some(Workflow::standard()),
        schemas: None,
        archived: None,
        must_be_new: true,
    };
    let project = engine.run(call(None), set).await.expect("a project").project.id;
    let made = engine.run(call(Some("r0")), create(ProjectRef::Id(project), ["item 1".to_owned()].into_iter())).await;
    let item = made.expect("an item").items.remove(0).expect("an item").item.id;
    let key = Name::parse("log").expect("a name");
    let body = Text::parse("x").expect("a text");
    let note = NotePut { item: ItemRef::Id(item), key, phase: None, body, by: None, fence: None };
    let put = PutNotes { project: ProjectRef::Id(project), notes: vec![note], atomic: true };
    engine.run(call(None), put).await.expect("a note");
    store.close().await;
    database.run(&fill());
    // Without what the copying left behind.
    database.run("VACUUM ANALYZE");
    let ids = database.ask(&format!(
        "SELECT string_agg(id::text, ' ' ORDER BY number) FROM items WHERE project_id = '{project}' AND number <= 40"
    ));
    let ids = ids.split(' ').map(|id| id.parse().expect("an id")).collect();
    (database, project, ids)
}

/// Copies of the rows that there are, with other ids and numbers.
fn fill() -> String {
    let items = "depth, role, outcome, priority, complexity, requires_verification, offered, fence, version, \
        created_at, modified_at, role_changed_at, blockers, moot, unblocks, rank, status, previous_status, \
        status_label, item_type, title, summary, tags, traits, touches, needs, required_capabilities, \
        properties, metadata, description, words";
    format!(
        "INSERT INTO projects SELECT gen_random_uuid(), 'p' || n, 'P' || n, name, {ITEMS} + 1, version, created_at \
           FROM projects, generate_series(2, {PROJECTS}) n; \
         INSERT INTO rules SELECT p.id, r.workflow, r.schemas FROM projects p, rules r WHERE p.slug <> 'p1'; \
         UPDATE projects SET next_number = {ITEMS} + 1; \
         INSERT INTO items (id, project_id, number, {items}) SELECT gen_random_uuid(), p.id, n, {columns} \
           FROM projects p, (SELECT * FROM items) i, generate_series(1, {ITEMS}) n WHERE p.slug <> 'p1' OR n > 1; \
         UPDATE items c SET parent_id = p.id, depth = 1 FROM items p WHERE p.project_id = c.project_id \
           AND c.number >= 100 AND p.number = c.number / 20; \
         UPDATE items SET holder = 'agent-' || number % 97, claimed_at = 1, claim_expires_at = 9000000000000, \
           original_claimed_at = 1, claim_ttl = 900 WHERE number BETWEEN 200 AND 300; \
         UPDATE items SET modified_at = number, title = 'item ' || number, \
           words = to_tsvector('simple', 'item ' || number || ' word' || number % 50); \
         UPDATE items SET role = 1, fence = number % 2 WHERE number BETWEEN 1200 AND 1300; \
         INSERT INTO edges SELECT gen_random_uuid(), 0, a.id, b.id, 4, false, 1 FROM items a JOIN items b \
           ON b.project_id = a.project_id AND b.number = a.number + 1 WHERE a.number BETWEEN 400 AND 900; \
         UPDATE items SET blockers = 1, offered = false WHERE number BETWEEN 401 AND 901; \
         INSERT INTO notes SELECT gen_random_uuid(), i.id, key, phase, filled, n.created_at, n.modified_at, attribution, body \
           FROM notes n, items i WHERE i.id <> n.item_id; \
         INSERT INTO briefs SELECT id, '{{\"objective\":\"a goal\"}}' FROM items; \
         INSERT INTO questions SELECT gen_random_uuid(), i.id, 1, 'ann', 1, 'bob', 2, '[]', 'which?', 'that' \
           FROM items i, generate_series(1, 2); \
         INSERT INTO comments SELECT gen_random_uuid(), i.id, 'ann', 1, 'words' FROM items i, generate_series(1, 3); \
         INSERT INTO links SELECT gen_random_uuid(), i.id, 'commit', 'abc', 'https://example.org/', NULL, 'ann', 1 \
           FROM items i, generate_series(1, 2); \
         INSERT INTO questions SELECT gen_random_uuid(), id, 0, 'ann', 1, NULL, NULL, '[]', 'which?', NULL FROM items \
           WHERE number BETWEEN 1000 AND 1100; \
         UPDATE items SET inbox = 1 WHERE number BETWEEN 1000 AND 1100; \
         UPDATE items SET sections = 1; \
         INSERT INTO events (id, unit, at, project_id, item_id, verb, principal, attribution, data) \
           SELECT gen_random_uuid(), gen_random_uuid(), v.at + i.number, i.project_id, i.id, v.verb, v.principal, v.attribution, \
           v.data FROM (SELECT * FROM events WHERE item_id IS NOT NULL LIMIT 1) v, items i; \
         INSERT INTO answers SELECT principal, operation, 'copy ' || n, digest, expires_at, answer \
           FROM answers, generate_series(1, 5000) n",
        columns = items.split(", ").map(|column| format!("i.{column}")).collect::<Vec<_>>().join(", "),
    )
}

type Outcome = Result<(), Error>;

/// What is asked about items, by name.
async fn ask(what: &str, engine: &Engine, project: ProjectId, ids: &[ItemId]) -> Outcome {
    let here = ProjectRef::Id(project);
    let item = ItemRef::Id(ids[3]);
    match what {
        "context" => engine.context(&here, &item).await.map(drop),
        "by key" => {
            let key = ItemRef::Key(Key { prefix: KeyPrefix::parse("P1").expect("a prefix"), number: 7 });
            engine.context(&ProjectRef::Any, &key).await.map(drop)
        }
        "by prefix" => {
            let prefix = ItemRef::Prefix(ids[3].to_string()[..13].replace('-', ""));
            engine.context(&ProjectRef::Any, &prefix).await.map(drop)
        }
        "tree" => {
            let around = Around {
                ancestors: true,
                subtree: Some(100),
                subtree_bytes: Some(1 << 20),
                open_children: Some(9),
                edges: EdgeReach::Shown,
                notes: NoteReach::Heads,
                waits: true,
                gives_way: true,
                component: true,
                briefs: true,
                questions: true,
                comments: Some(20),
                links: true,
                sessions: true,
                open_runs: true,
            };
            engine.show(&here, &[ItemRef::Id(ids[6])], around).await.map(drop)
        }
        "notes" => engine.notes_of(&here, &item).await.map(drop),
        "dossier" => engine.dossier(&here, &item, everything()).await.map(drop),
        "inbox" => engine.inbox(&here, 20, None).await.map(drop),
        "next" => engine.next(&next(&here), None).await.map(drop),
        "next below" => {
            engine.next(&NextQuery { under: Some(ItemRef::Id(ids[6])), ..next(&here) }, None).await.map(drop)
        }
        "why" => engine.why(&here, &item).await.map(drop),
        "overview" => engine.overview(&here, 50, true).await.map(drop),
        "overview of one" => engine.overview_of(&here, &ItemRef::Id(ids[6]), 200).await.map(drop),
        "dependencies" => engine.dependencies(&here, &item, true).await.map(drop),
        "health" => engine.health(&here).await.map(drop),
        "head" => engine.head().await.map(drop),
        _ => match (filter(what, &here, ids), event_filter(what, &here, ids)) {
            (Some(filter), _) => engine.find(&filter).await.map(drop),
            (None, Some(filter)) => engine.events(&filter).await.map(drop),
            (None, None) => write(what, engine, here, ids).await,
        },
    }
}

/// Lists, by name.
fn filter(what: &str, here: &ProjectRef, ids: &[ItemId]) -> Option<Filter> {
    let all = Filter { project: here.clone(), limit: 50, count: true, ..Filter::default() };
    Some(match what {
        "list" => all,
        "words" => Filter { words: vec!["word7".to_owned()], ..all },
        "children" => Filter { parent: Some(Some(ids[6])), ..all },
        "roots" => Filter { parent: Some(None), ..all },
        "role" => Filter { roles: vec![Role::Work], ..all },
        "type" => Filter { item_type: Name::parse("bug").ok(), ..all },
        "blocked items" => Filter { blocked: Some(true), ..all },
        "claimed" => Filter { claim: Some(ClaimState::Claimed), ..all },
        "expired" => Filter { claim: Some(ClaimState::Expired), ..all },
        "waits for a person" => Filter { inbox: Some(true), ..all },
        "held by one" => Filter { held_by: Name::parse("agent-7").ok(), ..all },
        "held by one anywhere" => Filter { held_by: Name::parse("agent-7").ok(), project: ProjectRef::Any, ..all },
        "modified" => {
            let late = TimeRange { after: Some(Timestamp::from_millis(1_000_000_000_000)), before: None };
            Filter { modified: late, sort: SortBy::ModifiedAt, ..all }
        }
        _ => return None,
    })
}

/// Lists of events, by name.
fn event_filter(what: &str, here: &ProjectRef, ids: &[ItemId]) -> Option<EventFilter> {
    let all = EventFilter { project: here.clone(), limit: 50, ..EventFilter::default() };
    Some(match what {
        "events" => all,
        "newest events" => EventFilter { newest_first: true, ..all },
        "events of all" => EventFilter { project: ProjectRef::Any, newest_first: true, ..all },
        "events after" => EventFilter { project: ProjectRef::Any, after: Some(29_000), ..all },
        "events of an item" => EventFilter { item: Some(ids[3]), ..all },
        "events of a kind" => EventFilter { verbs: vec![Verb::Created], newest_first: true, ..all },
        _ => return None,
    })
}

fn next(project: &ProjectRef) -> NextQuery {
    NextQuery { agent: Some(Agent::default()), ..NextQuery::of(project.clone(), 10) }
}

/// What is done, by name.
async fn write(what: &str, engine: &Engine, project: ProjectRef, ids: &[ItemId]) -> Outcome {
    let item = |at: usize| ItemRef::Id(ids[at]);
    match what {
        "claim next" => {
            let wanted = ClaimNext { project, wanted: Wanted::default(), ttl: None };
            engine.run(call(Some("r1")), wanted).await.map(drop)
        }
        "claim and release" => {
            let claims = vec![ClaimRequest { item: item(5), ttl: None }];
            let claim = Claim { project, claims, releases: vec![item(6)], ready_only: false };
            engine.run(call(Some("r2")), claim).await.map(drop)
        }
        "move" => {
            let step = MoveRequest::of(item(7), Target::Trigger(Trigger::Start));
            engine.run(call(Some("r3")), Advance { project, moves: vec![step], atomic: true }).await.map(drop)
        }
        "edit" => {
            let patch = Patch { title: Title::parse("New").ok(), ..Patch::of(item(8)) };
            engine.run(call(None), Edit { project, patches: vec![patch], atomic: true }).await.map(drop)
        }
        "note" => {
            let (key, body) = (Name::parse("new").expect("a name"), Text::parse("x").expect("a text"));
            let note = NotePut { item: item(9), key, phase: None, body, by: None, fence: None };
            engine.run(call(None), PutNotes { project, notes: vec![note], atomic: true }).await.map(drop)
        }
        "link" => {
            let edge =
                EdgeSpec { from: item(10), to: item(11), kind: EdgeKind::Blocks, unblock_at: None, inverse: false };
            engine.run(call(None), Link { project, edges: vec![edge], holding: None }).await.map(drop)
        }
        "make" => engine.run(call(Some("r4")), create(project, ["another".to_owned()].into_iter())).await.map(drop),
        "remove" => engine
            .run(
                call(None),
                Remove {
                    project,
                    items: vec![item(1)],
                    expected_version: None,
                    fence: None,
                    recursive: false,
                    atomic: true,
                },
            )
            .await
            .map(drop),
        other => write_contract(other, engine, project, item).await,
    }
}

/// The same for what is said about an item.
async fn write_contract(what: &str, engine: &Engine, project: ProjectRef, item: impl Fn(usize) -> ItemRef) -> Outcome {
    match what {
        "ask and answer" => {
            let asked = engine.run(call(None), ask_about(project, item(12))).await?;
            let answer = Text::parse("that").ok();
            // A person answers: whoever asked does not.
            let person = Call { by: None, ..call(None) };
            engine.run(person, EndQuestion { question: asked.question.id, answer }).await.map(drop)
        }
        "ask and move on" => {
            engine.run(call(None), ask_about(project.clone(), item(13))).await?;
            let step = MoveRequest::of(item(13), Target::Trigger(Trigger::Resume));
            engine.run(call(None), Advance { project, moves: vec![step], atomic: true }).await.map(drop)
        }
        "remark" => {
            let new = NewLink {
                kind: Name::parse("commit").expect("a name"),
                reference: Name::parse("abc").expect("a name"),
                url: Url::parse("https://example.org/").expect("an address"),
                title: None,
            };
            let comment = Text::parse("words").ok();
            let remark = Remark { project, item: item(14), comment, links: vec![new], fence: None };
            let links = engine.run(call(None), remark).await?.links;
            engine.run(call(None), RemoveLinks { links, fence: None }).await.map(drop)
        }
        "brief" => {
            let objective = Change::Set(Text::parse("another goal").expect("a text"));
            let brief = BriefText { objective, ..BriefText::default() };
            let set = SetBrief {
                project,
                item: item(15),
                brief,
                replace: false,
                expected_version: None,
                fence: None,
                authority: Authority::Agent,
            };
            engine.run(call(None), set).await.map(drop)
        }
        other => panic!("nobody knows how to {other}"),
    }
}

fn everything() -> Includes {
    Includes {
        parent: ParentReach::Full,
        links: true,
        relations: true,
        activity: Some(20),
        subtasks: true,
        comments: Some(20),
        notes: true,
    }
}

fn ask_about(project: ProjectRef, item: ItemRef) -> Ask {
    Ask { project, item, text: Text::parse("which?").expect("a text"), options: vec![], fence: None }
}

const HOT: [&str; 46] = [
    "context",
    "by key",
    "by prefix",
    "tree",
    "notes",
    "dossier",
    "inbox",
    "next",
    "next below",
    "why",
    "overview",
    "overview of one",
    "dependencies",
    "health",
    "list",
    "words",
    "children",
    "roots",
    "role",
    "type",
    "blocked items",
    "claimed",
    "expired",
    "waits for a person",
    "held by one",
    "held by one anywhere",
    "modified",
    "events",
    "newest events",
    "events of all",
    "events after",
    "events of an item",
    "events of a kind",
    "head",
    "claim next",
    "claim and release",
    "move",
    "edit",
    "note",
    "link",
    "ask and answer",
    "ask and move on",
    "remark",
    "brief",
    "make",
    "remove",
];

/// The operations that went through a table, with what they went through.
async fn gone_through(database: &Database, project: ProjectId, ids: &[ItemId], operations: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for what in operations {
        database.ask("SELECT pg_stat_reset()::text");
        let store = Arc::new(database.open().await);
        let engine = Engine::new(Arc::clone(&store) as Arc<dyn Store>);
        Box::pin(ask(what, &engine, project, ids)).await.unwrap_or_else(|error| panic!("{what}: {error:?}"));
        // Counts are told when a connection ends.
        store.close().await;
        while database.ask("SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database()") != "1" {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let tables = database.ask(GONE_THROUGH);
        if !tables.is_empty() {
            found.push(format!("{what}: {tables}"));
        }
        // To go through an index from end to end is no better.
        let read: u64 = database.ask(READ).parse().expect("a number");
        if read > MOST_READ {
            found.push(format!("{what}: {read} entries of indexes"));
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_table_that_grows_is_gone_through() {
    let (database, project, ids) = full().await;
    let found = gone_through(&database, project, &ids, &HOT).await;
    assert!(found.is_empty(), "{found:#?}");
    // And a missing index would be seen.
    database.run("DROP INDEX events_item; DROP INDEX edges_to; DROP INDEX comments_item");
    let missed = ["events of an item", "tree", "dossier"];
    let found = gone_through(&database, project, &ids, &missed).await;
    assert!(found.iter().any(|found| found.starts_with("events of an item")), "{found:#?}");
    assert!(found.iter().any(|found| found.starts_with("tree")), "{found:#?}");
    assert!(found.iter().any(|found| found.starts_with("dossier")), "{found:#?}");
}
