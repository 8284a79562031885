//! What a caller who asked for it is told while its call is under way: that it is, and how far its checks have come.
//!
//! No text of a check or of what it says is in it: whoever reads progress may take it for the server's own words.

use std::sync::Arc;
use std::time::Duration;

use docket_core::model::Run;
use docket_core::prove::Listener;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{RequestContext, RoleServer};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// How often a call that takes long tells its caller so.
const TICK: Duration = Duration::from_secs(5);
/// Steps that may wait to be told; what is more is left out, for the next one says as much.
const WAITING: usize = 64;
/// By how much a notification is further than the one before at the least.
const LEAST: f64 = 0.001;

/// The progress of one call.
pub(crate) struct Progress {
    token: Option<ProgressToken>,
    steps: mpsc::Receiver<String>,
    begun: Instant,
    /// How far it was told to be: the protocol wants it to grow.
    last: f64,
}

/// Hears of checks, for a caller who is told.
struct Steps(mpsc::Sender<String>);

impl Progress {
    /// The progress of a call; with somebody who hears of its checks, where the caller wants to know.
    pub(crate) fn new(context: &RequestContext<RoleServer>) -> (Self, Option<Arc<dyn Listener>>) {
        let (sender, steps) = mpsc::channel(WAITING);
        let token = context.meta.get_progress_token();
        let listener = token.is_some().then(|| Arc::new(Steps(sender)) as Arc<dyn Listener>);
        (Self { token, steps, begun: Instant::now(), last: 0.0 }, listener)
    }

    /// Tells the caller until it is dropped: never ends by itself.
    pub(crate) async fn tell(&mut self, context: &RequestContext<RoleServer>) {
        if self.token.is_none() {
            return std::future::pending().await;
        }
        loop {
            let step = tokio::select! {
                Some(step) = self.steps.recv() => step,
                () = tokio::time::sleep(TICK) => "still under way".to_owned(),
            };
            self.send(context, step).await;
        }
    }

    /// Tells what happened last, before the answer is sent.
    pub(crate) async fn end(&mut self, context: &RequestContext<RoleServer>) {
        while let Ok(step) = self.steps.try_recv() {
            self.send(context, step).await;
        }
    }

    async fn send(&mut self, context: &RequestContext<RoleServer>, step: String) {
        let Some(token) = self.token.clone() else { return };
        self.last = self.begun.elapsed().as_secs_f64().max(self.last + LEAST);
        let progress = ProgressNotificationParam::new(token, self.last).with_message(step);
        // Whoever does not take it learns the end all the same.
        _ = context.peer.notify_progress(progress).await;
    }
}

impl Listener for Steps {
    fn begins(&self, run: &Run, place: usize, of: usize) {
        // Nobody waits for room: a caller that is slow to read must not slow the check down.
        _ = self.0.try_send(format!("check {}: run {place} of {of} begins", run.check));
    }

    fn says(&self, _run: &Run, _text: &str) {}

    fn ends(&self, run: &Run) {
        _ = self.0.try_send(format!("check {}: {}", run.check, run.state));
    }
}
