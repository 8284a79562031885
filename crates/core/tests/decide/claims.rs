//! Leases: who gets an item, for how long, and what the loser learns.

use std::collections::BTreeSet;

use docket_core::command::{
    Advance, Claim, ClaimNext, ClaimOutcome, ClaimRequest, MoveRequest, MoveResult, NewItem, Offer, ReleaseOutcome,
    Renew, Renewed, Wanted,
};
use docket_core::model::{
    Attribution, DegradedMode, EdgeKind, Fence, ItemId, Name, Priority, Role, Tag, Trigger, Ttl, Verdict, Verification,
    VerificationStatus,
};
use docket_core::testing::{World, name, title};
use docket_core::workflow::{Target, Workflow};
use docket_core::{Code, Error, Reason};

use crate::scene::Scene;

fn next(scene: &mut Scene, actor: &str, wanted: Wanted) -> Result<Offer, Error> {
    let call = scene.world.call(Some(actor));
    scene.world.run(&call, &ClaimNext { project: World::project(), wanted, ttl: None })
}

fn next_id(scene: &mut Scene, actor: &str) -> Option<ItemId> {
    next(scene, actor, Wanted::default()).expect("an answer").held.map(|held| held.item)
}

#[test]
fn a_claim_lasts_its_lease_and_no_longer() {
    let mut scene = Scene::task_orchestrator();
    let item = scene.item("x");
    let held = scene.claim(item, "ann").expect("nobody holds it");
    assert_eq!(held.claim.expires_at, Some(held.claim.claimed_at.plus_seconds(900)));
    scene.world.pass(899);
    match scene.claim(item, "bob") {
        Err(ClaimOutcome::AlreadyClaimed { retry_after_ms }) => assert_eq!(retry_after_ms, Some(999)),
        other => panic!("{other:?}"),
    }
    scene.world.now =
        docket_core::model::Timestamp::from_millis(held.claim.expires_at.expect("an end").as_millis() - 1);
    let later = scene.claim(item, "bob").expect("a lease ends at its expiry");
    assert!(later.fence > held.fence, "the item changed hands");
    assert_eq!(later.claim.original_claimed_at, later.claim.claimed_at);
}

#[test]
fn claiming_again_extends_and_keeps_the_beginning() {
    let mut scene = Scene::task_orchestrator();
    let item = scene.item("x");
    let first = scene.claim(item, "ann").expect("nobody holds it");
    for (pause, why) in [(300, "live"), (2000, "run out, and nobody else took it")] {
        scene.world.pass(pause);
        let again = scene.claim(item, "ann").expect(why);
        assert_eq!(again.claim.original_claimed_at, first.claim.original_claimed_at, "{why}");
        assert_eq!(again.fence, first.fence, "{why}");
        assert_eq!(again.claim.claimed_at, scene.world.now);
    }
}

#[test]
fn an_agent_holds_one_item_and_moves_on_from_the_last() {
    let mut scene = Scene::task_orchestrator();
    let (a, b, c) = (scene.item("a"), scene.item("b"), scene.item("c"));
    scene.claim(a, "ann").expect("free");
    scene.claim(b, "ann").expect("free");
    assert_eq!(scene.get(a).claim, None, "claiming b released a");
    scene.claim(c, "bob").expect("free");
    assert!(scene.claim(c, "ann").is_err());
    assert!(scene.get(b).claim.is_some(), "a claim that failed releases nothing");
}

#[test]
fn one_call_cannot_claim_more_than_an_agent_may_hold() {
    let mut scene = Scene::task_orchestrator();
    let (a, b) = (scene.item("a"), scene.item("b"));
    let call = scene.world.call(Some("ann"));
    let claims = [a, b].map(|item| ClaimRequest { item: item.into(), ttl: None }).to_vec();
    let claim = |claims| Claim { project: World::project(), claims, releases: vec![], ready_only: false };
    let claimed = scene.world.run(&call, &claim(claims.clone())).expect("one by one");
    assert!(matches!(claimed.claims[0].outcome, ClaimOutcome::Held(_)), "{claimed:?}");
    assert_eq!(claimed.claims[1].outcome, ClaimOutcome::OverLimit { limit: 1 });
    assert!(scene.get(a).claim.is_some() && scene.get(b).claim.is_none());
    // Also when the one that is left out was held before: it ends, as any other does that is one too many.
    let [first, second] = claims.try_into().expect("two");
    let claimed = scene.world.run(&call, &claim(vec![second, first])).expect("one by one");
    assert_eq!((&claimed.claims[1].outcome, claimed.auto_released), (&ClaimOutcome::OverLimit { limit: 1 }, vec![a]));
    assert!(scene.get(a).claim.is_none() && scene.get(b).claim.is_some());
}

#[test]
fn without_a_cap_an_agent_holds_as_many_as_it_likes() {
    let mut workflow = Workflow::task_orchestrator();
    workflow.claims.per_agent = 0;
    let mut scene = Scene::new(workflow);
    let items: Vec<ItemId> = (0..3).map(|n| scene.item(&format!("{n}"))).collect();
    for item in &items {
        scene.claim(*item, "ann").expect("free");
    }
    assert!(items.iter().all(|item| scene.get(*item).claim.is_some()));
}

#[test]
fn closed_items_cannot_be_claimed_and_all_others_can() {
    for role in Role::ALL {
        let mut scene = Scene::task_orchestrator();
        let item = scene.item_in("x", role);
        let claimed = scene.claim(item, "ann");
        assert_eq!(claimed.is_ok(), role != Role::Terminal, "{role}");
        if role == Role::Terminal {
            assert_eq!(claimed, Err(ClaimOutcome::Terminal));
        }
    }
}

#[test]
fn only_the_holder_releases() {
    let mut scene = Scene::task_orchestrator();
    let item = scene.item("x");
    let outcome = |scene: &mut Scene, actor: &str| {
        let call = scene.world.call(Some(actor));
        let claim = Claim { project: World::project(), claims: vec![], releases: vec![item.into()], ready_only: false };
        scene.world.run(&call, &claim).expect("an answer").releases.remove(0).outcome
    };
    assert_eq!(outcome(&mut scene, "ann"), ReleaseOutcome::NotClaimedByYou);
    scene.claim(item, "ann").expect("free");
    assert_eq!(outcome(&mut scene, "bob"), ReleaseOutcome::NotClaimedByYou);
    assert_eq!(outcome(&mut scene, "ann"), ReleaseOutcome::Released);
    assert_eq!(outcome(&mut scene, "ann"), ReleaseOutcome::NotClaimedByYou);
}

#[test]
fn leases_have_a_shortest_and_a_longest() {
    for (seconds, good) in
        [(0, false), (-1, false), (1, true), (900, true), (86_400, true), (86_401, false), (i64::MAX, false)]
    {
        let parsed = Ttl::parse(seconds);
        assert_eq!(parsed.is_ok(), good, "{seconds}");
        if let Err(invalid) = parsed {
            assert_eq!(invalid.reason, Reason::BadTtl);
        }
    }
}

#[test]
fn the_best_ready_item_is_handed_out_first() {
    let mut scene = Scene::task_orchestrator();
    let mut make = |text: &str, priority, complexity: Option<i64>| {
        let complexity = complexity.map(|value| docket_core::model::Complexity::parse(value).expect("1 to 10"));
        scene.create(NewItem { priority, complexity, ..NewItem::titled(title(text)) }).expect("an item")
    };
    let low = make("low", Priority::Low, Some(1));
    let hard = make("hard", Priority::High, Some(8));
    let unknown = make("unknown", Priority::High, None);
    let easy = make("easy", Priority::High, Some(2));
    let twin = make("twin", Priority::High, Some(2));
    let agents = ["a", "b", "c", "d", "e"];
    let order: Vec<ItemId> = agents.iter().filter_map(|agent| next_id(&mut scene, agent)).collect();
    assert_eq!(order, [easy, twin, hard, unknown, low]);
    assert_eq!(next_id(&mut scene, "f"), None);
}

#[test]
fn work_that_holds_up_other_work_comes_first_in_the_standard_order() {
    let mut scene = Scene::new(Workflow::standard());
    let (_older, key, x, y) = (scene.item("older"), scene.item("key"), scene.item("x"), scene.item("y"));
    scene.link(key, x, None);
    scene.link(key, y, None);
    assert_eq!(next_id(&mut scene, "ann"), Some(key));
}

#[test]
fn only_ready_work_is_handed_out() {
    let mut scene = Scene::new(Workflow::standard());
    let dump =
        scene.create(NewItem { status: Some(name("braindump")), ..NewItem::titled(title("raw")) }).expect("an item");
    let blocker = scene.item("blocker");
    let waiting = scene.item("waiting");
    scene.link(blocker, waiting, None);
    let old = scene.item("old");
    let new = scene.item("new");
    scene.try_link(EdgeKind::Supersedes, new, old, None).expect("an edge");
    let copy = scene.item("copy");
    scene.try_link(EdgeKind::DuplicateOf, copy, new, None).expect("an edge");
    assert!(scene.get(old).derived.offered, "superseded only once the other has shipped");
    assert!(!scene.get(copy).derived.offered, "a duplicate of live work");
    scene.must(new, Trigger::Complete);
    assert!(!scene.get(old).derived.offered);
    scene.must(new, Trigger::Reopen);
    scene.must(new, Trigger::Cancel);
    assert!(scene.get(old).derived.offered && scene.get(copy).derived.offered, "what replaced them was given up");
    assert!(!scene.get(dump).derived.offered && !scene.get(waiting).derived.offered);
    assert!(scene.claim(dump, "ann").is_ok(), "by name anything open may be claimed");
}

#[test]
fn work_on_the_same_paths_or_resources_is_not_handed_out_together() {
    let mut scene = Scene::task_orchestrator();
    let mut make = |text: &str, touches: &[&str], needs: &[&str]| {
        let names = |all: &[&str]| all.iter().map(|text| name(text)).collect::<Vec<Name>>();
        scene
            .create(NewItem { touches: names(touches), needs: names(needs), ..NewItem::titled(title(text)) })
            .expect("an item")
    };
    let code = make("a", &["src/**"], &[]);
    make("b", &["src/lib.rs"], &[]);
    let docs = make("c", &["docs/**"], &["staging"]);
    make("d", &[], &["staging"]);
    let free = make("e", &[], &[]);
    assert_eq!(next_id(&mut scene, "1"), Some(code));
    assert_eq!(next_id(&mut scene, "2"), Some(docs), "b touches what a touches");
    assert_eq!(next_id(&mut scene, "3"), Some(free), "d needs what c needs");
    let nothing = next(&mut scene, "4", Wanted::default()).expect("an answer");
    assert_eq!((nothing.held, nothing.passed_over), (None, 2));
    scene.release(code, "1");
    scene.release(docs, "2");
    assert_eq!((next_id(&mut scene, "5"), next_id(&mut scene, "6")), (Some(code), Some(docs)));
}

#[test]
fn an_agent_is_handed_only_what_it_can_do() {
    let mut scene = Scene::task_orchestrator();
    let hard = NewItem { required_capabilities: vec![name("rust"), name("gpu")], ..NewItem::titled(title("hard")) };
    let hard = scene.create(hard).expect("an item");
    let able = |names: &[&str]| Wanted {
        capabilities: names.iter().map(|text| name(text)).collect::<BTreeSet<_>>(),
        ..Wanted::default()
    };
    assert_eq!(next(&mut scene, "ann", able(&["rust"])).expect("an answer").held, None);
    let held = next(&mut scene, "bob", able(&["rust", "gpu", "go"])).expect("an answer").held.expect("he can");
    assert_eq!(held.item, hard);
}

#[test]
fn wanted_work_can_be_narrowed() {
    let mut scene = Scene::task_orchestrator();
    let root = scene.item("root");
    let child = scene.child(root, "child");
    let grandchild = scene.child(child, "grandchild");
    let tagged = NewItem { tags: vec![Tag::parse("api").expect("a tag")], ..NewItem::titled(title("tagged")) };
    let tagged = scene.create(tagged).expect("an item");
    let review = scene.item_in("review", Role::Review);
    let cases = [
        (Wanted { parent: Some(root.into()), ..Wanted::default() }, child),
        (Wanted { under: Some(child.into()), ..Wanted::default() }, grandchild),
        (Wanted { tags: vec![Tag::parse("api").expect("a tag")], ..Wanted::default() }, tagged),
        (Wanted { role: Some(Role::Review), ..Wanted::default() }, review),
    ];
    for (index, (wanted, expected)) in cases.into_iter().enumerate() {
        let held = next(&mut scene, &format!("agent-{index}"), wanted).expect("an answer").held.expect("there is one");
        assert_eq!(held.item, expected, "case {index}");
    }
}

#[test]
fn looking_past_many_unfit_items_finds_the_fit_one() {
    let mut scene = Scene::task_orchestrator();
    for n in 0..60 {
        scene
            .create(NewItem { required_capabilities: vec![name("gpu")], ..NewItem::titled(title(&format!("{n}"))) })
            .expect("an item");
    }
    let fit = scene.item("fit");
    assert_eq!(next_id(&mut scene, "ann"), Some(fit));
}

#[test]
fn a_rejecting_policy_lets_nobody_claim_unverified() {
    let mut scene = Scene::task_orchestrator();
    let item = scene.item("x");
    let mut call = scene.world.call(Some("ann"));
    call.policy = DegradedMode::Reject;
    let claims = vec![ClaimRequest { item: item.into(), ttl: None }];
    let refused =
        scene.world.run(&call, &Claim { project: World::project(), claims, releases: vec![], ready_only: false });
    let error = refused.expect_err("unverified");
    assert_eq!((error.code, error.reason), (Code::Forbidden, Reason::RejectedByPolicy));
}

#[test]
fn naming_nobody_is_no_way_around_a_rejecting_policy() {
    let mut scene = Scene::task_orchestrator();
    let item = scene.item("x");
    let mut call = scene.world.call(None);
    call.policy = DegradedMode::Reject;
    let start = MoveRequest::of(item.into(), Target::Trigger(Trigger::Start));
    let moved = scene.world.run(&call, &Advance { project: World::project(), moves: vec![start], atomic: false });
    match moved.expect("an answer").results.remove(0) {
        MoveResult::Refused(refused) => assert_eq!(refused.error.reason, Reason::RejectedByPolicy),
        MoveResult::Applied(applied) => panic!("{applied:?}"),
    }
    assert_eq!(scene.get(item).role, Role::Queue);
    // Whoever asks for no proofs is served as ever.
    call.policy = DegradedMode::AcceptCached;
    assert_eq!(call.holder().expect("the one who is connected"), call.principal);
}

#[test]
fn a_proof_decides_who_acts_unless_callers_are_taken_at_their_word() {
    let claim = |id: &str| docket_core::testing::attribution(id).actor;
    let verdict = |status, subject: Option<&str>| Verdict {
        record: Verification { status, ..Verification::unchecked() },
        subject: subject.map(name),
    };
    let verified = VerificationStatus::Verified;
    for (policy, status, subject, acts) in [
        (DegradedMode::AcceptCached, verified, Some("ann"), "ann"),
        (DegradedMode::Reject, verified, Some("ann"), "ann"),
        (DegradedMode::AcceptSelfReported, verified, Some("ann"), "bob"),
        (DegradedMode::AcceptCached, VerificationStatus::Unavailable, Some("ann"), "bob"),
        (DegradedMode::AcceptCached, VerificationStatus::Absent, None, "bob"),
    ] {
        let who = Attribution::checked(claim("bob"), verdict(status, subject), policy);
        assert_eq!(who.actor.id.as_str(), acts, "{policy:?} {status:?}");
        assert_eq!(policy.trusted(&who).map(Name::as_str), Ok(acts), "{policy:?} {status:?}");
        let told = who.verification.metadata.get("provenId").map(String::as_str);
        assert_eq!(told, subject.filter(|_| status == verified), "the record says whom the proof names");
    }
    let same = Attribution::checked(claim("ann"), verdict(verified, Some("ann")), DegradedMode::Reject);
    assert!(same.verification.metadata.is_empty(), "{same:?}");
}

#[test]
fn nobody_removes_what_another_agent_holds() {
    for actor in [None, Some("bob"), Some("ann")] {
        let mut scene = Scene::task_orchestrator();
        let item = scene.item("x");
        scene.claim(item, "ann").expect("nobody holds it");
        let call = scene.world.call(actor);
        let remove = docket_core::command::Remove {
            project: World::project(),
            items: vec![item.into()],
            expected_version: None,
            fence: None,
            recursive: false,
            atomic: true,
        };
        let removed = scene.world.run(&call, &remove);
        assert_eq!(removed.is_ok(), actor == Some("ann"), "{actor:?}");
    }
}

#[test]
fn handing_over_in_one_call_releases_the_old_item() {
    let mut scene = Scene::task_orchestrator();
    let (old, new) = (scene.item("old"), scene.item("new"));
    scene.claim(old, "ann").expect("free");
    let call = scene.world.call(Some("ann"));
    let claims = vec![ClaimRequest { item: new.into(), ttl: None }];
    let claim = Claim { project: World::project(), claims, releases: vec![old.into()], ready_only: false };
    let done = scene.world.run(&call, &claim).expect("an answer");
    assert_eq!(done.releases[0].outcome, ReleaseOutcome::Released);
    assert!(done.auto_released.is_empty());
}

#[test]
fn an_agent_does_not_collide_with_itself() {
    let mut scene = Scene::task_orchestrator();
    let touching = |text: &str| NewItem { touches: vec![name("src/**")], ..NewItem::titled(title(text)) };
    let first = scene.create(touching("first")).expect("an item");
    let second = scene.create(touching("second")).expect("an item");
    assert_eq!(next_id(&mut scene, "ann"), Some(first));
    assert_eq!(next_id(&mut scene, "bob"), None, "ann is on these paths");
    assert_eq!(next_id(&mut scene, "ann"), Some(second), "claiming it ends the claim in its way");
}

#[test]
fn what_others_left_is_handed_out_in_its_place_among_ready_work() {
    for under in [false, true] {
        let mut scene = Scene::new(Workflow::standard());
        let root = scene.item("root");
        let child = |scene: &mut Scene, priority, text: &str| {
            let parent = Some(docket_core::command::Parent::Existing(root.into()));
            scene.create(NewItem { parent, priority, ..NewItem::titled(title(text)) }).expect("an item")
        };
        let first = child(&mut scene, Priority::Medium, "first");
        let second = child(&mut scene, Priority::Medium, "second");
        scene.advance(root, Trigger::Block).expect("the root is no work to hand out");
        let wanted = || Wanted { start: true, under: under.then(|| root.into()), ..Wanted::default() };
        let take =
            |scene: &mut Scene, who: &str| next(scene, who, wanted()).expect("an answer").held.map(|held| held.item);
        assert_eq!(take(&mut scene, "ann"), Some(first));
        assert_eq!(take(&mut scene, "bob"), Some(second));
        assert_eq!(take(&mut scene, "cid"), None, "both are held");
        scene.world.pass(901);
        let (low, urgent) = (child(&mut scene, Priority::Low, "low"), child(&mut scene, Priority::High, "urgent"));
        let order: Vec<_> = ["cid", "dan", "eve", "fay", "gus"].iter().map(|who| take(&mut scene, who)).collect();
        assert_eq!(order, [Some(urgent), Some(first), Some(second), Some(low), None], "by the one ranking");
    }
}

#[test]
fn a_sign_of_life_extends_a_lease_and_never_takes_one() {
    let mut scene = Scene::new(Workflow::standard());
    let item = scene.item("x");
    let renew = |scene: &mut Scene, who: &str, fence: Option<Fence>| -> Result<Renewed, Error> {
        let call = scene.world.call(Some(who));
        scene.world.run(&call, &Renew { project: World::project(), item: item.into(), ttl: None, fence })
    };
    assert_eq!(renew(&mut scene, "ann", None).expect_err("nobody holds it").reason, Reason::ClaimLost);
    let held = scene.claim(item, "ann").expect("free");
    scene.world.pass(600);
    let renewed = renew(&mut scene, "ann", Some(held.fence)).expect("it is hers");
    assert_eq!(renewed.held.fence, held.fence);
    assert_eq!(renewed.held.claim.original_claimed_at, held.claim.original_claimed_at);
    assert_eq!(renewed.held.claim.expires_at, Some(scene.world.now.plus_seconds(900)));
    let other = renew(&mut scene, "bob", None).expect_err("it is not his");
    assert!(other.retry_after_ms.is_some() && !format!("{other:?}").contains("ann"), "{other:?}");
    scene.world.pass(901);
    assert_eq!(renew(&mut scene, "ann", None).expect_err("it ran out").reason, Reason::ClaimLost);
}
