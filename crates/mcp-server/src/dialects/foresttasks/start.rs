//! The first half of `work`: claims a task, or only reads one, and returns its packet.

use std::collections::BTreeSet;

use docket_core::command::{Begin, ClaimNext, Held, Started, Wanted};
use docket_core::model::{ItemId, ItemRef, Name, RequestId, Tag, Ttl};
use docket_core::query::NextQuery;
use docket_core::store::ProjectRef;
use docket_core::{Error, Reason};
use serde_json::{Value, json};

use super::args::{at_project, includes, item_ref, name, one_of, project_word, request_id, tag};
use super::packet;
use super::parent;
use super::sections::read;
use crate::answer::Answer;
use crate::input::Fields;
use crate::parent_memory::{ParentContext, ParentMemory};
use crate::session::Session;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Claim,
    Read,
}

const HOW: &[(&str, Mode)] = &[("claim", Mode::Claim), ("read", Mode::Read)];

/// A task that was handed out.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) held: Held,
    pub(super) started: Option<Started>,
    pub(super) auto_released: Vec<ItemId>,
}

/// What work is looked for.
#[derive(Debug)]
struct Search {
    tags: Vec<Tag>,
    capabilities: BTreeSet<Name>,
    ttl: Option<Ttl>,
    request: Option<RequestId>,
}

pub(super) async fn call(session: &Session, parents: &ParentMemory, mut fields: Fields) -> Result<Answer, Error> {
    let mode = fields.parsed("mode", one_of(HOW))?.unwrap_or(Mode::Claim);
    let parent_context = fields.parsed("parentContext", one_of(ParentContext::WORDS))?.unwrap_or_default();
    let include = includes(&mut fields)?;
    let id = fields.parsed("id", item_ref)?;
    let named = project_word(&mut fields)?;
    let search = Search {
        tags: fields.texts("labels", tag)?.unwrap_or_default(),
        capabilities: fields.texts("capabilities", name)?.unwrap_or_default().into_iter().collect(),
        ttl: ttl(&mut fields)?,
        request: request_id(&mut fields)?,
    };
    let (task, taken) = match (id, mode) {
        (Some(id), Mode::Read) => (Some(id), None),
        (Some(id), Mode::Claim) => {
            let begin = Begin { project: session.project().clone(), item: id, ttl: search.ttl };
            let work = session.engine().run(session.call(None, search.request), begin).await?;
            let claimed = ItemRef::Id(work.held.item);
            let taken = Taken { held: work.held, started: Some(work.started), auto_released: work.auto_released };
            (Some(claimed), Some(taken))
        }
        (None, mode) => {
            let agent = session.agent(search.capabilities.clone());
            let (engine, tags) = (session.engine(), search.tags.clone());
            let places = engine.projects_to_work_in(named.as_deref(), session.project(), agent, tags).await;
            let places = places.map_err(at_project)?;
            match mode {
                Mode::Read => (best(session, &places, &search).await?, None),
                Mode::Claim => {
                    let taken = take(session, &places, &search).await?;
                    (taken.as_ref().map(|taken| ItemRef::Id(taken.held.item)), taken)
                }
            }
        }
    };
    let word = if mode == Mode::Read { "read" } else { "claim" };
    let Some(task) = task else { return Ok(nothing(word)) };
    let sections = packet::asked(&include);
    let dossier = read(session, session.project(), &task, &sections).await?;
    let context = parent::context(session, parents, parent_context, &dossier).await?;
    Ok(Answer::of(&packet::start(word, &dossier, taken.as_ref(), context, &sections)))
}

/// Claims the best task that can be had, whether nobody began it or somebody left it.
async fn take(session: &Session, places: &[ProjectRef], search: &Search) -> Result<Option<Taken>, Error> {
    let (tags, capabilities) = (search.tags.clone(), search.capabilities.clone());
    let wanted = Wanted { tags, capabilities, start: true, ..Wanted::default() };
    let mut reused = None;
    for project in places {
        let command = ClaimNext { project: project.clone(), wanted: wanted.clone(), ttl: search.ttl };
        let offer = match session.engine().run(session.call(None, search.request.clone()), command).await {
            Ok(offer) => offer,
            // The same request found its task elsewhere the first time: there its answer is kept.
            Err(error) if error.reason == Reason::RequestIdReused => {
                reused = Some(error);
                continue;
            }
            Err(error) => return Err(error),
        };
        if let Some(held) = offer.held {
            let started = offer.started.map(|started| *started);
            return Ok(Some(Taken { held: *held, started, auto_released: offer.auto_released }));
        }
    }
    reused.map_or(Ok(None), Err)
}

/// The task that would be claimed, looked at only.
async fn best(session: &Session, places: &[ProjectRef], search: &Search) -> Result<Option<ItemRef>, Error> {
    for project in places {
        let query = NextQuery {
            tags: search.tags.clone(),
            agent: Some(session.agent(search.capabilities.clone())),
            ..NextQuery::of(project.clone(), 1)
        };
        let found = session.engine().next(&query, None).await?.items.into_iter().next();
        if let Some(ready) = found {
            return Ok(Some(ItemRef::Id(ready.item.id)));
        }
    }
    Ok(None)
}

/// That there is no work now.
fn nothing(mode: &str) -> Answer {
    let hint = "no task is ready: find {action:\"queue\"} shows what can be claimed, find {action:\"list\"} everything";
    Answer::of(&json!({
        "phase": "start", "mode": mode, "found": false,
        "trusted": { "guard": Value::Null, "hint": hint },
        "untrusted": {},
    }))
}

fn ttl(fields: &mut Fields) -> Result<Option<Ttl>, Error> {
    let Some(seconds) = fields.whole("ttlSeconds")? else { return Ok(None) };
    Ttl::parse(seconds).map(Some).map_err(|invalid| invalid.at("ttlSeconds").into())
}
