//! What is tried of an agent's loop: taken, said to be on its way, completed.

use docket_core::access::Profile;
use docket_core::command::{Complete, Learning, Progress, Stage, Take};
use docket_core::model::Text;
use docket_core::store::ProjectRef;
use docket_core::testing::title;
use docket_core::{Engine, Error};

use super::{Names, tried};

/// Every write that names something, with the profile it needs. What is completed would be over: it is tried with a blank text.
pub(super) async fn writes(engine: &Engine, names: &Names) -> Vec<(&'static str, Profile, Result<String, Error>)> {
    let item = &names.item;
    let blank = Text::parse(" ").unwrap_or_else(|error| panic!("{error}"));
    let learnings = vec![Learning { title: title("blank"), body: blank, tags: vec![] }];
    let take = Take { project: ProjectRef::Any, item: item.clone(), ttl: None };
    let progress = Progress { project: ProjectRef::Any, item: item.clone(), to: Stage::Work, note: None, renew: true };
    let complete = Complete { project: ProjectRef::Any, item: item.clone(), output: None, learnings };
    vec![
        ("take", Profile::Worker, tried(engine, take).await),
        ("progress", Profile::Worker, tried(engine, progress).await),
        ("complete", Profile::Worker, tried(engine, complete).await),
    ]
}
