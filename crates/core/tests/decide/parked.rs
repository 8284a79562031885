//! The status where an item waits for an answer: questions lead there, and nothing else does.

use docket_core::command::{NewItem, SetProject};
use docket_core::model::{Event, Role, Slug, Trigger, Verb};
use docket_core::replay::Replayed;
use docket_core::testing::rows::event;
use docket_core::testing::{name, title};
use docket_core::workflow::{ChecksWhen, Stored, Target, Workflow};
use docket_core::{Error, Gate, Reason};

use crate::moves::move_to;
use crate::scene::Scene;

/// Where nobody was asked, nobody's inbox would show that it waits.
#[test]
fn only_a_question_moves_an_item_where_it_waits_for_an_answer() {
    for workflow in [Workflow::standard(), Workflow::foresttasks()] {
        let parked = workflow.parked.clone().expect("a status for questions");
        let mut scene = Scene::new(workflow.clone());
        for role in [Role::Queue, Role::Work, Role::Review, Role::Terminal] {
            // Where only reviewed work comes, what was done before it was written down may stand.
            let there = NewItem { role: Some(role), done_before: true, ..NewItem::titled(title(role.as_str())) };
            let item = scene.create(there).expect("an item");
            let refused = move_to(&mut scene, item, parked.as_str()).expect_err("nothing was asked");
            assert_eq!(refused.refusals[0].gate, Gate::Transition, "{role}");
            assert!(refused.refusals[0].remedy.contains("ask"), "{:?}", refused.refusals);
        }
        let new = NewItem { status: Some(parked.clone()), ..NewItem::titled(title("x")) };
        let refused = scene.create(new).expect_err("nothing was asked");
        assert_eq!((refused.reason, refused.field.as_deref()), (Reason::BadValue, Some("status")));
        scene.world.check();
    }
}

#[test]
fn an_item_is_put_aside_where_no_answers_are_waited_for() {
    let mut scene = Scene::new(Workflow::standard());
    let item = scene.item("x");
    assert_eq!(scene.must(item, Trigger::Block).to_status.as_str(), "blocked");
    let made = scene.item_in("y", Role::Blocked);
    assert_eq!(scene.get(made).status.as_str(), "blocked");
    // Where questions have no status of their own, they share that one.
    let mut scene = Scene::new(Workflow { parked: None, ..Workflow::standard() });
    let item = scene.item("x");
    move_to(&mut scene, item, "waiting_for_input").expect("a status like another");
    // What foresttasks calls blocked follows from blockers alone.
    let mut scene = Scene::new(Workflow::foresttasks());
    let item = scene.item("x");
    for trigger in [Trigger::Block, Trigger::Hold] {
        let refused =
            scene.advance_by(item, Target::Trigger(trigger), None, None).expect_err("there is no such status");
        assert!(refused.refusals[0].remedy.contains("ask"), "{:?}", refused.refusals);
    }
    let new = NewItem { role: Some(Role::Blocked), ..NewItem::titled(title("y")) };
    assert_eq!(scene.create(new).expect_err("there is none").reason, Reason::UnknownValue);
}

/// Who waits would stand elsewhere, and who was put aside would be taken for somebody who waits.
#[test]
fn which_status_waits_for_answers_does_not_change_under_items() {
    let change = |scene: &mut Scene, workflow: Workflow| -> Result<(), Error> {
        let (slug, workflow) = (Slug::parse("test").expect("a slug"), Some(workflow));
        let set =
            SetProject { slug, name: None, prefix: None, workflow, schemas: None, archived: None, must_be_new: false };
        let call = scene.world.call(None);
        scene.world.run(&call, &set).map(|_| ())
    };
    let parked = |status: Option<&str>| Workflow { parked: status.map(name), ..Workflow::standard() };
    let (own, shared) = (Some("waiting_for_input"), Some("blocked"));
    for (before, after, may) in [
        (own, None, false),
        (own, shared, false),
        (shared, own, false),
        (None, own, false),
        (None, shared, false),
        // It is the same one, and no longer for questions alone.
        (shared, None, true),
    ] {
        let mut scene = Scene::new(parked(before));
        change(&mut scene, parked(after)).expect("there is nothing in it yet");
        let mut scene = Scene::new(parked(before));
        scene.item("x");
        let changed = change(&mut scene, parked(after));
        assert_eq!(
            changed.map_err(|error| error.reason),
            if may { Ok(()) } else { Err(Reason::BadValue) },
            "{before:?} {after:?}"
        );
        let deeper =
            Workflow { max_depth: 3, ..scene.world.projects.values().next().expect("a project").workflow.clone() };
        change(&mut scene, deeper).expect("what is not about it");
    }
}

/// A stored workflow of a preset follows the preset, in a row and in the event that says the same; one that says all of itself is
/// what it says.
#[test]
fn a_project_of_before_is_the_same_by_its_record() {
    let mut standard = Workflow::standard();
    standard.gates.remove(&Gate::Checks);
    let cairn = Workflow { checks_when: ChecksWhen::Success, ..Workflow::cairn() };
    let foresttasks = Workflow { statuses: Workflow::standard().statuses, ..Workflow::foresttasks() };
    for (before, now) in [
        (standard, Workflow::standard()),
        (cairn, Workflow::cairn()),
        (foresttasks.clone(), foresttasks),
        (Workflow::foresttasks(), Workflow::foresttasks()),
    ] {
        let scene = Scene::new(before.clone());
        let project = scene.world.projects.values().next().expect("a project");
        for (is_old, read) in [(false, &before), (true, &now)] {
            let mut data = serde_json::to_value(project).expect("JSON");
            if is_old {
                data["workflow"].as_object_mut().expect("an object").remove("checksWhen");
            }
            let row = serde_json::from_value::<Stored>(data["workflow"].clone()).expect("a workflow");
            assert_eq!(row.0, *read);
            let event = Event { data, ..event(project.id, None, Verb::ProjectSet, project.created_at) };
            let mut replayed = Replayed::default();
            replayed.apply(&event).expect("a project");
            assert_eq!(replayed.projects[&project.id].workflow, *read, "as the row");
        }
    }
}

/// Foresttasks had a status `blocked` once. A project which has it keeps it, so that what it is asked for, with other switches too,
/// can be done, and what stands there stands somewhere.
#[test]
fn a_project_of_before_takes_the_switches_of_its_preset() {
    let before = Workflow { statuses: Workflow::standard().statuses, max_depth: 4, ..Workflow::foresttasks() };
    let mut scene = Scene::new(before.clone());
    let item = scene.item_in("x", Role::Blocked);
    assert_eq!(scene.get(item).status.as_str(), "blocked");
    for workflow in [Workflow::foresttasks(), Workflow { max_depth: 5, ..Workflow::foresttasks() }] {
        let slug = Slug::parse("test").expect("a slug");
        let depth = workflow.max_depth;
        let (name, prefix, schemas, archived) = (None, None, None, None);
        let set = SetProject { slug, name, prefix, workflow: Some(workflow), schemas, archived, must_be_new: false };
        let call = scene.world.call(None);
        let made = scene.world.run(&call, &set).expect("the status stays");
        assert_eq!(made.project.workflow, Workflow { max_depth: depth, ..before.clone() });
    }
    scene.world.check();
}

/// Foresttasks had a status `blocked` once: what stands in it gets out like from any other.
#[test]
fn an_item_in_a_status_that_went_away_moves_on() {
    for (target, to) in [
        (Target::Trigger(Trigger::Resume), "in_progress"),
        (Target::Status(name("ready")), "ready"),
        (Target::Trigger(Trigger::Cancel), "cancelled"),
    ] {
        let mut scene = Scene::new(Workflow::foresttasks());
        let item = scene.item_in("x", Role::Work);
        let row = scene.world.items.get_mut(&item).expect("an item");
        row.previous_status = Some(row.status.clone());
        row.status = name("blocked");
        row.role = Role::Blocked;
        let derived = scene.world.derived(&scene.world.items[&item]);
        scene.world.items.get_mut(&item).expect("an item").derived = derived;
        let moved = scene.advance_by(item, target, None, None).expect("a way out");
        assert_eq!(moved.to_status.as_str(), to);
    }
}
