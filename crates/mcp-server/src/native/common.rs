//! What every tool of the surface reads alike: the project, who acts, the request's name; and answers to parts of a batch.

use docket_core::engine::{Call, Command};
use docket_core::model::{Attribution, ItemRef, RequestId};
use docket_core::store::ProjectRef;
use docket_core::{Error, Reason};

use crate::args::{actor, request_id};
use crate::input::Fields;
use crate::session::Session;

/// Who writes, and under which name.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    by: Option<Attribution>,
    request: Option<RequestId>,
}

impl Writer {
    /// The actor and the request id of a call. Where the server asks who writes, somebody must say so.
    pub(super) fn read(session: &Session, fields: &mut Fields) -> Result<Self, Error> {
        let request = request_id(fields)?;
        let by = actor(session, fields, "actor")?;
        session.check_stated(by.is_some(), || "actor".to_owned())?;
        Ok(Self { by, request })
    }

    /// The circumstances of one command.
    pub(super) fn call(&self, session: &Session) -> Call {
        session.call(self.by.clone(), self.request.clone())
    }
}

/// The project that a call is about: the one it names, else the connection's, else the only one.
pub(super) async fn project(session: &Session, fields: &mut Fields) -> Result<ProjectRef, Error> {
    match named_project(session, fields).await? {
        Some(named) => Ok(named),
        None => session.engine().select_project(None, session.project()).await,
    }
}

/// The project that an item is looked up in: a key or an id names its own.
pub(super) async fn project_of_item(session: &Session, fields: &mut Fields) -> Result<ProjectRef, Error> {
    Ok(named_project(session, fields).await?.unwrap_or_else(|| session.project().clone()))
}

/// The project that a call names. One that was put away is read; what is written in it is refused as that.
async fn named_project(session: &Session, fields: &mut Fields) -> Result<Option<ProjectRef>, Error> {
    let Some(named) = fields.parsed("project", |text| Ok(text.to_owned()))? else { return Ok(None) };
    Ok(Some(ProjectRef::Id(session.engine().project_or_archive(&named).await?.id)))
}

/// Refuses whoever may not run a command, before anything is looked up for it.
pub(super) fn must_allow<C: Command>(session: &Session) -> Result<(), Error> {
    session.engine().may(C::NAME, C::NEEDS)
}

/// The item that a call is about.
pub(super) fn need_item(fields: &mut Fields) -> Result<ItemRef, Error> {
    fields.need("id", str::parse::<ItemRef>)
}

/// The refusal of arguments that do not go together, or of none of them.
pub(super) fn say_one(field: &str, of: &str) -> Error {
    Error::validation(Reason::BadValue, format!("say exactly one of {of}")).at(field)
}
