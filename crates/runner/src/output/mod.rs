//! What a command says, on its way from raw bytes to a log: decoded, cleaned, redacted, told to whoever looks on, and kept
//! up to a limit. Memory is bounded whatever comes.

mod assignment;
mod capped;
mod clean;
mod redact;

pub use capped::Log;
pub(crate) use redact::Secrets;

use std::sync::Arc;

use tokio::sync::mpsc;

use capped::Capped;
use clean::Cleaner;
use redact::Redactor;

/// A piece of output for somebody who looks on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Whole lines, mostly: cleaned and redacted.
    pub text: String,
    /// How many bytes were left out before it, because nobody took them in time.
    pub missed: u64,
}

/// Whoever looks on while a command runs. One who is too slow misses something and is told so; the command never waits.
#[derive(Debug)]
pub struct Live {
    sender: mpsc::Sender<Chunk>,
    missed: u64,
}

impl Live {
    /// A sender for a run, and the receiver for whoever looks on. So many pieces may wait to be taken.
    pub fn new(capacity: usize) -> (Self, mpsc::Receiver<Chunk>) {
        let (sender, receiver) = mpsc::channel(capacity.max(1));
        (Self { sender, missed: 0 }, receiver)
    }

    fn tell(&mut self, text: &str) {
        let chunk = Chunk { text: text.to_owned(), missed: self.missed };
        match self.sender.try_send(chunk) {
            Ok(()) => self.missed = 0,
            Err(_) => self.missed += text.len() as u64,
        }
    }
}

/// The whole way.
pub(crate) struct Recorder {
    cleaner: Cleaner,
    redactor: Redactor,
    capped: Capped,
    live: Option<Live>,
    bytes: u64,
}

impl Recorder {
    pub(crate) fn new(secrets: Arc<Secrets>, limit: usize, live: Option<Live>) -> Self {
        Self {
            cleaner: Cleaner::default(),
            redactor: Redactor::new(secrets),
            capped: Capped::new(limit),
            live,
            bytes: 0,
        }
    }

    /// Takes what came.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let mut clean = String::with_capacity(bytes.len());
        self.cleaner.push(bytes, &mut clean);
        let mut told = String::with_capacity(clean.len());
        self.redactor.push(&clean, &mut told);
        self.keep(&told);
    }

    /// What is left of it.
    pub(crate) fn finish(mut self) -> Log {
        let mut clean = String::new();
        self.cleaner.finish(&mut clean);
        let mut told = String::new();
        self.redactor.push(&clean, &mut told);
        self.redactor.finish(&mut told);
        self.keep(&told);
        self.capped.finish(self.bytes, self.redactor.count())
    }

    fn keep(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.capped.push(text);
        if let Some(live) = &mut self.live {
            live.tell(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorder(secrets: &[&str], limit: usize, live: Option<Live>) -> Recorder {
        let secrets = secrets.iter().map(|secret| (*secret).to_owned());
        Recorder::new(Arc::new(Secrets::new(secrets)), limit, live)
    }

    #[test]
    fn any_split_of_the_bytes_gives_the_same_log() {
        let said = "plain\n\u{1b}[31mred hunter2-secret\u{1b}[0m é\u{1b}]0;title\u{7}\r\nghp_abcdefghijklmnopqrstuvwxyz0123456789 \
                    end\nhunter2\u{1b}[1m-secret tail"
            .as_bytes();
        let whole = {
            let mut recorder = recorder(&["hunter2-secret"], 4096, None);
            recorder.push(said);
            recorder.finish()
        };
        assert_eq!(whole.text(), "plain\nred [redacted] é\n[redacted] end\n[redacted] tail");
        assert_eq!((whole.bytes, whole.redacted, whole.left_out), (said.len() as u64, 3, 0));
        for size in 1..said.len() {
            let mut recorder = recorder(&["hunter2-secret"], 4096, None);
            said.chunks(size).for_each(|chunk| recorder.push(chunk));
            assert_eq!(recorder.finish(), whole, "in pieces of {size}");
        }
    }

    #[test]
    fn who_is_slow_misses_something_and_is_told_so() {
        let (live, mut looking) = Live::new(1);
        let mut recorder = recorder(&[], 4096, Some(live));
        recorder.push(b"one\n");
        recorder.push(b"two\n");
        recorder.push(b"three\n");
        assert_eq!(looking.try_recv(), Ok(Chunk { text: "one\n".to_owned(), missed: 0 }));
        recorder.push(b"four\n");
        assert_eq!(looking.try_recv(), Ok(Chunk { text: "four\n".to_owned(), missed: 10 }));
        assert_eq!(recorder.finish().text(), "one\ntwo\nthree\nfour\n");
    }

    #[test]
    fn nobody_looking_on_any_more_harms_nothing() {
        let (live, looking) = Live::new(1);
        drop(looking);
        let mut recorder = recorder(&[], 4096, Some(live));
        recorder.push(b"one\n");
        assert_eq!(recorder.finish().text(), "one\n");
    }

    #[test]
    fn a_flood_costs_no_memory() {
        let mut recorder = recorder(&["hunter2-secret"], 4096, None);
        let line = [b"0123456789abcdef".repeat(4096), b"\n".to_vec()].concat();
        for _ in 0..256 {
            recorder.push(&line);
        }
        recorder.push(b"the end\n");
        let log = recorder.finish();
        assert!(log.head.len() + log.tail.len() <= 4096, "{}", log.head.len() + log.tail.len());
        assert!(log.tail.ends_with("the end\n"));
        let kept = (log.head.len() + log.tail.len()) as u64;
        assert_eq!(log.left_out + kept, log.bytes);
    }
}
