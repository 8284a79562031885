//! The queue of runs over a real store: nothing hides what a runner may make, and a look costs the same for one as for many.

use async_trait::async_trait;
use docket_core::Error;
use docket_core::checks::Allowed;
use docket_core::command::Report;
use docket_core::engine::{Call, Engine};
use docket_core::limits;
use docket_core::model::{Brief, Item, Name, Project, Run, RunEnd, RunState, Taking, Tree};
use docket_core::prove::{Listener, Next, Prover};
use docket_core::store::{ChangeSet, ProjectRef, RunChange};
use docket_core::testing::rows::{check, run};

use super::support::{Bench, item, name, project};

/// One who makes everything at once, without a work tree.
#[derive(Debug)]
struct Quick(Name);

#[async_trait]
impl Prover for Quick {
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
        Report::undone(RunEnd::Exited { code: 0 })
    }
}

async fn look(engine: &Engine, project: ProjectRef) -> Next {
    let runner = Quick(name("quick"));
    let call = Call::new(name("ada"), super::support::new_uuid().as_u128());
    engine.make_next_run(&runner, &Taking::Served(None), &call, &project).await.expect("a look")
}

/// However many runs wait for an approval, those behind them are made; and what is barred costs no unit of work each.
pub async fn what_is_barred_hides_nothing(bench: Bench) {
    let (barred, free) = (item(&bench.project, 1, "barred"), item(&bench.project, 2, "free"));
    let known = check("tests", "true");
    let unapproved = docket_core::model::Check { approved: None, ..known.clone() };
    let brief = |check| Brief { checks: vec![check], ..Brief::default() };
    let mut runs: Vec<Run> = (0..limits::PAGE + 5).map(|_| run(&barred, RunState::Queued)).collect();
    let last = Run { again: true, ..run(&free, RunState::Queued) };
    runs.push(last.clone());
    let runs = runs.into_iter().map(|run| RunChange { run, log: None }).collect();
    let briefs = vec![(barred.id, brief(unapproved)), (free.id, brief(known))];
    bench.put(ChangeSet { new_items: vec![barred, free], briefs, runs, ..ChangeSet::default() }).await;
    let engine = Engine::new(bench.store.clone());
    let Next::Made(made) = look(&engine, ProjectRef::Id(bench.project.id)).await else { panic!("nothing was made") };
    assert_eq!((made.id, made.state), (last.id, RunState::Passed));
    let before = bench.store.round_trips();
    let next = look(&engine, ProjectRef::Id(bench.project.id)).await;
    assert!(matches!(next, Next::Nothing { look_again: None }), "{next:?}");
    let asked = bench.store.round_trips() - before;
    assert!(asked <= 20, "two pages, each with its items: not {asked} questions");
}

/// A runner makes the runs of the project it is set up for, and no others.
pub async fn a_runner_keeps_to_its_project(bench: Bench) {
    let second = project("second", "SEC");
    bench.put(ChangeSet { projects: vec![second.clone()], ..ChangeSet::default() }).await;
    let theirs = item(&second, 1, "theirs");
    let waiting = Run { again: true, ..run(&theirs, RunState::Queued) };
    let briefs = vec![(theirs.id, Brief { checks: vec![check("tests", "true")], ..Brief::default() })];
    let runs = vec![RunChange { run: waiting.clone(), log: None }];
    bench.put(ChangeSet { new_items: vec![theirs], briefs, runs, ..ChangeSet::default() }).await;
    let engine = Engine::new(bench.store.clone());
    let mine = look(&engine, ProjectRef::Id(bench.project.id)).await;
    assert!(matches!(mine, Next::Nothing { .. }), "{mine:?}");
    let Next::Made(made) = look(&engine, ProjectRef::Id(second.id)).await else { panic!("nothing was made") };
    assert_eq!(made.id, waiting.id);
}
