//! The examples of the README and of the guide to REST, pasted one after the other into an empty folder.

use std::path::Path;
use std::process::Command;

use docket_tests::web::{Runner, Web};

use crate::desk::Desk;

/// The command lines of a guide from where it says so, each whole.
fn examples(file: &str, from: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    let text = std::fs::read_to_string(path).expect("a guide").replace("\\\n", " ");
    let (_, part) = text.split_once(from).expect("the part");
    let console = part.split("```console\n").skip(1).filter_map(|rest| rest.split_once("```"));
    let lines = console.flat_map(|(block, _)| block.lines()).filter_map(|line| line.strip_prefix("$ "));
    lines.map(|line| line.split("  #").next().unwrap_or(line).trim().to_owned()).collect()
}

/// Runs a line as a shell does where `docket` is on the path.
fn paste(desk: &Desk, line: &str) {
    let mut shell = Command::new("sh");
    let docket = docket_tests::program::docket().parent().expect("a folder").to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(docket).chain(std::env::split_paths(&path))).expect("a path");
    shell.args(["-c", line]).current_dir(desk.path()).env_clear();
    shell.env("PATH", path).env("HOME", desk.path()).env("USER", "ann");
    let ran = shell.output().expect("a shell");
    let said = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(ran.status.success(), "{line}\n{said}");
}

#[test]
fn the_readme_s_day_goes_from_top_to_bottom() {
    let desk = Desk::bare();
    let all = examples("README.md", "## For the people who run it");
    let day: Vec<&String> = all.iter().filter(|line| line.starts_with("docket ")).collect();
    assert!(day.len() >= 12 && day[0].starts_with("docket init"), "{day:?}");
    for line in day {
        paste(&desk, line);
    }
    assert_eq!(desk.field("DOC-1", "status"), "in_review", "it was begun, shown and finished");
}

#[test]
fn the_guide_to_rest_goes_from_top_to_bottom() {
    let desk = Desk::bare();
    let (mut web, mut runner, mut sent): (Option<Web>, Option<Runner>, usize) = (None, None, 0);
    for line in examples("docs/guides/rest.md", "# REST") {
        if line == "docket serve" {
            let word = format!("sqlite:{}", desk.database().display());
            web = Some(Web::serving(&word, &desk.path(), |_| {}));
        } else if line == "docket runner" {
            runner = Some(Runner::beside(web.as_ref().expect("a server")));
        } else if line.starts_with("curl -sN ") {
            // A stream has no end.
        } else if line.starts_with("curl ") {
            let address = web.as_ref().expect("a server").address.to_string();
            let quick = line.replace("after=4&waitMs=30000", "after=4&waitMs=10").replace("localhost:7420", &address);
            paste(&desk, &quick.replacen("curl -s", "curl -s --fail-with-body --max-time 60", 1));
            sent += 1;
        } else {
            paste(&desk, &line);
        }
    }
    assert!(sent >= 18 && runner.is_some(), "{sent} requests were sent");
}
