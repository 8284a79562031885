//! What is asked after each command of a script, chosen by its dice.

use std::sync::Arc;

use docket_core::model::{ItemRef, Priority, Role, Tag};
use docket_core::query::NextQuery;
use docket_core::search;
use docket_core::store::{
    Around, ClaimState, EdgeReach, EventFilter, Filter, NoteReach, Order, ProjectRef, Scope, SortBy,
};
use docket_core::testing::acts::{AGENTS, Dice, Stage};
use docket_core::testing::name;

use super::Real;
use super::texts::{TAGS, WORDS, pick};

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
pub(super) fn questions(stage: &mut Real, dice: &mut Dice) -> Vec<String> {
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
                subtree_bytes: Some(1 << 20),
                open_children: Some(5),
                edges: EdgeReach::Shown,
                notes: NoteReach::Heads,
                waits: true,
                gives_way: true,
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
                    let mut ways = seen.gives_way.unwrap_or_default();
                    ways.pairs.sort_unstable();
                    let said = (seen.briefs, seen.questions, seen.comments, seen.links, seen.sessions);
                    (seen.items, seen.open_children, seen.subtree, seen.edges, seen.note_heads, (waits, ways), said)
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
