//! Having checks run: the port behind which processes are started, and how a unit of work waits for them without holding
//! anything.
//!
//! No transaction waits for a process. A move that lacks nothing but checks is given up before it writes anything; the
//! checks are run, each result is a unit of work of its own, and the move is tried again by somebody who has just seen the
//! work tree. Either the checks run here, or they are queued for a runner elsewhere; a server reached over the network
//! never runs anything itself.

mod elsewhere;
mod held;
mod here;
mod next;
mod place;
mod room;

use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

pub(crate) use held::Held;
pub use next::{Due, Lane, Next, Waiting};
pub use place::place_name;
pub use room::Room;

use crate::checks::{Allowed, Look};
use crate::command::{OrderRuns, Report};
use crate::engine::{Call, Command, Engine};
use crate::error::{Code, Error, Kind, Reason};
use crate::model::{
    About, Authority, Check, CheckKind, Criterion, CriterionId, Definition, Evidence, Item, ItemRef, Key, Name,
    Project, Run, RunEnd, RunState, Timestamp, Tree,
};
use crate::plant::{Bug, planted};
use crate::store::{Around, ProjectRef, Scope, Slice};

/// When whoever found no place to wait should come again.
const FULL_RETRY_MS: u64 = 1_000;

/// What is told while checks run.
pub trait Listener: Send + Sync {
    /// Checks are wanted: whoever called waits from here on, and needs nothing that others could use meanwhile.
    fn waits(&self) {}

    /// The same for whoever waits for work or for a change. False where as many wait already as may.
    fn idles(&self) -> bool {
        true
    }

    /// A run begins: its place among those that are made now, counted from 1, and how many there are.
    fn begins(&self, run: &Run, place: usize, of: usize);

    /// It said something; already cleaned of what could harm a terminal or tell a secret.
    fn says(&self, run: &Run, text: &str);

    /// It ended.
    fn ends(&self, run: &Run);

    /// A run that is wanted is being made by somebody else, who counts as gone after this time unless it ends before.
    fn follows(&self, _run: &Run, _at_most: Duration) {}

    /// A run waits that nobody lets run: the check of this item is to be approved first.
    fn barred(&self, _run: &Run, _item: &Key) {}
}

/// Nobody listens.
#[derive(Clone, Copy, Debug)]
pub struct Silence;

impl Listener for Silence {
    fn begins(&self, _run: &Run, _place: usize, _of: usize) {}
    fn says(&self, _run: &Run, _text: &str) {}
    fn ends(&self, _run: &Run) {}
}

/// Somebody who listens beside another.
struct Both(Arc<dyn Listener>, Arc<dyn Listener>);

impl Listener for Both {
    fn waits(&self) {
        self.0.waits();
        self.1.waits();
    }

    fn idles(&self) -> bool {
        // Both are told, whatever the first one says.
        let first = self.0.idles();
        self.1.idles() && first
    }

    fn begins(&self, run: &Run, place: usize, of: usize) {
        self.0.begins(run, place, of);
        self.1.begins(run, place, of);
    }

    fn says(&self, run: &Run, text: &str) {
        self.0.says(run, text);
        self.1.says(run, text);
    }

    fn ends(&self, run: &Run) {
        self.0.ends(run);
        self.1.ends(run);
    }

    fn follows(&self, run: &Run, at_most: Duration) {
        self.0.follows(run, at_most);
        self.1.follows(run, at_most);
    }

    fn barred(&self, run: &Run, item: &Key) {
        self.0.barred(run, item);
        self.1.barred(run, item);
    }
}

/// Somebody who starts processes and asks the world outside.
#[async_trait]
pub trait Prover: Send + Sync + fmt::Debug {
    /// Who runs them.
    fn name(&self) -> &Name;

    /// What the operator lets run without anybody's approval.
    fn allowed(&self) -> &Allowed;

    /// The work tree that it has, told apart from all others; none where there is no git.
    fn place(&self) -> Option<&Name>;

    /// The work tree that checks of a project are run on, as it is now; none where there is no git.
    async fn tree(&self, project: &Project) -> Result<Option<Tree>, Error>;

    /// Leave to run a command in its work tree, once there is room: two at once may disturb each other.
    async fn room(&self) -> Room {
        Room::default()
    }

    /// The same, where there is room at this moment.
    fn room_now(&self) -> Option<Room> {
        Some(Room::default())
    }

    /// Makes a check, to its end. Whatever goes wrong is a report too. Dropped before its end, it leaves no process behind.
    async fn run(&self, run: &Run, item: &Item, project: &Project, listener: &dyn Listener) -> Report;
}

/// The shell's timer: the core has none.
pub type Sleep = Arc<dyn Fn(Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// Where checks are run.
#[derive(Clone)]
pub enum Runs {
    /// In this process.
    Here(Here),
    /// By a runner that takes them from the database. Whoever wants them waits for it, for a while.
    Elsewhere {
        /// For how long.
        patience: Duration,
        /// By whose clock.
        sleep: Sleep,
        /// What runners make without anybody's approval, as far as this process knows: what nobody lets run is refused at once.
        allowed: Allowed,
    },
}

/// Checks are run in this process.
#[derive(Clone)]
pub struct Here {
    /// By whom.
    pub prover: Arc<dyn Prover>,
    /// Whether to ask for a run is to approve it: at a terminal. It never is for somebody who acts as an agent.
    pub asking_approves: bool,
    /// Whose clock says that another process does not come back.
    pub sleep: Sleep,
}

impl Here {
    /// What of an item a caller may run though nobody approved it. Who asks for a run approves what is run; who moves an item asks
    /// for no command in particular, and has only those made that are of the same hand.
    fn lets(&self, call: &Call, subject: &Subject, why: Why) -> Vec<Definition> {
        let by_person = self.asking_approves && !crate::command::is_agent(call);
        let author = call.actor().ok();
        let own = |check: &Check| check.authority == Authority::Human && Some(&check.author) == author;
        let lets = |check: &&Check| {
            let asked = match why {
                Why::Asked => check.kind.is_runnable(),
                Why::Moved => check.kind.is_runnable() && own(check),
            };
            (by_person && asked) || self.prover.allowed().lets(&check.kind)
        };
        subject.checks.iter().filter(lets).map(Check::definition).collect()
    }
}

impl Runs {
    /// What the operator lets run without anybody's approval.
    pub(crate) fn allowed(&self) -> &Allowed {
        match self {
            Self::Here(here) => here.prover.allowed(),
            Self::Elsewhere { allowed, .. } => allowed,
        }
    }

    /// The shell's timer.
    pub(crate) fn timer(&self) -> &Sleep {
        match self {
            Self::Here(here) => &here.sleep,
            Self::Elsewhere { sleep, .. } => sleep,
        }
    }

    /// The work tree that they are run in, where that is known.
    pub(crate) fn place(&self) -> Option<&Name> {
        match self {
            Self::Here(here) => here.prover.place(),
            Self::Elsewhere { .. } => None,
        }
    }
}

impl fmt::Debug for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Here(here) => f.debug_tuple("Here").field(&here.prover).finish(),
            Self::Elsewhere { patience, .. } => f.debug_tuple("Elsewhere").field(patience).finish(),
        }
    }
}

/// What became of checks that were wanted.
#[derive(Clone, Debug)]
pub struct Proved {
    /// What was seen of the work tree.
    pub look: Look,
    /// The runs that were made for it, in the order of the checks.
    pub runs: Vec<Run>,
    /// The checks that needed no run: nothing changed since their last.
    pub unchanged: Vec<usize>,
}

impl Proved {
    /// How many results were written to the item by it.
    pub(crate) fn results(&self) -> u64 {
        let wrote = |run: &&Run| {
            let said = !matches!(run.end, Some(RunEnd::Unchanged { .. }));
            said && matches!(run.state, RunState::Passed | RunState::Failed)
        };
        self.runs.iter().filter(wrote).count() as u64
    }

    /// That a check could not be made, so that nothing is known of it.
    pub(crate) fn trouble(&self) -> Option<Error> {
        self.runs
            .iter()
            .find_map(not_made)
            .map(|message| Error::new(Kind::Permanent, Code::Unavailable, Reason::NoRunner, message))
    }
}

/// Why checks are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// Somebody asked for them.
    Asked,
    /// Somebody moves their item, which needs them.
    Moved,
}

/// Which checks are wanted.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// These, by place; all that can be run, where none is named.
    pub only: Vec<usize>,
    /// Even where nothing changed.
    pub again: bool,
}

impl Engine {
    /// The same engine, which has checks run.
    #[must_use]
    pub fn running(&self, runs: Runs) -> Self {
        Self { runs: Some(runs), ..self.clone() }
    }

    /// The same engine, with one more who is told while checks run and when a call begins to wait.
    #[must_use]
    pub fn telling(&self, listener: Arc<dyn Listener>) -> Self {
        Self { listener: Arc::new(Both(Arc::clone(&self.listener), listener)), ..self.clone() }
    }

    /// The same engine for what goes on after the call: nobody is told of it.
    #[must_use]
    pub fn telling_nobody(&self) -> Self {
        Self { listener: Arc::new(Silence), ..self.clone() }
    }

    /// Says that whoever called waits from here on for work or for a change; refused where as many wait already as may.
    pub fn begins_to_wait(&self) -> Result<(), Error> {
        if self.listener.idles() {
            return Ok(());
        }
        let message = "as many calls wait here as may";
        let error = Error::new(Kind::Shedding, Code::Unavailable, Reason::Overloaded, message);
        Err(Error { retry_after_ms: Some(FULL_RETRY_MS), ..error })
    }

    /// The same engine, for a caller who says which work tree it is in: what it orders elsewhere is about that one.
    #[must_use]
    pub fn said_to_be_in(&self, place: Option<Name>) -> Self {
        Self { said_place: place, ..self.clone() }
    }

    /// Whether it has checks run, here or elsewhere.
    pub fn runs_checks(&self) -> bool {
        self.runs.is_some()
    }

    /// Makes the checks of an item and records what became of them; moves nothing, unless the item was handed in. Under the
    /// name of a request they are made once: who asks again gets the same runs.
    pub async fn prove(
        &self,
        call: &Call,
        project: ProjectRef,
        item: ItemRef,
        wanted: Wanted,
    ) -> Result<Proved, Error> {
        self.prove_for(call, project, item, wanted, Why::Asked).await
    }

    /// The same, where they are made because somebody moves the item.
    pub(crate) async fn prove_for_a_move(&self, call: &Call, item: ItemRef) -> Result<Proved, Error> {
        self.prove_for(call, ProjectRef::Any, item, Wanted::default(), Why::Moved).await
    }

    async fn prove_for(
        &self,
        call: &Call,
        project: ProjectRef,
        item: ItemRef,
        wanted: Wanted,
        why: Why,
    ) -> Result<Proved, Error> {
        self.may(OrderRuns::NAME, OrderRuns::NEEDS)?;
        self.listener.waits();
        match &self.runs {
            Some(Runs::Here(here)) => {
                let proved = self.prove_here(here, call, project, item, wanted, why).await;
                if proved.is_err() {
                    // What was begun and not ended is nobody's to wait for; that it cannot be told now changes nothing.
                    let _ = self.give_up_dropped_runs(call).await;
                }
                proved
            }
            Some(Runs::Elsewhere { patience, sleep, allowed }) => {
                self.prove_elsewhere(sleep(*patience), allowed, call, project, item, wanted).await
            }
            None => Err(no_runner()),
        }
    }

    /// What is seen of the work tree, where this process can see it and something is known of one.
    pub async fn look_at(&self, project: &Project, checks: &[Check], now: Timestamp) -> Option<Look> {
        let Some(Runs::Here(here)) = &self.runs else { return None };
        if !knows_a_tree(checks) {
            return None;
        }
        let tree = here.prover.tree(project).await.ok().flatten()?;
        Some(Look { tree: Some(tree), since: now })
    }

    /// The same for an item of which nobody has looked at the work tree yet.
    pub(crate) async fn look_at_item(&self, item: ItemRef) -> Result<Option<Look>, Error> {
        let subject = self.subject(ProjectRef::Any, item).await?;
        Ok(self.look_at(&subject.project, &subject.checks, subject.now).await)
    }

    /// What is to be proved, as it is now.
    async fn subject(&self, project: ProjectRef, item: ItemRef) -> Result<Subject, Error> {
        let around = Around { briefs: true, ..Around::default() };
        let scope = Scope {
            project,
            items: vec![item.clone()],
            around,
            visible: self.access.projects.clone(),
            ..Scope::default()
        };
        let seen = self.store.view(&scope).await?;
        let found = seen.resolve(&item)?;
        Subject::of(&seen, found)
    }

    /// Runs a command that is a step of a larger call: it has no name for retries, and ids of its own.
    async fn run_alone<C: Command>(&self, call: &Call, command: C, step: usize) -> Result<C::Output, Error> {
        self.execute(self.step(call, step), Arc::new(command)).await
    }

    fn step(&self, call: &Call, step: usize) -> Call {
        let seed = call.seed.wrapping_add(step as u128);
        let (access, place) = (Arc::clone(&self.access), self.place().cloned());
        Call { request: None, runs_checks: false, access, place, seed, ..call.clone() }
    }
}

/// An item whose checks are to be made.
#[derive(Clone, Debug)]
struct Subject {
    item: Item,
    project: Arc<Project>,
    checks: Vec<Check>,
    /// The criteria that no check has shown or denied as they read now.
    unproved: BTreeSet<CriterionId>,
    now: Timestamp,
}

impl Subject {
    /// An item of those that were loaded.
    fn of(seen: &Slice, item: &Item) -> Result<Self, Error> {
        let brief = seen.briefs.get(&item.id);
        let is_unproved = |criterion: &&Criterion| {
            let about = About::of(&criterion.text);
            let by_check = |evidence: &Evidence| evidence.authority == Authority::Check && evidence.about == about;
            !criterion.evidence.iter().any(by_check)
        };
        let criteria = brief.map_or(&[][..], |brief| &brief.acceptance_criteria);
        Ok(Self {
            item: item.clone(),
            project: Arc::clone(seen.project_of(item)?),
            checks: brief.map(|brief| brief.checks.clone()).unwrap_or_default(),
            unproved: criteria.iter().filter(is_unproved).map(|criterion| criterion.id).collect(),
            now: seen.now,
        })
    }

    /// What may be run of it because the operator says so.
    fn allowed(&self, allowed: &Allowed) -> Vec<Definition> {
        self.checks.iter().filter(|check| allowed.lets(&check.kind)).map(Check::definition).collect()
    }
}

fn knows_a_tree(checks: &[Check]) -> bool {
    checks.iter().filter_map(Check::current).any(|result| result.tree.is_some())
}

/// Whether nothing that a check is about has changed since it was made, the words of the criterion that it proves among it.
fn is_known(subject: &Subject, check: &Check, look: &Look) -> bool {
    let same_tree = |made: &crate::model::CheckResult| {
        made.tree.is_some() && (made.tree == look.tree || planted(Bug::TreeNotCompared))
    };
    let owes_proof = check.proves.is_some_and(|criterion| subject.unproved.contains(&criterion));
    matches!(check.kind, CheckKind::Command { .. }) && !owes_proof && check.current().is_some_and(same_tree)
}

/// The work tree that all runs were made on, if it was the same for all that have one.
fn agreed(runs: &[Run]) -> Option<Tree> {
    let mut trees = runs.iter().filter(|run| matches!(run.kind, CheckKind::Command { .. })).map(|run| &run.tree);
    let first = trees.next()?.clone()?;
    trees.all(|tree| tree.as_ref() == Some(&first)).then_some(first)
}

/// Why a run could not be made, if that is how it ended.
fn not_made(run: &Run) -> Option<String> {
    let Some(RunEnd::NotMade { why, .. }) = &run.end else { return None };
    Some(format!("check {} could not be made: {}", run.check, why.as_str()))
}

fn no_runner() -> Error {
    let message = "nothing here runs checks: start `docket runner` beside the database, or allow it in docket.toml";
    Error::new(Kind::Permanent, Code::Unavailable, Reason::NoRunner, message)
}
