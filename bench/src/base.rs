//! A database with an engine over it, the way the product opens one, and calls by many agents.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use docket_core::Engine;
use docket_core::command::SetProject;
use docket_core::engine::Call;
use docket_core::model::{ActorClaim, ActorKind, Attribution, KeyPrefix, Name, Project, Slug, Verification};
use docket_core::store::ProjectRef;
use docket_core::workflow::Workflow;
use docket_store_postgres::{PostgresOptions, PostgresStore};
use docket_store_sqlite::{Durability, SqliteOptions, SqliteStore};
use tokio::runtime::Runtime;
use uuid::Uuid;

/// Who acts in every event.
pub(crate) const PRINCIPAL: &str = "bench";
const SLUG: &str = "bench";
const PREFIX: &str = "BEN";

/// An open database with one project.
pub(crate) struct Base {
    pub(crate) engine: Engine,
    pub(crate) project: Project,
    store: Backing,
}

/// The store behind an engine.
enum Backing {
    Sqlite(Arc<SqliteStore>),
    Postgres(Arc<PostgresStore>),
}

impl Base {
    /// Opens a database and makes its project when there is none.
    pub(crate) async fn open(path: &Path, durability: Durability) -> Result<Self> {
        let options = SqliteOptions::new(path).create(true).durability(durability);
        let store = Arc::new(SqliteStore::open(options).await.with_context(|| path.display().to_string())?);
        Self::over(Engine::new(Arc::clone(&store) as _), Backing::Sqlite(store)).await
    }

    /// Opens a database on a Postgres server, and makes its project when there is none.
    pub(crate) async fn at(url: &str) -> Result<Self> {
        let store = Arc::new(PostgresStore::open(PostgresOptions::parse(url)?.create(true)).await?);
        Self::over(Engine::new(Arc::clone(&store) as _), Backing::Postgres(store)).await
    }

    async fn over(engine: Engine, store: Backing) -> Result<Self> {
        let set = SetProject {
            slug: Slug::parse(SLUG).map_err(docket_core::Error::from)?,
            name: None,
            prefix: Some(KeyPrefix::parse(PREFIX).map_err(docket_core::Error::from)?),
            workflow: Some(Workflow::standard()),
            schemas: None,
            archived: None,
            must_be_new: false,
        };
        let project = engine.run(call()?, set).await?.project;
        Ok(Self { engine, project, store })
    }

    pub(crate) fn project(&self) -> ProjectRef {
        ProjectRef::Id(self.project.id)
    }

    /// How many commits were made so far.
    pub(crate) fn commits(&self) -> u64 {
        match &self.store {
            Backing::Sqlite(store) => store.commits(),
            Backing::Postgres(store) => store.commits(),
        }
    }

    /// Writes everything into the one file and lets it go.
    pub(crate) async fn close(self) {
        match &self.store {
            Backing::Sqlite(store) => store.close().await,
            Backing::Postgres(store) => store.close().await,
        }
    }
}

/// A call by nobody in particular.
pub(crate) fn call() -> Result<Call> {
    Ok(Call::new(name(PRINCIPAL)?, Uuid::new_v4().as_u128()))
}

/// A call by an agent that says who it is, as agents in a fleet must.
pub(crate) fn call_by(agent: &str) -> Result<Call> {
    let actor = ActorClaim { id: name(agent)?, kind: ActorKind::Subagent, parent: None, proof: None };
    Ok(Call { by: Some(Attribution { actor, verification: Verification::unchecked() }), ..call()? })
}

pub(crate) fn name(text: &str) -> Result<Name> {
    Ok(Name::parse(text).map_err(docket_core::Error::from)?)
}

/// One thread, as the product has; the database's own threads come to it.
pub(crate) fn runtime() -> Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start a runtime")
}
