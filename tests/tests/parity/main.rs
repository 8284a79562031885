//! P11: every store answers alike.
//!
//! The same seeded scripts of commands and questions are run on a SQLite file and on a Postgres server. After ids and times
//! are made alike, every answer, every refusal and every list must be the same text. Titles, tags and words are chosen
//! from what databases are known to disagree on: letters of many languages, marks that are operators somewhere, cases,
//! orders. `DOCKET_PARITY=N` runs so many scripts (`cargo xtask soak` runs 5,000).
//!
//! A difference it has caught: the sigma that ends a Greek word, which SQLite's search takes for a sigma.
//!

mod texts;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use docket_core::command::SetProject;
use docket_core::engine::{Call, Command};
use docket_core::model::{
    ActorClaim, ActorKind, Attribution, ItemId, ItemRef, KeyPrefix, Name, Priority, QuestionId, Role, SessionId, Slug,
    Tag, Verification,
};
use docket_core::query::NextQuery;
use docket_core::store::{
    Around, ClaimState, EdgeReach, EventFilter, Filter, NoteReach, Order, ProjectRef, Scope, SortBy,
};
use docket_core::testing::acts::{AGENTS, Act, Dice, Stage, perform, schemas};
use docket_core::testing::name;
use docket_core::workflow::Workflow;
use docket_core::{Engine, Error, search};
use docket_tests::contract::support::{Place, Probe};
use docket_tests::places;
use docket_tests::postgres::Database;
use tokio::runtime::Runtime;

use texts::{TAGS, WORDS, odd_text, pick};

/// Scripts in the test command.
const SCRIPTS: u64 = 200;
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

    fn pass(&mut self, seconds: u32) {
        self.skew.fetch_add(i64::from(seconds) * 1000, Ordering::Relaxed);
        self.answer = String::new();
    }

    fn project(&self) -> ProjectRef {
        ProjectRef::Slug(self.project.clone())
    }
}

/// Makes texts of two stores alike: an id becomes its place among all that were seen, a time and a span become a letter.
#[derive(Default)]
struct Normal(BTreeMap<String, usize>);

impl Normal {
    fn text(&mut self, text: &str) -> String {
        let mut made = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let is_id = |length: usize| rest.get(..length).filter(|id| uuid::Uuid::try_parse(id).is_ok());
            let is_ulid = |id: &&str| id.starts_with('0') && id.parse::<QuestionId>().is_ok();
            if let Some(id) = is_id(36).filter(|id| id.contains('-')).or(rest.get(..26).filter(is_ulid)) {
                let next = self.0.len();
                let number = *self.0.entry(id.to_owned()).or_insert(next);
                made.push('#');
                made.push_str(&number.to_string());
                rest = &rest[id.len()..];
            } else if let Some(length) = time_length(rest) {
                made.push('T');
                rest = &rest[length..];
            } else if first.is_ascii_digit() {
                let length = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
                let is_span = made.ends_with("Ms\":") || made.ends_with("_ms\":") || made.ends_with("_ms: Some(");
                made.push_str(if length >= 12 || is_span { "N" } else { &rest[..length] });
                rest = &rest[length..];
            } else {
                made.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
        made
    }
}

/// How long a time is that a text begins with.
fn time_length(text: &str) -> Option<usize> {
    let shape = b"0000-00-00T00:00:00";
    let bytes = text.as_bytes().get(..shape.len())?;
    let fits = bytes.iter().zip(shape).all(|(byte, wanted)| match wanted {
        b'0' => byte.is_ascii_digit(),
        other => byte == other,
    });
    fits.then(|| text.find('Z').map(|end| end + 1))?
}

fn random_filter(stage: &Real, dice: &mut Dice) -> Filter {
    let mut filter = Filter {
        project: stage.project(),
        sort: [SortBy::Title, SortBy::Priority, SortBy::Complexity, SortBy::CreatedAt, SortBy::ModifiedAt]
            [usize::try_from(dice.roll(5)).expect("small")],
        order: [Order::Asc, Order::Desc][usize::try_from(dice.roll(2)).expect("small")],
        limit: usize::try_from(1 + dice.roll(20)).expect("small"),
        offset: usize::try_from(dice.roll(3)).expect("small"),
        count: true,
        ..Filter::default()
    };
    match dice.roll(11) {
        0 => filter.words = search::terms(pick(dice, &WORDS)),
        1 => filter.tags = vec![Tag::parse(pick(dice, &TAGS)).expect("a tag")],
        2 => filter.roles = vec![Role::ALL[usize::try_from(dice.roll(5)).expect("small")]],
        3 => filter.claim = Some(ClaimState::Claimed),
        4 => filter.claim = Some(ClaimState::Expired),
        5 => filter.blocked = Some(dice.roll(2) == 0),
        6 => filter.priority = Some([Priority::High, Priority::Low][usize::try_from(dice.roll(2)).expect("small")]),
        7 => filter.parent = Some(stage.items.first().copied().filter(|_| dice.roll(2) == 0)),
        8 => filter.inbox = Some(dice.roll(2) == 0),
        9 => filter.held_by = AGENTS[usize::try_from(dice.roll(4)).expect("small")].map(name),
        _ => {}
    }
    filter
}

/// Questions of one round, answered.
fn questions(stage: &mut Real, dice: &mut Dice) -> Vec<String> {
    let filter = random_filter(stage, dice);
    let project = stage.project();
    let (engine, store) = (stage.engine.clone(), Arc::clone(&stage.store));
    let chosen = usize::try_from(dice.roll(12)).expect("small");
    let item = (!stage.items.is_empty()).then(|| ItemRef::Id(stage.items[chosen % stage.items.len()]));
    let mut answers = vec![stage.ask(async { store.find(&filter).await.map(|found| (found.items, found.total)) })];
    let kind = dice.roll(8);
    let Some(item) = item else { return answers };
    let more = match kind {
        0 => {
            let next = NextQuery { project: project.clone(), limit: 10, ..next_query(&project) };
            stage.ask(async { engine.next(&next, None).await.map(|page| page.items) })
        }
        1 => stage.ask(async { engine.blocked(&project, None, 50, None).await.map(|page| page.items) }),
        2 => stage.ask(async { engine.why(&project, &item).await }),
        3 => stage.ask(async { engine.overview(&project, 20, true).await }),
        4 => stage.ask(async { engine.dependencies(&project, &item, true).await }),
        5 => stage.ask(async { engine.context(&project, &item).await }),
        6 => {
            let filter =
                EventFilter { project: project.clone(), newest_first: true, limit: 30, ..EventFilter::default() };
            // Numbers are counted over all projects, and the clock's hand is not ours.
            stage.ask(async {
                let events = store.events(&filter).await?;
                Ok::<_, docket_core::store::StoreError>(
                    events
                        .into_iter()
                        .map(|event| (event.verb, event.item, event.other, event.by, event.data))
                        .collect::<Vec<_>>(),
                )
            })
        }
        _ => {
            let around = Around {
                ancestors: true,
                subtree: Some(50),
                open_children: Some(5),
                edges: EdgeReach::Shown,
                notes: NoteReach::Heads,
                waits: true,
                component: false,
                briefs: true,
                questions: true,
                comments: Some(2),
                links: true,
                sessions: true,
                open_runs: true,
            };
            let scope = Scope { project: project.clone(), items: vec![item], around, ..Scope::default() };
            stage.ask(async {
                store.view(&scope).await.map(|seen| {
                    let mut waits = seen.waits.unwrap_or_default();
                    waits.edges.sort_by_key(|edge| (edge.from, edge.to));
                    waits.children.sort_unstable();
                    let said = (seen.briefs, seen.questions, seen.comments, seen.links, seen.sessions);
                    (seen.items, seen.open_children, seen.subtree, seen.edges, seen.note_heads, waits, said)
                })
            })
        }
    };
    answers.push(more);
    answers
}

fn next_query(project: &ProjectRef) -> NextQuery {
    NextQuery { include_claimed: true, ..NextQuery::of(project.clone(), 10) }
}

fn script(seed: u64, grounds: &[Ground; 2]) {
    let mut workflow = if seed.is_multiple_of(2) { Workflow::standard() } else { Workflow::task_orchestrator() };
    workflow.claims.per_agent = u32::try_from(seed % 3).expect("small");
    let mut stages = grounds.each_ref().map(|ground| ground.script(seed, &workflow));
    let mut dice = Dice::new(seed ^ 0x5eed);
    for step in 0..ACTS {
        let act = Act::random(&mut dice);
        let odd = dice.roll(4) == 0;
        let results = stages.each_mut().map(|stage| {
            let mut dice = dice.clone();
            if odd {
                odd_text(stage, &mut dice);
            } else {
                let _ = perform(stage, &act);
            }
            (stage.answer.clone(), questions(stage, &mut dice))
        });
        dice.roll(1);
        let [(first, first_answers), (second, second_answers)] = results;
        assert_eq!(first, second, "script {seed}, step {step}: {act:?} (odd text: {odd})");
        for (first, second) in first_answers.iter().zip(&second_answers) {
            assert_eq!(first, second, "script {seed}, step {step}, a question after {act:?}");
        }
    }
}

#[test]
fn both_stores_answer_alike() {
    let scripts = std::env::var("DOCKET_PARITY").ok().and_then(|count| count.parse().ok()).unwrap_or(SCRIPTS);
    let grounds = [Ground::new(places::sqlite()), Ground::new(places::postgres())];
    for seed in 0..scripts {
        script(seed, &grounds);
    }
    for ground in &grounds {
        assert_eq!(ground.runtime.block_on(ground.store.integrity()), Vec::<String>::new());
    }
}

/// The bug this would catch: texts in the order of the server's language.
#[test]
fn and_an_order_of_the_servers_own_would_be_seen() {
    let differs = std::panic::catch_unwind(|| {
        let database = Database::new();
        database.run("ALTER TABLE items ALTER COLUMN title TYPE text COLLATE \"en-x-icu\"");
        let grounds = [Ground::new(places::sqlite()), Ground::new(places::on(database))];
        (0..20).for_each(|seed| script(seed, &grounds));
    });
    let message = differs.expect_err("the planted bug was not seen");
    let message = message.downcast_ref::<String>().cloned().unwrap_or_default();
    assert!(message.contains("a question after"), "it failed for another reason: {message}");
}

#[test]
fn what_is_made_alike_is_what_two_stores_cannot_share() {
    let mut normal = Normal::default();
    let (one, two) = (uuid::Uuid::new_v4(), uuid::Uuid::new_v4());
    let text = format!("{one} 2026-01-02T03:04:05.678Z {two} {one} é 17 \"retryAfterMs\":900 Timestamp(1700000000000)");
    assert_eq!(normal.text(&text), "#0 T #1 #0 é 17 \"retryAfterMs\":N Timestamp(N)");
}
