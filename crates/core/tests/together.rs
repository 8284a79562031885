//! Units that choose from the same ready work are decided over one slice: each as if the ones before it had been
//! committed and everything had been loaded anew. Planted bugs it was seen to catch: a slice that goes on being used
//! after a claim has ended, and one that does not show what the new claims touch.

use docket_core::command::{BeginSession, CancelSession, ClaimNext, Create, Heartbeat, NewItem, Wanted};
use docket_core::engine::{Call, Command, Decision};
use docket_core::model::{ItemId, RequestId, Runtime, SessionId, Timestamp};
use docket_core::store::{AnswerKey, ChangeSet, Scope};
use docket_core::testing::{World, name, title};
use docket_core::workflow::{Schemas, Workflow};
use proptest::prelude::*;

const AGENTS: [&str; 5] = ["ann", "bob", "cid", "dan", "eve"];
const FILES: [&str; 3] = ["src/a.rs", "src/b.rs", "docs/**"];

#[derive(Clone, Debug)]
struct Sketch {
    touches: Option<usize>,
    needs: Option<usize>,
    demanding: bool,
}

fn sketch() -> impl Strategy<Value = Sketch> {
    (prop::option::of(0..FILES.len()), prop::option::weighted(0.3, 0..2_usize), prop::bool::weighted(0.2))
        .prop_map(|(touches, needs, demanding)| Sketch { touches, needs, demanding })
}

fn world(items: &[Sketch], per_agent: u32) -> World {
    let mut workflow = Workflow::task_orchestrator();
    workflow.claims.per_agent = per_agent;
    let mut world = World::new(workflow, Schemas::default());
    for (number, sketch) in items.iter().enumerate() {
        let new = NewItem {
            touches: sketch.touches.map(|file| name(FILES[file])).into_iter().collect(),
            needs: sketch.needs.map(|thing| name(["gpu", "port-80"][thing])).into_iter().collect(),
            required_capabilities: sketch.demanding.then(|| name("rust")).into_iter().collect(),
            ..NewItem::titled(title(&format!("item {number}")))
        };
        let create = Create {
            project: World::project(),
            items: vec![new],
            edges: vec![],
            notes: vec![],
            blank_notes: false,
            room_below: false,
            atomic: true,
        };
        let call = world.call(None);
        world.run(&call, &create).expect("an item");
    }
    world
}

fn next() -> ClaimNext {
    ClaimNext { project: World::project(), wanted: Wanted::default(), ttl: None }
}

/// What each agent got, and how much was passed over for it.
type Got = Vec<(Option<ItemId>, usize, Vec<ItemId>)>;

fn one_by_one(world: &mut World, calls: &[Call]) -> Got {
    let claim = |call: &Call| {
        let offer = world.run(call, &next()).expect("an answer");
        (offer.held.map(|held| held.item), offer.passed_over, offer.auto_released)
    };
    calls.iter().map(claim).collect()
}

/// Decides them as a store may: over one slice as long as that shows the truth, else over one of their own.
fn together(world: &mut World, calls: &[Call]) -> (Got, usize) {
    let mut got = Got::new();
    let mut looks = 0;
    let mut left = calls;
    while let [first, rest @ ..] = left {
        // As with a real clock, nearly, a later transaction is later.
        world.now = Timestamp::from_millis(world.now.as_millis() + 1);
        let mut scope = next().scope(first);
        let joined = rest.iter().take_while(|call| scope.join(&next().scope(call))).count();
        let mut slice = world.slice(&scope);
        looks += 1;
        let mut all = ChangeSet::default();
        let mut decided = 0;
        for call in &left[..=joined] {
            let Ok(Decision::Done(changes, offer)) = next().decide(call, &slice) else { break };
            decided += 1;
            got.push((offer.held.map(|held| held.item), offer.passed_over, offer.auto_released));
            let follows = slice.follow(&changes);
            all.append(*changes);
            if !follows {
                break;
            }
        }
        world.apply(&all);
        world.check();
        left = &left[decided..];
        if decided == 0 {
            got.extend(one_by_one(world, &left[..1]));
            left = &left[1..];
        }
    }
    (got, looks)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn deciding_together_is_deciding_one_by_one(
        items in prop::collection::vec(sketch(), 0..9),
        before in prop::collection::vec(0..AGENTS.len(), 0..4),
        agents in prop::collection::vec(0..AGENTS.len(), 1..8),
        per_agent in 0..3_u32,
    ) {
        let (mut apart, mut at_once) = (world(&items, per_agent), world(&items, per_agent));
        for agent in before {
            for world in [&mut apart, &mut at_once] {
                let call = world.call(Some(AGENTS[agent]));
                world.run(&call, &next()).expect("an answer");
            }
        }
        let calls: Vec<Call> = agents.iter().map(|agent| apart.call(Some(AGENTS[*agent]))).collect();
        let expected = one_by_one(&mut apart, &calls);
        let (got, _) = together(&mut at_once, &calls);
        prop_assert_eq!(got, expected);
        let holders = |world: &World| -> Vec<_> {
            let claims = world.items.values().map(|item| (item.id, item.fence, item.claim.as_ref().map(|claim| claim.holder.clone())));
            claims.collect()
        };
        prop_assert_eq!(holders(&at_once), holders(&apart));
    }
}

#[test]
fn agents_without_claims_need_one_look() {
    let plain = Sketch { touches: None, needs: None, demanding: false };
    let mut world = world(&vec![plain; 5], 1);
    let calls: Vec<Call> = AGENTS.iter().map(|agent| world.call(Some(agent))).collect();
    let (got, looks) = together(&mut world, &calls);
    assert_eq!(got.iter().filter(|(item, ..)| item.is_some()).count(), 5);
    assert_eq!(looks, 1);
}

#[test]
fn a_slice_serves_only_those_who_choose_from_the_same_work() {
    let mut world = world(&[], 1);
    let scope = |call: &Call, wanted: Wanted| ClaimNext { wanted, ..next() }.scope(call);
    let (ann, bob) = (world.call(Some("ann")), world.call(Some("bob")));
    let mut both = scope(&ann, Wanted::default());
    assert!(both.join(&scope(&bob, Wanted::default())));
    assert_eq!(both.held_by, [name("ann"), name("bob")]);
    let typed = Wanted { item_type: Some(name("bug")), ..Wanted::default() };
    assert!(!both.join(&scope(&bob, typed)), "other work");
    let answer = AnswerKey {
        principal: name("local"),
        operation: ClaimNext::NAME.into(),
        request: RequestId::parse("r-1").expect("a name"),
    };
    let named = Scope { answer: Some(answer), ..scope(&bob, Wanted::default()) };
    assert!(!both.join(&named), "a request that may have been answered before");
    assert!(!Scope::default().join(&Scope::default()), "no ready work is chosen from");
}

/// Five agents with a session each, and their sessions.
fn fleet() -> (World, Vec<SessionId>) {
    let plain = Sketch { touches: Some(2), needs: None, demanding: false };
    let mut world = world(&vec![plain; AGENTS.len()], 1);
    let items: Vec<ItemId> = world.items.keys().copied().collect();
    let begin = |(agent, item): (&&str, &ItemId)| {
        let call = world.call(Some(agent));
        let begin = BeginSession {
            project: World::project(),
            item: (*item).into(),
            expected_actor: None,
            runtime: Runtime::default(),
            ttl: None,
        };
        world.run(&call, &begin).expect("a session").session.id
    };
    let sessions = AGENTS.iter().zip(&items).map(begin).collect();
    (world, sessions)
}

#[test]
fn signs_of_life_that_come_together_need_one_look_and_are_what_they_would_be_apart() {
    for (passed, renewed) in [(10, false), (200, true)] {
        let (mut apart, sessions) = fleet();
        apart.pass(passed);
        let mut at_once = apart.clone();
        let calls: Vec<Call> = AGENTS.iter().map(|agent| apart.call(Some(agent))).collect();
        let beat = |session: &SessionId| Heartbeat { session: *session, progress: None };
        let mut scope = beat(&sessions[0]).scope(&calls[0]);
        assert!(sessions[1..].iter().zip(&calls[1..]).all(|(session, call)| scope.join(&beat(session).scope(call))));
        at_once.now = Timestamp::from_millis(at_once.now.as_millis() + 1);
        let mut slice = at_once.slice(&scope);
        let mut all = ChangeSet::default();
        for (session, call) in sessions.iter().zip(&calls) {
            let Ok(Decision::Done(changes, _)) = beat(session).decide(call, &slice) else { panic!("undecided") };
            assert_eq!((changes.changed_sessions.len(), changes.events.len()), (1, 1));
            assert_eq!(changes.changed_items.len(), usize::from(renewed), "a lease that is nearly whole is left alone");
            assert!(slice.follow(&changes), "the next is decided over the same slice");
            all.append(*changes);
            apart.now = Timestamp::from_millis(slice.now.as_millis() - 1);
            apart.run(call, &beat(session)).expect("a sign of life");
        }
        at_once.apply(&all);
        at_once.check();
        assert_eq!((&at_once.sessions, &at_once.items), (&apart.sessions, &apart.items));
    }
}

#[test]
fn nothing_else_is_shown_with_signs_of_life() {
    let (mut world, sessions) = fleet();
    let (ann, bob) = (world.call(Some("ann")), world.call(Some("bob")));
    let beat = |session: &SessionId| Heartbeat { session: *session, progress: None };
    let mut scope = beat(&sessions[0]).scope(&ann);
    assert!(!scope.join(&beat(&sessions[0]).scope(&ann)), "the second sign of a session sees the first");
    assert!(!scope.join(&next().scope(&bob)), "work that is chosen");
    let named = Scope { items: vec![world.sessions[&sessions[1]].item.into()], ..beat(&sessions[1]).scope(&bob) };
    assert!(!scope.join(&named), "an item by name");
    assert!(!next().scope(&bob).join(&scope));
    // What ends a session is not followed: the next has a look of its own.
    let mut slice = world.slice(&scope);
    let reason = docket_core::model::Text::parse("enough").expect("a text");
    let cancel = CancelSession { session: sessions[0], reason };
    let Ok(Decision::Done(changes, _)) = cancel.decide(&ann, &slice) else { panic!("undecided") };
    assert!(!slice.follow(&changes));
}
