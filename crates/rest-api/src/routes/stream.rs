//! Events as they happen, over a connection that stays open (server-sent events).
//!
//! A stream takes its events from what is read once for all ([`crate::feed`]), and goes no further than its reader: between
//! them lie a few pieces at the most. A reader that does not take them in time is let go, and resumes with `Last-Event-ID`
//! where it was.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use docket_core::store::EventFilter;
use docket_core::{Error, Reason, limits};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};
use http_body_util::channel::{Channel, Sender};
use tracing::Instrument as _;

use super::events::{EventsQuery, StreamQuery, filter};
use crate::answer::{self, Answer};
use crate::app::Shared;
use crate::connection::GivenUp;
use crate::extract::Query;
use crate::feed::Follower;
use crate::gate::Caller;
use crate::limits::{HEARTBEAT, STREAM_PATIENCE};
use crate::metrics::Present;
use crate::turn::{Turn, Waiting};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Pieces between a stream and its reader.
const PIECES: usize = 4;
/// Events in one piece.
const EVENTS: usize = 64;

/// Follow events as they happen
///
/// Each has its number as `id`, its verb as `event` and itself as `data`. A stream begins after `Last-Event-ID` or `after`,
/// else with what happens from now on, and says that it is alive every 15 seconds.
#[utoipa::path(
    get, path = "/events/stream", tag = "events",
    params(StreamQuery, ("Last-Event-ID" = Option<u64>, Header, description = "The number of the last event that was seen")),
    responses((status = 200, description = "Events without end", content_type = "text/event-stream", body = String)),
)]
pub(crate) async fn stream(
    State(shared): answer::State,
    caller: Caller,
    turn: Turn,
    given_up: GivenUp,
    headers: HeaderMap,
    Query(query): Query<StreamQuery>,
) -> Answer {
    begin(shared, caller, turn, given_up, &headers, query).await
}

pub(crate) async fn begin(
    shared: Arc<Shared>,
    caller: Caller,
    turn: Turn,
    given_up: GivenUp,
    headers: &HeaderMap,
    query: StreamQuery,
) -> Answer {
    let query = EventsQuery::from(query);
    let last = match headers.get(LAST_EVENT_ID) {
        None => query.after,
        Some(given) => {
            let number = given.to_str().ok().and_then(|given| given.parse().ok());
            Some(number.ok_or_else(|| {
                Error::validation(Reason::BadValue, "Last-Event-ID must be the number of an event").at("Last-Event-ID")
            })?)
        }
    };
    let waiting = turn.wait()?;
    let (head, filter) = {
        let _place = shared.turns.look(STREAM_PATIENCE).await?;
        (caller.engine.head().await?, filter(&shared, &caller, &query).await?)
    };
    let filter = EventFilter { after: None, newest_first: false, limit: EVENTS.min(limits::PAGE), ..filter };
    if let Some(after) = last.filter(|last| *last > head) {
        let field = if headers.contains_key(LAST_EVENT_ID) { "Last-Event-ID" } else { "after" };
        caller.engine.check_follows(after, field).await?;
    }
    let follower = shared.feed.follow(head, last.unwrap_or(head));
    let (sender, body) = Channel::<Bytes, Infallible>::new(PIECES);
    let reader = Reader { sender, given_up, _waiting: waiting };
    tokio::spawn(follow(shared, caller, filter, follower, reader).in_current_span());
    let mut response: Response = Body::new(body).into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Some proxies keep back what they have until there is enough of it.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

/// Who reads a stream.
struct Reader {
    sender: Sender<Bytes, Infallible>,
    given_up: GivenUp,
    _waiting: Waiting,
}

async fn follow(shared: Arc<Shared>, caller: Caller, filter: EventFilter, mut follower: Follower, mut reader: Reader) {
    let _present = Present::new(&shared.metrics.streams);
    let patience = shared.limits.stall_timeout;
    let pass = Arc::clone(&caller.pass);
    let mut ended = pass.ended();
    let mut piece = Bytes::from_static(b"retry: 2000\n\n");
    loop {
        let lags = match tokio::time::timeout(patience, reader.sender.send_data(piece)).await {
            Ok(Ok(())) => None,
            // The reader has gone, or its connection was ended because it took nothing.
            Ok(Err(_)) => Some(reader.given_up.is_so()),
            Err(_) => Some(true),
        };
        if let Some(lags) = lags {
            if lags {
                shared.metrics.lagged.fetch_add(1, Ordering::Relaxed);
                tracing::info!("a stream was ended: its reader lagged behind");
            }
            return;
        }
        piece = tokio::select! {
            heard = follower.next(&caller.engine, &filter) => match heard {
                Ok(heard) => heard.text(),
                Err(error) => {
                    tracing::warn!(error = &error as &dyn std::error::Error, "a stream was ended");
                    // The reader comes back by itself, and misses nothing.
                    return;
                }
            },
            () = tokio::time::sleep(HEARTBEAT) => Bytes::from_static(b": alive\n\n"),
            () = shared.stopped() => return,
            () = &mut ended => {
                tracing::info!("a stream was ended: what its reader was let in by does not hold any more");
                return;
            }
        };
    }
}
