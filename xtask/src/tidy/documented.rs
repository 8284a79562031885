//! What callers meet is in the docs: every reason in `docs/errors.md`, every limit with its number in `docs/limits.md`.

use std::collections::BTreeSet;

use super::File;

const ERRORS: (&str, &str) = ("crates/core/src/error.rs", "docs/errors.md");
const LIMITS: (&str, &str) = ("crates/core/src/limits.rs", "docs/limits.md");

pub(super) fn check(files: &[File]) -> Vec<String> {
    let text =
        |path: &str| files.iter().find(|file| file.path == path).map(|file| file.text.as_str()).unwrap_or_default();
    let mut found = compare(ERRORS.1, &reasons(text(ERRORS.0)), text(ERRORS.1));
    let limits = limits(text(LIMITS.0));
    found.extend(compare(LIMITS.1, &limits.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), text(LIMITS.1)));
    for (name, numbers) in &limits {
        let row = rows(text(LIMITS.1)).find(|(first, _)| first == name).map(|(_, row)| row).unwrap_or_default();
        for number in numbers.iter().filter(|number| !row.is_empty() && !holds_number(row, **number)) {
            found.push(format!("{}: the row of {name} does not say {}", LIMITS.1, grouped(*number)));
        }
    }
    found
}

/// What should have a row and has none, and the other way round.
fn compare(page: &str, wanted: &[String], text: &str) -> Vec<String> {
    let wanted: BTreeSet<&str> = wanted.iter().map(String::as_str).collect();
    let listed: BTreeSet<&str> = rows(text).map(|(name, _)| name).collect();
    if wanted.is_empty() {
        return vec![format!("{page}: found nothing that it should list: has the code moved?")];
    }
    let missing = wanted.difference(&listed).map(|name| format!("{page}: has no row for `{name}`"));
    let stale = listed.difference(&wanted).map(|name| format!("{page}: has a row for `{name}`, which is no more"));
    missing.chain(stale).collect()
}

/// Rows of tables whose first cell is code: that code and the whole row.
fn rows(page: &str) -> impl Iterator<Item = (&str, &str)> {
    page.lines().filter_map(|line| Some((line.strip_prefix("| `")?.split_once('`')?.0, line)))
}

/// The reasons, as they are written on the wire.
fn reasons(code: &str) -> Vec<String> {
    let body = code.split_once("pub enum Reason {").and_then(|(_, rest)| rest.split_once("\n}"));
    let lines = body.map(|(body, _)| body).unwrap_or_default().lines();
    lines
        .map(str::trim)
        .filter_map(|line| line.strip_suffix(','))
        .filter(|name| !name.contains(' '))
        .map(snake)
        .collect()
}

fn snake(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(c.to_lowercase());
    }
    snake
}

/// The limits with their numbers: one, or both ends of a range.
fn limits(code: &str) -> Vec<(String, Vec<u64>)> {
    let constants = code.lines().filter_map(|line| line.strip_prefix("pub const "));
    constants
        .filter_map(|line| {
            let (name, rest) = line.split_once(':')?;
            let value = rest.split_once(" = ")?.1.trim_end_matches(';');
            Some((name.to_owned(), value.split("..=").map(product).collect()))
        })
        .collect()
}

/// The value of a product of whole numbers.
fn product(expression: &str) -> u64 {
    expression.split('*').filter_map(|factor| factor.trim().replace('_', "").parse::<u64>().ok()).product()
}

fn holds_number(row: &str, number: u64) -> bool {
    let mut words = row.split(|c: char| !c.is_ascii_digit() && c != ',').map(|word| word.trim_matches(','));
    words.any(|word| word == grouped(number))
}

/// A number as the docs spell it: 86,400.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: [(&str, &str); 2] = [
        ("crates/core/src/error.rs", "pub enum Reason {\n    TooLong,\n    BadUtf8,\n}\n"),
        (
            "crates/core/src/limits.rs",
            "pub const TEXT: usize = 8 * 1024;\npub const LEASE: RangeInclusive<u32> = 1..=86_400;\n",
        ),
    ];
    const ERRORS: &str = "| `too_long` | a | b |\n| `bad_utf8` | a | b |\n";
    const LIMITS: &str = "| `TEXT` | 8,192 bytes |\n| `LEASE` | 1 to 86,400 s |\n";

    fn found(errors: &str, limits: &str) -> usize {
        let pages = [("docs/errors.md", errors), ("docs/limits.md", limits)];
        let file = |(path, text): (&str, &str)| File { path: path.to_owned(), text: text.to_owned() };
        check(&CODE.into_iter().chain(pages).map(file).collect::<Vec<_>>()).len()
    }

    #[test]
    fn the_pages_list_what_the_code_has() {
        assert_eq!(found(ERRORS, LIMITS), 0);
        assert_eq!(found("| `too_long` | a | b |", LIMITS), 1, "a reason without a row");
        assert_eq!(found(&format!("{ERRORS}| `gone` | a | b |"), LIMITS), 1, "a row without a reason");
        assert_eq!(found(ERRORS, &LIMITS.replace("86,400", "3,600")), 1, "another number");
        assert_eq!(found(ERRORS, &LIMITS.replace("8,192", "8,192,000")), 1, "a longer number");
    }
}
