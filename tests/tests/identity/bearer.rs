//! Callers by key and by token.

use std::sync::Arc;

use docket_core::access::{Access, Profile};
use docket_core::command::{Create, CreateKey, NewItem, RevokeKey, SetProject};
use docket_core::engine::Call;
use docket_core::model::{ItemId, KeySecret, Project, Slug, Title};
use docket_core::store::{ProjectRef, Store};
use docket_core::{Code, Engine, Kind, Reason};
use docket_identity::{Bearer, ClaimNames, TokenSettings};
use docket_store_sqlite::{SqliteOptions, SqliteStore};
use serde_json::json;

use crate::proofs::{name, settings};
use crate::server::{KeyServer, Mood};
use crate::sign::{Signer, claims, set};

struct Desk {
    _folder: tempfile::TempDir,
    engine: Engine,
    project: Project,
    item: ItemId,
}

fn call() -> Call {
    Call::new(name("local"), uuid::Uuid::new_v4().as_u128())
}

async fn desk() -> Desk {
    let folder = tempfile::tempdir().expect("a folder");
    let store = SqliteStore::open(SqliteOptions::new(folder.path().join("docket.db")).create(true)).await;
    let engine = Engine::new(Arc::new(store.expect("a database")) as Arc<dyn Store>);
    let set = |slug: &str| SetProject {
        slug: Slug::parse(slug).expect("a slug"),
        name: None,
        prefix: None,
        workflow: None,
        schemas: None,
        archived: None,
        must_be_new: true,
    };
    let project = engine.run(call(), set("web")).await.expect("a project").project;
    engine.run(call(), set("api")).await.expect("another");
    let create = Create {
        project: ProjectRef::Id(project.id),
        items: vec![NewItem::titled(Title::parse("the one").expect("a title"))],
        edges: vec![],
        notes: vec![],
        blank_notes: false,
        room_below: false,
        atomic: true,
    };
    let item = engine.run(call(), create).await.expect("an item").items.remove(0).expect("an item").item.id;
    Desk { _folder: folder, engine, project, item }
}

async fn key(desk: &Desk, number: u8) -> KeySecret {
    let secret = KeySecret::new([number; 36]);
    let create = CreateKey {
        handle: secret.handle().clone(),
        digest: secret.digest(),
        name: Some(name(&format!("k{number}"))),
        profile: Profile::Worker,
        projects: vec![desk.project.slug.clone()],
        item: None,
        lasts: None,
    };
    desk.engine.run(call(), create).await.expect("a key");
    secret
}

#[tokio::test]
async fn a_key_says_who_calls_and_a_revoked_one_is_out_within_a_second() {
    let desk = desk().await;
    let secret = key(&desk, 7).await;
    let bearer = Bearer::new(desk.engine.clone(), None).await.expect("callers");
    let caller = bearer.caller(&secret.reveal()).await.expect("a caller");
    assert!(caller.principal.as_str().starts_with("key:k7:"), "{}", caller.principal);
    assert_eq!(caller.access.projects, Some([desk.project.id].into()));
    desk.engine.run(call(), RevokeKey { key: "k7".to_owned() }).await.expect("revoked");
    tokio::time::sleep(std::time::Duration::from_millis(1050)).await;
    assert_eq!(bearer.caller(&secret.reveal()).await.expect_err("revoked").reason, Reason::KeyRevoked);
    for nobody in ["", "dkt_", "x", "a.b.c", &KeySecret::new([9; 36]).reveal()] {
        let error = bearer.caller(nobody).await.expect_err("nobody");
        assert_eq!((error.code, error.reason), (Code::Forbidden, Reason::BadCredential), "{nobody}");
    }
    assert_eq!(Bearer::missing().reason, Reason::CredentialMissing);
}

#[tokio::test]
async fn a_remembered_key_is_no_way_in_for_another_secret() {
    let desk = desk().await;
    let secret = key(&desk, 7).await;
    let bearer = Bearer::new(desk.engine.clone(), None).await.expect("callers");
    bearer.caller(&secret.reveal()).await.expect("a caller");
    let forged = format!("{}ff", &secret.reveal()[..75]);
    assert_eq!(bearer.caller(&forged).await.expect_err("forged").reason, Reason::BadCredential);
}

#[tokio::test]
async fn claims_of_a_token_say_what_its_holder_may_do() {
    let desk = desk().await;
    let signer = Signer::new("k1");
    let server = KeyServer::start(Mood::Body(set(&[&signer]))).await;
    let tokens = TokenSettings { keys: settings(&server), claims: ClaimNames::default(), all_projects: false };
    let bearer = Bearer::new(desk.engine.clone(), Some(tokens.clone())).await.expect("callers");
    let ask = |changes| bearer.caller_of(signer.sign(&claims(changes)));
    let caller =
        ask(json!({ "docket_profile": "worker", "docket_projects": ["web", "nowhere"] })).await.expect("a caller");
    assert_eq!(caller.principal.as_str(), "token:agent-1");
    let shown = |access| Access { token: true, ..access };
    assert_eq!(caller.access, shown(Access::within(Profile::Worker, [desk.project.id])));
    let spelled = ask(json!({ "docket_profile": "worker", "docket_projects": "web api" })).await.expect("a caller");
    assert_eq!(spelled.access.projects.map(|projects| projects.len()), Some(2));
    let none = ask(json!({ "docket_profile": "viewer" })).await.expect("a caller");
    assert_eq!(none.access.projects, Some([].into()), "no project is none");
    let one = ask(
        json!({ "docket_profile": "worker", "docket_projects": ["web"], "docket_item": format!("task:{}", desk.item) }),
    );
    let one = one.await.expect("a caller");
    assert_eq!((one.access.item, one.access.projects), (Some(desk.item), Some([desk.project.id].into())));
    let outside =
        ask(json!({ "docket_profile": "worker", "docket_projects": ["api"], "docket_item": desk.item.to_string() }));
    assert_eq!(outside.await.expect("a caller").access.projects, Some([].into()), "an item outside its projects");
    for flawed in [
        json!({}),
        json!({ "docket_profile": "root" }),
        json!({ "docket_profile": "worker", "docket_projects": 3 }),
        json!({ "docket_profile": "worker", "docket_item": "x" }),
        json!({ "docket_profile": "worker", "sub": null }),
        json!({ "docket_profile": "worker", "aud": "other" }),
        json!({ "docket_profile": "worker", "exp": 1 }),
    ] {
        let error = ask(flawed.clone()).await.expect_err("flawed");
        assert_eq!((error.code, error.reason), (Code::Forbidden, Reason::ProofRejected), "{flawed}");
    }
    let wide = Bearer::new(desk.engine.clone(), Some(TokenSettings { all_projects: true, ..tokens.clone() })).await;
    let wide = wide.expect("callers").caller(&signer.sign(&claims(json!({ "docket_profile": "viewer" })))).await;
    assert_eq!(wide.expect("a caller").access, shown(Access::everywhere(Profile::Viewer)));
    let anybodys = docket_identity::JwksSettings { audience: None, ..tokens.keys.clone() };
    Bearer::new(desk.engine.clone(), Some(TokenSettings { keys: anybodys, ..tokens })).await.expect_err("no audience");
}

#[tokio::test]
async fn without_keys_to_check_with_a_token_is_answered_with_try_again() {
    let desk = desk().await;
    let server = KeyServer::start(Mood::Status(503)).await;
    let tokens = TokenSettings { keys: settings(&server), claims: ClaimNames::default(), all_projects: false };
    let bearer = Bearer::new(desk.engine.clone(), Some(tokens)).await.expect("callers");
    let token = Signer::new("k1").sign(&claims(json!({ "docket_profile": "viewer" })));
    let error = bearer.caller(&token).await.expect_err("nobody can tell");
    assert_eq!((error.kind, error.code), (Kind::Transient, Code::Unavailable));
}

trait CallerOf {
    fn caller_of(&self, token: String) -> impl Future<Output = Result<docket_identity::Caller, docket_core::Error>>;
}

impl CallerOf for Bearer {
    async fn caller_of(&self, token: String) -> Result<docket_identity::Caller, docket_core::Error> {
        self.caller(&token).await
    }
}
