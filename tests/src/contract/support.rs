//! A store to try, and small units of work to fill it with.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use docket_core::model::{
    Claim, Derived, Edge, EdgeId, EdgeKind, Event, EventId, Fence, Item, ItemId, KeyPrefix, Name, Note, NoteId,
    Priority, Project, ProjectId, Role, Slug, Summary, Text, Timestamp, Title, UnitId, Verb,
};
use docket_core::store::{
    Candidates, ChangeSet, ItemChange, ProjectRef, Scope, Slice, Step, Store, StoreError, Touched, Unit,
};
use docket_core::workflow::{Schemas, Workflow};
use uuid::Uuid;

static MADE: AtomicU64 = AtomicU64::new(1);

/// A new id; ids grow in the order in which they are made.
pub fn new_uuid() -> Uuid {
    let made = MADE.fetch_add(1, Ordering::Relaxed);
    Uuid::from_u128(
        (0x0190_0000_0000_7000_8000_u128 << 48) | (u128::from(std::process::id()) << 32 << 8) | u128::from(made),
    )
}

/// A name.
pub fn name(text: &str) -> Name {
    Name::parse(text).expect("a name")
}

/// A project made of its slug.
pub fn project(slug: &str, prefix: &str) -> Project {
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
pub fn item(project: &Project, number: u32, title: &str) -> Item {
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

/// A plain ready item beneath another.
pub fn child(parent: &Item, number: u32, title: &str, project: &Project) -> Item {
    Item { parent: Some(parent.id), depth: parent.depth + 1, ..item(project, number, title) }
}

/// An edge.
pub fn edge(kind: EdgeKind, from: &Item, to: &Item) -> Edge {
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

/// A note.
pub fn note(item: &Item, key: &str, body: &str) -> Note {
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

/// A claim.
pub fn claim(holder: &str, expires_at: Option<i64>) -> Claim {
    Claim {
        holder: name(holder),
        claimed_at: Timestamp::from_millis(10),
        expires_at: expires_at.map(Timestamp::from_millis),
        original_claimed_at: Timestamp::from_millis(9),
        ttl_seconds: 60,
    }
}

/// An event.
pub fn event(project: ProjectId, item: Option<ItemId>, verb: Verb, at: Timestamp) -> Event {
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
pub struct Put(
    /// What is written.
    pub ChangeSet,
);

impl Unit for Put {
    fn scope(&self) -> Scope {
        Scope::default()
    }

    fn decide(&mut self, _seen: &Slice) -> Step {
        Step::Commit(Box::new(self.0.clone()))
    }
}

/// Changes one item that it has seen.
pub struct Edit<F>(
    /// The item.
    pub ItemId,
    /// Which columns are written.
    pub Touched,
    /// The change.
    pub F,
);

impl<F: FnMut(&mut Item) + Send + 'static> Unit for Edit<F> {
    fn scope(&self) -> Scope {
        Scope { items: vec![self.0.into()], ..Scope::default() }
    }

    fn decide(&mut self, seen: &Slice) -> Step {
        let Some(before) = seen.items.get(&self.0) else { return Step::Nothing };
        let mut item = before.clone();
        (self.2)(&mut item);
        let change = ItemChange { item, read_version: before.version, read_fence: before.fence.0, touched: self.1 };
        let record = event(before.project, Some(before.id), Verb::Edited, seen.now);
        Step::Commit(Box::new(ChangeSet { changed_items: vec![change], events: vec![record], ..ChangeSet::default() }))
    }
}

/// Finds the best ready item and claims it.
pub struct ClaimBest {
    /// Where.
    pub project: ProjectId,
    /// By whom.
    pub holder: Name,
    /// What was decided on: more than what was got, where a decision was repeated.
    pub got: Arc<Mutex<Vec<ItemId>>>,
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
pub fn best(limit: usize) -> Candidates {
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

/// A database to try a store on: a file, a server, whatever a second store can be opened on beside the first.
#[async_trait]
pub trait Place: Send + Sync {
    /// Opens a store on it, whose clock is ahead by as many milliseconds as `skew` says.
    async fn open(&self, skew: Arc<AtomicI64>) -> Arc<dyn Probe>;
}

/// A store, and what tests want to know of it beside what a store says.
#[async_trait]
pub trait Probe: Store {
    /// Everything that is wrong with what it keeps beside the rows.
    async fn integrity(&self) -> Vec<String>;

    /// How often it has asked the database.
    fn round_trips(&self) -> u64;

    /// Finishes what runs.
    async fn close(&self);
}

/// A store on a database of its own, with one project.
pub struct Bench {
    place: Box<dyn Place>,
    /// The store.
    pub store: Arc<dyn Probe>,
    /// The project.
    pub project: Project,
}

impl Bench {
    /// Opens a store and makes a project.
    pub async fn new(place: Box<dyn Place>) -> Self {
        let store = place.open(Arc::default()).await;
        let bench = Self { place, store, project: project("docket", "DOC") };
        bench.put(ChangeSet { projects: vec![bench.project.clone()], ..ChangeSet::default() }).await;
        bench
    }

    /// Another store on the same database, which shares nothing else with the first: as in another process.
    pub async fn other(&self) -> Arc<dyn Probe> {
        self.place.open(Arc::default()).await
    }

    /// The same with a clock that is ahead.
    pub async fn ahead(&self, skew: Arc<AtomicI64>) -> Arc<dyn Probe> {
        self.place.open(skew).await
    }

    /// Persists a change set.
    pub async fn put(&self, changes: ChangeSet) {
        self.try_put(changes).await.expect("the changes are written");
    }

    /// Persists a change set that may be refused.
    pub async fn try_put(&self, changes: ChangeSet) -> Result<(), StoreError> {
        self.store.execute(Box::new(Put(changes))).await
    }

    /// Persists items.
    pub async fn put_items(&self, items: &[Item]) {
        self.put(ChangeSet { new_items: items.to_vec(), ..ChangeSet::default() }).await;
    }

    /// Changes an item.
    pub async fn edit(&self, id: ItemId, touched: Touched, change: impl FnMut(&mut Item) + Send + 'static) {
        self.store.execute(Box::new(Edit(id, touched, change))).await.expect("the item is changed");
    }

    /// Reads an item.
    pub async fn get(&self, id: ItemId) -> Option<Item> {
        let scope = Scope { items: vec![id.into()], ..Scope::default() };
        self.store.view(&scope).await.expect("a slice").items.remove(&id)
    }

    /// Says what is wrong with what the store keeps beside the rows, if anything is.
    pub async fn is_sound(&self) {
        assert_eq!(self.store.integrity().await, Vec::<String>::new());
    }
}
