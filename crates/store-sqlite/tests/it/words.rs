//! Items are found by their words whether or not the full-text index has taken them in, and whichever way they got there.

use docket_core::model::{Item, Summary, Title};
use docket_core::store::{ChangeSet, Filter, ItemChange, Order, Store as _, Touched};
use rusqlite::Connection;

use crate::support::{Bench, item};

/// More than are ever put off.
const MANY: u32 = 200;

impl Bench {
    async fn found(&self, words: &[&str]) -> Vec<u32> {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let filter = Filter { words, limit: 1000, count: true, order: Order::Asc, ..Filter::default() };
        let found = self.store.find(&filter).await.expect("a list");
        assert_eq!(usize::try_from(found.total), Ok(found.items.len()), "the count is of the same items");
        found.items.iter().map(|item| item.number).collect()
    }

    /// How many items wait for the index, and how many it holds.
    fn filed(&self) -> (u32, u32) {
        let raw = Connection::open(self.folder.path().join("docket.db")).expect("a connection");
        let count = |table: &str| {
            raw.query_row(&format!("SELECT count(*) FROM {table}"), (), |row| row.get(0)).expect("a number")
        };
        (count("items_unindexed"), count("items_fts_docsize"))
    }

    async fn reword(&self, item: &Item, title: &str) -> Item {
        let title = Title::parse(title).expect("a title");
        let item = Item { title, version: item.version + 1, ..item.clone() };
        let touched = Touched { content: true, stamp: true, words: true, ..Touched::default() };
        let change =
            ItemChange { read_version: item.version - 1, read_fence: item.fence.0, item: item.clone(), touched };
        self.put(ChangeSet { changed_items: vec![change], ..ChangeSet::default() }).await;
        item
    }
}

#[tokio::test]
async fn items_made_one_by_one_are_found_from_the_first_on_and_taken_in_together() {
    let bench = Bench::new().await;
    let mut most = 0;
    for number in 1..=MANY {
        bench.put_items(&[item(&bench.project, number, &format!("apple number{number}"))]).await;
        let (waiting, indexed) = bench.filed();
        assert_eq!(waiting + indexed, number, "each is in one of both");
        most = most.max(waiting);
        assert_eq!(bench.found(&[&format!("number{number}")]).await.last(), Some(&number));
    }
    // That more wait happens once in some hundred thousand runs.
    assert!((40..160).contains(&most), "{most} waited");
    assert_eq!(bench.found(&["app"]).await.len(), MANY as usize, "of both, by the beginning of a word");
    assert_eq!(bench.found(&["app", "number19"]).await, [19, 190, 191, 192, 193, 194, 195, 196, 197, 198, 199]);
    assert_eq!(bench.found(&["pple"]).await, [] as [u32; 0], "not by the middle of one");
    assert_eq!(bench.found(&["apple", "pear"]).await, [] as [u32; 0]);
}

#[tokio::test]
async fn many_at_once_and_long_texts_do_not_wait() {
    let bench = Bench::new().await;
    let items: Vec<Item> = (1..=MANY).map(|number| item(&bench.project, number, "crowd")).collect();
    bench.put_items(&items).await;
    assert_eq!(bench.filed(), (0, MANY));
    let mut long = item(&bench.project, MANY + 1, "long");
    long.summary = Summary::parse(&"winding ".repeat(1000)).expect("a summary");
    bench.put_items(&[long]).await;
    assert_eq!(bench.filed(), (0, MANY + 1));
    assert_eq!(bench.found(&["winding"]).await, [MANY + 1]);
}

#[tokio::test]
async fn what_is_reworded_or_removed_is_found_by_its_old_words_no_more() {
    let bench = Bench::new().await;
    let items: Vec<Item> = (1..=MANY).map(|number| item(&bench.project, number, "before")).collect();
    bench.put_items(&items).await;
    let waiting = item(&bench.project, MANY + 1, "before");
    bench.put_items(std::slice::from_ref(&waiting)).await;
    for old in [&items[0], &waiting] {
        // Of the index, then out of those that wait, and once more.
        let once = bench.reword(old, "after").await;
        assert_eq!(bench.found(&["after"]).await, [old.number]);
        assert!(!bench.found(&["before"]).await.contains(&old.number));
        bench.reword(&once, "later").await;
        assert_eq!(bench.found(&["after"]).await, [] as [u32; 0]);
        assert_eq!(bench.found(&["later"]).await, [old.number]);
        bench.put(ChangeSet { removed_items: vec![old.id], ..ChangeSet::default() }).await;
        assert_eq!(bench.found(&["later"]).await, [] as [u32; 0]);
    }
    let (waiting, indexed) = bench.filed();
    assert_eq!(waiting + indexed, MANY - 1);
    assert_eq!(bench.store.integrity().await.expect("findings"), Vec::<String>::new());
}

#[tokio::test]
async fn rewording_alone_leads_to_the_index_too() {
    let bench = Bench::new().await;
    let items: Vec<Item> = (1..=MANY).map(|number| item(&bench.project, number, "before")).collect();
    bench.put_items(&items).await;
    for item in &items {
        bench.reword(item, "after").await;
        assert!(bench.filed().0 < 160, "they do not pile up");
    }
    assert_eq!(bench.found(&["after"]).await.len(), MANY as usize);
    assert_eq!(bench.found(&["before"]).await, [] as [u32; 0]);
}
