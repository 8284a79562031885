//! Short words for scenes of a few items.

use std::collections::BTreeMap;

use docket_core::Error;
use docket_core::command::{
    Advance, Applied, Claim, ClaimOutcome, ClaimRequest, CloseOutcome, CloseTree, Create, EdgeSpec, Edit, Held, Link,
    MoveRequest, MoveResult, NewItem, NotePut, Parent, Patch, PutNotes, What,
};
use docket_core::model::{EdgeKind, Fence, Item, ItemId, Role, Text, Trigger};
use docket_core::testing::{World, name, required, title};
use docket_core::workflow::{Lifecycle, Schema, Schemas, Target, Workflow};

pub(crate) struct Scene {
    pub(crate) world: World,
}

impl Scene {
    pub(crate) fn new(workflow: Workflow) -> Self {
        Self { world: World::new(workflow, Schemas::default()) }
    }

    pub(crate) fn task_orchestrator() -> Self {
        Self::new(Workflow::task_orchestrator())
    }

    /// Items of the type `job` owe these notes.
    pub(crate) fn with_schema(workflow: Workflow, notes: &[(&str, Role)]) -> Self {
        let notes = notes.iter().map(|(key, phase)| required(key, *phase)).collect();
        let types = BTreeMap::from([("job".to_owned(), Schema { notes, ..Schema::default() })]);
        Self { world: World::new(workflow, Schemas { types, ..Schemas::default() }) }
    }

    /// Items of the type `job` have this lifecycle.
    pub(crate) fn with_lifecycle(lifecycle: Lifecycle) -> Self {
        let types = BTreeMap::from([("job".to_owned(), Schema { lifecycle: Some(lifecycle), ..Schema::default() })]);
        Self { world: World::new(Workflow::task_orchestrator(), Schemas { types, ..Schemas::default() }) }
    }

    pub(crate) fn create(&mut self, new: NewItem) -> Result<ItemId, Error> {
        let call = self.world.call(None);
        let create = Create {
            project: World::project(),
            items: vec![new],
            edges: vec![],
            notes: vec![],
            blank_notes: false,
            room_below: false,
            atomic: true,
        };
        self.world.run(&call, &create)?.items.remove(0).map(|made| made.item.id)
    }

    pub(crate) fn item(&mut self, text: &str) -> ItemId {
        self.create(NewItem::titled(title(text))).expect("an item")
    }

    pub(crate) fn item_in(&mut self, text: &str, role: Role) -> ItemId {
        self.create(NewItem { role: Some(role), ..NewItem::titled(title(text)) }).expect("an item")
    }

    pub(crate) fn typed(&mut self, text: &str) -> ItemId {
        self.create(NewItem { item_type: Some(name("job")), ..NewItem::titled(title(text)) }).expect("an item")
    }

    pub(crate) fn child(&mut self, parent: ItemId, text: &str) -> ItemId {
        self.create(NewItem { parent: Some(Parent::Existing(parent.into())), ..NewItem::titled(title(text)) })
            .expect("an item")
    }

    /// What people call an item.
    pub(crate) fn key(&self, item: ItemId) -> String {
        let item = self.get(item);
        self.world.projects[&item.project].key(item.number).to_string()
    }

    /// Whether a text names an item by its key, or by its id where it was not loaded.
    pub(crate) fn is_named(&self, text: &str, item: ItemId) -> bool {
        let key = self.key(item);
        text.split(|c: char| !c.is_alphanumeric() && c != '-').any(|word| word == key || word == item.to_string())
    }

    pub(crate) fn get(&self, item: ItemId) -> &Item {
        &self.world.items[&item]
    }

    pub(crate) fn advance_by(
        &mut self,
        item: ItemId,
        target: Target,
        actor: Option<&str>,
        fence: Option<Fence>,
    ) -> Result<Applied, Error> {
        let call = self.world.call(actor);
        let request = MoveRequest { item: item.into(), target, summary: None, by: None, fence, expected_version: None };
        let advance = Advance { project: World::project(), moves: vec![request], atomic: false };
        match self.world.run(&call, &advance)?.results.remove(0) {
            MoveResult::Applied(applied) => Ok(*applied),
            MoveResult::Refused(refused) => Err(refused.error),
        }
    }

    pub(crate) fn advance(&mut self, item: ItemId, trigger: Trigger) -> Result<Applied, Error> {
        self.advance_by(item, Target::Trigger(trigger), None, None)
    }

    pub(crate) fn advance_as(&mut self, item: ItemId, trigger: Trigger, actor: Option<&str>) -> Result<Applied, Error> {
        self.advance_by(item, Target::Trigger(trigger), actor, None)
    }

    pub(crate) fn advance_fenced(
        &mut self,
        item: ItemId,
        trigger: Trigger,
        actor: &str,
        fence: Fence,
    ) -> Result<Applied, Error> {
        self.advance_by(item, Target::Trigger(trigger), Some(actor), Some(fence))
    }

    pub(crate) fn must(&mut self, item: ItemId, trigger: Trigger) -> Applied {
        let moved = self.advance(item, trigger);
        moved.unwrap_or_else(|error| panic!("{trigger} was refused: {error}"))
    }

    pub(crate) fn link(&mut self, from: ItemId, to: ItemId, unblock_at: Option<Role>) {
        self.try_link(EdgeKind::Blocks, from, to, unblock_at).expect("an edge");
    }

    pub(crate) fn try_link(
        &mut self,
        kind: EdgeKind,
        from: ItemId,
        to: ItemId,
        unblock_at: Option<Role>,
    ) -> Result<(), Error> {
        let call = self.world.call(None);
        let edge = EdgeSpec { from: from.into(), to: to.into(), kind, unblock_at, inverse: false };
        self.world.run(&call, &Link { project: World::project(), edges: vec![edge], holding: None }).map(|_| ())
    }

    pub(crate) fn put_note(
        &mut self,
        item: ItemId,
        key: &str,
        body: &str,
        actor: Option<&str>,
        fence: Option<Fence>,
    ) -> Result<(), Error> {
        let call = self.world.call(actor);
        let body = Text::parse(body).expect("a text");
        let note = NotePut { item: item.into(), key: name(key), phase: None, body, by: None, fence };
        let put = PutNotes { project: World::project(), notes: vec![note], atomic: true };
        self.world.run(&call, &put).map(|_| ())
    }

    pub(crate) fn note(&mut self, item: ItemId, key: &str, body: &str) {
        self.put_note(item, key, body, None, None).expect("a note");
    }

    pub(crate) fn note_fenced(&mut self, item: ItemId, actor: &str, fence: Fence) -> Result<(), Error> {
        self.put_note(item, "late", "words", Some(actor), Some(fence))
    }

    pub(crate) fn edit_fenced(&mut self, item: ItemId, actor: &str, fence: Fence) -> Result<(), Error> {
        let call = self.world.call(Some(actor));
        let patch = Patch { title: Some(title("late")), fence: Some(fence), ..Patch::of(item.into()) };
        self.world.run(&call, &Edit { project: World::project(), patches: vec![patch], atomic: true }).map(|_| ())
    }

    pub(crate) fn claim(&mut self, item: ItemId, actor: &str) -> Result<Held, ClaimOutcome> {
        let call = self.world.call(Some(actor));
        let claims = vec![ClaimRequest { item: item.into(), ttl: None }];
        let claim = Claim { project: World::project(), claims, releases: vec![], ready_only: false };
        match self.world.run(&call, &claim).expect("an answer").claims.remove(0).outcome {
            ClaimOutcome::Held(held) => Ok(*held),
            other => Err(other),
        }
    }

    pub(crate) fn release(&mut self, item: ItemId, actor: &str) {
        let call = self.world.call(Some(actor));
        let claim = Claim { project: World::project(), claims: vec![], releases: vec![item.into()], ready_only: false };
        self.world.run(&call, &claim).expect("an answer");
    }

    pub(crate) fn close_beneath(&mut self, root: ItemId, cancel: bool) -> Vec<(ItemId, bool)> {
        let call = self.world.call(None);
        let close = CloseTree { project: World::project(), what: What::Beneath(root.into()), cancel, fence: None };
        let closed = self.world.run(&call, &close).expect("an answer");
        closed
            .results
            .iter()
            .map(|result| (result.item, matches!(result.outcome, CloseOutcome::Closed { .. })))
            .collect()
    }
}
