//! Arguments that several tools share: actors, request ids, item names, phases, dependency types.

use docket_core::model::{
    ActorClaim, ActorKind, Attribution, Fence, ItemRef, Name, RequestId, Role, Tag, Text, Timestamp,
};
use docket_core::{Error, Invalid, Reason, echo, limits};
use serde_json::Value;
use uuid::Uuid;

use crate::input::Fields;
use crate::session::Session;

/// Longest title, in characters.
pub(super) const TITLE_CHARS: usize = 500;
/// Longest summary, in characters.
pub(super) const SUMMARY_CHARS: usize = 2000;
/// Longest note key, in characters.
pub(super) const NOTE_KEY_CHARS: usize = 200;

const ACTOR: [&str; 4] = ["id", "kind", "parent", "proof"];

/// An item's name: its UUID, its key, or four or more hex digits.
pub(super) fn item_ref(text: &str) -> Result<ItemRef, Invalid> {
    text.parse()
}

/// A name, such as a type, a trait or a label.
pub(super) fn name(text: &str) -> Result<Name, Invalid> {
    Name::parse(text)
}

/// A tag.
pub(super) fn tag(text: &str) -> Result<Tag, Invalid> {
    Tag::parse(text)
}

/// A long text.
pub(super) fn long_text(text: &str) -> Result<Text, Invalid> {
    Text::parse(text)
}

/// Any role.
pub(super) fn role(text: &str) -> Result<Role, Invalid> {
    text.parse()
}

/// A moment with its zone.
pub(super) fn moment(text: &str) -> Result<Timestamp, Invalid> {
    text.parse()
}

/// A role out of those that a parameter allows.
pub(super) fn role_of(allowed: &'static [Role]) -> impl Fn(&str) -> Result<Role, Invalid> {
    move |text| {
        let found = text.parse().ok().filter(|role| allowed.contains(role));
        found.ok_or_else(|| {
            let known: Vec<&str> = allowed.iter().map(|role| role.as_str()).collect();
            Invalid::new(Reason::UnknownValue, format!("must be one of {}, not \"{}\"", known.join(", "), echo(text)))
        })
    }
}

/// The phases that notes belong to.
pub(super) const PHASES: &[Role] = &[Role::Queue, Role::Work, Role::Review];
/// The roles that a dependency can wait for.
pub(super) const THRESHOLDS: &[Role] = &[Role::Queue, Role::Work, Role::Review, Role::Terminal];

/// One word of a closed set, whatever its case.
pub(super) fn one_of<T: Copy>(known: &'static [(&'static str, T)]) -> impl Fn(&str) -> Result<T, Invalid> {
    move |text| {
        known.iter().find(|(word, _)| word.eq_ignore_ascii_case(text.trim())).map(|(_, value)| *value).ok_or_else(
            || {
                let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
                Invalid::new(
                    Reason::UnknownValue,
                    format!("must be one of {}, not \"{}\"", words.join(", "), echo(text)),
                )
            },
        )
    }
}

/// Refuses a text that is longer than this surface allows.
pub(super) fn at_most<T>(
    most: usize,
    parse: impl Fn(&str) -> Result<T, Invalid>,
) -> impl Fn(&str) -> Result<T, Invalid> {
    move |text| {
        if text.chars().nth(most).is_some() {
            return Err(Invalid::new(Reason::TooLong, format!("must be at most {most} characters")));
        }
        parse(text)
    }
}

/// Who is said to act, from a field of an object.
pub(super) fn actor(session: &Session, fields: &mut Fields, name: &str) -> Result<Option<Attribution>, Error> {
    let Some(value) = fields.value(name) else { return Ok(None) };
    let mut read = Fields::inside(&fields.at(name), value, &ACTOR)?;
    let actor = ActorClaim {
        id: read.need("id", Name::parse)?,
        kind: read.need("kind", str::parse::<ActorKind>)?,
        parent: read.parsed("parent", Name::parse)?,
        proof: read.free("proof", Text::parse)?,
    };
    let verification = session.record_of(&actor);
    Ok(Some(session.delegated(Attribution { actor, verification })))
}

/// The caller's name for the request: any text that may be one.
pub(super) fn request_id(fields: &mut Fields) -> Result<Option<RequestId>, Error> {
    let Some(text) = fields.raw_text("requestId")? else { return Ok(None) };
    RequestId::parse(&text).map(Some).map_err(|invalid| invalid.at("requestId").into())
}

/// The caller's name for the request, where the tool insists on a UUID.
pub(super) fn need_request_uuid(fields: &mut Fields) -> Result<RequestId, Error> {
    let text = fields.raw_text("requestId")?.ok_or_else(|| {
        Error::validation(Reason::MissingField, "requestId is required here: a fresh UUID for each logical operation")
            .at("requestId")
    })?;
    let uuid = Uuid::try_parse(text.trim()).map_err(|_| {
        Error::validation(Reason::BadRequestId, format!("requestId must be a UUID, not \"{}\"", echo(&text)))
            .at("requestId")
    })?;
    RequestId::parse(&uuid.to_string()).map_err(|invalid| invalid.at("requestId").into())
}

/// The fence of the caller's claim.
pub(super) fn fence(fields: &mut Fields) -> Result<Option<Fence>, Error> {
    let Some(number) = fields.whole("fence")? else { return Ok(None) };
    u64::try_from(number).map(|fence| Some(Fence(fence))).map_err(|_| {
        let field = fields.at("fence");
        Error::validation(Reason::BadValue, format!("{field} must not be negative")).at(field)
    })
}

/// A list that must be there, with at least one and at most a batch of entries.
pub(super) fn need_batch(fields: &mut Fields, name: &str) -> Result<Vec<Value>, Error> {
    let list = fields.list(name)?.ok_or_else(|| fields.missing(name))?;
    if list.is_empty() {
        return Err(Error::validation(Reason::TooFew, format!("{name} must not be empty")).at(name));
    }
    check_batch(name, list.len())?;
    Ok(list)
}

/// Refuses a list that is longer than a batch may be.
pub(super) fn check_batch(name: &str, length: usize) -> Result<(), Error> {
    if length <= limits::BATCH {
        return Ok(());
    }
    let message = format!("{name} must be at most {} entries, not {length}", limits::BATCH);
    Err(Error::validation(Reason::BatchTooLarge, message).at(name))
}

/// What was read of a batch, each entry with its place.
#[derive(Debug)]
pub(super) struct Sorted<T> {
    /// What can be asked of the engine.
    pub(super) good: Vec<(usize, T)>,
    /// What cannot.
    pub(super) bad: Vec<(usize, Error)>,
}

/// Tells what can be asked of the engine from what cannot.
pub(super) fn sort_out<T>(read: impl Iterator<Item = Result<T, Error>>) -> Sorted<T> {
    let mut sorted = Sorted { good: Vec::new(), bad: Vec::new() };
    for (index, entry) in read.enumerate() {
        match entry {
            Ok(entry) => sorted.good.push((index, entry)),
            Err(error) => sorted.bad.push((index, error)),
        }
    }
    sorted
}
