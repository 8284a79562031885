//! Answers for programs: the engine's own types as JSON, with the short keys that people use beside the ids.
//!
//! It is printed to terminals too, so what a terminal would act on is escaped; to a program it reads the same.

use std::io;

use docket_core::model::{Item, Key};
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter};

use super::escape::is_harmful;

/// An item with its key.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Keyed<'i> {
    pub(crate) key: Key,
    #[serde(flatten)]
    pub(crate) item: &'i Item,
}

/// A value on one line.
pub(crate) fn compact<T: Serialize>(value: &T) -> io::Result<String> {
    write(value, Safe(serde_json::ser::CompactFormatter))
}

/// A value over several lines.
pub(crate) fn pretty<T: Serialize>(value: &T) -> io::Result<String> {
    write(value, Safe(PrettyFormatter::new()))
}

fn write<T: Serialize, F: Formatter>(value: &T, formatter: Safe<F>) -> io::Result<String> {
    let mut bytes = Vec::new();
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, formatter))?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

/// A formatter that writes harmful characters as `\uXXXX`.
struct Safe<F>(F);

/// Hands the layout on to the formatter inside.
macro_rules! as_inside {
    ($($method:ident($($argument:ident: $type:ty),*)),* $(,)?) => {
        $(fn $method<W: ?Sized + io::Write>(&mut self, writer: &mut W $(, $argument: $type)*) -> io::Result<()> {
            self.0.$method(writer $(, $argument)*)
        })*
    };
}

impl<F: Formatter> Formatter for Safe<F> {
    as_inside!(
        begin_array(),
        end_array(),
        begin_array_value(first: bool),
        end_array_value(),
        begin_object(),
        end_object(),
        begin_object_key(first: bool),
        end_object_key(),
        begin_object_value(),
        end_object_value(),
    );

    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(is_harmful) {
            let (plain, from) = rest.split_at(at);
            writer.write_all(plain.as_bytes())?;
            let mut characters = from.chars();
            if let Some(c) = characters.next() {
                let mut units = [0_u16; 2];
                for unit in c.encode_utf16(&mut units) {
                    write!(writer, "\\u{unit:04x}")?;
                }
            }
            rest = characters.as_str();
        }
        writer.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn harmful_characters_are_escaped_and_read_back_the_same() {
        let text = "a\u{9b}2J\u{202e}b\u{7f}\u{e0041}\u{1b}[0m \"q\" \\ 漢";
        for written in [super::compact(&text).expect("JSON"), super::pretty(&[text]).expect("JSON")] {
            assert!(!written.chars().any(|c| super::is_harmful(c) && c != '\n'), "{written:?}");
            assert!(
                written.contains("\\u009b") && written.contains("\\udb40\\udc41") && written.contains('漢'),
                "{written}"
            );
        }
        assert_eq!(serde_json::from_str::<String>(&super::compact(&text).expect("JSON")).expect("text"), text);
    }
}
