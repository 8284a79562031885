//! Bounded graph walks.
