//! Keys of callers: how they come back, who gets in with them, and that a write commits only under one that holds.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use docket_core::access::{Access, Profile};
use docket_core::command::{Create, CreateKey, NewItem, RevokeKey, RotateKey, SetProject};
use docket_core::engine::Call;
use docket_core::model::{ApiKey, KeySecret, Project, Slug};
use docket_core::store::{EventFilter, ProjectRef, Store};
use docket_core::testing::{name, title};
use docket_core::{Code, Engine, Error, Reason};
use docket_store_postgres::{PostgresOptions, PostgresStore};
use docket_store_sqlite::{SqliteOptions, SqliteStore};
use docket_tests::postgres::Database;

/// A database of its own, with one project and a clock that can be put forward.
struct Bench {
    store: Arc<dyn Store>,
    /// How many units the store has committed.
    commits: Box<dyn Fn() -> u64 + Send + Sync>,
    skew: Arc<AtomicI64>,
    project: Project,
    /// What the database lies in; removed with it.
    _place: Box<dyn Send + Sync>,
}

impl Bench {
    async fn on_sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let options = SqliteOptions::new(folder.path().join("docket.db")).create(true);
        let skew = Arc::clone(&options.clock_skew);
        let store = Arc::new(SqliteStore::open(options).await.expect("a database"));
        let counted = Arc::clone(&store);
        Self::new(store, Box::new(move || counted.commits()), skew, Box::new(folder)).await
    }

    async fn on_postgres() -> Self {
        let database = Database::new();
        let options = PostgresOptions::parse(&database.url()).expect("its address");
        let skew = Arc::clone(&options.clock_skew);
        let store = Arc::new(PostgresStore::open(options).await.expect("a database"));
        let counted = Arc::clone(&store);
        Self::new(store, Box::new(move || counted.commits()), skew, Box::new(database)).await
    }

    async fn new(
        store: Arc<dyn Store>,
        commits: Box<dyn Fn() -> u64 + Send + Sync>,
        skew: Arc<AtomicI64>,
        place: Box<dyn Send + Sync>,
    ) -> Self {
        let set = SetProject {
            slug: Slug::parse("web").expect("a slug"),
            name: None,
            prefix: None,
            workflow: None,
            schemas: None,
            archived: None,
            must_be_new: true,
        };
        let engine = Engine::new(Arc::clone(&store));
        let project = engine.run(call(Access::default()), set).await.expect("a project").project;
        Self { store, commits, skew, project, _place: place }
    }

    fn pass(&self, millis: i64) {
        self.skew.fetch_add(millis, Ordering::Relaxed);
    }
}

fn call(access: Access) -> Call {
    Call { access: Arc::new(access), ..Call::new(name("tester"), uuid::Uuid::new_v4().as_u128()) }
}

fn secret(number: u8) -> KeySecret {
    KeySecret::new([number; 36])
}

fn create_key(secret: &KeySecret, called: &str, lasts: Option<u32>) -> CreateKey {
    CreateKey {
        handle: secret.handle().clone(),
        digest: secret.digest(),
        name: Some(name(called)),
        profile: Profile::Worker,
        projects: Vec::new(),
        item: None,
        lasts,
    }
}

async fn made(engine: &Engine, secret: &KeySecret, called: &str, lasts: Option<u32>) -> ApiKey {
    engine.run(call(Access::default()), create_key(secret, called, lasts)).await.expect("a key").key
}

async fn create(engine: &Engine, project: ProjectRef) -> Result<(), Error> {
    let create = Create {
        project,
        items: vec![NewItem::titled(title("new"))],
        edges: vec![],
        notes: vec![],
        blank_notes: false,
        room_below: false,
        atomic: true,
    };
    engine.run(call(Access::default()), create).await.map(|_| ())
}

fn engine(bench: &Bench) -> Engine {
    Engine::new(Arc::clone(&bench.store))
}

macro_rules! on_each_store {
    ($($case:ident,)*) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $case() {
                super::$case(super::Bench::on_sqlite().await).await;
            })*
        }

        mod postgres {
            $(#[tokio::test]
            async fn $case() {
                super::$case(super::Bench::on_postgres().await).await;
            })*
        }
    };
}

on_each_store!(
    whoever_knows_the_secret_gets_in_and_nobody_else,
    a_use_is_noted_once_a_minute,
    a_key_that_ended_is_told_so_only_to_its_holder_and_writes_nothing,
    an_answer_kept_for_a_retry_is_not_given_to_a_revoked_key,
    a_rotated_key_is_the_same_key_under_another_secret,
    limits_of_a_key_come_back_and_no_event_holds_its_secret,
);

async fn whoever_knows_the_secret_gets_in_and_nobody_else(bench: Bench) {
    let engine = engine(&bench);
    let mine = secret(7);
    let key = made(&engine, &mine, "ci", None).await;
    let found = engine.authenticate(&mine).await.expect("it holds");
    assert_eq!(ApiKey { last_used_at: None, ..found.clone() }, key);
    assert_eq!(
        found.access(),
        Access { key: Some(key.id), handle: Some(key.handle.clone()), ..Access::everywhere(Profile::Worker) }
    );
    let forged = KeySecret::parse(&mine.reveal().replace("070707_", "070707_ff")[..77]).expect("a key's form");
    assert_eq!(forged.handle(), mine.handle());
    let wrong = engine.authenticate(&forged).await.expect_err("another secret");
    let unknown = engine.authenticate(&secret(8)).await.expect_err("no such key");
    assert_eq!(wrong, unknown, "which of the two it was is not told");
    assert_eq!((wrong.code, wrong.reason), (Code::Forbidden, Reason::BadCredential));
}

async fn a_use_is_noted_once_a_minute(bench: Bench) {
    let engine = engine(&bench);
    let mine = secret(7);
    made(&engine, &mine, "ci", None).await;
    let commits = (bench.commits)();
    for _ in 0..5 {
        engine.authenticate(&mine).await.expect("it holds");
    }
    assert_eq!((bench.commits)() - commits, 1, "one note of five uses");
    let (now, keys) = engine.keys().await.expect("keys");
    let first = keys[0].last_used_at.expect("a use");
    assert!(now.as_millis() - first.as_millis() < 60_000);
    bench.pass(61_000);
    engine.authenticate(&mine).await.expect("it holds");
    assert!(engine.keys().await.expect("keys").1[0].last_used_at.expect("a use") > first);
}

async fn a_key_that_ended_is_told_so_only_to_its_holder_and_writes_nothing(bench: Bench) {
    let engine = engine(&bench);
    let (short, gone) = (secret(7), secret(8));
    let expiring = made(&engine, &short, "short", Some(60)).await;
    let revoked = made(&engine, &gone, "gone", None).await;
    let project = ProjectRef::Id(bench.project.id);
    for key in [&expiring, &revoked] {
        create(&engine.limited_to(key.access()), project.clone()).await.expect("it still holds");
    }
    bench.pass(60_000);
    engine.run(call(Access::default()), RevokeKey { key: "gone".to_owned() }).await.expect("revoked");
    let head = engine.head().await.expect("a number");
    for (secret, key, reason) in [(&short, &expiring, Reason::KeyExpired), (&gone, &revoked, Reason::KeyRevoked)] {
        assert_eq!(engine.authenticate(secret).await.expect_err("it ended").reason, reason);
        // A caller that got in before the key ended.
        let refused = create(&engine.limited_to(key.access()), project.clone()).await.expect_err("it ended");
        assert_eq!((refused.code, refused.reason), (Code::Forbidden, reason));
    }
    assert_eq!(engine.head().await.expect("a number"), head, "nothing was written");
}

async fn an_answer_kept_for_a_retry_is_not_given_to_a_revoked_key(bench: Bench) {
    let engine = engine(&bench);
    let key = made(&engine, &secret(7), "ci", None).await;
    let limited = engine.limited_to(key.access());
    let again = || {
        let create = Create {
            project: ProjectRef::Id(bench.project.id),
            items: vec![NewItem::titled(title("new"))],
            edges: vec![],
            notes: vec![],
            blank_notes: false,
            room_below: false,
            atomic: true,
        };
        let request = docket_core::model::RequestId::parse("once").ok();
        limited.run(Call { request, ..call(Access::default()) }, create)
    };
    let first = again().await.expect("made");
    assert_eq!(again().await.expect("the same"), first);
    engine.run(call(Access::default()), RevokeKey { key: key.id.to_string() }).await.expect("revoked");
    assert_eq!(again().await.expect_err("revoked").reason, Reason::KeyRevoked);
}

async fn a_rotated_key_is_the_same_key_under_another_secret(bench: Bench) {
    let engine = engine(&bench);
    let (old, new) = (secret(7), secret(8));
    let key = made(&engine, &old, "ci", None).await;
    let rotate =
        RotateKey { key: "ci".to_owned(), handle: new.handle().clone(), digest: new.digest(), lasts: Some(600) };
    let rotated = engine.run(call(Access::default()), rotate).await.expect("rotated").key;
    assert_eq!((rotated.id, rotated.principal()), (key.id, key.principal()));
    assert!(rotated.expires_at.is_some());
    assert_eq!(engine.authenticate(&old).await.expect_err("the old one").reason, Reason::BadCredential);
    assert_eq!(engine.authenticate(&new).await.expect("the new one").id, key.id);
    // A caller that got in by the old secret writes nothing from then on.
    let project = ProjectRef::Id(bench.project.id);
    let refused = create(&engine.limited_to(key.access()), project.clone()).await.expect_err("rotated");
    assert_eq!((refused.code, refused.reason), (Code::Forbidden, Reason::BadCredential));
    create(&engine.limited_to(rotated.access()), project).await.expect("the new one holds");
}

async fn limits_of_a_key_come_back_and_no_event_holds_its_secret(bench: Bench) {
    let engine = engine(&bench);
    let mine = secret(7);
    let create = CreateKey { projects: vec![bench.project.slug.clone()], ..create_key(&mine, "narrow", None) };
    engine.run(call(Access::default()), create).await.expect("a key");
    let found = engine.authenticate(&mine).await.expect("it holds");
    assert_eq!(found.projects, Some(BTreeSet::from([bench.project.id])));
    let events = engine.events(&EventFilter { limit: 100, ..EventFilter::default() }).await.expect("events");
    let told = serde_json::to_string(&events).expect("JSON");
    let digest: Vec<String> = mine.digest().0.iter().map(|byte| format!("{byte:02x}")).collect();
    let digest = digest.concat();
    assert!(told.contains("key-set") && told.contains("narrow"), "{told}");
    assert!(!told.contains(&mine.reveal()[13..]) && !told.contains(&digest), "{told}");
    let limited = engine.limited_to(found.access());
    let seen = limited.events(&EventFilter { limit: 100, ..EventFilter::default() }).await.expect("events");
    assert!(!serde_json::to_string(&seen).expect("JSON").contains("key-set"), "keys are the whole database's affair");
    let refused = limited.keys().await.expect_err("a worker");
    assert_eq!(refused.code, Code::Forbidden);
}
