//! How requests are read, whatever shell they come through: strict about names and types, and every refusal names its field.

mod brief;
mod checks;
mod nearest;
mod read;
mod strict;

pub use checks::checks;
pub use nearest::nearest;
pub use read::{from_pairs, from_value};
pub use strict::{Fault, NAMES, look_over};
