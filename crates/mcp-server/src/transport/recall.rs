//! Calls over HTTP that whoever made them takes back by a message of its own (`notifications/cancelled`).
//!
//! Clients of the revisions before the stateless one do so, and keep the answer's connection open. A JSON-RPC id alone says nothing
//! of whose call it is: every client counts from one. So a client is given a name when it shakes hands, which nobody can guess, and a
//! call is found by who calls, that name and the id together. The name stands for nothing else and is not kept: whoever shows none,
//! or one that was given to it by another server, is served all the same. What is kept is which calls are under way here, until
//! they are answered; so only the server that is at a call can be told to leave it.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use docket_core::model::Name;
use http::{HeaderMap, HeaderValue};
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::BoxBody;
use rmcp::model::RequestId;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use uuid::Uuid;

/// The header that holds a client's name.
pub(super) const HEADER: &str = "mcp-session-id";
/// The header that holds the revision a client speaks.
const REVISION: &str = "mcp-protocol-version";
/// How the revisions begin whose clients shake hands; the first of them did not tell.
const SHAKING_HANDS: &str = "2025-";

/// A name for a client.
pub(super) fn new_name() -> Option<HeaderValue> {
    HeaderValue::from_str(&Uuid::new_v4().to_string()).ok()
}

/// The name that a client shows, where its revision has such names.
pub(super) fn shown(headers: &HeaderMap) -> Option<Uuid> {
    let revision = headers.get(REVISION).map(HeaderValue::as_bytes);
    let old = revision.is_none_or(|revision| revision.starts_with(SHAKING_HANDS.as_bytes()));
    let name = headers.get(HEADER).filter(|_| old)?;
    name.to_str().ok().and_then(|name| Uuid::try_parse(name).ok())
}

/// A call as the one who made it can name it, and nobody else.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Call {
    pub(super) principal: Name,
    pub(super) client: Uuid,
    pub(super) id: RequestId,
}

/// How long a call that was taken back before it came is waited for: a message on another connection may overtake it by so much.
const OVERTAKEN_BY: Duration = Duration::from_secs(1);
/// Most calls that are remembered for this, and most that have just ended.
const LATELY: usize = 256;

/// The calls that are under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    under_way: HashMap<Call, Shared>,
    /// Taken back, and not here yet.
    early: Lately,
    /// Answered a moment ago: whoever takes one of these back is late, and means no other call.
    ended: Lately,
}

/// Calls of the last moment, the newest last.
#[derive(Debug, Default)]
struct Lately(VecDeque<(Instant, Call)>);

impl Lately {
    fn add(&mut self, call: Call, now: Instant) {
        self.forget(now);
        if self.0.len() >= LATELY {
            self.0.pop_front();
        }
        self.0.push_back((now, call));
    }

    /// Whether this call is among them; it is no longer then.
    fn take(&mut self, call: &Call, now: Instant) -> bool {
        self.forget(now);
        let found = self.0.iter().position(|(_, known)| known == call);
        found.and_then(|at| self.0.remove(at)).is_some()
    }

    fn forget(&mut self, now: Instant) {
        while self.0.front().is_some_and(|(at, _)| now.saturating_duration_since(*at) > OVERTAKEN_BY) {
            self.0.pop_front();
        }
    }
}

/// What calls of one name have in common: a client that uses an id twice takes both back.
#[derive(Debug, Default)]
struct Shared {
    token: CancellationToken,
    count: usize,
}

impl Calls {
    /// A call begins; it is over at once where it was taken back already.
    pub(super) fn begin(&self, call: Call) -> UnderWay {
        self.begin_at(call, Instant::now())
    }

    fn begin_at(&self, call: Call, now: Instant) -> UnderWay {
        let mut known = self.known();
        let overtaken = known.early.take(&call, now);
        let shared = known.under_way.entry(call.clone()).or_default();
        shared.count += 1;
        if overtaken {
            shared.token.cancel();
        }
        UnderWay { token: shared.token.clone(), call, calls: self.clone() }
    }

    /// A call is taken back. One that is not under way was answered, or is another server's, or comes in a moment.
    pub(super) fn take_back(&self, call: Call) {
        self.take_back_at(call, Instant::now());
    }

    fn take_back_at(&self, call: Call, now: Instant) {
        let mut known = self.known();
        if let Some(shared) = known.under_way.get(&call) {
            shared.token.cancel();
        } else if !known.ended.take(&call, now) {
            known.early.add(call, now);
        }
    }

    fn end(&self, call: &Call) {
        let mut known = self.known();
        let Known { under_way, ended, .. } = &mut *known;
        if let Entry::Occupied(mut shared) = under_way.entry(call.clone()) {
            shared.get_mut().count -= 1;
            if shared.get().count == 0 {
                shared.remove();
                ended.add(call.clone(), Instant::now());
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that can be taken back for as long as this is there.
#[derive(Debug)]
pub(super) struct UnderWay {
    token: CancellationToken,
    call: Call,
    calls: Calls,
}

impl UnderWay {
    /// Ends when the call is taken back.
    pub(super) async fn taken_back(&self) {
        self.token.cancelled().await;
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.calls.end(&self.call);
    }
}

/// An answer that ends when its call is taken back; whatever makes it is then told that nobody listens.
pub(super) struct Revocable {
    body: Option<BoxBody<Bytes, Infallible>>,
    taken_back: Pin<Box<WaitForCancellationFutureOwned>>,
    _under_way: UnderWay,
}

impl Revocable {
    pub(super) fn new(body: BoxBody<Bytes, Infallible>, under_way: UnderWay) -> Self {
        let taken_back = Box::pin(under_way.token.clone().cancelled_owned());
        Self { body: Some(body), taken_back, _under_way: under_way }
    }
}

impl Body for Revocable {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.body.is_some() && self.taken_back.as_mut().poll(context).is_ready() {
            self.body = None;
        }
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        Pin::new(body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(SizeHint::default, Body::size_hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(principal: &str, client: u128, id: i64) -> Call {
        let principal = Name::parse(principal).expect("a name");
        Call { principal, client: Uuid::from_u128(client), id: RequestId::Number(id) }
    }

    fn is_taken_back(call: &UnderWay) -> bool {
        call.token.is_cancelled()
    }

    #[test]
    fn only_whoever_made_a_call_takes_it_back() {
        let calls = Calls::default();
        let mine = calls.begin(call("key:a", 1, 1));
        for other in [call("key:b", 1, 1), call("key:a", 2, 1), call("key:a", 1, 2)] {
            calls.take_back(other.clone());
            assert!(!is_taken_back(&mine), "taken back by {other:?}");
        }
        calls.take_back(call("key:a", 1, 1));
        assert!(is_taken_back(&mine));
    }

    #[test]
    fn nothing_is_kept_of_what_has_ended_and_its_id_may_be_used_again() {
        let calls = Calls::default();
        let (first, second) = (calls.begin(call("key:a", 1, 1)), calls.begin(call("key:a", 1, 1)));
        drop(first);
        calls.take_back(call("key:a", 1, 1));
        assert!(is_taken_back(&second), "the other of one name goes on");
        drop(second);
        assert!(calls.known().under_way.is_empty());
        calls.take_back(call("key:a", 1, 1));
        assert!(!is_taken_back(&calls.begin(call("key:a", 1, 1))), "a new call is taken back by an old message");
    }

    #[test]
    fn a_message_that_overtakes_its_call_takes_it_back_for_a_second() {
        let (calls, now) = (Calls::default(), Instant::now());
        let after = |ms: u64| now + Duration::from_millis(ms);
        calls.take_back_at(call("key:a", 1, 7), now);
        assert!(!is_taken_back(&calls.begin_at(call("key:b", 1, 7), after(10))), "another's of that id");
        assert!(is_taken_back(&calls.begin_at(call("key:a", 1, 7), after(900))));
        assert!(!is_taken_back(&calls.begin_at(call("key:a", 1, 7), after(910))), "it was meant once");
        calls.take_back_at(call("key:a", 1, 8), now);
        assert!(!is_taken_back(&calls.begin_at(call("key:a", 1, 8), after(1100))), "it never came");
        for id in 0..2000 {
            calls.take_back_at(call("key:a", 1, id), now);
        }
        assert_eq!(calls.known().early.0.len(), LATELY);
    }

    #[test]
    fn a_name_is_read_of_old_clients_alone() {
        let name = "0199f3a2-7c1e-4d3b-8f00-2a4b5c6d7e01";
        let headers = |revision: Option<&'static str>, name: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(HEADER, HeaderValue::from_static(name));
            if let Some(revision) = revision {
                headers.insert(REVISION, HeaderValue::from_static(revision));
            }
            headers
        };
        for old in [None, Some("2025-06-18"), Some("2025-11-25")] {
            assert!(shown(&headers(old, name)).is_some(), "{old:?}");
        }
        assert!(shown(&headers(Some("2026-07-28"), name)).is_none());
        assert!(shown(&headers(None, "another's")).is_none());
        assert_ne!(new_name(), new_name());
    }
}
