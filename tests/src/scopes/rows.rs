//! Two projects of the same shape, and the commands that make and try them.

use std::sync::Arc;

use docket_core::command::{
    Claim, ClaimRequest, Create, EdgeSpec, Link, NewItem, NotePut, Parent, PutNotes, Remove, SetProject,
};
use docket_core::engine::{Call, Command};
use docket_core::model::{DegradedMode, EdgeId, EdgeKind, Item, ItemRef, NoteId, Project, ProjectId, Slug, Text};
use docket_core::store::ProjectRef;
use docket_core::testing::{name, title};
use docket_core::{Engine, Error};
use uuid::Uuid;

/// One project with its rows.
#[derive(Clone, Debug)]
pub(super) struct Half {
    pub(super) project: Project,
    pub(super) parent: Item,
    pub(super) item: Item,
    pub(super) claimed: Item,
    pub(super) note: NoteId,
    pub(super) edge: EdgeId,
}

pub(super) async fn run<C: Command>(engine: &Engine, command: C) -> Result<C::Output, Error> {
    let call = Call {
        principal: name("tester"),
        by: None,
        policy: DegradedMode::default(),
        request: None,
        requester: None,
        access: Arc::default(),
        seed: Uuid::new_v4().as_u128(),
    };
    engine.run(call, command).await
}

/// A project with a tree, a note, an edge and a claim.
pub(super) async fn half(engine: &Engine, slug: &str, word: &str) -> Half {
    let set = SetProject {
        slug: Slug::parse(slug).unwrap_or_else(|error| panic!("{error}")),
        name: Some(title(&format!("{word} works"))),
        prefix: None,
        workflow: None,
        schemas: None,
        must_be_new: true,
    };
    let project = run(engine, set).await.unwrap_or_else(|error| panic!("a project: {error}")).project;
    let parent = made(engine, project.id, &format!("{word} parent"), None).await;
    let item = made(engine, project.id, &format!("{word} item"), Some(Parent::Existing(parent.id.into()))).await;
    let claimed = made(engine, project.id, &format!("{word} claimed"), None).await;
    let claims = vec![ClaimRequest { item: claimed.id.into(), ttl: None }];
    let claim = Claim { project: ProjectRef::Any, claims, releases: vec![], ready_only: false };
    run(engine, claim).await.unwrap_or_else(|error| panic!("a claim: {error}"));
    let written = run(engine, put_note(item.id.into())).await.unwrap_or_else(|error| panic!("a note: {error}"));
    let note = written.notes.into_iter().flatten().next().unwrap_or_else(|| panic!("a note")).id;
    let linked = run(engine, link(parent.id.into(), claimed.id.into())).await;
    let edge = linked.unwrap_or_else(|error| panic!("an edge: {error}")).edges.remove(0).id;
    Half { project, parent, item, claimed, note, edge }
}

async fn made(engine: &Engine, project: ProjectId, text: &str, parent: Option<Parent>) -> Item {
    let created = run(engine, create(project, text, parent)).await.unwrap_or_else(|error| panic!("{error}"));
    created.items.into_iter().flatten().next().unwrap_or_else(|| panic!("an item")).item
}

pub(super) fn create(project: ProjectId, text: &str, parent: Option<Parent>) -> Create {
    Create {
        project: ProjectRef::Id(project),
        items: vec![NewItem { parent, ..NewItem::titled(title(text)) }],
        edges: vec![],
        notes: vec![],
        blank_notes: false,
        room_below: false,
        atomic: true,
    }
}

pub(super) fn link(from: ItemRef, to: ItemRef) -> Link {
    let edge = EdgeSpec { from, to, kind: EdgeKind::RelatesTo, unblock_at: None, inverse: false };
    Link { project: ProjectRef::Any, edges: vec![edge] }
}

pub(super) fn put_note(item: ItemRef) -> PutNotes {
    let body = Text::parse("words").unwrap_or_else(|error| panic!("{error}"));
    let note = NotePut { item, key: name("remark"), phase: None, body, by: None, fence: None };
    PutNotes { project: ProjectRef::Any, notes: vec![note], atomic: true }
}

/// Only tried on what is not the caller's own: it would be gone.
pub(super) fn remove(item: ItemRef) -> Remove {
    Remove { project: ProjectRef::Any, items: vec![item], recursive: true, atomic: true, expected_version: None }
}
