//! What comes back to whoever is next: parents that their children leave, work that is reviewed, flags; and what is refused
//! rather than counted twice or lost.

use docket_core::command::{Change, Create, Edit, Finish, NewCriterion, NewItem, Patch, Wanted};
use docket_core::engine::Call;
use docket_core::model::{Authority, ItemId, ItemRef, Name, Role, Tag, Trigger};
use docket_core::readiness::{What, obstacles};
use docket_core::testing::{World, name, title};
use docket_core::workflow::{Lifecycle, Target, Workflow};
use docket_core::{Error, Gate, Reason};

use crate::scene::Scene;
use crate::words::{line, text};

fn to(status: &str) -> Target {
    Target::Status(name(status))
}

/// Whether an item waits for nothing, as those are told who ask why it is not handed out.
fn is_ready(scene: &Scene, item: ItemId) -> bool {
    let item = scene.get(item);
    let workflow = &scene.world.projects[&item.project].workflow;
    obstacles(workflow, item, std::iter::empty(), |_| None, scene.world.now).is_empty()
}

fn next(scene: &mut Scene) -> Option<ItemId> {
    let offer = scene.start_next("eve", Wanted::default());
    offer.item.map(|item| item.id)
}

#[test]
fn a_parent_that_its_children_leave_is_handed_out() {
    for workflow in [Workflow::standard(), Workflow::foresttasks()] {
        let mut scene = Scene::new(workflow);
        let parent = scene.item("parent");
        scene.criteria(parent, vec![line("all of it")]);
        let (a, b) = (scene.child(parent, "a"), scene.child(parent, "b"));
        for child in [a, b] {
            scene.begin(child, "ann").expect("begun");
            assert_eq!(scene.get(parent).role, Role::Work);
            assert!(!is_ready(&scene, parent), "what lies beneath it is being done");
            for status in ["in_review", "done"] {
                scene.advance_by(child, to(status), Some("ann"), None).expect("moved");
            }
        }
        assert!(scene.get(parent).role == Role::Work && is_ready(&scene, parent));
        assert_eq!(next(&mut scene), Some(parent));
        scene.world.check();
    }
}

#[test]
fn what_somebody_does_without_a_claim_is_not_handed_out_and_is_not_said_to_be_ready() {
    let mut scene = Scene::new(Workflow::standard());
    let item = scene.item("mine");
    scene.must(item, Trigger::Start);
    let seen = scene.get(item).clone();
    let told = obstacles(&Workflow::standard(), &seen, std::iter::empty(), |_| None, scene.world.now);
    assert_eq!(told.iter().map(|one| &one.what).collect::<Vec<_>>(), [&What::UnderWay]);
    assert_eq!(next(&mut scene), None);
    // Whoever claims it by name has it, and what it leaves is ready.
    scene.claim(item, "ann").expect("a claim");
    scene.release(item, "ann");
    assert!(is_ready(&scene, item));
    assert_eq!(next(&mut scene), Some(item));
}

#[test]
fn a_container_that_stays_open_for_good_is_nobodys_next_work() {
    let mut scene = Scene::with_lifecycle(Lifecycle::Permanent);
    let parent = scene.typed("parent");
    let child = scene.child(parent, "child");
    scene.must(child, Trigger::Start);
    scene.must(child, Trigger::Complete);
    assert_eq!((scene.get(parent).role, is_ready(&scene, parent)), (Role::Work, false));
}

#[test]
fn intake_stays_where_it_is_when_something_beneath_it_starts() {
    for workflow in [Workflow::standard(), Workflow::foresttasks()] {
        let mut scene = Scene::new(workflow);
        let new = NewItem { status: Some(name("braindump")), ..NewItem::titled(title("note")) };
        let parent = scene.create(new).expect("an item");
        let child = scene.child(parent, "child");
        assert!(scene.must(child, Trigger::Start).cascades.is_empty());
        assert_eq!(scene.get(parent).status, name("braindump"));
    }
}

#[test]
fn who_moves_work_into_review_gives_it_back() {
    for (workflow, keeps) in [
        (Workflow::standard(), false),
        (Workflow::foresttasks(), false),
        // There a claim says whose it is and keeps nobody out.
        (Workflow::cairn(), true),
    ] {
        let mut scene = Scene::new(workflow);
        let item = scene.item("one");
        scene.claim(item, "ann").expect("a claim");
        scene.advance_by(item, to("in_progress"), Some("ann"), None).expect("begun");
        assert!(scene.get(item).claim.is_some(), "who begins it holds it");
        scene.advance_by(item, to("in_review"), Some("ann"), None).expect("moved");
        assert_eq!(scene.get(item).claim.is_some(), keeps);
        scene.advance_by(item, to("done"), Some("bob"), None).expect("a person closes it");
        scene.world.check();
    }
}

/// Where schemas say what review is, it is a part of the work: whoever holds it goes on.
#[test]
fn a_review_that_is_a_phase_of_the_work_keeps_its_holder() {
    let mut scene = Scene::with_schema(Workflow::task_orchestrator(), &[("verdict", Role::Review)]);
    let item = scene.typed("job");
    scene.claim(item, "ann").expect("a claim");
    for role in [Role::Work, Role::Review] {
        assert_eq!(scene.advance_as(item, Trigger::Start, Some("ann")).expect("moved").to_role, role);
    }
    assert!(scene.get(item).claim.is_some());
    let refused = scene.advance_as(item, Trigger::Cancel, Some("bob")).expect_err("it is held");
    assert_eq!(refused.refusals[0].gate, Gate::Ownership);
}

#[test]
fn a_flag_goes_up_and_down_whoever_holds_the_item() {
    let mut scene = Scene::new(Workflow::standard());
    let item = scene.item("one");
    scene.claim(item, "ann").expect("a claim");
    let mut edit = |patch: Patch| {
        let call = scene.world.call(Some("bob"));
        scene.world.run(&call, &Edit { project: World::project(), patches: vec![patch], atomic: true }).map(|_| ())
    };
    let of = || Patch::of(item.into());
    edit(Patch { attention: Change::Set(text("look")), ..of() }).expect("flagged");
    edit(Patch { attention: Change::Clear, ..of() }).expect("looked at");
    let both = Patch { attention: Change::Clear, title: Some(title("mine")), ..of() };
    assert_eq!(edit(both).expect_err("it is held").reason, Reason::AlreadyClaimed);
    assert_eq!(edit(of()).map_err(|error| error.reason), Ok(()), "nothing is changed");
}

#[test]
fn what_a_check_is_to_show_takes_no_agents_word() {
    let mut scene = Scene::new(Workflow::foresttasks());
    let item = scene.item("one");
    scene.criteria(item, vec![NewCriterion { verifier: Some(Authority::Check), ..line("it runs") }]);
    scene.begin(item, "ann").expect("begun");
    let refused = scene.verify(item, &[(1, true)], Authority::Agent).expect_err("a check is to show it");
    assert_eq!(refused.refusals[0].reason, Some(Reason::NotYours), "{refused}");
    scene.advance_by(item, to("in_review"), Some("ann"), None).expect("moved");
    let refused = scene.advance_by(item, to("done"), None, None).expect_err("not shown");
    let criteria = refused.refusals.iter().find(|refusal| refusal.gate == Gate::Criteria).expect("the criterion");
    assert!(criteria.remedy.contains("check") && criteria.remedy.contains("sign off"), "{}", criteria.remedy);
    scene.verify(item, &[(1, true)], Authority::Human).expect("a person may");
    scene.advance_by(item, to("done"), None, None).expect("done");
}

#[test]
fn nothing_is_made_where_only_reviewed_work_comes() {
    let made = |workflow: Workflow, status: &str, done_before: bool| {
        let new = NewItem { status: Some(name(status)), done_before, ..NewItem::titled(title("t")) };
        Scene::new(workflow).create(new).map(|_| ()).map_err(|error| error.field)
    };
    for status in ["in_review", "done"] {
        assert_eq!(made(Workflow::foresttasks(), status, false), Err(Some("status".to_owned())));
        assert_eq!(made(Workflow::foresttasks(), status, true), Ok(()), "it was ticked off");
        assert_eq!(made(Workflow::standard(), status, false), Ok(()));
    }
    assert_eq!(made(Workflow::foresttasks(), "cancelled", false), Ok(()));
}

#[test]
fn a_finish_that_names_no_end_says_what_is_missing() {
    let mut scene = Scene::new(Workflow::foresttasks());
    let item = scene.item("one");
    let finish = |preview| Finish {
        project: World::project(),
        item: item.into(),
        comment: None,
        links: Vec::new(),
        proofs: Vec::new(),
        learnings: Vec::new(),
        target: None,
        fence: None,
        preview,
    };
    for role in [Role::Queue, Role::Review] {
        if role == Role::Review {
            for status in ["in_progress", "in_review"] {
                scene.advance_by(item, to(status), None, None).expect("moved");
            }
        }
        let call: Call = scene.world.call(Some("ann"));
        let told = scene.world.run(&call, &finish(true)).expect("a preview");
        assert_eq!((told.applied, told.blockers.len()), (false, 1), "{role:?}");
        let refused = scene.world.run(&call, &finish(false)).expect_err("no end is named");
        assert_eq!((refused.reason, refused.field.as_deref()), (Reason::NotReady, Some("to")));
        assert!(!refused.message.contains("--to"), "each surface has its own words: {}", refused.message);
    }
}

#[test]
fn what_is_said_twice_is_kept_or_counted_once() {
    let mut scene = Scene::new(Workflow::standard());
    let tag = |text: &str| Tag::parse(text).expect("a tag");
    let tags = vec![tag("a"), tag("b"), tag("a")];
    let new = NewItem { tags: tags.clone(), ..NewItem::titled(title("t")) };
    let item = scene.create(new).expect("an item");
    assert_eq!(scene.get(item).tags, [tag("a"), tag("b")]);
    let patch = |item: ItemRef| Patch { tags: Some(tags.clone()), ..Patch::of(item) };
    let mut edit = |patches: Vec<Patch>| {
        let call = scene.world.call(None);
        scene.world.run(&call, &Edit { project: World::project(), patches, atomic: true }).map(|edited| edited.items)
    };
    let edited = edit(vec![patch(item.into())]).expect("edited").remove(0).expect("edited");
    assert_eq!(edited.tags, [tag("a"), tag("b")]);
    let twice: Error = edit(vec![patch(item.into()), patch(item.into())]).expect_err("the same twice");
    assert_eq!((twice.reason, twice.field.as_deref()), (Reason::Duplicate, Some("items[1]")));
    let other = Patch { title: Some(title("other")), ..Patch::of(item.into()) };
    edit(vec![patch(item.into()), other]).expect("two changes of one item are no slip");
}

#[test]
fn of_many_that_are_made_the_bad_one_is_named() {
    let mut scene = Scene::new(Workflow::standard());
    let bad = |status: &str| NewItem { status: Some(name(status)), ..NewItem::titled(title("t")) };
    let create = |items: Vec<NewItem>| Create {
        project: World::project(),
        items,
        edges: vec![],
        notes: vec![],
        blank_notes: false,
        room_below: false,
        atomic: true,
    };
    let mut field = |items: Vec<NewItem>| {
        let call = scene.world.call(None);
        scene.world.run(&call, &create(items)).expect_err("a bad status")
    };
    let slip: Name = name("redy");
    let many = field(vec![bad("ready"), bad(slip.as_str())]);
    assert_eq!(many.field.as_deref(), Some("items[1].status"));
    assert!(many.message.contains("did you mean \"ready\""), "{}", many.message);
    assert_eq!(field(vec![bad(slip.as_str())]).field.as_deref(), Some("status"));
}
