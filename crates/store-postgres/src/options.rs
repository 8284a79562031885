//! How a database is reached, and the limits of this store.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use docket_core::store::StoreError;
use sqlx::ConnectOptions;
use sqlx::postgres::PgConnectOptions;

/// Most units of work that wait for a connection; one more is turned away at once.
pub(crate) const QUEUED_UNITS: usize = 256;
/// How long a unit of work waits for a connection while others are at work and none is given back, when nobody says otherwise: with a
/// server's patience for a turn it is turned away within a quarter of a second.
const UNIT_WAIT: Duration = Duration::from_millis(150);
/// How long those before it in line may take together, as quickly as they go of late; whoever would wait longer is turned away.
pub(crate) const LINE_WAIT: Duration = Duration::from_secs(5);
/// How long a read waits for a free connection before it is turned away.
pub(crate) const READER_WAIT: Duration = Duration::from_millis(250);
/// How long a new connection may take.
pub(crate) const CONNECT_WAIT: Duration = Duration::from_secs(10);
/// A connection that was idle for longer is asked whether it lives before it is used.
pub(crate) const IDLE_TRUSTED: Duration = Duration::from_secs(5);
/// How long it may take to say so.
pub(crate) const LIFE_SIGN_WAIT: Duration = Duration::from_secs(2);
/// How often commits are looked for that nobody told us of, while somebody waits for one: a process may end between its
/// commit and its message.
pub(crate) const SAFETY_LOOK: Duration = Duration::from_secs(30);
/// The same while no messages are heard.
pub(crate) const DEAF_LOOK: Duration = Duration::from_secs(5);
/// How long nothing may be heard before the connection that listens is asked whether it lives.
pub(crate) const SILENCE: Duration = Duration::from_secs(10);
/// How long to wait between two messages to other processes: commits that come meanwhile share one.
pub(crate) const TELL_PAUSE: Duration = Duration::from_millis(5);
/// How long to wait before looking again at numbers that are taken and not yet committed.
pub(crate) const UNSETTLED_LOOK: Duration = Duration::from_millis(2);
/// The same at the most, when they stay so.
pub(crate) const UNSETTLED_MOST: Duration = Duration::from_millis(200);
/// How long a list of events waits for transactions that took a number before what it would show.
pub(crate) const SETTLE_WAIT: Duration = Duration::from_millis(100);
/// How long to wait before trying again to reach a server that is away; doubled up to [`BACKOFF_MOST`].
pub(crate) const BACKOFF: Duration = Duration::from_millis(50);
/// The longest such wait.
pub(crate) const BACKOFF_MOST: Duration = Duration::from_secs(5);
/// Rows of one page of a scan.
pub(crate) const SCAN_ROWS: usize = 1000;
/// Most keys that a list of them holds, the newest first.
pub(crate) const KEYS_SHOWN: usize = 10_000;
/// Expired answers removed with each answer stored: more than one, so that they run out.
pub(crate) const ANSWERS_SWEPT: usize = 8;
/// Prepared statements kept on a connection. A text is fixed by the shape of a scope or change set; these are few dozens.
pub(crate) const PREPARED_STATEMENTS: usize = 256;
/// The oldest server that is known to have everything that is used here, as it numbers itself.
pub(crate) const OLDEST_SERVER: i64 = 130_000;

/// What may follow the address of a database beside what Postgres knows: `?docket_pooled=true`.
const POOLED: &str = "docket_pooled";
/// How many units of work may run at the same time: `?docket_connections=16`.
const CONNECTIONS: &str = "docket_connections";
/// Where to listen for messages, past a pooler: `?docket_listen=HOST:PORT`, or the folder of a socket instead of a host.
const LISTEN: &str = "docket_listen";

/// How a database is reached.
#[derive(Clone)]
pub struct PostgresOptions {
    pub(crate) server: PgConnectOptions,
    /// Where messages of other processes are heard: the server itself, where a pooler stands before it.
    pub(crate) listen: PgConnectOptions,
    /// Whether to make the tables when there are none.
    pub create: bool,
    /// Whether to read alone.
    pub read_only: bool,
    /// Whether a pooler that hands connections out by transaction stands before the server: then nothing is kept prepared
    /// on a connection, and every read is a transaction.
    pub pooled: bool,
    /// Most units of work that run at the same time, on a connection each.
    pub connections: usize,
    /// Most connections that read at the same time.
    pub readers: usize,
    /// How long the server may take to answer a statement before it counts as away: a machine that lost its power closes no
    /// connection.
    pub answer_timeout: Duration,
    /// How long a unit of work waits for a connection before it is turned away, while others are at work and none is given back.
    pub unit_wait: Duration,
    /// How long another transaction may hold what is wanted before the store counts as busy.
    pub lock_timeout: Duration,
    /// Milliseconds added to the database's clock: a hook by which tests turn the time.
    pub clock_skew: Arc<AtomicI64>,
}

impl PostgresOptions {
    /// The usual options for an address, `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full` and the like.
    /// What it leaves out comes from the variables that Postgres' own programs read (`PGHOST`, `PGPASSWORD` and so on).
    pub fn parse(url: &str) -> Result<Self, StoreError> {
        let (ours, theirs) = split(url);
        let unfit = |problem: String| StoreError::Unfit(problem);
        let server = PgConnectOptions::from_str(&theirs).map_err(|_| {
            unfit("this is no address of a Postgres database: write postgres://USER@HOST:PORT/DATABASE".to_owned())
        })?;
        let server = server.application_name("docket").extra_float_digits(None).disable_statement_logging();
        let mut options = Self {
            listen: server.clone(),
            server,
            create: false,
            read_only: false,
            pooled: false,
            connections: 16,
            readers: 8,
            answer_timeout: Duration::from_secs(30),
            unit_wait: UNIT_WAIT,
            lock_timeout: Duration::from_secs(10),
            clock_skew: Arc::new(AtomicI64::new(0)),
        };
        for (key, value) in ours {
            let bad = |wanted: &str| unfit(format!("{key} in the address of the database must be {wanted}"));
            match key {
                POOLED => options.pooled = value.parse().map_err(|_| bad("true or false"))?,
                CONNECTIONS => {
                    let count: Option<usize> = value.parse().ok();
                    let count = count.filter(|count| (1..=1000).contains(count));
                    options.connections = count.ok_or_else(|| bad("a number from 1 to 1000"))?;
                }
                LISTEN => {
                    let place = value.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
                    let (host, port): (&str, u16) = place.ok_or_else(|| bad("HOST:PORT"))?;
                    options.listen = if host.starts_with('/') {
                        options.listen.socket(host).port(port)
                    } else if options.listen.get_socket().is_some() {
                        // The folder would go before the name.
                        return Err(bad("FOLDER:PORT, as the address itself names a folder"));
                    } else {
                        options.listen.host(host).port(port)
                    };
                }
                _ => return Err(unfit(format!("{key} means nothing in the address of a database"))),
            }
        }
        Ok(options)
    }

    /// Makes the tables when there are none.
    #[must_use]
    pub fn create(self, create: bool) -> Self {
        Self { create, ..self }
    }

    /// Reads alone.
    #[must_use]
    pub fn read_only(self, read_only: bool) -> Self {
        Self { read_only, ..self }
    }

    /// Where the database is, without a password: for messages.
    pub fn place(&self) -> String {
        let host = match self.server.get_socket() {
            Some(socket) => socket.display().to_string(),
            None => self.server.get_host().to_owned(),
        };
        let database = self.server.get_database().unwrap_or_else(|| self.server.get_username());
        format!("postgres://{host}:{}/{database}", self.server.get_port())
    }
}

/// Without the password.
impl fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresOptions").field("place", &self.place()).finish_non_exhaustive()
    }
}

/// What of an address is ours to read, and the rest.
fn split(url: &str) -> (Vec<(&str, &str)>, String) {
    let Some((place, query)) = url.split_once('?') else { return (Vec::new(), url.to_owned()) };
    let (ours, theirs): (Vec<&str>, Vec<&str>) = query.split('&').partition(|pair| pair.starts_with("docket_"));
    let ours = ours.into_iter().map(|pair| pair.split_once('=').unwrap_or((pair, ""))).collect();
    let rest = if theirs.is_empty() { place.to_owned() } else { format!("{place}?{}", theirs.join("&")) };
    (ours, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_what_is_ours_and_what_is_not() {
        let options = PostgresOptions::parse(
            "postgres://ann:secret@db.example:6432/work?sslmode=require&docket_pooled=true&docket_connections=4&docket_listen=direct:5432",
        );
        let options = options.expect("an address");
        assert!(options.pooled);
        assert_eq!(options.connections, 4);
        assert_eq!(options.place(), "postgres://db.example:6432/work");
        assert_eq!((options.listen.get_host(), options.listen.get_port()), ("direct", 5432));
        assert!(!format!("{options:?}").contains("secret"));
        for bad in [
            "postgres://h/d?docket_pooled=maybe",
            "postgres://h/d?docket_connections=0",
            "postgres://h/d?docket_color=red",
            "postgres://h/d?docket_listen=nowhere",
            "postgres://h:port/d",
        ] {
            assert!(matches!(PostgresOptions::parse(bad), Err(StoreError::Unfit(_))), "{bad}");
        }
    }
}
