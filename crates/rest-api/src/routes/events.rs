//! What was done, by whom: pages of events, and waiting for the next.

use std::time::Duration;

use axum::extract::{FromRequestParts, State};
use docket_core::model::{Event, ItemId, ItemRef, Slug, Timestamp, Verb};
use docket_core::store::{Around, EventFilter, ProjectRef};
use docket_core::{Error, Reason, limits};
use http::header::ACCEPT;
use http::request::Parts;
use http::{HeaderMap, HeaderValue};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::stream;
use crate::answer::{self, Answer, event_out, ok, page};
use crate::app::Shared;
use crate::connection::GivenUp;
use crate::extract::{ItemPath, Query};
use crate::failure::Failure;
use crate::gate::Caller;
use crate::limits::PAGE_DEFAULT;
use crate::turn::Turn;

/// Which events are meant.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventsQuery {
    /// Of this project; of all where it is not said.
    pub(crate) project: Option<Slug>,
    /// On this item, or with it at the other end.
    #[param(value_type = Option<String>)]
    pub(crate) item: Option<ItemRef>,
    /// Of these kinds, separated by commas.
    #[param(style = Form, explode = false)]
    pub(crate) verbs: Vec<Verb>,
    /// After this number.
    pub(crate) after: Option<u64>,
    /// Later than this.
    since: Option<Timestamp>,
    /// The newest first.
    newest_first: bool,
    /// How many, from 1 to 200; 50 where it is not said.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<i64>,
    /// Where the page begins: what the page before gave as `nextCursor`, with the same filter.
    cursor: Option<String>,
    /// How long to wait for one when there is none after `after`, at most 60,000.
    #[param(minimum = 0, maximum = 60000)]
    wait_ms: u64,
}

/// Which events of one item are meant.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct ItemEventsQuery {
    /// Of these kinds, separated by commas.
    #[param(style = Form, explode = false)]
    verbs: Vec<Verb>,
    /// After this number.
    after: Option<u64>,
    /// Later than this.
    since: Option<Timestamp>,
    /// The newest first.
    newest_first: bool,
    /// How many, from 1 to 200; 50 where it is not said.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<i64>,
    /// Where the page begins: what the page before gave as `nextCursor`, with the same filter.
    cursor: Option<String>,
    /// How long to wait for one when there is none after `after`, at most 60,000.
    #[param(minimum = 0, maximum = 60000)]
    wait_ms: u64,
}

/// Which events are followed as they happen: a stream has no pages, and runs one way.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct StreamQuery {
    /// Of this project; of all where it is not said.
    project: Option<Slug>,
    /// On this item, or with it at the other end.
    #[param(value_type = Option<String>)]
    item: Option<ItemRef>,
    /// Of these kinds, separated by commas.
    #[param(style = Form, explode = false)]
    verbs: Vec<Verb>,
    /// After this number.
    after: Option<u64>,
    /// Later than this.
    since: Option<Timestamp>,
}

impl From<StreamQuery> for EventsQuery {
    fn from(StreamQuery { project, item, verbs, after, since }: StreamQuery) -> Self {
        Self { project, item, verbs, after, since, ..Self::default() }
    }
}

/// What is asked of one address: a page, or the stream.
#[derive(Debug)]
pub(crate) enum PageOrStream {
    Page(EventsQuery),
    Stream(StreamQuery),
}

impl<S: Send + Sync> FromRequestParts<S> for PageOrStream {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let streams = |accept: &HeaderValue| accept.as_bytes().starts_with(b"text/event-stream");
        if parts.headers.get(ACCEPT).is_some_and(streams) {
            let Query(query) = Query::from_request_parts(parts, state).await?;
            Ok(Self::Stream(query))
        } else {
            let Query(query) = Query::from_request_parts(parts, state).await?;
            Ok(Self::Page(query))
        }
    }
}

/// A page of events.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EventPage {
    /// The events.
    events: Vec<Event>,
    /// Where to go on: the `after` of the next request. Nothing is missed between two pages.
    cursor: u64,
    /// Where the next page begins, the way this one runs; none on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// List events, or wait for the next
///
/// With `Accept: text/event-stream` this is the live stream, and takes what that takes.
#[utoipa::path(
    get, path = "/events", tag = "events",
    params(
        EventsQuery,
        ("Last-Event-ID" = Option<u64>, Header, description = "Of the stream: the number of the last event that was seen"),
    ),
    responses((
        status = 200,
        description = "A page of events; or, as `text/event-stream`, events without end",
        content((EventPage = "application/json"), (String = "text/event-stream")),
    )),
)]
pub(crate) async fn list(
    State(shared): answer::State,
    caller: Caller,
    turn: Turn,
    given_up: GivenUp,
    headers: HeaderMap,
    query: PageOrStream,
) -> Answer {
    match query {
        PageOrStream::Page(query) => shown(&shared, &caller, &turn, query).await,
        PageOrStream::Stream(query) => stream::begin(shared, caller, turn, given_up, &headers, query).await,
    }
}

/// List what was done to an item
#[utoipa::path(
    get, path = "/items/{id}/events", tag = "events",
    params(("id" = ItemRef, Path, description = "The item"), ItemEventsQuery),
    responses((status = 200, description = "A page of events", body = EventPage)),
)]
pub(crate) async fn of_item(
    State(shared): answer::State,
    caller: Caller,
    turn: Turn,
    ItemPath(item): ItemPath,
    Query(query): Query<ItemEventsQuery>,
) -> Answer {
    let ItemEventsQuery { verbs, after, since, newest_first, limit, cursor, wait_ms } = query;
    let (project, item) = (None, Some(item));
    let query = EventsQuery { project, item, verbs, after, since, newest_first, limit, cursor, wait_ms };
    shown(&shared, &caller, &turn, query).await
}

/// What a request asks for, as the engine wants it.
pub(crate) async fn filter(shared: &Shared, caller: &Caller, query: &EventsQuery) -> Result<EventFilter, Error> {
    let item: Option<ItemId> = match &query.item {
        None => None,
        Some(item) => {
            let seen = caller.engine.show(&ProjectRef::Any, std::slice::from_ref(item), Around::default()).await?;
            Some(seen.resolve(item).map_err(|error| error.at("item"))?.id)
        }
    };
    Ok(EventFilter {
        visible: None,
        project: shared.scope(caller, query.project.as_ref()).await?,
        item,
        each: Vec::new(),
        verbs: query.verbs.clone(),
        after: query.after,
        before: None,
        since: query.since,
        newest_first: query.newest_first,
        limit: page(query.limit, PAGE_DEFAULT)?,
    })
}

async fn shown(shared: &Shared, caller: &Caller, turn: &Turn, query: EventsQuery) -> Answer {
    if query.wait_ms > limits::WAIT_MS {
        let message = format!("waitMs must be at most {}, not {}", limits::WAIT_MS, query.wait_ms);
        return Err(Error::validation(Reason::BadValue, message).at("waitMs").into());
    }
    if query.wait_ms > 0 && query.newest_first {
        let message = "newestFirst goes without waitMs";
        return Err(Error::validation(Reason::BadValue, message).at("newestFirst").into());
    }
    if query.wait_ms > 0 && query.cursor.is_some() {
        let message = "cursor goes without waitMs: it leads to what is there already";
        return Err(Error::validation(Reason::BadValue, message).at("cursor").into());
    }
    if query.wait_ms > 0 {
        return waited(shared, caller, turn, &query).await;
    }
    let filter = filter(shared, caller, &query).await?;
    // Whoever looks back does not go on from there.
    let head = if filter.newest_first { 0 } else { caller.engine.head().await? };
    let page = caller.engine.event_list(&filter, query.cursor.as_deref()).await?;
    let newest = page.events.iter().map(|event| event.seq).max();
    // A full page may leave out what lies between it and the head.
    let cursor = match newest {
        Some(newest) => newest,
        None => filter.after.unwrap_or(0).max(head),
    };
    let events = page.events.into_iter().map(event_out).collect();
    ok(&EventPage { events, cursor, next_cursor: page.next })
}

/// The same for somebody who waits for events when there are none.
async fn waited(shared: &Shared, caller: &Caller, turn: &Turn, query: &EventsQuery) -> Answer {
    let patience = caller.engine.patience(Duration::from_millis(query.wait_ms));
    let mut over = std::pin::pin!(tokio::time::sleep(patience));
    let _waiting = turn.wait()?;
    let place = shared.turns.look(patience).await?;
    let filter = filter(shared, caller, query).await?;
    // Read before the events, so that what is committed after it is seen as a change.
    let head = caller.engine.head().await?;
    let after = filter.after.unwrap_or(if filter.since.is_none() { head } else { 0 });
    if after > head {
        caller.engine.check_follows(after, "after").await?;
    }
    let mut follower = shared.feed.follow(head, after);
    let mut news = follower.now(&caller.engine, &filter).await?;
    drop(place);
    if news.is_none() {
        tokio::select! {
            found = follower.next(&caller.engine, &filter) => news = Some(found?),
            () = &mut over => {}
            () = shared.stopped() => {}
            // What they wait for is not theirs to read any more; the next request says why.
            () = caller.pass.ended() => {}
        }
    }
    let events = news.map_or_else(Vec::new, |news| news.events(&caller.engine));
    let cursor = events.last().map_or(follower.cursor(), |event| event.seq);
    let events = events.into_iter().map(event_out).collect();
    ok(&EventPage { events, cursor, next_cursor: None })
}
