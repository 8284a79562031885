//! Room in a work tree: two commands that run in it at once may disturb each other, so there is leave for few, mostly for one.

use std::any::Any;
use std::fmt;

/// Leave to run a command in a work tree, until it is dropped.
#[derive(Default)]
pub struct Room(Option<Box<dyn Any + Send + Sync>>);

impl Room {
    /// Leave that ends when this is dropped with it.
    pub fn held_by(leave: impl Any + Send + Sync) -> Self {
        Self(Some(Box::new(leave)))
    }
}

impl fmt::Debug for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Room").field("bounded", &self.0.is_some()).finish()
    }
}
