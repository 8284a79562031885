//! A database in a folder of its own, and small units of work to fill it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use docket_core::model::{
    Claim, Derived, Edge, EdgeId, EdgeKind, Event, EventId, Fence, Item, ItemId, KeyPrefix, Name, Note, NoteId,
    Priority, Project, ProjectId, Role, Slug, Summary, Text, Timestamp, Title, UnitId, Verb,
};
use docket_core::store::{
    Candidates, ChangeSet, ItemChange, ProjectRef, Scope, Slice, Step, Store, StoreError, Touched, Unit,
};
use docket_core::workflow::{Schemas, Workflow};
use docket_store_sqlite::{Durability, SqliteOptions, SqliteStore};
use tempfile::TempDir;
use uuid::Uuid;

static MADE: AtomicU64 = AtomicU64::new(1);

/// A new id; ids grow in the order in which they are made.
pub(crate) fn new_uuid() -> Uuid {
    let made = MADE.fetch_add(1, Ordering::Relaxed);
    Uuid::from_u128(
        (0x0190_0000_0000_7000_8000_u128 << 48) | (u128::from(std::process::id()) << 32 << 8) | u128::from(made),
    )
}

pub(crate) fn name(text: &str) -> Name {
    Name::parse(text).expect("a name")
}

/// A project made of its slug.
pub(crate) fn project(slug: &str, prefix: &str) -> Project {
    Project {
        id: ProjectId::from_uuid(new_uuid()),
        slug: Slug::parse(slug).expect("a slug"),
        name: Title::parse(slug).expect("a title"),
        prefix: KeyPrefix::parse(prefix).expect("a prefix"),
        workflow: Workflow::standard(),
        schemas: Schemas::default(),
        next_number: 1,
        version: 1,
        created_at: Timestamp::from_millis(1),
    }
}

/// A plain ready item.
pub(crate) fn item(project: &Project, number: u32, title: &str) -> Item {
    Item {
        id: ItemId::from_uuid(new_uuid()),
        project: project.id,
        number,
        parent: None,
        depth: 0,
        title: Title::parse(title).expect("a title"),
        description: None,
        summary: Summary::parse("").expect("a summary"),
        status: name("ready"),
        role: Role::Queue,
        outcome: None,
        previous_status: None,
        status_label: None,
        priority: Priority::Medium,
        complexity: None,
        item_type: None,
        tags: Vec::new(),
        traits: Vec::new(),
        metadata: None,
        properties: None,
        requires_verification: false,
        touches: Vec::new(),
        needs: Vec::new(),
        required_capabilities: Vec::new(),
        claim: None,
        fence: Fence(0),
        version: 1,
        created_at: Timestamp::from_millis(1000 + i64::from(number)),
        modified_at: Timestamp::from_millis(1000 + i64::from(number)),
        role_changed_at: Timestamp::from_millis(1000 + i64::from(number)),
        derived: Derived { blockers: 0, moot: 0, unblocks: 0, rank: i64::from(number), offered: true },
    }
}

pub(crate) fn child(parent: &Item, number: u32, title: &str, project: &Project) -> Item {
    Item { parent: Some(parent.id), depth: parent.depth + 1, ..item(project, number, title) }
}

pub(crate) fn edge(kind: EdgeKind, from: &Item, to: &Item) -> Edge {
    Edge {
        id: EdgeId::from_uuid(new_uuid()),
        kind,
        from: from.id,
        to: to.id,
        unblock_at: None,
        inverse: false,
        created_at: Timestamp::from_millis(5),
    }
}

pub(crate) fn note(item: &Item, key: &str, body: &str) -> Note {
    Note {
        id: NoteId::from_uuid(new_uuid()),
        item: item.id,
        key: name(key),
        phase: Role::Work,
        body: Text::parse(body).expect("a text"),
        by: None,
        created_at: Timestamp::from_millis(7),
        modified_at: Timestamp::from_millis(8),
    }
}

pub(crate) fn event(project: ProjectId, item: Option<ItemId>, verb: Verb, at: Timestamp) -> Event {
    Event {
        seq: 0,
        id: EventId(ulid::Ulid(new_uuid().as_u128())),
        unit: UnitId(ulid::Ulid(new_uuid().as_u128())),
        at,
        project,
        item,
        other: None,
        verb,
        principal: name("tester"),
        by: None,
        data: serde_json::json!({ "n": 1, "text": "ä \"quoted\" \u{1f980}" }),
    }
}

/// Persists a change set without looking at anything.
pub(crate) struct Put(pub(crate) ChangeSet);

impl Unit for Put {
    fn scope(&self) -> Scope {
        Scope::default()
    }

    fn decide(&mut self, _seen: &Slice) -> Step {
        Step::Commit(Box::new(self.0.clone()))
    }
}

/// Finds the best ready item and claims it.
pub(crate) struct ClaimBest {
    pub(crate) project: ProjectId,
    pub(crate) holder: Name,
    pub(crate) got: Arc<Mutex<Vec<ItemId>>>,
}

impl Unit for ClaimBest {
    fn scope(&self) -> Scope {
        Scope {
            project: ProjectRef::Id(self.project),
            held_by: vec![self.holder.clone()],
            busy: true,
            candidates: Some(best(8)),
            ..Scope::default()
        }
    }

    fn decide(&mut self, seen: &Slice) -> Step {
        let Some(id) = seen.candidates.rows.first() else { return Step::Nothing };
        let before = &seen.items[id];
        assert!(before.live_claim(seen.now).is_none(), "a live claim was offered");
        let mut item = before.clone();
        item.fence.0 += 1;
        item.claim = Some(Claim {
            holder: self.holder.clone(),
            claimed_at: seen.now,
            expires_at: Some(seen.now.plus_seconds(900)),
            original_claimed_at: seen.now,
            ttl_seconds: 900,
        });
        self.got.lock().expect("no panic").push(*id);
        let change = ItemChange {
            item,
            read_version: before.version,
            read_fence: before.fence.0,
            touched: Touched { claim: true, ..Touched::default() },
        };
        let record = event(before.project, Some(before.id), Verb::Claimed, seen.now);
        Step::Commit(Box::new(ChangeSet { changed_items: vec![change], events: vec![record], ..ChangeSet::default() }))
    }
}

/// Ready work in the queue, only what may be handed out.
pub(crate) fn best(limit: usize) -> Candidates {
    Candidates {
        role: Role::Queue,
        parent: None,
        under: None,
        tags: Vec::new(),
        item_type: None,
        include_claimed: false,
        offered_only: true,
        after: None,
        limit,
    }
}

/// A store on a file in a folder of its own, with one project.
pub(crate) struct Bench {
    pub(crate) folder: TempDir,
    pub(crate) store: Arc<SqliteStore>,
    pub(crate) project: Project,
}

impl Bench {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = SqliteStore::open(fast(&folder)).await.expect("a new database");
        let bench = Self { folder, store: Arc::new(store), project: project("docket", "DOC") };
        bench.put(ChangeSet { projects: vec![bench.project.clone()], ..ChangeSet::default() }).await;
        bench
    }

    pub(crate) async fn put(&self, changes: ChangeSet) {
        self.try_put(changes).await.expect("the changes are written");
    }

    pub(crate) async fn try_put(&self, changes: ChangeSet) -> Result<(), StoreError> {
        self.store.execute(Box::new(Put(changes))).await
    }

    pub(crate) async fn put_items(&self, items: &[Item]) {
        self.put(ChangeSet { new_items: items.to_vec(), ..ChangeSet::default() }).await;
    }

    pub(crate) async fn get(&self, id: ItemId) -> Option<Item> {
        let scope = Scope { items: vec![id.into()], ..Scope::default() };
        self.store.view(&scope).await.expect("a slice").items.remove(&id)
    }
}

/// Options for tests: a power cut is none of their business.
pub(crate) fn fast(folder: &TempDir) -> SqliteOptions {
    SqliteOptions::new(folder.path().join("docket.db")).create(true).durability(Durability::Normal)
}
