//! A store that has no time for whoever has worked: what a check was found to be is recorded once there is some.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use docket_core::Error;
use docket_core::checks::Allowed;
use docket_core::command::Report;
use docket_core::engine::{Call, Engine};
use docket_core::model::{Brief, Item, Name, Project, Run, RunEnd, RunState, Taking, Tree};
use docket_core::prove::{Here, Listener, Next, Prover, Runs};
use docket_core::store::{ChangeSet, ProjectRef, RunChange, Scope, Slice, Step, Store, Unit};
use docket_core::testing::rows::{check, run};
use docket_store_postgres::{PostgresOptions, PostgresStore};
use docket_tests::contract::support::{Put, item, name, new_uuid, project};
use docket_tests::postgres::Database;
use tokio::sync::oneshot;

/// Has the only connection for a while.
struct Holds(Duration, Option<oneshot::Sender<()>>);

impl Unit for Holds {
    fn scope(&self) -> Scope {
        Scope::default()
    }

    fn decide(&mut self, _seen: &Slice) -> Step {
        if let Some(begun) = self.1.take() {
            let _ = begun.send(());
            std::thread::sleep(self.0);
        }
        Step::Nothing
    }
}

/// Makes a check in no time; meanwhile somebody takes the connection.
#[derive(Debug)]
struct Meanwhile(Name, Arc<PostgresStore>);

#[async_trait]
impl Prover for Meanwhile {
    fn name(&self) -> &Name {
        &self.0
    }

    fn allowed(&self) -> &Allowed {
        &Allowed::Nothing
    }

    fn place(&self) -> Option<&Name> {
        None
    }

    async fn tree(&self, _project: &Project) -> Result<Option<Tree>, Error> {
        Ok(None)
    }

    async fn run(&self, _run: &Run, _item: &Item, _project: &Project, _listener: &dyn Listener) -> Report {
        let (begun, holds) = oneshot::channel();
        let store = Arc::clone(&self.1);
        tokio::spawn(async move { store.execute(Box::new(Holds(Duration::from_millis(900), Some(begun)))).await });
        holds.await.expect("it begins");
        Report::undone(RunEnd::Exited { code: 0 })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn the_end_of_a_run_is_recorded_once_there_is_a_connection() {
    let database = Database::new();
    let mut options = PostgresOptions::parse(&database.url()).expect("an address");
    (options.connections, options.unit_wait) = (1, Duration::from_millis(50));
    let store = Arc::new(PostgresStore::open(options).await.expect("a store"));
    let home = project("home", "HOME");
    let checked = item(&home, 1, "checked");
    let waiting = Run { again: true, ..run(&checked, RunState::Queued) };
    let briefs = vec![(checked.id, Brief { checks: vec![check("tests", "true")], ..Brief::default() })];
    let runs = vec![RunChange { run: waiting, log: None }];
    let projects = vec![home.clone()];
    store.execute(Box::new(Put(ChangeSet { projects, ..ChangeSet::default() }))).await.expect("a project");
    let changes = ChangeSet { new_items: vec![checked], briefs, runs, ..ChangeSet::default() };
    store.execute(Box::new(Put(changes))).await.expect("a run");
    let prover = Arc::new(Meanwhile(name("here"), Arc::clone(&store)));
    let here = Here {
        prover: Arc::clone(&prover) as Arc<dyn Prover>,
        asking_approves: false,
        sleep: Arc::new(|time| Box::pin(tokio::time::sleep(time))),
    };
    let engine = Engine::new(store).running(Runs::Here(here));
    let call = Call::new(name("ada"), new_uuid().as_u128());
    let of = ProjectRef::Id(home.id);
    let made = engine.make_next_run(prover.as_ref(), &Taking::Served(None), &call, &of).await;
    assert!(matches!(&made, Ok(Next::Made(run)) if run.state == RunState::Passed), "{made:?}");
}
