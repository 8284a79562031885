//! The shape of the repository: migrations and decisions are numbered, the stores mirror each other, and nothing says
//! on whose machine it was written.

use std::collections::{BTreeMap, BTreeSet};

use super::File;

/// Folders of one person's or one container's machine. In pieces, so that this file does not find itself.
const MACHINE_FOLDERS: [&str; 3] = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];

/// Hosts of package registries: lock files name the registry, not the mirror it was read from.
const REGISTRY_HOSTS: [&str; 5] = [
    concat!("index.", "crates.io"),
    concat!("static.", "crates.io"),
    concat!("registry.", "npmjs.org"),
    concat!("files.", "pythonhosted.org"),
    concat!("py", "pi.org"),
];

/// The only source that may stand in Cargo.lock.
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

pub(super) fn check(files: &[File]) -> Vec<String> {
    let mut found: Vec<String> = files.iter().flat_map(machine_traces).collect();
    found.extend(mirrored_stores(files));
    found.extend(migrations(files));
    found.extend(decisions(files));
    found
}

fn machine_traces(file: &File) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in file.text.lines().enumerate() {
        let at = format!("{}:{}", file.path, number + 1);
        if let Some(folder) = MACHINE_FOLDERS.iter().find(|folder| names_folder(line, folder)) {
            found.push(format!("{at}: names {folder}, a folder of one machine"));
        }
        if let Some(host) = REGISTRY_HOSTS.iter().find(|host| line.contains(**host)) {
            found.push(format!("{at}: names {host}, the host of a package registry"));
        }
        let source = line.strip_prefix("source = \"").map(|source| source.trim_end_matches('"'));
        if file.path == "Cargo.lock" && source.is_some_and(|source| source != CRATES_IO) {
            found.push(format!("{at}: a package that does not come from crates.io"));
        }
    }
    found
}

/// Whether a line names a folder at the root of a machine, and not one of that name somewhere beneath another.
fn names_folder(line: &str, folder: &str) -> bool {
    let beneath = |c: char| c.is_alphanumeric() || "._-~}*)".contains(c);
    line.match_indices(folder).any(|(at, _)| !line[..at].ends_with(beneath))
}

/// Files that a store may have alone: tests of its own database's plans, what tests of the whole do to a server, and of a
/// database that is a library on which thread it is called, what its disk does, in which steps it is looked at, and whose turn it
/// is to write; of one that is a file which files belong to it, whether it is still the one that was opened, and whether the log and
/// the journal beside it are its own.
const OF_ONE_STORE: [&str; 11] = [
    "_tests.rs",
    "testing.rs",
    "cells.rs",
    "place.rs",
    "disk.rs",
    "files.rs",
    "log.rs",
    "look.rs",
    "desk.rs",
    "original.rs",
    "journal.rs",
];

/// With two stores, what is in a file of one is in the same file of the other.
fn mirrored_stores(files: &[File]) -> Vec<String> {
    let mut stores: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in files {
        if let Some((store, inside)) = file.path.strip_prefix("crates/store-").and_then(|path| path.split_once("/src/"))
            && !OF_ONE_STORE.iter().any(|alone| inside.ends_with(alone))
        {
            stores.entry(store).or_default().insert(inside);
        }
    }
    missing(&stores, |store, file| format!("crates/store-{store}/src/{file}: missing, and the other store has it"))
}

/// Every database has the same migrations, numbered from 1 without gaps, and its store applies each.
fn migrations(files: &[File]) -> Vec<String> {
    let mut databases: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.is("sql")) {
        if let Some((database, name)) = file.path.strip_prefix("migrations/").and_then(|path| path.split_once('/')) {
            databases.entry(database).or_default().insert(name);
        }
    }
    let mut found: Vec<String> = databases
        .iter()
        .flat_map(|(database, names)| gaps(&format!("migrations/{database}"), '_', names.iter().copied()))
        .collect();
    found.extend(missing(&databases, |database, name| {
        format!("migrations/{database}/{name}: missing, and another database has it")
    }));
    for (database, names) in &databases {
        let store = format!("crates/store-{database}/src/migrate.rs");
        let code = files.iter().find(|file| file.path == store).map(|file| file.text.as_str()).unwrap_or_default();
        let forgotten = names.iter().filter(|name| !code.contains(**name));
        found.extend(forgotten.map(|name| format!("{store}: does not apply migrations/{database}/{name}")));
    }
    found
}

/// Decisions are numbered from 1 without gaps, and say their number first.
fn decisions(files: &[File]) -> Vec<String> {
    let adrs: BTreeMap<&str, &str> =
        files.iter().filter_map(|file| Some((file.path.strip_prefix("docs/adr/")?, file.text.as_str()))).collect();
    let mut found = gaps("docs/adr", '-', adrs.keys().copied());
    for (name, text) in &adrs {
        let number = name.get(..4).unwrap_or_default();
        if !text.starts_with(&format!("# {number}: ")) {
            found.push(format!("docs/adr/{name}:1: must begin with \"# {number}: \" and the decision"));
        }
    }
    found
}

/// Names that do not begin with their place as four digits and a mark.
fn gaps<'n>(folder: &str, mark: char, names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let numbered = names.enumerate().map(|(before, name)| (format!("{:04}{mark}", before + 1), name));
    numbered
        .filter(|(wanted, name)| !name.starts_with(wanted))
        .map(|(wanted, name)| {
            format!("{folder}/{name}: should begin with {wanted}: numbers have no gaps and are used once")
        })
        .collect()
}

/// What one set has and another has not.
fn missing(sets: &BTreeMap<&str, BTreeSet<&str>>, say: impl Fn(&str, &str) -> String) -> Vec<String> {
    let all: BTreeSet<&str> = sets.values().flatten().copied().collect();
    sets.iter().flat_map(|(set, members)| all.difference(members).map(|member| say(set, member))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> usize {
        let files: Vec<File> =
            files.iter().map(|(path, text)| File { path: (*path).to_owned(), text: (*text).to_owned() }).collect();
        check(&files).len()
    }

    #[test]
    fn traces_of_a_machine_are_found() {
        for folder in MACHINE_FOLDERS {
            assert_eq!(found(&[("docs/a.md", &format!("see {folder}main"))]), 1, "{folder}");
            assert_eq!(found(&[("docs/a.md", &format!("see file://{folder}main"))]), 1, "{folder} in an address");
            assert_eq!(
                found(&[("docs/a.md", &format!("see crates{folder}main.rs"))]),
                0,
                "a folder of ours like {folder}"
            );
        }
        for host in REGISTRY_HOSTS {
            assert_eq!(found(&[("docs/a.md", &format!("from https://{host}/a"))]), 1, "{host}");
        }
        assert_eq!(found(&[("Cargo.lock", &format!("source = \"{CRATES_IO}\""))]), 0);
        assert_eq!(found(&[("Cargo.lock", "source = \"git+https://example.org/a\"")]), 1);
    }

    #[test]
    fn stores_and_migrations_mirror_each_other() {
        let one = [("crates/store-sqlite/src/migrate.rs", "0001_init.sql"), ("migrations/sqlite/0001_init.sql", "")];
        assert_eq!(found(&one), 0, "nothing to mirror while there is one");
        let other =
            [("crates/store-postgres/src/migrate.rs", "0001_start.sql"), ("migrations/postgres/0001_start.sql", "")];
        assert_eq!(found(&[one[0], one[1], other[0], other[1]]), 2, "migrations of two names");
        let more = ("crates/store-sqlite/src/more.rs", "");
        let same =
            [("crates/store-postgres/src/migrate.rs", "0001_init.sql"), ("migrations/postgres/0001_init.sql", "")];
        assert_eq!(found(&[one[0], one[1], same[0], same[1]]), 0);
        assert_eq!(found(&[one[0], one[1], same[0], same[1], more]), 1, "a file of one store alone");
    }

    #[test]
    fn numbers_have_no_gaps_and_nothing_is_forgotten() {
        let store = ("crates/store-sqlite/src/migrate.rs", "0001_init.sql 0003_more.sql");
        let (first, third) = (("migrations/sqlite/0001_init.sql", ""), ("migrations/sqlite/0003_more.sql", ""));
        assert_eq!(found(&[store, first]), 0);
        assert_eq!(found(&[store, first, third]), 1);
        assert_eq!(found(&[first]), 1, "a migration that no store applies");
        assert_eq!(found(&[("docs/adr/0001-a.md", "# 0001: A"), ("docs/adr/0002-b.md", "# 0002: B")]), 0);
        assert_eq!(found(&[("docs/adr/0001-a.md", "# 0001: A"), ("docs/adr/0001-b.md", "# 0001: B")]), 1);
        assert_eq!(found(&[("docs/adr/0001-a.md", "# A")]), 1);
    }
}
