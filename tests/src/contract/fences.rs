//! Fences on writes around an item, over a real store: what the fence belongs to is loaded whatever else the write is about.

use docket_core::command::{
    Claim, ClaimOutcome, ClaimRequest, CloseTree, EdgeSpec, Holding, Link, Remove, RemoveNotes, Unlink, What,
};
use docket_core::engine::{Call, Command, Engine};
use docket_core::model::{ActorClaim, ActorKind, Attribution, EdgeKind, Fence, Item, Verification};
use docket_core::store::{ChangeSet, ProjectRef};
use docket_core::{Error, Reason};

use super::support::{Bench, edge, item, name, new_uuid, note};

fn call(who: &str) -> Call {
    let actor = ActorClaim { id: name(who), kind: ActorKind::Subagent, parent: None, proof: None };
    let by = Some(Attribution { actor, verification: Verification::unchecked() });
    Call { by, ..Call::new(name(who), new_uuid().as_u128()) }
}

async fn hold(engine: &Engine, who: &str, item: &Item) -> Fence {
    let claims = vec![ClaimRequest { item: item.id.into(), ttl: None }];
    let claim = Claim { project: ProjectRef::Any, claims, releases: vec![], ready_only: false };
    match engine.run(call(who), claim).await.expect("an answer").claims.remove(0).outcome {
        ClaimOutcome::Held(held) => held.fence,
        other => panic!("{other:?}"),
    }
}

async fn release(engine: &Engine, who: &str, item: &Item) {
    let claim = Claim { project: ProjectRef::Any, claims: vec![], releases: vec![item.id.into()], ready_only: false };
    engine.run(call(who), claim).await.expect("an answer");
}

async fn is_lost<C: Command + 'static>(engine: &Engine, command: C)
where
    C::Output: std::fmt::Debug,
{
    let error: Error = engine.run(call("ann"), command).await.expect_err(C::NAME);
    assert_eq!(error.reason, Reason::ClaimLost, "{}", C::NAME);
}

/// A write around an item needs its fence of now.
pub async fn a_write_around_an_item_needs_its_fence_of_now(bench: Bench) {
    let (held, other, third) =
        (item(&bench.project, 1, "held"), item(&bench.project, 2, "other"), item(&bench.project, 3, "third"));
    let there = edge(EdgeKind::Blocks, &other, &third);
    bench
        .put(ChangeSet {
            new_items: vec![held.clone(), other.clone(), third.clone()],
            new_edges: vec![there.clone()],
            notes: vec![note(&held, "n", "x")],
            ..ChangeSet::default()
        })
        .await;
    let engine = Engine::new(bench.store.clone());
    let lost = hold(&engine, "ann", &held).await;
    release(&engine, "ann", &held).await;
    let now = hold(&engine, "bob", &held).await;
    assert!(now > lost);
    let holding = |fence| Holding { item: held.id.into(), fence };
    let link = |fence| {
        let (from, to) = (held.id.into(), other.id.into());
        let edge = EdgeSpec { from, to, kind: EdgeKind::Blocks, unblock_at: None, inverse: false };
        Link { project: ProjectRef::Any, edges: vec![edge], holding: Some(holding(fence)) }
    };
    // Neither end of this edge is the item that is held: the fence is looked at all the same.
    let unlink = |fence| Unlink::Holding(holding(fence), Box::new(Unlink::Edge(there.id)));
    let notes = |fence| RemoveNotes {
        project: ProjectRef::Any,
        ids: vec![],
        of: Some((held.id.into(), None)),
        missing_ok: false,
        fence: Some(fence),
    };
    let close = |fence| CloseTree {
        project: ProjectRef::Any,
        what: What::Whole(held.id.into()),
        cancel: true,
        fence: Some(fence),
    };
    let remove = |fence| Remove {
        project: ProjectRef::Any,
        items: vec![held.id.into()],
        expected_version: None,
        fence: Some(fence),
        recursive: false,
        atomic: true,
    };
    is_lost(&engine, link(lost)).await;
    is_lost(&engine, unlink(lost)).await;
    is_lost(&engine, notes(lost)).await;
    is_lost(&engine, close(lost)).await;
    is_lost(&engine, remove(lost)).await;
    assert_eq!(bench.get(held.id).await.expect("the item").fence, now);
    assert_eq!(engine.run(call("bob"), link(now)).await.expect("its own").edges.len(), 1);
    assert_eq!(engine.run(call("bob"), unlink(now)).await.expect("its own").edges, [there]);
    assert_eq!(engine.run(call("bob"), notes(now)).await.expect("its own").removed, 1);
    engine.run(call("bob"), close(now)).await.expect("its own");
    bench.is_sound().await;
}
