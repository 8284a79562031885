//! Ready work: which candidates there are, in which order, and what live claims keep from others.

use docket_core::command::{ClaimNext, Wanted};
use docket_core::engine::{Call, Engine};
use docket_core::model::{Fence, Item, ItemId, Priority, Project, Role, Tag, Timestamp};
use docket_core::query::{Agent, NextQuery};
use docket_core::store::{Candidates, ChangeSet, ProjectRef, Scope, Slice};
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering;

use super::support::{Bench, Put, best, child, claim, item, name, project};

const FAR: i64 = 4_000_000_000_000;

async fn candidates(bench: &Bench, wanted: Candidates) -> Vec<u32> {
    let scope = Scope { project: ProjectRef::Id(bench.project.id), candidates: Some(wanted), ..Scope::default() };
    numbers(&bench.store.view(&scope).await.expect("a slice"))
}

fn numbers(slice: &Slice) -> Vec<u32> {
    slice.candidates.rows.iter().map(|id| slice.items[id].number).collect()
}

/// 1 free, 2 live claim, 3 expired claim, 4 claim without end, 5 not offered but unblocked, 6 blocked, 7 in work,
/// 8 closed, 9 free and better than 1.
async fn mixed(bench: Bench) -> (Bench, Vec<Item>) {
    let mut items: Vec<Item> = (1..=9).map(|number| item(&bench.project, number, "work")).collect();
    items[1].claim = Some(claim("live", Some(FAR)));
    items[2].claim = Some(claim("expired", Some(20)));
    items[3].claim = Some(claim("endless", None));
    items[4].derived.offered = false;
    (items[5].derived.offered, items[5].derived.blockers) = (false, 1);
    items[6].role = Role::Work;
    (items[7].role, items[7].derived.offered) = (Role::Terminal, false);
    items[8].derived.rank = -1;
    bench.put_items(&items).await;
    (bench, items)
}

/// The best come first and expired claims among them.
pub async fn the_best_come_first_and_expired_claims_among_them(bench: Bench) {
    let (bench, _) = mixed(bench).await;
    assert_eq!(candidates(&bench, best(10)).await, [9, 1, 3]);
    assert_eq!(candidates(&bench, Candidates { include_claimed: true, ..best(10) }).await, [9, 1, 2, 3, 4]);
    assert_eq!(candidates(&bench, Candidates { offered_only: false, ..best(10) }).await, [9, 1, 3, 5]);
    assert_eq!(candidates(&bench, Candidates { role: Some(Role::Work), ..best(10) }).await, [7]);
    let closed = Candidates { role: Some(Role::Terminal), offered_only: false, ..best(10) };
    assert_eq!(candidates(&bench, closed).await, Vec::<u32>::new(), "closed work is never ready");
}

/// Work that was begun and left comes in its place among ready work: what was given back and what ran out, and not what
/// nobody ever held.
pub async fn what_was_left_comes_in_its_place_among_ready_work(bench: Bench) {
    let mut items: Vec<Item> = (1..=8).map(|number| item(&bench.project, number, "work")).collect();
    for (at, fence) in [(1, 1), (2, 0), (3, 1), (4, 1), (5, 1), (6, 1)] {
        items[at].role = Role::Work;
        items[at].fence = Fence(fence);
    }
    // 2 was given back, 3 never held, 4 ran out, 5 is held, 6 is not offered, 7 lies beneath 1.
    items[3].claim = Some(claim("expired", Some(20)));
    items[4].claim = Some(claim("live", Some(FAR)));
    items[5].derived.offered = false;
    (items[6].parent, items[6].depth) = (Some(items[0].id), 1);
    bench.put_items(&items).await;
    let left = || Candidates { left: true, ..best(10) };
    assert_eq!(candidates(&bench, best(10)).await, [1, 8]);
    assert_eq!(candidates(&bench, left()).await, [1, 2, 4, 7, 8]);
    assert_eq!(candidates(&bench, Candidates { role: None, ..left() }).await, [2, 4, 7]);
    assert_eq!(candidates(&bench, Candidates { under: Some(items[0].id), ..left() }).await, [7]);
    assert_eq!(candidates(&bench, Candidates { include_claimed: true, ..left() }).await, [1, 2, 4, 5, 7, 8]);
    let after = Some((items[1].derived.rank, items[1].number, items[1].project));
    assert_eq!(candidates(&bench, Candidates { after, limit: 2, ..left() }).await, [4, 7]);
    assert_eq!(candidates(&bench, Candidates { role: None, left: false, ..best(10) }).await, Vec::<u32>::new());
}

/// A page ends at its limit and the next begins after it.
pub async fn a_page_ends_at_its_limit_and_the_next_begins_after_it(bench: Bench) {
    let (bench, items) = mixed(bench).await;
    let scope = |after| Scope {
        project: ProjectRef::Slug(bench.project.slug.clone()),
        candidates: Some(Candidates { after, ..best(2) }),
        ..Scope::default()
    };
    let seen = bench.store.view(&scope(None)).await.expect("a slice");
    assert_eq!((numbers(&seen), seen.candidates.truncated), (vec![9, 1], true));
    let after = (items[0].derived.rank, items[0].number, items[0].project);
    let seen = bench.store.view(&scope(Some(after))).await.expect("a slice");
    assert_eq!((numbers(&seen), seen.candidates.truncated), (vec![3], false));
}

/// Items of one rank and number, of different projects, are all met.
pub async fn pages_of_ready_work_over_all_projects_leave_out_nothing(bench: Bench) {
    let others = [project("one", "ONE"), project("two", "TWO")];
    let all = [&bench.project, &others[0], &others[1]];
    let mut items: Vec<Item> = (1..=4).flat_map(|number| all.map(|home| item(home, number, "work"))).collect();
    items[5].claim = Some(claim("expired", Some(20)));
    bench.put(ChangeSet { projects: others.to_vec(), ..ChangeSet::default() }).await;
    bench.put_items(&items).await;
    let visible = Some([others[0].id, others[1].id].into());
    for (visible, count) in [(None, 12), (visible, 8)] {
        let (mut met, mut after) = (Vec::new(), None);
        loop {
            let candidates = Some(Candidates { after, ..best(2) });
            let scope = Scope { candidates, visible: visible.clone(), ..Scope::default() };
            let seen = bench.store.view(&scope).await.expect("a slice");
            let Some(last) = seen.candidates.rows.last().map(|id| &seen.items[id]) else { break };
            after = Some((last.derived.rank, last.number, last.project));
            met.extend_from_slice(&seen.candidates.rows);
        }
        let different: std::collections::BTreeSet<&ItemId> = met.iter().collect();
        assert_eq!((met.len(), different.len()), (count, count));
    }
}

/// A queue is read as far as a claim looks: what would be handed out is shown, and where both give up, that is said.
pub async fn a_queue_is_read_as_far_as_a_claim_looks(bench: Bench) {
    let barred = |numbers: std::ops::Range<u32>, rank: i64| -> Vec<Item> {
        let mut items: Vec<Item> = numbers.map(|number| item(&bench.project, number, "barred")).collect();
        for item in &mut items {
            item.required_capabilities = vec![name("gpu")];
            item.derived.rank = rank;
        }
        items
    };
    let mut free = item(&bench.project, 50_000, "free");
    free.derived.rank = 9;
    for page in [&barred(1..5_000, 8), &vec![free.clone()]] {
        bench.put_items(page).await;
    }
    bench.take_stock().await;
    let engine = Engine::new(bench.store.clone());
    let home = ProjectRef::Id(bench.project.id);
    let agent = Agent { name: Some(name("ann")), ..Agent::default() };
    let look = async |limit| {
        let query = NextQuery { agent: Some(agent.clone()), ..NextQuery::of(home.clone(), limit) };
        let page = engine.next(&query, None).await.expect("a page");
        let shown: Vec<ItemId> = page.items.iter().map(|ready| ready.item.id).collect();
        (shown, page.next.is_some(), page.looked_at)
    };
    let claim = async || {
        let command = ClaimNext { project: home.clone(), wanted: Wanted::default(), ttl: None };
        let call = Call::new(name("ann"), super::support::new_uuid().as_u128());
        let offer = engine.run(call, command).await.expect("an offer");
        (offer.held.map(|held| held.item), offer.passed_over)
    };
    for limit in [1, 200] {
        assert_eq!(look(limit).await.0, [free.id], "a page of {limit}");
    }
    assert_eq!(claim().await.0, Some(free.id), "it is handed out");
    bench.put_items(&barred(5_000..25_000, 7)).await;
    let mut second = item(&bench.project, 50_001, "second");
    second.derived.rank = 9;
    bench.put_items(std::slice::from_ref(&second)).await;
    let (held, claimed_among) = claim().await;
    assert_eq!(held, None, "a claim gives up at some point");
    for limit in [1, 200] {
        let (shown, cut, looked_at) = look(limit).await;
        assert_eq!((shown, cut), (vec![], true), "and so does a read, and says so");
        assert!(looked_at >= claimed_among && looked_at < 30_000, "{looked_at} of {claimed_among}");
    }
}

/// Where urgency is asked for, the workflow's order says nothing: the most urgent come first and of those the oldest, and what is
/// less urgent than was asked for does not come.
pub async fn urgent_work_comes_by_urgency_and_age(bench: Bench) {
    let other = project("other", "OTH");
    bench.put(ChangeSet { projects: vec![other.clone()], ..ChangeSet::default() }).await;
    let (high, medium, low) = (Priority::High, Priority::Medium, Priority::Low);
    let of = |project: &Project, number, priority, rank, age: i64| {
        let mut made = Item { priority, ..item(project, number, "work") };
        made.derived.rank = rank;
        made.created_at = Timestamp::from_millis(1_000_000 + i64::from(number) - 1_000 * age);
        made
    };
    let mut items: Vec<Item> = (1..=300).map(|number| of(&bench.project, number, medium, -9, 0)).collect();
    items.push(of(&bench.project, 301, high, 50, 5));
    items.push(of(&other, 302, high, 40, 9));
    items.push(of(&bench.project, 303, low, -20, 99));
    // One that ran out, one that is held, one that was left.
    let lapsed = of(&bench.project, 304, high, 60, 3);
    items.push(Item { claim: Some(claim("expired", Some(20))), ..lapsed });
    let held = of(&bench.project, 305, high, 60, 4);
    items.push(Item { claim: Some(claim("live", Some(FAR))), ..held });
    let left = of(&bench.project, 306, high, 60, 2);
    items.push(Item { role: Role::Work, fence: Fence(1), ..left });
    let beneath = of(&bench.project, 307, medium, 60, 50);
    items.push(Item { parent: Some(items[0].id), depth: 1, ..beneath });
    bench.put_items(&items).await;
    let by = |least, limit| Candidates { urgent: Some(least), ..best(limit) };
    assert_eq!(candidates(&bench, by(high, 9)).await, [301, 304]);
    assert_eq!(candidates(&bench, Candidates { left: true, ..by(high, 9) }).await, [301, 304, 306]);
    assert_eq!(candidates(&bench, Candidates { include_claimed: true, ..by(high, 9) }).await, [301, 305, 304]);
    assert_eq!(candidates(&bench, by(medium, 4)).await, [301, 304, 307, 1], "the oldest of the same urgency");
    assert_eq!(candidates(&bench, by(low, 500)).await.last(), Some(&303), "the least urgent, however it is ranked");
    assert_eq!(candidates(&bench, Candidates { under: Some(items[0].id), ..by(low, 9) }).await, [307]);
    let all = Scope { candidates: Some(by(high, 9)), ..Scope::default() };
    assert_eq!(numbers(&bench.store.view(&all).await.expect("a slice")), [302, 301, 304], "of all projects");
    let engine = Engine::new(bench.store.clone());
    let query = NextQuery { urgent: Some(medium), ..NextQuery::of(ProjectRef::Any, 3) };
    let page = engine.next(&query, None).await.expect("a page");
    let shown: Vec<u32> = page.items.iter().map(|ready| ready.item.number).collect();
    assert_eq!((shown, page.next), (vec![302, 301, 304], None));
}

/// Candidates can be narrowed.
pub async fn candidates_can_be_narrowed(bench: Bench) {
    let root = item(&bench.project, 1, "root");
    let mut mid = child(&root, 2, "mid", &bench.project);
    mid.item_type = Some(name("bug"));
    let mut leaf = child(&mid, 3, "leaf", &bench.project);
    leaf.tags = vec![Tag::parse("ui").expect("a tag"), Tag::parse("db").expect("a tag")];
    let other = project("other", "OTH");
    let foreign = item(&other, 1, "foreign");
    bench.put_items(&[root.clone(), mid.clone(), leaf.clone()]).await;
    bench.put(ChangeSet { projects: vec![other], new_items: vec![foreign], ..ChangeSet::default() }).await;
    let tags = |tags: &[&str]| tags.iter().map(|tag| Tag::parse(tag).expect("a tag")).collect::<Vec<_>>();
    assert_eq!(candidates(&bench, best(9)).await, [1, 2, 3]);
    assert_eq!(candidates(&bench, Candidates { parent: Some(root.id), ..best(9) }).await, [2]);
    assert_eq!(candidates(&bench, Candidates { under: Some(root.id), ..best(9) }).await, [2, 3]);
    let both = Candidates { under: Some(root.id), parent: Some(mid.id), ..best(9) };
    assert_eq!(candidates(&bench, both).await, [3]);
    assert_eq!(candidates(&bench, Candidates { tags: tags(&["x", "ui"]), ..best(9) }).await, [3]);
    assert_eq!(candidates(&bench, Candidates { tags: tags(&["u"]), ..best(9) }).await, Vec::<u32>::new());
    assert_eq!(candidates(&bench, Candidates { item_type: Some(name("bug")), ..best(9) }).await, [2]);
    let all = Scope { candidates: Some(best(9)), ..Scope::default() };
    assert_eq!(numbers(&bench.store.view(&all).await.expect("a slice")), [1, 1, 2, 3], "every project, by rank");
}

/// What an agent holds and what claims keep busy.
pub async fn what_an_agent_holds_and_what_claims_keep_busy(bench: Bench) {
    let (bench, items) = mixed(bench).await;
    let mut busy = item(&bench.project, 20, "busy");
    busy.touches = vec![name("src/**")];
    busy.claim = Some(claim("live", Some(FAR)));
    let mut late = busy.clone();
    (late.id, late.number, late.claim) = (ItemId::from_uuid(super::support::new_uuid()), 21, Some(claim("x", Some(5))));
    let mut needs = item(&bench.project, 22, "needs");
    needs.needs = vec![name("gpu")];
    needs.claim = Some(claim("endless", None));
    bench.put_items(&[busy.clone(), late, needs.clone()]).await;
    let scope = Scope {
        project: ProjectRef::Id(bench.project.id),
        held_by: vec![name("live")],
        busy: true,
        ..Scope::default()
    };
    let seen = bench.store.view(&scope).await.expect("a slice");
    assert_eq!(seen.held, [items[1].id, busy.id]);
    assert!(seen.items.contains_key(&busy.id), "held items are shown");
    let mut held: Vec<ItemId> = seen.busy.iter().map(|busy| busy.item).collect();
    held.sort();
    assert_eq!(held, [busy.id, needs.id]);
    let elsewhere = Scope { project: ProjectRef::Slug(project("none", "N").slug), ..scope.clone() };
    let seen = bench.store.view(&elsewhere).await.expect("a slice");
    assert_eq!((seen.held.len(), seen.busy.len()), (0, 0), "an unknown project has nothing");
    let by_item = Scope { project: ProjectRef::Any, items: vec![items[0].id.into()], ..scope };
    assert_eq!(bench.store.view(&by_item).await.expect("a slice").held.len(), 2, "the item says the project");
}

/// Time follows the database and never goes back.
pub async fn time_follows_the_database_and_never_goes_back(bench: Bench) {
    let skew = Arc::new(AtomicI64::new(0));
    let store = bench.ahead(Arc::clone(&skew)).await;
    let mut leased = item(&bench.project, 1, "leased");
    let before = store.view(&Scope::default()).await.expect("a slice").now;
    leased.claim = Some(claim("a", Some(before.as_millis() + 60_000)));
    store.execute(Box::new(Put(ChangeSet { new_items: vec![leased], ..ChangeSet::default() }))).await.expect("written");
    let scope = Scope { candidates: Some(best(5)), ..Scope::default() };
    assert_eq!(store.view(&scope).await.expect("a slice").candidates.rows.len(), 0);
    skew.store(90_000, Ordering::Relaxed);
    let later = store.view(&scope).await.expect("a slice");
    assert_eq!(later.candidates.rows.len(), 1, "the lease ran out");
    skew.store(-90_000, Ordering::Relaxed);
    let back = store.view(&scope).await.expect("a slice");
    assert!(back.now >= later.now);
    assert_eq!(back.candidates.rows.len(), 1, "what ran out stays so");
}

/// A lease lasts what it lasts, whatever time it is and however the clock is set meanwhile: an hour ahead, over the end of what 32
/// bits count, over a leap day, in the last month that can be written.
pub async fn leases_last_what_they_last_whatever_time_it_is(bench: Bench) {
    let skew = Arc::new(AtomicI64::new(0));
    let store = bench.ahead(Arc::clone(&skew)).await;
    let begun = store.view(&Scope::default()).await.expect("a slice").now;
    let hour = 3_600_000;
    let moments = ["2038-01-19T03:13:50Z", "2040-02-28T23:59:50Z", "9999-12-01T00:00:00Z"];
    let moments = moments.map(|moment| moment.parse::<Timestamp>().expect("a time").as_millis());
    // Each is later than the one before: time never runs back.
    let aheads = std::iter::once(hour).chain(moments.map(|moment| moment - begun.as_millis()));
    for (number, ahead) in (1_u32..).zip(aheads) {
        let at = |seconds: i64| skew.store(ahead + seconds * 1000, Ordering::Relaxed);
        let look = async || {
            let scope = Scope { candidates: Some(best(9)), ..Scope::default() };
            let seen = store.view(&scope).await.expect("a slice");
            (seen.now, numbers(&seen).contains(&number))
        };
        at(0);
        let (now, _) = look().await;
        let read = now.as_millis() - begun.as_millis() - ahead;
        assert!((0..60_000).contains(&read), "it is {now}, {read} ms off");
        let mut leased = item(&bench.project, number, "leased");
        leased.claim = Some(claim("a", Some(now.as_millis() + 60_000)));
        let id = leased.id;
        let put = ChangeSet { new_items: vec![leased.clone()], ..ChangeSet::default() };
        store.execute(Box::new(Put(put))).await.expect("written");
        assert_eq!(bench.get(id).await.expect("an item").claim, leased.claim, "to the millisecond");
        for (clock, is_free) in [(0, false), (-3600, false), (40, false), (61, true), (-3600, true)] {
            at(clock);
            let (then, free) = look().await;
            assert!(then >= now, "time ran back to {then} from {now}");
            assert_eq!(free, is_free, "{clock} s after {now}");
        }
    }
}
