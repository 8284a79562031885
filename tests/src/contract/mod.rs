//! What every store must do, whatever the database: the same cases run on each.
//!
//! A case is a function over a [`support::Bench`]. It names no database. `cases!` lists all of them: a case that is not
//! in it is not run, which `tests/tests/contract.rs` finds.

pub mod costs;
pub mod fences;
pub mod finding;
pub mod knowledge;
pub mod lists;
pub mod queue;
pub mod reading;
pub mod round_trip;
pub mod runs;
pub mod scopes;
pub mod sessions;
pub mod support;
pub mod talk;
mod teller;
pub mod vectors;
pub mod waiting;
pub mod work;
pub mod writing;

/// Hands every case, with its module, to a macro of the caller's.
#[macro_export]
macro_rules! cases {
    ($run:ident) => {
        $run! {
            costs::no_command_costs_more_for_more_rows,
            fences::a_write_around_an_item_needs_its_fence_of_now,
            finding::each_filter_leaves_what_it_says,
            finding::words_are_found_by_their_beginnings,
            finding::tags_follow_an_edit,
            finding::each_order_runs_both_ways_and_equals_follow_by_age,
            finding::pages_and_counts_are_what_was_asked_for,
            finding::pages_make_up_the_list,
            finding::nothing_shifts_a_page,
            finding::what_has_no_room_ends_a_page_and_a_tree,
            knowledge::what_was_learned_comes_back_as_it_was_written,
            knowledge::entries_are_found_by_their_words_the_newest_first,
            knowledge::filters_and_limits_leave_out_what_does_not_fit,
            knowledge::the_quota_is_compared_at_the_commit,
            knowledge::a_removed_item_takes_its_links_and_leaves_the_entry,
            knowledge::an_old_entry_is_found_by_words_that_many_newer_ones_have,
            knowledge::few_among_many_are_listed_and_found_by_what_they_are_filed_under,
            knowledge::a_search_over_very_many_projects_says_that_it_is_partial,
            knowledge::a_citation_that_meets_a_removal_loses_the_race_and_no_more,
            knowledge::an_old_citation_is_taken_back_behind_many_newer_ones,
            lists::no_list_costs_more_for_more_rows,
            lists::families_are_shown_whole_or_cut_for_each,
            vectors::vectors_follow_the_text_of_their_entry,
            vectors::searches_answer_alike_and_cost_the_same_however_many_there_are,
            vectors::digests_of_many_items_cost_what_one_costs,
            vectors::a_text_that_is_refused_does_not_stop_the_others,
            vectors::one_process_at_a_time_makes_vectors,
            vectors::one_model_for_the_whole_database,
            vectors::meaning_is_looked_for_among_those_that_are_meant,
            queue::what_is_barred_hides_nothing,
            queue::a_runner_keeps_to_its_project,
            reading::children_and_claims_are_tallied,
            reading::a_wide_parent_is_counted_so_far_and_no_further,
            reading::events_are_filtered_and_ordered,
            reading::a_scan_meets_every_row_once,
            reading::a_reader_that_goes_away_harms_nobody,
            round_trip::an_item_comes_back_as_it_was_written,
            round_trip::only_the_touched_groups_are_written,
            round_trip::notes_edges_events_and_answers_come_back,
            round_trip::a_secret_is_made_once_for_each_caller,
            runs::a_run_comes_back_as_it_was_written,
            runs::runs_are_listed_the_newest_first,
            runs::runs_of_what_may_not_be_seen_are_not_shown,
            scopes::items_are_found_by_id_key_and_prefix,
            scopes::an_ambiguous_prefix_lists_a_few_of_many,
            scopes::ancestors_and_subtree_surround_the_named,
            scopes::open_children_are_listed_for_the_named_and_their_ancestors,
            scopes::edges_reach_as_far_as_asked,
            scopes::edges_are_counted_without_being_shown,
            scopes::notes_are_shown_without_bodies_near_the_named_and_with_them_on_it,
            scopes::a_cycle_of_ten_thousand_is_found,
            scopes::waits_lead_along_edges_and_up_to_parents,
            scopes::ways_lead_from_duplicates_and_from_what_is_superseded,
            scopes::of_two_halves_of_a_ring_one_is_made,
            scopes::a_walk_that_is_too_long_says_so,
            scopes::the_project_is_the_named_one_or_none,
            scopes::rules_are_followed_when_they_change,
            sessions::a_session_comes_back_as_it_was_written,
            sessions::an_item_has_one_session_that_has_not_ended,
            sessions::sessions_are_listed_by_what_is_stored_of_them,
            sessions::a_removed_item_takes_its_sessions_with_it,
            talk::what_was_said_comes_back_as_it_was_written,
            talk::a_brief_is_shown_wherever_its_item_is_named_or_near,
            talk::the_newest_question_of_each_named_item_is_shown,
            talk::the_newest_comments_of_each_named_item_are_shown,
            talk::links_of_the_named_items_are_shown,
            talk::named_questions_and_links_bring_their_items,
            talk::what_may_not_be_seen_is_not_shown,
            talk::an_item_has_one_open_question,
            talk::a_question_that_was_passed_makes_room_for_the_next,
            talk::a_removed_item_takes_what_was_said_with_it,
            talk::a_neighbour_with_a_brief_keeps_what_is_counted_with_it,
            talk::a_project_is_put_away_and_taken_back,
            talk::units_that_talk_about_one_item_do_not_lose_each_other,
            waiting::a_waiter_hears_of_commits_here_and_in_another_process,
            waiting::all_waiters_hear_and_none_looks_when_none_waits,
            waiting::who_waits_while_nothing_happens_asks_nothing,
            waiting::the_next_end_of_a_claim_is_known,
            work::the_best_come_first_and_expired_claims_among_them,
            work::what_was_left_comes_in_its_place_among_ready_work,
            work::a_page_ends_at_its_limit_and_the_next_begins_after_it,
            work::pages_of_ready_work_over_all_projects_leave_out_nothing,
            work::a_queue_is_read_as_far_as_a_claim_looks,
            work::urgent_work_comes_by_urgency_and_age,
            work::candidates_can_be_narrowed,
            work::what_an_agent_holds_and_what_claims_keep_busy,
            work::time_follows_the_database_and_never_goes_back,
            work::leases_last_what_they_last_whatever_time_it_is,
            writing::a_unit_that_fails_harms_no_other,
            writing::a_unit_runs_to_its_end_without_its_caller,
            writing::two_agents_never_get_the_same_item,
            writing::a_unit_sees_what_the_one_before_it_wrote,
            writing::removed_items_take_their_notes_edges_and_words_with_them,
            writing::costs_do_not_grow_with_rows,
        }
    };
}
