//! Events as they happen, read once for all who follow them.
//!
//! While anybody follows, one task reads each event from the store as soon as it is committed, and keeps the newest few.
//! Followers take from those what they may see and asked for. A follower is nothing but a place in the order of events: when
//! it lags behind what is kept, or comes from further back, it reads from the store by itself until it has caught up. So
//! nothing is missed and nothing is told twice, wherever it gets its events from. When nobody follows, nothing is read.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use docket_core::model::Event;
use docket_core::query::{Fresh, OtherEnds};
use docket_core::store::EventFilter;
use docket_core::{Engine, Error, Kind, limits};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::answer::event_out;
use crate::limits::{FEED_BYTES, FEED_EVENTS, FEED_REST, STREAM_PAUSE};

/// What is read for all.
pub(crate) struct Feed {
    /// The rules without a limit: whoever follows applies their own.
    engine: Engine,
    state: Mutex<State>,
    news: watch::Sender<News>,
}

#[derive(Debug, Default)]
struct State {
    followers: usize,
    reader: Option<JoinHandle<()>>,
    /// Counts readers: what one brings after it was told to go is not wanted.
    readers: u64,
    kept: Kept,
}

/// The newest events, without a gap.
#[derive(Debug, Default)]
struct Kept {
    /// All events after this number, up to the next, that are there.
    from: u64,
    upto: u64,
    events: VecDeque<Arc<Line>>,
    bytes: usize,
}

/// An event that is kept for all, with the form in which it is sent.
#[derive(Debug)]
pub(crate) struct Line {
    fresh: Fresh,
    text: Bytes,
}

/// What followers are woken for.
#[derive(Clone, Debug, Default)]
struct News {
    upto: u64,
    failures: u64,
    failure: Option<Arc<Error>>,
}

/// Events that a follower was told.
#[derive(Debug)]
pub(crate) enum Heard {
    /// It has read them by itself.
    Read(Vec<Event>),
    /// They were read for all.
    Kept(Vec<Arc<Line>>),
}

/// Somebody who follows events, and how far they have come.
pub(crate) struct Follower {
    feed: Arc<Feed>,
    news: watch::Receiver<News>,
    failures: u64,
    cursor: u64,
}

/// Where a place in the order of events lies, seen from what is kept.
enum Place {
    /// Before it.
    Behind { upto: u64 },
    /// In it: these come next, and reach so far.
    Inside { next: Vec<Arc<Line>>, upto: u64 },
    /// After all of it.
    Ahead,
}

impl std::fmt::Debug for Feed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Feed").finish_non_exhaustive()
    }
}

impl Feed {
    pub(crate) fn new(engine: Engine) -> Arc<Self> {
        Arc::new(Self { engine, state: Mutex::default(), news: watch::Sender::new(News::default()) })
    }

    /// Follows events from this place on. `head` is the number of an event before which all are committed.
    pub(crate) fn follow(self: &Arc<Self>, head: u64, cursor: u64) -> Follower {
        let mut state = self.state();
        state.followers += 1;
        // One that is finished while somebody follows has panicked: it is replaced.
        if state.reader.as_ref().is_none_or(JoinHandle::is_finished) {
            state.readers += 1;
            state.kept = Kept { from: head, upto: head, ..Kept::default() };
            state.reader = Some(tokio::spawn(Arc::clone(self).read(state.readers, head)));
        }
        let news = self.news.subscribe();
        let failures = news.borrow().failures;
        Follower { feed: Arc::clone(self), news, failures, cursor }
    }

    async fn read(self: Arc<Self>, reader: u64, mut after: u64) {
        let mut is_burst = false;
        let mut known = OtherEnds::default();
        loop {
            match self.next_page(after, is_burst, &mut known).await {
                Ok((page, upto)) => {
                    is_burst = page.len() >= limits::PAGE;
                    after = upto;
                    if !self.keep(reader, page, upto) {
                        return;
                    }
                }
                Err(error) => {
                    // To be turned away by a busy store is no failure: the next look shows everything.
                    if error.kind != Kind::Shedding {
                        tracing::warn!(error = &error as &dyn std::error::Error, "events cannot be followed");
                        let error = Arc::new(error);
                        self.news.send_modify(|news| {
                            news.failures += 1;
                            news.failure = Some(error);
                        });
                    }
                    tokio::time::sleep(FEED_REST).await;
                }
            }
        }
    }

    /// The next events, whenever they come, and the number up to which these are all.
    async fn next_page(&self, after: u64, is_burst: bool, known: &mut OtherEnds) -> Result<(Vec<Fresh>, u64), Error> {
        let head = self.engine.changed(after).await?;
        if !is_burst {
            tokio::time::sleep(STREAM_PAUSE).await;
        }
        let page = self.engine.fresh(after, limits::PAGE, known).await?;
        let last = page.last().map_or(after, Fresh::seq);
        // A full page may leave out what lies between it and the head.
        let upto = if page.len() >= limits::PAGE { last } else { last.max(head) };
        Ok((page, upto))
    }

    /// Keeps what was read, lets go of what is too old, and wakes followers. False when it is not wanted any more.
    fn keep(&self, reader: u64, page: Vec<Fresh>, upto: u64) -> bool {
        // Written before the lock is taken: followers wait for it.
        let page: Vec<Line> = page.into_iter().filter_map(|fresh| self.write(fresh)).collect();
        let mut state = self.state();
        if state.readers != reader || state.reader.is_none() {
            return false;
        }
        state.kept.add(page, upto);
        drop(state);
        self.news.send_modify(|news| news.upto = upto);
        true
    }

    fn write(&self, fresh: Fresh) -> Option<Line> {
        let text = Bytes::from(written(self.engine.told(&fresh, &EventFilter::default())?.clone()));
        Some(Line { fresh, text })
    }

    fn place(&self, cursor: u64) -> Place {
        let state = self.state();
        let kept = &state.kept;
        if cursor >= kept.upto {
            Place::Ahead
        } else if cursor < kept.from {
            Place::Behind { upto: kept.upto }
        } else {
            let first = kept.events.partition_point(|line| line.fresh.seq() <= cursor);
            Place::Inside { next: kept.events.range(first..).cloned().collect(), upto: kept.upto }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn add(&mut self, page: Vec<Line>, upto: u64) {
        for line in page {
            self.bytes += line.text.len();
            self.events.push_back(Arc::new(line));
        }
        self.upto = upto;
        while self.events.len() > 1 && (self.events.len() > FEED_EVENTS || self.bytes > FEED_BYTES) {
            let Some(oldest) = self.events.pop_front() else { break };
            self.bytes -= oldest.text.len();
            self.from = oldest.fresh.seq();
        }
    }
}

impl Follower {
    /// How far this one has come: whatever it asked for, up to this number, it was told.
    pub(crate) fn cursor(&self) -> u64 {
        self.cursor
    }

    /// The next events of those asked for, whenever they come. The filter's `after` is not looked at.
    pub(crate) async fn next(&mut self, engine: &Engine, filter: &EventFilter) -> Result<Heard, Error> {
        loop {
            // Before the look: what comes after it is a change.
            let failed = {
                let news = self.news.borrow_and_update();
                let failed = news.failure.clone().filter(|_| news.failures != self.failures);
                self.failures = news.failures;
                failed
            };
            if let Some(heard) = self.now(engine, filter).await? {
                return Ok(heard);
            }
            if let Some(failed) = failed {
                return Err(Error::clone(&failed));
            }
            // The sender lives as long as the feed, which this one holds.
            _ = self.news.changed().await;
        }
    }

    /// The next events of those asked for, if there are any. Asks the store only when they are not kept any more.
    pub(crate) async fn now(&mut self, engine: &Engine, filter: &EventFilter) -> Result<Option<Heard>, Error> {
        loop {
            match self.feed.place(self.cursor) {
                Place::Ahead => return Ok(None),
                Place::Behind { upto } => {
                    let events = engine.events(&EventFilter { after: Some(self.cursor), ..filter.clone() }).await?;
                    let last = events.last().map_or(self.cursor, |event| event.seq);
                    self.cursor = if events.len() >= filter.limit { last } else { last.max(upto) };
                    if !events.is_empty() {
                        return Ok(Some(Heard::Read(events)));
                    }
                }
                Place::Inside { next, upto } => {
                    // The cursor says what is new.
                    let filter = EventFilter { after: None, ..filter.clone() };
                    let mut told = Vec::new();
                    let mut rest = next.into_iter();
                    for line in rest.by_ref() {
                        self.cursor = line.fresh.seq();
                        if engine.told(&line.fresh, &filter).is_some() {
                            told.push(line);
                        }
                        if told.len() >= filter.limit {
                            break;
                        }
                    }
                    if rest.len() == 0 {
                        self.cursor = upto;
                    }
                    if !told.is_empty() {
                        return Ok(Some(Heard::Kept(told)));
                    }
                }
            }
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let mut state = self.feed.state();
        state.followers -= 1;
        if state.followers == 0 {
            if let Some(reader) = state.reader.take() {
                reader.abort();
            }
            state.kept = Kept::default();
        }
    }
}

impl Heard {
    /// In the form of a stream.
    pub(crate) fn text(self) -> Bytes {
        match self {
            Self::Read(events) => Bytes::from(events.into_iter().map(written).collect::<String>()),
            Self::Kept(line) => match line.as_slice() {
                [only] => only.text.clone(),
                several => Bytes::from(several.iter().map(|line| &line.text[..]).collect::<Vec<_>>().concat()),
            },
        }
    }

    /// As they are, for the caller who was told them.
    pub(crate) fn events(self, engine: &Engine) -> Vec<Event> {
        match self {
            Self::Read(events) => events,
            Self::Kept(line) => {
                line.iter().filter_map(|line| engine.told(&line.fresh, &EventFilter::default()).cloned()).collect()
            }
        }
    }
}

/// An event in the form of a stream.
fn written(event: Event) -> String {
    let event = event_out(event);
    // An event is plain data with text keys: it can always be written.
    let data = serde_json::to_string(&event).unwrap_or_default();
    let mut text = String::with_capacity(data.len() + 64);
    // Writing to a string does not fail.
    _ = write!(text, "id: {}\nevent: {}\ndata: {data}\n\n", event.seq, event.verb.as_str());
    text
}
