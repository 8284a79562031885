//! Shows checks while they run: a line that moves where somebody watches, and what they say where that is wanted.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use docket_core::model::{Run, RunId};
use docket_core::prove::Listener;
use indicatif::{ProgressBar, ProgressStyle};
use tokio::sync::Notify;

use super::view::took;
use crate::output::{Output, escape};

/// Longest line that is waited for: a program that ends no line is heard all the same.
const LINE_BYTES: usize = 4096;

/// Tells of checks on standard error. Whoever reads JSON is told nothing beside it.
#[derive(Debug)]
pub(crate) struct Teller {
    out: Output,
    /// Whether what checks say is shown too.
    loud: bool,
    /// Told when checks are wanted.
    proving: Arc<Notify>,
    now: Mutex<Now>,
}

/// What is under way.
#[derive(Debug, Default)]
struct Now {
    bar: Option<ProgressBar>,
    /// What the runs are called that have begun.
    places: BTreeMap<RunId, String>,
    /// What was said since the last end of a line.
    rest: String,
}

impl Teller {
    /// Tells which check runs and how it ended.
    pub(crate) fn quiet(out: Output, proving: &Arc<Notify>) -> Self {
        Self { out, loud: false, proving: Arc::clone(proving), now: Mutex::default() }
    }

    /// Tells what checks say as well.
    pub(crate) fn loud(out: Output, proving: &Arc<Notify>) -> Self {
        Self { loud: true, ..Self::quiet(out, proving) }
    }

    fn with(&self, act: impl FnOnce(&mut Now)) {
        if !self.out.json {
            act(&mut self.now.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

impl Now {
    fn print(&self, line: &str) {
        match &self.bar {
            // Above the line that moves.
            Some(bar) => bar.println(line),
            None => crate::output::say(line),
        }
    }

    fn print_rest(&mut self) {
        if !self.rest.is_empty() {
            let line = std::mem::take(&mut self.rest);
            self.print(&format!("  {}", escape::line(&line)));
        }
    }
}

impl Listener for Teller {
    fn waits(&self) {
        self.proving.notify_one();
    }

    fn begins(&self, run: &Run, place: usize, of: usize) {
        self.with(|now| {
            let place = format!("[{place}/{of}] {}", escape::line(run.desc.as_str()));
            now.rest.clear();
            if self.out.is_watched() {
                let bar = ProgressBar::new_spinner();
                if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} … {elapsed}") {
                    bar.set_style(style);
                }
                bar.set_message(place.clone());
                bar.enable_steady_tick(Duration::from_millis(100));
                now.bar = Some(bar);
            } else {
                now.print(&format!("{place} …"));
            }
            now.places.insert(run.id, place);
        });
    }

    fn says(&self, _run: &Run, text: &str) {
        if !self.loud {
            return;
        }
        self.with(|now| {
            for piece in text.split_inclusive('\n') {
                now.rest.push_str(piece.trim_end_matches(['\n', '\r']));
                if piece.ends_with('\n') && now.rest.is_empty() {
                    now.print("");
                } else if piece.ends_with('\n') || now.rest.len() >= LINE_BYTES {
                    now.print_rest();
                }
            }
        });
    }

    fn follows(&self, run: &Run, at_most: Duration) {
        self.with(|now| {
            let by = run.runner.as_ref().map(|name| escape::line(name.as_str())).unwrap_or_default();
            let (desc, id, seconds) = (escape::line(run.desc.as_str()), run.id, at_most.as_secs());
            now.print(&format!(
                "{desc}: waits for run {id}, which {by} makes; if that does not come back, it is made here after {seconds} s \
                 (`docket check cancel {id}` gives it up)"
            ));
        });
    }

    fn ends(&self, run: &Run) {
        self.with(|now| {
            now.print_rest();
            let end = run.end.as_ref().map(ToString::to_string).unwrap_or_default();
            let place = now.places.remove(&run.id).unwrap_or_else(|| escape::line(run.desc.as_str()));
            let told = format!("{place}: {} ({}) {}", run.state, escape::line(&end), took(run));
            if let Some(bar) = now.bar.take() {
                bar.finish_and_clear();
            }
            now.print(told.trim_end());
        });
    }
}
