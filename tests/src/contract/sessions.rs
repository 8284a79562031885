//! Sessions: rows that change by their groups, one that has not ended at a time, and lists of them.

use docket_core::model::{Fence, Item, Progress, Session, SessionId, SessionState, Text, Timestamp};
use docket_core::store::{
    Around, ChangeSet, ProjectRef, ScanRows, ScanTable, Scope, SessionChange, SessionFilter, Slice,
};

use super::support::{Bench, item, name, project, session};

async fn view(bench: &Bench, scope: Scope) -> Slice {
    bench.store.view(&scope).await.expect("a slice")
}

async fn shown(bench: &Bench, id: SessionId) -> Option<Session> {
    view(bench, Scope { session_ids: vec![id], ..Scope::default() }).await.sessions.remove(&id)
}

fn text(text: &str) -> Text {
    Text::parse(text).expect("a text")
}

fn finished(session: &Session) -> Session {
    Session {
        state: SessionState::Finished,
        ended_at: Some(Timestamp::from_millis(99)),
        summary: Some(text("done; DROP TABLE sessions;-- \u{1f980}")),
        head: Some(name("abc123")),
        ..session.clone()
    }
}

fn lost(session: &Session) -> Session {
    Session {
        state: SessionState::Lost,
        ended_at: Some(Timestamp::from_millis(98)),
        reason: Some(text("its claim was gone")),
        ..session.clone()
    }
}

fn change(session: &Session, ends: bool) -> ChangeSet {
    let changed_sessions = vec![SessionChange { session: session.clone(), ends }];
    ChangeSet { changed_sessions, ..ChangeSet::default() }
}

/// A session comes back as it was written, as it was heard of and as it ended.
pub async fn a_session_comes_back_as_it_was_written(bench: Bench) {
    let a = Item { fence: Fence(7), ..item(&bench.project, 1, "a") };
    let begun = session(&a, "ann \"the agent\"");
    let new = ChangeSet { new_items: vec![a.clone()], new_sessions: vec![begun.clone()], ..ChangeSet::default() };
    bench.put(new).await;
    let seen = view(&bench, Scope { session_ids: vec![begun.id], ..Scope::default() }).await;
    assert_eq!(seen.sessions, [(begun.id, begun.clone())].into());
    assert_eq!(seen.items.keys().collect::<Vec<_>>(), [&a.id], "with its item");
    assert!(seen.projects.contains_key(&bench.project.id), "and the rules it is under");
    let progress = Progress { text: None, percent: Some(50), step: None };
    let heard = Session { heartbeat_at: Timestamp::from_millis(50), progress, ..begun.clone() };
    // Of what is only heard of nothing else is written.
    bench.put(change(&Session { actor: name("nobody"), ..heard.clone() }, false)).await;
    assert_eq!(shown(&bench, begun.id).await, Some(heard.clone()));
    let ended = finished(&heard);
    bench.put(change(&ended, true)).await;
    assert_eq!(shown(&bench, begun.id).await, Some(ended));
    bench.is_sound().await;
}

/// An item has one session at the most that has not ended; one that ends makes room in the same unit.
pub async fn an_item_has_one_session_that_has_not_ended(bench: Bench) {
    let a = item(&bench.project, 1, "a");
    let first = session(&a, "ann");
    let new = ChangeSet { new_items: vec![a.clone()], new_sessions: vec![first.clone()], ..ChangeSet::default() };
    bench.put(new).await;
    let second = session(&a, "bob");
    let beside = ChangeSet { new_sessions: vec![second.clone()], ..ChangeSet::default() };
    bench.try_put(beside).await.expect_err("two at a time");
    assert_eq!(shown(&bench, second.id).await, None);
    let ended = lost(&first);
    bench.put(ChangeSet { new_sessions: vec![second.clone()], ..change(&ended, true) }).await;
    let named =
        Scope { items: vec![a.id.into()], around: Around { sessions: true, ..Around::default() }, ..Scope::default() };
    let seen = view(&bench, named).await;
    assert_eq!(seen.sessions, [(second.id, second.clone())].into(), "the newest of a named item");
    assert_eq!(seen.session_of(a.id).map(|session| session.id), Some(second.id));
    assert_eq!(shown(&bench, first.id).await, Some(ended));
    let seen = view(&bench, Scope { items: vec![a.id.into()], ..Scope::default() }).await;
    assert!(seen.sessions.is_empty(), "only where asked for");
}

/// Lists hold what they say, the newest first, page by page.
pub async fn sessions_are_listed_by_what_is_stored_of_them(bench: Bench) {
    let items: Vec<Item> = (1..=4).map(|number| item(&bench.project, number, "a")).collect();
    let other = project("other", "OTH");
    let far = item(&other, 1, "far");
    let old = finished(&session(&items[0], "ann"));
    let gone = lost(&session(&items[1], "ann"));
    let [a, b, c] = [&items[0], &items[1], &items[2]].map(|item| session(item, "bob"));
    let there = session(&far, "bob");
    let all = vec![old.clone(), gone.clone(), a.clone(), b.clone(), c.clone(), there.clone()];
    bench
        .put(ChangeSet {
            projects: vec![other.clone()],
            new_items: items.iter().chain([&far]).cloned().collect(),
            new_sessions: all.clone(),
            ..ChangeSet::default()
        })
        .await;
    let every = || SessionFilter { limit: 50, ..SessionFilter::default() };
    let here = || SessionFilter { project: ProjectRef::Id(bench.project.id), ..every() };
    let active = vec![SessionState::Active];
    let ended = vec![SessionState::Finished, SessionState::Lost];
    let both = [bench.project.id, other.id].into();
    let cases: Vec<(SessionFilter, Vec<&Session>)> = vec![
        (every(), vec![&there, &c, &b, &a, &gone, &old]),
        (here(), vec![&c, &b, &a, &gone, &old]),
        (SessionFilter { project: ProjectRef::Slug(other.slug.clone()), ..every() }, vec![&there]),
        (SessionFilter { item: Some(items[0].id), ..every() }, vec![&a, &old]),
        (SessionFilter { actor: Some(name("ann")), ..every() }, vec![&gone, &old]),
        (SessionFilter { actor: Some(name("bob")), ..here() }, vec![&c, &b, &a]),
        (SessionFilter { states: active.clone(), ..every() }, vec![&there, &c, &b, &a]),
        (SessionFilter { states: active.clone(), ..here() }, vec![&c, &b, &a]),
        (SessionFilter { states: active, item: Some(items[1].id), ..here() }, vec![&b]),
        (SessionFilter { states: ended, ..every() }, vec![&gone, &old]),
        (SessionFilter { before: Some(c.id), limit: 2, ..every() }, vec![&b, &a]),
        (SessionFilter { before: Some(a.id), ..here() }, vec![&gone, &old]),
        (SessionFilter { visible: Some([other.id].into()), ..every() }, vec![&there]),
        (SessionFilter { visible: Some(both), ..every() }, vec![&there, &c, &b, &a, &gone, &old]),
        (SessionFilter { visible: Some([other.id].into()), ..here() }, vec![]),
        (SessionFilter { visible: Some([].into()), ..every() }, vec![]),
    ];
    for (filter, expected) in cases {
        let found = bench.store.sessions(&filter).await.expect("sessions");
        assert_eq!(found, expected.iter().map(|session| session.id).collect::<Vec<_>>(), "{filter:?}");
    }
    let limited = Scope {
        session_ids: all.iter().map(|session| session.id).collect(),
        visible: Some([other.id].into()),
        ..Scope::default()
    };
    let seen = view(&bench, limited).await;
    assert_eq!((seen.sessions.keys().collect::<Vec<_>>(), seen.items.len()), (vec![&there.id], 1));
}

/// A removed item takes its sessions with it.
pub async fn a_removed_item_takes_its_sessions_with_it(bench: Bench) {
    let (a, b) = (item(&bench.project, 1, "a"), item(&bench.project, 2, "b"));
    let sessions = vec![session(&a, "ann"), session(&b, "bob")];
    let new_items = vec![a.clone(), b.clone()];
    bench.put(ChangeSet { new_items, new_sessions: sessions.clone(), ..ChangeSet::default() }).await;
    bench.put(ChangeSet { removed_items: vec![a.id], ..ChangeSet::default() }).await;
    let left = bench.store.scan(ScanTable::Sessions, None).await.expect("a page");
    let ScanRows::Sessions(left) = left.rows else { panic!("not sessions: {:?}", left.rows) };
    assert_eq!(left, sessions[1..]);
    let to_nobody = ChangeSet { new_sessions: vec![session(&a, "ann")], ..ChangeSet::default() };
    bench.try_put(to_nobody).await.expect_err("a session on what is not there");
}
