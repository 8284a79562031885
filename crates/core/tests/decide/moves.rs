//! What each trigger does from each role, what gates refuse, and what moves with an item: as pure decisions.

use crate::scene::Scene;
use docket_core::model::{Role, Trigger};
use docket_core::workflow::{Lifecycle, Workflow};
use docket_core::{Gate, Kind, Reason};

/// Where a trigger leads from a role, or that it is refused, in the task-orchestrator preset without a schema.
#[test]
fn every_trigger_from_every_role() {
    use Role::{Blocked, Queue, Terminal, Work};
    let table = [
        (Trigger::Start, [Some(Work), Some(Terminal), Some(Terminal), None, None]),
        (Trigger::Complete, [Some(Terminal), Some(Terminal), Some(Terminal), None, None]),
        (Trigger::Block, [Some(Blocked), Some(Blocked), Some(Blocked), None, None]),
        (Trigger::Hold, [Some(Blocked), Some(Blocked), Some(Blocked), None, None]),
        (Trigger::Resume, [None, None, None, Some(Queue), None]),
        (Trigger::Cancel, [Some(Terminal), Some(Terminal), Some(Terminal), Some(Terminal), None]),
        (Trigger::Reopen, [None, None, None, None, Some(Queue)]),
    ];
    for (trigger, targets) in table {
        for (from, to) in Role::ALL.into_iter().zip(targets) {
            let mut scene = Scene::task_orchestrator();
            let item = scene.item_in("x", from);
            let moved = scene.advance(item, trigger);
            assert_eq!(moved.as_ref().ok().map(|moved| moved.to_role), to, "{trigger} from {from}");
            if let Err(error) = moved {
                assert_eq!(error.refusals.iter().map(|refusal| refusal.gate).collect::<Vec<_>>(), [Gate::Transition]);
                assert!(!error.refusals[0].remedy.is_empty());
            }
            scene.world.check();
        }
    }
}

#[test]
fn resume_returns_to_where_it_was() {
    for trigger in [Trigger::Block, Trigger::Hold] {
        let mut scene = Scene::task_orchestrator();
        let item = scene.item("x");
        scene.must(item, Trigger::Start);
        scene.must(item, trigger);
        assert_eq!(scene.get(item).previous_status.as_ref().map(docket_core::model::Name::as_str), Some("work"));
        scene.must(item, Trigger::Resume);
        assert_eq!((scene.get(item).role, scene.get(item).previous_status.clone()), (Role::Work, None));
    }
}

#[test]
fn labels_follow_the_triggers() {
    let mut scene = Scene::task_orchestrator();
    let label = |scene: &Scene, item| scene.get(item).status_label.as_ref().map(ToString::to_string);
    let item = scene.item("x");
    for (trigger, expected) in [
        (Trigger::Start, Some("in-progress")),
        (Trigger::Block, Some("blocked")),
        (Trigger::Resume, None),
        (Trigger::Hold, None),
        (Trigger::Resume, None),
        (Trigger::Cancel, Some("cancelled")),
        (Trigger::Reopen, None),
        (Trigger::Complete, Some("done")),
    ] {
        scene.must(item, trigger);
        assert_eq!(label(&scene, item).as_deref(), expected, "after {trigger}");
    }
}

#[test]
fn a_review_phase_exists_where_the_schema_has_a_review_note() {
    let mut scene = Scene::with_schema(Workflow::task_orchestrator(), &[("verdict", Role::Review)]);
    let item = scene.typed("x");
    scene.must(item, Trigger::Start);
    assert_eq!(scene.must(item, Trigger::Start).to_role, Role::Review);
    let refused = scene.advance(item, Trigger::Start).expect_err("the verdict is missing");
    assert_eq!(refused.refusals[0].missing_notes, ["verdict"]);
    scene.note(item, "verdict", "good");
    assert_eq!(scene.must(item, Trigger::Start).to_role, Role::Terminal);
}

#[test]
fn start_owes_the_notes_of_its_phase_and_complete_those_of_all() {
    let notes = [("plan", Role::Queue), ("proof", Role::Work)];
    let mut scene = Scene::with_schema(Workflow::task_orchestrator(), &notes);
    let item = scene.typed("x");
    let missing = |scene: &mut Scene, trigger| {
        scene.advance(item, trigger).expect_err("notes are missing").refusals[0].missing_notes.clone()
    };
    assert_eq!(missing(&mut scene, Trigger::Start), ["plan"]);
    assert_eq!(missing(&mut scene, Trigger::Complete), ["plan", "proof"]);
    scene.note(item, "plan", " \u{200b}\n");
    assert_eq!(missing(&mut scene, Trigger::Start), ["plan"], "a blank note is not filled");
    scene.note(item, "plan", "first this, then that");
    let started = scene.must(item, Trigger::Start);
    assert_eq!(started.expected_notes.iter().map(|note| note.key.as_str()).collect::<Vec<_>>(), ["proof"]);
    assert_eq!(started.guide.guidance.as_deref(), Some("how to write proof"));
    assert_eq!(
        started.guide.progress.map(|progress| (progress.filled, progress.remaining, progress.total)),
        Some((0, 1, 1))
    );
    assert_eq!(scene.must(item, Trigger::Cancel).to_role, Role::Terminal, "giving up owes no note");
}

#[test]
fn all_refusals_come_at_once() {
    let mut scene = Scene::with_schema(Workflow::standard(), &[("plan", Role::Queue)]);
    let blocker = scene.item("blocker");
    let item = scene.typed("x");
    let part = scene.child(item, "part");
    scene.link(blocker, item, None);
    scene.claim(item, "ann").expect("nobody holds it");
    let refused = scene.advance_as(item, Trigger::Complete, Some("bob")).expect_err("everything is in the way");
    let gates: Vec<Gate> = refused.refusals.iter().map(|refusal| refusal.gate).collect();
    assert_eq!(gates, [Gate::Ownership, Gate::Dependencies, Gate::Notes, Gate::Descendants]);
    assert!(refused.refusals.iter().all(|refusal| !refusal.remedy.is_empty()));
    assert_eq!(
        refused.refusals[1].message, "1 blocking dependency not yet satisfied: T-1 (backlog) must be closed",
        "by key and status"
    );
    assert!(
        !refused.refusals[3].message.contains(&part.to_string()),
        "no id is for reading: {}",
        refused.refusals[3].message
    );
    assert_eq!((refused.kind, refused.retry_after_ms), (Kind::Permanent, None), "to wait does not clear the rest");
    // The claim alone passes by itself.
    let free = scene.item("free");
    scene.claim(free, "ann").expect("nobody holds it");
    let refused = scene.advance_as(free, Trigger::Complete, Some("bob")).expect_err("it is somebody's");
    assert_eq!((refused.refusals.len(), refused.kind), (1, Kind::Transient));
    assert!(refused.retry_after_ms.is_some_and(|wait| wait > 0 && wait <= 900_000), "{refused:?}");
}

#[test]
fn a_blocker_counts_until_it_reaches_its_threshold() {
    // (threshold, what happens to the blocker, whether the blocked item may start)
    let cases: [(Option<Role>, &[Trigger], bool); 9] = [
        (None, &[], false),
        (None, &[Trigger::Start], false),
        (None, &[Trigger::Complete], true),
        (None, &[Trigger::Cancel], true),
        (Some(Role::Work), &[], false),
        (Some(Role::Work), &[Trigger::Start], true),
        (Some(Role::Work), &[Trigger::Start, Trigger::Block], false),
        (Some(Role::Queue), &[], true),
        (Some(Role::Queue), &[Trigger::Block], false),
    ];
    for (threshold, moves, free) in cases {
        let mut scene = Scene::task_orchestrator();
        let (blocker, item) = (scene.item("blocker"), scene.item("x"));
        scene.link(blocker, item, threshold);
        for trigger in moves {
            scene.must(blocker, *trigger);
        }
        let started = scene.advance(item, Trigger::Start);
        assert_eq!(started.is_ok(), free, "{threshold:?} after {moves:?}");
        if let Err(error) = started {
            assert_eq!(error.refusals[0].blockers[0].required_role, threshold.unwrap_or(Role::Terminal));
        }
        scene.world.check();
    }
}

#[test]
fn what_was_unblocked_is_told_once() {
    let mut scene = Scene::task_orchestrator();
    let (a, b, x) = (scene.item("a"), scene.item("b"), scene.item("x"));
    scene.link(a, x, None);
    scene.link(b, x, None);
    assert!(scene.must(a, Trigger::Complete).unblocked.is_empty(), "b still blocks");
    let unblocked = scene.must(b, Trigger::Complete).unblocked;
    assert_eq!(unblocked.iter().map(|named| (named.item, named.title.as_str())).collect::<Vec<_>>(), [(x, "x")]);
    scene.must(a, Trigger::Reopen);
    assert!(scene.get(x).derived.blockers == 1);
}

#[test]
fn cancelling_needs_no_blocker_to_be_done() {
    let mut scene = Scene::task_orchestrator();
    let (a, x) = (scene.item("a"), scene.item("x"));
    scene.link(a, x, None);
    assert_eq!(scene.must(x, Trigger::Cancel).to_role, Role::Terminal);
}

#[test]
fn starting_a_child_starts_its_ancestors() {
    let mut scene = Scene::task_orchestrator();
    let root = scene.item("root");
    let middle = scene.child(root, "middle");
    let leaf = scene.child(middle, "leaf");
    let cascades = scene.must(leaf, Trigger::Start).cascades;
    let moved: Vec<_> =
        cascades.iter().map(|cascade| (cascade.item, cascade.from_role, cascade.to_role, cascade.applied)).collect();
    assert_eq!(moved, [(middle, Role::Queue, Role::Work, true), (root, Role::Queue, Role::Work, true)]);
    let other = scene.child(root, "other");
    assert!(scene.must(other, Trigger::Start).cascades.is_empty(), "it is in work already");
}

#[test]
fn closing_the_last_child_closes_its_parents() {
    let mut scene = Scene::task_orchestrator();
    let root = scene.item("root");
    let middle = scene.child(root, "middle");
    let (a, b) = (scene.child(middle, "a"), scene.child(middle, "b"));
    assert!(scene.must(a, Trigger::Complete).cascades.is_empty());
    let cascades = scene.must(b, Trigger::Complete).cascades;
    assert_eq!(cascades.iter().map(|cascade| cascade.item).collect::<Vec<_>>(), [middle, root]);
    assert!(cascades.iter().all(|cascade| cascade.applied && cascade.to_role == Role::Terminal));
    assert_eq!(cascades[0].label.as_ref().map(docket_core::model::Name::as_str), Some("done"));
}

#[test]
fn a_parent_with_missing_notes_stays_open_and_says_why() {
    let mut scene = Scene::with_schema(Workflow::task_orchestrator(), &[("proof", Role::Work)]);
    let parent = scene.typed("parent");
    let child = scene.child(parent, "child");
    let cascades = scene.must(child, Trigger::Complete).cascades;
    assert_eq!((cascades.len(), cascades[0].applied), (1, false));
    assert_eq!(cascades[0].refusals[0].missing_notes, ["proof"]);
    assert!(scene.get(parent).role.is_open());
}

#[test]
fn lifecycles_decide_what_a_parent_does() {
    for (lifecycle, closes) in [
        (Lifecycle::Auto, true),
        (Lifecycle::Manual, false),
        (Lifecycle::Permanent, false),
        (Lifecycle::AutoReopen, true),
    ] {
        let mut scene = Scene::with_lifecycle(lifecycle);
        let parent = scene.typed("parent");
        let child = scene.child(parent, "child");
        scene.must(child, Trigger::Complete);
        assert_eq!(!scene.get(parent).role.is_open(), closes, "{lifecycle:?}");
        if closes {
            scene.child(parent, "late");
            let reopened = scene.get(parent).role == Role::Work;
            assert_eq!(reopened, lifecycle == Lifecycle::AutoReopen, "{lifecycle:?} with a new child");
        }
    }
}

#[test]
fn reopening_a_child_reopens_its_ancestors() {
    for workflow in [Workflow::task_orchestrator(), Workflow::standard()] {
        let mut scene = Scene::new(workflow);
        let root = scene.item("root");
        let middle = scene.child(root, "middle");
        let leaf = scene.child(middle, "leaf");
        scene.must(leaf, Trigger::Complete);
        assert!(!scene.get(root).role.is_open());
        let cascades = scene.must(leaf, Trigger::Reopen).cascades;
        assert_eq!(
            cascades.iter().map(|cascade| (cascade.item, cascade.to_role)).collect::<Vec<_>>(),
            [(middle, Role::Work), (root, Role::Work)]
        );
        scene.world.check();
    }
}

#[test]
fn an_aside_parent_is_not_closed_over() {
    let mut scene = Scene::task_orchestrator();
    let parent = scene.item("parent");
    let child = scene.child(parent, "child");
    scene.must(parent, Trigger::Block);
    let cascades = scene.must(child, Trigger::Complete).cascades;
    assert_eq!((cascades[0].applied, cascades[0].refusals[0].gate), (false, Gate::Transition));
}

#[test]
fn descendants_keep_a_parent_open_where_the_gate_is_on() {
    let mut scene = Scene::new(Workflow::standard());
    let root = scene.item("root");
    let middle = scene.child(root, "middle");
    let leaf = scene.child(middle, "leaf");
    for trigger in [Trigger::Complete, Trigger::Cancel] {
        let refused = scene.advance(root, trigger).expect_err("a leaf is open");
        assert_eq!(refused.refusals[0].gate, Gate::Descendants);
        assert!(refused.refusals[0].open_items.contains(&middle));
    }
    let closed = scene.close_beneath(root, false);
    assert!(closed.iter().all(|(_, closed)| *closed));
    assert_eq!(closed.iter().map(|(item, _)| *item).collect::<Vec<_>>(), [leaf, middle], "children before parents");
    assert!(scene.get(root).role.is_open(), "the root is its owner's to close");
    scene.must(root, Trigger::Complete);
}

#[test]
fn a_claim_ends_when_its_item_is_closed() {
    let mut scene = Scene::task_orchestrator();
    let item = scene.item("x");
    scene.claim(item, "ann").expect("nobody holds it");
    scene.advance_as(item, Trigger::Complete, Some("ann")).expect("she holds it");
    assert_eq!(scene.get(item).claim, None);
}

#[test]
fn a_holder_who_writes_keeps_its_lease() {
    let mut scene = Scene::task_orchestrator();
    let item = scene.item("x");
    scene.claim(item, "ann").expect("nobody holds it");
    let first = scene.get(item).claim.clone().expect("a claim");
    scene.world.pass(600);
    scene.advance_as(item, Trigger::Start, Some("ann")).expect("she holds it");
    let after = scene.get(item).claim.clone().expect("a claim");
    assert!(after.expires_at > first.expires_at);
    assert_eq!((after.claimed_at, after.original_claimed_at), (first.claimed_at, first.original_claimed_at));
    scene.world.pass(800);
    assert!(scene.claim(item, "bob").is_err(), "the lease runs 900 seconds from the last write");
}

#[test]
fn a_stale_fence_writes_nothing_whoever_holds_the_item_now() {
    for released in [false, true] {
        let mut scene = Scene::task_orchestrator();
        let item = scene.item("x");
        let stale = scene.claim(item, "ann").expect("nobody holds it").fence;
        scene.world.pass(901);
        scene.claim(item, "bob").expect("her lease ran out");
        if released {
            scene.release(item, "bob");
        }
        let before = scene.get(item).clone();
        for trigger in Trigger::USER {
            let refused = scene.advance_fenced(item, trigger, "ann", stale).expect_err("the fence is stale");
            assert!(refused.refusals.iter().any(|refusal| refusal.reason == Some(Reason::ClaimLost)), "{trigger}");
        }
        assert_eq!(scene.edit_fenced(item, "ann", stale).expect_err("stale").reason, Reason::ClaimLost);
        assert_eq!(scene.note_fenced(item, "ann", stale).expect_err("stale").reason, Reason::ClaimLost);
        assert_eq!(*scene.get(item), before);
    }
}

#[test]
fn a_move_that_only_a_claim_is_in_the_way_of_may_be_tried_again() {
    let mut scene = Scene::with_schema(Workflow::task_orchestrator(), &[("plan", Role::Queue)]);
    let item = scene.typed("x");
    scene.claim(item, "ann").expect("nobody holds it");
    let refused = scene.advance_as(item, Trigger::Block, Some("bob")).expect_err("ann holds it");
    assert_eq!((refused.kind, refused.reason), (Kind::Transient, Reason::AlreadyClaimed));
    assert!(refused.retry_after_ms.is_some_and(|wait| wait <= 900_000), "{refused:?}");
    let refused = scene.advance_as(item, Trigger::Start, Some("bob")).expect_err("and the plan is missing");
    assert_eq!((refused.kind, refused.reason), (Kind::Permanent, Reason::AlreadyClaimed));
    assert_eq!(refused.retry_after_ms, None, "to wait is not enough");
    assert!(refused.refusals.iter().any(|refusal| refusal.retry_after_ms.is_some()), "{refused:?}");
    let refused = scene.advance_as(item, Trigger::Start, Some("ann")).expect_err("the plan is missing");
    assert_eq!((refused.kind, refused.retry_after_ms), (Kind::Permanent, None));
}

#[test]
fn a_forged_fence_is_refused() {
    let mut scene = Scene::task_orchestrator();
    let item = scene.item("x");
    let mut fence = scene.claim(item, "ann").expect("nobody holds it").fence;
    fence.0 += 1;
    let refused = scene.edit_fenced(item, "ann", fence).expect_err("nobody was given this fence");
    assert_eq!(refused.reason, Reason::ForeignClaim);
}

#[test]
fn closing_a_subtree_never_closes_over_an_open_part() {
    for cancel in [false, true] {
        let mut scene = Scene::new(Workflow::standard());
        let root = scene.item("root");
        let middle = scene.child(root, "middle");
        let leaf = scene.child(middle, "leaf");
        scene.claim(leaf, "ann").expect("nobody holds it");
        let closed = scene.close_beneath(root, cancel);
        assert_eq!(closed, [(leaf, false), (middle, false)], "the leaf is ann's, so its parent stays open too");
        scene.world.check();
    }
}

pub(crate) fn move_to(
    scene: &mut Scene,
    item: docket_core::model::ItemId,
    status: &str,
) -> Result<(), docket_core::Error> {
    let target = docket_core::workflow::Target::Status(docket_core::testing::name(status));
    scene.advance_by(item, target, None, None).map(|_| ())
}

#[test]
fn no_gate_is_walked_around_by_way_of_blocked() {
    let mut scene = Scene::with_schema(Workflow::standard(), &[("plan", Role::Queue), ("proof", Role::Work)]);
    let blocker = scene.item("blocker");
    let item = scene.typed("x");
    scene.link(blocker, item, None);
    scene.must(item, Trigger::Block);
    for (status, expected) in
        [("in_progress", vec![Gate::Dependencies, Gate::Notes]), ("in_review", vec![Gate::Transition])]
    {
        let refused = move_to(&mut scene, item, status).expect_err("it was in the queue, and its blocker is open");
        assert_eq!(refused.refusals.iter().map(|refusal| refusal.gate).collect::<Vec<_>>(), expected, "{status}");
    }
    move_to(&mut scene, item, "ready").expect("back to the queue");
}

#[test]
fn moving_about_inside_blocked_keeps_where_it_came_from() {
    let mut workflow = Workflow::standard();
    let stuck = docket_core::workflow::Status {
        name: docket_core::testing::name("stuck"),
        role: Role::Blocked,
        claimable: true,
        outcome: None,
    };
    workflow.statuses.push(stuck);
    let mut scene = Scene::new(workflow);
    let item = scene.item("x");
    scene.must(item, Trigger::Start);
    scene.must(item, Trigger::Block);
    move_to(&mut scene, item, "stuck").expect("sideways");
    assert_eq!(scene.must(item, Trigger::Resume).to_status.as_str(), "in_progress");
}
