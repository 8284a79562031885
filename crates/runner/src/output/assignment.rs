//! What is assigned to a name that says that it is a secret: `DB_PASSWORD=…`, `"api_key": "…"`. Ordinary output has such names
//! in it too, so what is no assignment to the letter, or assigns a word of a programming language, is left alone.

use crate::limits::SECRET_LEAST;

/// A name of secrets, by how it ends.
pub(super) struct Secretive {
    /// In lower case; names are looked for in any.
    pub(super) ending: &'static str,
    /// Whether a word may be the secret; elsewhere it takes a digit.
    pub(super) holds_words: bool,
}

const fn words(ending: &'static str) -> Secretive {
    Secretive { ending, holds_words: true }
}

const fn coded(ending: &'static str) -> Secretive {
    Secretive { ending, holds_words: false }
}

pub(super) const NAMES: [Secretive; 13] = [
    words("password"),
    words("passwd"),
    words("passphrase"),
    coded("secret"),
    coded("token"),
    coded("api_key"),
    coded("api-key"),
    coded("apikey"),
    coded("access_key"),
    coded("secret_key"),
    coded("private_key"),
    coded("signing_key"),
    coded("encryption_key"),
];

/// What stands for a value that is not told.
const PLAIN: [&str; 16] = [
    "true",
    "false",
    "none",
    "null",
    "nil",
    "undefined",
    "string",
    "required",
    "optional",
    "missing",
    "invalid",
    "empty",
    "unset",
    "hidden",
    "redacted",
    "changed",
];

/// Where the value stands that is assigned to a name that ends here, if one is and if it can be a secret.
pub(super) fn assigned(line: &str, name_end: usize, holds_words: bool) -> Option<(usize, usize)> {
    let mut rest = line.get(name_end..)?;
    let name_quote = rest.chars().next().filter(|char| matches!(char, '"' | '\''));
    if name_quote.is_some() {
        rest = &rest[1..];
    }
    let spaced = rest.trim_start_matches([' ', '\t']);
    let sign = spaced.chars().next()?;
    let after = spaced.get(1..)?;
    // `==`, `=>`, `=~` and `::` compare, map and qualify.
    if !matches!(sign, '=' | ':') || after.starts_with(['=', '>', '~', ':']) {
        return None;
    }
    let value = after.trim_start_matches([' ', '\t']);
    let quote = value.chars().next().filter(|char| matches!(char, '"' | '\''));
    let is_tight = spaced.len() == rest.len() && value.len() == after.len();
    // Without quotes, only `name=value` is an assignment: "unexpected token: x" is a sentence.
    if quote.is_none() && (sign != '=' || !is_tight || name_quote.is_some()) {
        return None;
    }
    let body = if quote.is_some() { &value[1..] } else { value };
    let ends = |char: char| match quote {
        Some(quote) => char == quote,
        None => char.is_whitespace() || matches!(char, '"' | '\'' | '&' | '`' | '<' | '>' | '(' | '[' | '{'),
    };
    let end = body.find(ends);
    // A call or an index is code, not a value.
    if quote.is_none() && end.is_some_and(|end| body[end..].starts_with(['(', '[', '{'])) {
        return None;
    }
    let body = &body[..end.unwrap_or(body.len())];
    let body = if quote.is_some() { body } else { body.trim_end_matches([',', ';', ')', ']', '}', '.', ':']) };
    if !can_be_secret(body, holds_words) {
        return None;
    }
    let from = line.len() - value.len() + usize::from(quote.is_some());
    Some((from, from + body.len()))
}

fn can_be_secret(value: &str, holds_words: bool) -> bool {
    let is_told =
        value.starts_with(['$', '%', '*', '.']) || PLAIN.iter().any(|plain| value.eq_ignore_ascii_case(plain));
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    value.len() >= SECRET_LEAST && !is_told && !is_number && (holds_words || has_digit)
}
