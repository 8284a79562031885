//! Tells a running command that it is no longer wanted.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd};

/// A wish that can be made from anywhere, once and for good. Copies are the same wish.
#[derive(Clone, Debug)]
pub struct Cancel(Arc<OwnedFd>);

impl Cancel {
    /// A wish that nobody has made yet.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self(Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)))
    }

    /// Makes it. Making it again changes nothing.
    pub fn cancel(&self) {
        // It can fail only when the counter is full, and then the wish stands.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Whether it was made.
    pub fn is_cancelled(&self) -> bool {
        let mut look = [PollFd::new(&self.0, PollFlags::IN)];
        rustix::event::poll(&mut look, Some(&rustix::event::Timespec::default())).is_ok_and(|ready| ready > 0)
    }
}

impl AsFd for Cancel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_seen_by_its_copies_and_stays() {
        let cancel = Cancel::new().expect("a descriptor");
        let copy = cancel.clone();
        assert!(!copy.is_cancelled());
        cancel.cancel();
        cancel.cancel();
        assert!(copy.is_cancelled() && copy.is_cancelled());
    }
}
