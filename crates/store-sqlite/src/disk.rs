//! The disk that a database lies on: whether there is room left, and whether it still keeps what is written.
//!
//! Room is kept in reserve, so that what is under way when a disk fills up (a copy of the log into the database, a backup,
//! the log of an operator who looks at it) still fits. A flush that fails is final: the system may have thrown away what
//! it could not write, and a second flush would say that all is well.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use docket_core::store::StoreError;
use rustix::fs::{Access, AtFlags, CWD, Timespec, Timestamps, UTIME_OMIT, access, utimensat};
use rustix::io::Errno;
use tokio::sync::watch;

use crate::error::{Failure, failed};

/// What is known of the disk.
#[derive(Debug)]
pub(crate) struct Disk {
    database: PathBuf,
    reserve: u64,
    lost: watch::Sender<bool>,
}

impl Disk {
    pub(crate) fn new(database: PathBuf, reserve: u64) -> Self {
        Self { database, reserve, lost: watch::Sender::new(false) }
    }

    /// Whether something may be written now.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        if *self.lost.borrow() {
            return Err(failed("the disk did not keep what was written: nothing more is written by this process"));
        }
        // Where nobody can say how much room there is, SQLite will tell.
        let Ok(about) = rustix::fs::statvfs(&self.database) else { return Ok(()) };
        let free = about.f_bavail.saturating_mul(about.f_frsize);
        if free < self.reserve {
            let what = format!("{free} bytes are free on the disk, and {} are kept in reserve", self.reserve);
            return Err(StoreError::Full(Some(Box::new(Failure(what)))));
        }
        Ok(())
    }

    /// Whether something could be written now: for those who watch over this program.
    pub(crate) fn ready(&self) -> Result<(), StoreError> {
        self.check()?;
        if self.takes_no_writes() { Err(StoreError::ReadOnly(None)) } else { Ok(()) }
    }

    /// What a failure to write means here: a file system that was found broken may be read-only from one moment to the next, and
    /// SQLite then speaks of a write that failed like any other.
    pub(crate) fn meaning(&self, error: StoreError) -> StoreError {
        match error {
            StoreError::Failed(detail) if self.takes_no_writes() => StoreError::ReadOnly(Some(detail)),
            other => other,
        }
    }

    /// Whether the file system, or whoever owns the file, lets nothing be written.
    fn takes_no_writes(&self) -> bool {
        if matches!(access(&self.database, Access::WRITE_OK), Err(Errno::ROFS | Errno::ACCESS)) {
            return true;
        }
        // Of one that was found broken while it was in use only a write tells; this one changes nothing. No file is opened for
        // it: to close that would let go of SQLite's locks on the same file.
        let Ok(about) = std::fs::metadata(&self.database) else { return false };
        let omitted = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
        let unchanged = Timespec { tv_sec: about.mtime(), tv_nsec: about.mtime_nsec() };
        let times = Timestamps { last_access: omitted, last_modification: unchanged };
        matches!(utimensat(CWD, &self.database, &times, AtFlags::empty()), Err(Errno::ROFS))
    }

    /// Notes that a flush failed.
    pub(crate) fn lose(&self) {
        tracing::error!("the disk did not keep what was written: this process writes nothing more");
        self.lost.send_replace(true);
    }

    /// Returns when the disk has failed to keep something.
    pub(crate) async fn lost(&self) {
        // The sender lives as long as this value does.
        let _ = self.lost.subscribe().wait_for(|lost| *lost).await;
    }
}

/// File systems on which several machines may have one file, by the number that the kernel gives them. Locks are not kept there
/// as SQLite needs them, and its log is shared by memory, which two machines have not in common.
const SHARED: [(u64, &str); 12] = [
    (0x6969, "NFS"),
    (0xff53_4d42, "CIFS"),
    (0x517b, "SMB"),
    (0xfe53_4d42, "SMB2"),
    (0x0102_1997, "9P"),
    (0x00c3_6400, "Ceph"),
    (0x5346_414f, "AFS"),
    (0x6b41_4653, "AFS"),
    (0x0bd0_0bd0, "Lustre"),
    (0x0116_1970, "GFS2"),
    (0x7461_636f, "OCFS2"),
    (0x4750_4653, "GPFS"),
];

/// The network file system that a database lies on, or would, if it does.
pub fn network(database: &Path) -> Option<&'static str> {
    let folder = database.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    #[cfg(feature = "plant")]
    if let Some(kind) = crate::plant::file_system() {
        return named(kind);
    }
    let about = rustix::fs::statfs(database).or_else(|_| rustix::fs::statfs(folder)).ok()?;
    // The number has 32 bits, and some platforms make a negative one of it.
    named(u64::try_from(i128::from(about.f_type) & 0xffff_ffff).ok()?)
}

fn named(kind: u64) -> Option<&'static str> {
    SHARED.iter().find(|(known, _)| *known == kind).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_that_machines_share_are_told_from_others() {
        assert_eq!((named(0x6969), named(0xff53_4d42)), (Some("NFS"), Some("CIFS")));
        // ext4, xfs, btrfs, tmpfs, overlayfs
        for local in [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630] {
            assert_eq!(named(local), None, "{local:x}");
        }
        assert_eq!(network(&std::env::temp_dir().join("none.db")), None);
    }
}
