//! probe
#![allow(warnings)]
use sqlx::sqlite::*; use sqlx::*; use std::time::*;
fn p50(v: &mut Vec<f64>) -> f64 { v.sort_by(f64::total_cmp); v[v.len()/2]*1e6 }
fn main() {
    let multi = std::env::args().any(|a| a=="x");
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let mut c = SqliteConnectOptions::new().filename("/work/main/target/probe.db").create_if_missing(true).journal_mode(SqliteJournalMode::Wal).row_buffer_size(1024)
            .pragma("synchronous","NORMAL").disable_statement_logging().connect().await.unwrap();
        query("create table if not exists t (a integer primary key, b text)").execute(&mut c).await.unwrap();
        let n = 3000;
        for round in 0..2 {
            let mut v=vec![]; for _ in 0..n { let t=Instant::now(); query("SELECT 1").fetch_all(&mut c).await.unwrap(); v.push(t.elapsed().as_secs_f64()); }
            println!("select fetch_all {:.1} us", p50(&mut v));
            let mut v=vec![]; for _ in 0..n { let t=Instant::now(); query("SELECT 1").fetch_optional(&mut c).await.unwrap(); v.push(t.elapsed().as_secs_f64()); }
            println!("select fetch_optional {:.1} us", p50(&mut v));
            for k in [1,2,4,8] {
                let sql = "UPDATE t SET b = 'x' WHERE a = -1;".repeat(k);
                let mut v=vec![]; for _ in 0..n { let t=Instant::now(); query(AssertSqlSafe(sql.clone())).fetch_all(&mut c).await.unwrap(); v.push(t.elapsed().as_secs_f64()); }
                println!("{k} empty updates fetch_all {:.1} us", p50(&mut v));
                let sql = format!("BEGIN IMMEDIATE;{sql}COMMIT;");
                let mut v=vec![]; for _ in 0..n { let t=Instant::now(); query(AssertSqlSafe(sql.clone())).fetch_all(&mut c).await.unwrap(); v.push(t.elapsed().as_secs_f64()); }
                println!("begin {k} empty updates commit fetch_all {:.1} us", p50(&mut v));
            }
            let mut v=vec![]; for _ in 0..n { let t=Instant::now(); query("BEGIN IMMEDIATE;INSERT INTO t (b) VALUES ('hello');COMMIT").fetch_all(&mut c).await.unwrap(); v.push(t.elapsed().as_secs_f64()); }
            println!("insert 1 commit {:.1} us", p50(&mut v));
        }
        // std thread ping-pong
        let (tx, rx) = std::sync::mpsc::channel::<std::sync::mpsc::Sender<()>>();
        std::thread::spawn(move || for s in rx { s.send(()).ok(); });
        let mut v=vec![]; for _ in 0..n { let t=Instant::now(); let (a,b)=std::sync::mpsc::channel(); tx.send(a).unwrap(); b.recv().unwrap(); v.push(t.elapsed().as_secs_f64()); }
        println!("std ping-pong {:.1} us", p50(&mut v));
    });
}
