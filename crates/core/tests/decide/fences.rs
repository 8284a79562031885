//! Fences on writes that touch more than one item's own fields: edges, notes that go, trees that close.

use docket_core::command::{
    CloseTree, EdgeSpec, Holding, Link, NewLink, Remark, Remove, RemoveLinks, RemoveNotes, Unlink, What,
};
use docket_core::engine::Command;
use docket_core::model::{EdgeKind, Fence, ItemId, Role, Url};
use docket_core::testing::{World, name};
use docket_core::{Code, Error, Reason};

use crate::scene::Scene;

/// An item that ann held and bob holds now, with a child, an edge, a note and a link, and another item.
struct Taken {
    scene: Scene,
    item: ItemId,
    other: ItemId,
    lost: Fence,
    held: Fence,
}

fn taken() -> Taken {
    let mut scene = Scene::task_orchestrator();
    let (item, other) = (scene.item("held"), scene.item("other"));
    scene.child(item, "beneath");
    scene.try_link(EdgeKind::RelatesTo, item, other, None).expect("an edge");
    scene.note(item, "plan", "words");
    let call = scene.world.call(None);
    let url = Url::parse("https://example.com/1").expect("an address");
    let link = NewLink { kind: name("pr"), reference: name("1"), url, title: None };
    let remark = Remark { project: World::project(), item: item.into(), comment: None, links: vec![link], fence: None };
    scene.world.run(&call, &remark).expect("a link");
    // The other item has a fence of the same number: it must not be taken for that of the first.
    scene.claim(other, "cyd").expect("free");
    scene.release(other, "cyd");
    let lost = scene.claim(item, "ann").expect("free").fence;
    scene.world.pass(1000);
    let held = scene.claim(item, "bob").expect("the lease has ended").fence;
    assert_eq!(scene.get(other).fence, lost);
    Taken { scene, item, other, lost, held }
}

impl Taken {
    fn run<C: Command>(&mut self, actor: &str, command: &C) -> Result<C::Output, Error> {
        let call = self.scene.world.call(Some(actor));
        self.scene.world.run(&call, command)
    }

    fn link(&self, item: ItemId, fence: Fence) -> Link {
        let edge = EdgeSpec {
            from: self.other.into(),
            to: self.item.into(),
            kind: EdgeKind::Blocks,
            unblock_at: Some(Role::Work),
            inverse: false,
        };
        let holding = Some(Holding { item: item.into(), fence });
        Link { project: World::project(), edges: vec![edge], holding }
    }

    fn unlink(&self, fence: Fence) -> Unlink {
        let (item, other) = (self.item.into(), self.other.into());
        let between =
            Unlink::Between { project: World::project(), from: other, to: item, kind: None, either_way: true };
        Unlink::Holding(Holding { item: self.item.into(), fence }, Box::new(between))
    }

    fn unlink_edge(&self, fence: Fence) -> Unlink {
        let edge = self.scene.world.edges.keys().next().copied().expect("an edge");
        Unlink::Holding(Holding { item: self.item.into(), fence }, Box::new(Unlink::Edge(edge)))
    }

    fn remove_notes(&self, key: &str, fence: Fence) -> RemoveNotes {
        let of = Some((self.item.into(), Some(name(key))));
        RemoveNotes { project: World::project(), ids: vec![], of, missing_ok: false, fence: Some(fence) }
    }

    fn remove_note(&self, fence: Fence) -> RemoveNotes {
        let ids = vec![self.scene.world.notes[&(self.item, name("plan"))].id];
        RemoveNotes { project: World::project(), ids, of: None, missing_ok: false, fence: Some(fence) }
    }

    fn remove_links(&self, fence: Fence) -> RemoveLinks {
        RemoveLinks { links: self.scene.world.links.keys().copied().collect(), fence: Some(fence) }
    }

    fn remove(&self, fence: Fence) -> Remove {
        Remove {
            project: World::project(),
            items: vec![self.item.into()],
            expected_version: None,
            fence: Some(fence),
            recursive: true,
            atomic: true,
        }
    }

    /// Each of the writes, tried by somebody with a fence.
    fn all(&mut self, actor: &str, fence: Fence) -> Vec<(&'static str, Result<(), Error>)> {
        let item = self.item;
        let (note, edge) = (self.remove_note(fence), self.unlink_edge(fence));
        let by_id = self.run(actor, &note).and_then(|mut gone| match gone.failed.pop() {
            None => Ok(()),
            Some((_, error)) => Err(error),
        });
        let (link, unlink) = (self.link(item, fence), self.unlink(fence));
        let (notes, absent) = (self.remove_notes("plan", fence), self.remove_notes("nothing", fence));
        let links = self.remove_links(fence);
        let trees = [What::Beneath(item.into()), What::Tree(item.into()), What::Whole(item.into())];
        let mut tried = vec![
            ("unlink edge", self.run(actor, &edge).map(drop)),
            ("link", self.run(actor, &link).map(drop)),
            ("unlink", self.run(actor, &unlink).map(drop)),
            ("remove note", by_id),
            ("remove notes", self.run(actor, &notes).map(drop)),
            ("remove no note", self.run(actor, &absent).map(drop)),
            ("remove links", self.run(actor, &links).map(drop)),
        ];
        for (name, what) in ["close beneath", "close tree", "close whole"].into_iter().zip(trees) {
            let close = close(what, fence);
            tried.push((name, self.run(actor, &close).map(drop)));
        }
        let items = close(What::Items(vec![item.into()]), fence);
        tried.push(("close items", self.run(actor, &items).map(drop)));
        let remove = self.remove(fence);
        tried.push(("remove", self.run(actor, &remove).map(drop)));
        tried
    }
}

fn close(what: What, fence: Fence) -> CloseTree {
    CloseTree { project: World::project(), what, cancel: true, fence: Some(fence) }
}

#[test]
fn a_lost_fence_changes_no_edge_no_note_and_no_tree() {
    let mut taken = taken();
    let (lost, before) = (taken.lost, format!("{:?}", taken.scene.world.items));
    let (edges, events) = (taken.scene.world.edges.clone(), taken.scene.world.events.len());
    for (what, tried) in taken.all("ann", lost) {
        let error = tried.expect_err(what);
        assert_eq!((error.code, error.reason), (Code::Conflict, Reason::ClaimLost), "{what}");
        assert_eq!(error.contended_item, Some(taken.item), "{what}");
    }
    assert_eq!(format!("{:?}", taken.scene.world.items), before);
    assert_eq!((taken.scene.world.edges.clone(), taken.scene.world.events.len()), (edges, events));
    taken.scene.world.check();
}

#[test]
fn nor_does_one_that_was_never_given_out_or_is_anothers() {
    let mut taken = taken();
    let (held, forged) = (taken.held, Fence(taken.held.0 + 1));
    for (actor, fence) in [("ann", forged), ("bob", forged), ("ann", held)] {
        for (what, tried) in taken.all(actor, fence) {
            let error = tried.expect_err(what);
            assert_eq!((error.code, error.reason), (Code::Forbidden, Reason::ForeignClaim), "{what} by {actor}");
        }
    }
}

#[test]
fn the_holder_writes_with_its_fence_and_keeps_its_lease() {
    let mut taken = taken();
    let (held, item) = (taken.held, taken.item);
    taken.scene.world.pass(60);
    let end = taken.scene.get(item).claim.as_ref().and_then(|claim| claim.expires_at);
    let link = taken.link(item, held);
    taken.run("bob", &link).expect("its own");
    let later = taken.scene.get(item).claim.as_ref().and_then(|claim| claim.expires_at);
    assert!(later > end, "a holder who writes is at work");
    taken.scene.world.check();
    for (what, tried) in taken.all("bob", held) {
        // The note and the edge are gone after the first of the writes that mean them; the rest is as before.
        let settled = tried.as_ref().err().map(|error| error.reason);
        assert!(!matches!(settled, Some(Reason::ClaimLost | Reason::ForeignClaim | Reason::AlreadyClaimed)), "{what}");
    }
    taken.scene.world.check();
}

#[test]
fn whose_fence_it_is_decides_and_not_its_number() {
    let mut taken = taken();
    let (lost, other) = (taken.lost, taken.other);
    let link = taken.link(other, lost);
    taken.run("cyd", &link).expect("the other item has this fence");
    let link = taken.link(taken.item, lost);
    assert_eq!(taken.run("cyd", &link).expect_err("the first has not").reason, Reason::ClaimLost);
}
