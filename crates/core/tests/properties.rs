//! Random commands over random workflows never reach an illegal state: after each one, everything derived equals what
//! is recomputed, no open work lies beneath closed work where the workflow forbids it, nothing waits for itself, and
//! the events alone rebuild every row. Planted bugs it was seen to catch: a status change that does not count its edges
//! anew, and a new edge that is not looked at for cycles.

use std::collections::{BTreeMap, BTreeSet};

use docket_core::Gate;
use docket_core::model::{
    Authority, Brief, Check, CheckKind, CriterionId, ItemId, Outcome, Role, Standing, Tree, Trigger,
};
use docket_core::testing::acts::{AGENTS, Act, KEYS, Stage as _, perform, schemas, tree};
use docket_core::testing::{World, name};
use docket_core::workflow::{
    ChecksWhen, ClaimRules, Lifecycle, RankBy, ReviewPhase, Status, Transitions, WaitsWhen, WhenFailed, Workflow,
};
use proptest::prelude::*;

fn trigger() -> impl Strategy<Value = Trigger> {
    prop::sample::select(Trigger::USER.to_vec())
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![3 => plain(), 1 => about_checks(), 1 => about_sessions()]
}

fn plain() -> impl Strategy<Value = Act> {
    let n = 0..12_usize;
    let who = 0..AGENTS.len();
    prop_oneof![
        4 => (prop::option::of(n.clone()), 0..3_u8, 1..11_i64, any::<bool>(), prop::option::weighted(0.1, prop::sample::select(Role::ALL.to_vec())))
            .prop_map(|(parent, priority, complexity, typed, role)| Act::Create { parent, priority, complexity, typed, role }),
        1 => (n.clone(), prop::option::of(n.clone())).prop_map(|(item, parent)| Act::Reparent { item, parent }),
        1 => prop::collection::vec((n.clone(), n.clone()), 1..4).prop_map(|moves| Act::ReparentMany { moves }),
        1 => (n.clone(), who.clone()).prop_map(|(item, who)| Act::Rename { item, who }),
        6 => (n.clone(), trigger(), who.clone()).prop_map(|(item, trigger, who)| Act::Move { item, trigger, who }),
        2 => (n.clone(), 0..9_usize, who.clone()).prop_map(|(item, status, who)| Act::MoveTo { item, status, who }),
        1 => (prop::collection::vec(n.clone(), 1..4), trigger()).prop_map(|(items, trigger)| Act::MoveMany { items, trigger }),
        2 => (n.clone(), any::<bool>(), who.clone()).prop_map(|(item, ttl, who)| Act::Claim { item, ttl, who }),
        2 => who.clone().prop_map(|who| Act::ClaimNext { who }),
        1 => (n.clone(), who.clone()).prop_map(|(item, who)| Act::Release { item, who }),
        3 => (n.clone(), 0..KEYS.len(), prop::option::weighted(0.3, prop::sample::select(Role::ALL.to_vec())), any::<bool>(), who.clone())
            .prop_map(|(item, key, phase, blank, who)| Act::Note { item, key, phase, blank, who }),
        1 => n.clone().prop_map(|item| Act::Unnote { item }),
        4 => (n.clone(), n.clone(), 0..6_usize, 0..5_usize).prop_map(|(from, to, kind, at)| Act::Link { from, to, kind, at }),
        1 => n.clone().prop_map(|item| Act::Unlink { item }),
        1 => (n.clone(), any::<bool>()).prop_map(|(item, recursive)| Act::Remove { item, recursive }),
        1 => (n.clone(), any::<bool>()).prop_map(|(item, cancel)| Act::CloseTree { item, cancel }),
        3 => (n.clone(), 0..8_u8, any::<bool>(), prop::bool::weighted(0.2), who.clone())
            .prop_map(|(item, criteria, replace, human, who)| Act::Brief { item, criteria, replace, human, who }),
        5 => (n.clone(), 1..5_u32, prop::bool::weighted(0.8), any::<bool>(), who.clone())
            .prop_map(|(item, criterion, passed, human, who)| Act::Verify { item, criterion, passed, human, who }),
        1 => (n.clone(), who.clone()).prop_map(|(item, who)| Act::Ask { item, who }),
        1 => (n.clone(), any::<bool>()).prop_map(|(item, withdraw)| Act::Answer { item, withdraw }),
        1 => (n.clone(), any::<bool>()).prop_map(|(item, on)| Act::Flag { item, on }),
        1 => (n.clone(), who.clone()).prop_map(|(item, who)| Act::Remark { item, who }),
        1 => (n.clone(), who.clone()).prop_map(|(item, who)| Act::Begin { item, who }),
        1 => who.clone().prop_map(|who| Act::StartNext { who }),
        2 => (n.clone(), any::<bool>(), any::<bool>(), who).prop_map(|(item, passed, preview, who)| Act::Finish { item, passed, preview, who }),
        1 => (n, any::<bool>()).prop_map(|(item, cancel)| Act::CloseWhole { item, cancel }),
        1 => (1..1200_u32).prop_map(|seconds| Act::Pass { seconds }),
    ]
}

/// Checks that are written, run on one work tree or another and attested, and work that is closed by them.
fn about_checks() -> impl Strategy<Value = Act> {
    let n = 0..12_usize;
    let who = 0..AGENTS.len();
    let role = || prop::option::weighted(0.2, prop::sample::select(Role::ALL.to_vec()));
    prop_oneof![
        2 => (0..8_u8, 0..8_u8, role()).prop_map(|(criteria, checks, role)| Act::CreateWith { criteria, checks, role }),
        3 => (n.clone(), 0..16_u8, any::<bool>(), any::<bool>(), who.clone())
            .prop_map(|(item, checks, add, human, who)| Act::SetChecks { item, checks, add, human, who }),
        1 => (n.clone(), who.clone()).prop_map(|(item, who)| Act::ApproveChecks { item, who }),
        2 => (n.clone(), 0..3_usize, prop::bool::weighted(0.8), who.clone())
            .prop_map(|(item, check, passed, who)| Act::Attest { item, check, passed, who }),
        2 => (n.clone(), who.clone()).prop_map(|(item, who)| Act::Submit { item, who }),
        2 => (n.clone(), trigger(), 0..3_u8).prop_map(|(item, trigger, tree)| Act::MoveSeeing { item, trigger, tree }),
        2 => (n.clone(), any::<bool>(), who).prop_map(|(item, started, who)| Act::OrderRuns { item, started, who }),
        1 => n.clone().prop_map(|item| Act::TakeRun { item }),
        4 => (n.clone(), 0..9_u8, 0..3_u8, any::<bool>()).prop_map(|(item, end, tree, back)| Act::EndRun { item, end, tree, back }),
        1 => n.prop_map(|item| Act::CancelRun { item }),
    ]
}

fn about_sessions() -> impl Strategy<Value = Act> {
    let n = 0..12_usize;
    let who = 0..AGENTS.len();
    prop_oneof![
        3 => (n.clone(), who.clone()).prop_map(|(item, who)| Act::BeginSession { item, who }),
        1 => (n.clone(), prop::option::of(0..101_u8), who.clone())
            .prop_map(|(item, percent, who)| Act::Heartbeat { item, percent, who }),
        1 => (n, any::<bool>(), who).prop_map(|(item, cancel, who)| Act::EndSession { item, cancel, who }),
    ]
}

/// Statuses that nobody has thought of: the five that there must be, up to six more of any role, in any order.
fn statuses() -> impl Strategy<Value = Vec<Status>> {
    let ended = [Some(Outcome::Success), Some(Outcome::Cancelled)].map(|outcome| (Role::Terminal, outcome));
    let open = [Role::Queue, Role::Work, Role::Blocked].map(|role| (role, None));
    let must: Vec<_> = open.into_iter().chain(ended).collect();
    let any_of = [must.clone(), vec![(Role::Review, None)]].concat();
    let more = prop::collection::vec(prop::sample::select(any_of), 0..7);
    let all = more.prop_map(move |more| [must.clone(), more].concat()).prop_shuffle();
    (all, prop::collection::vec(any::<bool>(), 11)).prop_map(|(all, claimable)| {
        let status = |(at, ((role, outcome), claimable)): (usize, ((Role, Option<Outcome>), bool))| Status {
            name: name(&format!("status-{at}")),
            role,
            claimable: claimable && role != Role::Terminal,
            outcome,
        };
        all.into_iter().zip(claimable).enumerate().map(status).collect()
    })
}

/// A workflow of one's own, or a preset.
fn drawn() -> impl Strategy<Value = Workflow> {
    let any_of = || any::<prop::sample::Index>();
    let own =
        (statuses(), any_of(), any_of(), prop::option::of(any_of())).prop_map(|(statuses, first, again, parked)| {
            let of = |role: Role, at: prop::sample::Index| {
                let named: Vec<_> = statuses.iter().filter(|status| status.role == role).collect();
                at.get(&named).name.clone()
            };
            let (initial, reopened) = (of(Role::Queue, first), of(Role::Queue, again));
            let parked = parked.map(|at| of(Role::Blocked, at));
            Workflow { initial, reopened, parked, statuses: statuses.clone(), ..Workflow::standard() }
        });
    let preset = prop::sample::select(Workflow::PRESETS.to_vec());
    prop_oneof![1 => preset.prop_map(|preset| Workflow::preset(preset).expect("a preset")), 2 => own]
}

/// Any workflow with any switches.
fn workflow() -> impl Strategy<Value = Workflow> {
    let gates = vec![Gate::Dependencies, Gate::Notes, Gate::Criteria, Gate::Checks, Gate::Descendants];
    let ranking = vec![RankBy::Brief, RankBy::Priority, RankBy::Unblocks, RankBy::Complexity];
    let lifecycles = vec![Lifecycle::Auto, Lifecycle::Manual, Lifecycle::Permanent, Lifecycle::AutoReopen];
    let paths = (
        prop::sample::select(vec![Transitions::Guided, Transitions::Free]),
        prop::sample::select(vec![ReviewPhase::Always, ReviewPhase::Schema]),
        prop::sample::select(vec![WaitsWhen::Forward, WaitsWhen::Leaving]),
        prop::sample::select(vec![ChecksWhen::Success, ChecksWhen::Closed]),
        prop::sample::select(vec![WhenFailed::Stays, WhenFailed::Returns]),
        any::<bool>(),
    );
    let claims = (prop::sample::select(vec![0, 60, 900]), 0..3_u32, any::<bool>(), any::<bool>()).prop_map(
        |(ttl_seconds, per_agent, renew_on_write, guarded)| ClaimRules {
            ttl_seconds,
            per_agent,
            renew_on_write,
            guarded,
            ..ClaimRules::default()
        },
    );
    let labels = prop::collection::btree_map(trigger(), Just(name("label")), 0..4);
    let sets = (
        prop::sample::subsequence(gates, 0..=5),
        prop::sample::subsequence(ranking, 0..=4).prop_shuffle(),
        prop::sample::select(lifecycles),
        2..5_u8,
    );
    (drawn(), paths, claims, labels, sets).prop_map(|(drawn, paths, claims, labels, sets)| {
        let (transitions, review_phase, waits_when, checks_when, when_failed, review) = paths;
        let (gates, ranking, close_parents, max_depth) = sets;
        let require_review = review && drawn.first_of(Role::Review).is_some();
        let gates = gates.into_iter().collect();
        let drawn = Workflow { transitions, review_phase, waits_when, checks_when, when_failed, ..drawn };
        let drawn = Workflow { require_review, gates, ..drawn };
        Workflow { claims, labels, ranking, close_parents, max_depth, ..drawn }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, max_shrink_iters: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_of_commands_reaches_an_illegal_state(workflow in workflow(), acts in prop::collection::vec(act(), 1..60)) {
        let mut world = World::new(workflow, schemas());
        let mut failed = BTreeSet::new();
        for act in &acts {
            let events = world.events.len();
            let before = world.clone();
            if perform(&mut world, act).is_some() {
                prop_assert_eq!(&before.items, &world.items, "a refused command changed something");
            }
            forgive(&mut failed, &before, act);
            // Whatever changed was recorded.
            prop_assert!(world.events.len() > events || before.items == world.items);
            world.check();
            prop_assert!(one_holder_each(&world), "an agent holds more than it may");
            if let Some(defeated) = defeated(&mut failed, &world) {
                prop_assert!(false, "{defeated:?} got past a person's word by {act:?}");
            }
            if let Some(passed) = passed_unproved(&before, &world) {
                prop_assert!(false, "{passed} passed the staged gate by {act:?}");
            }
            if let Some(passed) = passed_unseen(&before, &world, seen_by(act).as_ref()) {
                prop_assert!(false, "{passed} was closed by checks of another work tree by {act:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, max_shrink_iters: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_goes_out_comes_in_and_goes_out_the_same(workflow in workflow(), acts in prop::collection::vec(act(), 1..60)) {
        let mut world = World::new(workflow, schemas());
        for act in &acts {
            perform(&mut world, act);
        }
        let rows = world.export();
        let mut copy = World::empty();
        copy.now = world.now;
        if let Err((line, error)) = copy.import(&rows) {
            prop_assert!(false, "line {line:?}: {error:?}");
        }
        copy.check();
        // What a file brings is let run by nobody.
        let unapproved = rows.into_iter().map(without_approvals).collect::<Vec<_>>();
        prop_assert_eq!(copy.export(), unapproved);
    }
}

fn without_approvals(mut row: serde_json::Value) -> serde_json::Value {
    let checks = row.pointer_mut("/brief/checks").and_then(serde_json::Value::as_array_mut);
    for check in checks.into_iter().flatten().filter_map(serde_json::Value::as_object_mut) {
        check.remove("approved");
    }
    row
}

/// What a person writes anew, a person has thought about.
fn forgive(failed: &mut BTreeSet<(ItemId, CriterionId)>, before: &World, act: &Act) {
    if let Act::Brief { item, human: true, .. } = act {
        let items = before.items();
        let written = items.get(item % items.len().max(1));
        failed.retain(|(item, _)| Some(item) != written);
    }
}

/// A hard criterion that a person has found not to hold and that is gone, only told, or passed by a lesser word since.
fn defeated(failed: &mut BTreeSet<(ItemId, CriterionId)>, world: &World) -> Option<(ItemId, CriterionId)> {
    failed.retain(|(item, _)| world.items.contains_key(item));
    for (item, brief) in &world.briefs {
        for criterion in brief.acceptance_criteria.iter().filter(|criterion| criterion.hard) {
            match criterion.settled_by() {
                Some(said) if said.authority == Authority::Human && said.passed => {
                    failed.remove(&(*item, criterion.id));
                }
                Some(said) if said.authority == Authority::Human => {
                    failed.insert((*item, criterion.id));
                }
                Some(_) | None => {}
            }
        }
    }
    failed.iter().copied().find(|(item, id)| {
        let criterion = world.briefs.get(item).and_then(|brief| brief.criterion(*id));
        criterion.is_none_or(|criterion| !criterion.hard || criterion.standing() == Standing::Pass)
    })
}

/// An item that an act brought into review, or to success, past a hard criterion that is not shown.
fn passed_unproved(before: &World, after: &World) -> Option<String> {
    after.items.values().find_map(|item| {
        let gated = after.projects[&item.project].workflow.has_gate(Gate::Criteria);
        let ends = match (item.role, item.outcome) {
            (Role::Review, _) => false,
            (Role::Terminal, Some(Outcome::Success)) => true,
            _ => return None,
        };
        let moved = before.items.get(&item.id).is_none_or(|was| was.role != item.role || was.outcome != item.outcome);
        let brief = after.briefs.get(&item.id)?;
        (gated && moved && is_unproved(brief, ends)).then(|| item.title.to_string())
    })
}

/// Whether a hard criterion is not shown that must be: into review those that an agent shows by its own word, to success all of
/// them. Written out once more, so that a mistake of the gate is none of its judge.
fn is_unproved(brief: &Brief, ends: bool) -> bool {
    brief.acceptance_criteria.iter().any(|criterion| {
        let by_check = brief.checks.iter().any(|check| check.proves == Some(criterion.id));
        let asked = ends || (criterion.verifier == Authority::Agent && !by_check);
        asked && criterion.hard && criterion.standing() != Standing::Pass
    })
}

/// The work tree that an act is about.
fn seen_by(act: &Act) -> Option<Tree> {
    match act {
        Act::MoveSeeing { tree: which, .. } | Act::EndRun { tree: which, .. } => tree(*which),
        _ => None,
    }
}

/// An item that an act brought to success with a command that was run on another work tree than the one it is about.
fn passed_unseen(before: &World, after: &World, seen: Option<&Tree>) -> Option<String> {
    after.items.values().find_map(|item| {
        let gated = after.projects[&item.project].workflow.has_gate(Gate::Checks);
        let was = before.items.get(&item.id);
        let done = |outcome| outcome == Some(Outcome::Success);
        let moved = done(item.outcome) && !was.is_some_and(|was| done(was.outcome));
        let elsewhere = |check: &Check| {
            let tree = check.current().and_then(|result| result.tree.as_ref());
            matches!(check.kind, CheckKind::Command { .. }) && tree != seen
        };
        let checks = &after.briefs.get(&item.id)?.checks;
        (gated && moved && checks.iter().any(elsewhere)).then(|| item.title.to_string())
    })
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
