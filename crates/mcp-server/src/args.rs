//! Arguments that tools of several surfaces share: actors, request ids, item names, words of closed sets, batches.

use docket_core::model::{
    ActorClaim, ActorKind, Attribution, Fence, ItemRef, Name, RequestId, Role, Tag, Text, Timestamp,
};
use docket_core::{Error, Invalid, Reason, echo, limits};
use serde_json::Value;

use crate::input::Fields;
use crate::session::Session;

const ACTOR: [&str; 4] = ["id", "kind", "parent", "proof"];

/// An item's name: its UUID, its key, or four or more hex digits.
pub(crate) fn item_ref(text: &str) -> Result<ItemRef, Invalid> {
    text.parse()
}

/// A name, such as a type, a trait or a label.
pub(crate) fn name(text: &str) -> Result<Name, Invalid> {
    Name::parse(text)
}

/// A tag.
pub(crate) fn tag(text: &str) -> Result<Tag, Invalid> {
    Tag::parse(text)
}

/// A long text.
pub(crate) fn long_text(text: &str) -> Result<Text, Invalid> {
    Text::parse(text)
}

/// Any role.
pub(crate) fn role(text: &str) -> Result<Role, Invalid> {
    text.parse()
}

/// A moment with its zone.
pub(crate) fn moment(text: &str) -> Result<Timestamp, Invalid> {
    text.parse()
}

/// A role out of those that a parameter allows.
pub(crate) fn role_of(allowed: &'static [Role]) -> impl Fn(&str) -> Result<Role, Invalid> {
    move |text| {
        let found = text.parse().ok().filter(|role| allowed.contains(role));
        found.ok_or_else(|| {
            let known: Vec<&str> = allowed.iter().map(|role| role.as_str()).collect();
            Invalid::new(Reason::UnknownValue, format!("must be one of {}, not \"{}\"", known.join(", "), echo(text)))
        })
    }
}

/// The phases that notes belong to.
pub(crate) const PHASES: &[Role] = &[Role::Queue, Role::Work, Role::Review];

/// The roles that a dependency can wait for.
pub(crate) const THRESHOLDS: &[Role] = &[Role::Queue, Role::Work, Role::Review, Role::Terminal];

/// One word of a closed set, whatever its case.
pub(crate) fn one_of<T: Copy>(known: &'static [(&'static str, T)]) -> impl Fn(&str) -> Result<T, Invalid> {
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

/// Who is said to act, from a field of an object.
pub(crate) fn actor(session: &Session, fields: &mut Fields, name: &str) -> Result<Option<Attribution>, Error> {
    let Some(value) = fields.value(name) else { return Ok(None) };
    let mut read = Fields::inside(&fields.at(name), value, &ACTOR)?;
    let actor = ActorClaim {
        id: read.need("id", Name::parse)?,
        kind: read.need("kind", str::parse::<ActorKind>)?,
        parent: read.parsed("parent", Name::parse)?,
        proof: read.free("proof", Text::parse)?,
    };
    Ok(Some(session.delegated(session.attributed(actor))))
}

/// The caller's name for the request: any text that may be one.
pub(crate) fn request_id(fields: &mut Fields) -> Result<Option<RequestId>, Error> {
    let Some(text) = fields.raw_text("requestId")? else { return Ok(None) };
    RequestId::parse(&text).map(Some).map_err(|invalid| invalid.at("requestId").into())
}

/// The fence of the caller's claim.
pub(crate) fn fence(fields: &mut Fields) -> Result<Option<Fence>, Error> {
    let Some(number) = fields.whole("fence")? else { return Ok(None) };
    u64::try_from(number).map(|fence| Some(Fence(fence))).map_err(|_| {
        let field = fields.at("fence");
        Error::validation(Reason::BadValue, format!("{field} must not be negative")).at(field)
    })
}

/// A list that must be there, with at least one and at most a batch of entries.
pub(crate) fn need_batch(fields: &mut Fields, name: &str) -> Result<Vec<Value>, Error> {
    let list = fields.list(name)?.ok_or_else(|| fields.missing(name))?;
    if list.is_empty() {
        return Err(Error::validation(Reason::TooFew, format!("{name} must not be empty")).at(name));
    }
    check_batch(name, list.len())?;
    Ok(list)
}

/// Refuses a list that is longer than a batch may be.
pub(crate) fn check_batch(name: &str, length: usize) -> Result<(), Error> {
    if length <= limits::BATCH {
        return Ok(());
    }
    let message = format!("{name} must be at most {} entries, not {length}", limits::BATCH);
    Err(Error::validation(Reason::BatchTooLarge, message).at(name))
}
