//! A database that somebody else is writing: what a check was found to be is not lost for that.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use docket_core::Error;
use docket_core::checks::Allowed;
use docket_core::command::Report;
use docket_core::engine::{Call, Engine};
use docket_core::model::{Brief, Item, Name, Project, Run, RunEnd, RunState, Taking, Tree};
use docket_core::prove::{Here, Listener, Next, Prover, Runs};
use docket_core::store::{ChangeSet, ProjectRef, RunChange};
use docket_core::testing::rows::{check, run};
use docket_store_sqlite::SqliteStore;
use rusqlite::Connection;

use crate::support::{Bench, fast, item, name, new_uuid};

/// Makes a check in no time. Somebody else begins to write meanwhile, and takes a while.
#[derive(Debug)]
struct Meanwhile {
    name: Name,
    database: PathBuf,
    writes: Duration,
}

#[async_trait]
impl Prover for Meanwhile {
    fn name(&self) -> &Name {
        &self.name
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
        let other = Connection::open(&self.database).expect("a connection");
        other.execute_batch("BEGIN IMMEDIATE").expect("the lock");
        let writes = self.writes;
        std::thread::spawn(move || {
            std::thread::sleep(writes);
            other.execute_batch("COMMIT").expect("written");
        });
        Report::undone(RunEnd::Exited { code: 0 })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_run_waits_for_whoever_writes() {
    let bench = Bench::new().await;
    let checked = item(&bench.project, 1, "checked");
    let waiting = Run { again: true, ..run(&checked, RunState::Queued) };
    let briefs = vec![(checked.id, Brief { checks: vec![check("tests", "true")], ..Brief::default() })];
    let runs = vec![RunChange { run: waiting, log: None }];
    bench.put(ChangeSet { new_items: vec![checked], briefs, runs, ..ChangeSet::default() }).await;
    let mut options = fast(&bench.folder);
    options.busy_timeout = Duration::from_millis(50);
    let store = Arc::new(SqliteStore::open(options).await.expect("the database"));
    let prover = Meanwhile {
        name: name("here"),
        database: bench.folder.path().join("docket.db"),
        writes: Duration::from_millis(900),
    };
    let prover = Arc::new(prover);
    let here = Here {
        prover: Arc::clone(&prover) as Arc<dyn Prover>,
        asking_approves: false,
        sleep: Arc::new(|time| Box::pin(tokio::time::sleep(time))),
    };
    let engine = Engine::new(store).running(Runs::Here(here));
    let call = Call::new(name("ada"), new_uuid().as_u128());
    let home = ProjectRef::Id(bench.project.id);
    let made = engine.make_next_run(prover.as_ref(), &Taking::Served(None), &call, &home).await;
    assert!(matches!(&made, Ok(Next::Made(run)) if run.state == RunState::Passed), "{made:?}");
}
