//! What lists cost: the statements of none grow with its rows.
//!
//! A small world and a large one are asked the same, each once. Whatever is listed is there in the large one as often as a page has
//! room for, or oftener than once at least.

use std::collections::BTreeMap;
use std::fmt::Debug;

use docket_core::command::{Ask, Create, EdgeSpec, Link, NewItem, Parent, PutNotes, SetProject};
use docket_core::engine::Engine;
use docket_core::model::{EdgeKind, Item, ItemId, Role, Slug, Timestamp, Trigger};
use docket_core::query::{Includes, NextQuery, ParentReach, SessionQuery};
use docket_core::store::{ChildTally, ClaimTally, EntryFilter, EventFilter, Filter, Heads, ProjectRef};
use docket_core::testing::title;

use super::support::{Bench, child, claim, item};
use super::teller::{Teller, jot, relates, text};

/// Few rows, and many.
const SIZES: [usize; 2] = [2, 20];

/// Roots with as many children each as there are roots: some ready, some begun, some put aside, some that wait for others, some
/// that wait for a person.
async fn grown(bench: &Bench, slug: &str, size: usize) -> (ProjectRef, Vec<ItemId>) {
    let engine = Engine::new(bench.store.clone());
    let mut teller = Teller { bench, engine, project: bench.project.clone(), size, costs: BTreeMap::new() };
    let set = SetProject {
        slug: Slug::parse(slug).expect("a slug"),
        name: None,
        prefix: None,
        workflow: None,
        schemas: None,
        archived: None,
        must_be_new: true,
    };
    teller.project = teller.quietly(set).await.project;
    let made = |create: Create| async {
        let made = teller.quietly(create).await;
        made.items.into_iter().flatten().map(|made| made.item.id).collect::<Vec<ItemId>>()
    };
    let roots = (0..size).map(|number| NewItem::titled(title(&format!("root {number}")))).collect();
    let roots = made(teller.create(roots)).await;
    for root in &roots {
        let under = |number: usize| NewItem {
            parent: Some(Parent::Existing((*root).into())),
            ..NewItem::titled(title(&format!("child {number}")))
        };
        let children = made(teller.create((0..size * 5).map(under).collect())).await;
        let parts: Vec<&[ItemId]> = children.chunks(size).collect();
        teller.quietly(teller.advance(parts[0].iter().copied(), Trigger::Start)).await;
        teller.quietly(teller.advance(parts[1].iter().copied(), Trigger::Block)).await;
        let waits = parts[2].iter().zip(parts[3]);
        let waits = waits.map(|(from, to)| EdgeSpec { kind: EdgeKind::Blocks, ..relates(*from, *to) }).collect();
        teller.quietly(Link { project: teller.any(), edges: waits, holding: None }).await;
        let notes = children.iter().map(|child| jot(*child, "plan")).collect();
        teller.quietly(PutNotes { project: teller.any(), notes, atomic: true }).await;
        let first = parts[4][0];
        let (project, item) = (teller.any(), first.into());
        teller.quietly(Ask { project, item, text: text("which?"), options: vec![], fence: None }).await;
    }
    (teller.any(), roots)
}

/// What each list asked of the database.
struct Reader<'b> {
    bench: &'b Bench,
    costs: BTreeMap<&'static str, u64>,
}

impl Reader<'_> {
    /// Asks for a list that must hold at least so much.
    async fn read<T, E: Debug>(
        &mut self,
        list: &'static str,
        least: usize,
        found: impl Future<Output = Result<T, E>>,
        rows: impl FnOnce(&T) -> usize,
    ) {
        let before = self.bench.store.statements();
        let found = found.await.unwrap_or_else(|error| panic!("{list}: {error:?}"));
        self.costs.insert(list, self.bench.store.statements() - before);
        let rows = rows(&found);
        assert!(rows >= least, "{list}: {rows} rows are not {least}");
    }
}

/// Every list once.
async fn story(bench: &Bench, slug: &str, size: usize) -> BTreeMap<&'static str, u64> {
    let (project, roots) = grown(bench, slug, size).await;
    let engine = Engine::new(bench.store.clone());
    let mut reader = Reader { bench, costs: BTreeMap::new() };
    let filter = Filter { project: project.clone(), limit: 200, count: true, ..Filter::default() };
    let under = Filter { parent: Some(Some(roots[0])), ..filter.clone() };
    let events = EventFilter { project: project.clone(), limit: 200, ..EventFilter::default() };
    let (all, since) = (size * 5, Timestamp::from_millis(0));
    let next = NextQuery::of(project.clone(), 200);
    let sessions = SessionQuery { project: project.clone(), limit: 200, ..SessionQuery::default() };
    let includes = Includes {
        parent: ParentReach::Full,
        links: true,
        relations: true,
        activity: Some(50),
        subtasks: true,
        comments: Some(50),
        notes: true,
    };
    let root = roots[0].into();
    let listed = engine.find(&under).await.expect("items").items;
    let r = &mut reader;
    // What is done for the first time is prepared then.
    for _ in 0..2 {
        r.read("find", all, engine.find(&filter), |found| found.items.len()).await;
        r.read("list", all, engine.list(&under, None), |page| page.items.len()).await;
        r.read("events", all, engine.event_list(&events, None), |page| page.events.len()).await;
        r.read("overview", size, engine.overview(&project, 200, false), |shown| shown.entries.len()).await;
        r.read("overview with children", size * all, engine.overview(&project, 200, true), |shown| {
            shown.entries.iter().map(|entry| entry.children.len()).sum()
        })
        .await;
        r.read("overview of one", all, engine.overview_of(&project, &root, 200), |entry| entry.children.len()).await;
        r.read("tallies", size, engine.tallies(roots.clone()), BTreeMap::len).await;
        r.read("health", size * 2, engine.health(&project), |health| health.active.len() + health.blocked.len()).await;
        r.read("resume", size, engine.resume(&project, since, 200), |resume| resume.active.len()).await;
        r.read("next", size, engine.next(&next, None), |page| page.items.len()).await;
        r.read("blocked", size * 2, engine.blocked(&project, None, 200, None), |page| page.items.len()).await;
        r.read("why", size, engine.why_open(&project, 200, None), |page| page.items.len()).await;
        r.read("inbox", size, engine.inbox(&project, 200, None), |page| page.items.len()).await;
        r.read("board", 1, engine.board(slug, 50), |board| board.columns.len()).await;
        r.read("sessions", 0, engine.sessions(&sessions, None), |page| page.sessions.len()).await;
        r.read("ancestors", all, engine.with_ancestors(listed.iter()), |seen| seen.items.len()).await;
        r.read("dossier", 1, engine.dossier(&project, &root, includes), |_| 1).await;
        r.read("dependencies", 1, engine.dependencies(&project, &listed[size * 2].id.into(), true), |found| {
            found.edges.len()
        })
        .await;
        let entries = EntryFilter { project: project.clone(), ..EntryFilter::default() };
        r.read("knowledge", 0, engine.list_knowledge(&entries, 50, None), |page| page.entries.len()).await;
    }
    reader.costs
}

/// No list costs more for more rows.
///
/// The bug this would catch: a statement for each row of a list.
pub async fn no_list_costs_more_for_more_rows(bench: Bench) {
    let (few, many) = (story(&bench, "few", SIZES[0]).await, story(&bench, "many", SIZES[1]).await);
    let noise = bench.store.noise();
    assert!(noise * 2 < (SIZES[1] - SIZES[0]) as u64);
    let dearer: Vec<_> = few.iter().filter(|(list, cost)| many[**list] > **cost + noise).collect();
    assert!(dearer.is_empty(), "with more rows these cost more: {dearer:?}, {many:?}");
}

/// Items come with as many of each one's children as were asked for, the oldest, and with counts of all.
pub async fn families_are_shown_whole_or_cut_for_each(bench: Bench) {
    let roots: Vec<Item> = (1..=3).map(|number| item(&bench.project, number, "root")).collect();
    let under = |root: &Item, from: u32, many: u32| -> Vec<Item> {
        // Made in another order than they are numbered.
        (from..from + many).rev().map(|number| child(root, number, "child", &bench.project)).collect()
    };
    let (mut first, second) = (under(&roots[0], 10, 5), under(&roots[1], 20, 2));
    first[4].role = Role::Terminal;
    first[3].claim = Some(claim("a", None));
    let beneath = under(&first[4], 30, 4);
    bench.put_items(&roots).await;
    bench.put_items(&[first.clone(), second].concat()).await;
    bench.put_items(&beneath).await;
    let here = ProjectRef::Id(bench.project.id);
    let filter =
        |limit, offset| Filter { project: here.clone(), parent: Some(None), limit, offset, ..Filter::default() };
    let numbers = |items: &[Item]| items.iter().map(|item| item.number).collect::<Vec<u32>>();
    let families = |of: Heads, children: usize| {
        let store = bench.store.clone();
        async move { store.families(&of, children).await.expect("families") }
    };
    let shown = families(Heads::Page(Box::new(filter(50, 0))), 3).await;
    assert_eq!(numbers(&shown.items), [3, 2, 1], "the newest first, as the filter says");
    let of = |root: &Item| -> Vec<u32> {
        let own: Vec<Item> = shown.children.iter().filter(|child| child.parent == Some(root.id)).cloned().collect();
        numbers(&own)
    };
    assert_eq!((of(&roots[0]), of(&roots[1]), of(&roots[2])), (vec![10, 11, 12], vec![20, 21], vec![]));
    assert_eq!(shown.children[0].title.as_str(), "child", "whole");
    assert_eq!(shown.tallies.len(), 8, "of the roots and of what is shown beneath them");
    assert_eq!(shown.tallies[&roots[0].id].by_role, [4, 0, 0, 0, 1], "all are counted");
    assert_eq!(shown.tallies[&roots[0].id].claims, ClaimTally { active: 1, expired: 0, unclaimed: 4 });
    assert_eq!(shown.tallies[&roots[2].id], ChildTally::default());
    assert_eq!(shown.tallies[&first[4].id].by_role, [4, 0, 0, 0, 0]);
    let bare = families(Heads::Page(Box::new(filter(1, 1))), 0).await;
    assert_eq!((numbers(&bare.items), bare.children.len()), (vec![2], 0));
    assert_eq!(bare.tallies[&roots[1].id].by_role, [2, 0, 0, 0, 0]);
    let named = families(Heads::These(vec![roots[1].id, first[4].id]), 3).await;
    assert_eq!((numbers(&named.items), numbers(&named.children).len()), (vec![2, 10], 5));
    let elsewhere = Filter { visible: Some([].into()), ..filter(50, 0) };
    let hidden = families(Heads::Page(Box::new(elsewhere)), 3).await;
    assert!(hidden.items.is_empty() && hidden.children.is_empty() && hidden.tallies.is_empty());
}
