//! A line that shows that long work goes on, where somebody watches.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::output::Output;

/// Work of a length that may not be known.
pub(super) struct Progress(Option<ProgressBar>);

impl Progress {
    /// Shown only on a terminal.
    pub(super) fn new(out: Output, what: &'static str, total: Option<usize>) -> Self {
        if !out.is_watched() {
            return Self(None);
        }
        let bar = total.map_or_else(ProgressBar::new_spinner, |total| ProgressBar::new(total as u64));
        let layout = if total.is_some() { "{msg} [{wide_bar}] {pos}/{len}" } else { "{spinner} {msg} {pos}" };
        if let Ok(style) = ProgressStyle::with_template(layout) {
            bar.set_style(style);
        }
        bar.set_message(what);
        bar.enable_steady_tick(Duration::from_millis(100));
        Self(Some(bar))
    }

    /// How far it has come.
    pub(super) fn at(&self, position: usize) {
        if let Some(bar) = &self.0 {
            bar.set_position(position as u64);
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
