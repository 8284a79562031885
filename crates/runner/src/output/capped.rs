//! Keeps the beginning and the end of a text, and counts what was between them. The end matters more: that is where a
//! command says what went wrong.

use serde::{Deserialize, Serialize};

/// What share of the limit the beginning has: one in so many.
const HEAD_SHARE: usize = 4;

/// What is kept of what a command said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Log {
    /// Its beginning; all of it when nothing was left out.
    pub head: String,
    /// How many bytes of cleaned text are missing between the two.
    pub left_out: u64,
    /// Its end; empty when nothing was left out.
    pub tail: String,
    /// How many bytes the command wrote.
    pub bytes: u64,
    /// How many secrets were blotted out.
    pub redacted: u64,
}

impl Log {
    /// The two parts, with a line between them that says what is missing.
    pub fn text(&self) -> String {
        if self.left_out == 0 {
            return format!("{}{}", self.head, self.tail);
        }
        let gap = if self.head.is_empty() || self.head.ends_with('\n') { "" } else { "\n" };
        format!("{}{gap}[{} bytes left out]\n{}", self.head, self.left_out, self.tail)
    }
}

/// A text that grows, up to a limit.
#[derive(Debug)]
pub(super) struct Capped {
    head_most: usize,
    tail_most: usize,
    head: String,
    /// At most twice its limit: it is cut when it has doubled, so that each byte is moved once.
    tail: String,
    left_out: u64,
}

impl Capped {
    pub(super) fn new(limit: usize) -> Self {
        let head_most = limit / HEAD_SHARE;
        Self { head_most, tail_most: limit - head_most, head: String::new(), tail: String::new(), left_out: 0 }
    }

    pub(super) fn push(&mut self, text: &str) {
        let mut text = text;
        if self.tail.is_empty() && self.left_out == 0 && self.head.len() < self.head_most {
            let (fits, rest) = text.split_at(text.floor_char_boundary(self.head_most - self.head.len()));
            self.head.push_str(fits);
            text = rest;
        }
        if text.len() > self.tail_most {
            self.left_out += self.tail.len() as u64;
            self.tail.clear();
        }
        self.tail.push_str(text);
        if self.tail.len() > 2 * self.tail_most {
            self.cut();
        }
    }

    pub(super) fn finish(mut self, bytes: u64, redacted: u64) -> Log {
        if self.tail.len() > self.tail_most {
            self.cut();
        }
        if self.left_out == 0 {
            self.head.push_str(&self.tail);
            self.tail.clear();
        }
        Log { head: self.head, left_out: self.left_out, tail: self.tail, bytes, redacted }
    }

    /// Leaves no more of the end than is allowed.
    fn cut(&mut self) {
        let from = self.tail.ceil_char_boundary(self.tail.len().saturating_sub(self.tail_most));
        self.left_out += from as u64;
        self.tail.drain(..from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logged(limit: usize, texts: &[&str]) -> Log {
        let mut capped = Capped::new(limit);
        for text in texts {
            capped.push(text);
        }
        capped.finish(0, 0)
    }

    #[test]
    fn what_fits_is_kept_whole() {
        let log = logged(16, &["0123", "456789", "abcdef"]);
        assert_eq!((log.head.as_str(), log.left_out, log.tail.as_str()), ("0123456789abcdef", 0, ""));
        assert_eq!(log.text(), "0123456789abcdef");
    }

    #[test]
    fn the_end_beats_the_beginning() {
        let log = logged(16, &["0123456789", "abcdefghij", "klmnopqrst"]);
        assert_eq!((log.head.as_str(), log.left_out, log.tail.as_str()), ("0123", 14, "ijklmnopqrst"));
        assert_eq!(log.text(), "0123\n[14 bytes left out]\nijklmnopqrst");
        let all = "x".repeat(1000) + "end";
        assert_eq!(logged(16, &[&all]).tail, "xxxxxxxxxend");
    }

    #[test]
    fn no_character_is_cut_in_two_and_every_byte_is_counted() {
        let text = "añbñcñdñ".repeat(50);
        for limit in 8..40 {
            for size in [1, 3, 7, 100] {
                let chars: Vec<char> = text.chars().collect();
                let pieces: Vec<String> = chars.chunks(size).map(|piece| piece.iter().collect()).collect();
                let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
                let log = logged(limit, &pieces);
                let kept = log.head.len() + log.tail.len();
                assert!(kept <= limit);
                assert_eq!(log.left_out + kept as u64, text.len() as u64, "{limit} {size}");
                assert!(text.starts_with(&log.head) && text.ends_with(&log.tail));
            }
        }
    }
}
