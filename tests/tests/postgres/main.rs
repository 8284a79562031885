//! What is Postgres' own: how a database is opened, many writers at once, servers and callers that go away.

mod absent;
mod bad_days;
mod capacity;
mod crowd;
mod desk;
mod held_up;
mod opening;
mod outage;
mod pages;
mod plans;
mod silence;
mod standby;
mod tls;
