//! The processes between a runner and the shell it runs: our own program, started again under another first argument.
//!
//! The outer one makes a namespace where it can and sweeps up behind; the inner one lives in it, confines itself, starts the
//! shell and sees to its end. Both are single threads that do what cannot be done safely between `fork` and `exec` of a
//! program with many. See `docs/adr/0015-how-processes-are-contained.md`.

mod confine;
mod herd;
mod inner;
mod mounts;
mod outer;

use std::ffi::OsString;
use std::process::ExitCode;

use crate::wire::{CONTAIN, SUPERVISE};

/// To be called first thing in `main`, before threads, files or logs: does a supervisor's work when the program was started as
/// one, and answers with the exit code; says nothing when it was started as anything else.
pub fn supervise() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    match words.next()?.to_str()? {
        SUPERVISE => Some(outer::run(&mut words)),
        CONTAIN => Some(inner::run(&mut words)),
        _ => None,
    }
}

fn text(word: Option<OsString>) -> String {
    word.and_then(|word| word.into_string().ok()).unwrap_or_default()
}
