//! The Dockerfile: pinned, small in rights, and started with options that exist.

use super::{PORT, path, read, run};
use std::path::Path;

/// Instructions with what follows them; lines that go on are joined.
fn instructions() -> Vec<(String, String)> {
    let text = read("Dockerfile").replace("\\\n", " ");
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let split = |line: &str| line.split_once(' ').map(|(word, rest)| (word.to_owned(), rest.trim().to_owned()));
    lines.map(|line| split(line).unwrap_or_else(|| panic!("no instruction: {line}"))).collect()
}

fn all(name: &str) -> Vec<String> {
    instructions().into_iter().filter(|(word, _)| word == name).map(|(_, rest)| rest).collect()
}

fn list(name: &str) -> Vec<String> {
    let found = all(name);
    let last = found.last().unwrap_or_else(|| panic!("no {name}"));
    serde_json::from_str(last).unwrap_or_else(|error| panic!("{name} is no list: {error}"))
}

/// The command by which the image tells whether it is well.
pub(crate) fn health_check() -> Vec<String> {
    let found = all("HEALTHCHECK");
    let (_, command) = found.last().and_then(|check| check.split_once(" CMD ")).expect("a HEALTHCHECK with a CMD");
    serde_json::from_str(command).expect("a list")
}

#[test]
fn images_are_pinned() {
    let known =
        ["FROM", "ENV", "WORKDIR", "COPY", "RUN", "USER", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"];
    for (word, rest) in instructions() {
        assert!(known.contains(&word.as_str()), "{word} {rest}");
    }
    let bases = all("FROM");
    for base in &bases {
        let tag = base.split_whitespace().next().and_then(|image| image.split_once(':')).map(|(_, tag)| tag);
        assert!(tag.is_some_and(|tag| tag != "latest"), "{base}");
    }
    let debian = bases.last().and_then(|base| base.split_once(':')?.1.split('-').next()).expect("a Debian");
    assert!(bases[0].contains(debian), "built and run on different Debians: {bases:?}");
}

#[test]
fn the_compiler_is_the_one_the_workspace_asks_for() {
    let manifest = read("Cargo.toml");
    let wanted =
        manifest.lines().find_map(|line| line.strip_prefix("rust-version = ")).expect("a version").trim_matches('"');
    let toolchain = all("ENV").into_iter().find_map(|set| set.strip_prefix("RUSTUP_TOOLCHAIN=").map(str::to_owned));
    let toolchain = toolchain.expect("RUSTUP_TOOLCHAIN");
    assert!(toolchain.starts_with(&format!("{wanted}.")), "{toolchain} for {wanted}");
    assert!(all("FROM")[0].starts_with(&format!("rust:{toolchain}-")), "another toolchain than the image's is fetched");
}

#[test]
fn it_runs_as_nobody_in_particular() {
    let user = all("USER").pop().expect("a USER");
    assert!(user.split(':').all(|id| id.parse::<u32>().is_ok_and(|id| id > 0)), "{user}");
    let after = instructions().into_iter().skip_while(|(word, _)| word != "USER").any(|(word, _)| word == "RUN");
    assert!(!after, "what runs after USER would want its rights");
    for word in ["PASSWORD", "SECRET", "TOKEN"] {
        assert!(instructions().iter().all(|(_, rest)| !rest.contains(word)), "{word} in an image");
    }
}

#[test]
fn it_starts_what_exists() {
    assert_eq!(list("ENTRYPOINT"), ["docket"]);
    let mut command = list("CMD");
    assert_eq!(all("EXPOSE"), [PORT]);
    assert!(command.contains(&format!("0.0.0.0:{PORT}")), "{command:?}");
    command.push("--help".to_owned());
    let ran = run(&command.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

/// Whether a file is left out of what a build is given: it or a folder that it lies in fits a line.
fn is_left_out(file: &str) -> bool {
    fn fits(pattern: &[&str], parts: &[&str]) -> bool {
        match (pattern, parts) {
            ([], _) => true,
            (["**", rest @ ..], parts) => (0..=parts.len()).any(|skipped| fits(rest, &parts[skipped..])),
            ([one, rest @ ..], [part, parts @ ..]) => one_fits(one, part) && fits(rest, parts),
            ([_, ..], []) => false,
        }
    }
    fn one_fits(pattern: &str, part: &str) -> bool {
        match pattern.split_once('*') {
            None => pattern == part,
            Some((before, after)) => {
                assert!(!after.contains('*'), "{pattern} is more than this test reads");
                part.len() >= before.len() + after.len() && part.starts_with(before) && part.ends_with(after)
            }
        }
    }
    let rules = read(".dockerignore");
    let mut rules = rules.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let parts: Vec<&str> = file.split('/').collect();
    rules.any(|rule| {
        assert!(!rule.starts_with('!'), "{rule} is more than this test reads");
        fits(&rule.split('/').collect::<Vec<_>>(), &parts)
    })
}

/// Every file beneath a folder of the repository, by its name there.
fn files(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path(folder)).unwrap_or_else(|error| panic!("{folder}: {error}")) {
        let entry = entry.expect("an entry");
        let name = format!("{folder}/{}", entry.file_name().to_str().expect("a name"));
        let folder = entry.file_type().expect("a type").is_dir();
        found.extend(if folder { files(&name) } else { vec![name] });
    }
    found
}

/// What a source file takes in when it is compiled, by its name in the repository.
fn taken_in(source: &str) -> Vec<String> {
    let text = read(source);
    let mut found = Vec::new();
    for word in ["include_str!(\"", "include_bytes!(\""] {
        for named in text.split(word).skip(1).filter_map(|rest| rest.split('"').next()) {
            let mut parts: Vec<&str> = source.split('/').collect();
            parts.pop();
            for part in named.split('/') {
                if part == ".." { _ = parts.pop() } else { parts.push(part) }
            }
            found.push(parts.join("/"));
        }
    }
    found
}

#[test]
fn what_a_build_takes_in_is_given_to_it() {
    let manifest = read("Cargo.toml");
    let members = manifest.lines().find(|line| line.starts_with("members = ")).expect("the members");
    let members: Vec<&str> = members.split('"').skip(1).step_by(2).collect();
    assert!(members.len() > 10, "{members:?}");
    let mut needed: Vec<String> =
        ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml", ".cargo/config.toml"].map(str::to_owned).into();
    needed.extend(files("migrations"));
    let mut included = 0;
    for member in members {
        needed.push(format!("{member}/Cargo.toml"));
        // Cargo looks for the files of every target of every member, also of those that are not built.
        let sources: Vec<String> = files(member)
            .into_iter()
            .filter(|file| Path::new(file).extension().is_some_and(|ending| ending == "rs"))
            .collect();
        for source in sources.iter().filter(|file| file.starts_with("crates/") && file.contains("/src/")) {
            // Tests are not built there.
            if !source.ends_with("tests.rs") {
                let taken = taken_in(source);
                included += taken.len();
                needed.extend(taken);
            }
        }
        needed.extend(sources);
    }
    assert!(included >= 20, "only {included} files are taken in: has the way changed?");
    for file in needed {
        assert!(path(&file).is_file(), "{file} is not there");
        assert!(!is_left_out(&file), "the build needs {file}");
    }
    for kept_out in
        [".git/config", "target/debug/docket", ".env", "deploy/.env", "work.db", "work.db-wal", "docs/limits.md"]
    {
        assert!(is_left_out(kept_out), "{kept_out} would get into the image");
    }
}
