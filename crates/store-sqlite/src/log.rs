//! Whether the log beside a database is its own.
//!
//! What a process committed last may stand in the log alone (its name ends in `-wal`), and SQLite puts whatever log it finds
//! there over the database, without asking whose it is. A database that was copied back without taking the old log away, or a
//! log of another one, makes of both together what neither ever was. So a log that nobody is using is compared with the
//! database first, before anything of it is put into it.
//!
//! Nothing is changed by that: a connection that would copy the log into the database when it is closed is told not to.
//!
//! Never is a log refused that may be the database's own, since what was acknowledged may stand in it alone. Events are only
//! added: whichever of its events a database shows without its log, with its own log it has the same one, and all that came after.
//! A database of whose log a part was copied, because a reader kept the rest from being copied or the machine went down in the
//! middle, is like nothing it ever was, and may show anything at all for its newest event; so only what can be nothing
//! else than an event counts.

use std::path::Path;

use docket_core::store::StoreError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _, Row};

use crate::pool::{Connector, immutable};

/// Pages of a database that is looked through as a whole.
const LOOKED_THROUGH: u32 = 4096;

/// Refuses a database with a log that is not its own. One that other processes are using has been looked at by them.
pub(crate) fn check(connector: &Connector) -> Result<(), StoreError> {
    let path = &connector.options.path;
    let size = std::fs::metadata(path).map_or(0, |file| file.len());
    if size == 0 || !connector.has_log() {
        return Ok(());
    }
    // Somebody may be using it, or it cannot be looked at so: whoever opens it next is told why.
    if !matches!(goes_together(path), Ok(false)) {
        return Ok(());
    }
    Err(StoreError::Unfit(
        "the log beside the database (its name ends in -wal) is not its own: it was left by another database, or by \
         another state of this one; nothing was changed. Put the database back that the log belongs to, or move the log away \
         to go on with what the database holds by itself; keep a copy of both first"
            .to_owned(),
    ))
}

fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Whether a database goes together with the log beside it.
fn goes_together(path: &Path) -> Result<bool, rusqlite::Error> {
    let through =
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    through.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    through.busy_timeout(std::time::Duration::ZERO)?;
    // Nobody else reads or writes either of the two from here on, unless they cannot be read at all.
    let locked = through.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
    if let Err(error) = &locked
        && !is_damage(error)
    {
        return locked.map(|()| true);
    }
    let mode = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let alone = Connection::open_with_flags(immutable(path), mode)?;
    // Where it has no events yet, or shows none that is one, everything may be in the log.
    let Ok(Some((number, id))) = newest(&alone) else { return Ok(true) };
    match locked.and_then(|()| follows(&through, number, &id)) {
        Ok(true) if is_sound(&through)? => Ok(true),
        // What is damaged by itself is not so by its log.
        Ok(true) => Ok(!is_sound(&alone)?),
        Ok(false) => Ok(false),
        Err(error) if is_damage(&error) => Ok(!is_sound(&alone)?),
        Err(error) => Err(error),
    }
}

/// The newest event, its number and its id, if there is one and it can be nothing else: an id begins with the time of its event.
fn newest(connection: &Connection) -> Result<Option<(i64, Vec<u8>)>, rusqlite::Error> {
    let newest = "SELECT seq, id, at FROM events ORDER BY seq DESC LIMIT 1";
    let row = |row: &Row<'_>| Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?, row.get::<_, i64>(2)?));
    let found = connection.query_row(newest, [], row).optional()?;
    let time = |id: &[u8]| id.iter().take(6).fold(0, |time, byte| time << 8 | i64::from(*byte));
    Ok(found.filter(|(_, id, at)| id.len() == 16 && time(id) == *at).map(|(number, id, _)| (number, id)))
}

/// Whether the events with the log are those without it, and others that follow on them without a gap.
fn follows(through: &Connection, number: i64, id: &[u8]) -> Result<bool, rusqlite::Error> {
    let count = "SELECT (SELECT id FROM events WHERE seq = ?1) IS ?2, count(*), coalesce(max(seq), ?1) FROM events WHERE seq > ?1";
    through.query_row(count, (number, id), |row| {
        let (same, more, last): (bool, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(same && last - number == more)
    })
}

/// Whether the pages fit together; a database that is too large to be looked through at every start is taken to be.
fn is_sound(database: &Connection) -> Result<bool, rusqlite::Error> {
    let pages: u32 = database.query_row("SELECT page_count FROM pragma_page_count", [], |row| row.get(0))?;
    if pages > LOOKED_THROUGH {
        return Ok(true);
    }
    let found = database.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    match found {
        Ok(found) => Ok(found == "ok"),
        Err(error) if is_damage(&error) => Ok(false),
        Err(error) => Err(error),
    }
}
