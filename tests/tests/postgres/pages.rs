//! The next page of a long list is read by an index, wherever in the list it begins: a page costs what it shows.

use std::time::Duration;

use docket_core::model::Item;
use docket_core::store::{ChangeSet, Filter, Order, ProjectRef, SortBy, Store};
use docket_store_postgres::{PostgresOptions, PostgresStore};
use docket_tests::contract::support::{Put, item, project};
use docket_tests::postgres::Database;

const ITEMS: u32 = 20_000;
const PAGE: usize = 50;

async fn open(database: &Database) -> PostgresStore {
    PostgresStore::open(PostgresOptions::parse(&database.url()).expect("an address")).await.expect("a store")
}

/// How many rows of `items` were read since the server began to count, by whatever way.
fn rows_read(database: &Database) -> u64 {
    let question =
        "SELECT (seq_tup_read + coalesce(idx_tup_fetch, 0))::text FROM pg_stat_user_tables WHERE relname = 'items'";
    database.ask(question).parse().expect("a count")
}

#[tokio::test]
async fn a_page_deep_in_a_list_costs_what_it_shows() {
    let database = Database::new();
    let store = open(&database).await;
    let home = project("docket", "DOC");
    let items: Vec<Item> = (1..=ITEMS).map(|number| item(&home, number, "one of many")).collect();
    let mut projects = vec![home.clone()];
    for some in items.chunks(2000) {
        let changes =
            ChangeSet { projects: std::mem::take(&mut projects), new_items: some.to_vec(), ..ChangeSet::default() };
        store.execute(Box::new(Put(changes))).await.expect("written");
    }
    store.close().await;
    database.run("ANALYZE items");
    // What was read while they were written is told when those connections have ended.
    while database.ask("SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database()") != "1" {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let here = Filter { project: ProjectRef::Id(home.id), limit: PAGE, ..Filter::default() };
    for list in [
        here.clone(),
        Filter { parent: Some(None), ..here.clone() },
        Filter { sort: SortBy::ModifiedAt, ..here.clone() },
        Filter { project: ProjectRef::Any, ..here },
    ] {
        for order in [Order::Asc, Order::Desc] {
            let list = Filter { order, ..list.clone() };
            let after = Some(list.place(&items[ITEMS as usize / 2]));
            let before = rows_read(&database);
            let store = open(&database).await;
            let page = store.find(&Filter { after, ..list.clone() }).await.expect("a page").items;
            // A connection says what it has read when it ends.
            store.close().await;
            assert_eq!(page.len(), PAGE);
            let mut read = 0;
            for _ in 0..100 {
                read = rows_read(&database) - before;
                if read >= PAGE as u64 {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            assert!((PAGE as u64..10 * PAGE as u64).contains(&read), "{read} rows were read for {list:?}");
        }
    }
}
