//! `work`: the loop of an agent. Start finds or takes work and answers one packet; heartbeat keeps the lease; finish
//! previews or applies the end; release gives the work back.

use std::collections::BTreeSet;
use std::time::Duration;

use docket_core::command::{Begin, Claim, ClaimNext, Finish, Finished, Held, ReleaseOutcome, Renew, Started, Wanted};
use docket_core::contract::unattested;
use docket_core::engine::Call;
use docket_core::model::{ItemId, ItemRef, Name, Role, Runtime, SessionId, Standing, Trigger, Ttl};
use docket_core::query::{Dossier, Includes, ParentReach};
use docket_core::store::{Around, Filter, ProjectRef};
use docket_core::workflow::Target;
use docket_core::{Code, Error, Kind, Reason, limits};
use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

use super::checks;
use super::common::{Writer, need_item, project, project_of_item};
use super::error::{items_in, refusals};
use super::item_args::{learnings, links, names as read_names, number, own_fence, proofs, tags};
use super::learn;
use super::moved;
use super::names::Names;
use super::schema::{self, Effect, flag, objects, text, texts, whole, word};
use super::sections::{self, Profile};
use super::sessions;
use super::split::Split;
use super::view;
use crate::answer::Answer;
use crate::args::{long_text, name, one_of};
use crate::input::Fields;
use crate::parent_memory::{ParentContext, ParentMemory};
use crate::session::Session;

const START: &[&str] = &[
    "phase",
    "id",
    "under",
    "tags",
    "type",
    "capabilities",
    "ttlSeconds",
    "waitMs",
    "runtime",
    "parentContext",
    "knowledge",
    "project",
    "actor",
    "requestId",
];
const HEARTBEAT: &[&str] =
    &["phase", "id", "session", "progress", "percent", "step", "fence", "ttlSeconds", "project", "actor", "requestId"];
const RELEASE: &[&str] = &["phase", "id", "project", "actor", "requestId"];
const FINISH: &[&str] = &[
    "phase",
    "id",
    "fence",
    "comment",
    "links",
    "verify",
    "learned",
    "to",
    "preview",
    "project",
    "actor",
    "requestId",
];

#[derive(Clone, Copy)]
enum Phase {
    Start,
    Heartbeat,
    Finish,
    Release,
}

const PHASES: &[(&str, Phase)] =
    &[("start", Phase::Start), ("heartbeat", Phase::Heartbeat), ("finish", Phase::Finish), ("release", Phase::Release)];

pub(super) fn tool() -> Tool {
    let properties = json!({
        "phase": word(&["start", "heartbeat", "finish", "release"]),
        "id": text(),
        "under": text(), "tags": texts(), "type": text(), "capabilities": texts(),
        "waitMs": whole(), "ttlSeconds": whole(),
        "parentContext": word(&["auto", "force", "summary", "none"]),
        "knowledge": flag(),
        "runtime": json!({ "type": "object" }),
        "session": text(), "progress": text(), "percent": whole(), "step": text(),
        "fence": whole(),
        "comment": text(),
        "links": objects("{kind,ref,url,title}"),
        "verify": objects("{id:criterion,passed,note}"),
        "learned": objects("{title,body,tags}"),
        "to": text(),
        "preview": flag(),
    });
    let about = "start: claim and begin id, or the best ready work matching \
                 under/tags/type/capabilities; waits waitMs; knowledge: what bears on it; runtime: notes an \
                 attempt. heartbeat: keep the lease of id or session, with progress. finish: comment, links, verify, \
                 learned and the move on (or to `to`); preview only tells. release: give it back.";
    schema::tool("work", about, Effect::Writes, properties, &["phase"])
}

pub(super) async fn call(memory: &ParentMemory, session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let phase = arguments.get("phase").and_then(Value::as_str).and_then(|text| one_of(PHASES)(text).ok());
    let known = match phase {
        Some(Phase::Start) => START,
        Some(Phase::Heartbeat) => HEARTBEAT,
        Some(Phase::Finish) => FINISH,
        Some(Phase::Release) => RELEASE,
        // What is wrong with it is said first.
        None => return Err(bad_phase(arguments)),
    };
    let mut fields = Fields::open(arguments, known)?;
    let phase = fields.need("phase", one_of(PHASES))?;
    match phase {
        Phase::Start => start(memory, session, fields).await,
        Phase::Heartbeat => heartbeat(session, fields).await,
        Phase::Finish => finish(session, fields).await,
        Phase::Release => release(session, fields).await,
    }
}

fn bad_phase(mut arguments: JsonObject) -> Error {
    arguments.retain(|name, _| name == "phase");
    let read = Fields::open(arguments, &["phase"]).and_then(|mut fields| fields.need("phase", one_of(PHASES)));
    read.err().unwrap_or_else(|| Error::validation(Reason::MissingField, "phase is required").at("phase"))
}

/// What was taken.
struct Taken {
    held: Held,
    started: Started,
    auto_released: Vec<ItemId>,
    /// The attempt that was noted.
    attempt: Option<SessionId>,
}

async fn start(memory: &ParentMemory, session: &Session, mut fields: Fields) -> Result<Answer, Error> {
    let writer = Writer::read(session, &mut fields)?;
    let ttl = ttl(&mut fields)?;
    let wanted_parent = fields.parsed("parentContext", one_of(ParentContext::WORDS))?.unwrap_or_default();
    let knowledge = fields.flag("knowledge")?.unwrap_or(false);
    let runtime = sessions::wanted(&mut fields)?;
    let taken = if let Some(item) = fields.parsed("id", str::parse::<ItemRef>)? {
        let project = project_of_item(session, &mut fields).await?;
        // What work is looked for, and how long, goes with no name.
        fields.end()?;
        begin(session, &writer, project, item, ttl, runtime).await?
    } else {
        let wanted = Wanted {
            under: fields.parsed("under", str::parse::<ItemRef>)?,
            tags: tags(&mut fields)?,
            item_type: fields.parsed("type", name)?,
            capabilities: BTreeSet::from_iter(read_names(&mut fields, "capabilities")?),
            start: true,
            ..Wanted::default()
        };
        let wait = wait(&mut fields)?;
        let project = project(session, &mut fields).await?;
        fields.end()?;
        let call = writer.call(session).beside(&runtime);
        match next(session, call, &project, wanted, ttl, wait).await? {
            Ok(taken) => match runtime {
                None => taken,
                // It is claimed by now: whoever else wants it is told so.
                Some(runtime) => {
                    let begin = sessions::begin(project, ItemRef::Id(taken.held.item), runtime, ttl);
                    let made = session.engine().run(writer.call(session).part("attempt"), begin).await?;
                    Taken { attempt: Some(made.session.id), ..taken }
                }
            },
            Err(passed_over) => return nothing(session, project, passed_over).await,
        }
    };
    packet(memory, session, &writer, taken, Wishes { parent: wanted_parent, knowledge }).await
}

/// What a packet holds beside the work itself.
#[derive(Clone, Copy)]
struct Wishes {
    parent: ParentContext,
    /// What others learned that bears on it.
    knowledge: bool,
}

/// An item by name, with an attempt noted where one is wanted.
async fn begin(
    session: &Session,
    writer: &Writer,
    project: ProjectRef,
    item: ItemRef,
    ttl: Option<Ttl>,
    runtime: Option<Runtime>,
) -> Result<Taken, Error> {
    let call = writer.call(session);
    let (begun, attempt) = match runtime {
        None => (session.engine().run(call, Begin { project, item, ttl }).await?, None),
        Some(runtime) => {
            let begun = session.engine().run(call, sessions::begin(project, item, runtime, ttl)).await?;
            (begun.begun, Some(begun.session.id))
        }
    };
    Ok(Taken { held: begun.held, started: begun.started, auto_released: begun.auto_released, attempt })
}

/// The best ready work, or how much of it was passed over.
async fn next(
    session: &Session,
    call: Call,
    project: &ProjectRef,
    wanted: Wanted,
    ttl: Option<Ttl>,
    wait: Duration,
) -> Result<Result<Taken, usize>, Error> {
    let command = ClaimNext { project: project.clone(), wanted, ttl };
    let offer = session.engine().claim_next_waiting(call, command, wait, |time| session.sleep(time)).await?;
    Ok(match (offer.held, offer.started) {
        (Some(held), Some(started)) => {
            Ok(Taken { held: *held, started: *started, auto_released: offer.auto_released, attempt: None })
        }
        (Some(_) | None, _) => Err(offer.passed_over),
    })
}

/// That there is nothing to do: not an error, for whoever asks did nothing wrong.
async fn nothing(session: &Session, project: ProjectRef, passed_over: usize) -> Result<Answer, Error> {
    // One is enough to know that there are some.
    let open = Filter { project, roles: vec![Role::Queue], limit: 1, ..Filter::default() };
    let none = passed_over == 0 && session.engine().find(&open).await?.items.is_empty();
    let mut split = Split::default();
    split.say("outcome", if none { "queue_empty" } else { "none_eligible" });
    split.say("passedOver", Some(passed_over).filter(|passed| *passed > 0));
    split.say("next", if none { "wait with waitMs" } else { "find what=why tells why each item is not ready" });
    Ok(split.answer())
}

/// Everything that whoever has just begun must know, at once.
async fn packet(
    memory: &ParentMemory,
    session: &Session,
    writer: &Writer,
    taken: Taken,
    wanted: Wishes,
) -> Result<Answer, Error> {
    let item = ItemRef::Id(taken.held.item);
    let call = writer.call(session);
    let reach = parent_reach(memory, session, &item, &call, wanted.parent).await?;
    let includes = Includes { parent: reach, comments: Some(limits::PACKET_COMMENTS), ..Includes::default() };
    let dossier = session.engine().dossier(&ProjectRef::Any, &item, includes).await?;
    let mentioned = taken.auto_released.iter().copied().chain(moved::cascaded(&taken.started.cascades));
    let mentioned = mentioned.chain(dossier.item.parent);
    let names = Names::of(session, mentioned.chain(taken.started.refusals.iter().flat_map(items_in)).collect()).await;
    let mut split = Split { trusted: sections::known_by(&dossier), ..Split::default() };
    split.say("fence", taken.held.fence);
    split.say("leaseUntil", taken.held.claim.expires_at);
    split.say("session", taken.attempt);
    split.say("refusals", refusals(&taken.started.refusals, &names));
    split.say("cascades", moved::cascades(&taken.started.cascades, &names));
    split.say("autoReleased", taken.auto_released.iter().map(|id| names.get(*id)).collect::<Vec<_>>());
    // What keeps others away from it is no news to its holder.
    let mut task = sections::task(&dossier, Profile::Work, &names);
    task.trusted.remove("obstacles");
    split.trusted.extend(task.trusted);
    split.untrusted.extend(task.untrusted);
    split.quote("brief", dossier.brief.as_ref().map(view::brief));
    let verdict = view::verdict(&dossier.verdict);
    split.say("verdict", verdict.trusted);
    split.quote("criteria", verdict.untrusted);
    if let Some(brief) = &dossier.brief {
        split.add("checks", checks::of(&brief.checks));
    }
    if let Some(question) = &dossier.question {
        split.add("question", view::question(question));
    }
    sections::add_latest(&mut split, &dossier);
    split.say("notes", sections::notes_owed(&dossier.expected_notes));
    match (&dossier.parent, dossier.item.parent) {
        (Some(parent), _) => split.add("parent", sections::parent(parent, reach)),
        (None, Some(parent)) => split.say("parent", json!({ "key": names.get(parent), "next": "get shows it" })),
        (None, None) => {}
    }
    if wanted.knowledge {
        learn::references(&mut split, &session.engine().digest(&dossier.item).await);
    }
    split.say("next", next_steps(&dossier, &taken.started));
    Ok(split.answer())
}

async fn parent_reach(
    memory: &ParentMemory,
    session: &Session,
    item: &ItemRef,
    call: &Call,
    wanted: ParentContext,
) -> Result<ParentReach, Error> {
    let seen = session.engine().show(&ProjectRef::Any, std::slice::from_ref(item), Around::default()).await?;
    let Some(parent) = seen.resolve(item)?.parent else { return Ok(ParentReach::None) };
    let (agent, request) = (call.holder()?, call.request.as_ref());
    let reach = memory.reach(wanted, &agent, parent, request);
    if reach == ParentReach::Full {
        memory.told(&agent, parent, request);
    }
    Ok(reach)
}

/// What to do now, as far as the server can tell.
fn next_steps(dossier: &Dossier, started: &Started) -> Vec<String> {
    let mut steps = Vec::new();
    let owed: Vec<&str> =
        started.refusals.iter().flat_map(|refusal| &refusal.missing_notes).map(String::as_str).collect();
    if !owed.is_empty() {
        steps.push(format!("annotate notes {}, then advance start", owed.join(", ")));
    }
    let open = dossier.verdict.criteria.iter().filter(|criterion| criterion.status != Standing::Pass);
    let mine: Vec<String> = open
        .filter(|criterion| criterion.verifier != docket_core::model::Authority::Human)
        .map(|criterion| criterion.id.to_string())
        .collect();
    let verify = if mine.is_empty() { String::new() } else { format!(" with verify {}", mine.join(", ")) };
    // From review nothing goes on by itself: whoever looks at it says where it goes.
    let to = if dossier.item.role == Role::Review { " to complete" } else { "" };
    steps.push(format!("work finish{to}{verify}"));
    let checks = dossier.brief.as_ref().map_or(&[][..], |brief| brief.checks.as_slice());
    let waiting: Vec<String> = unattested(checks).into_iter().map(|(index, _)| index.to_string()).collect();
    if !waiting.is_empty() {
        steps.push(format!("a person attests checks {}", waiting.join(", ")));
    }
    steps
}

async fn heartbeat(session: &Session, mut fields: Fields) -> Result<Answer, Error> {
    let writer = Writer::read(session, &mut fields)?;
    if let Some(id) = fields.parsed("session", str::parse::<SessionId>)? {
        return sessions::heartbeat(session, &writer, id, fields).await;
    }
    let item = need_item(&mut fields)?;
    let (ttl, fence) = (ttl(&mut fields)?, own_fence(&mut fields)?);
    let project = project_of_item(session, &mut fields).await?;
    fields.end()?;
    let renewed = session.engine().run(writer.call(session), Renew { project, item, ttl, fence }).await?;
    let mut split = Split::default();
    split.say("fence", renewed.held.fence);
    split.say("leaseUntil", renewed.held.claim.expires_at);
    split.say("version", renewed.version);
    Ok(split.answer())
}

async fn release(session: &Session, mut fields: Fields) -> Result<Answer, Error> {
    let writer = Writer::read(session, &mut fields)?;
    let item = need_item(&mut fields)?;
    let project = project_of_item(session, &mut fields).await?;
    let command = Claim { project, claims: Vec::new(), releases: vec![item], ready_only: false };
    let done = session.engine().run(writer.call(session), command).await?;
    let Some(result) = done.releases.into_iter().next() else {
        return Err(Error::conflict(Reason::StoreFailed, "the release was not decided"));
    };
    match result.outcome {
        ReleaseOutcome::Released => {
            let mut split = Split::default();
            split.say("released", true);
            Ok(split.answer())
        }
        ReleaseOutcome::NotClaimedByYou => Err(Error {
            contended_item: result.item,
            ..Error::new(Kind::Permanent, Code::Conflict, Reason::NotClaimedByYou, "the caller does not hold the item")
        }),
        ReleaseOutcome::NotFound(error) => Err(*error),
    }
}

async fn finish(session: &Session, mut fields: Fields) -> Result<Answer, Error> {
    let writer = Writer::read(session, &mut fields)?;
    let command = Finish {
        item: need_item(&mut fields)?,
        comment: fields.free("comment", long_text)?,
        links: links(&mut fields)?,
        proofs: proofs(&mut fields)?,
        learnings: learnings(&mut fields)?,
        target: fields.parsed("to", target)?,
        fence: own_fence(&mut fields)?,
        preview: fields.flag("preview")?.unwrap_or(false),
        project: project_of_item(session, &mut fields).await?,
    };
    let finish = || session.engine().run(writer.call(session), command.clone());
    let finished = session.with_sign_off(&command.project, &command.item, finish).await;
    let finished = finished.map_err(|error| error.called("learnings", "learned"))?;
    if finished.handed_in.as_ref().is_some_and(|pending| !pending.runs.is_empty()) {
        session.make_waiting();
    }
    let mentioned = finished.moved.iter().flat_map(|applied| moved::items_of(applied));
    let mentioned = mentioned.chain(finished.blockers.iter().flat_map(items_in)).chain([finished.item]);
    let names = Names::of(session, mentioned.collect()).await;
    Ok(finish_answer(&finished, &names).answer())
}

fn finish_answer(finished: &Finished, names: &Names) -> Split {
    let mut split = Split::default();
    split.say("applied", finished.applied);
    match &finished.moved {
        Some(applied) => split.trusted.extend(moved::applied(applied, names).trusted),
        None => split.say("key", names.get(finished.item)),
    }
    split.say("blockers", refusals(&finished.blockers, names));
    split.say("verdict", view::standing(&finished.verdict));
    split.say("comment", finished.comment);
    split.say("links", &finished.links);
    split.say("entries", &finished.entries);
    if let Some(pending) = &finished.handed_in {
        // It closes by itself when that is shown.
        split.say("handedIn", pending.verification);
        split.say("etaSeconds", pending.eta_seconds);
        split.say("runs", pending.runs.iter().map(|run| run.id).collect::<Vec<_>>());
        split.say("unapproved", &pending.unapproved);
    }
    split
}

/// Where a move leads: a trigger, else a status of the workflow.
pub(super) fn target(text: &str) -> Result<Target, docket_core::Invalid> {
    match text.parse::<Trigger>() {
        Ok(trigger) if Trigger::USER.contains(&trigger) => Ok(Target::Trigger(trigger)),
        Ok(_) | Err(_) => Name::parse(text).map(Target::Status),
    }
}

fn ttl(fields: &mut Fields) -> Result<Option<Ttl>, Error> {
    number(fields, "ttlSeconds", Ttl::parse).map_err(|error| {
        if error.field.as_deref() == Some("ttlSeconds") { Error { reason: Reason::BadTtl, ..error } } else { error }
    })
}

fn wait(fields: &mut Fields) -> Result<Duration, Error> {
    let wait = fields.whole("waitMs")?.unwrap_or(0);
    u64::try_from(wait).ok().filter(|wait| *wait <= limits::WAIT_MS).map(Duration::from_millis).ok_or_else(|| {
        Error::validation(Reason::BadValue, format!("waitMs must be from 0 to {}", limits::WAIT_MS)).at("waitMs")
    })
}
