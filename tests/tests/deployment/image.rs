//! The Dockerfile: pinned, small in rights, and started with options that exist.

use super::{PORT, path, read, run};

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
    let ignored = read(".dockerignore");
    for needed in ["Cargo.toml", "Cargo.lock", "crates", "migrations", "tests", "xtask", "bench", "examples"] {
        assert!(path(needed).exists() && ignored.lines().all(|line| line != needed), "the build needs {needed}");
    }
    for kept_out in [".git", "target", "**/.env", "*.db"] {
        assert!(ignored.lines().any(|line| line == kept_out), "{kept_out} would get into the image");
    }
}
