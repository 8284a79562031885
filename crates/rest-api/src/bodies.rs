//! Bodies while they arrive, before their requests take a turn: a client that sends slowly keeps nobody from working. What
//! they may hold together is bounded, and so is what one caller's may, so that nobody can fill it for the others.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use docket_core::model::Name;
use docket_core::{Code, Error, Kind, Reason};
use http::header::{CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH};
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Body as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::failure::Failure;
use crate::limits::{ARRIVING, BODIES_BYTES, BODIES_SHARE, Limits};

/// What all bodies hold that are arriving or worked on.
#[derive(Debug)]
pub(crate) struct Bodies {
    /// Most bytes of all.
    most: usize,
    /// Most bytes of one caller's.
    share: usize,
    /// How long a whole body may take.
    timeout: Duration,
    /// How long whoever has too many on their way waits for one of them.
    patience: Duration,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    bytes: usize,
    of: HashMap<Name, Share>,
}

/// What one caller's bodies hold.
#[derive(Debug)]
struct Share {
    bytes: usize,
    /// Places for those that have to be waited for.
    arriving: Arc<Semaphore>,
    /// How many rooms there are; with the last one this is forgotten.
    rooms: usize,
}

/// The room that one body takes; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Room {
    bodies: Arc<Bodies>,
    caller: Name,
    bytes: usize,
}

impl Bodies {
    pub(crate) fn new(limits: &Limits) -> Self {
        let most = BODIES_BYTES.max(limits.body_bytes.max(limits.import_bytes).saturating_mul(BODIES_SHARE));
        Self {
            most,
            share: most / BODIES_SHARE,
            timeout: limits.body_timeout,
            patience: limits.turn,
            held: Mutex::default(),
        }
    }

    /// A whole body, refused as soon as it is known to be too large, with the room that it takes.
    pub(crate) async fn take(
        self: &Arc<Self>,
        caller: &Name,
        headers: &HeaderMap,
        body: Body,
        most: usize,
    ) -> Result<(Bytes, Room), Failure> {
        if headers.contains_key(CONTENT_ENCODING) {
            let error = Error::validation(Reason::BadMedia, "a body is taken as it is: leave Content-Encoding out");
            return Err(Failure::with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE, error));
        }
        let said = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if said.is_some_and(|said| said > most as u64) {
            return Err(too_large(most));
        }
        let mut room = self.room(caller);
        let arrived = tokio::time::timeout(self.timeout, arrive(&mut room, body, most)).await;
        let bytes = arrived.unwrap_or_else(|_| {
            let message = format!("the body took longer than {} seconds", self.timeout.as_secs());
            let error = Error::new(Kind::Transient, Code::Validation, Reason::TooSlow, message);
            Err(last(Failure::with_status(StatusCode::REQUEST_TIMEOUT, error)))
        })?;
        Ok((bytes, room))
    }

    fn room(self: &Arc<Self>, caller: &Name) -> Room {
        let mut held = self.held();
        let new = || Share { bytes: 0, arriving: Arc::new(Semaphore::new(ARRIVING)), rooms: 0 };
        held.of.entry(caller.clone()).or_insert_with(new).rooms += 1;
        Room { bodies: Arc::clone(self), caller: caller.clone(), bytes: 0 }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Room {
    /// A place among those of this caller's that have to be waited for.
    async fn wait(&self) -> Result<OwnedSemaphorePermit, Failure> {
        let arriving = self.bodies.held().of.get(&self.caller).map(|share| Arc::clone(&share.arriving));
        let arriving = arriving.ok_or_else(|| Failure::shedding("no room was taken"))?;
        let place = tokio::time::timeout(self.bodies.patience, arriving.acquire_owned()).await;
        let many = || last(Failure::shedding("as many bodies of this caller are on their way as may be"));
        place.ok().and_then(Result::ok).ok_or_else(many)
    }

    /// Makes room for more bytes.
    fn grow(&mut self, more: usize) -> Result<(), Failure> {
        let mut held = self.bodies.held();
        let full = held.bytes.saturating_add(more) > self.bodies.most;
        let Some(share) = held.of.get_mut(&self.caller) else { return Err(Failure::shedding("no room was taken")) };
        if share.bytes.saturating_add(more) > self.bodies.share {
            return Err(last(Failure::shedding("the bodies of this caller that are here are as large as they may be")));
        }
        if full {
            return Err(last(Failure::shedding("the bodies that are here are as large as they may be together")));
        }
        share.bytes += more;
        held.bytes += more;
        self.bytes += more;
        Ok(())
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut held = self.bodies.held();
        held.bytes -= self.bytes;
        if let Some(share) = held.of.get_mut(&self.caller) {
            share.bytes -= self.bytes;
            share.rooms -= 1;
            if share.rooms == 0 {
                held.of.remove(&self.caller);
            }
        }
    }
}

/// Reads a body to its end. What came with the head is there at once, and waits for nothing.
async fn arrive(room: &mut Room, mut body: Body, most: usize) -> Result<Bytes, Failure> {
    let (mut bytes, mut place) = (BytesMut::new(), None);
    loop {
        let here = poll_fn(|context| Poll::Ready(Pin::new(&mut body).poll_frame(context))).await;
        let frame = match here {
            Poll::Ready(frame) => frame,
            Poll::Pending => {
                if place.is_none() {
                    place = Some(room.wait().await?);
                }
                body.frame().await
            }
        };
        let Some(frame) = frame else { return Ok(bytes.freeze()) };
        let frame = frame.map_err(|_| Failure::malformed(Reason::BadValue, "the body broke off"))?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > most {
            return Err(too_large(most));
        }
        room.grow(data.len())?;
        bytes.extend_from_slice(&data);
    }
}

fn too_large(most: usize) -> Failure {
    let error = Error::validation(Reason::TooLong, format!("the body must be at most {most} bytes"));
    last(Failure::with_status(StatusCode::PAYLOAD_TOO_LARGE, error))
}

/// The answer that ends its connection: what is still to come of the body is not read.
fn last(failure: Failure) -> Failure {
    failure.header(CONNECTION, HeaderValue::from_static("close"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies() -> Arc<Bodies> {
        let limits = Limits { turn: Duration::ZERO, ..Limits::default() };
        Arc::new(Bodies::new(&limits))
    }

    fn name(text: &str) -> Name {
        Name::parse(text).expect("a name")
    }

    #[test]
    fn one_caller_takes_its_share_and_all_together_no_more_than_there_is() {
        let bodies = bodies();
        let fill = |caller: &str| {
            let mut room = bodies.room(&name(caller));
            room.grow(bodies.share).expect("its share");
            room
        };
        let all: Vec<Room> = (0..BODIES_SHARE).map(|number| fill(&format!("c{number}"))).collect();
        let mut more = bodies.room(&name("c0"));
        more.grow(1).expect_err("beyond its share");
        let mut other = bodies.room(&name("other"));
        other.grow(1).expect_err("nothing is left");
        drop(all);
        more.grow(1).expect("its share is free again");
        other.grow(bodies.share).expect("and what was left");
        drop((more, other));
        let held = bodies.held();
        assert!(held.bytes == 0 && held.of.is_empty(), "{held:?}");
    }

    #[tokio::test]
    async fn so_many_of_one_caller_are_waited_for() {
        let bodies = bodies();
        let room = bodies.room(&name("slow"));
        let mut places = Vec::new();
        for _ in 0..ARRIVING {
            places.push(room.wait().await.expect("a place"));
        }
        bodies.room(&name("slow")).wait().await.expect_err("one too many");
        drop(bodies.room(&name("other")).wait().await.expect("another's are its own"));
        places.pop();
        drop(bodies.room(&name("slow")).wait().await.expect("one has come"));
    }
}
