//! `cargo xtask ci deny`: the rules of `deny.toml` on dependencies, licences and sources.
//!
//! Where cargo-deny is not installed (it takes minutes to compile) the same file is checked against what
//! `cargo metadata` says. Security advisories are in neither: they need a database from the network.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};
use toml::{Table, Value};

use crate::metadata::{self, Package};
use crate::run::{cargo, has_cargo, root, step};

pub(crate) fn run() -> Result<()> {
    if has_cargo("deny") {
        return step(&mut cargo(&["deny", "--offline", "check", "bans", "licenses", "sources"]));
    }
    println!("# cargo-deny is not installed: checking the rules of deny.toml from cargo metadata");
    let file = root().join("deny.toml");
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let rules = Rules::parse(&text)?;
    let packages = metadata::tree()?;
    for warning in duplicates(&packages) {
        println!("warning: {warning}");
    }
    let found = rules.violations(&packages);
    println!("# {} packages", packages.len());
    if !found.is_empty() {
        bail!("{}", found.join("\n"));
    }
    Ok(())
}

/// What `deny.toml` asks for, as far as we read it.
#[derive(Debug, Default)]
struct Rules {
    /// Packages and the only ones that may depend on them.
    wrappers: BTreeMap<String, Vec<String>>,
    licenses: Vec<String>,
    registries: Vec<String>,
}

impl Rules {
    fn parse(text: &str) -> Result<Self> {
        let table: Table = text.parse().context("deny.toml")?;
        let bans = table.get("bans").and_then(|bans| bans.get("deny")).and_then(Value::as_array);
        let mut wrappers = BTreeMap::new();
        for ban in bans.context("deny.toml has no bans.deny")? {
            let name = ban.get("crate").and_then(Value::as_str).context("a ban in deny.toml names no crate")?;
            wrappers.insert(name.to_owned(), ban.get("wrappers").map(strings).unwrap_or_default());
        }
        let list = |section: &str, key: &str| {
            let found = table.get(section).and_then(|section| section.get(key)).map(strings);
            found.with_context(|| format!("deny.toml has no {section}.{key}"))
        };
        Ok(Self { wrappers, licenses: list("licenses", "allow")?, registries: list("sources", "allow-registry")? })
    }

    fn violations(&self, packages: &[Package]) -> Vec<String> {
        packages.iter().flat_map(|package| self.of(package)).collect()
    }

    fn of(&self, package: &Package) -> Vec<String> {
        let mut found = Vec::new();
        let name = &package.name;
        for dependency in &package.dependencies {
            let may = self.wrappers.get(dependency).is_none_or(|wrappers| wrappers.contains(name));
            if !may {
                found.push(format!("{name} depends on {dependency}, which deny.toml keeps to other crates"));
            }
        }
        // Packages of ours have no source: their licence is our own decision.
        if let Some(source) = &package.source {
            if !self.registries.iter().any(|registry| source.strip_prefix("registry+") == Some(registry)) {
                found.push(format!("{name} comes from {source}, which deny.toml does not allow"));
            }
            let license = package.license.as_deref().unwrap_or_default();
            if !satisfied(license, &self.licenses) {
                found.push(format!("{name} is under \"{license}\", which deny.toml does not allow"));
            }
        }
        found
    }
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Packages that are there in several versions.
fn duplicates(packages: &[Package]) -> Vec<String> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in packages {
        versions.entry(&package.name).or_default().push(&package.version);
    }
    let several = versions.into_iter().filter(|(_, versions)| versions.len() > 1);
    several.map(|(name, versions)| format!("{name} is there as {}", versions.join(" and "))).collect()
}

/// Whether a licence expression can be met by allowed licences. `/` is an old spelling of `OR`; an exception only
/// gives more, so `A WITH e` is met by `A`.
fn satisfied(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    let met = any(&mut rest, allowed);
    met && rest.is_empty()
}

fn any(rest: &mut &[&str], allowed: &[String]) -> bool {
    let mut met = all(rest, allowed);
    while let ["OR", after @ ..] = *rest {
        *rest = after;
        met |= all(rest, allowed);
    }
    met
}

fn all(rest: &mut &[&str], allowed: &[String]) -> bool {
    let mut met = one(rest, allowed);
    while let ["AND", after @ ..] = *rest {
        *rest = after;
        met &= one(rest, allowed);
    }
    met
}

fn one(rest: &mut &[&str], allowed: &[String]) -> bool {
    match *rest {
        ["(", after @ ..] => {
            *rest = after;
            let met = any(rest, allowed);
            let closed = rest.first() == Some(&")");
            *rest = rest.get(1..).unwrap_or_default();
            met && closed
        }
        [license, "WITH", _, after @ ..] | [license, after @ ..] => {
            *rest = after;
            allowed.iter().any(|known| known == license)
        }
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        let text = std::fs::read_to_string(root().join("deny.toml")).expect("deny.toml is there");
        Rules::parse(&text).expect("deny.toml is understood")
    }

    fn package(name: &str, dependency: &str, license: &str, source: Option<&str>) -> Package {
        Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            license: Some(license.to_owned()),
            source: source.map(str::to_owned),
            dependencies: vec![dependency.to_owned()],
        }
    }

    const CRATES_IO: Option<&str> = Some("registry+https://github.com/rust-lang/crates.io-index");

    #[test]
    fn a_layer_keeps_its_library_to_itself() {
        let rules = rules();
        assert!(rules.of(&package("docket-store-sqlite", "rusqlite", "MIT", None)).is_empty());
        for (name, library) in [("docket-core", "sqlx"), ("docket-cli", "rmcp"), ("docket-mcp-server", "axum")] {
            assert_eq!(rules.of(&package(name, library, "MIT", None)).len(), 1, "{name} with {library}");
        }
    }

    #[test]
    fn only_known_licences_from_the_one_registry_come_in() {
        let rules = rules();
        assert!(rules.of(&package("serde", "itoa", "MIT OR Apache-2.0", CRATES_IO)).is_empty());
        assert_eq!(rules.of(&package("other", "itoa", "GPL-3.0-only", CRATES_IO)).len(), 1);
        assert_eq!(rules.of(&package("other", "itoa", "MIT", Some("git+https://example.org/other"))).len(), 1);
    }

    #[test]
    fn licence_expressions_are_read_as_they_are_meant() {
        let allowed = ["MIT", "Apache-2.0", "Unicode-3.0"].map(str::to_owned);
        for good in [
            "MIT",
            "GPL-3.0-only OR MIT",
            "MIT/Apache-2.0",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception",
            "BSD-3-Clause OR (MIT AND Unicode-3.0)",
        ] {
            assert!(satisfied(good, &allowed), "{good}");
        }
        for bad in ["", "GPL-3.0-only", "MIT AND GPL-3.0-only", "(MIT", "MIT MIT", "(MIT OR ISC) AND ISC"] {
            assert!(!satisfied(bad, &allowed), "{bad}");
        }
    }
}
