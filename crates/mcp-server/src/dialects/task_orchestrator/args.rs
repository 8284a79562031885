//! Arguments that several tools share, as this dialect limits them; the rest is shared with other surfaces.

use docket_core::model::RequestId;
use docket_core::{Error, Invalid, Reason, echo, limits};
use uuid::Uuid;

pub(super) use crate::args::{
    PHASES, THRESHOLDS, actor, check_batch, fence, item_ref, long_text, moment, name, need_batch, one_of, request_id,
    role, role_of, tag,
};
use crate::input::Fields;

/// Longest title, in characters.
pub(super) const TITLE_CHARS: usize = 500;
/// Longest summary, in characters.
pub(super) const SUMMARY_CHARS: usize = 2000;
/// Longest note key, in characters.
pub(super) const NOTE_KEY_CHARS: usize = 200;

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

/// Refuses a fence that this operation would pass over: whoever sends one relies on it.
pub(super) fn no_fence(fields: &mut Fields, instead: &str) -> Result<(), Error> {
    if fields.value("fence").is_none() {
        return Ok(());
    }
    let message = format!("fence does not go with this operation: {instead}");
    Err(Error::validation(Reason::BadValue, message).at("fence"))
}

/// Refuses what was given and does not belong to the operation. `null` is nothing given, as elsewhere on this surface.
pub(super) fn end(fields: &mut Fields) -> Result<(), Error> {
    fields.forget_nulls();
    fields.end()
}

/// Refuses more dependencies or notes than one call may bring.
pub(super) fn check_many(name: &str, length: usize) -> Result<(), Error> {
    const MOST: usize = limits::BATCH * 4;
    if length <= MOST {
        return Ok(());
    }
    let message = format!("{name} must be at most {MOST} entries, not {length}");
    Err(Error::validation(Reason::BatchTooLarge, message).at(name))
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
