//! What commands cost: the statements of none grow with its rows.
//!
//! One story runs every command there is, once among few rows and once among many. A command that the story does not know makes
//! it fail: whoever writes one says here what it is like with many rows.

use std::collections::BTreeMap;

use docket_core::access::Profile;
use docket_core::command::{
    AddEntries, ApproveChecks, Arrange, Ask, Attest, Begin, BeginSession, BriefText, CancelRun, CancelSession, Change,
    CiteEntries, ClaimNext, CloseTree, Complete, Create, CreateKey, EdgeSpec, Edit, EditEntry, End, EndQuestion,
    EndRun, Finish, FinishSession, Heartbeat, Import, ImportMarkdown, Link, NewCriterion, NewEdge, NewItem, Parent,
    Patch, Progress, Proof, PutNotes, ReadEntry, Remove, RemoveEntries, RemoveLinks, RemoveNotes, Renew, Report,
    ReviewEntries, RevokeKey, RotateKey, SealingKey, SetBrief, SetProject, SetSettings, Stage, Submit, Take, TakeRun,
    Unlink, Verify, Wanted, What,
};
use docket_core::engine::Engine;
use docket_core::model::{
    Authority, CriterionId, EdgeKind, Fence, ItemId, KeySecret, RunEnd, Runtime, Slug, Taking, Trigger,
};
use docket_core::testing::title;
use docket_core::workflow::{Settings, Target};

use super::support::{Bench, child, edge, item, name, note, project};
use super::teller::{Teller, definition, jot, relates, text};

/// Few rows, and many: no list that a command takes may be longer.
const SIZES: [usize; 2] = [2, 20];

impl Teller<'_> {
    /// Items: made, linked, changed, moved, closed and removed.
    async fn items(&mut self) {
        let (root, other) = (self.item("root").await, self.item("other").await);
        let under = |local: usize| NewItem {
            local: Some(format!("c{local}")),
            parent: Some(Parent::Existing(root.into())),
            ..NewItem::titled(title(&format!("child {local}")))
        };
        let edge = |local: usize| NewEdge {
            from: End::Local(format!("c{local}")),
            to: End::Existing(root.into()),
            kind: EdgeKind::RelatesTo,
            unblock_at: None,
            inverse: false,
        };
        let create =
            Create { edges: (0..self.size).map(edge).collect(), ..self.create((0..self.size).map(under).collect()) };
        let made = self.run(create).await;
        let children: Vec<ItemId> = made.items.into_iter().flatten().map(|made| made.item.id).collect();
        let notes = children.iter().map(|child| jot(*child, "plan")).collect();
        let put = PutNotes { project: self.any(), notes, atomic: true };
        let written = self.run(put).await;
        let ids = written.notes.into_iter().flatten().map(|note| note.id).collect();
        self.run(RemoveNotes { project: self.any(), ids, of: None, missing_ok: false, fence: None }).await;
        let edges = children.windows(2).map(|pair| EdgeSpec { kind: EdgeKind::Blocks, ..relates(pair[0], pair[1]) });
        let edges = edges.collect();
        self.run(Link { project: self.any(), edges, holding: None }).await;
        let unlink = Unlink::Of { project: self.any(), item: root.into(), kind: None };
        let gone = self.run(unlink).await;
        assert_eq!(gone.edges.len(), self.size);
        let patch = |child: &ItemId| Patch {
            title: Some(title("moved")),
            parent: Change::Set(other.into()),
            ..Patch::of((*child).into())
        };
        let edit = Edit { project: self.any(), patches: children.iter().map(patch).collect(), atomic: true };
        self.run(edit).await;
        let named = self.run(self.claim(&children, &[])).await;
        assert_eq!(named.claims.len(), self.size);
        self.quietly(self.claim(&[], &children)).await;
        self.run(self.advance(children.clone(), Trigger::Block)).await;
        let close = CloseTree { project: self.any(), what: What::Whole(other.into()), cancel: true, fence: None };
        self.run(close).await;
        let remove = Remove {
            project: self.any(),
            items: vec![other.into()],
            expected_version: None,
            fence: None,
            recursive: true,
            atomic: true,
        };
        let gone = self.run(remove).await;
        assert_eq!(gone.items.into_iter().flatten().map(|gone| gone.descendants).sum::<usize>(), self.size);
        let lines: Vec<String> = (0..self.size).map(|number| format!("- [ ] line {number}")).collect();
        let import = ImportMarkdown {
            project: self.any(),
            markdown: text(&lines.join("\n")),
            parent: Some(root.into()),
            status: None,
            preview: false,
        };
        self.run(import).await;
    }

    /// What is said about an item: its brief, its criteria, questions, comments and links.
    async fn words(&mut self) {
        let item = self.busy("said").await;
        let criterion = |number: usize| NewCriterion::saying(text(&format!("it does {number}")));
        let brief = BriefText {
            objective: Change::Set(text("a goal")),
            acceptance_criteria: Change::Set((0..self.size).map(criterion).collect()),
            ..BriefText::default()
        };
        let set = SetBrief {
            project: self.any(),
            item: item.into(),
            brief,
            replace: false,
            expected_version: None,
            fence: None,
            authority: Authority::Agent,
        };
        self.run(set).await;
        let proof = |number: u32| Proof { criterion: CriterionId(number), passed: true, note: None };
        let proofs = (1..=u32::try_from(self.size).expect("few")).map(proof).collect();
        let authority = Authority::Agent;
        self.run(Verify { project: self.any(), item: item.into(), proofs, authority, fence: None }).await;
        let said = self.run(self.remark(item)).await;
        self.run(RemoveLinks { links: said.links, fence: None }).await;
        let options = (0..self.size).map(|number| text(&format!("option {number}"))).collect();
        let ask = Ask { project: self.any(), item: item.into(), text: text("which?"), options, fence: None };
        let asked = self.run(ask).await;
        self.run(EndQuestion { question: asked.question.id, answer: Some(text("this")) }).await;
    }

    /// Checks and their runs.
    async fn checked(&mut self) {
        let item = self.busy("checked").await;
        let expected_version = self.run(self.checks(item)).await.version;
        let approve = ApproveChecks { project: self.any(), item: item.into(), only: vec![], expected_version };
        self.run_by("boss", approve).await;
        let attest = Attest {
            project: self.any(),
            item: item.into(),
            check: 0,
            passed: true,
            note: None,
            tree: None,
            expected_version: None,
        };
        self.run_by("boss", attest).await;
        let ordered = self.run(self.order(item)).await;
        let first = ordered.runs.first().expect("a run").clone();
        let take =
            TakeRun { run: first.id, runner: name("runner"), allowed: self.order(item).allowed, taking: Taking::Asked };
        self.run(take).await;
        let report = Report::undone(RunEnd::Exited { code: 0 });
        let (run, definition) = (first.id, definition(1));
        let end = EndRun { run, runner: name("runner"), definition, report, back: false, next: None };
        self.run(end).await;
        // Of few there is one only, which is made; another item has one that nobody has taken.
        let next = self.busy("given up").await;
        let expected_version = self.quietly(self.checks(next)).await.version;
        let approve = ApproveChecks { project: self.any(), item: next.into(), only: vec![], expected_version };
        self.by("boss", approve).await;
        let ordered = self.quietly(self.order(next)).await;
        self.run(CancelRun { run: ordered.runs.first().expect("a run").id }).await;
    }

    /// Work as agents do it, each time on an item with many rows around it.
    async fn work(&mut self) {
        let any = self.any();
        let begun = self.busy("begun").await;
        self.run(Begin { project: any.clone(), item: begun.into(), ttl: None }).await;
        self.run(Renew { project: any.clone(), item: begun.into(), ttl: None, fence: None }).await;
        let finish = Finish {
            project: any.clone(),
            item: begun.into(),
            comment: Some(text("done")),
            links: self.remark(begun).links,
            proofs: vec![],
            learnings: self.learnings(),
            target: Some(Target::Trigger(Trigger::Complete)),
            fence: Some(Fence(1)),
            preview: false,
        };
        self.run(finish).await;
        let taken = self.busy("taken").await;
        self.run(Take { project: any.clone(), item: taken.into(), ttl: None }).await;
        let progress = Progress { project: any.clone(), item: taken.into(), to: Stage::Work, note: None, renew: true };
        self.run(progress).await;
        let learnings = self.learnings();
        self.run(Complete { project: any.clone(), item: taken.into(), output: None, learnings }).await;
        let handed = self.busy("handed in").await;
        self.quietly(Begin { project: any.clone(), item: handed.into(), ttl: None }).await;
        let learnings = self.learnings();
        let output = Some(text("words"));
        self.run(Submit { project: any.clone(), item: handed.into(), output, learnings, fence: None }).await;
        let placed = self.busy("placed").await;
        let status = self.project.workflow.initial.clone();
        self.run(Arrange { project: any.clone(), item: placed.into(), status, position: 3 }).await;
        self.run_by("cyd", ClaimNext { project: any, wanted: Wanted::default(), ttl: None }).await;
    }

    /// Attempts at items.
    async fn sessions(&mut self) {
        for cancelled in [false, true] {
            let item = self.busy("tried").await;
            let begin = BeginSession {
                project: self.any(),
                item: item.into(),
                expected_actor: None,
                runtime: Runtime::default(),
                ttl: None,
            };
            let session = self.run(begin).await.session.id;
            self.run(Heartbeat { session, progress: None }).await;
            if cancelled {
                self.run(CancelSession { session, reason: text("enough") }).await;
            } else {
                self.run(FinishSession { session, summary: text("done"), head: None }).await;
            }
        }
    }

    /// What was learned.
    async fn knowledge(&mut self) {
        let item = self.busy("learned from").await;
        let entries = self.learnings();
        let add = AddEntries { project: self.any(), entries, item: None, authority: Authority::Agent };
        let entries = self.run(add).await.entries;
        let cite = CiteEntries { project: self.any(), item: item.into(), entries: entries.clone(), used: true };
        self.run(cite).await;
        let edit = EditEntry {
            entry: entries[0],
            title: None,
            body: Some(text("other words")),
            tags: None,
            expected_version: None,
            authority: Authority::Agent,
        };
        self.run(edit).await;
        let read = entries.iter().map(|entry| ReadEntry { entry: *entry, version: None }).collect();
        self.run(ReviewEntries { entries: read, reviewed: false, authority: Authority::Human }).await;
        self.run(RemoveEntries { entries }).await;
    }

    /// Keys of callers.
    async fn keys(&mut self) {
        let secret = || {
            let random = *uuid::Uuid::new_v4().as_bytes();
            KeySecret::new(std::array::from_fn(|at| random[at % random.len()]))
        };
        let (first, second) = (secret(), secret());
        let create = CreateKey {
            handle: first.handle().clone(),
            digest: first.digest(),
            name: Some(name(&format!("key of {}", self.project.slug))),
            profile: Profile::Worker,
            projects: vec![self.project.slug.clone()],
            item: None,
            lasts: None,
        };
        let key = self.run(create).await.key.id.to_string();
        let rotate = RotateKey { key, handle: second.handle().clone(), digest: second.digest(), lasts: None };
        let key = self.run(rotate).await.key.id.to_string();
        self.run(RevokeKey { key }).await;
        self.run(SealingKey { slot: 1 }).await;
    }

    /// A whole project from elsewhere.
    async fn import(&mut self) {
        let slug = format!("{}-from-elsewhere", self.project.slug);
        let there = project(&slug, &format!("Z{}", self.project.prefix));
        let root = item(&there, 1, "root");
        let items: Vec<_> = (0..self.size)
            .map(|number| child(&root, u32::try_from(number).expect("few") + 2, "child", &there))
            .collect();
        let import = Import {
            edges: items.windows(2).map(|pair| edge(EdgeKind::RelatesTo, &pair[0], &pair[1])).collect(),
            notes: items.iter().map(|item| note(item, "n", "words")).collect(),
            items: std::iter::once(root).chain(items).collect(),
            projects: vec![there],
            ..Import::default()
        };
        self.run(import).await;
    }
}

/// Every command once, on a project of its own.
async fn story(bench: &Bench, slug: &str, size: usize) -> BTreeMap<&'static str, u64> {
    let engine = Engine::new(bench.store.clone());
    let mut teller = Teller { bench, engine, project: bench.project.clone(), size, costs: BTreeMap::new() };
    let set = SetProject {
        slug: Slug::parse(slug).expect("a slug"),
        name: None,
        prefix: None,
        workflow: None,
        schemas: None,
        archived: None,
        must_be_new: true,
    };
    teller.project = teller.run(set).await.project;
    let settings = Settings { max_depth: Some(7), ..Settings::default() };
    teller.run(SetSettings { slug: teller.project.slug.clone(), settings }).await;
    // The rules of a project are read once.
    teller.item("first").await;
    teller.items().await;
    teller.words().await;
    teller.checked().await;
    teller.work().await;
    teller.sessions().await;
    teller.knowledge().await;
    teller.keys().await;
    teller.import().await;
    teller.costs
}

/// No command costs more for more rows.
///
/// The bugs this would catch: a loop around a statement; a command that nobody looked at.
pub async fn no_command_costs_more_for_more_rows(bench: Bench) {
    // What is done for the first time is prepared then.
    story(&bench, "warm", SIZES[0]).await;
    let (few, many) = (story(&bench, "few", SIZES[0]).await, story(&bench, "many", SIZES[1]).await);
    // A statement for each row would be as many more as there are rows more.
    let noise = bench.store.noise();
    assert!(noise * 2 < (SIZES[1] - SIZES[0]) as u64);
    let dearer: Vec<_> = few.iter().filter(|(command, cost)| many[**command] > **cost + noise).collect();
    assert!(dearer.is_empty(), "with more rows these cost more: {dearer:?}, {many:?}");
    let told: Vec<&str> = few.keys().copied().collect();
    for command in commands() {
        assert!(told.contains(&command.as_str()), "{command} is not in the story: say what it is like with many rows");
    }
}

/// The names of all commands, as they are written down.
fn commands() -> Vec<String> {
    let mut folders =
        vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/core/src/command"))];
    let mut names = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the folder of commands").filter_map(Result::ok) {
            if entry.path().is_dir() {
                folders.push(entry.path());
                continue;
            }
            let source = std::fs::read_to_string(entry.path()).expect("a file");
            let stated = source.lines().filter_map(|line| line.trim().strip_prefix("const NAME: &'static str = \""));
            names.extend(stated.filter_map(|rest| rest.split('"').next()).map(str::to_owned));
        }
    }
    assert!(names.len() > 40, "the commands are elsewhere now");
    names
}
