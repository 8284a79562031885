//! What bears on ready work, on a bad day: a search that fails keeps no work from anybody.

use std::sync::Arc;

use docket_core::Engine;
use docket_core::query::KnowledgeQuery;
use docket_core::store::{ChangeSet, KnowledgeChanges, Store};
use rusqlite::Connection;

use crate::support::{Bench, entry, item};

#[tokio::test]
async fn what_bears_on_work_is_nothing_when_the_search_fails() {
    let bench = Bench::new().await;
    let work = item(&bench.project, 1, "valve torque");
    let known = entry(&bench.project, "valve torque", "with care");
    let knowledge = KnowledgeChanges { new_entries: vec![known.clone()], ..KnowledgeChanges::default() };
    bench.put(ChangeSet { new_items: vec![work.clone()], knowledge, ..ChangeSet::default() }).await;
    let engine = Engine::new(Arc::clone(&bench.store) as Arc<dyn Store>);
    let told: Vec<_> = engine.digest(&work).await.into_iter().map(|reference| reference.id).collect();
    assert_eq!(told, [known.id]);
    let raw = Connection::open(bench.folder.path().join("docket.db")).expect("a connection");
    raw.execute_batch("ALTER TABLE knowledge_words RENAME TO elsewhere").expect("a broken table");
    let query = KnowledgeQuery { query: "valve".to_owned(), limit: 5, ..KnowledgeQuery::default() };
    engine.search_knowledge(&query).await.expect_err("who asks is told");
    assert!(engine.digest(&work).await.is_empty(), "who works is not");
    let each = engine.digests(&[work.clone(), work]).await;
    assert!(each.len() == 2 && each.iter().all(Vec::is_empty), "one answer for each item: {each:?}");
}
