//! Pure decisions, case by case: no database, no clock, no randomness.

mod access;
mod checks;
mod claims;
mod closing;
mod contract;
mod criteria;
mod fences;
mod graph;
mod handing_in;
mod holders;
mod items;
mod knowledge;
mod lowered;
mod markdown;
mod moves;
mod notes;
mod parked;
mod progress;
mod proving;
mod queue;
mod scene;
mod sessions;
mod ways;
mod whose_word;
mod words;
mod working;
