//! Stored text on its way to a terminal: nothing in it may move the cursor, colour, hide or reorder what is shown.

use std::fmt::Write as _;

use docket_core::is_bidi_control;

/// Text on one line; what a terminal would act on is written out, so that nothing is lost.
pub(crate) fn line(text: &str) -> String {
    escape(text, |c| is_harmful(c) || matches!(c, '\u{2028}' | '\u{2029}'))
}

/// Text of several lines: line ends and tabs stay.
pub(crate) fn block(text: &str) -> String {
    escape(&text.replace("\r\n", "\n"), |c| is_harmful(c) && c != '\n' && c != '\t')
}

/// Whether a terminal might act on a character, or a reader be deceived by it.
pub(crate) fn is_harmful(c: char) -> bool {
    c.is_control()
        || is_bidi_control(c)
        // Invisible: zero-width space, word joiners, byte order mark, and tags that spell out hidden text.
        || matches!(c, '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

fn escape(text: &str, harmful: impl Fn(char) -> bool) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if !harmful(c) => safe.push(c),
            '\n' => safe.push('⏎'),
            '\t' => safe.push(' '),
            // Writing to a String cannot fail.
            c => _ = write!(safe, "\\u{{{:x}}}", u32::from(c)),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::{block, line};

    #[test]
    fn nothing_a_terminal_acts_on_comes_through() {
        for (raw, shown) in [
            ("plain äöü 漢字 🦀", "plain äöü 漢字 🦀"),
            ("\u{1b}[31mred\u{1b}[0m", "\\u{1b}[31mred\\u{1b}[0m"),
            ("\u{1b}]8;;http://evil\u{7}click\u{1b}]8;;\u{7}", "\\u{1b}]8;;http://evil\\u{7}click\\u{1b}]8;;\\u{7}"),
            ("\u{9b}2J", "\\u{9b}2J"),
            ("abc\u{202e}def", "abc\\u{202e}def"),
            ("a\u{2066}b\u{2069}", "a\\u{2066}b\\u{2069}"),
            ("a\u{7f}\u{8}b", "a\\u{7f}\\u{8}b"),
            ("two\nlines\tand a tab", "two⏎lines and a tab"),
            ("hidden\u{e0041}", "hidden\\u{e0041}"),
            ("👩\u{200d}💻", "👩\u{200d}💻"),
        ] {
            assert_eq!(line(raw), shown);
        }
    }

    #[test]
    fn a_block_keeps_its_lines() {
        assert_eq!(block("a\r\n\tb\n\u{1b}c\rd"), "a\n\tb\n\\u{1b}c\\u{d}d");
    }
}
