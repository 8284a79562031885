//! What every store must do, whatever the database: the same cases run on each.
//!
//! A case is a function over a [`support::Bench`]. It names no database. `cases!` lists all of them: a case that is not
//! in it is not run, which `tests/tests/contract.rs` finds.

pub mod finding;
pub mod reading;
pub mod round_trip;
pub mod scopes;
pub mod support;
pub mod waiting;
pub mod work;
pub mod writing;

/// Hands every case, with its module, to a macro of the caller's.
#[macro_export]
macro_rules! cases {
    ($run:ident) => {
        $run! {
            finding::each_filter_leaves_what_it_says,
            finding::words_are_found_by_their_beginnings,
            finding::tags_follow_an_edit,
            finding::each_order_runs_both_ways_and_equals_follow_by_age,
            finding::pages_and_counts_are_what_was_asked_for,
            reading::children_and_claims_are_tallied,
            reading::events_are_filtered_and_ordered,
            reading::a_scan_meets_every_row_once,
            reading::a_reader_that_goes_away_harms_nobody,
            round_trip::an_item_comes_back_as_it_was_written,
            round_trip::only_the_touched_groups_are_written,
            round_trip::notes_edges_events_and_answers_come_back,
            scopes::items_are_found_by_id_key_and_prefix,
            scopes::an_ambiguous_prefix_lists_a_few_of_many,
            scopes::ancestors_and_subtree_surround_the_named,
            scopes::open_children_are_listed_for_the_named_and_their_ancestors,
            scopes::edges_reach_as_far_as_asked,
            scopes::notes_are_shown_without_bodies_near_the_named_and_with_them_on_it,
            scopes::waits_follow_blockers_and_children,
            scopes::a_walk_that_is_too_long_says_so,
            scopes::the_project_is_the_named_one_or_none,
            scopes::rules_are_followed_when_they_change,
            waiting::a_waiter_hears_of_commits_here_and_in_another_process,
            waiting::all_waiters_hear_and_none_looks_when_none_waits,
            work::the_best_come_first_and_expired_claims_among_them,
            work::a_page_ends_at_its_limit_and_the_next_begins_after_it,
            work::candidates_can_be_narrowed,
            work::what_an_agent_holds_and_what_claims_keep_busy,
            work::time_follows_the_database_and_never_goes_back,
            writing::a_unit_that_fails_harms_no_other,
            writing::a_unit_runs_to_its_end_without_its_caller,
            writing::two_agents_never_get_the_same_item,
            writing::a_unit_sees_what_the_one_before_it_wrote,
            writing::removed_items_take_their_notes_edges_and_words_with_them,
            writing::costs_do_not_grow_with_rows,
        }
    };
}
