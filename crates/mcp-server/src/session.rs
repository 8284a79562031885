//! Who is connected and to what: the circumstances that every call of a connection shares.

use docket_core::engine::Call;
use docket_core::model::{Attribution, DegradedMode, Name, RequestId};
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
}

impl Session {
    /// A connection with these settings.
    pub fn new(settings: Settings) -> Self {
        Self { settings }
    }

    /// The rules.
    pub fn engine(&self) -> &Engine {
        &self.settings.engine
    }

    /// The project that calls are about.
    pub fn project(&self) -> &ProjectRef {
        &self.settings.project
    }

    /// The circumstances of one request, with fresh randomness for the ids it makes.
    pub fn call(&self, by: Option<Attribution>, request: Option<RequestId>) -> Call {
        Call {
            principal: self.settings.principal.clone(),
            by: by.or_else(|| self.settings.actor.clone()),
            policy: self.settings.policy,
            request,
            requester: None,
            seed: Uuid::new_v4().as_u128(),
        }
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
