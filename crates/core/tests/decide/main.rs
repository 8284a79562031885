//! Pure decisions, case by case: no database, no clock, no randomness.

mod access;
mod claims;
mod graph;
mod items;
mod moves;
mod notes;
mod scene;
