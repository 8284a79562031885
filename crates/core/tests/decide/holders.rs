//! Who a holder is: an actor as known to its principal, and no less where two principals state the same name.

use std::sync::Arc;

use docket_core::access::{Access, Profile};
use docket_core::command::{
    Ask, BeginSession, CancelSession, Claim, ClaimOutcome, ClaimRequest, Edit, NotePut, Patch, PutNotes,
    ReleaseOutcome, Renew,
};
use docket_core::engine::Call;
use docket_core::limits::NAME_BYTES;
use docket_core::model::{ActorKind, Fence, ItemId, Name, Runtime, Text};
use docket_core::testing::{World, name, title};
use docket_core::workflow::Workflow;
use docket_core::{Code, Error, Reason};

use crate::scene::Scene;

/// A call by somebody that a key or a token is shown for.
fn through(scene: &mut Scene, principal: &str, actor: Option<&str>) -> Call {
    let access = Arc::new(Access { token: true, ..Access::everywhere(Profile::Worker) });
    Call { principal: name(principal), access, ..scene.world.call(actor) }
}

fn claim(scene: &mut Scene, call: &Call, item: ItemId) -> ClaimOutcome {
    let claims = vec![ClaimRequest { item: item.into(), ttl: None }];
    let command = Claim { project: World::project(), claims, releases: vec![], ready_only: false };
    scene.world.run(call, &command).expect("an answer").claims.remove(0).outcome
}

fn release(scene: &mut Scene, call: &Call, item: ItemId) -> ReleaseOutcome {
    let command = Claim { project: World::project(), claims: vec![], releases: vec![item.into()], ready_only: false };
    scene.world.run(call, &command).expect("an answer").releases.remove(0).outcome
}

fn rename(scene: &mut Scene, call: &Call, item: ItemId, fence: Option<Fence>) -> Result<(), Error> {
    let patch = Patch { title: Some(title("renamed")), fence, ..Patch::of(item.into()) };
    let edit = Edit { project: World::project(), patches: vec![patch], atomic: true };
    scene.world.run(call, &edit).map(|_| ())
}

#[test]
fn the_same_name_behind_two_principals_is_two_holders() {
    let mut scene = Scene::task_orchestrator();
    let item = scene.item("x");
    let first = through(&mut scene, "key:one:1a2b3c4d", Some("ann"));
    let second = through(&mut scene, "key:two:5e6f7a8b", Some("ann"));
    let ClaimOutcome::Held(held) = claim(&mut scene, &first, item) else { panic!("it is free") };
    assert_eq!(held.claim.holder, name("ann (key:one:1a2b3c4d)"));
    assert!(matches!(claim(&mut scene, &second, item), ClaimOutcome::AlreadyClaimed { .. }));
    assert!(matches!(release(&mut scene, &second, item), ReleaseOutcome::NotClaimedByYou));
    let refused = rename(&mut scene, &second, item, None).expect_err("it is another's");
    assert_eq!((refused.code, refused.reason), (Code::Conflict, Reason::AlreadyClaimed));
    // What one principal was given is worth nothing in another's hands.
    let refused = rename(&mut scene, &second, item, Some(held.fence)).expect_err("a stolen fence");
    assert_eq!((refused.code, refused.reason), (Code::Forbidden, Reason::ForeignClaim));
    rename(&mut scene, &first, item, Some(held.fence)).expect("its own");
    assert!(matches!(claim(&mut scene, &first, item), ClaimOutcome::Held(_)));
    assert!(matches!(release(&mut scene, &first, item), ReleaseOutcome::Released));
}

/// A call behind a key of this profile that states nobody.
fn keyed(scene: &mut Scene, principal: &str, profile: Profile) -> Call {
    let access = Arc::new(Access { token: true, ..Access::everywhere(profile) });
    Call { access, ..through(scene, principal, None) }
}

#[test]
fn whoever_states_nobody_is_still_known_by_its_key_where_another_key_holds_the_item() {
    for holder in [None, Some("ann")] {
        let mut scene = Scene::task_orchestrator();
        let item = scene.item("x");
        let first = through(&mut scene, "key:one:1a2b3c4d", holder);
        assert!(matches!(claim(&mut scene, &first, item), ClaimOutcome::Held(_)));
        let second = keyed(&mut scene, "key:two:5e6f7a8b", Profile::Worker);
        let before = format!("{:?}", scene.get(item));
        let body = Text::parse("words").expect("a text");
        let note = NotePut { item: item.into(), key: name("plan"), phase: None, body, by: None, fence: None };
        let put = PutNotes { project: World::project(), notes: vec![note], atomic: true };
        let refused = scene.world.run(&second, &put).expect_err("another's");
        assert_eq!((refused.code, refused.reason), (Code::Conflict, Reason::AlreadyClaimed));
        assert!(!refused.message.contains("naming the actor"), "no name makes it the caller's: {refused}");
        let refused = rename(&mut scene, &second, item, None).expect_err("another's");
        assert_eq!((refused.code, refused.reason), (Code::Conflict, Reason::AlreadyClaimed));
        assert_eq!(format!("{:?}", scene.get(item)), before);
        // What the key itself holds by any name is written by it, also where it names nobody.
        let alone = keyed(&mut scene, "key:one:1a2b3c4d", Profile::Worker);
        rename(&mut scene, &alone, item, None).expect("its own");
        // A person's key may set it right.
        let person = keyed(&mut scene, "key:bob:99887766", Profile::Operator);
        rename(&mut scene, &person, item, None).expect("a person");
        // When the lease has run out, it is nobody's.
        scene.world.pass(1000);
        rename(&mut scene, &second, item, None).expect("free");
    }
}

#[test]
fn nobody_asks_another_out_of_its_claim() {
    let mut scene = Scene::new(Workflow::standard());
    let item = scene.item("x");
    let first = through(&mut scene, "key:one:1a2b3c4d", None);
    assert!(matches!(claim(&mut scene, &first, item), ClaimOutcome::Held(_)));
    let text = Text::parse("which?").expect("a text");
    let ask = Ask { project: World::project(), item: item.into(), text, options: vec![], fence: None };
    for call in [
        keyed(&mut scene, "key:two:5e6f7a8b", Profile::Worker),
        keyed(&mut scene, "key:bob:99887766", Profile::Maintainer),
        scene.world.call(None),
        scene.world.call(Some("bob")),
    ] {
        let refused = scene.world.run(&call, &ask).expect_err("another's");
        assert_eq!((refused.code, refused.reason), (Code::Conflict, Reason::AlreadyClaimed));
        assert!(scene.get(item).claim.is_some());
    }
    scene.world.run(&first, &ask).expect("its own");
}

#[test]
fn neither_is_the_local_user_of_that_name_nor_the_principal_itself() {
    let mut scene = Scene::task_orchestrator();
    let item = scene.item("x");
    scene.claim(item, "ann").expect("it is free");
    let keyed = through(&mut scene, "key:one:1a2b3c4d", Some("ann"));
    assert!(matches!(claim(&mut scene, &keyed, item), ClaimOutcome::AlreadyClaimed { .. }));
    let alone = through(&mut scene, "key:one:1a2b3c4d", None);
    assert_eq!(alone.holder().expect("a holder"), alone.principal);
    // To call oneself by a principal's name does not make one that principal.
    let posing = through(&mut scene, "key:two:5e6f7a8b", Some("key:one:1a2b3c4d"));
    assert_ne!(posing.holder().expect("a holder"), alone.principal);
    let posing = through(&mut scene, "key:two:5e6f7a8b", Some("ann (key:one:1a2b3c4d)"));
    assert_ne!(posing.holder().expect("a holder"), keyed.holder().expect("a holder"));
}

#[test]
fn on_the_local_users_word_a_name_is_a_holder_whatever_kind_it_is_said_to_be_of() {
    let mut scene = Scene::task_orchestrator();
    let item = scene.item("x");
    let held = scene.claim(item, "ann").expect("it is free");
    assert_eq!(held.claim.holder, name("ann"));
    let mut call = scene.world.call(Some("ann"));
    call.by.as_mut().expect("an actor").actor.kind = ActorKind::User;
    assert!(matches!(release(&mut scene, &call, item), ReleaseOutcome::Released));
}

#[test]
fn a_session_is_gone_on_with_by_whoever_began_it_behind_the_same_principal() {
    let mut scene = Scene::task_orchestrator();
    let item = scene.item("x");
    let first = through(&mut scene, "key:one:1a2b3c4d", Some("ann"));
    let begin = BeginSession {
        project: World::project(),
        item: item.into(),
        expected_actor: Some(name("ann")),
        runtime: Runtime::default(),
        ttl: None,
    };
    let session = scene.world.run(&first, &begin).expect("the name that it states").session.id;
    let second = through(&mut scene, "key:two:5e6f7a8b", Some("ann"));
    let cancel = CancelSession { session, reason: Text::parse("no more").expect("a text") };
    let refused = scene.world.run(&second, &cancel).expect_err("another's");
    assert_eq!((refused.code, refused.reason), (Code::Forbidden, Reason::NotYours));
    let renew = Renew { project: World::project(), item: item.into(), ttl: None, fence: None };
    scene.world.run(&second, &renew).expect_err("another's lease");
    scene.world.run(&first, &cancel).expect("its own");
}

#[test]
fn a_caller_calls_its_own_by_their_names_and_others_by_whole_ones() {
    let mut scene = Scene::task_orchestrator();
    let call = through(&mut scene, "key:one:1a2b3c4d", Some("ann"));
    let whole = call.holder().expect("a holder");
    assert_eq!(call.shown(whole.clone()), name("ann"));
    assert_eq!(call.meant(name("ann")), whole);
    assert_eq!(call.meant(whole.clone()), whole);
    let other = name("ann (key:two:5e6f7a8b)");
    assert_eq!(call.shown(other.clone()), other);
    for plain in ["key:two:5e6f7a8b", "token:bob"] {
        assert_eq!(call.meant(name(plain)), name(plain));
    }
    let local = scene.world.call(Some("ann"));
    assert_eq!((local.shown(whole.clone()), local.meant(name("bob"))), (whole, name("bob")));
}

#[test]
fn no_two_pairs_of_names_make_the_same_holder() {
    let long = |letter: char| Name::parse(&letter.to_string().repeat(NAME_BYTES)).expect("a name");
    let actors = [name("a"), name("a (x"), name("é"), long('a'), Name::parse(&"é".repeat(127)).expect("a name")];
    let principals = [name("key:x:1"), name("token:x (key:x:1"), name("token:b)"), long('b')];
    let mut made = std::collections::BTreeSet::new();
    for actor in &actors {
        for principal in &principals {
            let holder = actor.under(principal);
            assert!(Name::parse(holder.as_str()).as_ref() == Ok(&holder), "{holder} is no name");
            assert!(made.insert(holder.clone()), "{holder} is made twice");
        }
    }
    // The bracket in a token's subject does not let it pass for somebody behind a key.
    assert_ne!(name("a").under(&name("token:x (key:x:1")), name("a (token:x").under(&name("key:x:1")));
}
