//! Two projects of the same shape, and the commands that make and try them.

use docket_core::command::{
    Ask, BriefText, Change, Claim, ClaimRequest, Create, EdgeSpec, Link, NewCriterion, NewItem, NewLink, NotePut,
    Parent, PutNotes, Remark, Remove, SetBrief, SetProject,
};
use docket_core::engine::{Call, Command};
use docket_core::model::{
    Authority, EdgeId, EdgeKind, EntryId, Item, ItemRef, LinkId, NoteId, Project, ProjectId, QuestionId, RunId,
    SessionId, Slug, Text, Url,
};
use docket_core::store::ProjectRef;
use docket_core::testing::{name, title};
use docket_core::{Engine, Error};
use uuid::Uuid;

use super::checks::ordered;

/// One project with its rows.
#[derive(Clone, Debug)]
pub(super) struct Half {
    pub(super) project: Project,
    pub(super) parent: Item,
    pub(super) item: Item,
    pub(super) claimed: Item,
    pub(super) note: NoteId,
    pub(super) edge: EdgeId,
    pub(super) question: QuestionId,
    pub(super) link: LinkId,
    pub(super) session: SessionId,
    pub(super) run: RunId,
    pub(super) entry: EntryId,
}

pub(super) async fn run<C: Command>(engine: &Engine, command: C) -> Result<C::Output, Error> {
    let call = Call::new(name("tester"), Uuid::new_v4().as_u128());
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
        archived: None,
        must_be_new: true,
    };
    let project = run(engine, set).await.unwrap_or_else(|error| panic!("a project: {error}")).project;
    let parent = made(engine, project.id, &format!("{word} parent"), None).await;
    let item = made(engine, project.id, &format!("{word} item"), Some(Parent::Existing(parent.id.into()))).await;
    let attempted = made(engine, project.id, &format!("{word} attempted"), None).await;
    let begun = run(engine, super::sessions::begin(attempted.id.into())).await;
    let session = begun.unwrap_or_else(|error| panic!("a session: {error}")).session.id;
    let claimed = made(engine, project.id, &format!("{word} claimed"), None).await;
    let claims = vec![ClaimRequest { item: claimed.id.into(), ttl: None }];
    let claim = Claim { project: ProjectRef::Any, claims, releases: vec![], ready_only: false };
    run(engine, claim).await.unwrap_or_else(|error| panic!("a claim: {error}"));
    let written = run(engine, put_note(item.id.into())).await.unwrap_or_else(|error| panic!("a note: {error}"));
    let note = written.notes.into_iter().flatten().next().unwrap_or_else(|| panic!("a note")).id;
    let linked = run(engine, link(parent.id.into(), claimed.id.into())).await;
    let edge = linked.unwrap_or_else(|error| panic!("an edge: {error}")).edges.remove(0).id;
    let text = |text: &str| Text::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let brief = set_brief(item.id.into(), &format!("{word} goal"));
    run(engine, brief).await.unwrap_or_else(|error| panic!("a brief: {error}"));
    let asked = made(engine, project.id, &format!("{word} asked"), None).await;
    let ask = Ask {
        project: ProjectRef::Any,
        item: asked.id.into(),
        text: text(&format!("{word}?")),
        options: vec![text(word)],
        fence: None,
    };
    let question = run(engine, ask).await.unwrap_or_else(|error| panic!("a question: {error}")).question.id;
    let said = run(engine, remark(item.id.into(), word)).await.unwrap_or_else(|error| panic!("a remark: {error}"));
    let link = said.links.first().copied().unwrap_or_else(|| panic!("a link"));
    let run = ordered(engine, item.id.into(), word).await;
    let entry = super::knowledge::learned(engine, item.id, word).await;
    Half { project, parent, item, claimed, note, edge, question, link, session, run, entry }
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
    Link { project: ProjectRef::Any, edges: vec![edge], holding: None }
}

pub(super) fn put_note(item: ItemRef) -> PutNotes {
    let body = Text::parse("words").unwrap_or_else(|error| panic!("{error}"));
    let note = NotePut { item, key: name("remark"), phase: None, body, by: None, fence: None };
    PutNotes { project: ProjectRef::Any, notes: vec![note], atomic: true }
}

pub(super) fn set_brief(item: ItemRef, goal: &str) -> SetBrief {
    let text = |text: &str| Text::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let criteria = vec![NewCriterion::saying(text(goal))];
    let brief = BriefText {
        objective: Change::Set(text(goal)),
        acceptance_criteria: Change::Set(criteria),
        ..BriefText::default()
    };
    SetBrief {
        project: ProjectRef::Any,
        item,
        brief,
        replace: false,
        expected_version: None,
        fence: None,
        authority: Authority::Agent,
    }
}

/// A comment and a link.
pub(super) fn remark(item: ItemRef, word: &str) -> Remark {
    let url = Url::parse(&format!("https://example.com/{word}")).unwrap_or_else(|error| panic!("{error}"));
    let link = NewLink { kind: name("page"), reference: name(word), url, title: None };
    let comment = Some(Text::parse(word).unwrap_or_else(|error| panic!("{error}")));
    Remark { project: ProjectRef::Any, item, comment, links: vec![link], fence: None }
}

/// Only tried on what is not the caller's own: it would be gone.
pub(super) fn remove(item: ItemRef) -> Remove {
    Remove {
        project: ProjectRef::Any,
        items: vec![item],
        recursive: true,
        atomic: true,
        expected_version: None,
        fence: None,
    }
}
