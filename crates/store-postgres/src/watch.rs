//! Waiting for events, whichever process commits them.
//!
//! One of the waiters looks for all of them: it reads how far events go when this process has committed something, when
//! another process says so (`NOTIFY`, heard on one connection of its own), and rarely besides, for a message that was
//! lost with its connection. When nobody waits, nobody looks. Numbers are compared, not messages counted, so a waiter
//! misses nothing.
//!
//! A message is sent after the commit, not by it: Postgres lets only one transaction at a time commit a `NOTIFY`, and would
//! let all others wait for its flush of the disk. That keys were changed is told by the commit itself: it is seldom, and
//! nobody may go on with a key that was taken away because a process ended before it could say so.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::time::Duration;

use docket_core::store::StoreError;
use sqlx::postgres::{PgListener, PgNotification, PgPoolOptions};
use sqlx::{AssertSqlSafe, Executor, Row};
use tokio::sync::{Mutex, Notify, watch};
use tokio::task::JoinHandle;

use crate::error::failed;
use crate::options::{
    BACKOFF, BACKOFF_MOST, CONNECT_WAIT, DEAF_LOOK, LIFE_SIGN_WAIT, SAFETY_LOOK, SILENCE, TELL_PAUSE, UNSETTLED_LOOK,
    UNSETTLED_MOST,
};
use crate::pool::{Connector, Pool, in_time};
use crate::read::{self, Head};
use crate::script::Script;

/// The channel on which processes tell each other that something was committed.
pub(crate) const CHANNEL: &str = "docket";
/// What the commit itself says when keys were among what was committed.
pub(crate) const KEYS_CHANGED: &str = "some keys";
/// What such a message ends with, whoever sends it.
const KEYS: &str = " keys";
/// How long a last message may take.
const FAREWELL: Duration = Duration::from_secs(1);

/// What is known of the newest event.
#[derive(Debug)]
pub(crate) struct Watch {
    connector: Arc<Connector>,
    /// The connections that readers share.
    pool: Arc<Pool>,
    /// Names this process in its messages.
    own: String,
    head: watch::Sender<u64>,
    /// Held by the waiter that looks for all.
    lookout: Mutex<()>,
    /// Wakes that waiter: something was committed, here or elsewhere.
    wake: Notify,
    /// Wakes the task that tells other processes.
    tell: Notify,
    /// How many commits there were, and how many of them others were told of.
    commits: AtomicU64,
    told: AtomicU64,
    /// How often keys were changed as far as is known.
    keys: AtomicU64,
    listens: AtomicBool,
    /// Whether messages of other processes are heard at present.
    hears: AtomicBool,
    tasks: StdMutex<Vec<JoinHandle<()>>>,
}

impl Watch {
    /// Begins to tell other processes what this one commits.
    pub(crate) fn start(connector: Arc<Connector>, pool: Arc<Pool>) -> Arc<Self> {
        let watch = Arc::new(Self {
            connector,
            pool,
            own: uuid::Uuid::now_v7().simple().to_string(),
            head: watch::Sender::new(0),
            lookout: Mutex::new(()),
            wake: Notify::new(),
            tell: Notify::new(),
            commits: AtomicU64::new(0),
            told: AtomicU64::new(0),
            keys: AtomicU64::new(0),
            listens: AtomicBool::new(false),
            hears: AtomicBool::new(false),
            tasks: StdMutex::new(Vec::new()),
        });
        let teller = Arc::clone(&watch);
        watch.keep(tokio::spawn(async move { teller.keep_telling().await }));
        watch
    }

    /// A number that is another one once keys may have changed; none while other processes are not heard.
    pub(crate) fn keys_mark(self: &Arc<Self>) -> Option<u64> {
        self.listen();
        // In this order: whoever was deaf in between has counted since.
        let heard = self.hears.load(Ordering::Acquire);
        heard.then(|| self.keys.load(Ordering::Acquire))
    }

    /// Says that this process has committed something, and whether keys were among it.
    pub(crate) fn committed(&self, keys: bool) {
        if keys {
            self.keys.fetch_add(1, Ordering::Release);
        }
        self.commits.fetch_add(1, Ordering::Release);
        self.wake.notify_one();
        self.tell.notify_one();
    }

    /// Tells others what they were not told yet, and ends what runs in the background: a process that lives for one
    /// commit would otherwise be gone before its message is.
    pub(crate) async fn finish(&self) {
        self.stop();
        if self.told.load(Ordering::Acquire) >= self.commits.load(Ordering::Acquire) {
            return;
        }
        // Nobody waits long for a server that is gone; others look by themselves before long.
        match tokio::time::timeout(FAREWELL, self.say()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::debug!(error = &error as &dyn std::error::Error, "other processes were not told of a commit");
            }
            Err(_) => tracing::debug!("other processes were not told of a commit in time"),
        }
    }

    /// Ends what runs in the background.
    pub(crate) fn stop(&self) {
        for task in self.tasks.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            task.abort();
        }
    }

    /// Reads how far events go and tells waiters.
    pub(crate) async fn look(&self) -> Result<Head, StoreError> {
        let mut lease = self.pool.lease().await?.ok_or(StoreError::Overloaded)?;
        let seen = read::head(&mut lease).await?.gap_free()?;
        self.head.send_if_modified(|known| {
            let newer = seen.number > *known;
            *known = seen.number.max(*known);
            newer
        });
        Ok(seen)
    }

    /// Returns when there is an event newer than `after`.
    pub(crate) async fn changed(self: &Arc<Self>, after: u64) -> Result<u64, StoreError> {
        self.listen();
        let mut head = self.head.subscribe();
        loop {
            let known = *head.borrow_and_update();
            if known > after {
                return Ok(known);
            }
            tokio::select! {
                // The sender lives as long as this store does.
                _ = head.changed() => {}
                found = self.keep_looking(after) => found?,
            }
        }
    }

    /// Looks once nobody else does, until there is an event that counts. When the waiter that looks goes away, the next
    /// one takes over.
    async fn keep_looking(&self, after: u64) -> Result<(), StoreError> {
        let _lookout = self.lookout.lock().await;
        let mut again = UNSETTLED_LOOK;
        loop {
            let seen = self.look().await?;
            if seen.number > after {
                return Ok(());
            }
            // A transaction that took a number may end without a commit, and then nobody says so.
            let seldom = if self.hears.load(Ordering::Acquire) { SAFETY_LOOK } else { DEAF_LOOK };
            let wait = if seen.settled { seldom } else { again };
            again = if seen.settled { UNSETTLED_LOOK } else { (again * 2).min(UNSETTLED_MOST) };
            // Whichever comes first; a message that came since the last look is remembered.
            let _ = tokio::time::timeout(wait, self.wake.notified()).await;
        }
    }

    /// Begins to listen when the first waiter comes.
    fn listen(self: &Arc<Self>) {
        if !self.listens.swap(true, Ordering::Relaxed) {
            let watch = Arc::clone(self);
            self.keep(tokio::spawn(async move { watch.keep_listening().await }));
        }
    }

    async fn keep_listening(&self) {
        let mut wait = BACKOFF;
        loop {
            let heard = self.hear().await;
            if self.hears.swap(false, Ordering::AcqRel) {
                // Whoever rests for long because everything was heard rests no longer.
                self.wake.notify_one();
            }
            match heard {
                Ok(()) => wait = BACKOFF,
                Err(error) => {
                    tracing::debug!(
                        error = &error as &dyn std::error::Error,
                        "messages of other processes are not heard"
                    );
                    wait = (wait * 2).min(BACKOFF_MOST);
                }
            }
            tokio::time::sleep(wait).await;
        }
    }

    /// Listens until the connection is lost, or falls silent.
    async fn hear(&self) -> Result<(), sqlx::Error> {
        let mut listener = in_time(Some(CONNECT_WAIT), self.listener()).await?;
        // A pooler may let us listen and deliver nothing: only a message shows that messages come through.
        self.tell.notify_one();
        // What was committed while nobody listened was told to nobody.
        self.wake.notify_one();
        self.keys.fetch_add(1, Ordering::Release);
        while let Some(message) = next_message(&mut listener).await? {
            if message.payload().ends_with(KEYS) {
                self.keys.fetch_add(1, Ordering::Release);
            }
            if message.payload() != self.own {
                self.wake.notify_one();
            }
            self.hears.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// A connection that listens, of its own.
    async fn listener(&self) -> Result<PgListener, sqlx::Error> {
        let server = self.connector.options.listen.clone();
        let pool = PgPoolOptions::new().max_connections(1).max_lifetime(None).idle_timeout(None);
        let mut listener = PgListener::connect_with(&pool.connect_lazy_with(server)).await?;
        listener.ignore_pool_close_event(true);
        listener.eager_reconnect(false);
        listener.listen(CHANNEL).await?;
        Ok(listener)
    }

    /// Tells other processes of commits; those that come while a message is on its way share the next.
    async fn keep_telling(&self) {
        loop {
            self.tell.notified().await;
            if let Err(error) = self.say().await {
                // They will look by themselves before long.
                tracing::debug!(error = &error as &dyn std::error::Error, "other processes were not told of a commit");
            }
            tokio::time::sleep(TELL_PAUSE).await;
        }
    }

    async fn say(&self) -> Result<(), StoreError> {
        let mut lease = self.pool.lease().await?.ok_or_else(|| failed("all connections are busy"))?;
        let mut script = Script::default();
        let (channel, own) = (script.text(CHANNEL), script.text(self.own.as_str()));
        // A message is worth nothing after a crash: nobody waits for its flush.
        script.set(format!(
            "SELECT left(set_config('synchronous_commit', 'off', true), 0) || coalesce(pg_notify({channel}, {own})::text, '') \
             || 'true'"
        ));
        // What is committed while this is under way is told by the next.
        let commits = self.commits.load(Ordering::Acquire);
        let _: bool = lease.ask_writing(script).await?;
        self.told.fetch_max(commits, Ordering::Release);
        Ok(())
    }

    fn keep(&self, task: JoinHandle<()>) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).push(task);
    }
}

/// The next message; none when the connection is lost. One on which nothing came for a while is asked whether it still is what
/// it was: a machine that lost its power closes no connection, and says nothing of keys that were taken away.
async fn next_message(listener: &mut PgListener) -> Result<Option<PgNotification>, sqlx::Error> {
    loop {
        // A message that was half there stays so until the next call.
        match tokio::time::timeout(SILENCE, listener.try_recv()).await {
            Ok(message) => return message,
            Err(_) => in_time(Some(LIFE_SIGN_WAIT), still_listens(listener)).await?,
        }
    }
}

/// Fails where the connection does not live, or whoever answers on it does not listen.
async fn still_listens(listener: &mut PgListener) -> Result<(), sqlx::Error> {
    let question = format!("SELECT (count(*) > 0)::text FROM pg_listening_channels() c WHERE c = '{CHANNEL}'");
    let row = listener.fetch_one(sqlx::raw_sql(AssertSqlSafe(question))).await?;
    let listens: &str = row.try_get_unchecked(0)?;
    if listens == "true" { Ok(()) } else { Err(sqlx::Error::Protocol("the connection listens no more".to_owned())) }
}
