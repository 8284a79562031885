//! Waiting for work instead of polling for it.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use crate::command::{ClaimNext, Offer};
use crate::engine::{Call, Engine};
use crate::error::Error;

/// How often a waiter looks again without a commit: leases run out without one.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

impl Engine {
    /// Finds and claims ready work; when there is none, waits for a change and tries again until `patience` is over.
    /// `sleep` is the shell's timer: the core has none.
    pub async fn claim_next_waiting<S, F>(
        &self,
        call: Call,
        command: ClaimNext,
        patience: Duration,
        sleep: S,
    ) -> Result<Offer, Error>
    where
        S: Fn(Duration) -> F + Send + Sync,
        F: Future<Output = ()> + Send,
    {
        if patience.is_zero() {
            return self.run(call, command).await;
        }
        let mut over = pin!(sleep(patience));
        loop {
            // Read before the attempt, so that what is committed after it is seen as a change.
            let head = self.store().head().await?;
            let offer = self.run(call.clone(), command.clone()).await?;
            if offer.held.is_some() {
                return Ok(offer);
            }
            let mut changed = pin!(self.store().changed(head));
            let mut look_again = pin!(sleep(LOOK_AGAIN));
            let go_on = std::future::poll_fn(|context| {
                if over.as_mut().poll(context).is_ready() {
                    return Poll::Ready(Ok(false));
                }
                if let Poll::Ready(done) = changed.as_mut().poll(context) {
                    return Poll::Ready(done.map(|_| true));
                }
                look_again.as_mut().poll(context).map(|()| Ok(true))
            })
            .await?;
            if !go_on {
                return Ok(offer);
            }
        }
    }
}
