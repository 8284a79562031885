//! Plain rows, and small units of work that write them without a rule: for tests of stores.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use uuid::Uuid;

use super::name;
use crate::model::{
    About, Approval, Authority, Brief, Check, CheckKind, CheckResult, Claim, Comment, CommentId, Criterion,
    CriterionId, Definition, Derived, Edge, EdgeId, EdgeKind, Entry, EntryId, EntryLink, EntryTie, Event, EventId,
    Evidence, Fence, Folder, Item, ItemId, KeyPrefix, Link, LinkId, Name, Note, NoteId, Priority, Progress, Project,
    ProjectId, Question, QuestionId, QuestionState, Role, Run, RunId, RunState, Runtime, Session, SessionId,
    SessionState, Slug, Source, Summary, Text, Timestamp, Title, Tree, UnitId, Url, Verb,
};
use crate::store::{Candidates, ChangeSet, ItemChange, ProjectRef, Scope, Slice, Step, Touched, Unit};
use crate::workflow::{Schemas, Workflow};

static MADE: AtomicU64 = AtomicU64::new(1);

/// A new id; ids grow in the order in which they are made.
pub fn new_uuid() -> Uuid {
    let made = MADE.fetch_add(1, Ordering::Relaxed);
    Uuid::from_u128(
        (0x0190_0000_0000_7000_8000_u128 << 48) | (u128::from(std::process::id()) << 32 << 8) | u128::from(made),
    )
}

/// The same as a ULID.
fn new_ulid() -> ulid::Ulid {
    ulid::Ulid(new_uuid().as_u128())
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
        archived_at: None,
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
        intent: None,
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
        attention: None,
        due_at: None,
        estimate_minutes: None,
        position: None,
        touches: Vec::new(),
        needs: Vec::new(),
        required_capabilities: Vec::new(),
        claim: None,
        fence: Fence(0),
        version: 1,
        created_at: Timestamp::from_millis(1000 + i64::from(number)),
        modified_at: Timestamp::from_millis(1000 + i64::from(number)),
        role_changed_at: Timestamp::from_millis(1000 + i64::from(number)),
        derived: Derived { rank: i64::from(number), offered: true, ..Derived::default() },
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

/// A brief with something in every section, and one criterion that was shown.
pub fn brief(objective: &str) -> Brief {
    let text = |text: &str| Text::parse(text).expect("a text");
    let must = text("it \"works\"\nand goes on to");
    let evidence = Evidence {
        authority: Authority::Check,
        passed: true,
        note: Some(text("seen \u{1f980}")),
        by: name("bot"),
        at: Timestamp::from_millis(11),
        about: About::of(&must),
    };
    let criterion = Criterion {
        id: CriterionId(3),
        text: must,
        verifier: Authority::Human,
        hard: true,
        instructions: Some(text("look")),
        evidence: vec![evidence],
    };
    Brief {
        objective: Some(text(objective)),
        context: Some(text("background")),
        acceptance_criteria: vec![criterion],
        constraints: vec![text("never")],
        verification: Some(text("run it")),
        handoff_expectations: Some(text("a note")),
        last_criterion: 4,
        // Not approved: that is for each database to say.
        checks: vec![Check { approved: None, ..check("tests \"pass\"", "true") }],
        closes_when_shown: false,
        handed_in_at: None,
    }
}

/// A check that runs a command, and has passed.
pub fn check(desc: &str, cmd: &str) -> Check {
    let text = |text: &str| Text::parse(text).expect("a text");
    let kind = CheckKind::Command { cmd: text(cmd), cwd: Folder::parse("crates").ok(), timeout_seconds: Some(5) };
    let definition = Definition::of(&text(desc), &kind);
    let at = Timestamp::from_millis(13);
    Check {
        desc: text(desc),
        kind,
        proves: Some(CriterionId(3)),
        author: name("ada"),
        written_by: Some(name("key:ci")),
        authority: Authority::Human,
        approved: Some(Approval { by: name("grace"), at, definition: definition.clone() }),
        result: Some(CheckResult {
            passed: true,
            definition,
            tree: Tree::parse("0123456789abcdef").ok(),
            tree_changed: false,
            at,
            by: name("runner"),
            asked_by: None,
            run: Some(RunId(ulid::Ulid(17))),
            note: Some(text("exit 0")),
        }),
    }
}

/// A run of that check in a state.
pub fn run(item: &Item, state: RunState) -> Run {
    let Check { desc, kind, .. } = check("tests", "true");
    Run {
        id: RunId(new_ulid()),
        item: item.id,
        check: 0,
        definition: Definition::of(&desc, &kind),
        desc,
        kind,
        state,
        again: false,
        ordered_by: name("ada"),
        ordered_at: Timestamp::from_millis(14),
        place: None,
        declined: Vec::new(),
        tries: 0,
        next_look_at: None,
        runner: None,
        started_at: None,
        due_at: None,
        ended_at: None,
        end: None,
        tree: None,
        about: Some(About::of(&Text::parse("it works").expect("a text"))),
        sandbox: None,
        log_bytes: 0,
        log_left_out: 0,
    }
}

/// An open question.
pub fn question(item: &Item, text: &str) -> Question {
    Question {
        id: QuestionId(new_ulid()),
        item: item.id,
        text: Text::parse(text).expect("a text"),
        options: vec![Text::parse("yes").expect("a text"), Text::parse("\"no\"").expect("a text")],
        state: QuestionState::Open,
        asked_by: name("asker"),
        asked_at: Timestamp::from_millis(12),
        answer: None,
        ended_by: None,
        ended_at: None,
    }
}

/// A comment.
pub fn comment(item: &Item, body: &str) -> Comment {
    Comment {
        id: CommentId(new_ulid()),
        item: item.id,
        body: Text::parse(body).expect("a text"),
        by: name("talker"),
        created_at: Timestamp::from_millis(13),
    }
}

/// A link to something outside.
pub fn link(item: &Item, reference: &str) -> Link {
    Link {
        id: LinkId(new_ulid()),
        item: item.id,
        kind: name("commit"),
        reference: name(reference),
        url: Url::parse("https://example.org/commit/1?a=b#c").expect("an address"),
        title: None,
        by: name("linker"),
        created_at: Timestamp::from_millis(14),
    }
}

/// An entry of the knowledge.
pub fn entry(project: &Project, title: &str, body: &str) -> Entry {
    Entry {
        id: EntryId(new_ulid()),
        project: project.id,
        title: Title::parse(title).expect("a title"),
        body: Text::parse(body).expect("a text"),
        tags: Vec::new(),
        source: Source::Person,
        source_item: None,
        author: name("writer"),
        created_at: Timestamp::from_millis(15),
        updated_at: Timestamp::from_millis(16),
        updated_by: name("bob"),
        version: 1,
        review: None,
    }
}

/// A link of an entry with an item.
pub fn entry_link(entry: &Entry, item: &Item, kind: EntryTie) -> EntryLink {
    EntryLink { entry: entry.id, item: item.id, kind, by: name("writer"), created_at: Timestamp::from_millis(17) }
}

/// A session that has just begun.
pub fn session(item: &Item, actor: &str) -> Session {
    let runtime = serde_json::json!({ "model": "m \"1\" \u{1f980}", "attempt": 2, "dry": true });
    Session {
        id: SessionId(new_ulid()),
        item: item.id,
        project: item.project,
        actor: name(actor),
        state: SessionState::Active,
        fence: item.fence,
        started_at: Timestamp::from_millis(15),
        heartbeat_at: Timestamp::from_millis(16),
        ended_at: None,
        runtime: serde_json::from_value::<Runtime>(runtime).expect("a runtime"),
        progress: Progress { percent: Some(7), step: Some(name("parse")), ..Progress::default() },
        summary: None,
        head: None,
        reason: None,
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
        id: EventId(new_ulid()),
        unit: UnitId(new_ulid()),
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
#[derive(Debug)]
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
#[derive(Debug)]
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
#[derive(Debug)]
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
        role: Some(Role::Queue),
        left: false,
        parent: None,
        under: None,
        tags: Vec::new(),
        item_type: None,
        include_claimed: false,
        offered_only: true,
        urgent: None,
        after: None,
        limit,
    }
}

/// A command with a bug.
#[derive(Debug)]
pub struct Panics;

impl Unit for Panics {
    fn scope(&self) -> Scope {
        Scope::default()
    }

    fn decide(&mut self, _seen: &Slice) -> Step {
        panic!("a bug in a command")
    }
}

/// A command that never decides.
#[derive(Debug)]
pub struct LooksForEver;

impl Unit for LooksForEver {
    fn scope(&self) -> Scope {
        Scope::default()
    }

    fn decide(&mut self, _seen: &Slice) -> Step {
        Step::Look(Box::default())
    }
}
