//! A line that shows that long work goes on, where somebody watches.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::output::Output;

/// Work of a length that nobody knows: how long it will take depends on rows that are read meanwhile.
pub(super) struct Progress(Option<ProgressBar>);

impl Progress {
    /// Shown only on a terminal.
    pub(super) fn new(out: Output, what: &'static str) -> Self {
        if !out.is_watched() {
            return Self(None);
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix} {msg}") {
            bar.set_style(style);
        }
        bar.set_prefix(what);
        bar.enable_steady_tick(Duration::from_millis(100));
        Self(Some(bar))
    }

    /// How far it has come.
    pub(super) fn at(&self, position: usize) {
        if let Some(bar) = &self.0 {
            bar.set_message(position.to_string());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
