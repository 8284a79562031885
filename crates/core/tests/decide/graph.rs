//! Edges, cycles and the tree: what could never finish is refused when it is made.

use docket_core::command::{
    Change, Create, EdgeSpec, Edit, End, Link, NewEdge, NewItem, Parent, Patch, Remove, Unlink,
};
use docket_core::limits;
use docket_core::model::{Edge, EdgeId, EdgeKind, ItemId, Role};
use docket_core::testing::{World, title};
use docket_core::workflow::Workflow;
use docket_core::{Error, Reason};

use crate::scene::Scene;

fn blocks(scene: &mut Scene, from: ItemId, to: ItemId, at: Option<Role>) -> Result<(), Error> {
    scene.try_link(EdgeKind::Blocks, from, to, at)
}

fn reparent(scene: &mut Scene, item: ItemId, parent: Option<ItemId>) -> Result<(), Error> {
    let call = scene.world.call(None);
    let patch = Patch { parent: parent.map_or(Change::Clear, |id| Change::Set(id.into())), ..Patch::of(item.into()) };
    scene.world.run(&call, &Edit { project: World::project(), patches: vec![patch], atomic: true }).map(|_| ())
}

#[test]
fn an_edge_has_two_ends_and_a_kind_that_fits() {
    let mut scene = Scene::task_orchestrator();
    let (a, b) = (scene.item("a"), scene.item("b"));
    assert_eq!(blocks(&mut scene, a, a, None).expect_err("itself").reason, Reason::SelfEdge);
    let threshold_on_relation = scene.try_link(EdgeKind::RelatesTo, a, b, Some(Role::Work));
    assert_eq!(threshold_on_relation.expect_err("no threshold on a relation").reason, Reason::BadValue);
    assert_eq!(blocks(&mut scene, a, b, Some(Role::Blocked)).expect_err("never reached").reason, Reason::BadValue);
    blocks(&mut scene, a, b, None).expect("an edge");
    assert_eq!(blocks(&mut scene, a, b, Some(Role::Work)).expect_err("twice").reason, Reason::Duplicate);
    scene.try_link(EdgeKind::RelatesTo, a, b, None).expect("another kind is another edge");
}

#[test]
fn a_circle_of_blockers_is_refused_with_its_path() {
    let mut scene = Scene::task_orchestrator();
    let ring: Vec<ItemId> = (0..5).map(|n| scene.item(&format!("{n}"))).collect();
    for pair in ring.windows(2) {
        blocks(&mut scene, pair[0], pair[1], None).expect("a chain");
    }
    let refused = blocks(&mut scene, ring[4], ring[0], None).expect_err("it closes the ring");
    assert_eq!(refused.reason, Reason::Cycle);
    assert!(ring.iter().all(|item| scene.is_named(&refused.message, *item)), "{}", refused.message);
    for end in [ring[4], ring[0]] {
        assert!(refused.message.contains(&scene.key(end)), "what was named has a key: {}", refused.message);
    }
    scene.world.check();
}

#[test]
fn a_batch_of_edges_is_made_whole_or_not_at_all() {
    let mut scene = Scene::task_orchestrator();
    let (a, b, c) = (scene.item("a"), scene.item("b"), scene.item("c"));
    let edge = |from: ItemId, to: ItemId| EdgeSpec {
        from: from.into(),
        to: to.into(),
        kind: EdgeKind::Blocks,
        unblock_at: None,
        inverse: false,
    };
    let call = scene.world.call(None);
    let refused = scene.world.run(
        &call,
        &Link { project: World::project(), edges: vec![edge(a, b), edge(b, c), edge(c, a)], holding: None },
    );
    assert_eq!(refused.expect_err("a ring in one call").reason, Reason::Cycle);
    assert!(scene.world.edges.is_empty());
}

#[test]
fn a_parent_that_waits_for_its_child_cannot_block_it() {
    let mut scene = Scene::new(Workflow::standard());
    let parent = scene.item("parent");
    let child = scene.child(parent, "child");
    let grandchild = scene.child(child, "grandchild");
    for item in [child, grandchild] {
        assert_eq!(blocks(&mut scene, parent, item, None).expect_err("each waits for the other").reason, Reason::Cycle);
    }
    blocks(&mut scene, parent, child, Some(Role::Work)).expect("starting the parent waits for no child");
    blocks(&mut scene, child, parent, None)
        .expect_err("the parent's start waits for the child, the child for the parent's start");
}

#[test]
fn a_deadlock_through_two_subtrees_is_refused() {
    let mut scene = Scene::new(Workflow::standard());
    let (left, right) = (scene.item("left"), scene.item("right"));
    let (a, b) = (scene.child(left, "a"), scene.child(right, "b"));
    blocks(&mut scene, left, b, None).expect("b waits for all of left");
    assert_eq!(blocks(&mut scene, right, a, None).expect_err("a would wait for b, b for a").reason, Reason::Cycle);
}

#[test]
fn a_parent_may_block_its_child_where_it_can_be_closed_first() {
    let mut scene = Scene::task_orchestrator();
    let parent = scene.item("parent");
    let child = scene.child(parent, "child");
    blocks(&mut scene, parent, child, None).expect("no gate makes the parent wait");
}

#[test]
fn moving_in_the_tree_keeps_depths_and_refuses_circles() {
    let mut scene = Scene::task_orchestrator();
    let root = scene.item("root");
    let middle = scene.child(root, "middle");
    let leaf = scene.child(middle, "leaf");
    let other = scene.item("other");
    assert_eq!(reparent(&mut scene, root, Some(root)).expect_err("itself").reason, Reason::Cycle);
    assert_eq!(reparent(&mut scene, root, Some(leaf)).expect_err("beneath itself").reason, Reason::Cycle);
    reparent(&mut scene, middle, Some(other)).expect("a move");
    assert_eq!((scene.get(middle).depth, scene.get(leaf).depth), (1, 2));
    let lower = scene.child(other, "lower");
    reparent(&mut scene, middle, Some(lower)).expect("down to depth 3");
    assert_eq!(scene.get(leaf).depth, 3);
    let lowest = scene.child(lower, "lowest");
    let refused = reparent(&mut scene, middle, Some(lowest)).expect_err("the leaf would lie at 4");
    assert_eq!(refused.reason, Reason::TooDeep);
    reparent(&mut scene, middle, None).expect("to the root");
    assert_eq!((scene.get(middle).depth, scene.get(leaf).depth), (0, 1));
    scene.world.check();
}

#[test]
fn moving_in_the_tree_refuses_what_could_never_finish() {
    let mut scene = Scene::new(Workflow::standard());
    let (parent, item) = (scene.item("parent"), scene.item("item"));
    blocks(&mut scene, parent, item, None).expect("an edge");
    assert_eq!(
        reparent(&mut scene, item, Some(parent)).expect_err("each would wait for the other").reason,
        Reason::Cycle
    );
}

#[test]
fn nothing_lies_deeper_than_the_workflow_allows() {
    let mut scene = Scene::task_orchestrator();
    let mut parent = scene.item("0");
    for depth in 1..=3 {
        parent = scene.child(parent, &format!("{depth}"));
    }
    let refused =
        scene.create(NewItem { parent: Some(Parent::Existing(parent.into())), ..NewItem::titled(title("4")) });
    assert_eq!(refused.expect_err("too deep").reason, Reason::TooDeep);
}

#[test]
fn open_work_is_not_put_beneath_closed_work_where_that_must_stay_whole() {
    let mut scene = Scene::new(Workflow::standard());
    let parent = scene.item_in("parent", Role::Terminal);
    let refused =
        scene.create(NewItem { parent: Some(Parent::Existing(parent.into())), ..NewItem::titled(title("late")) });
    assert_eq!(refused.expect_err("the parent is closed").reason, Reason::Terminal);
    let item = scene.item("item");
    assert_eq!(reparent(&mut scene, item, Some(parent)).expect_err("likewise").reason, Reason::Terminal);
}

#[test]
fn removing_takes_edges_along_and_children_only_when_asked() {
    let mut scene = Scene::task_orchestrator();
    let root = scene.item("root");
    let child = scene.child(root, "child");
    scene.child(child, "grandchild");
    let waiting = scene.item("waiting");
    scene.link(child, waiting, None);
    let remove = |scene: &mut Scene, recursive| {
        let call = scene.world.call(None);
        scene.world.run(
            &call,
            &Remove {
                project: World::project(),
                items: vec![root.into()],
                expected_version: None,
                fence: None,
                recursive,
                atomic: true,
            },
        )
    };
    assert_eq!(remove(&mut scene, false).expect_err("it has a child").reason, Reason::HasChildren);
    let removed = remove(&mut scene, true).expect("all of it").items.remove(0).expect("the root");
    assert_eq!(removed.descendants, 2);
    assert_eq!(scene.world.items.keys().collect::<Vec<_>>(), [&waiting]);
    assert_eq!(scene.get(waiting).derived.blockers, 0);
    scene.world.check();
}

#[test]
fn what_lies_beneath_goes_with_it_where_it_is_named_as_well() {
    let mut scene = Scene::task_orchestrator();
    let root = scene.item("root");
    let (first, second) = (scene.child(root, "first"), scene.child(root, "second"));
    let remove = |scene: &mut Scene, items: &[ItemId]| {
        let call = scene.world.call(None);
        let items = items.iter().map(|id| (*id).into()).collect();
        let remove = Remove {
            project: World::project(),
            items,
            expected_version: None,
            fence: None,
            recursive: false,
            atomic: true,
        };
        scene.world.run(&call, &remove)
    };
    let refused = remove(&mut scene, &[root, first]).expect_err("the second child was not named");
    assert_eq!((refused.reason, scene.world.items.len()), (Reason::HasChildren, 3));
    let removed = remove(&mut scene, &[root, first, second]).expect("all were named").items;
    let already: Vec<bool> = removed.into_iter().map(|one| one.expect("removed").already).collect();
    assert_eq!((already, scene.world.items.len()), (vec![false, true, true], 0));
    scene.world.check();
}

#[test]
fn removing_edges_frees_what_they_held_up() {
    let mut scene = Scene::task_orchestrator();
    let (a, b, c) = (scene.item("a"), scene.item("b"), scene.item("c"));
    scene.link(a, c, None);
    scene.link(b, c, None);
    let call = scene.world.call(None);
    let between =
        Unlink::Between { project: World::project(), from: a.into(), to: c.into(), kind: None, either_way: false };
    assert_eq!(scene.world.run(&call, &between).expect("an answer").edges.len(), 1);
    assert_eq!(scene.get(c).derived.blockers, 1);
    let call = scene.world.call(None);
    assert_eq!(
        scene
            .world
            .run(&call, &Unlink::Of { project: World::project(), item: c.into(), kind: None })
            .expect("an answer")
            .edges
            .len(),
        1
    );
    assert!(scene.get(c).derived.offered);
}

#[test]
fn a_long_chain_is_checked_without_deep_recursion() {
    use docket_core::graph::Waits;
    use docket_core::store::WaitEdge;
    let ids: Vec<ItemId> = (0..10_000_u128).map(|n| ItemId::from_uuid(uuid::Uuid::from_u128(n))).collect();
    let mut waits = Waits::new(None, false).expect("an empty graph");
    for pair in ids.windows(2) {
        waits.add_edge(WaitEdge { from: pair[0], to: pair[1], threshold: Role::Terminal });
    }
    let last = WaitEdge { from: ids[9_999], to: ids[0], threshold: Role::Terminal };
    let path = waits.cycle_with_edge(last).expect("a ring of ten thousand");
    assert_eq!(path.len(), 10_001);
    let shown = docket_core::graph::cycle_error(&path, |id| Some(id.to_string())).message;
    assert_eq!(shown.matches('→').count(), 20, "no more of it than is useful");
    waits.add_edge(last);
    assert!(waits.find_cycle().is_some());
}

fn reparent_together(scene: &mut Scene, moves: &[(ItemId, ItemId)], atomic: bool) -> Vec<Result<(), Error>> {
    let call = scene.world.call(None);
    let patch = |(item, parent): &(ItemId, ItemId)| Patch {
        parent: Change::Set((*parent).into()),
        ..Patch::of((*item).into())
    };
    let edit = Edit { project: World::project(), patches: moves.iter().map(patch).collect(), atomic };
    match scene.world.run(&call, &edit) {
        Ok(edited) => edited.items.into_iter().map(|item| item.map(|_| ())).collect(),
        Err(error) => vec![Err(error)],
    }
}

#[test]
fn moves_of_one_batch_see_each_other() {
    let mut scene = Scene::task_orchestrator();
    let (a, b) = (scene.item("a"), scene.item("b"));
    let c = scene.child(a, "c");
    let moved = reparent_together(&mut scene, &[(a, b), (b, c)], false);
    assert!(moved[0].is_ok(), "a beneath b");
    assert_eq!(moved[1].as_ref().expect_err("b beneath c, which lies beneath b by now").reason, Reason::Cycle);
    scene.world.check();
    let d = scene.item("d");
    assert!(reparent_together(&mut scene, &[(b, d)], true)[0].is_ok());
    assert_eq!((scene.get(b).depth, scene.get(a).depth, scene.get(c).depth), (1, 2, 3));
    scene.world.check();
}

#[test]
fn depths_follow_when_a_batch_moves_parent_and_child() {
    let mut scene = Scene::task_orchestrator();
    let (a, b, d) = (scene.item("a"), scene.item("b"), scene.item("d"));
    let c = scene.child(a, "c");
    let moved = reparent_together(&mut scene, &[(a, b), (b, d)], true);
    assert!(moved.iter().all(Result::is_ok), "{moved:?}");
    assert_eq!((scene.get(b).depth, scene.get(a).depth, scene.get(c).depth), (1, 2, 3));
    scene.world.check();
}

#[test]
fn moves_of_one_batch_cannot_make_a_deadlock_together() {
    let mut scene = Scene::new(Workflow::standard());
    let (left, right) = (scene.item("left"), scene.item("right"));
    let (first, second) = (scene.item("first"), scene.item("second"));
    blocks(&mut scene, right, first, None).expect("an edge");
    blocks(&mut scene, left, second, None).expect("an edge");
    let moved = reparent_together(&mut scene, &[(first, left), (second, right)], false);
    assert!(moved[0].is_ok());
    assert_eq!(moved[1].as_ref().expect_err("each half would wait for the other").reason, Reason::Cycle);
    scene.world.check();
}

#[test]
fn a_refused_move_opens_no_parent() {
    let mut workflow = Workflow::task_orchestrator();
    workflow.close_parents = docket_core::workflow::Lifecycle::AutoReopen;
    workflow.max_depth = 1;
    let mut scene = Scene::new(workflow);
    let root = scene.item("root");
    let closed = scene.child(root, "closed");
    scene.must(closed, docket_core::model::Trigger::Complete);
    let item = scene.item("item");
    let moved = reparent_together(&mut scene, &[(item, closed)], false);
    assert_eq!(moved[0].as_ref().expect_err("too deep").reason, Reason::TooDeep);
    assert!(!scene.get(closed).role.is_open(), "nothing has changed");
}

#[test]
fn the_edges_of_one_item_are_limited_however_they_are_made() {
    let mut scene = Scene::task_orchestrator();
    let (hub, other) = (scene.item("hub"), scene.item("other"));
    scene.try_link(EdgeKind::RelatesTo, hub, other, None).expect("the first");
    let first = scene.world.edges.values().next().expect("an edge").clone();
    for number in 1..limits::EDGES {
        let id = EdgeId::from_uuid(uuid::Uuid::from_u128(number as u128));
        scene.world.edges.insert(id, Edge { id, ..first.clone() });
    }
    let third = scene.item("third");
    for (from, to) in [(hub, third), (third, hub)] {
        let refused = blocks(&mut scene, from, to, None).expect_err("one too many");
        assert_eq!(refused.reason, Reason::TooMany);
        assert!(refused.message.contains("10000") && scene.is_named(&refused.message, hub), "{}", refused.message);
    }
    let call = scene.world.call(None);
    let spec = |end: ItemId| NewEdge {
        from: End::Existing(end.into()),
        to: End::Local("new".to_owned()),
        kind: EdgeKind::Blocks,
        unblock_at: None,
        inverse: false,
    };
    let create = |end| Create {
        project: World::project(),
        items: vec![NewItem { local: Some("new".to_owned()), ..NewItem::titled(title("new")) }],
        edges: vec![spec(end)],
        notes: Vec::new(),
        blank_notes: false,
        room_below: false,
        atomic: true,
    };
    let refused = scene.world.run(&call, &create(hub)).expect_err("one too many");
    assert_eq!(refused.reason, Reason::TooMany);
    scene.world.run(&call, &create(third)).expect("room enough");
    scene.world.edges.remove(&first.id);
    blocks(&mut scene, hub, third, None).expect("one has gone");
}
