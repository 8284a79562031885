//! Turns bytes into text that a terminal can be shown: invalid UTF-8 replaced, escape sequences and control characters
//! gone, lines ended by line feeds.

/// The longest escape sequence that is waited for; what is longer was none.
const SEQUENCE_MOST: usize = 4096;

/// What the characters to come belong to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// Behind an escape.
    Escape,
    /// Behind an escape and a character that announces one more.
    EscapeMore,
    /// In a control sequence, up to a final character.
    Control,
    /// In a string for the terminal, up to its terminator.
    String,
    /// In such a string, behind an escape.
    StringEscape,
}

/// Cleans bytes as they come.
#[derive(Debug, Default)]
pub(super) struct Cleaner {
    /// The beginning of a character whose rest is to come.
    part: Vec<u8>,
    state: State,
    /// How long the present sequence is.
    length: usize,
    /// The last character was a carriage return, which ends a line together with a line feed or alone.
    returned: bool,
}

impl Cleaner {
    pub(super) fn push(&mut self, bytes: &[u8], out: &mut String) {
        if self.part.is_empty() {
            self.decode(bytes, out);
        } else {
            let mut joined = std::mem::take(&mut self.part);
            joined.extend_from_slice(bytes);
            self.decode(&joined, out);
        }
    }

    /// What was waited for does not come any more.
    pub(super) fn finish(&mut self, out: &mut String) {
        if !std::mem::take(&mut self.part).is_empty() {
            self.text("\u{fffd}", out);
        }
        if std::mem::take(&mut self.returned) {
            out.push('\n');
        }
    }

    fn decode(&mut self, bytes: &[u8], out: &mut String) {
        let mut rest = bytes;
        while !rest.is_empty() {
            match std::str::from_utf8(rest) {
                Ok(text) => return self.text(text, out),
                Err(error) => {
                    let (valid, bad) = rest.split_at(error.valid_up_to());
                    self.text(std::str::from_utf8(valid).unwrap_or_default(), out);
                    let Some(length) = error.error_len() else {
                        self.part = bad.to_vec();
                        return;
                    };
                    self.text("\u{fffd}", out);
                    rest = &bad[length..];
                }
            }
        }
    }

    fn text(&mut self, text: &str, out: &mut String) {
        let mut rest = text;
        while !rest.is_empty() {
            if self.state == State::Text && !self.returned {
                let plain = rest.find(is_special).unwrap_or(rest.len());
                out.push_str(&rest[..plain]);
                rest = &rest[plain..];
            }
            let mut chars = rest.chars();
            let Some(char) = chars.next() else { return };
            rest = chars.as_str();
            self.take(char, out);
        }
    }

    fn take(&mut self, char: char, out: &mut String) {
        if std::mem::take(&mut self.returned) {
            out.push('\n');
            if char == '\n' {
                return;
            }
        }
        self.length += 1;
        if self.state != State::Text && (char == '\n' || self.length > SEQUENCE_MOST) {
            // A sequence that never ends must not swallow the rest.
            self.state = State::Text;
        }
        self.state = match (self.state, char) {
            (State::Text, _) => return self.plain(char, out),
            (State::Escape, '[') => State::Control,
            (State::Escape, ']' | 'P' | 'X' | '^' | '_') => State::String,
            (State::Escape | State::EscapeMore, ' '..='/') => State::EscapeMore,
            (_, '\u{18}' | '\u{1a}')
            | (State::String, '\u{7}' | '\u{9c}')
            | (State::StringEscape, '\\')
            | (State::Escape | State::EscapeMore, _)
            | (State::Control, '@'..='~') => State::Text,
            (State::Control, '\u{1b}') => State::Escape,
            (State::Control, _) => State::Control,
            (State::String, '\u{1b}') => State::StringEscape,
            (State::String | State::StringEscape, _) => State::String,
        };
    }

    fn plain(&mut self, char: char, out: &mut String) {
        self.length = 0;
        match char {
            '\r' => self.returned = true,
            '\u{1b}' => self.state = State::Escape,
            '\u{9b}' => self.state = State::Control,
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => self.state = State::String,
            _ if is_special(char) => {}
            _ => out.push(char),
        }
    }
}

/// Whether a character does something to a terminal or to the order of what is read, instead of being shown.
fn is_special(char: char) -> bool {
    match char {
        '\n' | '\t' => false,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' => true,
        _ => char.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(bytes: &[u8]) -> String {
        let mut cleaner = Cleaner::default();
        let mut out = String::new();
        cleaner.push(bytes, &mut out);
        cleaner.finish(&mut out);
        out
    }

    #[test]
    fn only_text_is_left() {
        for (bytes, expected) in [
            (&b"plain\ttext\n"[..], "plain\ttext\n"),
            (b"\x1b[1;31mred\x1b[0m", "red"),
            (b"\x1b]0;title\x07after", "after"),
            (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            (b"\x1bPq#0;2\x1b\\sixel", "sixel"),
            (b"\x1b(Bascii \x1b7saved", "ascii saved"),
            (b"a\x00b\x07c\x08d\x7fe", "abcde"),
            ("a\u{9b}31mb\u{85}c".as_bytes(), "abc"),
            ("safe\u{202e}evil\u{2066}".as_bytes(), "safeevil"),
            (b"dos\r\nmac\rprogress\r\r\n", "dos\nmac\nprogress\n\n"),
            (b"bad \xff\xfe bytes", "bad \u{fffd}\u{fffd} bytes"),
            (b"cut \xe2\x82", "cut \u{fffd}"),
            (b"\x1b]0;never ended\nnext line", "\nnext line"),
            (b"\x1b[12\x1b[1mtwice", "twice"),
        ] {
            assert_eq!(cleaned(bytes), expected, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn a_sequence_without_end_does_not_swallow_everything() {
        let text = [b"\x1b]".to_vec(), b"x".repeat(SEQUENCE_MOST * 2)].concat();
        assert!(cleaned(&text).len() >= SEQUENCE_MOST - 2);
    }
}
