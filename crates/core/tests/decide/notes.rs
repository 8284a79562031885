//! Notes: one per key, written and removed, and what the item owes afterwards.

use docket_core::command::{Edit, NotePut, Patch, PutNotes, RemoveNotes};
use docket_core::model::{Fence, ItemRef, NoteId, Role, Text, Trigger};
use docket_core::testing::{World, name, required};
use docket_core::workflow::{NoteLimits, Schema, Schemas, Trait, Workflow};
use docket_core::{Code, Reason};

use crate::scene::Scene;

#[test]
fn writing_a_key_again_replaces_the_note_and_keeps_its_id() {
    let mut scene = Scene::task_orchestrator();
    let item = scene.item("x");
    scene.note(item, "plan", "one");
    let first = scene.world.notes.values().next().expect("a note").clone();
    scene.world.pass(10);
    scene.note(item, "plan", "two");
    let second = scene.world.notes.values().next().expect("a note");
    assert_eq!(scene.world.notes.len(), 1);
    assert_eq!((second.id, second.created_at, second.body.as_str()), (first.id, first.created_at, "two"));
    assert!(second.modified_at > first.modified_at);
}

#[test]
fn what_is_owed_is_told_with_every_write() {
    let mut scene = Scene::with_schema(
        Workflow::task_orchestrator(),
        &[("plan", Role::Queue), ("risks", Role::Queue), ("proof", Role::Work)],
    );
    let item = scene.typed("x");
    let mut put = |key: &str| {
        let call = scene.world.call(None);
        let note = NotePut {
            item: item.into(),
            key: name(key),
            phase: None,
            body: Text::parse("words").expect("a text"),
            by: None,
            fence: None,
        };
        scene
            .world
            .run(&call, &PutNotes { project: World::project(), notes: vec![note], atomic: true })
            .expect("a note")
    };
    let after = put("plan").items.remove(&item).expect("the item").guide;
    assert_eq!(after.guidance.as_deref(), Some("how to write risks"));
    assert_eq!(after.progress.map(|progress| (progress.filled, progress.remaining, progress.total)), Some((1, 1, 2)));
    let after = put("risks").items.remove(&item).expect("the item").guide;
    assert_eq!((after.guidance, after.progress.map(|progress| progress.remaining)), (None, Some(0)));
}

#[test]
fn a_note_counts_in_its_own_phase_alone_and_comes_there_by_itself() {
    let mut scene = Scene::with_schema(Workflow::task_orchestrator(), &[("plan", Role::Queue), ("proof", Role::Work)]);
    let item = scene.typed("x");
    let put = |scene: &mut Scene, key: &str, phase: Option<Role>| {
        let call = scene.world.call(Some("ann"));
        let body = Text::parse("words").expect("a text");
        let note = NotePut { item: item.into(), key: name(key), phase, body, by: None, fence: None };
        let put = PutNotes { project: World::project(), notes: vec![note], atomic: true };
        scene.world.run(&call, &put).expect("a note")
    };
    let written = put(&mut scene, "plan", Some(Role::Review));
    assert_eq!(written.items[&item].guide.progress.map(|progress| (progress.filled, progress.remaining)), Some((0, 1)));
    let by = written.notes[0].as_ref().expect("a note").by.as_ref().expect("who wrote it");
    assert_eq!(by.actor.id.as_str(), "ann", "the actor of the call is told, for it was kept");
    for (trigger, missing) in [(Trigger::Start, vec!["plan"]), (Trigger::Complete, vec!["plan", "proof"])] {
        let refused = scene.advance(item, trigger).expect_err("the plan is elsewhere");
        assert_eq!(refused.refusals[0].missing_notes, missing, "{trigger}");
        assert!(refused.message.contains("plan (it is written for review phase, not for queue)"), "{refused}");
    }
    // Where no phase is said, the schema's is meant, also by whoever mends it.
    let written = put(&mut scene, "plan", None);
    assert_eq!(written.items[&item].guide.progress.map(|progress| (progress.filled, progress.remaining)), Some((1, 0)));
    assert_eq!(scene.must(item, Trigger::Start).to_role, Role::Work);
    put(&mut scene, "proof", None);
    assert_eq!(scene.must(item, Trigger::Start).to_role, Role::Terminal);
}

#[test]
fn notes_are_removed_by_id_by_key_and_all_at_once() {
    let mut scene = Scene::task_orchestrator();
    let item = scene.item("x");
    for key in ["a", "b", "c"] {
        scene.note(item, key, "words");
    }
    let id = scene.world.notes[&(item, name("a"))].id;
    let mut remove = |ids: Vec<NoteId>, key: Option<&str>, of: bool| {
        let call = scene.world.call(None);
        let of = of.then(|| (item.into(), key.map(name)));
        scene
            .world
            .run(&call, &RemoveNotes { project: World::project(), ids, of, missing_ok: false, fence: None })
            .expect("an answer")
    };
    let gone = remove(vec![id, id], None, false);
    assert_eq!((gone.removed, gone.failed.len()), (1, 0));
    assert_eq!(remove(vec![id], None, false).failed[0].1.code, Code::NotFound);
    assert_eq!(remove(vec![], Some("nothing"), true).removed, 0, "what is not there is gone");
    assert_eq!(remove(vec![], Some("b"), true).removed, 1);
    assert_eq!(remove(vec![], None, true).removed, 1);
    scene.world.check();
}

#[test]
fn an_item_that_is_not_there_may_count_as_one_without_notes() {
    let mut scene = Scene::task_orchestrator();
    let item = scene.item("x");
    scene.note(item, "a", "words");
    let id = scene.world.notes[&(item, name("a"))].id;
    let nowhere: ItemRef = "01900000-0000-7000-8000-00000000dead".parse().expect("an id");
    let digits = ItemRef::Prefix("ffffffff".to_owned());
    for (of, missing_ok, fence, told) in [
        (nowhere.clone(), false, None, None),
        (digits, true, None, None),
        (nowhere.clone(), true, Some(Fence(1)), None),
        (nowhere, true, None, Some(1)),
    ] {
        let call = scene.world.call(None);
        let remove = RemoveNotes { project: World::project(), ids: vec![id], of: Some((of, None)), missing_ok, fence };
        match (scene.world.run(&call, &remove), told) {
            (Ok(removed), told) => assert_eq!(Some(removed.removed), told),
            (Err(error), told) => assert_eq!((error.code, told), (Code::NotFound, None)),
        }
    }
    scene.world.check();
}

#[test]
fn traits_add_notes_and_relax_none() {
    let optional = docket_core::workflow::NoteRule { required: false, ..required("plan", Role::Queue) };
    let schemas = Schemas {
        types: [(
            "job".to_owned(),
            Schema { notes: vec![required("plan", Role::Queue)], default_traits: vec![name("safe")], lifecycle: None },
        )]
        .into(),
        traits: [
            ("safe".to_owned(), Trait { notes: vec![optional, required("threats", Role::Work)], needs: vec![] }),
            (
                "fast".to_owned(),
                Trait {
                    notes: vec![required("threats", Role::Queue), required("figures", Role::Review)],
                    needs: vec![],
                },
            ),
        ]
        .into(),
        ..Schemas::default()
    };
    let mut scene = Scene { world: World::new(Workflow::task_orchestrator(), schemas) };
    let new = docket_core::command::NewItem {
        item_type: Some(name("job")),
        traits: vec![name("fast"), name("unknown")],
        ..docket_core::command::NewItem::titled(docket_core::testing::title("x"))
    };
    let item = scene.create(new).expect("an item");
    let project = scene.world.projects.values().next().expect("a project");
    let resolved = project.schemas.resolve(scene.get(item)).expect("a schema");
    let rules: Vec<_> = resolved.notes.iter().map(|rule| (rule.key.as_str(), rule.phase, rule.required)).collect();
    assert_eq!(rules, [("plan", Role::Queue, true), ("threats", Role::Work, true), ("figures", Role::Review, true)]);
    assert!(resolved.has_review(), "a trait can bring a review phase");
}

#[test]
fn traits_hold_without_a_schema_and_those_of_the_project_for_all() {
    let safe = Trait { notes: vec![required("threats", Role::Queue)], needs: vec![] };
    let seen = Trait { notes: vec![required("seen", Role::Work)], needs: vec![] };
    let traits = [("safe".to_owned(), safe), ("seen".to_owned(), seen)].into();
    let schemas = Schemas { traits, ..Schemas::default() };
    let new = |traits: &[&str]| docket_core::command::NewItem {
        traits: traits.iter().copied().map(name).collect(),
        ..docket_core::command::NewItem::titled(docket_core::testing::title("x"))
    };
    for (everywhere, own, missing) in [
        (None, vec![], vec![]),
        (None, vec!["safe"], vec!["threats"]),
        (Some("seen"), vec!["safe"], vec!["seen", "threats"]),
    ] {
        let default_traits = everywhere.into_iter().map(name).collect();
        let schemas = Schemas { default_traits, ..schemas.clone() };
        let mut scene = Scene { world: World::new(Workflow::task_orchestrator(), schemas) };
        let item = scene.create(new(&own)).expect("an item");
        let refused =
            scene.advance(item, Trigger::Complete).err().map(|error| format!("{error:?}")).unwrap_or_default();
        assert_eq!(refused.is_empty(), missing.is_empty(), "{refused}");
        for key in missing {
            assert!(refused.contains(&format!("\"{key}\"")), "{key} in {refused}");
        }
    }
}

#[test]
fn what_a_trait_needs_its_items_need() {
    let staged = Trait { notes: vec![], needs: vec![name("staging"), name("database")] };
    let schemas = Schemas { traits: [("staged".to_owned(), staged)].into(), ..Schemas::default() };
    let mut scene = Scene { world: World::new(Workflow::task_orchestrator(), schemas) };
    let new = |text: &str, traits: Vec<docket_core::model::Name>| docket_core::command::NewItem {
        traits,
        needs: vec![name("database")],
        ..docket_core::command::NewItem::titled(docket_core::testing::title(text))
    };
    let first = scene.create(new("first", vec![name("staged")])).expect("an item");
    assert_eq!(scene.get(first).needs, [name("database"), name("staging")]);
    let second = scene.create(new("second", vec![])).expect("an item");
    assert_eq!(scene.get(second).needs, [name("database")]);
    let call = scene.world.call(None);
    let patch = Patch { traits: Some(vec![name("staged")]), ..Patch::of(second.into()) };
    let edit = Edit { project: World::project(), patches: vec![patch], atomic: true };
    scene.world.run(&call, &edit).expect("an edit");
    assert_eq!(scene.get(second).needs, [name("database"), name("staging")]);
    scene.world.check();
}

#[test]
fn a_body_longer_than_its_rule_is_told_or_refused() {
    for (limits, refused) in [(NoteLimits::Warn, false), (NoteLimits::Reject, true)] {
        let rule = docket_core::workflow::NoteRule { max_length: Some(3), ..required("plan", Role::Queue) };
        let types = [("default".to_owned(), Schema { notes: vec![rule], ..Schema::default() })].into();
        let schemas = Schemas { types, note_limits: limits, ..Schemas::default() };
        let mut scene = Scene { world: World::new(Workflow::task_orchestrator(), schemas) };
        let item = scene.item("x");
        let call = scene.world.call(None);
        let note = NotePut {
            item: item.into(),
            key: name("plan"),
            phase: None,
            body: Text::parse("long").expect("a text"),
            by: None,
            fence: None,
        };
        let put = scene.world.run(&call, &PutNotes { project: World::project(), notes: vec![note], atomic: true });
        match put {
            Ok(put) => assert!(!refused && put.notes[0].as_ref().expect("a note").warning.is_some()),
            Err(error) => assert!(refused && error.reason == Reason::TooLong),
        }
    }
}
