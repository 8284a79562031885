//! What is written is read back, value by value.

use docket_core::command::SealingKey;
use docket_core::engine::{Call, Engine};
use docket_core::model::EdgeKind;
use docket_core::model::{
    ActorClaim, ActorKind, Attribution, Complexity, Inbox, Outcome, Priority, RequestId, Role, Sections, Summary, Tag,
    Text, Timestamp, Title, Verb, Verification,
};
use docket_core::store::{AnswerKey, ChangeSet, EventFilter, NoteReach, ProjectRef, Scope, StoredAnswer, Touched};

use super::support::{Bench, claim, edge, event, item, name, new_uuid, note};

/// An item comes back as it was written.
pub async fn an_item_comes_back_as_it_was_written(bench: Bench) {
    let mut full = item(&bench.project, 1, "Ünïcode \"quoted\" 🦀 'single'");
    full.description = Some(Text::parse("line one\nline two\ttab \\ backslash").expect("text"));
    full.summary = Summary::parse("a summary; DROP TABLE items;--").expect("summary");
    full.status = name("done");
    full.role = Role::Terminal;
    full.outcome = Some(Outcome::Cancelled);
    full.previous_status = Some(name("in_progress"));
    full.status_label = Some(name("wontfix"));
    full.priority = Priority::High;
    full.complexity = Some(Complexity::parse(7).expect("complexity"));
    full.item_type = Some(name("bug"));
    full.tags = vec![Tag::parse("b").expect("tag"), Tag::parse("a").expect("tag")];
    full.traits = vec![name("needs-migration")];
    full.metadata = Some(Text::parse("{\"k\": [1, 2.5, null]}").expect("text"));
    full.properties = Some(Text::parse("{}").expect("text"));
    full.requires_verification = true;
    full.intent = Some(Text::parse("so that \"people\" can").expect("text"));
    full.attention = Some(Text::parse("somebody\nlook").expect("text"));
    full.due_at = Some(Timestamp::from_millis(1_800_000_000_001));
    full.estimate_minutes = Some(u32::MAX);
    full.position = Some(i32::MIN);
    full.touches = vec![name("src/**/*.rs")];
    full.needs = vec![name("staging")];
    full.required_capabilities = vec![name("rust")];
    full.claim = Some(claim("agent one", Some(99)));
    full.fence.0 = 17;
    full.version = 23;
    full.derived.blockers = 2;
    full.derived.moot = 1;
    full.derived.unblocks = 3;
    full.derived.rank = i64::MIN;
    full.derived.offered = false;
    full.derived.sections = Sections(u8::MAX);
    full.derived.inbox = Inbox(Inbox::REVIEW | Inbox::ATTENTION);
    let plain = item(&bench.project, 2, "plain");
    bench.put_items(&[full.clone(), plain.clone()]).await;
    assert_eq!(bench.get(full.id).await, Some(full));
    assert_eq!(bench.get(plain.id).await, Some(plain));
}

/// Only the touched groups are written.
pub async fn only_the_touched_groups_are_written(bench: Bench) {
    let before = item(&bench.project, 1, "before");
    bench.put_items(std::slice::from_ref(&before)).await;
    let all = |item: &mut docket_core::model::Item| {
        item.title = Title::parse("after").expect("title");
        item.status = name("in_progress");
        item.role = Role::Work;
        item.version = 2;
        item.modified_at = Timestamp::from_millis(5000);
        item.claim = Some(claim("a", None));
        item.fence.0 = 1;
        item.derived.rank = 99;
        item.derived.offered = false;
        item.derived.sections = Sections(Sections::OBJECTIVE);
        item.derived.inbox = Inbox(Inbox::ATTENTION);
        item.intent = Some(Text::parse("why").expect("text"));
        item.attention = Some(Text::parse("look").expect("text"));
        item.due_at = Some(Timestamp::from_millis(7));
        item.estimate_minutes = Some(8);
        item.position = Some(-9);
    };
    let mut expected = before.clone();
    bench.edit(before.id, Touched { claim: true, ..Touched::default() }, all).await;
    expected.claim = Some(claim("a", None));
    expected.fence.0 = 1;
    assert_eq!(bench.get(before.id).await, Some(expected.clone()));
    bench.edit(before.id, Touched { derived: true, ..Touched::default() }, all).await;
    expected.derived.rank = 99;
    expected.derived.offered = false;
    expected.derived.sections = Sections(Sections::OBJECTIVE);
    expected.derived.inbox = Inbox(Inbox::ATTENTION);
    assert_eq!(bench.get(before.id).await, Some(expected.clone()));
    bench.edit(before.id, Touched { content: true, words: true, ..Touched::default() }, all).await;
    expected.title = Title::parse("after").expect("title");
    expected.intent = Some(Text::parse("why").expect("text"));
    expected.attention = Some(Text::parse("look").expect("text"));
    expected.due_at = Some(Timestamp::from_millis(7));
    expected.estimate_minutes = Some(8);
    expected.position = Some(-9);
    assert_eq!(bench.get(before.id).await, Some(expected.clone()));
    bench.edit(before.id, Touched { state: true, ..Touched::default() }, all).await;
    expected.status = name("in_progress");
    expected.role = Role::Work;
    assert_eq!(bench.get(before.id).await, Some(expected.clone()));
    bench.edit(before.id, Touched { stamp: true, ..Touched::default() }, all).await;
    all(&mut expected);
    expected.fence.0 = 1;
    assert_eq!(bench.get(before.id).await, Some(expected));
}

/// Notes edges events and answers come back.
pub async fn notes_edges_events_and_answers_come_back(bench: Bench) {
    let (a, b) = (item(&bench.project, 1, "a"), item(&bench.project, 2, "b"));
    let mut link = edge(EdgeKind::Blocks, &a, &b);
    link.unblock_at = Some(Role::Review);
    link.inverse = true;
    let by = Attribution {
        actor: ActorClaim { id: name("bot"), kind: ActorKind::Subagent, parent: Some(name("boss")), proof: None },
        verification: Verification::unchecked(),
    };
    let mut filled = note(&a, "design", "written");
    filled.by = Some(by.clone());
    let blank = note(&a, "review", " \n");
    let mut made = event(bench.project.id, Some(a.id), Verb::Created, Timestamp::from_millis(50));
    made.other = Some(b.id);
    made.by = Some(by);
    let mut plain = event(bench.project.id, None, Verb::ProjectSet, Timestamp::from_millis(50));
    plain.data = serde_json::json!("a text, not an object");
    let key = AnswerKey {
        principal: name("me"),
        operation: "create".into(),
        request: RequestId::parse("r-1").expect("request"),
    };
    let answer =
        StoredAnswer { key: key.clone(), digest: [7; 32], answer: serde_json::json!(null), expires_at: Timestamp::MAX };
    bench
        .put(ChangeSet {
            new_items: vec![a.clone(), b.clone()],
            new_edges: vec![link.clone()],
            notes: vec![filled.clone(), blank.clone()],
            events: vec![made.clone(), plain.clone()],
            answer: Some(answer.clone()),
            ..ChangeSet::default()
        })
        .await;

    let scope = Scope {
        items: vec![a.id.into()],
        edge_ids: vec![link.id],
        answer: Some(key),
        around: docket_core::store::Around { notes: NoteReach::Bodies, ..Default::default() },
        ..Scope::default()
    };
    let seen = bench.store.view(&scope).await.expect("a slice");
    assert_eq!(seen.edges.get(&link.id), Some(&link));
    assert_eq!(seen.notes, [filled.clone(), blank.clone()]);
    assert_eq!(seen.heads(a.id), [filled.head(), blank.head()]);
    assert_eq!(seen.answer, Some(answer));
    assert!(seen.items.contains_key(&b.id), "the other end of a named edge is shown");

    made.seq = 1;
    plain.seq = 2;
    let events = EventFilter { limit: 10, ..EventFilter::default() };
    assert_eq!(bench.store.events(&events).await.expect("events"), [made, plain]);
    assert_eq!(bench.store.head().await.expect("a number"), 2);
    assert_eq!(bench.store.notes(&[blank.id, filled.id], &None).await.expect("notes"), [blank, filled]);
    assert_eq!(bench.store.projects().await.expect("projects"), std::slice::from_ref(&bench.project));
    let named = Scope { project: ProjectRef::Slug(bench.project.slug.clone()), ..Scope::default() };
    let seen = bench.store.view(&named).await.expect("a slice");
    assert_eq!(seen.selected_project().map(|project| (**project).clone()), Ok(bench.project.clone()));
}

/// A secret is made once for each caller: whoever else asks on the same database gets that one, also when both ask at once.
///
/// The bug this would catch: an answer that changes no row is not kept.
pub async fn a_secret_is_made_once_for_each_caller(bench: Bench) {
    let (here, there) = (Engine::new(bench.store.clone()), Engine::new(bench.other().await));
    let ask = |engine: &Engine, who: &str, slot: u64| {
        let request = RequestId::parse(&format!("forms of {slot}")).ok();
        let call = Call { request, ..Call::new(name(who), new_uuid().as_u128()) };
        let engine = engine.clone();
        async move { engine.run(call, SealingKey { slot }).await.expect("a secret") }
    };
    let (first, beside) = tokio::join!(ask(&here, "ann", 1), ask(&there, "ann", 1));
    assert!(first == beside, "two were made");
    assert!(first == ask(&there, "ann", 1).await, "another was made later");
    assert!(first != ask(&here, "bob", 1).await, "callers share one");
    assert!(first != ask(&here, "ann", 2).await, "one is for ever");
    let events = bench.store.events(&EventFilter { limit: 200, ..EventFilter::default() }).await.expect("events");
    assert!(!format!("{events:?}").contains("sealing"), "events tell of it");
}
