//! What a person sees who sits at a terminal, and a program that reads through a pipe does not: colours, and how far it has come.
//!
//! The terminal is one that `script` of util-linux makes.
#![expect(clippy::print_stderr, reason = "what was not tried is told")]

use std::process::Command;

use docket_tests::program::docket;

use crate::desk::Desk;

/// What the program shows on a terminal; none where there is nothing to make one with.
fn on_a_terminal(desk: &Desk, words: &str, variables: &[(&str, &str)]) -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut command = Command::new("script");
    command.args(["-qec", &format!("\"$PROGRAM\" {words}"), "/dev/null"]).current_dir(desk.path()).env_clear();
    command.env("PATH", path).env("HOME", desk.path()).env("USER", "ann").env("TERM", "xterm").env("PROGRAM", docket());
    command.envs(variables.iter().copied()).stdin(std::process::Stdio::null());
    match command.output() {
        Ok(shown) => {
            assert!(shown.status.success(), "{words}: {shown:?}");
            Some(String::from_utf8(shown.stdout).expect("UTF-8"))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("NOT TRIED: there is no `script` here to make a terminal with");
            None
        }
        Err(error) => panic!("script: {error}"),
    }
}

const ESCAPE: char = '\u{1b}';

#[test]
fn a_table_has_colour_on_a_terminal_alone() {
    let desk = Desk::standard();
    desk.add(&["One"]);
    let Some(shown) = on_a_terminal(&desk, "item list", &[]) else { return };
    assert!(shown.contains("One") && shown.contains(&format!("{ESCAPE}[")), "no colour in {shown:?}");
    for (variable, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let plain = on_a_terminal(&desk, "item list", &[(variable, value)]).expect("a terminal");
        assert!(plain.contains("One") && !plain.contains(ESCAPE), "{variable}={value}: {plain:?}");
    }
    let piped = desk.ok(&["item", "list"]);
    assert!(piped.contains("One") && !piped.contains(ESCAPE), "{piped:?}");
}

#[test]
fn a_check_that_runs_is_shown_to_whoever_watches() {
    let desk = Desk::standard();
    let item = desk.add(&["One"]);
    desk.ok(&["check", "add", &item, "It runs", "--cmd", "sleep 0.5"]);
    let piped = desk.run(&["check", "run", &item]);
    assert_eq!(piped.code, 0, "{piped:?}");
    for once in ["[1/1] It runs …", "[1/1] It runs: passed"] {
        assert_eq!(piped.err.matches(once).count(), 1, "{once}: {piped:?}");
    }
    assert!(!piped.err.contains(ESCAPE) && !piped.err.contains("… 0s"), "{piped:?}");
    let run = format!("check run {item} --again");
    let Some(shown) = on_a_terminal(&desk, &run, &[]) else { return };
    // A line that is drawn again and again, with how long it has been, and is gone in the end.
    let drawn = shown.matches("[1/1] It runs … 0s").count();
    assert!(drawn > 1 && shown.contains(&format!("{ESCAPE}[")), "drawn {drawn} times: {shown:?}");
    assert_eq!(shown.matches("[1/1] It runs: passed").count(), 1, "{shown:?}");
}
