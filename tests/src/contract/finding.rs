//! Lists: each filter, each order, pages and counts.

use docket_core::model::{Complexity, Inbox, Item, ItemId, Priority, Role, Tag, Text, Timestamp, Title};
use docket_core::search;
use docket_core::store::{
    Around, ChangeSet, ClaimState, Filter, Order, Place, ProjectRef, Scope, SortBy, TimeRange, Touched,
};

use super::support::{Bench, child, claim, item, name, project};

async fn shelf(bench: Bench) -> (Bench, Vec<Item>) {
    let mut items: Vec<Item> = (1..=6).map(|number| item(&bench.project, number, &format!("Title {number}"))).collect();
    items[0].priority = Priority::Low;
    items[0].complexity = Some(Complexity::parse(9).expect("complexity"));
    items[1].priority = Priority::High;
    items[1].complexity = Some(Complexity::parse(2).expect("complexity"));
    items[2].role = Role::Work;
    items[2].status = name("in_progress");
    items[2].claim = Some(claim("a", Some(4_000_000_000_000)));
    items[3].claim = Some(claim("b", Some(3)));
    items[3].tags = vec![Tag::parse("ui").expect("a tag")];
    items[4] = Item {
        id: items[4].id,
        title: Title::parse("Änderung am Schema").expect("a title"),
        ..child(&items[0], 5, "x", &bench.project)
    };
    items[4].item_type = Some(name("bug"));
    items[1].derived.inbox = Inbox(Inbox::QUESTION);
    items[4].derived.inbox = Inbox(Inbox::ATTENTION | Inbox::REVIEW);
    items[5].claim = Some(claim("a", None));
    items[5].derived.blockers = 2;
    items[5].tags = vec![Tag::parse("ui").expect("a tag"), Tag::parse("db").expect("a tag")];
    let other = project("other", "OTH");
    let foreign = item(&other, 1, "Title of another");
    bench.put_items(&items).await;
    bench.put(ChangeSet { projects: vec![other], new_items: vec![foreign], ..ChangeSet::default() }).await;
    (bench, items)
}

fn all(bench: &Bench) -> Filter {
    let project = ProjectRef::Id(bench.project.id);
    Filter { project, order: Order::Asc, limit: 50, count: true, ..Filter::default() }
}

async fn found(bench: &Bench, filter: Filter) -> Vec<u32> {
    let found = bench.store.find(&filter).await.expect("a page");
    assert_eq!(found.total, u64::try_from(found.items.len()).expect("few"), "the count agrees for {filter:?}");
    found.items.iter().map(|item| item.number).collect()
}

/// Each filter leaves what it says.
pub async fn each_filter_leaves_what_it_says(bench: Bench) {
    let (bench, items) = shelf(bench).await;
    let all = || all(&bench);
    let between = |after, before| TimeRange {
        after: Some(Timestamp::from_millis(after)),
        before: Some(Timestamp::from_millis(before)),
    };
    let tags = |tags: &[&str]| tags.iter().map(|tag| Tag::parse(tag).expect("a tag")).collect::<Vec<_>>();
    let cases: Vec<(Filter, &[u32])> = vec![
        (all(), &[1, 2, 3, 4, 5, 6]),
        (Filter { project: ProjectRef::Slug(bench.project.slug.clone()), ..all() }, &[1, 2, 3, 4, 5, 6]),
        (Filter { project: ProjectRef::Any, ..all() }, &[1, 2, 3, 4, 5, 6, 1]),
        (Filter { project: ProjectRef::Slug(project("none", "N").slug), ..all() }, &[]),
        (Filter { parent: Some(None), ..all() }, &[1, 2, 3, 4, 6]),
        (Filter { parent: Some(Some(items[0].id)), ..all() }, &[5]),
        (Filter { depth: Some(1), ..all() }, &[5]),
        (Filter { roles: vec![Role::Work], ..all() }, &[3]),
        (Filter { roles: vec![Role::Work, Role::Queue], ..all() }, &[1, 2, 3, 4, 5, 6]),
        (Filter { roles: vec![Role::Work], project: ProjectRef::Any, ..all() }, &[3]),
        (Filter { status: Some(name("in_progress")), ..all() }, &[3]),
        (Filter { priority: Some(Priority::High), ..all() }, &[2]),
        (Filter { tags: tags(&["db", "nope"]), ..all() }, &[6]),
        (Filter { tags: tags(&["ui"]), ..all() }, &[4, 6]),
        (Filter { tags: tags(&["ui"]), roles: vec![Role::Work], ..all() }, &[]),
        (Filter { item_type: Some(name("bug")), ..all() }, &[5]),
        (Filter { item_type: Some(name("bug")), project: ProjectRef::Any, ..all() }, &[5]),
        (Filter { created: between(1002, 1005), ..all() }, &[3, 4]),
        (Filter { modified: between(1002, 1005), ..all() }, &[3, 4]),
        (Filter { role_changed: between(1002, 1005), ..all() }, &[3, 4]),
        (Filter { claim: Some(ClaimState::Claimed), ..all() }, &[3, 6]),
        (Filter { claim: Some(ClaimState::Expired), ..all() }, &[4]),
        (Filter { claim: Some(ClaimState::Expired), project: ProjectRef::Any, ..all() }, &[4]),
        (Filter { claim: Some(ClaimState::Unclaimed), ..all() }, &[1, 2, 5]),
        (Filter { blocked: Some(true), ..all() }, &[6]),
        (Filter { blocked: Some(true), project: ProjectRef::Any, ..all() }, &[6]),
        (Filter { blocked: Some(false), ..all() }, &[1, 2, 3, 4, 5]),
        (Filter { inbox: Some(true), ..all() }, &[2, 5]),
        (Filter { inbox: Some(true), project: ProjectRef::Any, ..all() }, &[2, 5]),
        (Filter { inbox: Some(true), parent: Some(None), ..all() }, &[2]),
        (Filter { inbox: Some(false), ..all() }, &[1, 3, 4, 6]),
        (Filter { held_by: Some(name("a")), ..all() }, &[3, 6]),
        (Filter { held_by: Some(name("a")), project: ProjectRef::Any, ..all() }, &[3, 6]),
        (Filter { held_by: Some(name("a")), roles: vec![Role::Work], ..all() }, &[3]),
        (Filter { held_by: Some(name("a")), tags: tags(&["db"]), ..all() }, &[6]),
        (Filter { held_by: Some(name("a")), words: search::terms("title 6"), ..all() }, &[6]),
        (Filter { held_by: Some(name("a")), claim: Some(ClaimState::Claimed), ..all() }, &[3, 6]),
        (Filter { held_by: Some(name("a")), claim: Some(ClaimState::Expired), ..all() }, &[]),
        (Filter { held_by: Some(name("b")), ..all() }, &[]),
        (Filter { held_by: Some(name("nobody")), ..all() }, &[]),
    ];
    for (filter, expected) in cases {
        assert_eq!(found(&bench, filter.clone()).await, expected, "{filter:?}");
    }
}

/// Words are found by their beginnings.
pub async fn words_are_found_by_their_beginnings(bench: Bench) {
    let (bench, items) = shelf(bench).await;
    let asked = |question: &str| Filter { words: search::terms(question), ..all(&bench) };
    assert_eq!(found(&bench, asked("title")).await, [1, 2, 3, 4, 6]);
    assert_eq!(found(&bench, asked("TIT 3")).await, [3]);
    assert_eq!(found(&bench, asked("anderung")).await, [5]);
    assert_eq!(found(&bench, asked("Änd schema")).await, [5]);
    assert_eq!(found(&bench, asked("itle")).await, Vec::<u32>::new(), "the middle of a word is not its beginning");
    assert_eq!(found(&bench, Filter { words: vec!["\" OR title".to_owned()], ..all(&bench) }).await, Vec::<u32>::new());
    assert_eq!(found(&bench, Filter { project: ProjectRef::Any, ..asked("title") }).await, [1, 2, 3, 4, 6, 1]);
    let touched = Touched { content: true, words: true, ..Touched::default() };
    bench.edit(items[2].id, touched, |item| item.title = Title::parse("renamed").expect("a title")).await;
    assert_eq!(found(&bench, asked("title 3")).await, Vec::<u32>::new());
    assert_eq!(found(&bench, asked("rena")).await, [3]);
    bench.put(ChangeSet { removed_items: vec![items[2].id], ..ChangeSet::default() }).await;
    assert_eq!(found(&bench, asked("rena")).await, Vec::<u32>::new());
}

/// Tags follow an edit.
pub async fn tags_follow_an_edit(bench: Bench) {
    let (bench, items) = shelf(bench).await;
    let touched = Touched { content: true, ..Touched::default() };
    bench.edit(items[5].id, touched, |item| item.tags = vec![Tag::parse("new").expect("a tag")]).await;
    let asked = |tag: &str| Filter { tags: vec![Tag::parse(tag).expect("a tag")], ..all(&bench) };
    assert_eq!(found(&bench, asked("db")).await, Vec::<u32>::new());
    assert_eq!(found(&bench, asked("ui")).await, [4]);
    assert_eq!(found(&bench, asked("new")).await, [6]);
    bench.edit(items[5].id, touched, |item| item.tags = Vec::new()).await;
    assert_eq!(found(&bench, asked("new")).await, Vec::<u32>::new());
    bench.is_sound().await;
}

/// Each order runs both ways and equals follow by age.
pub async fn each_order_runs_both_ways_and_equals_follow_by_age(bench: Bench) {
    let (bench, _) = shelf(bench).await;
    let by = |sort, order| Filter { sort, order, ..all(&bench) };
    for (sort, ascending, descending) in [
        (SortBy::CreatedAt, [1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1]),
        (SortBy::Title, [1, 2, 3, 4, 6, 5], [5, 6, 4, 3, 2, 1]),
        (SortBy::Priority, [1, 3, 4, 5, 6, 2], [2, 3, 4, 5, 6, 1]),
        (SortBy::Complexity, [2, 1, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]),
        (SortBy::ModifiedAt, [1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1]),
    ] {
        assert_eq!(found(&bench, by(sort, Order::Asc)).await, ascending, "{sort:?} ascending");
        assert_eq!(found(&bench, by(sort, Order::Desc)).await, descending, "{sort:?} descending");
    }
}

/// Pages and counts are what was asked for.
pub async fn pages_and_counts_are_what_was_asked_for(bench: Bench) {
    let (bench, _) = shelf(bench).await;
    let page = |limit, offset, count| Filter { limit, offset, count, ..all(&bench) };
    let found = bench.store.find(&page(2, 3, true)).await.expect("a page");
    assert_eq!(found.items.iter().map(|item| item.number).collect::<Vec<_>>(), [4, 5]);
    assert_eq!(found.total, 6);
    let found = bench.store.find(&page(0, 0, false)).await.expect("a count");
    assert_eq!((found.items.len(), found.total), (0, 6), "no rows means the count alone");
    assert!(found.now > Timestamp::from_millis(1_700_000_000_000));
}

const SORTS: [SortBy; 5] = [SortBy::Title, SortBy::Priority, SortBy::Complexity, SortBy::CreatedAt, SortBy::ModifiedAt];

/// Items with many equals in every order, of two projects: half of them share their number with one of the other.
async fn crowd(bench: Bench) -> (Bench, Vec<Item>) {
    let other = project("other", "OTH");
    bench.put(ChangeSet { projects: vec![other.clone()], ..ChangeSet::default() }).await;
    let mut items = Vec::new();
    for number in 1..=12_u32 {
        for home in [&bench.project, &other] {
            let mut item = item(home, number, ["b", "a", "c c", "ä"][number as usize % 4]);
            item.priority = [Priority::Low, Priority::High, Priority::Medium][number as usize % 3];
            item.complexity = [None, Some(3), Some(9)][number as usize % 3].map(|c| Complexity::parse(c).expect("few"));
            item.modified_at = Timestamp::from_millis(5000 + i64::from(number % 2));
            item.derived.rank = i64::from(number % 2);
            items.push(item);
        }
    }
    bench.put_items(&items).await;
    (bench, items)
}

fn each_list(bench: &Bench) -> Vec<Filter> {
    let here = ProjectRef::Id(bench.project.id);
    let mut lists = Vec::new();
    for project in [here, ProjectRef::Slug(bench.project.slug.clone()), ProjectRef::Any] {
        for sort in SORTS {
            for order in [Order::Asc, Order::Desc] {
                let list = Filter { project: project.clone(), sort, order, limit: 3, ..Filter::default() };
                lists.push(Filter { visible: Some([bench.project.id].into()), ..list.clone() });
                lists.push(Filter { roles: vec![Role::Queue, Role::Work], ..list.clone() });
                lists.push(Filter { parent: Some(None), ..list.clone() });
                lists.push(list);
            }
        }
    }
    lists
}

async fn page(bench: &Bench, list: &Filter, after: Option<Place>) -> Vec<Item> {
    bench.store.find(&Filter { after, ..list.clone() }).await.expect("a page").items
}

/// Page after page gives the list, every item once, whatever the order.
pub async fn pages_make_up_the_list(bench: Bench) {
    let (bench, _) = crowd(bench).await;
    for list in each_list(&bench) {
        let whole = page(&bench, &Filter { limit: 100, ..list.clone() }, None).await;
        assert!(whole.len() >= 12, "{list:?}");
        let (mut met, mut after) = (Vec::new(), None);
        loop {
            let items = page(&bench, &list, after.take()).await;
            let Some(last) = items.last() else { break };
            assert!(list.has(&list.place(last)), "{list:?}");
            after = Some(list.place(last));
            met.extend(items);
        }
        assert_eq!(ids(&met), ids(&whole), "{list:?}");
        let counted = Filter { after: whole.get(5).map(|item| list.place(item)), count: true, ..list.clone() };
        let counted = bench.store.find(&counted).await.expect("a page");
        assert_eq!(counted.total, u64::try_from(whole.len()).expect("few"), "the count is of all: {list:?}");
    }
}

/// A page and a tree end with the first item whose long texts have no room in their bytes: it tells that there is more.
pub async fn what_has_no_room_ends_a_page_and_a_tree(bench: Bench) {
    let long = |bytes: usize| Some(Text::parse(&"ä".repeat(bytes / 2)).expect("a text"));
    let mut root = item(&bench.project, 1, "Root");
    root.description = long(1000);
    let mut items = vec![root.clone()];
    for number in 2..=7 {
        let mut below = child(&root, number, &format!("Title {number}"), &bench.project);
        match number % 3 {
            0 => below.description = long(100),
            1 => below.properties = long(100),
            _ => (below.metadata, below.description) = (long(60), long(40)),
        }
        items.push(below);
    }
    bench.put_items(&items).await;
    let numbers = |items: &[Item]| items.iter().map(|item| item.number).collect::<Vec<_>>();
    for (bytes, room) in [(0, 1), (99, 1), (100, 2), (250, 3), (599, 6), (600, 6)] {
        for order in [Order::Asc, Order::Desc] {
            let filter = Filter { parent: Some(Some(root.id)), bytes: Some(bytes), order, ..all(&bench) };
            let found = bench.store.find(&filter).await.expect("a page");
            let whole = bench.store.find(&Filter { bytes: None, ..filter }).await.expect("a page");
            assert_eq!(numbers(&found.items), numbers(&whole.items)[..room], "{bytes} bytes, {order:?}");
            assert_eq!(found.total, 6, "the count is of all");
        }
        let around = Around { subtree: Some(50), subtree_bytes: Some(bytes), ..Around::default() };
        let seen = bench.store.view(&Scope { items: vec![root.id.into()], around, ..Scope::default() }).await;
        let below = seen.expect("a tree").subtree;
        assert_eq!((below.rows.len(), below.truncated), (bytes / 100, bytes < 600), "{bytes} bytes");
    }
}

/// What is added, removed or closed between two pages shifts nothing: what stays is met once, in its order.
pub async fn nothing_shifts_a_page(bench: Bench) {
    let (bench, _) = crowd(bench).await;
    let mut number = 100;
    for list in each_list(&bench).into_iter().filter(|list| list.roles.is_empty()) {
        let before = page(&bench, &Filter { limit: 200, ..list.clone() }, None).await;
        let first = page(&bench, &list, None).await;
        let after = list.place(first.last().expect("an item"));
        // New items that come before, between and after; the one that the place is named by goes, and one before it.
        let mut new = Vec::new();
        for like in [&first[0], &first[2], &before[before.len() - 1]] {
            number += 1;
            let home = docket_core::model::Project { id: like.project, ..bench.project.clone() };
            let mut fresh = item(&home, number, like.title.as_str());
            (fresh.priority, fresh.complexity, fresh.modified_at) = (like.priority, like.complexity, like.modified_at);
            new.push(fresh);
        }
        bench.put_items(&new).await;
        let gone = vec![first[0].id, first[2].id];
        bench.put(ChangeSet { removed_items: gone.clone(), ..ChangeSet::default() }).await;
        let closed = Touched { state: true, ..Touched::default() };
        bench.edit(first[1].id, closed, |item| item.role = Role::Terminal).await;
        let rest = page(&bench, &Filter { limit: 200, ..list.clone() }, Some(after)).await;
        let known: Vec<ItemId> = ids(&rest).into_iter().filter(|id| new.iter().all(|new| new.id != *id)).collect();
        assert_eq!(known, ids(&before)[3..], "{list:?}");
        bench.edit(first[1].id, closed, |item| item.role = Role::Queue).await;
        number += 1;
        bench.put(ChangeSet { removed_items: ids(&new), ..ChangeSet::default() }).await;
        let mut back = vec![first[0].clone(), first[2].clone()];
        for item in &mut back {
            item.version = 1;
        }
        bench.put_items(&back).await;
    }
}

fn ids(items: &[Item]) -> Vec<ItemId> {
    items.iter().map(|item| item.id).collect()
}
