//! The contract of stores, case by case, on each of them.

use docket_tests::contract::support::Bench;
use docket_tests::{contract, places};

macro_rules! on_each_store {
    ($($module:ident :: $case:ident,)*) => {
        mod sqlite {
            use super::*;
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                contract::$module::$case(Bench::new(places::sqlite()).await).await;
            })*
        }

        mod postgres {
            use super::*;
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                contract::$module::$case(Bench::new(places::postgres()).await).await;
            })*
        }

        mod pooled_postgres {
            use super::*;
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                contract::$module::$case(Bench::new(places::pooled_postgres()).await).await;
            })*
        }

        /// All cases, by name.
        const CASES: &[&str] = &[$(stringify!($case)),*];
    };
}

docket_tests::cases!(on_each_store);

#[test]
fn no_case_is_forgotten() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/contract");
    for file in std::fs::read_dir(folder).expect("the folder of cases").filter_map(Result::ok) {
        let text = std::fs::read_to_string(file.path()).expect("a file");
        let made = text.lines().filter_map(|line| line.strip_prefix("pub async fn "));
        for case in made.filter_map(|line| line.split_once("(bench: Bench)")).map(|(name, _)| name) {
            assert!(CASES.contains(&case), "{case} is not in the list of cases");
        }
    }
}
