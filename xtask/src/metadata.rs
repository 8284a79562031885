//! What Cargo knows of the packages: who depends on whom, under which licence, from where.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::run::{cargo, output};

/// One package.
#[derive(Clone, Debug, Default)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// Its licence expression, where it has one.
    pub(crate) license: Option<String>,
    /// The registry it came from; none for a package of ours.
    pub(crate) source: Option<String>,
    /// The names of the packages it depends on directly, in any way.
    pub(crate) dependencies: Vec<String>,
}

/// The packages of the workspace with what their manifests ask for, tests and builds included.
pub(crate) fn ours() -> Result<Vec<Package>> {
    let metadata = load(&["--no-deps"])?;
    Ok(array(&metadata["packages"])
        .map(|package| Package {
            dependencies: array(&package["dependencies"]).map(|dependency| text(&dependency["name"])).collect(),
            ..plain(package)
        })
        .collect())
}

/// Every package of the tree with the dependencies it really has. Fails when Cargo.lock is not up to date.
pub(crate) fn tree() -> Result<Vec<Package>> {
    let metadata = load(&["--locked"])?;
    let names: BTreeMap<String, String> =
        array(&metadata["packages"]).map(|package| (text(&package["id"]), text(&package["name"]))).collect();
    let mut dependencies: BTreeMap<String, Vec<String>> = array(&metadata["resolve"]["nodes"])
        .map(|node| {
            let of_node = array(&node["dependencies"]).filter_map(|id| names.get(id.as_str()?).cloned());
            (text(&node["id"]), of_node.collect())
        })
        .collect();
    Ok(array(&metadata["packages"])
        .map(|package| Package {
            dependencies: dependencies.remove(&text(&package["id"])).unwrap_or_default(),
            ..plain(package)
        })
        .collect())
}

/// Where Cargo puts what it builds.
pub(crate) fn target() -> Result<PathBuf> {
    Ok(PathBuf::from(text(&load(&["--no-deps"])?["target_directory"])))
}

fn load(extra: &[&str]) -> Result<Value> {
    let written = output(cargo(&["metadata", "--format-version", "1", "--quiet"]).args(extra))?;
    serde_json::from_slice(&written).context("cargo metadata wrote something that is not JSON")
}

fn plain(package: &Value) -> Package {
    Package {
        name: text(&package["name"]),
        version: text(&package["version"]),
        license: package["license"].as_str().map(str::to_owned),
        source: package["source"].as_str().map(str::to_owned),
        dependencies: Vec::new(),
    }
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
