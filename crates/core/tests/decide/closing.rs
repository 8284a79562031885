//! Ends: a tree that is closed by its gates, a status with a place, and which gate says no.

use docket_core::command::{Arrange, CloseTree, NewItem, Parent, What};
use docket_core::model::{Authority, Role, Trigger, Verb};
use docket_core::testing::{World, name, title};
use docket_core::workflow::{Target, Transitions, Workflow};
use docket_core::{Error, Gate};

use crate::checks::{command, set};
use crate::scene::Scene;
use crate::words::line;

fn gates(error: &Error) -> Vec<Gate> {
    error.refusals.iter().map(|refusal| refusal.gate).collect()
}

#[test]
fn a_tree_is_closed_in_order_each_by_its_own_gates() {
    let mut scene = Scene::with_schema(Workflow::standard(), &[("proof", Role::Queue)]);
    let root = scene.item("root");
    let (first, second) = (scene.child(root, "first"), scene.child(root, "second"));
    scene.link(second, first, None);
    let parent = Some(Parent::Existing(root.into()));
    let owing = NewItem { parent, item_type: Some(name("job")), ..NewItem::titled(title("owing")) };
    let owing = scene.create(owing).expect("an item");
    let close = || CloseTree { project: World::project(), what: What::Tree(root.into()), cancel: false, fence: None };
    let call = scene.world.call(None);
    let closed = scene.world.run(&call, &close()).expect("an answer");
    let role = |scene: &Scene, id| scene.get(id).role;
    assert_eq!(closed.results.len(), 4, "{closed:?}");
    assert_eq!([role(&scene, first), role(&scene, second)], [Role::Terminal; 2], "blockers first");
    assert!(scene.get(owing).role.is_open() && scene.get(root).role.is_open(), "its note is missing: {closed:?}");
    let cancel = CloseTree { cancel: true, ..close() };
    scene.world.run(&call, &cancel).expect("given up");
    assert_eq!([role(&scene, owing), role(&scene, root)], [Role::Terminal; 2]);
    scene.world.check();
}

#[test]
fn a_status_and_a_place_are_one_unit() {
    let mut scene = Scene::new(Workflow::standard());
    let item = scene.item("one");
    scene.criteria(item, vec![line("a")]);
    let arrange = |status: &str, position| Arrange {
        project: World::project(),
        item: item.into(),
        status: name(status),
        position,
    };
    let call = scene.world.call(Some("ann"));
    let stays = scene.world.run(&call, &arrange("backlog", 3)).expect("a place");
    assert_eq!((stays.moved, scene.get(item).position), (None, Some(3)));
    let moved = scene.world.run(&call, &arrange("in_progress", 4)).expect("a move");
    assert_eq!(moved.moved.map(|moved| moved.to_role), Some(Role::Work));
    let refused = scene.world.run(&call, &arrange("in_review", 5)).expect_err("nothing is shown");
    assert_eq!(gates(&refused), [Gate::Criteria]);
    assert_eq!((scene.get(item).role, scene.get(item).position), (Role::Work, Some(4)), "neither was done");
    scene.world.check();
}

#[test]
fn what_needs_review_and_what_waits_for_an_answer_are_told_apart_from_no_such_move() {
    let mut scene = Scene::new(Workflow::foresttasks());
    let item = scene.item("one");
    let to = |status: &str| Target::Status(name(status));
    for target in [Target::Trigger(Trigger::Complete), to("done")] {
        let refused = scene.advance_by(item, target, None, None).expect_err("not reviewed");
        assert_eq!(gates(&refused), [Gate::Review], "{refused:?}");
    }
    for status in ["in_review", "shipped"] {
        let refused = scene.advance_by(item, to(status), None, None).expect_err("no such move");
        assert_eq!(gates(&refused), [Gate::Transition], "{refused:?}");
    }
    scene.ask(item, "ann").expect("a question");
    let refused = scene.advance(item, Trigger::Start).expect_err("it waits");
    assert_eq!(gates(&refused), [Gate::Question]);
}

#[test]
fn work_that_was_given_up_is_not_called_done_past_a_gate() {
    let workflow = Workflow { transitions: Transitions::Free, ..Workflow::standard() };
    let mut scene = Scene::with_schema(workflow, &[("proof", Role::Work)]);
    let blocker = scene.item("blocker");
    let item = scene.typed("x");
    scene.link(blocker, item, None);
    scene.must(item, Trigger::Cancel);
    let done = || Target::Status(name("done"));
    let refused = scene.advance_by(item, done(), None, None).expect_err("nothing that it waits for is there");
    assert_eq!(gates(&refused), [Gate::Dependencies, Gate::Notes]);
    scene.note(item, "proof", "words");
    scene.must(blocker, Trigger::Complete);
    scene.advance_by(item, done(), None, None).expect("everything is there");
    scene.world.check();
}

/// Where every status leads to every other, closed work may be put aside.
#[test]
fn closed_work_that_is_put_aside_is_open_again() {
    let workflow = Workflow { transitions: Transitions::Free, ..Workflow::standard() };
    let mut scene = Scene::with_schema(workflow, &[("proof", Role::Work)]);
    let to = |status: &str| Target::Status(name(status));
    let (blocker, item) = (scene.item("blocker"), scene.typed("x"));
    scene.link(blocker, item, None);
    scene.must(item, Trigger::Cancel);
    scene.advance_by(item, to("blocked"), None, None).expect("put aside");
    let refused = scene.advance_by(item, to("done"), None, None).expect_err("nothing that it waits for is there");
    assert_eq!(gates(&refused), [Gate::Dependencies, Gate::Notes]);
    scene.world.check();
    let parent = scene.item("parent");
    let child = scene.child(parent, "child");
    scene.must(child, Trigger::Complete);
    assert!(!scene.get(parent).role.is_open(), "it closed with its last child");
    let moved = scene.advance_by(child, to("blocked"), None, None).expect("put aside");
    assert_eq!(moved.cascades.iter().map(|cascade| cascade.item).collect::<Vec<_>>(), [parent]);
    assert!(scene.get(parent).role.is_open());
    scene.world.check();
}

/// Whoever could give a task up past its checks could bring on whatever waits for it.
#[test]
fn where_the_workflow_says_so_checks_look_at_every_end() {
    for (workflow, may) in [(Workflow::cairn(), false), (Workflow::standard(), true)] {
        let mut scene = Scene::new(workflow);
        let (item, next) = (scene.item("checked"), scene.item("next"));
        scene.link(item, next, None);
        set(&mut scene, item, vec![command("false")], Authority::Agent, Some("ann")).expect("checks");
        let given_up = Target::Status(name("cancelled"));
        let moved = scene.advance_by(item, given_up, None, None);
        assert_eq!(
            moved.map(|moved| moved.to_role).map_err(|error| gates(&error)),
            if may { Ok(Role::Terminal) } else { Err(vec![Gate::Checks]) }
        );
        assert_eq!(scene.get(next).derived.blockers, u32::from(!may));
        if may {
            continue;
        }
        let call = scene.world.call(None);
        let close = CloseTree { project: World::project(), what: What::Whole(item.into()), cancel: true, fence: None };
        assert_eq!(gates(&scene.world.run(&call, &close).expect_err("by force")), [Gate::Checks]);
        // Whoever takes the check away may give the task up.
        set(&mut scene, item, vec![], Authority::Human, None).expect("no checks");
        scene.advance_by(item, Target::Status(name("cancelled")), None, None).expect("nothing is to be shown");
        assert_eq!(scene.get(next).derived.blockers, 0);
        scene.world.check();
    }
}

#[test]
fn a_close_by_force_says_so_on_record() {
    let mut scene = Scene::with_schema(Workflow::standard(), &[("proof", Role::Work)]);
    let (free, owing) = (scene.item("free"), scene.typed("owing"));
    scene.must(free, Trigger::Complete);
    let close = CloseTree { project: World::project(), what: What::Whole(owing.into()), cancel: false, fence: None };
    let call = scene.world.call(None);
    scene.world.run(&call, &close).expect("closed past the note");
    let moved = scene.world.events.iter().filter(|event| event.verb == Verb::Moved);
    let forced: Vec<_> = moved.map(|event| event.data.get("forced").cloned()).collect();
    assert_eq!(forced, [None, Some(true.into())]);
    scene.world.check();
}

#[test]
fn a_parent_that_was_made_at_work_keeps_no_ancestor_in_the_queue() {
    let mut scene = Scene::task_orchestrator();
    let root = scene.item("root");
    let new = NewItem {
        role: Some(Role::Work),
        parent: Some(Parent::Existing(root.into())),
        ..NewItem::titled(title("middle"))
    };
    let middle = scene.create(new).expect("an item");
    let leaf = scene.child(middle, "leaf");
    assert_eq!(scene.get(root).role, Role::Queue);
    let cascades = scene.must(leaf, Trigger::Start).cascades;
    assert_eq!(
        cascades.iter().map(|cascade| (cascade.item, cascade.to_role)).collect::<Vec<_>>(),
        [(root, Role::Work)]
    );
    scene.must(root, Trigger::Block);
    let other = scene.child(middle, "other");
    assert!(scene.must(other, Trigger::Start).cascades.is_empty(), "what was put aside stays there");
}
