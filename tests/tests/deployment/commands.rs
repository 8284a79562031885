//! Commands and variables, against the program's own help.

use std::collections::BTreeSet;

use super::{FILES, read, run, words};

/// What stands before a command of ours where another program starts it.
const STARTERS: [&str; 5] = [
    "ExecStart=/usr/local/bin/",
    "docker compose run --rm docket-1 ",
    "docker run --rm -v docket:/var/lib/docket docket ",
    "runuser -u docket -- ",
    "$ ",
];

/// Each command line of ours in a file, without what starts it.
fn command_lines(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.trim_start_matches(['#', ' ']);
        let starter = STARTERS.iter().find_map(|starter| line.split_once(starter).map(|(_, rest)| (*starter, rest)));
        let Some((starter, rest)) = starter else { continue };
        let rest = rest.split(['#', '|', '>', ';', '`', '\\']).next().unwrap_or_default();
        let mut words: Vec<String> = rest.split_whitespace().map(|word| word.trim_matches('"').to_owned()).collect();
        // The image's own command is the program.
        if !starter.starts_with("docker ") {
            if words.first().is_none_or(|word| word != "docket") {
                continue;
            }
            words.remove(0);
        }
        found.push(words);
    }
    found
}

/// An option that the program does not know is refused also when help is asked for.
#[test]
fn every_command_is_understood() {
    let mut count = 0;
    for file in FILES {
        for mut words in command_lines(&read(file)) {
            words.push("--help".to_owned());
            let ran = run(&words.iter().map(String::as_str).collect::<Vec<_>>());
            let said = String::from_utf8_lossy(&ran.stderr);
            assert!(ran.status.success(), "{file}: docket {}: {said}", words.join(" "));
            count += 1;
        }
    }
    assert!(count >= 10, "only {count} commands were found: has their form changed?");
    assert!(!run(&["backup", "--fast", "--help"]).status.success(), "an unknown option is told");
}

#[test]
fn every_variable_exists() {
    let help = String::from_utf8(run(&["--help"]).stdout).expect("text");
    let upper = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let ours: BTreeSet<&str> = words(&help, "DOCKET_", upper).into_iter().collect();
    assert!(ours.contains("DOCKET_DB"), "the help has lost its variables");
    let example = read("deploy/.env.example");
    let set: BTreeSet<&str> = example.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    for file in FILES {
        for word in words(&read(file), "DOCKET_", upper) {
            assert!(
                ours.contains(word) || set.contains(word),
                "{file}: {word} is neither in the help nor in .env.example"
            );
        }
    }
}

/// What may follow the address of a Postgres database beside what Postgres knows.
#[test]
fn every_part_of_an_address_exists() {
    let options = read("crates/store-postgres/src/options.rs");
    let lower = |c: char| c.is_ascii_lowercase() || c == '_';
    let mut count = 0;
    for file in FILES {
        let text = read(file);
        let is_metric = |word: &str| {
            ["docket_http_", "docket_store_"].iter().any(|metric| word.starts_with(metric)) || word == "docket_ready"
        };
        for word in words(&text, "docket_", lower).into_iter().filter(|word| !is_metric(word)) {
            assert!(options.contains(&format!("\"{word}\"")), "{file}: {word} means nothing in an address");
            count += 1;
        }
    }
    assert!(count > 0, "the guide says nothing of poolers");
}
