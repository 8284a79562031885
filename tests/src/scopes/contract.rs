//! What is asked and tried of the work contract.

use docket_core::access::Profile;
use docket_core::command::{
    Ask, Begin, CloseTree, EndQuestion, Finish, ImportMarkdown, Proof, RemoveLinks, Verify, What,
};
use docket_core::model::{Authority, CriterionId, Text, Timestamp};
use docket_core::query::{Dossier, Includes, ParentReach};
use docket_core::store::ProjectRef;
use docket_core::{Engine, Error};

use super::rows::{remark, set_brief};
use super::{Names, project_word, said_of, tried};

/// Every read that names something.
pub(super) async fn reads(engine: &Engine, names: &Names) -> Vec<(&'static str, String)> {
    let Names { project, item, .. } = names;
    vec![
        ("dossier", said_of(&engine.dossier(project, item, all_of_it()).await.map(timeless))),
        ("questions", said_of(&engine.questions_of(project, item, 50, None).await)),
        ("inbox", said_of(&engine.inbox(project, 50, None).await.map(|page| page.items))),
        ("estimate", said_of(&engine.estimate(project, &[], &[]).await)),
        ("project", said_of(&engine.project_named(&project_word(project)).await)),
    ]
}

/// Every write that names something, with the profile it needs.
pub(super) async fn writes(engine: &Engine, names: &Names) -> Vec<(&'static str, Profile, Result<String, Error>)> {
    let Names { project, item, question, link, .. } = names;
    let any = ProjectRef::Any;
    let text = |text: &str| Text::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let proof = Proof { criterion: CriterionId(1), passed: true, note: None };
    let verify = |authority| Verify {
        project: any.clone(),
        item: item.clone(),
        proofs: vec![proof.clone()],
        authority,
        fence: None,
    };
    let ask = Ask { project: any.clone(), item: item.clone(), text: text("which?"), options: vec![], fence: None };
    let end = EndQuestion { question: *question, answer: Some(text("this")) };
    let whole = CloseTree { project: any.clone(), what: What::Whole(item.clone()), cancel: false, fence: None };
    let finish = Finish {
        project: any.clone(),
        item: item.clone(),
        comment: Some(text("done")),
        links: vec![],
        proofs: vec![],
        learnings: vec![],
        target: None,
        fence: None,
        preview: true,
    };
    let import = |parent| ImportMarkdown {
        project: project.clone(),
        markdown: text("- one"),
        parent,
        status: None,
        preview: false,
    };
    vec![
        ("set brief", Profile::Worker, tried(engine, set_brief(item.clone(), "goal")).await),
        ("verify", Profile::Worker, tried(engine, verify(Authority::Agent)).await),
        ("sign off", Profile::Operator, tried(engine, verify(Authority::Human)).await),
        ("remark", Profile::Worker, tried(engine, remark(item.clone(), "page")).await),
        ("remove link", Profile::Maintainer, tried(engine, RemoveLinks { links: vec![*link], fence: None }).await),
        ("begin", Profile::Worker, tried(engine, Begin { project: any.clone(), item: item.clone(), ttl: None }).await),
        ("finish", Profile::Worker, tried(engine, finish).await),
        ("ask", Profile::Worker, tried(engine, ask).await),
        ("end question", Profile::Worker, tried(engine, end).await),
        ("close whole", Profile::Worker, tried(engine, whole).await),
        ("import markdown", Profile::Planner, tried(engine, import(None)).await),
        ("import markdown beneath", Profile::Planner, tried(engine, import(Some(item.clone()))).await),
    ]
}

/// Everything that a dossier may hold.
fn all_of_it() -> Includes {
    Includes {
        parent: ParentReach::Full,
        links: true,
        relations: true,
        activity: Some(50),
        subtasks: true,
        comments: Some(50),
        notes: true,
    }
}

fn timeless(dossier: Dossier) -> Dossier {
    Dossier { now: Timestamp::from_millis(0), ..dossier }
}
