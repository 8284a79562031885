//! Who may do what: profiles, projects and single items, decided before anything is written or told.

use std::collections::BTreeSet;
use std::sync::Arc;

use docket_core::access::{Access, Needs, Profile, Reach};
use docket_core::command::{
    Advance, Claim, ClaimNext, CloseTree, Create, Edit, Import, Link, PutNotes, Remove, RemoveNotes, SetProject, Unlink,
};
use docket_core::command::{ClaimOutcome, ClaimRequest, EdgeSpec, MoveRequest, MoveResult, NewItem, NotePut, Patch};
use docket_core::engine::{Call, Command};
use docket_core::model::{EdgeKind, ItemId, ItemRef, KeyPrefix, ProjectId, Slug, Text, Trigger};
use docket_core::store::ProjectRef;
use docket_core::testing::{World, name, title};
use docket_core::workflow::{Target, Workflow};
use docket_core::{Code, Error, Reason};

use crate::scene::Scene;
use crate::words::line;

/// Two projects: `mine` with one item, `other` with one that blocks it and one that it blocks.
struct Two {
    scene: Scene,
    mine: ProjectId,
    own: ItemId,
    blocker: ItemId,
    waiting: ItemId,
}

fn two() -> Two {
    let mut scene = Scene::new(Workflow::standard());
    let mine = scene.world.projects.keys().copied().next().expect("a project");
    let own = scene.item("mine");
    let other = set_project("other");
    let call = scene.world.call(None);
    scene.world.run(&call, &other).expect("another project");
    let mut make = |text: &str| {
        let call = scene.world.call(None);
        let project = ProjectRef::Slug(Slug::parse("other").expect("a slug"));
        let create = Create { items: vec![NewItem::titled(title(text))], ..create(project) };
        let mut made = scene.world.run(&call, &create).expect("an item");
        made.items.remove(0).expect("an item").item.id
    };
    let (blocker, waiting) = (make("secret blocker"), make("secret successor"));
    scene.link(blocker, own, None);
    scene.link(own, waiting, None);
    Two { scene, mine, own, blocker, waiting }
}

impl Two {
    fn call(&mut self, access: Access) -> Call {
        Call { access: Arc::new(access), ..self.scene.world.call(None) }
    }

    fn run<C: Command>(&mut self, access: Access, command: &C) -> Result<C::Output, Error> {
        let call = self.call(access);
        self.scene.world.run(&call, command)
    }

    fn mine(&self) -> Access {
        Access::within(Profile::Maintainer, [self.mine])
    }

    fn my_item(&self) -> Access {
        Access { item: Some(self.own), ..self.mine() }
    }
}

fn set_project(slug: &str) -> SetProject {
    SetProject {
        slug: Slug::parse(slug).expect("a slug"),
        name: None,
        prefix: None,
        workflow: None,
        schemas: None,
        archived: None,
        must_be_new: false,
    }
}

fn create(project: ProjectRef) -> Create {
    Create {
        project,
        items: vec![NewItem::titled(title("new"))],
        edges: vec![],
        notes: vec![],
        blank_notes: false,
        room_below: false,
        atomic: true,
    }
}

fn advance(item: ItemId, trigger: Trigger) -> Advance {
    let request = MoveRequest {
        item: item.into(),
        target: Target::Trigger(trigger),
        summary: None,
        by: None,
        fence: None,
        expected_version: None,
    };
    Advance { project: ProjectRef::Any, moves: vec![request], atomic: true }
}

fn note(item: ItemId) -> PutNotes {
    let body = Text::parse("words").expect("a text");
    let note = NotePut { item: item.into(), key: name("k"), phase: None, body, by: None, fence: None };
    PutNotes { project: ProjectRef::Any, notes: vec![note], atomic: true }
}

fn edit(item: ItemId) -> Edit {
    let patch = Patch { title: Some(title("renamed")), ..Patch::of(item.into()) };
    Edit { project: ProjectRef::Any, patches: vec![patch], atomic: true }
}

fn link(from: ItemId, to: ItemId) -> Link {
    let kind = EdgeKind::RelatesTo;
    let edge = EdgeSpec { from: from.into(), to: to.into(), kind, unblock_at: None, inverse: false };
    Link { project: ProjectRef::Any, edges: vec![edge], holding: None }
}

fn remove(item: ItemId) -> Remove {
    Remove {
        project: ProjectRef::Any,
        items: vec![item.into()],
        recursive: true,
        atomic: true,
        expected_version: None,
        fence: None,
    }
}

#[test]
fn each_command_states_the_profile_it_needs() {
    let stated = [
        (Create::NAME, Create::NEEDS, Profile::Planner),
        (Advance::NAME, Advance::NEEDS, Profile::Worker),
        (Claim::NAME, Claim::NEEDS, Profile::Worker),
        (ClaimNext::NAME, ClaimNext::NEEDS, Profile::Worker),
        (CloseTree::NAME, CloseTree::NEEDS, Profile::Worker),
        (Edit::NAME, Edit::NEEDS, Profile::Worker),
        (Link::NAME, Link::NEEDS, Profile::Worker),
        (PutNotes::NAME, PutNotes::NEEDS, Profile::Worker),
        (RemoveNotes::NAME, RemoveNotes::NEEDS, Profile::Maintainer),
        (Remove::NAME, Remove::NEEDS, Profile::Maintainer),
        (Unlink::NAME, Unlink::NEEDS, Profile::Maintainer),
        (SetProject::NAME, SetProject::NEEDS, Profile::Maintainer),
        (Import::NAME, Import::NEEDS, Profile::Maintainer),
    ];
    for (command, needs, least) in stated {
        for profile in Profile::ALL {
            let allowed = Access::everywhere(profile).check(needs);
            assert_eq!(allowed.is_ok(), profile >= least, "{command} by a {profile}");
            if let Err(error) = allowed {
                assert_eq!((error.code, error.reason), (Code::Forbidden, Reason::ProfileTooLow), "{command}");
                assert!(error.message.contains(least.as_str()), "{command}: {}", error.message);
            }
        }
    }
}

#[test]
fn a_reach_beyond_the_limit_is_refused_before_anything_is_seen() {
    let project = Access::within(Profile::Maintainer, [ProjectId::from_uuid(uuid::Uuid::nil())]);
    let item = Access { item: Some(ItemId::from_uuid(uuid::Uuid::nil())), ..project.clone() };
    for (access, reach, allowed) in [
        (&project, Reach::Item, true),
        (&project, Reach::Project, true),
        (&project, Reach::Everything, false),
        (&item, Reach::Item, true),
        (&item, Reach::Project, false),
        (&item, Reach::Everything, false),
        (&Access::default(), Reach::Everything, true),
    ] {
        assert_eq!(access.allows(Needs::new(Profile::Viewer, reach)), allowed, "{access:?} {reach:?}");
    }
}

#[test]
fn what_lies_outside_is_answered_as_if_it_were_not_there() {
    fn refusal<C: Command>(two: &mut Two, command: &C) -> (Code, Reason, String) {
        let access = two.mine();
        let error = two.run(access, command).err().unwrap_or_else(|| panic!("{} reached outside", C::NAME));
        (error.code, error.reason, error.message)
    }
    let mut two = two();
    let unknown = ItemId::from_uuid(uuid::Uuid::from_u128(7));
    let (outside, own) = (two.waiting, two.own);
    let before = two.scene.world.items.clone();
    macro_rules! same {
        ($command:expr) => {{
            let command = $command;
            let (code, reason, message) = refusal(&mut two, &command(outside));
            let (known_code, known_reason, known) = refusal(&mut two, &command(unknown));
            assert_eq!((code, reason), (known_code, known_reason));
            assert_eq!(code, Code::NotFound);
            assert_eq!(message.replace(&outside.to_string(), "X"), known.replace(&unknown.to_string(), "X"));
        }};
    }
    same!(|item| advance(item, Trigger::Start));
    same!(note);
    same!(edit);
    same!(remove);
    same!(|item| link(own, item));
    same!(|item: ItemId| Unlink::Of { project: ProjectRef::Any, item: item.into(), kind: None });
    same!(|item: ItemId| RemoveNotes {
        project: ProjectRef::Any,
        ids: vec![],
        of: Some((item.into(), None)),
        missing_ok: false,
        fence: None
    });
    same!(|item: ItemId| CloseTree {
        project: ProjectRef::Any,
        what: docket_core::command::What::Items(vec![item.into()]),
        cancel: true,
        fence: None,
    });
    assert_eq!(two.scene.world.items, before, "nothing was written");
}

#[test]
fn a_claim_on_what_lies_outside_finds_nothing_by_any_spelling() {
    let mut two = two();
    let key = two.scene.world.projects[&two.scene.get(two.waiting).project].key(2);
    let digits = two.waiting.as_uuid().simple().to_string();
    for spelling in [ItemRef::Id(two.waiting), ItemRef::Key(key), ItemRef::Prefix(digits[..31].to_owned())] {
        let claims = vec![ClaimRequest { item: spelling.clone(), ttl: None }];
        let claim = Claim { project: ProjectRef::Any, claims, releases: vec![], ready_only: false };
        let access = two.mine();
        let claimed = two.run(access, &claim).expect("an answer");
        assert!(matches!(&claimed.claims[0].outcome, ClaimOutcome::NotFound(_)), "{spelling}: {claimed:?}");
    }
}

#[test]
fn a_prefix_that_is_ambiguous_only_outside_is_not_ambiguous() {
    let mut two = two();
    let shared = two.own.as_uuid().simple().to_string()[..4].to_owned();
    let access = two.mine();
    let patch = Patch { title: Some(title("renamed")), ..Patch::of(ItemRef::Prefix(shared)) };
    let edited =
        two.run(access, &Edit { project: ProjectRef::Any, patches: vec![patch], atomic: true }).expect("my item alone");
    assert_eq!(edited.items[0].as_ref().expect("an item").id, two.own);
}

#[test]
fn a_blocker_outside_holds_up_and_is_not_told() {
    let mut two = two();
    let access = two.mine();
    let error = two.run(access.clone(), &advance(two.own, Trigger::Start)).expect_err("it is blocked");
    assert_eq!(error.code, Code::RuleBlocked);
    assert!(error.refusals[0].blockers.is_empty(), "{error:?}");
    assert!(error.message.contains("1 outside of what this call may see"), "{}", error.message);
    assert!(!serde_json::to_string(&error).expect("JSON").contains(&two.blocker.to_string()));
    two.scene.must(two.blocker, Trigger::Start);
    two.scene.must(two.blocker, Trigger::Complete);
    let started = two.run(access.clone(), &advance(two.own, Trigger::Start)).expect("free");
    assert!(matches!(started.results[0], MoveResult::Applied(_)));
    let done = two.run(access, &advance(two.own, Trigger::Complete)).expect("done");
    let MoveResult::Applied(applied) = &done.results[0] else { panic!("{done:?}") };
    assert!(applied.unblocked.is_empty(), "what it unblocks outside is not told: {applied:?}");
    assert_eq!(two.scene.get(two.waiting).derived.blockers, 0, "and is unblocked all the same");
    two.scene.world.check();
}

#[test]
fn a_cycle_through_the_outside_is_refused_without_naming_it() {
    let mut two = two();
    let after = two.scene.item("after");
    two.scene.link(two.waiting, after, None);
    let edge =
        EdgeSpec { from: after.into(), to: two.own.into(), kind: EdgeKind::Blocks, unblock_at: None, inverse: false };
    let access = two.mine();
    let error =
        two.run(access, &Link { project: ProjectRef::Any, edges: vec![edge], holding: None }).expect_err("a cycle");
    assert_eq!(error.reason, Reason::Cycle);
    assert!(two.scene.is_named(&error.message, two.own), "{}", error.message);
    assert!(!two.scene.is_named(&error.message, two.waiting), "{}", error.message);
}

#[test]
fn edges_to_the_outside_are_neither_told_nor_removed() {
    let mut two = two();
    let access = two.mine();
    let of = Unlink::Of { project: ProjectRef::Any, item: two.own.into(), kind: None };
    assert!(two.run(access.clone(), &of).expect("an answer").edges.is_empty());
    for id in two.scene.world.edges.keys().copied().collect::<Vec<_>>() {
        assert!(two.run(access.clone(), &Unlink::Edge(id)).expect("an answer").edges.is_empty());
    }
    assert_eq!(two.scene.world.edges.len(), 2);
}

#[test]
fn a_limited_maintainer_changes_its_project_and_makes_none() {
    let mut two = two();
    let access = two.mine();
    let renamed = SetProject { name: Some(title("better")), ..set_project("test") };
    assert!(two.run(access.clone(), &renamed).expect("its own").changed);
    let taken = SetProject { prefix: Some(KeyPrefix::parse("OTHE").expect("a prefix")), ..set_project("brand-new") };
    let mut said = BTreeSet::new();
    for refused in [set_project("other"), set_project("brand-new"), taken] {
        let error = two.run(access.clone(), &refused).expect_err("not its own");
        assert_eq!((error.code, error.reason), (Code::Forbidden, Reason::OutOfScope));
        said.insert(error.message);
    }
    assert_eq!(said.len(), 1, "whether it exists is not told: {said:?}");
    let elsewhere = create(ProjectRef::Slug(Slug::parse("other").expect("a slug")));
    let nowhere = create(ProjectRef::Slug(Slug::parse("nowhere").expect("a slug")));
    let (elsewhere, nowhere) = (two.run(access.clone(), &elsewhere), two.run(access, &nowhere));
    assert_eq!(elsewhere.expect_err("not its own"), nowhere.expect_err("not there"));
}

#[test]
fn one_item_may_be_written_and_nothing_else() {
    let mut two = two();
    two.scene.must(two.blocker, Trigger::Cancel);
    let parent = two.scene.item("parent");
    let own = two.scene.child(parent, "the one");
    let sibling = two.scene.child(parent, "a sibling");
    two.own = own;
    let access = two.my_item();
    let project = World::project();
    two.run(access.clone(), &note(own)).expect("its note");
    two.run(access.clone(), &edit(own)).expect("its fields");
    let claims = vec![ClaimRequest { item: own.into(), ttl: None }];
    let claim = Claim { project: project.clone(), claims, releases: vec![], ready_only: false };
    two.run(access.clone(), &claim).expect("its claim");
    two.run(access.clone(), &advance(own, Trigger::Start)).expect("its move, and the parent starts with it");
    assert_eq!(two.scene.get(parent).role, docket_core::model::Role::Work);

    let before = (two.scene.world.items.clone(), two.scene.world.events.len());
    let beyond = |error: Error| assert_eq!((error.code, error.reason), (Code::Forbidden, Reason::OutOfScope));
    beyond(two.run(access.clone(), &note(sibling)).expect_err("another's note"));
    beyond(two.run(access.clone(), &edit(sibling)).expect_err("another's fields"));
    beyond(two.run(access.clone(), &advance(sibling, Trigger::Start)).expect_err("another's move"));
    beyond(two.run(access.clone(), &create(project.clone())).expect_err("a new item"));
    beyond(two.run(access.clone(), &link(own, sibling)).expect_err("an edge"));
    beyond(two.run(access.clone(), &remove(own)).expect_err("its own end"));
    let away = Patch { parent: docket_core::command::Change::Set(sibling.into()), ..Patch::of(own.into()) };
    let edit = Edit { project: project.clone(), patches: vec![away], atomic: true };
    beyond(two.run(access.clone(), &edit).expect_err("another place"));
    let claims = vec![ClaimRequest { item: sibling.into(), ttl: None }];
    let claim = Claim { project: project.clone(), claims, releases: vec![], ready_only: false };
    beyond(two.run(access.clone(), &claim).expect_err("another's claim"));
    beyond(two.run(access, &set_project("test")).expect_err("its project"));
    assert_eq!((two.scene.world.items.clone(), two.scene.world.events.len()), before, "nothing was written");
}

#[test]
fn one_item_is_closed_though_its_parent_is_handed_back_by_it() {
    let mut two = two();
    let parent = two.scene.item("parent");
    two.scene.criteria(parent, vec![line("all of it")]);
    two.own = two.scene.child(parent, "the one");
    for trigger in [Trigger::Start, Trigger::Complete] {
        two.run(two.my_item(), &advance(two.own, trigger)).expect("its own move");
    }
    let parent = two.scene.get(parent);
    assert!(parent.role == docket_core::model::Role::Work && parent.fence.0 == 1, "it is left to whoever is next");
    two.scene.world.check();
}

#[test]
fn one_item_is_claimed_without_ending_other_claims_of_the_agent() {
    let mut two = two();
    two.scene.must(two.blocker, Trigger::Cancel);
    let sibling = two.scene.item("held");
    two.scene.claim(sibling, "agent").expect("a claim");
    let call = Call { access: Arc::new(two.my_item()), ..two.scene.world.call(Some("agent")) };
    let claims = vec![ClaimRequest { item: two.own.into(), ttl: None }];
    let claim = Claim { project: World::project(), claims, releases: vec![], ready_only: false };
    let claimed = two.scene.world.run(&call, &claim).expect("its claim");
    assert!(claimed.auto_released.is_empty());
    assert!(two.scene.get(sibling).claim.is_some());
}
