//! What is SQLite's own: files, shared commits, backups. What every store must do is in `tests/src/contract`.

mod admin;
mod beside;
mod busy;
mod digest;
mod opening;
mod support;
mod waiting;
mod words;
mod writing;
