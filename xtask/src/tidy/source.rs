//! Rust files as the rules look at them: comments and literals blanked out, tests told from the rest, functions found.
//!
//! This is a reader of well-formed, formatted code, not a parser: what does not compile is not its concern.

use std::ops::Range;

/// A Rust file.
#[derive(Debug)]
pub(super) struct Source {
    /// Where it is, from the root of the repository.
    pub(super) path: String,
    /// The file as it is.
    pub(super) text: String,
    /// The same bytes with comments as spaces and literals as quotation marks, so that offsets and lines agree.
    pub(super) code: String,
    /// Whether only tests see it.
    is_test: bool,
    /// Byte ranges of the parts that only tests see, where the rest is something else.
    tests: Vec<Range<usize>>,
}

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    /// The line it begins on, counted from 1.
    pub(super) line: usize,
    /// Its lines of code, signature and braces included.
    pub(super) lines: usize,
}

/// Attributes before something that only tests see.
const TEST_ATTRIBUTES: [&str; 4] = [
    "#[cfg(test)]",
    "#[cfg(feature = \"plant\")]",
    "#[cfg(feature = \"testing\")]",
    "#[cfg(any(test, feature = \"testing\"))]",
];

impl Source {
    pub(super) fn new(path: &str, text: &str) -> Self {
        let code = blank(text);
        let is_test = path.split('/').any(|part| matches!(part, "tests" | "benches" | "tests.rs"));
        let tests = if is_test { Vec::new() } else { test_regions(text, &code) };
        Self { path: path.to_owned(), text: text.to_owned(), code, is_test, tests }
    }

    /// Whether only tests see what stands at a byte.
    pub(super) fn is_test_at(&self, offset: usize) -> bool {
        self.is_test || self.tests.iter().any(|range| range.contains(&offset))
    }

    /// The line a byte stands on, counted from 1.
    pub(super) fn line_of(&self, offset: usize) -> usize {
        self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
    }

    /// Lines with code on them; those of tests inside a file of something else do not count.
    pub(super) fn lines(&self) -> usize {
        let inline_tests: usize = self.test_modules().iter().map(|(_, lines)| lines).sum();
        code_lines(&self.code) - inline_tests
    }

    /// Tests inside a file of something else: where they begin and their lines of code.
    pub(super) fn test_modules(&self) -> Vec<(usize, usize)> {
        let lines = |range: &Range<usize>| code_lines(&self.code[range.clone()]);
        self.tests.iter().map(|range| (self.line_of(range.start), lines(range))).collect()
    }

    /// Modules in other files that this one includes for tests alone, as paths from the root without the ending.
    fn test_modules_elsewhere(&self) -> Vec<String> {
        let (folder, file) = self.path.rsplit_once('/').unwrap_or((".", &self.path));
        let stem = file.trim_end_matches(".rs");
        let folder =
            if matches!(stem, "lib" | "main" | "mod") { folder.to_owned() } else { format!("{folder}/{stem}") };
        let included = self.tests.iter().filter_map(|range| {
            let name = self.code[range.clone()].trim_end().strip_suffix(';')?.rsplit(' ').next()?;
            Some(format!("{folder}/{name}"))
        });
        included.collect()
    }

    /// Every function with a body, in the order of the file.
    pub(super) fn functions(&self) -> Vec<Function> {
        let code = &self.code;
        let found = code.match_indices("fn ").filter(|(at, _)| !code[..*at].ends_with(is_word));
        found
            .filter_map(|(at, word)| {
                let rest = &code[at + word.len()..];
                let name: String = rest.chars().take_while(|c| is_word(*c)).collect();
                let end = if name.is_empty() { None } else { end_of_item(code, at) }?;
                let body = &code[at..end];
                body.ends_with('}').then(|| Function { name, line: self.line_of(at), lines: code_lines(body) })
            })
            .collect()
    }

    /// Where a text stands in the code, outside of longer words.
    pub(super) fn find<'s>(&'s self, wanted: &'s str) -> impl Iterator<Item = usize> + 's {
        let begins_word = wanted.starts_with(is_word);
        self.code
            .match_indices(wanted)
            .map(|(at, _)| at)
            .filter(move |at| !begins_word || !self.code[..*at].ends_with(is_word))
    }
}

/// Marks the files that others include for tests alone, and those that these include.
pub(super) fn mark_test_files(sources: &mut [Source]) {
    let modules: Vec<String> = sources.iter().flat_map(Source::test_modules_elsewhere).collect();
    let is_in =
        |path: &str, module: &str| path.strip_prefix(module).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'));
    for source in sources.iter_mut().filter(|source| modules.iter().any(|module| is_in(&source.path, module))) {
        source.is_test = true;
        source.tests.clear();
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn code_lines(code: &str) -> usize {
    code.lines().filter(|line| !line.trim().is_empty()).count()
}

/// From each attribute that means tests to the end of what it stands before.
fn test_regions(text: &str, code: &str) -> Vec<Range<usize>> {
    let mut regions: Vec<Range<usize>> = Vec::new();
    for attribute in TEST_ATTRIBUTES {
        for (at, _) in text.match_indices(attribute).filter(|(at, _)| code[*at..].starts_with("#[cfg(")) {
            let end = end_of_item(code, at + attribute.len()).unwrap_or(code.len());
            regions.push(at..end);
        }
    }
    regions.sort_by_key(|range| range.start);
    let mut end = 0;
    regions.retain(|range| {
        let is_outer = range.start >= end;
        end = end.max(range.end);
        is_outer
    });
    regions
}

/// The end of the item that begins at a byte: its closing brace, or its semicolon.
fn end_of_item(code: &str, begin: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in code.bytes().enumerate().skip(begin) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && matches!(byte, b'}' | b';') {
            return Some(at + 1);
        }
    }
    None
}

/// The same text with every byte of a comment as a space and every byte of a literal as a quotation mark.
fn blank(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let (length, filler) = if rest.starts_with(b"//") {
            (rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()), b' ')
        } else if rest.starts_with(b"/*") {
            (block_comment(rest), b' ')
        } else if rest[0] == b'"' {
            (quoted(rest, b'"'), b'"')
        } else if rest[0] == b'\'' && is_char_literal(rest) {
            (quoted(rest, b'\''), b'"')
        } else if is_word_byte(rest[0]) {
            let word = rest.iter().position(|byte| !is_word_byte(*byte)).unwrap_or(rest.len());
            let raw = if matches!(&rest[..word], b"r" | b"br" | b"cr") { raw_string(&rest[word..]) } else { None };
            at += word;
            (raw.unwrap_or(0), b'"')
        } else {
            at += 1;
            continue;
        };
        for byte in code.iter_mut().skip(at).take(length).filter(|byte| **byte != b'\n') {
            *byte = filler;
        }
        at += length;
    }
    String::from_utf8_lossy(&code).into_owned()
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// The length of a comment that may hold others.
fn block_comment(rest: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// The length of a literal with escapes, both marks included.
fn quoted(rest: &[u8], mark: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == mark => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// Tells `'a'` from the lifetime `'a`.
fn is_char_literal(rest: &[u8]) -> bool {
    match rest.get(1) {
        Some(b'\\') => true,
        Some(byte) if byte.is_ascii() => rest.get(2) == Some(&b'\''),
        Some(_) => true,
        None => false,
    }
}

/// The length of a raw string from its first `#` or quotation mark; none for a raw identifier.
fn raw_string(rest: &[u8]) -> Option<usize> {
    let hashes = rest.iter().take_while(|byte| **byte == b'#').count();
    if rest.get(hashes) != Some(&b'"') {
        return None;
    }
    let mut end = vec![b'"'];
    end.resize(hashes + 1, b'#');
    let inside = &rest[hashes + 1..];
    let length = inside.windows(end.len()).position(|window| window == end)?;
    Some(hashes + 1 + length + end.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked_and_offsets_stay() {
        let text =
            "let a = \"x // {\"; // todo!\nlet b = r#\"\"}\"#; let c: &'a str = '{'; /* /* } */ */ d('\\'', b\"}\")";
        let code = blank(text);
        assert_eq!(code.len(), text.len());
        assert!(!code.contains(['{', '}']), "{code}");
        assert!(!code.contains("todo"), "{code}");
        for kept in ["let a =", "let b = r", "let c: &'a str =", "d("] {
            assert!(code.contains(kept), "{kept} in {code}");
        }
    }

    #[test]
    fn functions_are_measured_without_comments_and_blank_lines() {
        let text = "trait T {\n    fn none(&self) -> [u8; 2];\n}\n\nfn one<F: Fn(u8)>(f: F)\nwhere\n    F: Send,\n{\n    // why\n\n    f(1);\n}\n\nimpl T { fn two(&self) {} }\n";
        let source = Source::new("crates/a/src/lib.rs", text);
        let function = |name: &str, line, lines| Function { name: name.to_owned(), line, lines };
        assert_eq!(source.functions(), [function("one", 5, 6), function("two", 14, 1)]);
    }

    #[test]
    fn tests_are_told_from_the_rest() {
        let text = "fn a() {\n    b();\n}\n\n#[cfg(test)]\nmod tests {\n    fn c() {}\n}\n\n#[cfg(feature = \"testing\")]\npub mod world;\n";
        let source = Source::new("crates/a/src/engine/mod.rs", text);
        assert_eq!(source.lines(), 3);
        let at = |what| text.find(what).expect("it is in the text");
        assert!(source.is_test_at(at("fn c")));
        assert!(!source.is_test_at(at("b()")));
        assert!(Source::new("tests/src/lib.rs", text).is_test_at(at("b()")));
    }

    #[test]
    fn files_that_only_tests_include_are_tests() {
        let paths = ["lib.rs", "world.rs", "world/rows.rs", "worlds.rs", "cache.rs", "cache/checks.rs"];
        let text = |path| match path {
            "lib.rs" => "#[cfg(feature = \"testing\")]\npub mod world;\n",
            "cache.rs" => "#[cfg(test)]\nmod checks;\n",
            _ => "fn a() {}\n",
        };
        let mut sources: Vec<Source> =
            paths.iter().map(|path| Source::new(&format!("crates/a/src/{path}"), text(*path))).collect();
        mark_test_files(&mut sources);
        let are_tests: Vec<bool> = sources.iter().map(|source| source.is_test).collect();
        assert_eq!(are_tests, [false, true, true, false, false, true]);
    }
}
