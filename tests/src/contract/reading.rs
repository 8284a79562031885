//! Tallies, events, scans; and readers that go away half-way.

use std::time::Duration;

use docket_core::engine::Engine;
use docket_core::limits;
use docket_core::model::{EdgeKind, Event, Item, Role, Timestamp, Verb};
use docket_core::query::{Includes, ParentReach};
use docket_core::store::{ChangeSet, ChildTally, ClaimTally, EventFilter, ProjectRef, ScanRows, ScanTable, Scope};

use super::support::{Bench, brief, child, claim, comment, edge, event, item, link, note, project, question, session};

/// Children and claims are tallied.
pub async fn children_and_claims_are_tallied(bench: Bench) {
    let (root, bare) = (item(&bench.project, 1, "root"), item(&bench.project, 2, "bare"));
    let mut children: Vec<Item> = (3..9).map(|number| child(&root, number, "child", &bench.project)).collect();
    children[0].role = Role::Terminal;
    children[1].role = Role::Work;
    children[1].claim = Some(claim("a", None));
    children[2].claim = Some(claim("b", Some(4_000_000_000_000)));
    children[3].claim = Some(claim("c", Some(4)));
    bench.put_items(&[root.clone(), bare.clone()]).await;
    bench.put_items(&children).await;
    let tallies = bench.store.tally_children(&[root.id, bare.id, root.id], None).await.expect("tallies");
    assert_eq!(tallies.len(), 2);
    assert_eq!(tallies[&bare.id], ChildTally::default());
    assert_eq!(tallies[&root.id].by_role, [4, 1, 0, 0, 1]);
    assert_eq!(tallies[&root.id].claims, ClaimTally { active: 2, expired: 1, unclaimed: 3 });
    for (most, by_role, claims) in [
        (1, [1, 1, 0, 0, 1], ClaimTally { active: 0, expired: 1, unclaimed: 2 }),
        (2, [2, 1, 0, 0, 1], ClaimTally { active: 1, expired: 1, unclaimed: 2 }),
        (9, [4, 1, 0, 0, 1], ClaimTally { active: 2, expired: 1, unclaimed: 3 }),
    ] {
        let tallies = bench.store.tally_children(&[root.id, bare.id], Some(most)).await.expect("tallies");
        assert_eq!((tallies[&root.id].by_role, tallies[&bare.id]), (by_role, ChildTally::default()), "{most}");
        // Which claims are looked at first is the store's affair.
        let told = tallies[&root.id].claims;
        assert_eq!((told.active + told.expired, told.unclaimed), (claims.active + claims.expired, claims.unclaimed));
    }
    let all = ClaimTally { active: 2, expired: 1, unclaimed: 5 };
    assert_eq!(bench.store.tally_claims(&ProjectRef::Any, &None).await.expect("a tally"), all);
    assert_eq!(bench.store.tally_claims(&ProjectRef::Id(bench.project.id), &None).await.expect("a tally"), all);
    let nowhere = ProjectRef::Slug(project("none", "N").slug);
    assert_eq!(bench.store.tally_claims(&nowhere, &None).await.expect("a tally"), ClaimTally::default());
}

/// A parent of very many children is told with as many of them as are counted, and that there are more.
pub async fn a_wide_parent_is_counted_so_far_and_no_further(bench: Bench) {
    let most = u32::try_from(limits::CHILDREN_COUNTED).expect("a small number");
    let root = item(&bench.project, 1, "root");
    bench.put_items(std::slice::from_ref(&root)).await;
    let engine = Engine::new(bench.store.clone());
    let told = async |of: &Item| {
        let includes = Includes { parent: ParentReach::Summary, ..Includes::default() };
        let dossier = engine.dossier(&ProjectRef::Any, &of.id.into(), includes).await.expect("a dossier");
        let parent = dossier.parent.expect("a parent");
        (parent.tally.by_role, parent.tally_cut)
    };
    let mut children: Vec<Item> = (2..=most + 2).map(|number| child(&root, number, "c", &bench.project)).collect();
    children[0].role = Role::Work;
    bench.put_items(&children).await;
    let most = u64::from(most);
    assert_eq!(told(&children[0]).await, ([most, 1, 0, 0, 0], false), "as many as are counted");
    let one_more = child(&root, 90_000, "c", &bench.project);
    bench.put_items(std::slice::from_ref(&one_more)).await;
    assert_eq!(told(&one_more).await, ([most, 1, 0, 0, 0], true), "and one more");
}

/// Events are filtered and ordered.
pub async fn events_are_filtered_and_ordered(bench: Bench) {
    let other = project("other", "OTH");
    let (a, b) = (item(&bench.project, 1, "a"), item(&bench.project, 2, "b"));
    let at = Timestamp::from_millis;
    let mut events: Vec<Event> = vec![
        event(bench.project.id, Some(a.id), Verb::Created, at(100)),
        event(bench.project.id, Some(b.id), Verb::Created, at(100)),
        event(other.id, None, Verb::ProjectSet, at(200)),
        event(bench.project.id, Some(b.id), Verb::Linked, at(300)),
        event(bench.project.id, Some(a.id), Verb::Moved, at(300)),
        event(bench.project.id, Some(a.id), Verb::Moved, at(400)),
    ];
    events[3].other = Some(a.id);
    bench.put(ChangeSet { events, ..ChangeSet::default() }).await;
    let all = || EventFilter { limit: 50, ..EventFilter::default() };
    let here = ProjectRef::Id(bench.project.id);
    let cases: Vec<(EventFilter, &[u64])> = vec![
        (all(), &[1, 2, 3, 4, 5, 6]),
        (EventFilter { limit: 2, ..all() }, &[1, 2]),
        (EventFilter { newest_first: true, limit: 2, ..all() }, &[6, 5]),
        (EventFilter { after: Some(4), ..all() }, &[5, 6]),
        (EventFilter { before: Some(3), ..all() }, &[1, 2]),
        (EventFilter { before: Some(5), newest_first: true, limit: 2, ..all() }, &[4, 3]),
        (EventFilter { before: Some(5), project: here.clone(), newest_first: true, limit: 2, ..all() }, &[4, 2]),
        (EventFilter { since: Some(at(0)), ..all() }, &[1, 2, 3, 4, 5, 6]),
        (EventFilter { since: Some(at(100)), ..all() }, &[3, 4, 5, 6]),
        (EventFilter { since: Some(at(299)), newest_first: true, ..all() }, &[6, 5, 4]),
        (EventFilter { since: Some(at(400)), ..all() }, &[]),
        (EventFilter { project: here.clone(), ..all() }, &[1, 2, 4, 5, 6]),
        (EventFilter { project: ProjectRef::Slug(other.slug.clone()), ..all() }, &[]),
        (EventFilter { item: Some(a.id), ..all() }, &[1, 4, 5, 6]),
        (EventFilter { item: Some(a.id), newest_first: true, limit: 3, ..all() }, &[6, 5, 4]),
        (EventFilter { item: Some(a.id), verbs: vec![Verb::Moved], project: here, ..all() }, &[5, 6]),
        (EventFilter { verbs: vec![Verb::Created, Verb::Linked], ..all() }, &[1, 2, 4]),
        (EventFilter { each: vec![a.id, b.id], ..all() }, &[1, 2, 4, 5, 6]),
        (EventFilter { each: vec![a.id], ..all() }, &[1, 5, 6]),
        (EventFilter { each: vec![a.id, b.id], newest_first: true, limit: 1, ..all() }, &[6, 4]),
        (EventFilter { each: vec![a.id, b.id], verbs: vec![Verb::Created], limit: 1, ..all() }, &[1, 2]),
        (EventFilter { each: vec![a.id, b.id], after: Some(4), ..all() }, &[5, 6]),
    ];
    for (filter, expected) in cases {
        let seqs: Vec<u64> = bench.store.events(&filter).await.expect("events").iter().map(|event| event.seq).collect();
        assert_eq!(seqs, expected, "{filter:?}");
    }
    // Whoever goes on from beyond it was told of events that are not there.
    assert_eq!(bench.store.last_number().await.expect("a number"), Some(6));
}

const TABLES: [ScanTable; 8] = [
    ScanTable::Items,
    ScanTable::Edges,
    ScanTable::Notes,
    ScanTable::Briefs,
    ScanTable::Questions,
    ScanTable::Comments,
    ScanTable::Links,
    ScanTable::Sessions,
];

/// A scan meets every row once.
pub async fn a_scan_meets_every_row_once(bench: Bench) {
    let items: Vec<Item> = (1..=2500).map(|number| item(&bench.project, number, "scanned")).collect();
    let edges: Vec<_> = items.windows(2).take(1000).map(|pair| edge(EdgeKind::RelatesTo, &pair[0], &pair[1])).collect();
    let notes: Vec<_> =
        items.iter().take(600).flat_map(|item| [note(item, "a", "x"), note(item, "b b", "y")]).collect();
    let briefs: Vec<_> = items.iter().take(1100).map(|item| (item.id, brief("a goal"))).collect();
    let questions: Vec<_> = items.iter().take(1001).map(|item| question(item, "which?")).collect();
    let comments: Vec<_> = (0..1200).map(|number| comment(&items[number % 3], "words")).collect();
    let links: Vec<_> = items.iter().take(1000).map(|item| link(item, "abc")).collect();
    let sessions: Vec<_> = items.iter().take(1001).map(|item| session(item, "ann")).collect();
    let second = project("second", "SEC");
    let last = item(&second, 1, "in the second project");
    bench
        .put(ChangeSet {
            new_items: items.clone(),
            new_edges: edges.clone(),
            notes: notes.clone(),
            briefs: briefs.clone(),
            questions: questions.clone(),
            comments: comments.clone(),
            links: links.clone(),
            new_sessions: sessions.clone(),
            ..ChangeSet::default()
        })
        .await;
    bench.put(ChangeSet { projects: vec![second], new_items: vec![last.clone()], ..ChangeSet::default() }).await;
    let (mut seen, mut said) = ((Vec::new(), Vec::new(), Vec::new()), (Vec::new(), Vec::new(), Vec::new(), Vec::new()));
    let mut attempts = Vec::new();
    let mut pages = Vec::new();
    for table in TABLES {
        let (mut after, mut count) = (None, 0);
        loop {
            let page = bench.store.scan(table, after).await.expect("a page");
            count += 1;
            match page.rows {
                ScanRows::Items(rows) => seen.0.extend(rows),
                ScanRows::Edges(rows) => seen.1.extend(rows),
                ScanRows::Notes(rows) => seen.2.extend(rows),
                ScanRows::Briefs(rows) => said.0.extend(rows),
                ScanRows::Questions(rows) => said.1.extend(rows),
                ScanRows::Comments(rows) => said.2.extend(rows),
                ScanRows::Links(rows) => said.3.extend(rows),
                ScanRows::Entries(_) | ScanRows::EntryLinks(_) => unreachable!("cases of their own"),
                ScanRows::Sessions(rows) => attempts.extend(rows),
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        pages.push(count);
    }
    assert_eq!(pages, [3, 2, 2, 2, 2, 2, 2, 2]);
    assert_eq!(seen.0.len(), 2501);
    assert_eq!(seen.0[..2500], items);
    assert_eq!((seen.1, seen.2), (edges, notes));
    assert_eq!(said, (briefs, questions, comments, links));
    assert_eq!(attempts, sessions);
    for table in TABLES {
        assert!(bench.store.scan(table, Some("nonsense".to_owned())).await.is_err());
    }
}

/// A reader that goes away harms nobody.
///
/// The bug this would catch: a connection given back to the pool with a statement half run.
pub async fn a_reader_that_goes_away_harms_nobody(bench: Bench) {
    let items: Vec<Item> = (1..=3000).map(|number| item(&bench.project, number, "read half-way")).collect();
    bench.put_items(&items).await;
    let first = Scope { items: vec![items[0].id.into()], ..Scope::default() };
    for round in 0..200_u64 {
        let reading = bench.store.scan(ScanTable::Items, None);
        let _ = tokio::time::timeout(Duration::from_micros(round * 20), reading).await;
        let seen = bench.store.view(&first).await.expect("the next reader is fine");
        assert_eq!(seen.items.len(), 1);
    }
    let events = event(bench.project.id, None, Verb::Edited, Timestamp::from_millis(1));
    bench.put(ChangeSet { events: vec![events], ..ChangeSet::default() }).await;
    assert_eq!(bench.store.head().await.expect("a number"), 1, "no reader is left in an old snapshot");
}
