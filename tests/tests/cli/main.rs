//! The command line, through the real program: every verb, every exit code, and what it does with bad input.

mod bad_input;
mod configuration;
mod connect;
mod copies;
mod desk;
mod doctor;
mod exits;
mod export;
mod first_day;
mod help;
mod keys;
mod postgres;
mod verbs;
