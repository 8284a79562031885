//! Reads that say only what changed since an earlier one. The token that stands for the earlier read holds everything that
//! is needed to tell: no server remembers anything, so it is good after a restart and on another replica.
//!
//! A token is paid for twice in every read, once asked and once answered, and models pay for three digits what they pay for one
//! letter of base64. So it is written in digits, and does not hold a digest of each section but a few sums over them: one more than
//! there may be sections that differ and are still told apart. Where more differ, all of them are sent: too much, never too little.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::error::{Error, Reason};

/// What tokens mean, as their first digit; those of another version are taken for none.
const VERSION: u8 = b'3';
/// The first byte of the tokens before, which were written in base64.
const IN_BASE64: RangeInclusive<u8> = 1..=2;
/// Sums in a token, at the most.
const SUMS: usize = 6;
/// The digits of the bits that say which sections there were.
const PRESENT_DIGITS: usize = 5;
/// The digits of a sum.
const SUM_DIGITS: usize = 15;
/// Marks and sums are counted modulo the largest prime of that many digits. Sixteen times as much fits into 64 bits.
const MODULUS: u64 = 999_999_999_999_989;

/// A part of a read that is sent or left out as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are those in the answer")]
pub enum Section {
    Guard,
    Task,
    Parent,
    Brief,
    Verdict,
    Question,
    Links,
    Relations,
    Activity,
    Subtasks,
    Comments,
    Notes,
    Raw,
    Rows,
    Checks,
}

impl Section {
    /// All of them, in the order of their bits.
    pub const ALL: [Self; 15] = [
        Self::Guard,
        Self::Task,
        Self::Parent,
        Self::Brief,
        Self::Verdict,
        Self::Question,
        Self::Links,
        Self::Relations,
        Self::Activity,
        Self::Subtasks,
        Self::Comments,
        Self::Notes,
        Self::Raw,
        Self::Rows,
        Self::Checks,
    ];

    /// The section as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Guard => "guard",
            Self::Task => "task",
            Self::Parent => "parent",
            Self::Brief => "brief",
            Self::Verdict => "verdict",
            Self::Question => "question",
            Self::Links => "links",
            Self::Relations => "relations",
            Self::Activity => "activity",
            Self::Subtasks => "subtasks",
            Self::Comments => "comments",
            Self::Notes => "notes",
            Self::Raw => "raw",
            Self::Rows => "rows",
            Self::Checks => "checks",
        }
    }

    fn bit(self) -> u64 {
        1 << (self as u64)
    }

    /// Where it stands among all, from 1 to 15.
    fn place(self) -> u64 {
        self as u64 + 1
    }
}

/// What is to be sent of a read.
#[derive(Clone, Debug, PartialEq)]
pub struct Delta {
    /// Stands for this read.
    pub token: String,
    /// Whether it is told against an earlier read; otherwise everything is sent.
    pub since: bool,
    /// The sections that differ from the earlier read, those that are gone included.
    pub changed: Vec<Section>,
    /// The sections to send: all, or those that differ. One that is gone is null.
    pub sections: BTreeMap<Section, Value>,
}

impl Delta {
    /// Compares a read with the one that a token stands for. `subject` is what is read: a token of another subject finds
    /// everything changed. `asked` are the sections that were asked for, there or not.
    pub fn new(
        subject: &str,
        asked: &[Section],
        sections: BTreeMap<Section, Value>,
        since: Option<&str>,
    ) -> Result<Self, Error> {
        let marks: Marks = sections.iter().map(|(section, value)| (*section, mark(subject, *section, value))).collect();
        let token = Token::of(&marks);
        let Some(before) = since.map(Token::parse).transpose()?.flatten() else {
            return Ok(Self { token: token.to_string(), since: false, changed: Vec::new(), sections });
        };
        let differing = before.differing(&marks);
        let mut changed = Vec::new();
        let mut sent = BTreeMap::new();
        for section in Section::ALL {
            let known = before.present.contains(&section);
            match sections.get(&section) {
                Some(value) if !known || differing.contains(&section) => {
                    changed.push(section);
                    sent.insert(section, value.clone());
                }
                None if known && asked.contains(&section) => {
                    changed.push(section);
                    sent.insert(section, Value::Null);
                }
                Some(_) | None => {}
            }
        }
        Ok(Self { token: token.to_string(), since: true, changed, sections: sent })
    }

    /// Whether nothing differs from the earlier read.
    pub fn is_unchanged(&self) -> bool {
        self.since && self.changed.is_empty()
    }
}

/// What stands for the contents of each section.
type Marks = BTreeMap<Section, u64>;

fn mark(subject: &str, section: Section, value: &Value) -> u64 {
    let mut digest = Sha256::new();
    digest.update(subject.as_bytes());
    digest.update([0, section as u8]);
    digest.update(value.to_string().as_bytes());
    digest.finalize().iter().fold(0, |rest, byte| (rest * 256 + u64::from(*byte)) % MODULUS)
}

/// What a token says of its read.
#[derive(Debug, PartialEq, Eq)]
struct Token {
    /// The sections there were.
    present: Vec<Section>,
    /// Sums over their marks, see `sums`: as many as there are sections, or `SUMS`.
    sums: Vec<u64>,
}

impl Token {
    fn of(marks: &Marks) -> Self {
        Self { present: marks.keys().copied().collect(), sums: sums(marks, marks.len().min(SUMS)) }
    }

    /// Reads a token; nothing where it is of another version of this program.
    fn parse(token: &str) -> Result<Option<Self>, Error> {
        let bad = || {
            let message = "is no token that a read ended with: hand it back as it was given, or read without one";
            Error::validation(Reason::BadCursor, message).at("since")
        };
        let in_base64 = BASE64_URL_SAFE_NO_PAD.decode(token);
        if in_base64.is_ok_and(|bytes| bytes.first().is_some_and(|version| IN_BASE64.contains(version))) {
            return Ok(None);
        }
        let (version, digits) = token.as_bytes().split_first().ok_or_else(bad)?;
        if !version.is_ascii_digit() || !digits.iter().all(u8::is_ascii_digit) {
            return Err(bad());
        }
        if *version != VERSION {
            return Ok(None);
        }
        let (present, sums) = digits.split_at_checked(PRESENT_DIGITS).ok_or_else(bad)?;
        let present = number(present);
        let read: Vec<Section> = Section::ALL.into_iter().filter(|section| present & section.bit() != 0).collect();
        let sums: Vec<u64> = sums.chunks(SUM_DIGITS).map(number).collect();
        let token = Self { present: read, sums };
        // What is written otherwise was never given out: a bit of no section, a sum too many or too large.
        let whole = digits.len() == PRESENT_DIGITS + token.sums.len() * SUM_DIGITS
            && token.sums.len() == token.present.len().min(SUMS)
            && token.sums.iter().all(|sum| *sum < MODULUS)
            && token.present.iter().fold(0, |all, section| all | section.bit()) == present;
        if whole { Ok(Some(token)) } else { Err(bad()) }
    }

    /// The sections of this read that a later one has otherwise, or does not have. All of them, where they cannot be told apart.
    fn differing(&self, now: &Marks) -> Vec<Section> {
        let (there, gone): (Vec<Section>, Vec<Section>) =
            self.present.iter().copied().partition(|section| now.contains_key(section));
        let now: Marks = there.iter().filter_map(|section| Some((*section, *now.get(section)?))).collect();
        let mut less = self.sums.clone();
        for (was, is) in less.iter_mut().zip(sums(&now, self.sums.len())) {
            *was = (*was + MODULUS - is) % MODULUS;
        }
        // What is gone differs in any case.
        let less = gone.iter().fold(less, |less, section| without(&less, *section));
        let found = (0..less.len()).find_map(|count| chosen(&less, &there, count));
        found.map_or_else(|| self.present.clone(), |found| [gone, found].concat())
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let present = self.present.iter().fold(0, |all, section| all | section.bit());
        write!(f, "{}{present:0PRESENT_DIGITS$}", char::from(VERSION))?;
        self.sums.iter().try_for_each(|sum| write!(f, "{sum:0SUM_DIGITS$}"))
    }
}

fn number(digits: &[u8]) -> u64 {
    digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0'))
}

/// The sums over marks. In the first each mark counts once, and from one sum to the next it counts as many times more as its section's
/// place says: so each section grows in its own way.
fn sums(marks: &Marks, count: usize) -> Vec<u64> {
    let mut terms: Vec<(u64, u64)> = marks.iter().map(|(section, mark)| (section.place(), *mark)).collect();
    let mut sums = Vec::with_capacity(count);
    for _ in 0..count {
        sums.push(terms.iter().fold(0, |sum, (_, term)| (sum + term) % MODULUS));
        for (place, term) in &mut terms {
            *term = *term * *place % MODULUS;
        }
    }
    sums
}

/// The sums without a section, whatever its mark is, and one sum less: how it grows from one to the next is known, and what grows so
/// is taken away.
fn without(sums: &[u64], section: Section) -> Vec<u64> {
    sums.array_windows().map(|[one, next]| (next + MODULUS - one * section.place() % MODULUS) % MODULUS).collect()
}

/// So many of these sections, without which nothing is left of the sums.
fn chosen(sums: &[u64], among: &[Section], count: usize) -> Option<Vec<Section>> {
    if count == 0 {
        return sums.iter().all(|sum| *sum == 0).then(Vec::new);
    }
    among.iter().enumerate().find_map(|(at, section)| {
        let mut found = chosen(&without(sums, *section), &among[at + 1..], count - 1)?;
        found.insert(0, *section);
        Some(found)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(pairs: &[(Section, Value)]) -> BTreeMap<Section, Value> {
        pairs.iter().cloned().collect()
    }

    const ASKED: [Section; 3] = [Section::Guard, Section::Brief, Section::Question];

    #[test]
    fn what_is_the_same_is_unchanged_and_what_differs_is_sent() {
        let first = read(&[(Section::Guard, json!({ "a": 1 })), (Section::Brief, json!("b"))]);
        let full = Delta::new("x", &ASKED, first.clone(), None).expect("a read");
        assert!(!full.since && !full.is_unchanged() && full.sections == first);
        let same = Delta::new("x", &ASKED, first.clone(), Some(&full.token)).expect("a read");
        assert!(same.is_unchanged() && same.sections.is_empty() && same.token == full.token);
        let second = read(&[(Section::Guard, json!({ "a": 2 })), (Section::Question, json!("q"))]);
        let delta = Delta::new("x", &ASKED, second, Some(&full.token)).expect("a read");
        assert_eq!(delta.changed, [Section::Guard, Section::Brief, Section::Question]);
        assert_eq!(delta.sections[&Section::Brief], Value::Null, "it is gone");
    }

    #[test]
    fn a_token_of_something_else_finds_everything_changed() {
        let first = read(&[(Section::Guard, json!(1))]);
        let token = Delta::new("x", &ASKED, first.clone(), None).expect("a read").token;
        let other = Delta::new("y", &ASKED, first.clone(), Some(&token)).expect("a read");
        assert_eq!(other.changed, [Section::Guard]);
        // A section that was not asked for this time is not gone.
        let brief = read(&[(Section::Guard, json!(1)), (Section::Brief, json!(2))]);
        let token = Delta::new("x", &ASKED, brief, None).expect("a read").token;
        assert!(Delta::new("x", &[Section::Guard], first, Some(&token)).expect("a read").is_unchanged());
    }

    /// A read of so many sections, of which those at these places are otherwise.
    fn many(count: usize, otherwise: &[usize]) -> BTreeMap<Section, Value> {
        let value = |at: &usize| json!({ "at": at, "otherwise": otherwise.contains(at) });
        (0..count).map(|at| (Section::ALL[at], value(&at))).collect()
    }

    #[test]
    fn of_many_sections_the_few_that_differ_are_told_and_where_many_do_all_are() {
        for count in 1..=Section::ALL.len() {
            let first = Delta::new("x", &Section::ALL, many(count, &[]), None).expect("a read");
            assert!(
                first.token.len() <= 96 && first.token.bytes().all(|byte| byte.is_ascii_digit()),
                "{count}: {}",
                first.token
            );
            // Of many, some of all that there are.
            for which in (0..1_u32 << count).step_by(if count > 8 { 37 } else { 1 }) {
                let otherwise: Vec<usize> = (0..count).filter(|at| which & (1 << at) != 0).collect();
                let now = many(count, &otherwise);
                let told = Delta::new("x", &Section::ALL, now, Some(&first.token)).expect("a read").changed;
                let told: Vec<usize> = told.into_iter().map(|section| section as usize).collect();
                let few = otherwise.len() < SUMS || count <= SUMS;
                assert_eq!(told, if few { otherwise } else { (0..count).collect() }, "{count}: {which:b}");
            }
        }
    }

    #[test]
    fn what_is_gone_is_told_beside_what_differs() {
        let first = Delta::new("x", &Section::ALL, many(13, &[]), None).expect("a read");
        let mut now = many(13, &[3, 9]);
        now.remove(&Section::Question);
        now.remove(&Section::Notes);
        let told = Delta::new("x", &Section::ALL, now, Some(&first.token)).expect("a read");
        assert_eq!(told.changed, [Section::Brief, Section::Question, Section::Subtasks, Section::Notes]);
        assert_eq!(told.sections[&Section::Notes], Value::Null);
        // So much less was asked for that nothing can be told of it.
        let less = Delta::new("x", &Section::ALL[..2], many(2, &[]), Some(&first.token)).expect("a read");
        assert_eq!(less.changed, [Section::Guard, Section::Task]);
    }

    #[test]
    fn what_was_made_up_is_refused_and_another_version_is_none() {
        let first = read(&[(Section::Guard, json!(1))]);
        let token = Delta::new("x", &ASKED, first.clone(), None).expect("a read").token;
        let longer = format!("{token}0");
        let other_bits = format!("300002{}", &token[6..]);
        let no_section = format!("332769{}", &token[6..]);
        let too_large = format!("300001{}", "9".repeat(SUM_DIGITS));
        assert!(Delta::new("x", &ASKED, first.clone(), Some(&other_bits)).expect("one of another read").since);
        for made_up in
            ["", "!", "3", "300001", "3000x1", "AAAA", "300003000000000000001", &longer, &no_section, &too_large]
        {
            let refused = Delta::new("x", &ASKED, first.clone(), Some(made_up)).expect_err(made_up);
            assert_eq!((refused.reason, refused.field.as_deref()), (Reason::BadCursor, Some("since")));
        }
        for other in ["AQAB", "AgABBbLz4Tj-", "4", "1"] {
            assert!(!Delta::new("x", &ASKED, first.clone(), Some(other)).expect("a read").since);
        }
    }
}
