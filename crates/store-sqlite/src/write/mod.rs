//! A change set as one script.
//!
//! Swaps are not compared here: what a unit saw was read inside the same `BEGIN IMMEDIATE` that now writes, and SQLite
//! lets one such transaction exist at a time across all processes. No version can have moved on in between.

mod contract;
mod items;
mod keys;
mod knowledge;
mod rest;
mod rows;
mod sessions;

use docket_core::model::Timestamp;
use docket_core::plant::{Bug, planted};
use docket_core::store::ChangeSet;

use crate::script::Script;

/// Writes everything in an order in which every reference finds its target. Events are numbered in the
/// order given.
pub(crate) fn add_changes(script: &mut Script, changes: &ChangeSet, now: Timestamp) {
    rest::add_projects(script, changes);
    items::add_new(script, &changes.new_items);
    items::add_changed(script, &changes.changed_items);
    rest::add_edges(script, changes);
    rest::add_notes(script, changes);
    contract::add_briefs(script, changes);
    contract::add_questions(script, changes);
    contract::add_talk(script, changes);
    knowledge::add_knowledge(script, changes);
    sessions::add_sessions(script, changes);
    contract::add_runs(script, changes);
    items::add_removed(script, &changes.removed_items);
    keys::add_keys(script, changes);
    if planted(Bug::EventsApart) {
        script.add("COMMIT");
        script.add("BEGIN IMMEDIATE");
    }
    if let Some(answer) = &changes.answer {
        rest::add_answer(script, answer, now);
    }
    if !changes.events.is_empty() {
        rest::add_events(script, &changes.events);
    }
}
