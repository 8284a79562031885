//! The lines of a text: which one a byte stands on, how far it is indented, and what stands there without the indentation.

use std::ops::{Range, RangeInclusive};

/// How far apart the stops of a tab are.
const TAB: usize = 4;

/// A text with the places where its lines begin. Lines count from 1, columns from 0.
#[derive(Debug)]
pub(super) struct Lines<'s> {
    text: &'s str,
    starts: Vec<usize>,
}

impl<'s> Lines<'s> {
    /// A line ends with a line feed, a carriage return, or both.
    pub(super) fn new(text: &'s str) -> Self {
        let bytes = text.as_bytes();
        let ends = bytes.iter().enumerate().filter(|(at, byte)| match **byte {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        });
        let starts = std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect();
        Self { text, starts }
    }

    pub(super) fn line_of(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at).max(1)
    }

    /// The first and the last line that hold something of a range.
    pub(super) fn span(&self, range: &Range<usize>) -> (usize, usize) {
        let text = self.text.get(range.clone()).unwrap_or_default();
        let first = self.line_of(range.start + (text.len() - text.trim_start().len()));
        let last = self.line_of((range.start + text.trim_end().len()).saturating_sub(1));
        (first, last.max(first))
    }

    pub(super) fn skip_space(&self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        at + (rest.len() - rest.trim_start().len())
    }

    /// The column of a byte. A backslash that keeps a mark from being one is the beginning of its word.
    pub(super) fn column_of(&self, at: usize) -> usize {
        let start = self.starts.get(self.line_of(at) - 1).copied().unwrap_or_default();
        let before = self.text.get(start..at).unwrap_or_default();
        before.strip_suffix('\\').unwrap_or(before).chars().fold(0, after)
    }

    /// Lines as they stand, but for what they are indented by, up to a column.
    pub(super) fn unindented(&self, lines: RangeInclusive<usize>, column: usize) -> String {
        let all: Vec<String> = lines.map(|line| unindent(self.line(line), column)).collect();
        all.join("\n")
    }

    /// Where the text begins after front matter: a first line of three hyphens, up to the next such line. A blank line
    /// after the first makes it a rule between sections.
    pub(super) fn front_matter(&self) -> usize {
        if self.line(1).trim_end() != "---" || self.line(2).trim().is_empty() {
            return 0;
        }
        let end = (2..=self.starts.len()).find(|line| matches!(self.line(*line).trim_end(), "---" | "..."));
        end.map_or(0, |line| self.starts.get(line).copied().unwrap_or(self.text.len()))
    }

    /// Lines on which a list or a quote begins beyond a column. Reading takes time in proportion to how many lie in one
    /// another, on each line anew, so that this bounds it.
    pub(super) fn nested_beyond(&self, column: usize) -> impl Iterator<Item = usize> {
        (1..=self.starts.len()).filter(move |line| last_marker(self.line(*line)).is_some_and(|at| at > column))
    }

    pub(super) fn is_comment(&self, range: &Range<usize>) -> bool {
        self.text.get(range.clone()).is_some_and(|text| text.trim_start().starts_with("<!--"))
    }

    fn line(&self, line: usize) -> &'s str {
        let start = line.checked_sub(1).and_then(|index| self.starts.get(index)).copied().unwrap_or(self.text.len());
        let end = self.starts.get(line).copied().unwrap_or(self.text.len());
        self.text.get(start..end).unwrap_or_default().trim_end_matches(['\r', '\n'])
    }
}

/// The column after a character.
fn after(column: usize, c: char) -> usize {
    if c == '\t' { (column / TAB + 1) * TAB } else { column + 1 }
}

fn unindent(line: &str, column: usize) -> String {
    let mut reached = 0;
    for (at, c) in line.char_indices() {
        if reached >= column || !matches!(c, ' ' | '\t') {
            // A tab that reaches further leaves the rest of its width.
            return " ".repeat(reached.saturating_sub(column)) + line.get(at..).unwrap_or_default();
        }
        reached = after(reached, c);
    }
    String::new()
}

/// The column of the last mark of a list or quote before the words of a line.
fn last_marker(line: &str) -> Option<usize> {
    let (mut column, mut last) = (0, None);
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let width = match c {
            ' ' | '\t' => {
                column = after(column, c);
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            '>' | '-' | '+' | '*' => 1,
            '0'..='9' => rest.bytes().take_while(u8::is_ascii_digit).count() + 1,
            _ => break,
        };
        let (mark, next) = rest.split_at_checked(width).unwrap_or((rest, ""));
        let is_marker = match c {
            '>' => true,
            '0'..='9' => mark.ends_with(['.', ')']) && (next.is_empty() || next.starts_with([' ', '\t'])),
            _ => next.is_empty() || next.starts_with([' ', '\t']),
        };
        if !is_marker {
            break;
        }
        last = Some(column);
        column += width;
        rest = next;
    }
    last
}
