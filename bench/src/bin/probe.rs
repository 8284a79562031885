//! probe
#![allow(warnings)]
#[path = "../base.rs"] mod base;
#[path = "../forest.rs"] mod forest;
use std::time::*;
use docket_core::command::*; use docket_core::store::*; use docket_core::model::*; use docket_core::workflow::Target;
use docket_store_sqlite::*;
fn p50(v: &mut Vec<f64>) -> f64 { v.sort_by(f64::total_cmp); v[v.len()/2]*1e6 }
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let n: usize = args[1].parse().unwrap();
    let full = args.get(2).is_some_and(|a| a == "full");
    let path = std::path::Path::new("/work/main/target/probe2.db");
    for s in ["", "-wal", "-shm"] { let _ = std::fs::remove_file(format!("/work/main/target/probe2.db{s}")); }
    base::runtime().unwrap().block_on(async {
        let b = base::Base::open(path, if full { Durability::Full } else { Durability::Normal }).await.unwrap();
        forest::sow(&b, 2*n as u32 + 1000).await.unwrap();
        let mut v = vec![];
        let (st, rt) = (b.store.statements(), b.store.round_trips());
        for k in 0..n {
            let call = base::call_by(&format!("agent-{k}")).unwrap();
            let next = ClaimNext { project: b.project(), wanted: Wanted::default(), ttl: None };
            let t = Instant::now(); b.engine.run(call, next).await.unwrap(); v.push(t.elapsed().as_secs_f64());
        }
        println!("claim-next {:.1} us; statements {} trips {}", p50(&mut v), (b.store.statements()-st) as f64/n as f64, (b.store.round_trips()-rt) as f64/n as f64);
        let mut v = vec![];
        use docket_core::engine::Command as _;
        use docket_core::store::Store as _;
        for k in 0..n {
            let call = base::call_by(&format!("agentx-{k}")).unwrap();
            let next = ClaimNext { project: b.project(), wanted: Wanted::default(), ttl: None };
            let scope = next.scope(&call);
            let t = Instant::now(); let s = b.store.view(&scope).await.unwrap(); v.push(t.elapsed().as_secs_f64());
            if k == 0 { let t = Instant::now(); for _ in 0..1000 { std::hint::black_box(next.decide(&call, &s).unwrap()); } println!("decide {:?}", t.elapsed()/1000); }
        }
        println!("view of claim scope {:.1} us", p50(&mut v));
        for (what, scope) in [("empty", Scope{project:b.project(),..Default::default()}), ("held", Scope{project:b.project(),held_by:Some(base::name("nobody").unwrap()),..Default::default()}),
           ("busy", Scope{project:b.project(),busy:true,..Default::default()})] {
            let mut v = vec![];
            for k in 0..n { let t = Instant::now(); let s = b.store.view(&scope).await.unwrap(); v.push(t.elapsed().as_secs_f64()); }
            println!("view of {what} scope {:.1} us", p50(&mut v));
        }
        let mut v = vec![];
        for k in 0..n {
            let r = ItemRef::Id(forest::id(k as u32 + 1));
            let t = Instant::now(); b.engine.show(&b.project(), std::slice::from_ref(&r), Around::default()).await.unwrap(); v.push(t.elapsed().as_secs_f64());
        }
        println!("get {:.1} us", p50(&mut v));
        let mut v = vec![];
        let (st, rt) = (b.store.statements(), b.store.round_trips());
        for k in 0..n {
            let call = base::call_by("maker").unwrap();
            let c = Create { project: b.project(), items: vec![NewItem::titled(Title::parse("A new thing to do").unwrap())], edges: vec![], notes: vec![], blank_notes: false, atomic: true };
            let t = Instant::now(); b.engine.run(call, c).await.unwrap(); v.push(t.elapsed().as_secs_f64());
        }
        println!("create {:.1} us; statements {} trips {}", p50(&mut v), (b.store.statements()-st) as f64/n as f64, (b.store.round_trips()-rt) as f64/n as f64);
        let mut v = vec![];
        let (st, rt) = (b.store.statements(), b.store.round_trips());
        for k in 0..n {
            let call = base::call_by(&format!("agent-{k}")).unwrap();
            let m = MoveRequest { item: ItemRef::Id(forest::id(k as u32 + 1)), target: Target::Trigger(Trigger::Start), summary: None, by: None, fence: None };
            let t = Instant::now(); b.engine.run(call, Advance { project: b.project(), moves: vec![m], atomic: true }).await.unwrap(); v.push(t.elapsed().as_secs_f64());
        }
        println!("start {:.1} us; statements {} trips {}", p50(&mut v), (b.store.statements()-st) as f64/n as f64, (b.store.round_trips()-rt) as f64/n as f64);
        b.close().await;
    });
}
