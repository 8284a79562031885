//! Reads Markdown as an outline of work: headings and list items with what lies beneath them. It knows no project, makes
//! no item and refuses nothing by itself; whoever asks decides what becomes of the entries and of the faults.
//!
//! - A heading is an entry; what follows lies beneath it, up to the next heading of its level or a higher one.
//! - A list item is an entry, a nested list its children. Its first line is its title; everything else in it that is no
//!   list is its description, as it was written.
//! - A box (`[ ]`, `[x]`) says whether it is done; what has no box is as done as what it lies beneath.
//! - Paragraphs, code, quotes and the like are the description of the entry they lie beneath, with the lists in a quote.
//! - Front matter, rules between sections and comments above the first entry belong to the file, not to the work.

mod lines;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::error::{Error, Reason};
use crate::limits;
use crate::model::Text;
use lines::Lines;

/// What a text says should be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// Its entries as they stand in the text: parents before children.
    pub entries: Vec<Entry>,
    /// What is wrong with it, by line.
    pub faults: Vec<Fault>,
}

/// A heading or a list item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The line it begins on, from 1.
    pub line: usize,
    /// The entry it lies beneath.
    pub parent: Option<usize>,
    /// How many entries it lies beneath.
    pub depth: usize,
    /// The words of its first line, without markup. They may be no title yet: too long, or none at all.
    pub title: String,
    /// What is written beneath it, as it was written but for the indentation it shares; may be empty.
    pub description: String,
    /// Whether its box is ticked, or that of what it lies beneath if it has none.
    pub done: bool,
}

/// One thing that is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The line, from 1.
    pub line: usize,
    /// The precise cause.
    pub reason: Reason,
    /// What is wrong.
    pub message: Cow<'static, str>,
}

impl Fault {
    /// A fault of a line.
    pub fn new(line: usize, reason: Reason, message: impl Into<Cow<'static, str>>) -> Self {
        Self { line, reason, message: message.into() }
    }
}

/// Reads a text. One that is nested without measure is not read any further than to say so.
pub fn outline(text: &Text) -> Outline {
    let lines = Lines::new(text.as_str());
    let deep: Vec<Fault> = lines
        .nested_beyond(limits::MARKER_COLUMN)
        .map(|line| {
            let message = format!("a list or quote begins beyond column {}", limits::MARKER_COLUMN);
            Fault::new(line, Reason::TooDeep, message)
        })
        .collect();
    if !deep.is_empty() {
        return Outline { entries: Vec::new(), faults: deep };
    }
    let body = lines.front_matter();
    let options = Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH;
    let mut reader = Reader::new(lines);
    for (event, range) in Parser::new_ext(&text.as_str()[body..], options).into_offset_iter() {
        reader.read(event, range.start + body..range.end + body);
        if reader.full {
            break;
        }
    }
    reader.finish()
}

/// One refusal for all that is wrong with a text, line by line.
pub fn refused(mut faults: Vec<Fault>) -> Error {
    faults.sort_by_key(|fault| fault.line);
    let mut said: Vec<String> = faults
        .iter()
        .take(limits::FAULTS_SHOWN)
        .map(|fault| format!("line {}: {}", fault.line, fault.message))
        .collect();
    if let Some(more) = faults.len().checked_sub(said.len()).filter(|more| *more > 0) {
        said.push(format!("and {more} more"));
    }
    let reason = faults.first().map_or(Reason::BadValue, |fault| fault.reason);
    Error::validation(reason, said.join("; ")).at("markdown")
}

/// An entry while it is read.
#[derive(Debug)]
struct Open {
    line: usize,
    parent: Option<usize>,
    depth: usize,
    title: String,
    /// Whether its title was read; what comes after is its description.
    titled: bool,
    ticked: Option<bool>,
    /// The column at which what it says begins: what lies beneath it is indented as far.
    column: usize,
    /// The lines of its description.
    blocks: Vec<RangeInclusive<usize>>,
}

/// Words that follow one another, with no block between them.
#[derive(Debug)]
struct Words {
    range: Range<usize>,
    /// Whose title they are.
    names: Option<usize>,
    /// Whether all lines are the title and not the first alone.
    all_lines: bool,
    /// The line after the title, where there is one.
    rest: Option<usize>,
}

#[derive(Debug)]
struct Reader<'s> {
    lines: Lines<'s>,
    entries: Vec<Open>,
    faults: Vec<Fault>,
    /// The headings that what comes next lies beneath.
    headings: Vec<(HeadingLevel, usize)>,
    /// The list items that what comes next lies in.
    items: Vec<usize>,
    words: Option<Words>,
    /// How many tags deep the reader is in a block that is taken as it stands.
    verbatim: usize,
    /// Whose description the last block was, if no entry has begun since.
    last_block: Option<usize>,
    /// Whether there are more entries than one call may make.
    full: bool,
}

impl<'s> Reader<'s> {
    fn new(lines: Lines<'s>) -> Self {
        Self {
            lines,
            entries: Vec::new(),
            faults: Vec::new(),
            headings: Vec::new(),
            items: Vec::new(),
            words: None,
            verbatim: 0,
            last_block: None,
            full: false,
        }
    }

    fn read(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(_) if self.verbatim > 0 => self.verbatim += 1,
            Event::End(_) if self.verbatim > 0 => self.verbatim -= 1,
            _ if self.verbatim > 0 => {}
            Event::Start(tag) => self.start(&tag, range),
            Event::End(tag) => self.end(tag),
            Event::TaskListMarker(ticked) => {
                self.words_at(&range);
                if let Some(item) = self.items.last().and_then(|item| self.entries.get_mut(*item)) {
                    item.ticked = Some(ticked);
                }
            }
            Event::SoftBreak | Event::HardBreak => self.line_break(&range),
            Event::InlineHtml(html) if html.starts_with("<!--") => self.say("", &range),
            Event::Text(text)
            | Event::Code(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::InlineHtml(text)
            | Event::Html(text)
            | Event::FootnoteReference(text) => self.say(&text, &range),
            Event::Rule => self.end_words(),
        }
    }

    fn start(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Paragraph | Tag::List(_) => self.end_words(),
            Tag::Item => {
                self.end_words();
                // A list that comes first leaves its item without a title.
                self.title_is_over();
                let parent = self.owner();
                if let Some(item) = self.begin(range.start, parent) {
                    self.items.push(item);
                }
            }
            Tag::Heading { level, .. } => {
                self.end_words();
                self.heading(*level, range);
            }
            Tag::BlockQuote(_)
            | Tag::CodeBlock(_)
            | Tag::HtmlBlock
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Table(_)
            | Tag::TableHead
            | Tag::TableRow
            | Tag::TableCell
            | Tag::MetadataBlock(_) => {
                self.end_words();
                self.verbatim(range);
            }
            Tag::Emphasis
            | Tag::Strong
            | Tag::Strikethrough
            | Tag::Superscript
            | Tag::Subscript
            | Tag::Link { .. }
            | Tag::Image { .. } => self.words_at(&range),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::List(_) => self.end_words(),
            TagEnd::Item => {
                self.end_words();
                self.items.pop();
            }
            // Marks inside a line; blocks that are taken as they stand end where they are counted.
            _ => {}
        }
    }

    /// A heading is an entry, the title of the list item it begins, or a part of that item's description.
    fn heading(&mut self, level: HeadingLevel, range: Range<usize>) {
        let names = match self.items.last().copied() {
            Some(item) if self.entries.get(item).is_some_and(|item| item.titled) => return self.verbatim(range),
            Some(item) => Some(item),
            None => {
                while self.headings.last().is_some_and(|(above, _)| *above >= level) {
                    self.headings.pop();
                }
                let entry = self.begin(range.start, self.owner());
                self.headings.extend(entry.map(|entry| (level, entry)));
                entry
            }
        };
        self.words = names.map(|names| self.naming(names, &range, true));
    }

    /// A block that is taken as it stands, up to its end.
    fn verbatim(&mut self, range: Range<usize>) {
        self.verbatim = 1;
        self.title_is_over();
        self.describe(range);
    }

    fn begin(&mut self, at: usize, parent: Option<usize>) -> Option<usize> {
        let line = self.lines.line_of(self.lines.skip_space(at));
        if self.entries.len() >= limits::BATCH {
            let message = format!("one import makes at most {} items, and here begins one more", limits::BATCH);
            self.faults.push(Fault::new(line, Reason::BatchTooLarge, message));
            self.full = true;
            return None;
        }
        self.last_block = None;
        let depth = parent.and_then(|parent| self.entries.get(parent)).map_or(0, |parent| parent.depth + 1);
        let (title, blocks) = (String::new(), Vec::new());
        self.entries.push(Open { line, parent, depth, title, titled: false, ticked: None, column: 0, blocks });
        Some(self.entries.len() - 1)
    }

    /// What the next words or blocks lie beneath.
    fn owner(&self) -> Option<usize> {
        self.items.last().copied().or_else(|| self.headings.last().map(|(_, entry)| *entry))
    }

    fn title_is_over(&mut self) {
        if let Some(item) = self.items.last().and_then(|item| self.entries.get_mut(*item)) {
            item.titled = true;
        }
    }

    fn naming(&mut self, names: usize, range: &Range<usize>, heading: bool) -> Words {
        // A heading of its own has nothing indented beneath it.
        let column = if self.items.is_empty() { 0 } else { self.lines.column_of(range.start) };
        if let Some(entry) = self.entries.get_mut(names) {
            entry.titled = true;
            entry.column = column;
        }
        Words { range: range.clone(), names: Some(names), all_lines: heading, rest: None }
    }

    /// Words go on or begin.
    fn words_at(&mut self, range: &Range<usize>) {
        if let Some(words) = &mut self.words {
            words.range.end = words.range.end.max(range.end);
            return;
        }
        let untitled = self.items.last().copied().filter(|item| self.entries.get(*item).is_some_and(|e| !e.titled));
        self.words = Some(match untitled {
            Some(item) => self.naming(item, range, false),
            None => Words { range: range.clone(), names: None, all_lines: false, rest: None },
        });
    }

    fn say(&mut self, text: &str, range: &Range<usize>) {
        self.words_at(range);
        let Some(Words { names: Some(names), rest: None, .. }) = self.words else { return };
        if let Some(entry) = self.entries.get_mut(names) {
            entry.title.push_str(text);
        }
    }

    fn line_break(&mut self, range: &Range<usize>) {
        let next = self.lines.line_of(range.start) + 1;
        match &mut self.words {
            Some(Words { all_lines: true, .. }) => self.say(" ", range),
            Some(words) => {
                words.rest.get_or_insert(next);
            }
            None => {}
        }
    }

    fn end_words(&mut self) {
        let Some(words) = self.words.take() else { return };
        let Some(entry) = words.names else { return self.describe(words.range) };
        if let Some(rest) = words.rest {
            self.add_block(entry, rest..=self.lines.span(&words.range).1);
        }
    }

    /// Lines that describe what they lie beneath.
    fn describe(&mut self, range: Range<usize>) {
        let (first, last) = self.lines.span(&range);
        match self.owner() {
            Some(entry) => self.add_block(entry, first..=last),
            None if self.lines.is_comment(&range) => {}
            None => {
                let message = "this text lies beneath no heading and in no list item";
                self.faults.push(Fault::new(first, Reason::BadValue, message));
            }
        }
    }

    /// Blocks with no entry between them are one, with what stands between them.
    fn add_block(&mut self, entry: usize, lines: RangeInclusive<usize>) {
        let Some(open) = self.entries.get_mut(entry) else { return };
        match open.blocks.last_mut() {
            Some(block) if self.last_block == Some(entry) => *block = *block.start()..=*lines.end(),
            _ => open.blocks.push(lines),
        }
        self.last_block = Some(entry);
    }

    fn finish(mut self) -> Outline {
        self.end_words();
        let mut entries: Vec<Entry> = Vec::with_capacity(self.entries.len());
        let mut contradicted = BTreeSet::new();
        for open in self.entries {
            let above = open.parent.and_then(|parent| entries.get(parent));
            let above_is_done = above.is_some_and(|above| above.done);
            if let (Some(above), Some(false), true) = (above, open.ticked, above_is_done)
                && contradicted.insert(open.parent)
            {
                let message = format!("its box is ticked, yet line {} beneath it is open", open.line);
                self.faults.push(Fault::new(above.line, Reason::BadValue, message));
            }
            let blocks: Vec<String> =
                open.blocks.iter().map(|block| self.lines.unindented(block.clone(), open.column)).collect();
            entries.push(Entry {
                line: open.line,
                parent: open.parent,
                depth: open.depth,
                title: open.title,
                description: blocks.join("\n\n"),
                done: open.ticked.unwrap_or(above_is_done),
            });
        }
        Outline { entries, faults: self.faults }
    }
}
