//! Whether a rollback journal beside a database may be its own.
//!
//! A database with a write-ahead log is never written by way of a rollback journal (its name ends in `-journal`), but for one
//! moment of its life: while it is switched to the log, or back from it. SQLite all the same rolls back whatever journal it finds
//! beside a database that nobody is using, without asking whose it is: one that was left by another database, or was put there by
//! somebody who can write the folder, overwrites pages and cuts off others. So a journal beside a database that has its log is
//! looked at first, and is let pass only if it takes back that switch and nothing else, as a machine that went down in the
//! middle of it leaves it.
//!
//! Nothing is changed by that. A database without a write-ahead log, such as a backup, is another matter: whoever wrote it last
//! may have left a journal that it needs.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;

use docket_core::store::StoreError;

use crate::original::open_for_good;
use crate::pool::Connector;

/// What a journal begins with once what it holds is on the disk. Before that nothing was written to the database, and SQLite
/// takes no notice of it either.
const MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
/// What a database begins with.
const DATABASE: &[u8] = b"SQLite format 3\0";
/// In the header of a database: how its pages are written and read, 2 by way of a log.
const VERSIONS: Range<usize> = 18..20;
/// What else the switch changes on its first page: the number of its changes, twice, and who made the last one.
const CHANGES: [Range<usize>; 3] = [VERSIONS, 24..28, 92..100];
/// The number of records of a journal that does not say it.
const UNCOUNTED: u32 = u32::MAX;
/// How often to look again where the journal was not there any more, when it had been looked at.
const LOOKS: usize = 3;

/// Refuses a database that has its log with a journal that cannot be its own.
pub(crate) fn check(connector: &Connector) -> Result<(), StoreError> {
    let path = connector.beside("-journal");
    for _ in 0..LOOKS {
        // Where it cannot be read, SQLite cannot read it either, and says so.
        let Ok(Some(journal)) = Journal::read(&path) else { return Ok(()) };
        let is_own = is_without_log(&connector.options.path) || journal.is_of_switch(connector);
        // Whoever makes the switch at this moment takes it away when that is done, and goes on.
        if is_own {
            return Ok(());
        }
        if std::fs::metadata(&path).is_ok_and(|now| now.ino() == journal.inode) {
            return Err(StoreError::Unfit(
                "the rollback journal beside the database (its name ends in -journal) is not Docket's: it was left by another \
                 database, by a restore with another program that was broken off, or somebody put it there; nothing was changed. Keep \
                 a copy of both, then move the journal away to go on; where a restore was broken off, open the database with sqlite3 \
                 once instead, which takes back what was half done"
                    .to_owned(),
            ));
        }
    }
    Ok(())
}

/// The header of a journal, and what it would put back first.
#[derive(Debug)]
struct Journal {
    file: File,
    inode: u64,
    bytes: u64,
    records: u32,
    /// How many pages the database had.
    pages: u32,
    sector: u32,
    page: u32,
}

impl Journal {
    /// The journal, where there is one that SQLite would roll back.
    fn read(path: &Path) -> io::Result<Option<Self>> {
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let about = file.metadata()?;
        let Some(header) = bytes_at::<28>(&file, 0)?.filter(|header| header.starts_with(&MAGIC)) else {
            return Ok(None);
        };
        let number = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (records, pages, sector, page) = (number(8), number(16), number(20), number(24));
        Ok(Some(Self { file, inode: about.ino(), bytes: about.len(), records, pages, sector, page }))
    }

    /// Whether it takes back the switch to the log, or from it, and nothing else: of a database that was just made all, of any
    /// other the first page.
    fn is_of_switch(&self, connector: &Connector) -> bool {
        // What is in a log was written after the switch.
        if connector.has_log() || !self.sector.is_power_of_two() {
            return false;
        }
        self.compare(&connector.options.path).ok().flatten().unwrap_or(false)
    }

    fn compare(&self, database: &Path) -> io::Result<Option<bool>> {
        let Some(file) = open_for_good(database) else { return Ok(None) };
        let Some(header) = bytes_at::<18>(&file, 0)? else { return Ok(None) };
        let page = match u16::from_be_bytes([header[16], header[17]]) {
            1 => 65_536,
            page => u32::from(page),
        };
        if self.page != page {
            return Ok(Some(false));
        }
        let (size, page) = (file.metadata()?.len(), u64::from(page));
        let record = page + 8;
        let records = match self.records {
            UNCOUNTED => (self.bytes.saturating_sub(self.sector.into())) / record,
            counted => counted.into(),
        };
        let end = (u64::from(self.sector) + records * record).next_multiple_of(self.sector.into());
        // More may follow on what the first header counts.
        if bytes_at::<8>(&self.file, end)?.is_some_and(|next| next == MAGIC) {
            return Ok(Some(false));
        }
        let all_stay = u64::from(self.pages) * page == size;
        Ok(Some(match records {
            0 => all_stay || (self.pages == 0 && size <= page),
            1 => all_stay && self.puts_back(&file, page)?,
            _ => false,
        }))
    }

    /// Whether the one page that it puts back is the first, and differs from what it is now by the switch alone.
    fn puts_back(&self, database: &File, page: u64) -> io::Result<bool> {
        let begins = u64::from(self.sector);
        let number = bytes_at::<4>(&self.file, begins)?;
        if number.map(u32::from_be_bytes) != Some(1) {
            return Ok(false);
        }
        let length = usize::try_from(page).unwrap_or(0);
        let (mut then, mut now) = (vec![0; length], vec![0; length]);
        self.file.read_exact_at(&mut then, begins + 4)?;
        database.read_exact_at(&mut now, 0)?;
        for changed in CHANGES {
            then[changed.clone()].copy_from_slice(&now[changed]);
        }
        Ok(then == now)
    }
}

/// Whether a database is one that is not written by way of a log, or none at all.
fn is_without_log(database: &Path) -> bool {
    let Some(file) = open_for_good(database) else { return true };
    match bytes_at::<20>(&file, 0) {
        Ok(Some(header)) => !header.starts_with(DATABASE) || header[VERSIONS] == [1, 1],
        // Nothing to be rolled back; or SQLite will say why it cannot be read.
        Ok(None) | Err(_) => true,
    }
}

/// So many bytes of a file, where it has them.
fn bytes_at<const LENGTH: usize>(file: &File, at: u64) -> io::Result<Option<[u8; LENGTH]>> {
    let mut bytes = [0; LENGTH];
    match file.read_exact_at(&mut bytes, at) {
        Ok(()) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}
