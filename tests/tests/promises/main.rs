//! What Docket promises, each as an experiment that could prove it wrong, through the real program in several processes
//! that are killed the hard way. Each is also run with a planted bug, which it must catch.
//!
//! Sizes fit the test command; `DOCKET_SOAK=N` makes every experiment N times as long.

mod claims_never_overlap;
mod disconnects_harm_nobody;
mod evidence_is_about_something;
mod evidence_of_what_changed;
mod failover_loses_nothing;
mod fleet;
mod graph_stays_sound;
mod no_process_survives;
mod no_process_survives_a_server;
mod one_effect_per_request;
mod one_migration;
mod openapi;
mod overload_sheds;
mod profiles_over_http;
mod restorable_backup;
mod retried_over_http;
mod scopes_are_kept;
mod scopes_by_tool;
mod scopes_dialects;
mod scopes_forest;
mod scopes_over_http;
mod scopes_requests;
mod scopes_tools;
mod stale_holders_by_tool;
mod stale_holders_on_the_command_line;
mod stale_holders_over_http;
mod stale_holders_write_nothing;
mod state_and_record_are_one;
mod waiters_miss_nothing;
mod writes_survive_kills;
mod writes_survive_power_cuts;
