//! The command line, through the real program: every verb, every exit code, and what it does with bad input.

mod bad_disks;
mod bad_input;
mod checks;
mod configuration;
mod connect;
mod contract;
mod copies;
mod desk;
mod disk;
mod doctor;
mod exits;
mod export;
mod first_day;
mod guides;
mod help;
mod keys;
mod knowledge;
mod postgres;
mod proving;
mod sessions;
mod terminal;
mod verbs;
mod wording;
