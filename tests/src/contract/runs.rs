//! Runs of checks: as they were written, the newest first, and only where they may be seen.

use docket_core::model::{Item, Run, RunEnd, RunState, Text, Tree};
use docket_core::store::{ChangeSet, ProjectRef, RunChange, RunFilter, Scope};
use docket_core::testing::rows::run;

use super::support::{Bench, item, project};

fn text(text: &str) -> Text {
    Text::parse(text).expect("a text")
}

fn written(runs: &[&Run], log: Option<&str>) -> Vec<RunChange> {
    runs.iter().map(|run| RunChange { run: Run::clone(run), log: log.map(text) }).collect()
}

async fn put_runs(bench: &Bench, items: &[&Item], runs: Vec<RunChange>) {
    let new_items = items.iter().copied().cloned().collect();
    bench.put(ChangeSet { new_items, runs, ..ChangeSet::default() }).await;
}

async fn found(bench: &Bench, filter: RunFilter) -> Vec<Run> {
    bench.store.runs(&filter).await.expect("runs")
}

/// A run comes back as it was written, and its log stays when it is written again without one.
pub async fn a_run_comes_back_as_it_was_written(bench: Bench) {
    let a = item(&bench.project, 1, "a");
    let first = run(&a, RunState::Running);
    put_runs(&bench, &[&a], written(&[&first], None)).await;
    assert_eq!(bench.store.run_log(first.id, &None).await.expect("a log"), None);
    let ended = Run {
        state: RunState::Failed,
        end: Some(RunEnd::Exited { code: 3 }),
        tree: Tree::parse("0123456789abcdef").ok(),
        log_bytes: 7,
        ..first.clone()
    };
    put_runs(&bench, &[], written(&[&ended], Some("it \"said\"\n\u{1f980}"))).await;
    put_runs(&bench, &[], written(&[&ended], None)).await;
    let seen = bench.store.view(&Scope { run_ids: vec![first.id], ..Scope::default() }).await.expect("a slice");
    assert_eq!(seen.runs.into_values().collect::<Vec<_>>(), std::slice::from_ref(&ended));
    assert_eq!(found(&bench, RunFilter { limit: 10, ..RunFilter::default() }).await, [ended]);
    let log = bench.store.run_log(first.id, &None).await.expect("a log");
    assert_eq!(log.as_deref(), Some("it \"said\"\n\u{1f980}"));
    bench.put(ChangeSet { removed_items: vec![a.id], ..ChangeSet::default() }).await;
    assert_eq!(found(&bench, RunFilter { limit: 10, ..RunFilter::default() }).await, []);
}

/// Runs are listed the newest first, those that wait the oldest first.
pub async fn runs_are_listed_the_newest_first(bench: Bench) {
    let (a, b) = (item(&bench.project, 1, "a"), item(&bench.project, 2, "b"));
    let states = [RunState::Queued, RunState::Passed, RunState::Running, RunState::Cancelled];
    let runs: Vec<Run> = states.iter().map(|state| run(&a, *state)).collect();
    let other = run(&b, RunState::Queued);
    let all: Vec<&Run> = runs.iter().chain([&other]).collect();
    put_runs(&bench, &[&a, &b], written(&all, None)).await;
    // Those of a named item that wait or run, beside one that is named itself.
    let around = docket_core::store::Around { open_runs: true, ..docket_core::store::Around::default() };
    let open = Scope { items: vec![a.id.into()], around, ..Scope::default() };
    let seen = bench.store.view(&open).await.expect("a slice");
    assert_eq!(seen.runs.into_keys().collect::<Vec<_>>(), [runs[0].id, runs[2].id]);
    let both = Scope { run_ids: vec![runs[1].id], ..open };
    let seen = bench.store.view(&both).await.expect("a slice");
    assert_eq!(seen.runs.into_keys().collect::<Vec<_>>(), [runs[0].id, runs[1].id, runs[2].id]);
    let of_a = |offset, limit| RunFilter { item: Some(a.id), offset, limit, ..RunFilter::default() };
    let ids = |runs: &[Run]| runs.iter().map(|run| run.id).collect::<Vec<_>>();
    let newest: Vec<_> = runs.iter().rev().map(|run| run.id).collect();
    assert_eq!(ids(&found(&bench, of_a(0, 10)).await), newest);
    assert_eq!(ids(&found(&bench, of_a(1, 2)).await), newest[1..3]);
    assert_eq!(ids(&found(&bench, of_a(9, 2)).await), []);
    let open = RunFilter { open_only: true, limit: 10, ..RunFilter::default() };
    assert_eq!(ids(&found(&bench, open.clone()).await), [runs[0].id, runs[2].id, other.id]);
    let page = |after, limit| RunFilter { after, limit, ..open.clone() };
    assert_eq!(ids(&found(&bench, page(None, 1)).await), [runs[0].id]);
    assert_eq!(ids(&found(&bench, page(Some(runs[0].id), 1)).await), [runs[2].id], "the next page");
    assert_eq!(ids(&found(&bench, page(Some(runs[1].id), 10)).await), [runs[2].id, other.id], "after one that ended");
    assert_eq!(ids(&found(&bench, page(Some(other.id), 10)).await), []);
    let open_of_b = RunFilter { item: Some(b.id), ..open };
    assert_eq!(ids(&found(&bench, open_of_b).await), [other.id]);
}

/// What may not be seen is not shown: by name, in lists, or by what it said.
pub async fn runs_of_what_may_not_be_seen_are_not_shown(bench: Bench) {
    let second = project("second", "SEC");
    bench.put(ChangeSet { projects: vec![second.clone()], ..ChangeSet::default() }).await;
    let (a, b) = (item(&bench.project, 1, "a"), item(&second, 1, "b"));
    let (mine, theirs) = (run(&a, RunState::Queued), run(&b, RunState::Queued));
    put_runs(&bench, &[&a, &b], written(&[&mine, &theirs], Some("words"))).await;
    let visible = Some([bench.project.id].into());
    let scope = Scope { run_ids: vec![mine.id, theirs.id], visible: visible.clone(), ..Scope::default() };
    let seen = bench.store.view(&scope).await.expect("a slice");
    assert_eq!(seen.runs.keys().copied().collect::<Vec<_>>(), [mine.id]);
    for open_only in [false, true] {
        let filter = RunFilter { visible: visible.clone(), open_only, limit: 10, ..RunFilter::default() };
        assert_eq!(found(&bench, filter).await, std::slice::from_ref(&mine));
        let filter = RunFilter { project: ProjectRef::Id(second.id), open_only, limit: 10, ..RunFilter::default() };
        assert_eq!(found(&bench, filter.clone()).await, std::slice::from_ref(&theirs));
        assert_eq!(found(&bench, RunFilter { visible: visible.clone(), ..filter }).await, []);
    }
    assert_eq!(bench.store.run_log(theirs.id, &visible).await.expect("no log"), None);
    assert!(bench.store.run_log(mine.id, &visible).await.expect("a log").is_some());
}
