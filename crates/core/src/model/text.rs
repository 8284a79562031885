//! Text that was looked at once, on the way in.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::error::{Invalid, Reason, echo};
use crate::limits;

/// Declares a text type with one parser, so that a value of it is always valid.
macro_rules! parsed_text {
    ($(#[$doc:meta])* $name:ident, $parse:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Looks at the text once; what it returns needs no second look.
            pub fn parse(text: &str) -> Result<Self, Invalid> {
                let parse: fn(&str) -> Result<String, Invalid> = $parse;
                parse(text).map(Self)
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = Invalid;

            fn try_from(text: String) -> Result<Self, Invalid> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(text: $name) -> Self {
                text.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

parsed_text! {
    /// An item's title: one non-blank line of at most 1 KiB.
    Title, |text| {
        let title = clean(text, limits::TITLE_BYTES)?;
        let title = title.trim();
        if is_blank(title) {
            return Err(Invalid::new(Reason::Blank, "must not be blank"));
        }
        if title.chars().any(char::is_control) {
            return Err(Invalid::new(Reason::BadChar, "must be one line without control characters"));
        }
        Ok(title.to_owned())
    }
}

parsed_text! {
    /// A summary of at most 8 KiB; may be empty.
    Summary, |text| clean(text, limits::SUMMARY_BYTES)
}

parsed_text! {
    /// Free text of at most 256 KiB; may be empty.
    Text, |text| clean(text, limits::TEXT_BYTES)
}

parsed_text! {
    /// A short name without surrounding space: a note key, an item type, a trait, an actor, a resource, a label.
    Name, |text| {
        let name = clean(text, limits::NAME_BYTES)?;
        let name = name.trim();
        if is_blank(name) {
            return Err(Invalid::new(Reason::Blank, "must not be blank"));
        }
        if name.chars().any(|c| c.is_control() || crate::error::is_bidi_control(c)) {
            return Err(Invalid::new(Reason::BadChar, "must not hold control characters"));
        }
        Ok(name.to_owned())
    }
}

parsed_text! {
    /// A tag: lower-case ASCII letters, digits and hyphens, beginning with a letter or digit.
    Tag, |text| {
        let tag = text.trim().to_ascii_lowercase();
        let mut bytes = tag.bytes();
        let first_is_plain = bytes.next().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        let rest_is_plain = bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if tag.len() > limits::NAME_BYTES {
            return Err(too_long(limits::NAME_BYTES));
        }
        if !(first_is_plain && rest_is_plain) {
            return Err(Invalid::new(
                Reason::BadChar,
                format!("must be lower-case letters, digits and hyphens, not \"{}\"", echo(text)),
            ));
        }
        Ok(tag)
    }
}

impl Name {
    /// The name that somebody known to `principal` by this one holds claims under: `ann (key:ci:1a2b3c4d)`.
    ///
    /// Two principals never make the same of two names: what is in the last brackets is the principal, and a principal
    /// that would blur that, or has no room, is put there by its digest.
    #[must_use]
    pub fn under(&self, principal: &Self) -> Self {
        let whole = format!("{self} ({principal})");
        if !principal.0.contains('(') && whole.len() <= limits::NAME_BYTES {
            return Self(whole);
        }
        let digest = Sha256::digest(format!("{self}\n{principal}"));
        let digest = digest.iter().take(16).fold(0, |number: u128, byte| number << 8 | u128::from(*byte));
        let digest = format!("{digest:032x}");
        let room = limits::NAME_BYTES - digest.len() - " ()".len();
        let end = (0..=room.min(self.0.len())).rev().find(|at| self.0.is_char_boundary(*at)).unwrap_or(0);
        Self(format!("{} ({digest})", self.0[..end].trim_end()))
    }

    /// Whether this is a holder known to `principal`, or that one itself. A name that was cut to have room for a digest is not found again.
    pub fn is_known_to(&self, principal: &Self) -> bool {
        let name = self.0.rsplit_once(" (").map(|(name, _)| Self(name.to_owned()));
        self == principal || name.is_some_and(|name| name.under(principal) == *self)
    }
}

impl Text {
    /// A text that says nothing.
    pub fn empty() -> Self {
        Self(String::new())
    }

    /// Whether there is anything to read in it.
    pub fn is_blank(&self) -> bool {
        is_blank(&self.0)
    }
}

/// How hard an item is, from 1 to 10.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub struct Complexity(u8);

impl Complexity {
    /// Accepts 1 to 10.
    pub fn parse(value: i64) -> Result<Self, Invalid> {
        u8::try_from(value)
            .ok()
            .filter(|value| (1..=10).contains(value))
            .map(Self)
            .ok_or_else(|| Invalid::new(Reason::BadValue, format!("must be from 1 to 10, not {value}")))
    }

    /// The number.
    pub fn get(self) -> u8 {
        self.0
    }
}

impl TryFrom<i64> for Complexity {
    type Error = Invalid;

    fn try_from(value: i64) -> Result<Self, Invalid> {
        Self::parse(value)
    }
}

impl From<Complexity> for i64 {
    fn from(value: Complexity) -> Self {
        value.0.into()
    }
}

/// What every text must be: without NUL (Postgres cannot hold it), not too long; it is kept in NFC.
fn clean(text: &str, max: usize) -> Result<String, Invalid> {
    if text.len() > max {
        return Err(too_long(max));
    }
    if text.contains('\0') {
        return Err(Invalid::new(Reason::BadChar, "must not hold a NUL character"));
    }
    let normal = if is_nfc(text) { text.to_owned() } else { text.nfc().collect() };
    // Composition can lengthen a few scripts.
    if normal.len() > max { Err(too_long(max)) } else { Ok(normal) }
}

fn too_long(max: usize) -> Invalid {
    Invalid::new(Reason::TooLong, format!("must be at most {max} bytes"))
}

/// Whether a reader would see nothing: white space, zero-width and control characters alone.
fn is_blank(text: &str) -> bool {
    text.chars().all(|c| {
        c.is_whitespace()
            || c.is_control()
            || crate::error::is_bidi_control(c)
            || matches!(
                c,
                '\u{200b}'
                    ..='\u{200d}'
                        | '\u{2060}'
                        | '\u{feff}'
                        | '\u{00ad}'
                        | '\u{180e}'
                        | '\u{3164}'
                        | '\u{115f}'
                        | '\u{1160}'
            )
    })
}
