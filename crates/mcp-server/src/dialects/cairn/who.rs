//! How this dialect spells who somebody is: `agent:claude-1`, `human:shah`.

use std::collections::{BTreeMap, BTreeSet};

use docket_core::limits::PAGE;
use docket_core::model::{
    ActorKind, Attribution, Event, Item, ItemId, Name, Session as Attempt, SessionId, Timestamp, Verb,
};
use docket_core::store::EventFilter;
use docket_core::{Error, Reason, echo};

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
        return session.call(None, None).actor().cloned();
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
    let holder = own.holder().ok();
    let of_own = |attempt: &Attempt| own.by.as_ref().filter(|_| holder.as_ref() == Some(&attempt.actor)).map(spelled);
    let attempts: Vec<(&Attempt, Option<String>)> = attempts.map(|attempt| (attempt, of_own(attempt))).collect();
    let others = attempts.iter().filter(|(_, own)| own.is_none()).map(|(attempt, _)| attempt.item);
    let begun: BTreeMap<String, String> = newest(session, others.collect(), Verb::SessionBegun, PAGE)
        .await?
        .iter()
        .filter_map(|event| Some((event.data.pointer("/session/id")?.as_str()?.to_owned(), of_event(event))))
        .collect();
    let told = attempts.into_iter().map(|(attempt, own)| {
        let who = own.or_else(|| begun.get(&attempt.id.to_string()).cloned());
        (attempt.id, who.unwrap_or_else(|| attempt.actor.to_string()))
    });
    Ok(told.collect())
}

/// Who holds each of these items. A claim has a name; of what sort that is, the event of the claim knows.
pub(super) async fn assignees(
    session: &Session,
    items: impl Iterator<Item = &Item>,
    now: Timestamp,
) -> Result<BTreeMap<ItemId, String>, Error> {
    let own = session.call(None, None);
    let myself = own.holder().ok();
    let of_own = |holder: &Name| own.by.as_ref().filter(|_| myself.as_ref() == Some(holder)).map(spelled);
    let held: Vec<(ItemId, &Name, Option<String>)> = items
        .filter_map(|item| Some((item.id, &item.live_claim(now)?.holder)))
        .map(|(id, holder)| (id, holder, of_own(holder)))
        .collect();
    let others = held.iter().filter(|(.., own)| own.is_none()).map(|(id, ..)| *id);
    let claimed: BTreeMap<ItemId, String> = newest(session, others.collect(), Verb::Claimed, 1)
        .await?
        .iter()
        .filter_map(|event| Some((event.item?, of_event(event))))
        .collect();
    let told = held.into_iter().map(|(id, holder, own)| {
        let who = own.or_else(|| claimed.get(&id).cloned());
        (id, who.unwrap_or_else(|| holder.to_string()))
    });
    Ok(told.collect())
}

/// The newest events of one kind on each of these items, by one read however many they are.
async fn newest(session: &Session, items: BTreeSet<ItemId>, verb: Verb, limit: usize) -> Result<Vec<Event>, Error> {
    if items.is_empty() {
        return Ok(Vec::new());
    }
    let each = items.into_iter().collect();
    let filter = EventFilter { each, verbs: vec![verb], newest_first: true, limit, ..EventFilter::default() };
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
