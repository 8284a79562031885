//! Knowledge: whose word counts, what is kept with a completion, and how much.

use std::sync::Arc;

use docket_core::access::{Access, Profile, Quotas};
use docket_core::command::{
    AddEntries, CiteEntries, EditEntry, Finish, Learning, NewItem, ReadEntry, RemoveEntries, ReviewEntries,
};
use docket_core::engine::Call;
use docket_core::model::{Authority, EntryId, EntryTie, ItemId, Source, Trigger};
use docket_core::testing::{World, name, title};
use docket_core::workflow::{Target, Workflow};
use docket_core::{Code, Error, Reason};

use crate::scene::Scene;
use crate::words::text;

fn learning(about: &str) -> Learning {
    Learning { title: title(about), body: text("what was learned"), tags: Vec::new() }
}

fn add(scene: &mut Scene, actor: Option<&str>, item: Option<ItemId>, authority: Authority) -> Result<EntryId, Error> {
    let call = scene.world.call(actor);
    let entries = vec![learning("one")];
    let add = AddEntries { project: World::project(), entries, item: item.map(Into::into), authority };
    scene.world.run(&call, &add).map(|added| added.entries[0])
}

fn complete(scene: &mut Scene, call: &Call, item: ItemId, learnings: Vec<Learning>) -> Result<Vec<EntryId>, Error> {
    let finish = Finish {
        project: World::project(),
        item: item.into(),
        comment: None,
        links: Vec::new(),
        proofs: Vec::new(),
        learnings,
        target: Some(Target::Trigger(Trigger::Complete)),
        fence: None,
        preview: false,
    };
    scene.world.run(call, &finish).map(|finished| finished.entries)
}

fn item(scene: &mut Scene) -> ItemId {
    scene.create(NewItem::titled(title("work"))).expect("an item")
}

#[test]
fn a_completion_keeps_what_was_learned_with_it_or_neither() {
    let mut scene = Scene::new(Workflow::execution());
    let item = item(&mut scene);
    let call = scene.world.call(Some("ann"));
    let blank = Learning { body: text("  "), ..learning("blank") };
    let refused = complete(&mut scene, &call, item, vec![learning("good"), blank]).expect_err("a blank text");
    assert_eq!((refused.reason, refused.field.as_deref()), (Reason::Blank, Some("learnings[1].body")));
    assert!(scene.world.entries.is_empty() && scene.world.items[&item].role.is_open(), "nothing was written");
    let kept = complete(&mut scene, &call, item, vec![learning("a"), learning("b")]).expect("done");
    assert_eq!(kept.len(), 2);
    assert!(!scene.world.items[&item].role.is_open());
    for id in kept {
        let entry = &scene.world.entries[&id];
        assert_eq!((entry.source, entry.source_item), (Source::TaskCompletion, Some(item)));
        assert_eq!((entry.author.as_str(), entry.review.is_none()), ("ann", true));
        assert!(scene.world.entry_links.contains_key(&(id, item, EntryTie::Produced)));
    }
    scene.world.check();
}

#[test]
fn the_quota_is_asked_for_only_by_what_adds() {
    let mut scene = Scene::new(Workflow::execution());
    let (first, second) = (item(&mut scene), item(&mut scene));
    let access = Access { quotas: Quotas { knowledge_stored: 1 }, ..Access::default() };
    let call = Call { access: Arc::new(access), ..scene.world.call(Some("ann")) };
    let kept = complete(&mut scene, &call, first, vec![learning("a")]).expect("room for one");
    let refused = complete(&mut scene, &call, second, vec![learning("b")]).expect_err("no room");
    assert_eq!((refused.code, refused.reason), (Code::RuleBlocked, Reason::QuotaExceeded));
    assert!(refused.message.contains("1 of 1"), "{refused}");
    assert!(scene.world.items[&second].role.is_open(), "nothing was written");
    let call = Call { seed: 77 << 64, ..call };
    complete(&mut scene, &call, second, Vec::new()).expect("without learnings there is nothing to count");
    scene.world.run(&call, &RemoveEntries { entries: kept }).expect("who removes some always may");
    scene.world.check();
}

#[test]
fn only_a_person_says_that_an_entry_is_right_and_an_agents_edit_takes_it_back() {
    let mut scene = Scene::new(Workflow::standard());
    let entry = add(&mut scene, None, None, Authority::Human).expect("an entry");
    assert_eq!(scene.world.entries[&entry].source, Source::Person);
    let agents = add(&mut scene, Some("ann"), None, Authority::Agent).expect("an entry");
    assert_eq!(scene.world.entries[&agents].source, Source::Agent);
    assert_eq!(add(&mut scene, Some("ann"), None, Authority::Human).expect_err("no person").reason, Reason::NotYours);
    let read = |version| vec![ReadEntry { entry, version }];
    let review = |authority| ReviewEntries { entries: read(Some(1)), reviewed: true, authority };
    for (actor, authority) in
        [(Some("ann"), Authority::Human), (None, Authority::Agent), (Some("ann"), Authority::Agent)]
    {
        let call = scene.world.call(actor);
        let refused = scene.world.run(&call, &review(authority)).expect_err("not a person");
        assert_eq!((refused.code, refused.reason), (Code::Forbidden, Reason::NotYours));
    }
    let call = scene.world.call(None);
    let weak = Call { access: Arc::new(Access::everywhere(Profile::Worker)), ..call.clone() };
    assert_eq!(scene.world.run(&weak, &review(Authority::Human)).expect_err("a worker").reason, Reason::ProfileTooLow);
    scene.world.run(&call, &review(Authority::Human)).expect("a person's word");
    assert_eq!(scene.world.entries[&entry].review.as_ref().map(|review| review.by.as_str()), Some("local"));
    let edit = |authority| EditEntry {
        entry,
        title: None,
        body: Some(text(if authority == Authority::Human { "better" } else { "other" })),
        tags: None,
        expected_version: None,
        authority,
    };
    let call = scene.world.call(None);
    scene.world.run(&call, &edit(Authority::Human)).expect("a person's edit");
    assert!(scene.world.entries[&entry].review.is_some(), "whoever edits it has read it");
    assert_eq!(scene.world.entries[&entry].source, Source::Person);
    let call = scene.world.call(Some("ann"));
    scene.world.run(&call, &edit(Authority::Agent)).expect("an agent's edit");
    let edited = &scene.world.entries[&entry];
    assert!(edited.review.is_none(), "unreviewed again");
    assert_eq!((edited.source, edited.author.as_str(), edited.updated_by.as_str()), (Source::Agent, "local", "ann"));
    let stale = EditEntry { expected_version: Some(1), ..edit(Authority::Agent) };
    assert_eq!(scene.world.run(&call, &stale).expect_err("an old version").reason, Reason::VersionMismatch);
    scene.world.check();
}

#[test]
fn what_helped_is_linked_once_and_can_be_taken_back() {
    let mut scene = Scene::new(Workflow::standard());
    let item = item(&mut scene);
    let entry = add(&mut scene, Some("ann"), None, Authority::Agent).expect("an entry");
    let cite = |used| CiteEntries { project: World::project(), item: item.into(), entries: vec![entry, entry], used };
    for (used, changed) in [(true, 1), (true, 0), (false, 1), (false, 0)] {
        let call = scene.world.call(Some("ann"));
        assert_eq!(scene.world.run(&call, &cite(used)).expect("linked").changed.len(), changed);
        assert_eq!(scene.world.entry_links.len(), usize::from(used));
    }
    let unknown = EntryId(ulid::Ulid(7));
    let call = scene.world.call(None);
    let refused =
        scene.world.run(&call, &RemoveEntries { entries: vec![entry, unknown] }).expect_err("one is not there");
    assert_eq!(refused.code, Code::NotFound);
    assert_eq!(scene.world.entries.len(), 1, "all or none");
    scene.world.check();
}

#[test]
fn a_caller_limited_to_an_item_learns_from_that_alone() {
    let mut scene = Scene::new(Workflow::execution());
    let (own, other) = (item(&mut scene), item(&mut scene));
    let project = *scene.world.projects.keys().next().expect("a project");
    let access = Access { item: Some(own), ..Access::within(Profile::Worker, [project]) };
    let mut run = |item: Option<ItemId>| {
        let call = Call { access: Arc::new(access.clone()), ..scene.world.call(Some("ann")) };
        let add = AddEntries {
            project: World::project(),
            entries: vec![learning("one")],
            item: item.map(Into::into),
            authority: Authority::Agent,
        };
        scene.world.run(&call, &add).map(|_| ()).map_err(|error| error.reason)
    };
    assert_eq!(run(Some(own)), Ok(()));
    assert_eq!(run(Some(other)), Err(Reason::OutOfScope));
    assert_eq!(run(None), Err(Reason::OutOfScope));
}

#[test]
fn a_word_counts_for_the_version_that_was_read() {
    let mut scene = Scene::new(Workflow::standard());
    let entry = add(&mut scene, Some("ann"), None, Authority::Agent).expect("an entry");
    let other = add(&mut scene, Some("ann"), None, Authority::Agent).expect("an entry");
    let edit = EditEntry {
        entry,
        title: None,
        body: Some(text("something else")),
        tags: None,
        expected_version: Some(1),
        authority: Authority::Agent,
    };
    let call = scene.world.call(Some("ann"));
    scene.world.run(&call, &edit).expect("changed while somebody read it");
    let mut review = |versions: [(EntryId, Option<u64>); 2], reviewed| {
        let entries = versions.into_iter().map(|(entry, version)| ReadEntry { entry, version }).collect();
        let call = scene.world.call(None);
        let done = scene.world.run(&call, &ReviewEntries { entries, reviewed, authority: Authority::Human });
        let kept = scene.world.entries.values().filter(|entry| entry.review.is_some()).count();
        (done.map(|done| done.entries.iter().map(|done| done.version).collect::<Vec<_>>()), kept)
    };
    let (stale, kept) = review([(other, Some(1)), (entry, Some(1))], true);
    assert_eq!((stale.expect_err("version 1 is gone").reason, kept), (Reason::VersionMismatch, 0), "all or none");
    let (unsaid, _) = review([(other, Some(1)), (entry, None)], true);
    assert_eq!(unsaid.expect_err("which version?").reason, Reason::MissingField);
    assert_eq!(review([(other, Some(1)), (entry, Some(2))], true), (Ok(vec![2, 3]), 2));
    assert_eq!(review([(other, None), (entry, None)], false), (Ok(vec![3, 4]), 0), "to take it back is always safe");
    scene.world.check();
}

#[test]
fn a_persons_edit_is_reviewed_by_that_person_or_not_at_all() {
    let mut scene = Scene::new(Workflow::standard());
    for reviewed in [true, false] {
        let entry = add(&mut scene, None, None, Authority::Human).expect("an entry");
        if reviewed {
            let entries = vec![ReadEntry { entry, version: Some(1) }];
            let call = scene.world.call(None);
            let review = ReviewEntries { entries, reviewed, authority: Authority::Human };
            scene.world.run(&call, &review).expect("a word");
        }
        scene.world.pass(5);
        let second = Call { principal: name("second"), ..scene.world.call(None) };
        let edit = EditEntry {
            entry,
            title: Some(title("by another")),
            body: None,
            tags: None,
            expected_version: None,
            authority: Authority::Human,
        };
        let edited = scene.world.run(&second, &edit).expect("edited").entry;
        let by = edited.review.as_ref().map(|review| (review.by.as_str(), review.at));
        assert_eq!(by, reviewed.then_some(("second", edited.updated_at)));
        assert_eq!((edited.author.as_str(), edited.updated_by.as_str()), ("local", "second"));
    }
    scene.world.check();
}

#[test]
fn who_learns_from_an_item_and_cites_for_it_keeps_the_lease() {
    let mut scene = Scene::new(Workflow::execution());
    let item = item(&mut scene);
    scene.claim(item, "ann").expect("a claim");
    let ends = |scene: &Scene| scene.get(item).claim.as_ref().and_then(|claim| claim.expires_at);
    scene.world.pass(100);
    let before = ends(&scene);
    let entry = add(&mut scene, Some("ann"), Some(item), Authority::Agent).expect("learned");
    let learned = ends(&scene);
    assert!(learned > before);
    scene.world.pass(100);
    let cite = CiteEntries { project: World::project(), item: item.into(), entries: vec![entry], used: true };
    for (actor, later) in [("bob", false), ("ann", false)] {
        // Bob holds nothing, and what is linked already is not written again.
        let call = scene.world.call(Some(actor));
        scene.world.run(&call, &cite).expect("cited");
        assert_eq!(ends(&scene) > learned, later, "{actor}");
    }
    let call = scene.world.call(Some("ann"));
    scene.world.run(&call, &CiteEntries { used: false, ..cite }).expect("taken back");
    assert!(ends(&scene) > learned);
    scene.world.check();
}

#[test]
fn a_quota_says_nothing_of_what_others_keep() {
    let mut scene = Scene::new(Workflow::execution());
    let item = item(&mut scene);
    let project = *scene.world.projects.keys().next().expect("a project");
    add(&mut scene, None, None, Authority::Human).expect("an entry");
    for (access, told) in [(Access::default(), true), (Access::within(Profile::Worker, [project]), false)] {
        let access = Access { quotas: Quotas { knowledge_stored: 1 }, ..access };
        let call = Call { access: Arc::new(access), ..scene.world.call(Some("ann")) };
        let refused = complete(&mut scene, &call, item, vec![learning("b")]).expect_err("no room");
        assert_eq!(refused.reason, Reason::QuotaExceeded);
        assert_eq!(refused.message.contains("1 of 1 entries"), told, "{refused}");
    }
}
