//! What gives way to what: of items that are all duplicates of each other, or supersede each other, none would be handed out.

use docket_core::Reason;
use docket_core::command::{Create, EdgeSpec, End, Link, NewEdge, NewItem};
use docket_core::model::{Edge, EdgeId, EdgeKind, ItemId};
use docket_core::testing::{World, title};
use docket_core::workflow::Workflow;

use crate::scene::Scene;

#[test]
fn items_that_would_all_give_way_to_each_other_are_refused() {
    use EdgeKind::{DuplicateOf, Supersedes};
    for kind in [DuplicateOf, Supersedes] {
        for length in [2, 3, 5] {
            let mut scene = Scene::new(Workflow::standard());
            let ring: Vec<ItemId> = (0..length).map(|n| scene.item(&format!("{n}"))).collect();
            for pair in ring.windows(2) {
                scene.try_link(kind, pair[0], pair[1], None).expect("a chain");
            }
            let refused = scene.try_link(kind, ring[length - 1], ring[0], None).expect_err("it closes the ring");
            assert_eq!(refused.reason, Reason::Cycle, "{kind:?} of {length}");
            assert!(ring.iter().all(|item| scene.is_named(&refused.message, *item)), "{}", refused.message);
            assert_eq!(scene.world.edges.len(), length - 1);
            scene.world.check();
        }
    }
    let mut scene = Scene::new(Workflow::standard());
    let (a, b, c) = (scene.item("a"), scene.item("b"), scene.item("c"));
    scene.try_link(DuplicateOf, a, b, None).expect("a gives way to b");
    scene.try_link(Supersedes, b, a, None).expect("the same in other words");
    scene.try_link(Supersedes, c, b, None).expect("b gives way to c");
    let refused = scene.try_link(DuplicateOf, c, a, None).expect_err("and c to a");
    assert_eq!(refused.reason, Reason::Cycle, "one kind may lead on to the other");
    scene.try_link(DuplicateOf, a, c, None).expect("the short way");
    scene.try_link(EdgeKind::RelatesTo, c, a, None).expect("worth knowing");
}

#[test]
fn a_ring_in_one_call_is_refused_also_through_items_that_are_made_by_it() {
    let mut scene = Scene::new(Workflow::standard());
    let (a, b) = (scene.item("a"), scene.item("b"));
    let duplicate = |from: ItemId, to: ItemId| EdgeSpec {
        from: from.into(),
        to: to.into(),
        kind: EdgeKind::DuplicateOf,
        unblock_at: None,
        inverse: false,
    };
    let call = scene.world.call(None);
    let both = Link { project: World::project(), edges: vec![duplicate(a, b), duplicate(b, a)], holding: None };
    assert_eq!(scene.world.run(&call, &both).expect_err("both halves").reason, Reason::Cycle);
    scene.try_link(EdgeKind::DuplicateOf, a, b, None).expect("an edge");
    let end = |from: End, to: End| NewEdge { from, to, kind: EdgeKind::DuplicateOf, unblock_at: None, inverse: false };
    let new = || End::Local("new".to_owned());
    let create = Create {
        project: World::project(),
        items: vec![NewItem { local: Some("new".to_owned()), ..NewItem::titled(title("new")) }],
        edges: vec![end(End::Existing(b.into()), new()), end(new(), End::Existing(a.into()))],
        notes: vec![],
        blank_notes: false,
        room_below: false,
        atomic: true,
    };
    let refused = scene.world.run(&call, &create).expect_err("a, b, the new one, a");
    assert_eq!(refused.reason, Reason::Cycle);
    assert!(refused.message.contains("new → T-1"), "{refused}");
    assert!(!refused.message.contains(&a.to_string()), "by keys, and what is made by its own name: {refused}");
    scene.world.check();
}

#[test]
fn a_long_chain_of_duplicates_is_checked_without_deep_recursion_and_a_cut_one_is_refused() {
    use docket_core::graph::{Ways, ring_error};
    use docket_core::store::WayGraph;
    let ids: Vec<ItemId> = (0..10_000_u128).map(|n| ItemId::from_uuid(uuid::Uuid::from_u128(n))).collect();
    let pairs = ids.windows(2).map(|pair| (pair[0], pair[1])).collect();
    let mut loaded = WayGraph { pairs, truncated: false };
    let last = Edge {
        id: EdgeId::from_uuid(uuid::Uuid::from_u128(1)),
        kind: EdgeKind::DuplicateOf,
        from: ids[9_999],
        to: ids[0],
        unblock_at: None,
        inverse: false,
        created_at: docket_core::model::Timestamp::default(),
    };
    let mut ways = Ways::new(Some(&loaded));
    assert_eq!(ways.find_ring(), None);
    let path = ways.ring_with(&last).expect("all of it").expect("a ring of ten thousand");
    assert_eq!((path.len(), path.first(), path.last()), (10_001, ids.last(), ids.last()));
    assert_eq!(
        ring_error(&path, |id| Some(id.to_string())).message.matches('→').count(),
        20,
        "no more of it than is useful"
    );
    ways.add(&last);
    assert_eq!(ways.find_ring().map(|ring| ring.len()), Some(10_001));
    loaded.truncated = true;
    let cut = Ways::new(Some(&loaded));
    assert_eq!(cut.ring_with(&last).expect_err("a ring could hide").reason, Reason::GraphTooLarge);
    assert_eq!(cut.ring_with(&Edge { kind: EdgeKind::RelatesTo, ..last }), Ok(None), "it is not about this");
}
