//! Words that may not stand in the code, and the words every file must begin with.

use super::source::Source;

/// What may stand nowhere, and what to do instead.
const NOWHERE: [(&str, &str); 5] = [
    ("#[allow(", "expect the lint with a reason"),
    ("#![allow(", "expect the lint with a reason"),
    ("todo!", "do it, or leave it out"),
    ("unimplemented!", "do it, or leave it out"),
    ("dbg!", "use tracing"),
];

/// What may stand in tests alone: elsewhere a failure is an error, not the end of the process.
const TESTS_ONLY: [(&str, &str); 3] = [
    (".unwrap()", "return an error"),
    // With a literal behind it, because commands have methods of their own with this name. Literals are blanked to `"`.
    (".expect(\"", "return an error"),
    (".expect(&format!", "return an error"),
];

/// Where decisions are made.
const PURE: &str = "crates/core/src/";

/// What would make a decision there depend on more than what it was shown.
const IMPURE: [&str; 10] = [
    "SystemTime::now",
    "Instant::now",
    "Timestamp::now",
    "Uuid::now_v7",
    "Uuid::new_v4",
    "Ulid::new",
    "std::env",
    "std::fs",
    "std::net",
    "std::process",
];

pub(super) fn check(sources: &[Source]) -> Vec<String> {
    sources.iter().flat_map(|source| module_docs(source).into_iter().chain(forbidden(source))).collect()
}

/// Every file says first what it is for.
fn module_docs(source: &Source) -> Option<String> {
    let first = source.text.lines().find(|line| !line.trim().is_empty() && !line.starts_with("#!["));
    let documented = first.is_some_and(|line| line.starts_with("//! "));
    (!documented).then(|| format!("{}:1: has no module docs: say what it is for and what it must not do", source.path))
}

fn forbidden(source: &Source) -> Vec<String> {
    let nowhere = NOWHERE.iter().flat_map(|(word, instead)| source.find(word).map(move |at| (at, word, instead)));
    let tests_only = TESTS_ONLY.iter().flat_map(|(word, instead)| {
        source.find(word).filter(|at| !source.is_test_at(*at)).map(move |at| (at, word, instead))
    });
    let impure = IMPURE.iter().filter(|_| source.path.starts_with(PURE)).flat_map(|word| {
        let found = source.find(word).filter(|at| !source.is_test_at(*at));
        found.map(move |at| (at, word, &"the core performs no I/O and has no clock"))
    });
    nowhere
        .chain(tests_only)
        .chain(impure)
        .map(|(at, word, instead)| {
            format!(
                "{}:{}: `{}` may not stand here: {instead}",
                source.path,
                source.line_of(at),
                word.trim_end_matches('"')
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        check(&[Source::new("crates/a/src/lib.rs", text)])
    }

    #[test]
    fn each_forbidden_word_is_found() {
        for line in [
            "#[allow(dead_code)]",
            "todo!()",
            "unimplemented!(\"later\")",
            "dbg!(a);",
            "a.unwrap();",
            "a.expect(\"a\");",
            "a.expect(&format!(\"{b}\"));",
        ] {
            assert_eq!(found(&format!("//! Docs.\n{line}\n")).len(), 1, "{line}");
        }
    }

    #[test]
    fn what_only_looks_like_one_is_let_through() {
        for line in [
            "// todo!()",
            "let a = \".unwrap()\";",
            "#[expect(dead_code, reason = \"…\")]",
            "draft.expect(id)?;",
            "a.unwrap_or_default();",
            "my_dbg!(a);",
            "#[cfg(test)]\nmod tests {\n    fn b() {\n        a.expect(\"a\");\n    }\n}",
        ] {
            assert_eq!(found(&format!("//! Docs.\n{line}\n")), Vec::<String>::new(), "{line}");
        }
    }

    #[test]
    fn only_the_core_is_pure() {
        let text = "//! Docs.\nlet begun = std::time::Instant::now();\n";
        assert_eq!(check(&[Source::new("crates/core/src/rank.rs", text)]).len(), 1);
        assert!(check(&[Source::new("crates/cli/src/main.rs", text)]).is_empty());
        assert!(check(&[Source::new("crates/core/tests/properties.rs", text)]).is_empty());
    }

    #[test]
    fn a_file_without_docs_is_found() {
        assert_eq!(found("use a::b;\n").len(), 1);
        assert_eq!(found("// A comment.\nuse a::b;\n").len(), 1);
        assert!(found("#![forbid(unsafe_code)]\n//! Docs.\n").is_empty());
    }
}
