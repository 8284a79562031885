//! P11: every store answers alike.
//!
//! The same seeded scripts of commands and questions are run on a SQLite file and on a Postgres server. After ids and times
//! are made alike, every answer, every refusal and every list must be the same text. Titles, tags and words are chosen
//! from what databases are known to disagree on: letters of many languages, marks that are operators somewhere, cases,
//! orders. `DOCKET_PARITY=N` runs so many scripts (`cargo xtask soak` runs 5,000).
//!
//! A script chooses by its seed and by nothing that a store says but the ids of its items, so each store runs it by itself, and
//! what both have said is compared afterwards. Many scripts share a database, each in a project of its own.
//!
//! A difference it has caught: the sigma that ends a Greek word, which SQLite's search takes for a sigma.

mod normal;
mod questions;
mod texts;

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::sync_channel;

use docket_core::command::{Create, Remove, SetProject};
use docket_core::engine::{Call, Command};
use docket_core::model::{
    ActorClaim, ActorKind, Attribution, ItemId, ItemRef, KeyPrefix, Name, QuestionId, Run, SessionId, Slug,
    Verification,
};
use docket_core::store::{Around, Filter, Order, ProjectRef};
use docket_core::testing::acts::{Act, Dice, Stage, perform, schemas};
use docket_core::workflow::Workflow;
use docket_core::{Engine, Error};
use docket_tests::contract::support::{Place, Probe};
use docket_tests::places;
use docket_tests::postgres::Database;
use tokio::runtime::Runtime;

use normal::Normal;
use questions::questions;
use texts::odd_text;

/// Scripts in the test command.
const SCRIPTS: u64 = 1000;
/// Pairs of databases that scripts are run on beside each other.
const LANES: u64 = 2;
/// Commands of one script; questions are asked after each.
const ACTS: usize = 25;

/// A store with one project that a script is run in.
struct Real {
    runtime: Arc<Runtime>,
    store: Arc<dyn Probe>,
    engine: Engine,
    skew: Arc<AtomicI64>,
    project: Slug,
    workflow: Workflow,
    items: Vec<ItemId>,
    calls: u128,
    /// What the last command answered.
    answer: String,
    normal: Normal,
}

/// A database, for many scripts.
struct Ground {
    runtime: Arc<Runtime>,
    store: Arc<dyn Probe>,
    skew: Arc<AtomicI64>,
    _place: Box<dyn Place>,
}

impl Ground {
    fn new(place: Box<dyn Place>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = Arc::new(runtime.expect("a runtime"));
        let skew: Arc<AtomicI64> = Arc::default();
        let store = runtime.block_on(place.open(Arc::clone(&skew)));
        Self { runtime, store, skew, _place: place }
    }

    fn script(&self, seed: u64, workflow: &Workflow) -> Real {
        let mut real = Real {
            runtime: Arc::clone(&self.runtime),
            store: Arc::clone(&self.store),
            engine: Engine::new(Arc::clone(&self.store) as Arc<dyn docket_core::store::Store>),
            skew: Arc::clone(&self.skew),
            project: Slug::parse(&format!("script-{seed}")).expect("a slug"),
            workflow: workflow.clone(),
            items: Vec::new(),
            calls: u128::from(seed) << 64,
            answer: String::new(),
            normal: Normal::default(),
        };
        let set = SetProject {
            slug: real.project.clone(),
            name: None,
            prefix: Some(KeyPrefix::parse(&format!("T{seed}")).expect("a prefix")),
            workflow: Some(workflow.clone()),
            schemas: Some(schemas()),
            archived: None,
            must_be_new: true,
        };
        let call = Stage::call(&mut real, None);
        real.run(&call, &set).expect("a project");
        real
    }
}

impl Real {
    /// Asks a question and returns the answer as a text that can be compared.
    fn ask<T: Debug>(&mut self, question: impl Future<Output = T>) -> String {
        let runtime = Arc::clone(&self.runtime);
        let answer = format!("{:?}", runtime.block_on(question));
        self.normal.text(&answer)
    }
}

impl Stage for Real {
    fn run<C: Command + Clone>(&mut self, call: &Call, command: &C) -> Result<C::Output, Error> {
        let runtime = Arc::clone(&self.runtime);
        // No two commands in one moment: what is made in one would be ordered by chance.
        self.skew.fetch_add(2, Ordering::Relaxed);
        let answer = runtime.block_on(self.engine.run(call.clone(), command.clone()));
        let text = match &answer {
            Ok(answer) => serde_json::to_string(answer).expect("plain data"),
            Err(error) => serde_json::to_string(error).expect("plain data"),
        };
        self.answer = self.normal.text(&text);
        if answer.is_err() || ![Create::NAME, Remove::NAME].contains(&C::NAME) {
            return answer;
        }
        let all = Filter { project: self.project(), order: Order::Asc, limit: 500, ..Filter::default() };
        let found = runtime.block_on(self.store.find(&all)).expect("items");
        self.items = found.items.iter().map(|item| item.id).collect();
        answer
    }

    fn call(&mut self, actor: Option<&str>) -> Call {
        self.calls += 1;
        let by = actor.map(|id| Attribution {
            actor: ActorClaim {
                id: Name::parse(id).expect("a name"),
                kind: ActorKind::Subagent,
                parent: None,
                proof: None,
            },
            verification: Verification::unchecked(),
        });
        Call {
            by,
            ..Call::new(
                Name::parse("local").expect("a name"),
                self.calls.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835),
            )
        }
    }

    fn items(&self) -> Vec<ItemId> {
        self.items.clone()
    }

    fn workflow(&self) -> Workflow {
        self.workflow.clone()
    }

    fn question_on(&self, item: ItemId) -> Option<QuestionId> {
        let around = Around { questions: true, ..Around::default() };
        let seen = self.runtime.block_on(self.engine.show(&ProjectRef::Any, &[ItemRef::Id(item)], around));
        seen.expect("a slice").question_of(item).map(|question| question.id)
    }

    fn session_on(&self, item: ItemId) -> Option<SessionId> {
        let around = Around { sessions: true, ..Around::default() };
        let seen = self.runtime.block_on(self.engine.show(&ProjectRef::Any, &[ItemRef::Id(item)], around));
        seen.expect("a slice").session_of(item).map(|session| session.id)
    }

    fn run_on(&self, item: ItemId) -> Option<Run> {
        let around = Around { open_runs: true, ..Around::default() };
        let seen = self.runtime.block_on(self.engine.show(&ProjectRef::Any, &[ItemRef::Id(item)], around));
        seen.expect("a slice").runs.into_values().max_by_key(|run| run.id)
    }

    fn version_of(&self, item: ItemId) -> Option<u64> {
        let seen = self.runtime.block_on(self.engine.show(&ProjectRef::Any, &[ItemRef::Id(item)], Around::default()));
        seen.expect("a slice").items.get(&item).map(|item| item.version)
    }

    fn pass(&mut self, seconds: u32) {
        self.skew.fetch_add(i64::from(seconds) * 1000, Ordering::Relaxed);
        self.answer = String::new();
    }

    fn project(&self) -> ProjectRef {
        ProjectRef::Slug(self.project.clone())
    }
}

/// What a store said to a step of a script.
struct Said {
    step: String,
    answer: String,
    answers: Vec<String>,
}

/// Runs a script on one store and notes what it says.
fn script(seed: u64, ground: &Ground) -> Vec<Said> {
    let mut workflow = if seed.is_multiple_of(2) { Workflow::standard() } else { Workflow::task_orchestrator() };
    workflow.claims.per_agent = u32::try_from(seed % 3).expect("small");
    let mut stage = ground.script(seed, &workflow);
    let mut dice = Dice::new(seed ^ 0x5eed);
    let step = |step| {
        let act = Act::random(&mut dice);
        let odd = dice.roll(4) == 0;
        let mut own = dice.clone();
        if odd {
            odd_text(&mut stage, &mut own);
        } else {
            let _ = perform(&mut stage, &act);
        }
        let answer = stage.answer.clone();
        let answers = questions(&mut stage, &mut own);
        dice.roll(1);
        let step = format!("script {seed}, step {step}: {act:?} (odd text: {odd})");
        Said { step, answer, answers }
    };
    (0..ACTS).map(step).collect()
}

/// Runs scripts on two stores, beside each other, and compares what they say.
fn compare(seeds: impl Iterator<Item = u64> + Clone + Send, grounds: &[Ground; 2]) {
    std::thread::scope(|scope| {
        let stores = grounds.each_ref().map(|ground| {
            let (tell, hear) = sync_channel(2);
            let mut seeds = seeds.clone();
            // Whoever compares has stopped when nobody hears.
            scope.spawn(move || seeds.all(|seed| tell.send(script(seed, ground)).is_ok()));
            hear
        });
        for _ in seeds {
            let [first, second] = stores.each_ref().map(|store| store.recv().expect("a store that goes on"));
            assert_eq!(first.len(), second.len());
            for (first, second) in first.iter().zip(&second) {
                assert_eq!(first.answer, second.answer, "{}", first.step);
                assert_eq!(first.answers, second.answers, "a question after {}", first.step);
                assert_eq!(first.step, second.step);
            }
        }
    });
}

#[test]
fn both_stores_answer_alike() {
    let scripts = std::env::var("DOCKET_PARITY").ok().and_then(|count| count.parse().ok()).unwrap_or(SCRIPTS);
    std::thread::scope(|scope| {
        for lane in 0..LANES {
            scope.spawn(move || {
                let grounds = [Ground::new(places::sqlite()), Ground::new(places::postgres())];
                compare((lane..scripts).step_by(usize::try_from(LANES).expect("small")), &grounds);
                for ground in &grounds {
                    assert_eq!(ground.runtime.block_on(ground.store.integrity()), Vec::<String>::new());
                }
            });
        }
    });
}

/// The bug this would catch: texts in the order of the server's language.
#[test]
fn and_an_order_of_the_servers_own_would_be_seen() {
    let differs = std::panic::catch_unwind(|| {
        let database = Database::new();
        database.run("ALTER TABLE items ALTER COLUMN title TYPE text COLLATE \"en-x-icu\"");
        let grounds = [Ground::new(places::sqlite()), Ground::new(places::on(database))];
        compare(0..20, &grounds);
    });
    let message = differs.expect_err("the planted bug was not seen");
    let message = message.downcast_ref::<String>().cloned().unwrap_or_default();
    assert!(message.contains("a question after"), "it failed for another reason: {message}");
}
