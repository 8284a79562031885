//! A command as a unit of work that a store can run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::call::Call;
use crate::access::Needs;
use crate::error::{Error, Reason};
use crate::limits;
use crate::model::{ProjectId, Verb};
use crate::plant::{Bug, planted};
use crate::store::{AnswerKey, ChangeSet, Scope, Slice, Step, StoredAnswer, Unit};

/// What a command decides.
#[derive(Debug)]
pub enum Decision<T> {
    /// It must see more first.
    Look(Box<Scope>),
    /// Persist the change set and answer. An empty change set persists nothing and burns no request id, unless the
    /// command says otherwise.
    Done(Box<ChangeSet>, T),
}

impl<T> Decision<T> {
    /// The decision to write and answer.
    pub fn done(changes: ChangeSet, answer: T) -> Self {
        Self::Done(Box::new(changes), answer)
    }
}

/// One use case. `decide` is pure: no I/O, no clock, no randomness but the call's seed.
pub trait Command: Serialize + Send + Sync + 'static {
    /// What it answers; kept under the request id, so that a retry gets the same.
    type Output: Serialize + DeserializeOwned + Send + 'static;

    /// Its name, under which answers are kept.
    const NAME: &'static str;

    /// Who may run it.
    const NEEDS: Needs;

    /// Whether its answer is kept under the request id even where it changes no row.
    const KEPT_ALONE: bool = false;

    /// What it must see, always bounded.
    fn scope(&self, call: &Call) -> Scope;

    /// Decides over what it was shown.
    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<Self::Output>, Error>;
}

/// Where a unit leaves its answer.
pub(super) struct Outcome<T>(Arc<Mutex<Option<Result<T, Error>>>>);

impl<T> Outcome<T> {
    fn set(&self, outcome: Result<T, Error>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
    }

    /// Whether the unit has decided nothing yet: then a store that gives up has written nothing of it.
    pub(super) fn is_open(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// The answer, once the store has run the unit.
    pub(super) fn take(&self) -> Result<T, Error> {
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        taken.unwrap_or_else(|| {
            Err(Error::new(
                crate::Kind::Transient,
                crate::Code::Unavailable,
                Reason::StoreFailed,
                "the store gave the unit of work back undecided",
            ))
        })
    }
}

/// Answers in memory, which is where a planted bug keeps them.
static IN_MEMORY: Mutex<BTreeMap<AnswerKey, StoredAnswer>> = Mutex::new(BTreeMap::new());

/// A command on its way through a store.
pub(super) struct CommandUnit<C: Command> {
    call: Call,
    command: Arc<C>,
    digest: [u8; 32],
    outcome: Outcome<C::Output>,
}

impl<C: Command> CommandUnit<C> {
    pub(super) fn new(call: Call, command: Arc<C>) -> (Self, Outcome<C::Output>) {
        let slot = Arc::new(Mutex::new(None));
        let digest = if call.request.is_some() { call.digest(C::NAME, command.as_ref()) } else { [0; 32] };
        (Self { call, command, digest, outcome: Outcome(Arc::clone(&slot)) }, Outcome(slot))
    }

    /// The answer given before under the same request id, if it was the same request.
    fn earlier(&self, seen: &Slice) -> Option<Result<C::Output, Error>> {
        let remembered = if planted(Bug::AnswersInMemory) { self.remembered() } else { None };
        let stored = seen.answer.as_ref().or(remembered.as_ref())?;
        if stored.digest != self.digest {
            return Some(Err(Error::conflict(
                Reason::RequestIdReused,
                "this requestId was used for another request: use a new one for each logical operation",
            )
            .at("requestId")));
        }
        Some(serde_json::from_value(stored.answer.clone()).map_err(|_| {
            Error::conflict(Reason::RequestIdReused, "the stored answer is of another version of this program")
        }))
    }

    /// The answer that this process remembers; only a planted bug has any.
    fn remembered(&self) -> Option<StoredAnswer> {
        let key = self.call.answer_key(C::NAME)?;
        IN_MEMORY.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()
    }

    fn keep(&self, changes: &mut ChangeSet, answer: &C::Output, seen: &Slice) {
        let Some(key) = self.call.answer_key(C::NAME) else { return };
        if (*changes == ChangeSet::default() && !C::KEPT_ALONE) || planted(Bug::AnswersForgotten) {
            return;
        }
        if let Ok(answer) = serde_json::to_value(answer) {
            let expires_at = crate::model::Timestamp::from_millis(seen.now.as_millis() + limits::ANSWER_KEPT_MS);
            let answer = StoredAnswer { key, digest: self.digest, answer, expires_at };
            if planted(Bug::AnswersInMemory) {
                IN_MEMORY.lock().unwrap_or_else(PoisonError::into_inner).insert(answer.key.clone(), answer);
                return;
            }
            changes.answer = Some(answer);
        }
    }
}

impl<C: Command> Unit for CommandUnit<C> {
    fn scope(&self) -> Scope {
        let scope = self.call.limited(self.command.scope(&self.call));
        Scope { answer: self.call.answer_key(C::NAME), ..scope }
    }

    fn decide(&mut self, seen: &Slice) -> Step {
        if let Some(earlier) = self.earlier(seen) {
            self.outcome.set(self.call.access.check_key(seen).and(earlier));
            return Step::Nothing;
        }
        match decide(&self.call, self.command.as_ref(), seen) {
            Ok(Decision::Look(scope)) => Step::Look(Box::new(self.call.limited(*scope))),
            Ok(Decision::Done(mut changes, answer)) => {
                self.keep(&mut changes, &answer, seen);
                self.outcome.set(Ok(answer));
                if *changes == ChangeSet::default() { Step::Nothing } else { Step::Commit(changes) }
            }
            Err(error) => {
                self.outcome.set(Err(error));
                Step::Nothing
            }
        }
    }
}

/// A command's decision, unless it reaches beyond what the caller may change.
pub(crate) fn decide<C: Command>(call: &Call, command: &C, seen: &Slice) -> Result<Decision<C::Output>, Error> {
    call.access.check_key(seen)?;
    call.access.check_named(seen)?;
    let decision = command.decide(call, seen)?;
    if let Decision::Done(changes, _) = &decision {
        call.access.check_changes(seen, changes)?;
        check_live(seen, changes)?;
        super::lowered::check(&call.access.limits, seen, changes)?;
    }
    Ok(decision)
}

/// Refuses a write in a project that was put away, unless it is the project that is written.
fn check_live(seen: &Slice, changes: &ChangeSet) -> Result<(), Error> {
    let away = |id: ProjectId| seen.projects.get(&id).filter(|project| project.archived_at.is_some());
    let mut written = changes.events.iter().filter(|event| event.verb != Verb::ProjectSet);
    match written.find_map(|event| away(event.project)) {
        None => Ok(()),
        Some(project) => Err(Error::conflict(
            Reason::Archived,
            format!("the project \"{}\" is archived: bring it back before changing anything in it", project.slug),
        )),
    }
}
