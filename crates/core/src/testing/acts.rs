//! Things somebody might do, chosen at random, to be done to a world of plain rows and to a real store alike.

mod checks;
mod contract;
mod dice;
mod session;

use std::collections::BTreeMap;

use super::{World, name, required, title};
use crate::command::{
    Advance, Change, Claim, ClaimNext, ClaimRequest, CloseTree, Create, EdgeSpec, Edit, Link, MoveRequest, NewItem,
    NotePut, Parent, Patch, PutNotes, Remove, RemoveNotes, Unlink, Wanted, What,
};
use crate::engine::{Call, Command};
use crate::error::Error;
use crate::model::{
    Complexity, EdgeKind, ItemId, ItemRef, Priority, QuestionId, Role, Run, SessionId, Text, Trigger, Ttl,
};
use crate::store::ProjectRef;
use crate::workflow::{Schema, Schemas, Target, Workflow};

pub use checks::tree;
pub use dice::Dice;

/// One thing somebody does; numbers choose among what is there.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names say what is done to what")]
pub enum Act {
    Create { parent: Option<usize>, priority: u8, complexity: i64, typed: bool, role: Option<Role> },
    Reparent { item: usize, parent: Option<usize> },
    ReparentMany { moves: Vec<(usize, usize)> },
    Rename { item: usize, who: usize },
    Move { item: usize, trigger: Trigger, who: usize },
    MoveTo { item: usize, status: usize, who: usize },
    MoveMany { items: Vec<usize>, trigger: Trigger },
    Claim { item: usize, ttl: bool, who: usize },
    ClaimNext { who: usize },
    Release { item: usize, who: usize },
    Note { item: usize, key: usize, phase: Option<Role>, blank: bool, who: usize },
    Unnote { item: usize },
    Link { from: usize, to: usize, kind: usize, at: usize },
    Unlink { item: usize },
    Remove { item: usize, recursive: bool },
    CloseTree { item: usize, cancel: bool },
    Pass { seconds: u32 },
    Brief { item: usize, criteria: u8, replace: bool, human: bool, who: usize },
    Verify { item: usize, criterion: u32, passed: bool, human: bool, who: usize },
    Ask { item: usize, who: usize },
    Answer { item: usize, withdraw: bool },
    Flag { item: usize, on: bool },
    Remark { item: usize, who: usize },
    Begin { item: usize, who: usize },
    StartNext { who: usize },
    Finish { item: usize, passed: bool, preview: bool, who: usize },
    CloseWhole { item: usize, cancel: bool },
    BeginSession { item: usize, who: usize },
    Heartbeat { item: usize, percent: Option<u8>, who: usize },
    EndSession { item: usize, cancel: bool, who: usize },
    CreateWith { criteria: u8, checks: u8, role: Option<Role> },
    SetChecks { item: usize, checks: u8, add: bool, human: bool, who: usize },
    ApproveChecks { item: usize, who: usize },
    Attest { item: usize, check: usize, passed: bool, who: usize },
    Submit { item: usize, who: usize },
    MoveSeeing { item: usize, trigger: Trigger, tree: u8 },
    OrderRuns { item: usize, started: bool, who: usize },
    TakeRun { item: usize },
    EndRun { item: usize, end: u8, tree: u8, back: bool },
    CancelRun { item: usize },
}

/// Who acts: nobody in particular, or one of three.
pub const AGENTS: [Option<&str>; 4] = [None, Some("ann"), Some("bob"), Some("cyd")];
/// The keys of the notes that are written.
pub const KEYS: [&str; 3] = ["plan", "proof", "verdict"];

/// Where acts are done.
pub trait Stage {
    /// Runs a command.
    fn run<C: Command + Clone>(&mut self, call: &Call, command: &C) -> Result<C::Output, Error>;
    /// A call by this actor.
    fn call(&mut self, actor: Option<&str>) -> Call;
    /// The items, in the order in which they were made.
    fn items(&self) -> Vec<ItemId>;
    /// The workflow.
    fn workflow(&self) -> Workflow;
    /// The newest question on an item.
    fn question_on(&self, item: ItemId) -> Option<QuestionId>;
    /// The newest session on an item.
    fn session_on(&self, item: ItemId) -> Option<SessionId>;
    /// The newest run on an item that has not ended.
    fn run_on(&self, item: ItemId) -> Option<Run>;
    /// The version of an item.
    fn version_of(&self, item: ItemId) -> Option<u64>;
    /// Lets time pass.
    fn pass(&mut self, seconds: u32);
    /// The project.
    fn project(&self) -> ProjectRef {
        World::project()
    }
}

impl Stage for World {
    fn run<C: Command + Clone>(&mut self, call: &Call, command: &C) -> Result<C::Output, Error> {
        Self::run(self, call, command)
    }

    fn call(&mut self, actor: Option<&str>) -> Call {
        Self::call(self, actor)
    }

    fn items(&self) -> Vec<ItemId> {
        let mut items: Vec<_> = self.items.values().collect();
        items.sort_by_key(|item| item.number);
        items.into_iter().map(|item| item.id).collect()
    }

    fn workflow(&self) -> Workflow {
        self.projects.values().next().map_or_else(Workflow::standard, |project| project.workflow.clone())
    }

    fn question_on(&self, item: ItemId) -> Option<QuestionId> {
        self.questions.values().filter(|question| question.item == item).map(|question| question.id).max()
    }

    fn session_on(&self, item: ItemId) -> Option<SessionId> {
        self.sessions.values().filter(|session| session.item == item).map(|session| session.id).max()
    }

    fn run_on(&self, item: ItemId) -> Option<Run> {
        let open = self.runs.values().filter(|run| run.item == item && run.state.is_open());
        open.max_by_key(|run| run.id).cloned()
    }

    fn version_of(&self, item: ItemId) -> Option<u64> {
        self.items.get(&item).map(|item| item.version)
    }

    fn pass(&mut self, seconds: u32) {
        Self::pass(self, seconds);
    }
}

/// Items of the type `job` owe a note in each phase.
pub fn schemas() -> Schemas {
    let notes = vec![required("plan", Role::Queue), required("proof", Role::Work), required("verdict", Role::Review)];
    Schemas { types: BTreeMap::from([("job".to_owned(), Schema { notes, ..Schema::default() })]), ..Schemas::default() }
}

fn pick(stage: &impl Stage, index: usize) -> Option<ItemId> {
    let ids = stage.items();
    (!ids.is_empty()).then(|| ids[index % ids.len()])
}

/// Does an act; nothing happens when what it needs is not there. Returns what the command was refused for.
pub fn perform<S: Stage>(stage: &mut S, act: &Act) -> Option<Error> {
    attempt(stage, act).and_then(Result::err)
}

fn attempt<S: Stage>(stage: &mut S, act: &Act) -> Option<Result<(), Error>> {
    let project = stage.project();
    let at = |stage: &S, index: usize| pick(stage, index).map(ItemRef::Id);
    match act {
        Act::Create { parent, priority, complexity, typed, role } => {
            let mut new = NewItem::titled(title(&format!("item {}", stage.items().len())));
            new.parent = parent.and_then(|parent| at(stage, parent)).map(Parent::Existing);
            new.priority = [Priority::High, Priority::Medium, Priority::Low][usize::from(*priority)];
            new.complexity = Complexity::parse(*complexity).ok();
            new.item_type = typed.then(|| name("job"));
            new.role = *role;
            let call = stage.call(None);
            let create = Create {
                project,
                items: vec![new],
                edges: vec![],
                notes: vec![],
                blank_notes: false,
                room_below: false,
                atomic: false,
            };
            Some(stage.run(&call, &create).map(|_| ()))
        }
        Act::Reparent { item, parent } => {
            let mut patch = Patch::of(at(stage, *item)?);
            patch.parent = parent.and_then(|parent| at(stage, parent)).map_or(Change::Clear, Change::Set);
            let call = stage.call(None);
            Some(stage.run(&call, &Edit { project, patches: vec![patch], atomic: true }).map(|_| ()))
        }
        Act::ReparentMany { moves } => {
            let patch = |(item, parent): &(usize, usize)| {
                Some(Patch { parent: Change::Set(at(stage, *parent)?), ..Patch::of(at(stage, *item)?) })
            };
            let patches = moves.iter().filter_map(patch).collect();
            let call = stage.call(None);
            Some(stage.run(&call, &Edit { project, patches, atomic: false }).map(|_| ()))
        }
        Act::Rename { item, who } => {
            let mut patch = Patch::of(at(stage, *item)?);
            patch.title = Some(title("renamed"));
            let call = stage.call(AGENTS[*who]);
            Some(stage.run(&call, &Edit { project, patches: vec![patch], atomic: true }).map(|_| ()))
        }
        Act::Move { item, trigger, who } => {
            let target = Target::Trigger(*trigger);
            let request = MoveRequest::of(at(stage, *item)?, target);
            let call = stage.call(AGENTS[*who]);
            Some(stage.run(&call, &Advance { project, moves: vec![request], atomic: false }).map(|_| ()))
        }
        Act::MoveTo { item, status, who } => {
            let statuses = stage.workflow().statuses;
            let target = Target::Status(statuses[status % statuses.len()].name.clone());
            let request = MoveRequest::of(at(stage, *item)?, target);
            let call = stage.call(AGENTS[*who]);
            Some(stage.run(&call, &Advance { project, moves: vec![request], atomic: true }).map(|_| ()))
        }
        Act::MoveMany { items, trigger } => {
            let moves = items
                .iter()
                .filter_map(|item| at(stage, *item))
                .map(|item| MoveRequest::of(item, Target::Trigger(*trigger)))
                .collect();
            let call = stage.call(None);
            Some(stage.run(&call, &Advance { project, moves, atomic: false }).map(|_| ()))
        }
        _ => attempt_more(stage, act),
    }
}

fn attempt_more<S: Stage>(stage: &mut S, act: &Act) -> Option<Result<(), Error>> {
    let project = stage.project();
    let at = |stage: &S, index: usize| pick(stage, index).map(ItemRef::Id);
    match act {
        Act::Claim { item, ttl, who } => {
            let ttl = ttl.then(|| Ttl::parse(60).expect("a lease"));
            let claims = vec![ClaimRequest { item: at(stage, *item)?, ttl }];
            let call = stage.call(AGENTS[*who]);
            Some(stage.run(&call, &Claim { project, claims, releases: vec![], ready_only: false }).map(|_| ()))
        }
        Act::ClaimNext { who } => {
            let call = stage.call(AGENTS[*who]);
            Some(stage.run(&call, &ClaimNext { project, wanted: Wanted::default(), ttl: None }).map(|_| ()))
        }
        Act::Release { item, who } => {
            let call = stage.call(AGENTS[*who]);
            Some(
                stage
                    .run(
                        &call,
                        &Claim { project, claims: vec![], releases: vec![at(stage, *item)?], ready_only: false },
                    )
                    .map(|_| ()),
            )
        }
        Act::Note { item, key, phase, blank, who } => {
            let body = Text::parse(if *blank { " " } else { "words" }).expect("a text");
            let (item, key, phase) = (at(stage, *item)?, name(KEYS[*key]), *phase);
            let put = NotePut { item, key, phase, body, by: None, fence: None };
            let call = stage.call(AGENTS[*who]);
            Some(stage.run(&call, &PutNotes { project, notes: vec![put], atomic: false }).map(|_| ()))
        }
        Act::Unnote { item } => {
            let call = stage.call(None);
            Some(
                stage
                    .run(
                        &call,
                        &RemoveNotes {
                            project,
                            ids: vec![],
                            of: Some((at(stage, *item)?, None)),
                            missing_ok: false,
                            fence: None,
                        },
                    )
                    .map(|_| ()),
            )
        }
        _ => attempt_last(stage, act),
    }
}

fn attempt_last<S: Stage>(stage: &mut S, act: &Act) -> Option<Result<(), Error>> {
    let project = stage.project();
    let at = |stage: &S, index: usize| pick(stage, index).map(ItemRef::Id);
    match act {
        Act::Link { from, to, kind, at: threshold } => {
            let kind = EdgeKind::ALL.get(*kind).copied().unwrap_or(EdgeKind::Blocks);
            let unblock_at = (kind == EdgeKind::Blocks)
                .then(|| Role::ALL.get(*threshold).copied())
                .flatten()
                .filter(|role| *role != Role::Blocked);
            let edge = EdgeSpec { from: at(stage, *from)?, to: at(stage, *to)?, kind, unblock_at, inverse: false };
            let call = stage.call(None);
            Some(stage.run(&call, &Link { project, edges: vec![edge], holding: None }).map(|_| ()))
        }
        Act::Unlink { item } => {
            let call = stage.call(None);
            Some(stage.run(&call, &Unlink::Of { project, item: at(stage, *item)?, kind: None }).map(|_| ()))
        }
        Act::Remove { item, recursive } => {
            let call = stage.call(None);
            Some(
                stage
                    .run(
                        &call,
                        &Remove {
                            project,
                            items: vec![at(stage, *item)?],
                            expected_version: None,
                            fence: None,
                            recursive: *recursive,
                            atomic: true,
                        },
                    )
                    .map(|_| ()),
            )
        }
        Act::CloseTree { item, cancel } => {
            let call = stage.call(None);
            Some(
                stage
                    .run(
                        &call,
                        &CloseTree { project, what: What::Beneath(at(stage, *item)?), cancel: *cancel, fence: None },
                    )
                    .map(|_| ()),
            )
        }
        Act::Pass { seconds } => {
            stage.pass(*seconds);
            Some(Ok(()))
        }
        _ => contract::attempt(stage, act),
    }
}
