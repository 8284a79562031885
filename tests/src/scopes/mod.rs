//! P15 over a store, whichever: every operation × profile × own, other and unknown.
//!
//! A database holds two projects with the same shape: a tree, notes, claims and edges, some of them between the projects.
//! A caller that is limited to one of them asks for everything there is to ask and tries every write, on what is its own,
//! on what is the other's and on what does not exist. No answer may hold a word, an id or a name of the other project;
//! what is said of the other's must be said of the unknown as well, to the letter; and not a row of the other changes.

mod checks;
mod contract;
mod knowledge;
mod names;
mod rows;
mod sessions;
mod taking;

use std::collections::BTreeSet;
use std::fmt::{Debug, Write as _};
use std::sync::Arc;

use docket_core::access::{Access, Profile};
use docket_core::command::{
    Advance, Claim, ClaimNext, ClaimRequest, CloseTree, Create, Edit, MoveRequest, Parent, Patch, RemoveNotes, Unlink,
    Wanted, What,
};
use docket_core::engine::Command;
use docket_core::model::{ItemRef, ProjectId, Role, Timestamp, Trigger};
use docket_core::query::NextQuery;
use docket_core::store::{Around, EdgeReach, EventFilter, Filter, NoteReach, ProjectRef, Store};
use docket_core::testing::title;
use docket_core::workflow::Target;
use docket_core::{Code, Engine, Error, Reason};
use names::{Names, anonymous, own, project_word, spellings};
use rows::{Half, create, half, link, put_note, remove, run};

/// A word in every text of the other project.
const SECRET: &str = "zebra";

/// The two projects and the engine over them.
struct Stage {
    engine: Engine,
    mine: Half,
    other: Half,
}

/// Runs the experiment on an empty store; panics with what was told or changed.
pub async fn experiment(store: Arc<dyn Store>) {
    let engine = Engine::new(store);
    let mine = half(&engine, "mine", "plain").await;
    let other = half(&engine, "other", SECRET).await;
    for (from, to) in [(&other.item, &mine.item), (&mine.item, &other.parent), (&other.claimed, &mine.parent)] {
        run(&engine, link(from.id.into(), to.id.into())).await.unwrap_or_else(|error| panic!("an edge: {error}"));
    }
    let stage = Stage { engine, mine, other };
    for profile in Profile::ALL {
        Box::pin(stage.nothing_is_told(profile)).await;
        Box::pin(stage.unknown_and_forbidden_look_alike(profile)).await;
        stage.profiles_hold(profile).await;
    }
    stage.one_item_alone().await;
}

impl Stage {
    fn limited(&self, profile: Profile) -> Engine {
        self.engine.limited_to(Access::within(profile, [self.mine.project.id]))
    }

    /// Everything there is to ask, about one's own: no answer holds anything of the other's.
    async fn nothing_is_told(&self, profile: Profile) {
        let engine = self.limited(profile);
        for (what, answer) in Box::pin(reads(&engine, &own(&self.mine))).await {
            self.check_untold(what, &answer);
        }
        for (what, answer) in lists(&engine).await {
            self.check_untold(what, &answer);
        }
        let words = vec![SECRET.to_owned()];
        let found = engine.find(&Filter { words, limit: 10, count: true, ..Filter::default() }).await;
        assert_eq!(found.map(|found| found.total), Ok(0), "words of the other project were found");
        let mine: BTreeSet<ProjectId> = [self.mine.project.id].into();
        let both =
            Access { projects: Some([self.mine.project.id, self.other.project.id].into()), ..engine.access().clone() };
        for (access, projects) in
            [(engine.access().clone(), &mine), (both.clone(), both.projects.as_ref().unwrap_or(&mine))]
        {
            let listed = self.engine.limited_to(access).projects().await.unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(&listed.iter().map(|project| project.id).collect::<BTreeSet<_>>(), projects);
        }
        // Several projects are a limit of another shape than one: as much is seen as without a limit, here.
        let (all, limited) = (lists(&self.engine).await, lists(&self.engine.limited_to(both)).await);
        assert_eq!(all, limited, "a limit to all projects hides something");
    }

    /// What is not there and what may not be seen are answered the same.
    async fn unknown_and_forbidden_look_alike(&self, profile: Profile) {
        let engine = self.limited(profile);
        let before = self.rows_of_other().await;
        for (other, unknown) in spellings(&self.other) {
            let said = Box::pin(answers(&engine, &other, self)).await;
            let unsaid = Box::pin(answers(&engine, &unknown, self)).await;
            for ((what, told), (_, nothing)) in said.into_iter().zip(unsaid) {
                let (told, nothing) = (anonymous(&told, &other), anonymous(&nothing, &unknown));
                assert_eq!(told, nothing, "{what} tells {other:?} from what is not there");
                self.check_untold(what, &told);
            }
        }
        assert_eq!(before, self.rows_of_other().await, "a row of the other project was changed by a {profile}");
    }

    /// A command is run by whoever has the profile for it, and by nobody with less.
    async fn profiles_hold(&self, profile: Profile) {
        for limited in [true, false] {
            let engine =
                if limited { self.limited(profile) } else { self.engine.limited_to(Access::everywhere(profile)) };
            let names = own(&self.mine);
            for (what, needs, answer) in writes(&engine, &names, self).await {
                // What nobody has let run is not made by a worker either: that says nothing of its profile.
                let forbidden = matches!(&answer, Err(error)
                    if error.code == Code::Forbidden && error.reason != Reason::CheckNotApproved);
                assert_eq!(forbidden, profile < needs, "{what} by a {profile}: {answer:?}");
                if let Err(error) = answer.as_ref().map_err(|error| error.message.clone())
                    && forbidden
                {
                    // A sign-off is a verification first, which a worker may make; then it asks for more.
                    let first = what == "sign off" && profile < Profile::Worker;
                    let wanted = if first { Profile::Worker } else { needs };
                    assert!(error.contains(wanted.as_str()), "{what}: which profile is needed is said: {error}");
                }
            }
        }
    }

    /// A caller for one item reads its project and writes nothing else.
    async fn one_item_alone(&self) {
        let item = run(&self.engine, create(self.mine.project.id, "the one", None)).await;
        let item = item.unwrap_or_else(|error| panic!("{error}")).items.remove(0);
        let item = item.unwrap_or_else(|error| panic!("{error}")).item;
        let access = Access { item: Some(item.id), ..Access::within(Profile::Maintainer, [self.mine.project.id]) };
        let engine = self.engine.limited_to(access);
        run(&engine, put_note(item.id.into())).await.unwrap_or_else(|error| panic!("its own note: {error}"));
        let before = self.rows().await;
        for names in [own(&self.mine), own(&self.other)] {
            for (what, _, answer) in writes(&engine, &names, self).await {
                let refused = match &answer {
                    Err(error) => matches!(error.code, Code::Forbidden | Code::NotFound),
                    Ok(said) => said.contains("NotFound") || said.contains("edges: []"),
                };
                assert!(refused, "{what} was done beyond the one item: {answer:?}");
            }
        }
        assert_eq!(before, self.rows().await, "a row beyond the one item was changed");
    }

    fn check_untold(&self, what: &str, answer: &str) {
        let Half { project, parent, item, claimed, note, edge, question, link, session, run, entry } = &self.other;
        let ids = [parent.id, item.id, claimed.id].map(|id| id.to_string());
        let said = [question.to_string(), link.to_string(), session.to_string(), run.to_string(), entry.to_string()];
        let rows: Vec<String> = [note.to_string(), edge.to_string()].into_iter().chain(said).collect();
        let others = [project.id.to_string(), SECRET.to_owned()];
        for told in ids.iter().chain(&rows).chain(&others) {
            assert!(!answer.contains(told.as_str()), "{what} tells {told} of the other project: {answer}");
        }
        assert!(!answer.contains(&format!("{}-", project.prefix)), "{what} tells a key: {answer}");
    }

    async fn rows(&self) -> String {
        let mut rows = String::new();
        for project in [&self.mine, &self.other] {
            let filter = Filter { project: ProjectRef::Id(project.project.id), limit: 200, ..Filter::default() };
            let found = self.engine.find(&filter).await.unwrap_or_else(|error| panic!("{error}"));
            let _ = write!(rows, "{:?}", found.items);
            let filter = EventFilter { project: filter.project, limit: 1000, ..EventFilter::default() };
            let events = self.engine.events(&filter).await.unwrap_or_else(|error| panic!("{error}"));
            let _ = write!(rows, "{events:?}");
        }
        rows
    }

    async fn rows_of_other(&self) -> String {
        let filter =
            EventFilter { project: ProjectRef::Id(self.other.project.id), limit: 1000, ..EventFilter::default() };
        let events = self.engine.events(&filter).await.unwrap_or_else(|error| panic!("{error}"));
        let items = Filter { project: filter.project, limit: 200, ..Filter::default() };
        let found = self.engine.find(&items).await.unwrap_or_else(|error| panic!("{error}"));
        format!("{events:?}{:?}", found.items)
    }
}

/// Every read and write about something, as text.
async fn answers(engine: &Engine, names: &Names, stage: &Stage) -> Vec<(&'static str, String)> {
    let mut said = Box::pin(reads(engine, names)).await;
    said.extend(writes(engine, names, stage).await.into_iter().map(|(what, _, answer)| (what, said_of(&answer))));
    said.push(("remove entry", knowledge::remove(engine, names).await));
    said.push(("remove", said_of(&tried(engine, remove(names.item.clone())).await)));
    said
}

/// Every read that names something.
async fn reads(engine: &Engine, names: &Names) -> Vec<(&'static str, String)> {
    let Names { project, item, note, .. } = names;
    let everything = Around {
        ancestors: true,
        subtree: Some(100),
        subtree_bytes: Some(1 << 20),
        open_children: Some(100),
        edges: EdgeReach::Shown,
        notes: NoteReach::Heads,
        component: true,
        briefs: true,
        questions: true,
        comments: Some(100),
        links: true,
        sessions: true,
        ..Around::default()
    };
    let show = engine.show(project, std::slice::from_ref(item), everything).await;
    let shown = show.map(|mut seen| {
        let resolved = seen.resolve(item).map(|item| item.id);
        seen.refs.clear();
        seen.now = Timestamp::from_millis(0);
        (resolved, seen)
    });
    let next = NextQuery { parent: Some(item.clone()), include_claimed: true, ..NextQuery::of(project.clone(), 10) };
    let filter = Filter { project: project.clone(), limit: 50, count: true, ..Filter::default() };
    let events = EventFilter { project: project.clone(), limit: 100, ..EventFilter::default() };
    let beginning = Timestamp::from_millis(0);
    let mut answers = vec![
        ("show", said_of(&shown)),
        ("context", said_of(&engine.context(project, item).await.map(|found| (found.item, found.ancestors)))),
        ("standing", said_of(&engine.standing(project, item).await)),
        ("dependencies", said_of(&engine.dependencies(project, item, true).await)),
        ("notes", said_of(&engine.notes_of(project, item).await)),
        ("note", said_of(&engine.note(*note).await)),
        ("why", said_of(&engine.why(project, item).await)),
        ("why of all", said_of(&engine.why_open(project, 50, None).await.map(|page| page.items))),
        ("blocked", said_of(&engine.blocked(project, Some(item), 9, None).await.map(|page| page.items))),
        ("blocked of all", said_of(&engine.blocked(project, None, 9, None).await.map(|page| page.items))),
        ("overview of one", said_of(&engine.overview_of(project, item, 200).await)),
        ("overview", said_of(&engine.overview(project, 50, true).await)),
        ("health", said_of(&engine.health(project).await.map(|health| (health.active, health.blocked, health.claims)))),
        ("resume", said_of(&engine.resume(project, beginning, 50).await.map(|found| found.transitions))),
        ("next", said_of(&engine.next(&next, None).await.map(|page| page.items))),
        ("next of all", said_of(&engine.next(&NextQuery { parent: None, ..next }, None).await.map(|page| page.items))),
        ("find", said_of(&engine.find(&filter).await.map(|found| (found.items, found.total)))),
        ("events", said_of(&engine.events(&events).await)),
    ];
    answers.extend(contract::reads(engine, names).await);
    answers.extend(sessions::reads(engine, names).await);
    answers.extend(checks::reads(engine, names).await);
    answers.extend(knowledge::reads(engine, names).await);
    answers
}

/// Every list of whatever there is.
async fn lists(engine: &Engine) -> Vec<(&'static str, String)> {
    let any = ProjectRef::Any;
    let events = EventFilter { limit: 1000, ..EventFilter::default() };
    let newest = EventFilter { newest_first: true, ..events.clone() };
    let all = || Filter { limit: 200, count: true, ..Filter::default() };
    let next = NextQuery { include_claimed: true, ..NextQuery::of(any.clone(), 50) };
    let listed =
        |found: Result<docket_core::store::Found, Error>| said_of(&found.map(|found| (found.items, found.total)));
    let mut lists = vec![
        ("list", listed(engine.find(&all()).await)),
        ("list by role", listed(engine.find(&Filter { roles: vec![Role::Queue, Role::Work], ..all() }).await)),
        ("list of roots", listed(engine.find(&Filter { parent: Some(None), ..all() }).await)),
        ("list of what waits", listed(engine.find(&Filter { inbox: Some(true), ..all() }).await)),
        ("inbox", said_of(&engine.inbox(&any, 50, None).await.map(|page| page.items))),
        ("estimate", said_of(&engine.estimate(&any, &[], &[]).await)),
        ("list of blocked", listed(engine.find(&Filter { blocked: Some(true), ..all() }).await)),
        ("overview", said_of(&engine.overview(&any, 50, true).await)),
        ("blocked", said_of(&engine.blocked(&any, None, 9, None).await.map(|page| page.items))),
        ("health", said_of(&engine.health(&any).await.map(|health| (health.active, health.claims)))),
        ("next", said_of(&engine.next(&next, None).await.map(|page| page.items))),
        ("events", said_of(&engine.events(&events).await)),
        ("newest events", said_of(&engine.events(&newest).await)),
        ("projects", said_of(&engine.projects().await)),
    ];
    lists.extend(sessions::lists(engine).await);
    lists.extend(knowledge::lists(engine).await);
    lists
}

/// Every write that names something, with the profile it needs.
async fn writes(engine: &Engine, names: &Names, stage: &Stage) -> Vec<(&'static str, Profile, Result<String, Error>)> {
    let Names { project, item, note, edge, .. } = names;
    let own = ItemRef::Id(stage.mine.claimed.id);
    let any = ProjectRef::Any;
    let step = MoveRequest {
        item: item.clone(),
        target: Target::Trigger(Trigger::Hold),
        summary: None,
        by: None,
        fence: None,
        expected_version: None,
    };
    let advance = Advance { project: any.clone(), moves: vec![step], atomic: true };
    let claim = Claim {
        project: any.clone(),
        claims: vec![ClaimRequest { item: item.clone(), ttl: None }],
        releases: vec![item.clone()],
        ready_only: false,
    };
    let beneath = Parent::Existing(item.clone());
    let wanted = Wanted { parent: Some(item.clone()), ..Wanted::default() };
    let patch = Patch { title: Some(title("renamed")), ..Patch::of(item.clone()) };
    let moved = Patch { parent: docket_core::command::Change::Set(item.clone()), ..Patch::of(own.clone()) };
    let edit = |patch| Edit { project: any.clone(), patches: vec![patch], atomic: true };
    let create_here = Create { project: project.clone(), ..create(stage.mine.project.id, "new", None) };
    let remove_note = RemoveNotes { project: any.clone(), ids: vec![*note], of: None, missing_ok: false, fence: None };
    let remove_notes = RemoveNotes {
        project: any.clone(),
        ids: vec![],
        of: Some((item.clone(), None)),
        missing_ok: false,
        fence: None,
    };
    let close = CloseTree { project: any.clone(), what: What::Beneath(item.clone()), cancel: false, fence: None };
    let unlink = Unlink::Of { project: any.clone(), item: item.clone(), kind: None };
    let between =
        Unlink::Between { project: any.clone(), from: own.clone(), to: item.clone(), kind: None, either_way: true };
    let mut tries = vec![
        ("create beneath", Profile::Planner, tried(engine, create(stage.mine.project.id, "new", Some(beneath))).await),
        ("create in", Profile::Planner, tried(engine, create_here).await),
        ("advance", Profile::Worker, tried(engine, advance).await),
        ("claim", Profile::Worker, tried(engine, claim).await),
        ("claim next", Profile::Worker, tried(engine, ClaimNext { project: project.clone(), wanted, ttl: None }).await),
        ("close", Profile::Worker, tried(engine, close).await),
        ("edit", Profile::Worker, tried(engine, edit(patch)).await),
        ("move", Profile::Worker, tried(engine, edit(moved)).await),
        ("link", Profile::Worker, tried(engine, link(own, item.clone())).await),
        ("put note", Profile::Worker, tried(engine, put_note(item.clone())).await),
        ("remove note", Profile::Maintainer, tried(engine, remove_note).await),
        ("remove notes", Profile::Maintainer, tried(engine, remove_notes).await),
        ("unlink edge", Profile::Maintainer, tried(engine, Unlink::Edge(*edge)).await),
        ("unlink", Profile::Maintainer, tried(engine, unlink).await),
        ("unlink between", Profile::Maintainer, tried(engine, between).await),
    ];
    tries.extend(contract::writes(engine, names).await);
    tries.extend(sessions::writes(engine, names).await);
    tries.extend(checks::writes(engine, names).await);
    tries.extend(knowledge::writes(engine, names).await);
    tries.extend(taking::writes(engine, names).await);
    tries
}

async fn tried<C: Command>(engine: &Engine, command: C) -> Result<String, Error>
where
    C::Output: Debug,
{
    run(engine, command).await.map(|done| format!("{done:?}"))
}

fn said_of<T: Debug>(answer: &Result<T, Error>) -> String {
    format!("{answer:?}")
}
