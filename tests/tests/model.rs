//! The engine on real stores against the model of plain rows: the same random acts, the same refusals, the same
//! rows. A difference means that a scope is loaded wrongly or a change set is not persisted as it was decided.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use docket_core::command::SetProject;
use docket_core::engine::{Call, Command};
use docket_core::model::{Item, ItemId, KeyPrefix, QuestionId, Run, SessionId, Slug};
use docket_core::testing::World;
use docket_core::testing::acts::{Act, Dice, Stage, perform, schemas};
use docket_core::workflow::Workflow;
use docket_core::{Engine, Error};
use docket_tests::audit::read_store;
use docket_tests::contract::support::{Place, Probe};
use docket_tests::places;
use tokio::runtime::Runtime;

const SCRIPTS: u64 = 40;
const ACTS: usize = 60;

/// A real store, with its rows read back after every command.
struct Real {
    runtime: Runtime,
    store: Arc<dyn Probe>,
    engine: Engine,
    rows: World,
    skew: Arc<AtomicI64>,
    workflow: Workflow,
    _place: Box<dyn Place>,
}

impl Real {
    fn new(place: Box<dyn Place>, workflow: Workflow) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        let skew: Arc<AtomicI64> = Arc::default();
        let store = runtime.block_on(place.open(Arc::clone(&skew)));
        let engine = Engine::new(Arc::clone(&store) as Arc<dyn docket_core::store::Store>);
        let rows = World::new(workflow.clone(), schemas());
        let mut real = Self { runtime, store, engine, rows, skew, workflow: workflow.clone(), _place: place };
        let project = SetProject {
            slug: Slug::parse("test").expect("a slug"),
            name: None,
            prefix: Some(KeyPrefix::parse("T").expect("a prefix")),
            workflow: Some(workflow),
            schemas: Some(schemas()),
            archived: None,
            must_be_new: true,
        };
        let call = Stage::call(&mut real, None);
        real.run(&call, &project).expect("a project");
        real
    }
}

impl Stage for Real {
    fn run<C: Command + Clone>(&mut self, call: &Call, command: &C) -> Result<C::Output, Error> {
        let answer = self.runtime.block_on(self.engine.run(call.clone(), command.clone()));
        self.rows = self.runtime.block_on(read_store(&*self.store));
        answer
    }

    fn call(&mut self, actor: Option<&str>) -> Call {
        let mut call = self.rows.call(actor);
        call.seed = uuid::Uuid::new_v4().as_u128();
        call
    }

    fn items(&self) -> Vec<ItemId> {
        Stage::items(&self.rows)
    }

    fn workflow(&self) -> Workflow {
        self.workflow.clone()
    }

    fn question_on(&self, item: ItemId) -> Option<QuestionId> {
        Stage::question_on(&self.rows, item)
    }

    fn session_on(&self, item: ItemId) -> Option<SessionId> {
        Stage::session_on(&self.rows, item)
    }

    fn run_on(&self, item: ItemId) -> Option<Run> {
        Stage::run_on(&self.rows, item)
    }

    fn version_of(&self, item: ItemId) -> Option<u64> {
        Stage::version_of(&self.rows, item)
    }

    fn pass(&mut self, seconds: u32) {
        self.skew.fetch_add(i64::from(seconds) * 1000, Ordering::Relaxed);
    }
}

/// Everything of an item but its id and its times, which no two runs share.
fn normal(world: &World) -> BTreeMap<u32, serde_json::Value> {
    let number = |id: ItemId| world.items[&id].number;
    let plain = |item: &Item| {
        let mut fields = serde_json::to_value(item).expect("plain data");
        let all = fields.as_object_mut().expect("an object");
        for unshared in ["id", "project", "createdAt", "modifiedAt", "roleChangedAt"] {
            all.remove(unshared);
        }
        let claim = item.claim.as_ref().map(|claim| (claim.holder.as_str(), claim.ttl_seconds));
        let notes = world.notes.values().filter(|note| note.item == item.id);
        let notes: Vec<_> = notes.map(|note| (note.key.as_str(), note.phase, note.body.as_str())).collect();
        let edges = world.edges.values().filter(|edge| edge.from == item.id);
        let mut edges: Vec<_> = edges.map(|edge| (number(edge.to), edge.kind.as_str(), edge.unblock_at)).collect();
        edges.sort_unstable();
        all.insert("parent".to_owned(), serde_json::json!(item.parent.map(number)));
        all.insert("claim".to_owned(), serde_json::json!(claim));
        all.insert("notes".to_owned(), serde_json::json!(notes));
        all.insert("edges".to_owned(), serde_json::json!(edges));
        all.insert("contract".to_owned(), contract(world, item.id));
        fields
    };
    world.items.values().map(|item| (item.number, plain(item))).collect()
}

/// Brief, questions, comments and links of an item, without their ids and times.
fn contract(world: &World, item: ItemId) -> serde_json::Value {
    let mut brief = serde_json::to_value(world.briefs.get(&item)).expect("plain data");
    unshared(&mut brief);
    let runs = world.runs.values().filter(|run| run.item == item);
    let runs: Vec<_> =
        runs.map(|run| (run.check, run.state, &run.definition, &run.runner, &run.end, &run.tree)).collect();
    let questions = world.questions.values().filter(|question| question.item == item);
    let questions: Vec<_> = questions
        .map(|question| {
            (question.state, &question.answer, &question.asked_by, &question.ended_by, question.options.len())
        })
        .collect();
    let comments = world.comments.values().filter(|comment| comment.item == item);
    let comments: Vec<_> = comments.map(|comment| (&comment.body, &comment.by)).collect();
    let links = world.links.values().filter(|link| link.item == item);
    let links: Vec<_> = links.map(|link| (&link.kind, &link.reference, &link.url, &link.title, &link.by)).collect();
    let sessions = world.sessions.values().filter(|session| session.item == item);
    let sessions: Vec<_> = sessions
        .map(|session| {
            (session.state, &session.actor, session.fence, &session.progress, &session.summary, &session.reason)
        })
        .collect();
    serde_json::json!({
        "brief": brief, "questions": questions, "comments": comments, "links": links, "sessions": sessions,
        "runs": runs
    })
}

/// Takes out of a brief what no two runs share: when evidence and results came, and by which run.
fn unshared(value: &mut serde_json::Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|name, _| !["at", "run"].contains(&name.as_str()));
        fields.values_mut().for_each(unshared);
    }
    value.as_array_mut().into_iter().flatten().for_each(unshared);
}

fn does_what_the_model_does(place: fn() -> Box<dyn Place>) {
    for seed in 0..SCRIPTS {
        let mut dice = Dice::new(seed);
        let mut workflow = if seed % 2 == 0 { Workflow::standard() } else { Workflow::task_orchestrator() };
        workflow.claims.per_agent = u32::try_from(seed % 3).expect("small");
        let mut model = World::new(workflow.clone(), schemas());
        let mut real = Real::new(place(), workflow);
        for step in 0..ACTS {
            let act = Act::random(&mut dice);
            let expected = perform(&mut model, &act).map(|error| (error.code, error.reason));
            let found = perform(&mut real, &act).map(|error| (error.code, error.reason));
            assert_eq!(found, expected, "script {seed}, step {step}: {act:?}");
            assert_eq!(normal(&real.rows), normal(&model), "script {seed}, step {step}: {act:?}");
        }
        real.rows.check();
    }
}

#[test]
fn sqlite_does_what_the_model_does() {
    does_what_the_model_does(places::sqlite);
}

#[test]
fn postgres_does_what_the_model_does() {
    does_what_the_model_does(places::postgres);
}
