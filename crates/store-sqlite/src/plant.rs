//! Ways to die, to turn the clock and to be wrong, for tests of promises. Compiled in by the feature `plant` alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// How often the clock's file is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The number of the write statement before which this process is to die, counted from 0.
pub(crate) fn dies_at() -> Option<usize> {
    std::env::var("DOCKET_DIE_AT").ok().and_then(|number| number.parse().ok())
}

/// Adds the milliseconds that a file holds to the clock, for as long as the process lives.
pub(crate) fn follow_clock_file(skew: Arc<AtomicI64>) {
    let Some(file) = std::env::var_os("DOCKET_CLOCK_FILE") else { return };
    std::thread::spawn(move || {
        loop {
            if let Some(millis) = std::fs::read_to_string(&file).ok().and_then(|text| text.trim().parse().ok()) {
                skew.store(millis, Ordering::Relaxed);
            }
            std::thread::sleep(LOOK_EVERY);
        }
    });
}

/// The number of the file system that a database is to be taken to lie on.
pub(crate) fn file_system() -> Option<u64> {
    std::env::var("DOCKET_FILE_SYSTEM").ok().and_then(|number| u64::from_str_radix(&number, 16).ok())
}
