//! Measures the store.
#![expect(clippy::print_stdout, reason = "a tool for the terminal")]
#![allow(dead_code, unused, unreachable_pub, clippy::all, clippy::pedantic, clippy::unwrap_used)]
#[path = "../tests/it/support.rs"]
mod support;
use docket_core::model::*;
use docket_core::store::*;
use docket_store_sqlite::*;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use support::*;

async fn fill(store: &SqliteStore, project: &Project, n: u32) -> Vec<Item> {
    let mut all = vec![];
    let mut number = 1;
    while number <= n {
        let items: Vec<Item> =
            (0..1000.min(n)).map(|k| item(project, number + k, &format!("item number {}", number + k))).collect();
        store.execute(Box::new(Put(ChangeSet { new_items: items.clone(), ..Default::default() }))).await.unwrap();
        number += 1000.min(n);
        all.extend(items);
    }
    all
}

async fn claims(store: Arc<SqliteStore>, project: ProjectId, holder: &str, until: Instant) -> u64 {
    let mut n = 0;
    while Instant::now() < until {
        let got = Arc::new(Mutex::new(vec![]));
        match store
            .execute(Box::new(ClaimBest { project, holder: name(&format!("{holder}-{n}")), got: got.clone() }))
            .await
        {
            Ok(()) => {
                if got.lock().unwrap().is_empty() {
                    break;
                } else {
                    n += 1
                }
            }
            Err(e) => println!("{e:?}"),
        }
    }
    n
}

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mode = args.get(1).map(String::as_str).unwrap_or("single");
    let durability = if args.iter().any(|a| a == "full") { Durability::Full } else { Durability::Normal };
    match mode {
        "worker" => {
            let store = Arc::new(SqliteStore::open(SqliteOptions::new(&args[2]).durability(durability)).await.unwrap());
            let project = store.projects().await.unwrap()[0].id;
            let n = claims(
                store.clone(),
                project,
                &format!("w{}", std::process::id()),
                Instant::now() + Duration::from_secs(3),
            )
            .await;
            println!("{n}");
            store.close().await;
        }
        "race" => {
            let folder = tempfile::tempdir_in("/work").unwrap();
            let n: usize = args[2].parse().unwrap();
            let store = SqliteStore::open(fast(&folder)).await.unwrap();
            let project = project("docket", "DOC");
            store
                .execute(Box::new(Put(ChangeSet { projects: vec![project.clone()], ..Default::default() })))
                .await
                .unwrap();
            fill(&store, &project, 40_000).await;
            store.close().await;
            let path = folder.path().join("docket.db");
            let begun = Instant::now();
            let children: Vec<_> = (0..n)
                .map(|_| {
                    std::process::Command::new(std::env::current_exe().unwrap())
                        .arg("worker")
                        .arg(&path)
                        .args((durability == Durability::Full).then_some("full"))
                        .stdout(std::process::Stdio::piped())
                        .spawn()
                        .unwrap()
                })
                .collect();
            let counts: Vec<u64> = children
                .into_iter()
                .map(|c| {
                    let out = c.wait_with_output().unwrap();
                    String::from_utf8(out.stdout).unwrap().trim().lines().last().unwrap().parse().unwrap_or(0)
                })
                .collect();
            println!(
                "{n} processes {durability:?}: {:.0} claims/s; each {counts:?} in {:?}",
                counts.iter().sum::<u64>() as f64 / 3.0,
                begun.elapsed()
            );
        }
        _ => {
            let folder = tempfile::tempdir_in("/work").unwrap();
            let begun = Instant::now();
            let store = Arc::new(SqliteStore::open(fast(&folder).durability(durability)).await.unwrap());
            println!("{durability:?} create+open {:?}", begun.elapsed());
            let project = project("docket", "DOC");
            store
                .execute(Box::new(Put(ChangeSet { projects: vec![project.clone()], ..Default::default() })))
                .await
                .unwrap();
            let begun = Instant::now();
            let items = fill(&store, &project, 20_000).await;
            println!("20,000 items in {:?}", begun.elapsed());
            let root = items[0].clone();
            let mid = child(&root, 30_001, "mid", &project);
            let leaf = child(&mid, 30_002, "leaf", &project);
            store
                .execute(Box::new(Put(ChangeSet {
                    new_items: vec![mid.clone(), leaf.clone()],
                    notes: vec![note(&leaf, "a", "text"), note(&leaf, "b", "text")],
                    new_edges: vec![edge(EdgeKind::Blocks, &items[5], &leaf)],
                    ..Default::default()
                })))
                .await
                .unwrap();
            let plain = Scope { items: vec![leaf.id.into()], ..Default::default() };
            let full = Scope {
                items: vec![leaf.id.into()],
                around: Around {
                    ancestors: true,
                    notes: NoteReach::Heads,
                    edges: EdgeReach::Shown,
                    open_children: Some(1),
                    open_descendants: Some(20),
                    ..Default::default()
                },
                project: ProjectRef::Id(project.id),
                ..Default::default()
            };
            let gate = Scope {
                items: vec![leaf.id.into()],
                around: Around { ancestors: true, notes: NoteReach::Bodies, ..Default::default() },
                ..Default::default()
            };
            let claim = ClaimBest { project: project.id, holder: name("x"), got: Default::default() }.scope();
            let held = Scope { project: ProjectRef::Id(project.id), held_by: Some(name("x")), ..Default::default() };
            let busy = Scope { project: ProjectRef::Id(project.id), busy: true, ..Default::default() };
            let cand = Scope { project: ProjectRef::Id(project.id), candidates: Some(best(1)), ..Default::default() };
            let cand8 = Scope { project: ProjectRef::Id(project.id), candidates: Some(best(8)), ..Default::default() };
            let nothing = Scope::default();
            for (what, scope) in [
                ("view nothing", &nothing),
                ("view claim", &claim),
                ("view held", &held),
                ("view busy", &busy),
                ("view cand 1", &cand),
                ("view cand 8", &cand8),
                ("view one", &plain),
                ("view one+ancestors+note bodies", &gate),
                ("view one+ancestors+heads+edges+children+descendants", &full),
            ] {
                for _ in 0..50 {
                    store.view(scope).await.unwrap();
                }
                let (begun, st) = (Instant::now(), store.statements());
                for _ in 0..1000 {
                    store.view(scope).await.unwrap();
                }
                if args.iter().any(|a| a == "prof") && what.contains("heads") {
                    let e = Instant::now() + Duration::from_secs(6);
                    while Instant::now() < e {
                        store.view(scope).await.unwrap();
                    }
                    return;
                }
                println!("{what}: {:?} ({} statements)", begun.elapsed() / 1000, (store.statements() - st) / 1000);
            }
            let f = Filter { project: ProjectRef::Id(project.id), limit: 50, count: true, ..Default::default() };
            let w = Filter { words: vec!["item".into(), "number".into(), "777".into()], ..f.clone() };
            for (what, filter) in [("find 50 newest + count", &f), ("find words", &w)] {
                for _ in 0..20 {
                    store.find(filter).await.unwrap();
                }
                let begun = Instant::now();
                for _ in 0..200 {
                    store.find(filter).await.unwrap();
                }
                println!("{what}: {:?}", begun.elapsed() / 200);
            }
            let n = if durability == Durability::Full { 300 } else { 2000 };
            let touched = Touched { state: true, ..Default::default() };
            for _ in 0..20 {
                store.execute(Box::new(Edit(leaf.id, touched, |i: &mut Item| i.version += 1))).await.unwrap();
            }
            let begun = Instant::now();
            for _ in 0..n {
                store.execute(Box::new(Edit(leaf.id, touched, |i: &mut Item| i.version += 1))).await.unwrap();
            }
            if args.iter().any(|a| a == "profedit") {
                let e = Instant::now() + Duration::from_secs(6);
                while Instant::now() < e {
                    store.execute(Box::new(Edit(leaf.id, touched, |i: &mut Item| i.version += 1))).await.unwrap();
                }
                return;
            }
            println!("execute edit: {:?}", begun.elapsed() / n);
            let begun = Instant::now();
            let k = claims(store.clone(), project.id, "solo", Instant::now() + Duration::from_secs(2)).await;
            println!("claim-next one by one: {:.0}/s", k as f64 / begun.elapsed().as_secs_f64());
            let (begun, commits) = (Instant::now(), store.commits());
            let tasks: Vec<_> = (0..64)
                .map(|t| {
                    let store = store.clone();
                    let id = project.id;
                    tokio::spawn(async move {
                        claims(store, id, &format!("t{t}"), Instant::now() + Duration::from_secs(2)).await
                    })
                })
                .collect();
            let mut total = 0;
            for t in tasks {
                total += t.await.unwrap();
            }
            println!(
                "claim-next by 64 tasks: {:.0}/s, {:.1} units a commit",
                total as f64 / begun.elapsed().as_secs_f64(),
                total as f64 / (store.commits() - commits) as f64
            );
            let path = folder.path().join("docket.db");
            store.close().await;
            for _ in 0..3 {
                let begun = Instant::now();
                let s = SqliteStore::open(SqliteOptions::new(&path)).await.unwrap();
                let o = begun.elapsed();
                s.head().await.unwrap();
                println!("open {o:?}, to head {:?}", begun.elapsed());
                s.close().await;
            }
        }
    }
}
