//! Waiting for events of other processes.

use std::time::Duration;

use docket_core::store::Store;

use crate::support::Bench;

#[tokio::test]
async fn while_one_waits_and_nothing_happens_the_database_is_not_asked() {
    let bench = Bench::new().await;
    let wait = || tokio::time::timeout(Duration::from_millis(500), bench.store.changed(0));
    // The commit that made the database is remembered: it is looked for once more.
    assert!(wait().await.is_err(), "nothing has happened");
    let before = bench.store.scripts();
    assert!(wait().await.is_err(), "nothing has happened");
    assert_eq!(bench.store.scripts() - before, 1, "one look at the beginning");
}
