//! How this dialect spells who somebody is: `agent:claude-1`, `human:shah`.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use docket_core::limits::PAGE;
use docket_core::model::{
    ActorKind, Attribution, Event, Item, ItemId, Name, Session as Attempt, SessionId, Timestamp, Verb,
};
use docket_core::store::EventFilter;
use docket_core::{Error, Reason, echo};
use serde_json::Value;

use crate::session::Session;

/// An actor, with the sort that it is of.
pub(super) fn spelled(by: &Attribution) -> String {
    format!("{}:{}", sort(by.actor.kind), by.actor.id)
}

/// Who a connection acts as.
pub(super) fn identity(session: &Session) -> String {
    let call = session.call(None, None);
    call.by.as_ref().map_or_else(|| call.principal.to_string(), spelled)
}

/// Who did something.
pub(super) fn of_event(event: &Event) -> String {
    event.by.as_ref().map_or_else(|| event.principal.to_string(), spelled)
}

/// The name that claims are held under: without the sort, where one is said.
pub(super) fn holder(text: &str) -> Result<Name, docket_core::Invalid> {
    let plain = text.split_once(':').filter(|(said, _)| SORTS.iter().any(|(_, word)| word == said));
    Name::parse(plain.map_or(text, |(_, name)| name))
}

/// The name that the engine shall expect. It knows names alone: that somebody is of another sort is seen here.
pub(super) fn expected(session: &Session, text: &str) -> Result<Name, Error> {
    let bound = identity(session);
    if text == bound {
        return session.holder();
    }
    let message = format!("the caller is \"{bound}\", and \"{}\" was expected", echo(text));
    Err(Error::conflict(Reason::ActorMismatch, message).at("expected_actor"))
}

/// Who makes each of these attempts. An attempt has a name; of what sort that is, the event of its beginning knows.
pub(super) async fn attempters(
    session: &Session,
    attempts: impl Iterator<Item = &Attempt>,
) -> Result<BTreeMap<SessionId, String>, Error> {
    let own = session.call(None, None);
    let mut told = BTreeMap::new();
    let mut begun: BTreeMap<ItemId, Vec<Event>> = BTreeMap::new();
    for attempt in attempts {
        if let Some(own) = own.by.as_ref().filter(|by| by.actor.id == attempt.actor) {
            told.insert(attempt.id, spelled(own));
            continue;
        }
        let events = match begun.entry(attempt.item) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(newest(session, attempt.item, Verb::SessionBegun, PAGE).await?),
        };
        let id = attempt.id.to_string();
        let of_it = |event: &&Event| event.data.pointer("/session/id").and_then(Value::as_str) == Some(id.as_str());
        let who = events.iter().find(of_it).map_or_else(|| attempt.actor.to_string(), of_event);
        told.insert(attempt.id, who);
    }
    Ok(told)
}

/// Who holds each of these items. A claim has a name; of what sort that is, the event of the claim knows.
pub(super) async fn assignees(
    session: &Session,
    items: impl Iterator<Item = &Item>,
    now: Timestamp,
) -> Result<BTreeMap<ItemId, String>, Error> {
    let own = session.call(None, None);
    let mut told = BTreeMap::new();
    for (id, holder) in items.filter_map(|item| Some((item.id, &item.live_claim(now)?.holder))) {
        let own = own.by.as_ref().filter(|by| by.actor.id == *holder).map(spelled);
        let who = match own {
            Some(own) => own,
            None => claimed_by(session, id).await?.unwrap_or_else(|| holder.to_string()),
        };
        told.insert(id, who);
    }
    Ok(told)
}

async fn claimed_by(session: &Session, item: ItemId) -> Result<Option<String>, Error> {
    Ok(newest(session, item, Verb::Claimed, 1).await?.first().map(of_event))
}

async fn newest(session: &Session, item: ItemId, verb: Verb, limit: usize) -> Result<Vec<Event>, Error> {
    let filter =
        EventFilter { item: Some(item), verbs: vec![verb], newest_first: true, limit, ..EventFilter::default() };
    session.engine().events(&filter).await
}

const SORTS: [(ActorKind, &str); 4] = [
    (ActorKind::Subagent, "agent"),
    (ActorKind::User, "human"),
    (ActorKind::Orchestrator, "orchestrator"),
    (ActorKind::External, "external"),
];

fn sort(kind: ActorKind) -> &'static str {
    SORTS.iter().find(|(known, _)| *known == kind).map_or("external", |(_, word)| word)
}
