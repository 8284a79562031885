//! The chores of this repository, one file each: `cargo xtask test`, `ci`, `soak`, `bench`, `tidy`.
//!
//! Nothing here is part of the product, and no crate of the product may depend on it.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a tool for a terminal talks to it")]

mod bench;
mod ci;
mod deny;
mod metadata;
mod run;
mod soak;
mod test;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask test             build everything and run every test
cargo xtask soak [TIMES] [promises] [parity] [oldest-postgres] [newest-postgres]
                             the experiments on what is promised, so many times as long (10 where nothing is said), and the
                             contract of stores on the oldest Postgres that is promised and on the newest there is, from
                             npm; only the parts that are named, where any are
cargo xtask ci [STEP...]     fmt, clippy, deny, tidy, test and docs, or only the steps named
cargo xtask bench [--quick] [PART...]
                             what is promised of speed and size, measured on a release build; target/bench.json
cargo xtask tidy [--shrink]  the rules that no compiler checks; --shrink lowers the sizes in xtask/tidy.toml";

/// The exit code of a command line that means nothing.
const USAGE_EXIT: u8 = 2;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["test"] => test::run(),
        ["soak", words @ ..] => soak::run(words),
        ["ci", steps @ ..] => ci::run(steps),
        ["bench", words @ ..] => bench::run(words),
        ["tidy"] => tidy::run(),
        ["tidy", "--shrink"] => tidy::shrink(),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(USAGE_EXIT);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
