//! Sizes of files and functions, as a ratchet: what was too large once may only shrink, and nothing new may be.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use toml::{Table, Value};

use super::source::Source;

/// Most lines of code of a file.
const FILE_LINES: usize = 400;
/// Most lines of code of a function.
const FUNCTION_LINES: usize = 70;
/// Most lines of code of tests inside a file of something else; more belong into a file of their own.
const INLINE_TEST_LINES: usize = 200;

const HEADER: &str = "\
# What is larger than `cargo xtask tidy` allows, with its lines of code. An entry may only shrink or go:
# `cargo xtask tidy --shrink` lowers what has become smaller. Split what is too large instead of adding to this list.
";

/// What is too large, by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sizes {
    files: BTreeMap<String, usize>,
    functions: BTreeMap<String, usize>,
}

impl Sizes {
    /// The list of what was too large once.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let table: Table = text.parse().context("xtask/tidy.toml")?;
        let section = |name: &str| -> Result<BTreeMap<String, usize>> {
            let entries = table.get(name).and_then(Value::as_table).into_iter().flatten();
            entries
                .map(|(key, lines)| {
                    let lines = lines.as_integer().and_then(|lines| usize::try_from(lines).ok());
                    Ok((key.clone(), lines.with_context(|| format!("xtask/tidy.toml: {key} is no number of lines"))?))
                })
                .collect()
        };
        Ok(Self { files: section("files")?, functions: section("functions")? })
    }

    /// What is too large now.
    pub(super) fn measure(sources: &[Source]) -> Self {
        let mut sizes = Self::default();
        for source in sources {
            let lines = source.lines();
            if lines > FILE_LINES {
                sizes.files.insert(source.path.clone(), lines);
            }
            for function in source.functions().into_iter().filter(|function| function.lines > FUNCTION_LINES) {
                // Two of one name in a file share an entry: the larger counts.
                let entry = sizes.functions.entry(format!("{}::{}", source.path, function.name)).or_default();
                *entry = function.lines.max(*entry);
            }
        }
        sizes
    }

    /// The list with everything lowered that has become smaller; nothing new, nothing raised.
    pub(super) fn shrunk(&self, now: &Self) -> Self {
        let lower = |known: &BTreeMap<String, usize>, now: &BTreeMap<String, usize>| {
            let still = known.iter().filter_map(|(key, lines)| Some((key.clone(), *lines.min(now.get(key)?))));
            still.collect()
        };
        Self { files: lower(&self.files, &now.files), functions: lower(&self.functions, &now.functions) }
    }

    /// The list as a file.
    pub(super) fn render(&self) -> String {
        let mut text = HEADER.to_owned();
        for (name, entries) in [("files", &self.files), ("functions", &self.functions)] {
            let _ = write!(text, "\n[{name}]\n");
            for (key, lines) in entries {
                let _ = writeln!(text, "\"{key}\" = {lines}");
            }
        }
        text
    }
}

pub(super) fn check(sources: &[Source], known: &Sizes) -> Vec<String> {
    let now = Sizes::measure(sources);
    let mut found = compare(&known.files, &now.files, FILE_LINES);
    found.extend(compare(&known.functions, &now.functions, FUNCTION_LINES));
    for source in sources {
        for (line, lines) in source.test_modules().into_iter().filter(|(_, lines)| *lines > INLINE_TEST_LINES) {
            found.push(format!(
                "{}:{line}: {lines} lines of tests, more than {INLINE_TEST_LINES}: move them to a file beside it",
                source.path
            ));
        }
    }
    found
}

fn compare(known: &BTreeMap<String, usize>, now: &BTreeMap<String, usize>, limit: usize) -> Vec<String> {
    let mut found = Vec::new();
    for (key, lines) in now {
        match known.get(key) {
            None => found.push(format!("{key}: {lines} lines of code, more than {limit}: split it")),
            Some(allowed) if lines > allowed => {
                found.push(format!("{key}: {lines} lines of code, grown from {allowed} in xtask/tidy.toml: split it"));
            }
            Some(_) => {}
        }
    }
    for (key, allowed) in known {
        if now.get(key).is_none_or(|lines| lines < allowed) {
            found.push(format!("{key}: smaller than its entry in xtask/tidy.toml: run `cargo xtask tidy --shrink`"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(functions: usize, lines: usize) -> Source {
        let body = "    a();\n".repeat(lines.saturating_sub(2));
        let text = (0..functions).map(|n| format!("fn f{n}() {{\n{body}}}\n")).collect::<Vec<_>>().join("\n");
        Source::new("crates/a/src/lib.rs", &text)
    }

    #[test]
    fn what_is_too_large_is_found() {
        assert!(check(&[source(5, FUNCTION_LINES)], &Sizes::default()).is_empty());
        assert_eq!(check(&[source(1, FUNCTION_LINES + 1)], &Sizes::default()).len(), 1);
        assert_eq!(check(&[source(8, FILE_LINES / 8 + 1)], &Sizes::default()).len(), 1);
    }

    #[test]
    fn a_known_size_may_only_shrink() {
        let known = Sizes::measure(&[source(1, 90)]);
        assert!(check(&[source(1, 90)], &known).is_empty());
        assert_eq!(check(&[source(1, 91)], &known).len(), 1, "grown");
        assert_eq!(check(&[source(1, 89)], &known).len(), 1, "an entry that is too high");
        assert_eq!(check(&[source(1, 20)], &known).len(), 1, "an entry that is not needed");
        assert_eq!(known.shrunk(&Sizes::measure(&[source(1, 91)])), known, "never raised");
        assert_eq!(known.shrunk(&Sizes::measure(&[source(1, 20)])), Sizes::default());
    }

    #[test]
    fn the_list_is_read_as_it_is_written() {
        let known = Sizes::measure(&[source(6, 90)]);
        assert_eq!(known.functions.len(), 6);
        assert_eq!(Sizes::parse(&known.render()).expect("what was rendered is understood"), known);
    }
}
