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

/// The bug that is planted: what a command is about is looked at one by one, by a statement each.
#[test]
fn a_loop_around_a_statement_is_caught_on_each_store() {
    for store in ["sqlite", "postgres"] {
        let case = format!("{store}::no_command_costs_more_for_more_rows");
        let run = |plant: Option<&str>| {
            let mut command = std::process::Command::new(std::env::current_exe().expect("a path"));
            command.args([&case, "--exact"]).env_remove("DOCKET_PLANT").envs(plant.map(|bug| ("DOCKET_PLANT", bug)));
            let ran = command.output().expect("it starts");
            (ran.status.success(), String::from_utf8_lossy(&ran.stdout).into_owned())
        };
        let (passed, said) = run(None);
        assert!(passed && said.contains("1 passed"), "{said}");
        let (passed, said) = run(Some("rows-one-by-one"));
        assert!(!passed && said.contains("with more rows these cost more"), "not seen on {store}: {said}");
        // Of each sort of command that takes a list of items.
        for command in ["\"edit\"", "\"advance\"", "\"claim\""] {
            assert!(said.contains(command), "{command} is not among those that were seen on {store}: {said}");
        }
    }
}
