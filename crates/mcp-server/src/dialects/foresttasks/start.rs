//! The first half of `work`: claims a task, or only reads one, and returns its packet.

use std::collections::BTreeSet;

use docket_core::command::{Begin, ClaimNext, Held, Started, Wanted};
use docket_core::model::{ItemId, ItemRef, Name, RequestId, Tag, Ttl};
use docket_core::query::NextQuery;
use docket_core::store::ProjectRef;
use docket_core::{Error, Reason};
use serde_json::{Value, json};

use super::args::{at_project, includes, item_ref, name, one_of, project_of, project_word, request_id, tag};
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

/// What a start found.
#[derive(Debug, Default)]
struct Found {
    task: Option<ItemRef>,
    taken: Option<Taken>,
    /// How many ready tasks were looked at, where none of them would do.
    looked_at: usize,
}

/// What work is looked for.
#[derive(Debug)]
struct Search {
    tags: Vec<Tag>,
    capabilities: BTreeSet<Name>,
    lease: Lease,
}

/// What only a claim has.
#[derive(Clone, Debug, Default)]
struct Lease {
    ttl: Option<Ttl>,
    request: Option<RequestId>,
}

impl Lease {
    /// Nothing of it goes with a task that is only read.
    fn read(mode: Mode, fields: &mut Fields) -> Result<Self, Error> {
        Ok(match mode {
            Mode::Claim => Self { ttl: ttl(fields)?, request: request_id(fields)? },
            Mode::Read => Self::default(),
        })
    }
}

pub(super) async fn call(session: &Session, parents: &ParentMemory, mut fields: Fields) -> Result<Answer, Error> {
    let mode = fields.parsed("mode", one_of(HOW))?.unwrap_or(Mode::Claim);
    let parent_context = fields.parsed("parentContext", one_of(ParentContext::WORDS))?.unwrap_or_default();
    let include = includes(&mut fields)?;
    let lease = Lease::read(mode, &mut fields)?;
    let request = lease.request.clone();
    let found = match fields.parsed("id", item_ref)? {
        Some(task) => named(session, task, mode, lease, fields).await?,
        None => sought(session, mode, lease, fields).await?,
    };
    let word = if mode == Mode::Read { "read" } else { "claim" };
    let Some(task) = found.task else { return Ok(nothing(word, found.looked_at)) };
    let sections = packet::asked(&include);
    let dossier = read(session, session.project(), &task, &sections).await?;
    let context = parent::context(session, parents, parent_context, request.as_ref(), &dossier).await?;
    Ok(Answer::of(&packet::start(word, &dossier, found.taken.as_ref(), context, &sections)))
}

/// A task by name. What is looked for goes with no name; a project does, and the task must be in it.
async fn named(session: &Session, task: ItemRef, mode: Mode, lease: Lease, mut fields: Fields) -> Result<Found, Error> {
    let project = project_of(session, &task, &mut fields).await?;
    fields.end()?;
    if mode == Mode::Read {
        return Ok(Found { task: Some(task), ..Found::default() });
    }
    let begin = Begin { project, item: task, ttl: lease.ttl };
    let work = session.engine().run(session.call(None, lease.request), begin).await?;
    let claimed = ItemRef::Id(work.held.item);
    let taken = Taken { held: work.held, started: Some(work.started), auto_released: work.auto_released };
    Ok(Found { task: Some(claimed), taken: Some(taken), looked_at: 0 })
}

/// The best task there is.
async fn sought(session: &Session, mode: Mode, lease: Lease, mut fields: Fields) -> Result<Found, Error> {
    let named = project_word(&mut fields)?;
    let search = Search {
        tags: fields.texts("labels", tag)?.unwrap_or_default(),
        capabilities: fields.texts("capabilities", name)?.unwrap_or_default().into_iter().collect(),
        lease,
    };
    fields.end()?;
    let agent = session.agent(search.capabilities.clone());
    let (engine, tags) = (session.engine(), search.tags.clone());
    let places = engine.projects_to_work_in(named.as_deref(), session.project(), agent, tags).await;
    let places = places.map_err(at_project)?;
    match mode {
        Mode::Read => best(session, &places, &search).await,
        Mode::Claim => take(session, &places, &search).await,
    }
}

/// Claims the best task that can be had, whether nobody began it or somebody left it.
async fn take(session: &Session, places: &[ProjectRef], search: &Search) -> Result<Found, Error> {
    let (tags, capabilities) = (search.tags.clone(), search.capabilities.clone());
    let wanted = Wanted { tags, capabilities, start: true, ..Wanted::default() };
    let (mut reused, mut found) = (None, Found::default());
    for project in places {
        let command = ClaimNext { project: project.clone(), wanted: wanted.clone(), ttl: search.lease.ttl };
        let offer = match session.engine().run(session.call(None, search.lease.request.clone()), command).await {
            Ok(offer) => offer,
            // The same request found its task elsewhere the first time: there its answer is kept.
            Err(error) if error.reason == Reason::RequestIdReused => {
                reused = Some(error);
                continue;
            }
            Err(error) => return Err(error),
        };
        if let Some(held) = offer.held {
            let (task, started) = (ItemRef::Id(held.item), offer.started.map(|started| *started));
            let taken = Taken { held: *held, started, auto_released: offer.auto_released };
            return Ok(Found { task: Some(task), taken: Some(taken), looked_at: 0 });
        }
        found.looked_at += offer.passed_over;
    }
    reused.map_or(Ok(found), Err)
}

/// The task that would be claimed, looked at only.
async fn best(session: &Session, places: &[ProjectRef], search: &Search) -> Result<Found, Error> {
    let mut found = Found::default();
    for project in places {
        let query = NextQuery {
            tags: search.tags.clone(),
            agent: Some(session.agent(search.capabilities.clone())),
            ..NextQuery::of(project.clone(), 1)
        };
        let page = session.engine().next(&query, None).await?;
        if let Some(ready) = page.items.first() {
            return Ok(Found { task: Some(ItemRef::Id(ready.item.id)), ..Found::default() });
        }
        found.looked_at += page.looked_at;
    }
    Ok(found)
}

/// That there is no work now for this agent, and how much was looked at to say so.
fn nothing(mode: &str, looked_at: usize) -> Answer {
    let ready = if looked_at == 0 {
        "no task is ready".to_owned()
    } else {
        format!("looked at {looked_at} ready tasks, and none can be handed to you")
    };
    let hint =
        format!("{ready}: find {{action:\"queue\"}} shows what can be claimed, find {{action:\"list\"}} everything");
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
