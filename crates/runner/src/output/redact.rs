//! Blots out secrets: values that are known, whatever has the shape of a well known kind of token, and what is assigned to a
//! name that says so. Lines are the unit, so that no secret is missed because it came in two pieces.

use std::fmt;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, Input, MatchKind};

use super::assignment::{self, assigned};
use crate::limits::{LINE_BYTES, SECRET_LEAST, SECRET_PIECE};

/// What stands where a secret stood.
const MARK: &str = "[redacted]";
/// What is held back of a line that is too long to wait for its end. Longer than any piece that is looked for.
const HOLD: usize = 2 * SECRET_PIECE;
/// How many lines a private key may have before it is taken for something else.
const KEY_LINES: usize = 200;
/// How far a user's name and password may reach in an address.
const USERINFO_MOST: usize = 1024;
/// From this length on, what follows `Bearer` is a token even if it is all letters.
const WORD_MOST: usize = 24;
const KEY_BEGIN: &str = "-----BEGIN ";
const KEY_END: &str = "-----END ";
const ADDRESS: &str = "://";

/// A kind of token: how it begins, and how many characters at least must follow.
struct Shape {
    start: &'static str,
    least: usize,
    /// What stands before the token is told, such as `Bearer`.
    tell_start: bool,
}

const fn shape(start: &'static str, least: usize) -> Shape {
    Shape { start, least, tell_start: false }
}

const fn scheme(start: &'static str) -> Shape {
    Shape { start, least: 8, tell_start: true }
}

const SHAPES: [Shape; 31] = [
    shape("dkt_", 20),
    shape("ghp_", 20),
    shape("gho_", 20),
    shape("ghu_", 20),
    shape("ghs_", 20),
    shape("ghr_", 20),
    shape("github_pat_", 20),
    shape("glpat-", 16),
    shape("sk-", 20),
    shape("sk_live_", 16),
    shape("sk_test_", 16),
    shape("rk_live_", 16),
    shape("rk_test_", 16),
    shape("whsec_", 16),
    shape("xoxa-", 10),
    shape("xoxb-", 10),
    shape("xoxp-", 10),
    shape("xoxr-", 10),
    shape("xoxs-", 10),
    shape("xapp-", 10),
    shape("AKIA", 16),
    shape("ASIA", 16),
    shape("AIza", 30),
    shape("npm_", 30),
    shape("pypi-", 40),
    shape("hf_", 30),
    shape("dop_v1_", 32),
    shape("eyJ", 40),
    scheme("Bearer "),
    scheme("Basic "),
    scheme("token "),
];

/// What is looked for.
pub(crate) struct Secrets {
    /// Known values first, then the beginnings of shapes, then keys and addresses, then names of secrets.
    finder: Option<AhoCorasick>,
    values: usize,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "Secrets({} values)", self.values)
    }
}

impl Secrets {
    /// Known values, beside the shapes.
    pub(crate) fn new(values: impl IntoIterator<Item = String>) -> Self {
        let mut pieces: Vec<String> = Vec::new();
        for value in values {
            // A value of several lines is met line by line.
            for line in value.lines().map(str::trim).filter(|line| line.len() >= SECRET_LEAST) {
                let mut rest = line;
                while !rest.is_empty() {
                    let (piece, more) = rest.split_at(rest.floor_char_boundary(SECRET_PIECE));
                    pieces.push(piece.to_owned());
                    rest = more;
                }
            }
        }
        pieces.sort_unstable();
        pieces.dedup();
        let values = pieces.len();
        let starts = SHAPES.iter().map(|shape| shape.start).chain([KEY_BEGIN, ADDRESS]);
        let starts = starts.chain(assignment::NAMES.iter().map(|name| name.ending)).map(str::to_owned);
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .ascii_case_insensitive(true)
            .build(pieces.into_iter().chain(starts))
            .ok();
        Self { finder, values }
    }

    /// The next secret at or behind a place.
    fn next(&self, line: &str, from: usize) -> Option<Found> {
        let mut from = from;
        loop {
            let found = self.finder.as_ref()?.find(Input::new(line).span(from..line.len()))?;
            let index = found.pattern().as_usize();
            let secret = match index.checked_sub(self.values) {
                None => Some(Found { from: found.start(), to: found.end(), opens_key: false }),
                Some(index) => match SHAPES.get(index) {
                    // `token ` may also be a name to which something is assigned.
                    Some(shape) => {
                        token(line, found.start(), shape).or_else(|| named(line, found.start(), shape.start))
                    }
                    None => match index - SHAPES.len() {
                        0 => key(line, found.start()),
                        1 => userinfo(line, found.end()),
                        name => {
                            named(line, found.start(), assignment::NAMES.get(name - 2).map_or("", |name| name.ending))
                        }
                    },
                },
            };
            if secret.is_some() {
                return secret;
            }
            // What begins a shape is plain ASCII, so the next byte begins a character.
            from = found.start() + 1;
        }
    }
}

/// Where a secret stands.
struct Found {
    from: usize,
    to: usize,
    /// It is a key whose end was not on this line.
    opens_key: bool,
}

fn is_token(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.' | '~' | '+' | '/' | '=')
}

fn token(line: &str, at: usize, shape: &Shape) -> Option<Found> {
    // A shape that is only the end of a longer word is none: `task-` is not `sk-`.
    let inside = line[..at].chars().next_back().is_some_and(|char| char.is_ascii_alphanumeric() || char == '_');
    let start = line.get(at..at + shape.start.len())?;
    let case_fits = if shape.tell_start { start.eq_ignore_ascii_case(shape.start) } else { start == shape.start };
    let body = &line[at + shape.start.len()..];
    let length = body.find(|char| !is_token(char)).unwrap_or(body.len());
    if inside || !case_fits || length < shape.least {
        return None;
    }
    // Behind a word that is also an ordinary one, an ordinary word may follow.
    let is_word = body[..length].bytes().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'.'));
    if shape.tell_start && is_word && length < WORD_MOST {
        return None;
    }
    let body_at = at + shape.start.len();
    Some(Found { from: if shape.tell_start { body_at } else { at }, to: body_at + length, opens_key: false })
}

fn key(line: &str, at: usize) -> Option<Found> {
    let title = &line[at + KEY_BEGIN.len()..];
    let title_end = title.find("-----")?;
    if title_end > 64 || !title[..title_end].contains("PRIVATE KEY") {
        return None;
    }
    let Some(end) = title[title_end + 5..].find(KEY_END) else {
        return Some(Found { from: at, to: line.len(), opens_key: true });
    };
    let end = at + KEY_BEGIN.len() + title_end + 5 + end + KEY_END.len();
    Some(Found { from: at, to: key_end(line, end), opens_key: false })
}

/// Where a key ends whose last line's title begins here.
fn key_end(line: &str, title: usize) -> usize {
    line[title..].find("-----").map_or(line.len(), |dashes| title + dashes + 5)
}

/// What is assigned to a name that ends with this.
fn named(line: &str, at: usize, ending: &str) -> Option<Found> {
    let name = assignment::NAMES.iter().find(|name| name.ending == ending.trim_end())?;
    let (from, to) = assigned(line, at + name.ending.len(), name.holds_words)?;
    Some(Found { from, to, opens_key: false })
}

/// A name and a password in an address, or a token alone.
fn userinfo(line: &str, at: usize) -> Option<Found> {
    let rest = &line[at..line.floor_char_boundary(at + USERINFO_MOST)];
    let end = rest.find(|char: char| char.is_whitespace() || matches!(char, '/' | '?' | '#' | '"' | '\'' | '<' | '>'));
    let authority = &rest[..end.unwrap_or(rest.len())];
    let (user, _) = authority.rsplit_once('@')?;
    let secret = match user.split_once(':') {
        Some((name, password)) if !password.is_empty() => at + name.len() + 1,
        None if user.len() >= 16 => at,
        Some(_) | None => return None,
    };
    Some(Found { from: secret, to: at + user.len(), opens_key: false })
}

/// Redacts text as it comes.
#[derive(Debug)]
pub(super) struct Redactor {
    secrets: Arc<Secrets>,
    /// A line whose end is to come.
    pending: String,
    count: u64,
    /// In a private key, and for how many lines.
    in_key: Option<usize>,
    /// In a token that began in a piece already told.
    in_token: bool,
}

impl Redactor {
    pub(super) fn new(secrets: Arc<Secrets>) -> Self {
        Self { secrets, pending: String::new(), count: 0, in_key: None, in_token: false }
    }

    /// How many secrets were blotted out.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn push(&mut self, text: &str, out: &mut String) {
        let mut rest = text;
        while let Some(end) = rest.find('\n') {
            let (line, more) = rest.split_at(end + 1);
            if self.pending.is_empty() {
                self.line(line, out);
            } else {
                let mut whole = std::mem::take(&mut self.pending);
                whole.push_str(line);
                self.line(&whole, out);
            }
            rest = more;
        }
        self.pending.push_str(rest);
        if self.pending.len() > LINE_BYTES {
            let pending = std::mem::take(&mut self.pending);
            let told = self.piece(&pending, pending.floor_char_boundary(pending.len() - HOLD), out);
            pending[told..].clone_into(&mut self.pending);
        }
    }

    pub(super) fn finish(&mut self, out: &mut String) {
        let pending = std::mem::take(&mut self.pending);
        self.piece(&pending, pending.len(), out);
    }

    /// A line to its end.
    fn line(&mut self, line: &str, out: &mut String) {
        let text = line.strip_suffix('\n').unwrap_or(line);
        self.piece(text, text.len(), out);
        self.in_token = false;
        if let Some(lines) = &mut self.in_key {
            *lines += 1;
        } else {
            out.push('\n');
        }
    }

    /// Tells text up to a place at least, and says up to where. No secret is cut by it.
    fn piece(&mut self, text: &str, until: usize, out: &mut String) -> usize {
        let mut at = self.rest_of_secret(text, out);
        while at < until {
            let Some(found) = self.secrets.next(text, at).filter(|found| found.from < until) else {
                out.push_str(&text[at..until]);
                return until;
            };
            out.push_str(&text[at..found.from]);
            out.push_str(MARK);
            self.count += 1;
            at = found.to;
            if found.opens_key {
                self.in_key = Some(0);
            }
            // More of the same may come with the next piece.
            self.in_token = at == text.len();
        }
        at
    }

    /// Passes over what belongs to a secret that began earlier.
    fn rest_of_secret(&mut self, text: &str, out: &mut String) -> usize {
        if let Some(lines) = self.in_key {
            if let Some(end) = text.find(KEY_END) {
                self.in_key = None;
                return key_end(text, end + KEY_END.len());
            }
            if lines < KEY_LINES && is_key_line(text) {
                return text.len();
            }
            // That was no key, or one without an end: what follows is told again.
            self.in_key = None;
            out.push('\n');
        }
        if !self.in_token {
            return 0;
        }
        let end = text.find(|char| !is_token(char)).unwrap_or(text.len());
        self.in_token = end == text.len();
        end
    }
}

/// Whether a line can stand in a private key: its title, a header, or letters and digits in base 64.
fn is_key_line(line: &str) -> bool {
    let line = line.trim();
    line.starts_with(KEY_BEGIN) || line.contains(": ") || line.chars().all(is_token)
}

#[cfg(test)]
#[path = "redact_tests.rs"]
mod tests;
