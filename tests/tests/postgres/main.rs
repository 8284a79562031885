//! What is Postgres' own: how a database is opened, many writers at once, servers and callers that go away.

mod absent;
mod bad_days;
mod crowd;
mod opening;
mod outage;
mod pages;
mod plans;
mod tls;
