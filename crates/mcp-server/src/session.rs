//! Who is connected and to what: the circumstances that every call of a connection shares.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use docket_core::engine::Call;
use docket_core::model::{Attribution, DegradedMode, Item, Key, KeyPrefix, Name, ProjectId, RequestId};
use docket_core::store::ProjectRef;
use docket_core::{Engine, Error, Reason};
use uuid::Uuid;

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
    /// Whether moves and notes must say who makes them.
    pub require_actor: bool,
}

/// One connection.
#[derive(Clone, Debug)]
pub struct Session {
    settings: Settings,
    prefixes: SharedKeys,
}

/// What items are called. A project's prefix never changes, so each is read once, for all who share this.
pub(crate) type SharedKeys = Arc<RwLock<Keys>>;

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
        Self { settings, prefixes }
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

    /// The circumstances of one request, with fresh randomness for the ids it makes.
    pub fn call(&self, by: Option<Attribution>, request: Option<RequestId>) -> Call {
        Call {
            principal: self.settings.principal.clone(),
            by: by.or_else(|| self.settings.actor.clone()),
            policy: self.settings.policy,
            request,
            requester: None,
            access: Arc::default(),
            seed: Uuid::new_v4().as_u128(),
        }
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
