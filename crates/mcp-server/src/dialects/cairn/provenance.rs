//! What was done to a task, one entry for each write, the oldest first: told from the events that the writes left.

use docket_core::Error;
use docket_core::model::{Event, ItemId, UnitId, Verb};
use docket_core::store::EventFilter;
use serde_json::{Value, json};

use super::who;
use crate::session::Session;

/// The events that are looked at; the newest are told where there are more.
const EVENTS: usize = 500;

/// The entries of a task.
pub(super) struct Told {
    pub(super) entries: Vec<Value>,
    /// Whether older ones were left out.
    pub(super) cut: bool,
}

/// What is not told: signs of life, of which there are too many, by their sessions; what became of each run, by the checks.
const UNTOLD: [Verb; 3] = [Verb::SessionBeat, Verb::RunTaken, Verb::RunEnded];

/// The entries of a task.
pub(super) async fn of(session: &Session, item: ItemId) -> Result<Told, Error> {
    let verbs = Verb::ALL.into_iter().filter(|verb| !UNTOLD.contains(verb)).collect();
    let filter = EventFilter { item: Some(item), verbs, newest_first: true, limit: EVENTS, ..EventFilter::default() };
    let mut events = session.engine().events(&filter).await?;
    events.reverse();
    let cut = events.len() == EVENTS;
    // A write may have done several things: what it was for is told.
    let mut writes: Vec<(UnitId, &Event)> = Vec::new();
    for event in events.iter().filter(|event| event.item == Some(item)) {
        match writes.last_mut().filter(|(unit, _)| *unit == event.unit) {
            Some((_, told)) if weight(event.verb) > weight(told.verb) => *told = event,
            Some(_) => {}
            None => writes.push((event.unit, event)),
        }
    }
    let entry = |event: &Event| json!({ "who": who::of_event(event), "at": event.at, "did": did(event) });
    Ok(Told { entries: writes.into_iter().map(|(_, event)| entry(event)).collect(), cut })
}

/// How much of a write an event says.
fn weight(verb: Verb) -> u8 {
    match verb {
        Verb::Created => 5,
        Verb::SessionBegun => 4,
        // Ending another's lost attempt is a part of beginning one's own.
        Verb::SessionEnded => 3,
        Verb::Moved | Verb::Asked | Verb::Answered | Verb::Withdrawn => 2,
        Verb::Claimed | Verb::Released => 0,
        Verb::ProjectSet
        | Verb::Edited
        | Verb::Noted
        | Verb::NoteRemoved
        | Verb::Linked
        | Verb::Unlinked
        | Verb::Removed
        | Verb::KeySet
        | Verb::Briefed
        | Verb::Verified
        | Verb::Commented
        | Verb::Attached
        | Verb::Detached
        | Verb::ChecksSet
        | Verb::ChecksApproved
        | Verb::Attested
        | Verb::RunsOrdered
        | Verb::RunTaken
        | Verb::RunEnded
        | Verb::SessionBeat
        | Verb::Learned
        | Verb::Revised
        | Verb::Reviewed
        | Verb::Forgotten
        | Verb::Cited
        | Verb::Uncited => 1,
    }
}

fn did(event: &Event) -> String {
    let text = |pointer: &str| event.data.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    match event.verb {
        Verb::Moved => format!("transitioned to {}", text("/set/status")),
        Verb::RunsOrdered => "ran checks".to_owned(),
        Verb::Commented => format!("noted: {}", text("/body")),
        Verb::SessionBegun => format!("began session {}", text("/session/id")),
        Verb::SessionEnded => {
            let words = [text("/session/summary"), text("/session/reason")].concat();
            format!("{} session {}: {words}", text("/session/state"), text("/session/id"))
        }
        verb => verb.as_str().to_owned(),
    }
}
