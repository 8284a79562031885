//! Which package may depend on which: the picture in `docs/ARCHITECTURE.md`, tests and builds included.

use crate::metadata::Package;

/// What a package of ours may depend on, of ours.
enum May {
    /// Nothing of ours.
    Nothing,
    /// The core alone.
    Core,
    /// Anything: it puts the others together.
    All,
}

/// Libraries that belong to one layer.
const OWNED: [(&str, &str); 4] = [
    ("rusqlite", "docket-store-sqlite"),
    ("sqlx", "docket-store-postgres"),
    ("rmcp", "docket-mcp-server"),
    ("axum", "docket-rest-api"),
];

/// Puts a handler of its own behind the real transport, for the conformance suite: that is written with the protocol's library.
const CONFORMANCE: (&str, &str) = ("docket-tests", "rmcp");

/// Measures what the bare libraries can do, to compare with; so it may use them.
const BENCH: &str = "docket-bench";

fn place(name: &str) -> Option<May> {
    match name {
        "docket-core" | "docket-test-cluster" | "xtask" => Some(May::Nothing),
        "docket-embed" | "docket-identity" | "docket-mcp-server" | "docket-rest-api" | "docket-runner" => {
            Some(May::Core)
        }
        "docket-cli" | "docket-tests" | BENCH => Some(May::All),
        _ if name.starts_with("docket-store-") => Some(May::Core),
        _ if name.starts_with("docket-example-") => Some(May::All),
        _ => None,
    }
}

/// Whether nothing may depend on a package.
fn is_last(name: &str) -> bool {
    matches!(name, "docket-tests" | "xtask" | BENCH) || name.starts_with("docket-example-")
}

pub(super) fn check(packages: &[Package]) -> Vec<String> {
    packages.iter().flat_map(|package| of(package, packages)).collect()
}

fn of(package: &Package, packages: &[Package]) -> Vec<String> {
    let name = &package.name;
    let Some(place) = place(name) else {
        return vec![format!("{name}: has no place among the layers: give it one in xtask/src/tidy/layers.rs")];
    };
    let mut found = Vec::new();
    // A package may name itself, to switch a feature on for its own tests.
    for dependency in package.dependencies.iter().filter(|dependency| *dependency != name) {
        let is_ours = packages.iter().any(|other| other.name == *dependency);
        let may = match place {
            May::Nothing => !is_ours,
            May::Core => !is_ours || dependency == "docket-core",
            May::All => !is_last(dependency),
        };
        if !may {
            found.push(format!("{name}: may not depend on {dependency}"));
        }
        if let Some((library, owner)) = OWNED.iter().find(|(library, _)| library == dependency)
            && !name.starts_with(owner)
            && name != BENCH
            && (name.as_str(), *library) != CONFORMANCE
        {
            found.push(format!("{name}: may not depend on {library}: that belongs to {owner}"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, dependency: &str) -> usize {
        let package = |name: &str, dependencies: &[&str]| Package {
            name: name.to_owned(),
            dependencies: dependencies.iter().map(|&dependency| dependency.to_owned()).collect(),
            ..Package::default()
        };
        let others = ["docket-core", "docket-store-sqlite", "docket-mcp-server", "docket-cli", "docket-tests"];
        let mut packages: Vec<Package> =
            others.iter().filter(|other| **other != name).map(|name| package(name, &[])).collect();
        packages.push(package(name, &[dependency]));
        check(&packages).len()
    }

    #[test]
    fn arrows_point_inward_only() {
        for (name, dependency) in [
            ("docket-core", "serde"),
            ("docket-core", "docket-core"),
            ("docket-store-sqlite", "rusqlite"),
            ("docket-store-postgres", "sqlx"),
            ("docket-mcp-server", "docket-core"),
            ("docket-identity", "docket-core"),
            ("docket-cli", "docket-store-sqlite"),
            ("docket-tests", "docket-cli"),
            ("docket-tests", "rmcp"),
            ("docket-bench", "sqlx"),
        ] {
            assert_eq!(found(name, dependency), 0, "{name} on {dependency}");
        }
        for (name, dependency) in [
            ("docket-core", "docket-store-sqlite"),
            ("docket-core", "sqlx"),
            ("docket-mcp-server", "docket-store-sqlite"),
            ("docket-identity", "docket-mcp-server"),
            ("docket-store-postgres", "docket-store-sqlite"),
            ("docket-store-postgres", "rusqlite"),
            ("docket-store-sqlite", "sqlx"),
            ("docket-store-sqlite", "rmcp"),
            ("docket-cli", "rmcp"),
            ("docket-cli", "docket-tests"),
            ("docket-tests", "docket-bench"),
            ("docket-tests", "sqlx"),
            ("docket-new", "serde"),
        ] {
            assert_eq!(found(name, dependency), 1, "{name} on {dependency}");
        }
    }
}
