//! Random commands over random workflows never reach an illegal state: after each one, everything derived equals what
//! is recomputed, no open work lies beneath closed work where the workflow forbids it, nothing waits for itself, and
//! the events alone rebuild every row. Planted bugs it was seen to catch: a status change that does not count its edges
//! anew, and a new edge that is not looked at for cycles.

use std::collections::BTreeMap;

use docket_core::command::{
    Advance, Change, Claim, ClaimNext, ClaimRequest, CloseTree, Create, Edit, EdgeSpec, Link, MoveRequest, NewItem, NotePut,
    Parent, Patch, PutNotes, Remove, RemoveNotes, Unlink, Wanted, What,
};
use docket_core::model::{Complexity, EdgeKind, ItemId, ItemRef, Priority, Role, Text, Trigger};
use docket_core::testing::{World, name, required, title};
use docket_core::workflow::{Lifecycle, Schema, Schemas, Target, Workflow};
use docket_core::Gate;
use proptest::prelude::*;

/// One thing somebody does; numbers choose among what is there.
#[derive(Clone, Debug)]
enum Act {
    Create { parent: Option<usize>, priority: u8, complexity: i64, typed: bool, role: Option<Role> },
    Reparent { item: usize, parent: Option<usize> },
    Rename { item: usize, who: usize },
    Move { item: usize, trigger: Trigger, who: usize },
    MoveTo { item: usize, status: usize, who: usize },
    MoveMany { items: Vec<usize>, trigger: Trigger },
    Claim { item: usize, ttl: bool, who: usize },
    ClaimNext { who: usize },
    Release { item: usize, who: usize },
    Note { item: usize, key: usize, blank: bool, who: usize },
    Unnote { item: usize },
    Link { from: usize, to: usize, kind: usize, at: usize },
    Unlink { item: usize },
    Remove { item: usize, recursive: bool },
    CloseTree { item: usize, cancel: bool },
    Pass { seconds: u32 },
}

const AGENTS: [Option<&str>; 4] = [None, Some("ann"), Some("bob"), Some("cyd")];
const KEYS: [&str; 3] = ["plan", "proof", "verdict"];

fn trigger() -> impl Strategy<Value = Trigger> {
    prop::sample::select(Trigger::USER.to_vec())
}

fn act() -> impl Strategy<Value = Act> {
    let n = 0..12_usize;
    let who = 0..AGENTS.len();
    prop_oneof![
        4 => (prop::option::of(n.clone()), 0..3_u8, 1..11_i64, any::<bool>(), prop::option::weighted(0.1, prop::sample::select(Role::ALL.to_vec())))
            .prop_map(|(parent, priority, complexity, typed, role)| Act::Create { parent, priority, complexity, typed, role }),
        1 => (n.clone(), prop::option::of(n.clone())).prop_map(|(item, parent)| Act::Reparent { item, parent }),
        1 => (n.clone(), who.clone()).prop_map(|(item, who)| Act::Rename { item, who }),
        6 => (n.clone(), trigger(), who.clone()).prop_map(|(item, trigger, who)| Act::Move { item, trigger, who }),
        2 => (n.clone(), 0..9_usize, who.clone()).prop_map(|(item, status, who)| Act::MoveTo { item, status, who }),
        1 => (prop::collection::vec(n.clone(), 1..4), trigger()).prop_map(|(items, trigger)| Act::MoveMany { items, trigger }),
        2 => (n.clone(), any::<bool>(), who.clone()).prop_map(|(item, ttl, who)| Act::Claim { item, ttl, who }),
        2 => who.clone().prop_map(|who| Act::ClaimNext { who }),
        1 => (n.clone(), who.clone()).prop_map(|(item, who)| Act::Release { item, who }),
        3 => (n.clone(), 0..KEYS.len(), any::<bool>(), who).prop_map(|(item, key, blank, who)| Act::Note { item, key, blank, who }),
        1 => n.clone().prop_map(|item| Act::Unnote { item }),
        4 => (n.clone(), n.clone(), 0..6_usize, 0..5_usize).prop_map(|(from, to, kind, at)| Act::Link { from, to, kind, at }),
        1 => n.clone().prop_map(|item| Act::Unlink { item }),
        1 => (n.clone(), any::<bool>()).prop_map(|(item, recursive)| Act::Remove { item, recursive }),
        1 => (n, any::<bool>()).prop_map(|(item, cancel)| Act::CloseTree { item, cancel }),
        1 => (1..1200_u32).prop_map(|seconds| Act::Pass { seconds }),
    ]
}

fn workflow() -> impl Strategy<Value = Workflow> {
    let lifecycle = prop::sample::select(vec![Lifecycle::Auto, Lifecycle::Manual, Lifecycle::Permanent, Lifecycle::AutoReopen]);
    (any::<bool>(), prop::collection::btree_set(prop::sample::select(vec![Gate::Dependencies, Gate::Notes, Gate::Descendants]), 0..4), lifecycle, any::<bool>(), 0..3_u32, 2..5_u8)
        .prop_map(|(standard, gates, close_parents, require_review, per_agent, max_depth)| {
            let mut workflow = if standard { Workflow::standard() } else { Workflow::task_orchestrator() };
            workflow.gates = gates;
            workflow.close_parents = close_parents;
            workflow.require_review = require_review;
            workflow.claims.per_agent = per_agent;
            workflow.max_depth = max_depth;
            workflow
        })
}

fn schemas() -> Schemas {
    let notes = vec![required("plan", Role::Queue), required("proof", Role::Work), required("verdict", Role::Review)];
    Schemas { types: BTreeMap::from([("job".to_owned(), Schema { notes, ..Schema::default() })]), ..Schemas::default() }
}

fn pick(world: &World, index: usize) -> Option<ItemId> {
    let ids: Vec<ItemId> = world.items.keys().copied().collect();
    (!ids.is_empty()).then(|| ids[index % ids.len()])
}

fn perform(world: &mut World, act: &Act) -> Option<()> {
    let project = World::project();
    let at = |world: &World, index: usize| pick(world, index).map(ItemRef::Id);
    match act {
        Act::Create { parent, priority, complexity, typed, role } => {
            let mut new = NewItem::titled(title(&format!("item {}", world.items.len())));
            new.parent = parent.and_then(|parent| at(world, parent)).map(Parent::Existing);
            new.priority = [Priority::High, Priority::Medium, Priority::Low][usize::from(*priority)];
            new.complexity = Complexity::parse(*complexity).ok();
            new.item_type = typed.then(|| name("job"));
            new.role = *role;
            let call = world.call(None);
            let create = Create { project, items: vec![new], edges: vec![], notes: vec![], blank_notes: false, atomic: false };
            world.run(&call, &create).ok()?;
        }
        Act::Reparent { item, parent } => {
            let mut patch = Patch::of(at(world, *item)?);
            patch.parent = parent.and_then(|parent| at(world, parent)).map_or(Change::Clear, Change::Set);
            let call = world.call(None);
            world.run(&call, &Edit { project, patches: vec![patch], atomic: true }).ok()?;
        }
        Act::Rename { item, who } => {
            let mut patch = Patch::of(at(world, *item)?);
            patch.title = Some(title("renamed"));
            let call = world.call(AGENTS[*who]);
            world.run(&call, &Edit { project, patches: vec![patch], atomic: true }).ok()?;
        }
        Act::Move { item, trigger, who } => {
            let target = Target::Trigger(*trigger);
            let request = MoveRequest { item: at(world, *item)?, target, summary: None, by: None, fence: None };
            let call = world.call(AGENTS[*who]);
            world.run(&call, &Advance { project, moves: vec![request], atomic: false }).ok()?;
        }
        Act::MoveTo { item, status, who } => {
            let statuses = world.projects.values().next()?.workflow.statuses.clone();
            let target = Target::Status(statuses[status % statuses.len()].name.clone());
            let request = MoveRequest { item: at(world, *item)?, target, summary: None, by: None, fence: None };
            let call = world.call(AGENTS[*who]);
            world.run(&call, &Advance { project, moves: vec![request], atomic: true }).ok()?;
        }
        Act::MoveMany { items, trigger } => {
            let moves = items
                .iter()
                .filter_map(|item| at(world, *item))
                .map(|item| MoveRequest { item, target: Target::Trigger(*trigger), summary: None, by: None, fence: None })
                .collect();
            let call = world.call(None);
            world.run(&call, &Advance { project, moves, atomic: false }).ok()?;
        }
        Act::Claim { item, ttl, who } => {
            let ttl = ttl.then(|| docket_core::model::Ttl::parse(60).expect("a lease"));
            let claims = vec![ClaimRequest { item: at(world, *item)?, ttl }];
            let call = world.call(AGENTS[*who]);
            world.run(&call, &Claim { project, claims, releases: vec![], ready_only: false }).ok()?;
        }
        Act::ClaimNext { who } => {
            let call = world.call(AGENTS[*who]);
            world.run(&call, &ClaimNext { project, wanted: Wanted::default(), ttl: None }).ok()?;
        }
        Act::Release { item, who } => {
            let call = world.call(AGENTS[*who]);
            world.run(&call, &Claim { project, claims: vec![], releases: vec![at(world, *item)?], ready_only: false }).ok()?;
        }
        Act::Note { item, key, blank, who } => {
            let body = Text::parse(if *blank { " " } else { "words" }).expect("a text");
            let put = NotePut { item: at(world, *item)?, key: name(KEYS[*key]), phase: None, body, by: None, fence: None };
            let call = world.call(AGENTS[*who]);
            world.run(&call, &PutNotes { project, notes: vec![put], atomic: false }).ok()?;
        }
        Act::Unnote { item } => {
            let call = world.call(None);
            world.run(&call, &RemoveNotes { project, ids: vec![], of: Some((at(world, *item)?, None)) }).ok()?;
        }
        Act::Link { from, to, kind, at: threshold } => {
            let kind = EdgeKind::ALL.get(*kind).copied().unwrap_or(EdgeKind::Blocks);
            let unblock_at = (kind == EdgeKind::Blocks).then(|| Role::ALL.get(*threshold).copied()).flatten().filter(|role| *role != Role::Blocked);
            let edge = EdgeSpec { from: at(world, *from)?, to: at(world, *to)?, kind, unblock_at, inverse: false };
            let call = world.call(None);
            world.run(&call, &Link { project, edges: vec![edge] }).ok()?;
        }
        Act::Unlink { item } => {
            let call = world.call(None);
            world.run(&call, &Unlink::Of { project, item: at(world, *item)? }).ok()?;
        }
        Act::Remove { item, recursive } => {
            let call = world.call(None);
            world.run(&call, &Remove { project, items: vec![at(world, *item)?], recursive: *recursive, atomic: true }).ok()?;
        }
        Act::CloseTree { item, cancel } => {
            let call = world.call(None);
            world.run(&call, &CloseTree { project, what: What::Beneath(at(world, *item)?), cancel: *cancel }).ok()?;
        }
        Act::Pass { seconds } => world.pass(*seconds),
    }
    Some(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, max_shrink_iters: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_of_commands_reaches_an_illegal_state(workflow in workflow(), acts in prop::collection::vec(act(), 1..60)) {
        let mut world = World::new(workflow, schemas());
        for act in &acts {
            let events = world.events.len();
            let before = world.clone();
            if perform(&mut world, act).is_none() {
                prop_assert_eq!(&before.items, &world.items, "a refused command changed something");
            }
            // Whatever changed was recorded.
            prop_assert!(world.events.len() > events || before.items == world.items);
            world.check();
            prop_assert!(one_holder_each(&world), "an agent holds more than it may");
        }
    }
}

/// Claims beyond the cap: what an agent holds live, and what it may hold.
fn one_holder_each(world: &World) -> bool {
    let cap = world.projects.values().next().map_or(0, |project| project.workflow.claims.per_agent as usize);
    let mut held: BTreeMap<&str, usize> = BTreeMap::new();
    for claim in world.items.values().filter_map(|item| item.live_claim(world.now)) {
        *held.entry(claim.holder.as_str()).or_default() += 1;
    }
    cap == 0 || held.values().all(|count| *count <= cap)
}
