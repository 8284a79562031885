//! Waiting for events of other processes.

use std::time::Duration;

use docket_core::store::Store;

use crate::support::Bench;

#[tokio::test]
async fn while_one_waits_the_database_is_asked_a_few_times_a_second() {
    let bench = Bench::new().await;
    let before = bench.store.round_trips();
    let _ = tokio::time::timeout(Duration::from_millis(500), bench.store.changed(0)).await;
    let asked = bench.store.round_trips() - before;
    assert!((5..=25).contains(&asked), "asked {asked} times in half a second");
}
