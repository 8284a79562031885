//! Who is connected and to what: the circumstances that every call of a connection shares.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use docket_core::access::Needs;
use docket_core::engine::{Call, Called};
use docket_core::model::{
    ActorClaim, Attribution, DegradedMode, Item, Key, KeyPrefix, Name, ProjectId, RequestId, Text, Verdict,
    Verification, VerificationStatus,
};
use docket_core::proof::ProofVerifier;
use docket_core::prove::Listener;
use docket_core::query::Agent;
use docket_core::store::ProjectRef;
use docket_core::{Engine, Error, Reason};
use rmcp::model::JsonObject;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::person::{Person, Returning};

/// What a connection is made with. The composition root fills it in.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The rules and the store behind them.
    pub engine: Engine,
    /// The project that calls are about.
    pub project: ProjectRef,
    /// Who we know is connected.
    pub principal: Name,
    /// Who acts when a call names nobody: only where it was fixed explicitly at start.
    pub actor: Option<Attribution>,
    /// Whose word counts when a proof could not be verified.
    pub policy: DegradedMode,
    /// How proofs of actors are checked.
    pub verifier: Arc<dyn ProofVerifier>,
    /// Whether moves and notes must say who makes them.
    pub require_actor: bool,
}

/// One connection.
#[derive(Clone, Debug)]
pub struct Session {
    settings: Settings,
    prefixes: SharedKeys,
    /// How far the actors of the call at hand were checked.
    checked: Arc<BTreeMap<Shown, Verdict>>,
    /// The tool that the call at hand is a call of, with its surface.
    called: Option<Arc<Called>>,
    /// Who sits at the other end, where that can be asked.
    person: Option<Person>,
    /// Says that the server is about to stop: nobody waits any longer.
    stopping: CancellationToken,
}

/// What items are called. A project's prefix never changes, so each is read once, for all who share this.
pub(crate) type SharedKeys = Arc<RwLock<Keys>>;

/// An actor's id and what it shows for it.
type Shown = (Name, Option<Text>);

/// What items are called by people, as far as their projects are known.
#[derive(Clone, Debug, Default)]
pub struct Keys(Arc<BTreeMap<ProjectId, KeyPrefix>>);

impl Keys {
    /// The key of an item.
    pub fn of(&self, item: &Item) -> Option<Key> {
        self.0.get(&item.project).map(|prefix| Key { prefix: prefix.clone(), number: item.number })
    }
}

impl Session {
    /// A connection with these settings.
    pub fn new(settings: Settings) -> Self {
        Self::sharing(settings, SharedKeys::default())
    }

    /// The same for one of many that share what they know of keys.
    pub(crate) fn sharing(settings: Settings, prefixes: SharedKeys) -> Self {
        Self {
            settings,
            prefixes,
            checked: Arc::default(),
            called: None,
            person: None,
            stopping: CancellationToken::new(),
        }
    }

    /// The same on a server that says by this when it is about to stop.
    pub(crate) fn until(self, stopping: CancellationToken) -> Self {
        Self { stopping, ..self }
    }

    /// Resolves when the server is about to stop.
    pub(crate) async fn stopped(&self) {
        self.stopping.cancelled().await;
    }

    /// Whether the server is about to stop.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.is_cancelled()
    }

    /// The timer of whoever waits for something: when the server is about to stop, the time is over.
    pub(crate) async fn sleep(&self, time: Duration) {
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            () = self.stopped() => {}
        }
    }

    /// The same for a call of this tool: names of requests are names of calls of it.
    pub(crate) fn of_tool(self, surface: &str, tool: &str) -> Self {
        Self { called: Some(Called::tool(format!("{surface}/{tool}"))), ..self }
    }

    /// The same with a person at the other end.
    pub(crate) fn with_person(self, person: Option<Person>) -> Self {
        Self { person, ..self }
    }

    /// The same with somebody who is told while checks run.
    pub(crate) fn telling(self, listener: Option<Arc<dyn Listener>>) -> Self {
        let Some(listener) = listener else { return self };
        let engine = self.settings.engine.telling(listener);
        Self { settings: Settings { engine, ..self.settings }, ..self }
    }

    /// The person at the other end, where a form can be shown.
    pub(crate) fn person(&self) -> Option<&Person> {
        self.person.as_ref()
    }

    /// The person behind a call that comes again.
    pub(crate) fn returning(&self) -> Option<&Returning> {
        match self.person.as_ref()? {
            Person::Returning(returning) => Some(returning),
            Person::Connected(_) => None,
        }
    }

    /// Whether the caller may do this at all.
    pub(crate) fn allows(&self, needs: Needs) -> bool {
        self.settings.engine.access().allows(needs)
    }

    /// The rules.
    pub fn engine(&self) -> &Engine {
        &self.settings.engine
    }

    /// The project that calls are about.
    pub fn project(&self) -> &ProjectRef {
        &self.settings.project
    }

    /// The keys of these items. Only the first question about a project asks the store, and a failure costs an answer
    /// its keys and no more: by then its work may be done.
    pub async fn keys<'i>(&self, mut items: impl Iterator<Item = &'i Item> + Send) -> Keys {
        let known = self.prefixes.read().unwrap_or_else(PoisonError::into_inner).clone();
        if items.all(|item| known.0.contains_key(&item.project)) {
            return known;
        }
        let projects = match self.engine().projects().await {
            Ok(projects) => projects,
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "the projects' prefixes could not be read");
                return known;
            }
        };
        let all = Keys(Arc::new(projects.into_iter().map(|project| (project.id, project.prefix)).collect()));
        self.prefixes.write().unwrap_or_else(PoisonError::into_inner).clone_from(&all);
        all
    }

    /// The circumstances of one request, with fresh randomness for the ids it makes. In a round after the first it has the
    /// name of the whole: what was done before is not done again.
    pub fn call(&self, by: Option<Attribution>, request: Option<RequestId>) -> Call {
        let again = self.returning().filter(|returning| returning.back.is_some());
        Call {
            by: by.or_else(|| self.settings.actor.clone()),
            policy: self.settings.policy,
            request: request.or_else(|| again.map(|returning| returning.name.clone())),
            called: self.called.clone(),
            access: self.settings.engine.granted(),
            ..Call::new(self.settings.principal.clone(), Uuid::new_v4().as_u128())
        }
    }

    /// The same for what is done before a person is asked, in the first round too: the next finds it by its name.
    pub(crate) fn call_before_asking(&self, call: Call) -> Call {
        match self.returning() {
            Some(returning) if call.request.is_none() => Call { request: Some(returning.name.clone()), ..call },
            Some(_) | None => call,
        }
    }

    /// Who asks for work on this connection, and what they say they can do.
    pub fn agent(&self, capabilities: BTreeSet<Name>) -> Agent {
        Agent { name: self.call(None, None).holder().ok(), capabilities }
    }

    /// Gives up the runs of checks that a call was at which nobody waits for any more, beside the connection.
    pub(crate) fn give_up_runs(&self) {
        let (engine, call) = (self.settings.engine.telling_nobody(), self.call(None, None));
        if !engine.runs_checks() {
            return;
        }
        tokio::spawn(async move {
            if let Err(error) = engine.give_up_dropped_runs(&call).await {
                tracing::warn!(error = &error as &dyn std::error::Error, "a run that nobody wants was not given up");
            }
        });
    }

    /// Has the checks made that wait, beside the connection: nobody waits for them. Where they are run elsewhere, a runner takes
    /// them; what is left when the process ends is made by whoever comes next.
    pub(crate) fn make_waiting(&self) {
        let engine = self.settings.engine.telling_nobody();
        if !engine.runs_checks() {
            return;
        }
        let (call, project) = (self.call(None, None), self.settings.project.clone());
        tokio::spawn(async move {
            if let Err(error) = engine.make_waiting(&call, &project).await {
                tracing::warn!(error = &error as &dyn std::error::Error, "checks that waited were not made");
            }
        });
    }

    /// Who holds what this connection claims.
    pub(crate) fn holder(&self) -> Result<Name, Error> {
        self.call(None, None).holder()
    }

    /// The same where the parts of a request state actors of their own. The first of them says whose request id it is,
    /// if the whole names nobody; it acts in its own part and in no other.
    pub fn call_of_parts(
        &self,
        by: Option<Attribution>,
        first: Option<&Attribution>,
        request: Option<RequestId>,
    ) -> Call {
        let requester = first.filter(|_| by.is_none()).map(|who| who.actor.id.clone());
        Call { requester, ..self.call(by, request) }
    }

    /// The same connection for one call: the proofs of all actors that its arguments name are checked first, each once.
    pub async fn checking(&self, arguments: &JsonObject) -> Self {
        let mut shown = BTreeSet::new();
        arguments.iter().for_each(|(key, value)| find_actors(key, value, &mut shown));
        let mut checked = BTreeMap::new();
        for (id, proof) in shown {
            let verdict = self.settings.verifier.verify(&id, proof.as_ref().map(Text::as_str)).await;
            checked.insert((id, proof), verdict);
        }
        Self { checked: Arc::new(checked), ..self.clone() }
    }

    /// An actor with the record of its check, and by the name that its proof gives it.
    pub fn attributed(&self, actor: ActorClaim) -> Attribution {
        let known = self.checked.get(&(actor.id.clone(), actor.proof.clone())).cloned();
        // An actor that was not looked at has shown nothing.
        let verdict = known.unwrap_or_else(|| {
            Verdict::of(Verification {
                status: VerificationStatus::Rejected,
                reason: Some("the actor was not found where actors stand".to_owned()),
                ..Verification::unchecked()
            })
        });
        if verdict.subject.as_ref().is_some_and(|subject| *subject != actor.id) {
            tracing::warn!("an actor calls itself otherwise than its proof does");
        }
        Attribution::checked(actor, verdict, self.settings.policy)
    }

    /// An actor named in an argument, as it is recorded: where the connection's own actor is fixed, that one sent it.
    pub fn delegated(&self, mut who: Attribution) -> Attribution {
        if let Some(bound) = &self.settings.actor
            && who.actor.parent.is_none()
            && who.actor.id != bound.actor.id
        {
            who.actor.parent = Some(bound.actor.id.clone());
        }
        who
    }

    /// Refuses a write that nobody says they make, where the settings ask for it. `stated`: whether somebody did.
    pub fn check_stated(&self, stated: bool, field: impl FnOnce() -> String) -> Result<(), Error> {
        if stated || !self.settings.require_actor || self.settings.actor.is_some() {
            return Ok(());
        }
        let field = field();
        Err(Error::validation(
            Reason::ActorRequired,
            format!("{field} is required: this server asks who makes each move and note; add {{\"id\", \"kind\"}}"),
        )
        .at(field))
    }
}

/// Every actor in a call's arguments, as the tools will read it.
fn find_actors(key: &str, value: &Value, shown: &mut BTreeSet<Shown>) {
    match value {
        Value::Object(fields) => {
            if key == "actor"
                && let Some(id) = fields.get("id").and_then(Value::as_str).and_then(|id| Name::parse(id).ok())
            {
                let proof = fields.get("proof").and_then(Value::as_str).filter(|proof| !proof.trim().is_empty());
                let proof = proof.and_then(|proof| Text::parse(proof).ok());
                shown.insert((id, proof));
            }
            fields.iter().for_each(|(key, value)| find_actors(key, value, shown));
        }
        Value::Array(entries) => entries.iter().for_each(|entry| find_actors("", entry, shown)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
