//! How Markdown is read, case by case.

use super::{Entry, Fault, Outline, outline, refused};
use crate::error::{Code, Reason};
use crate::limits;
use crate::model::Text;

fn read(text: &str) -> Outline {
    outline(&Text::parse(text).expect("a text"))
}

/// Each entry as its line, its title indented by its depth, and a tick if it is done.
fn shape(text: &str) -> Vec<String> {
    let read = read(text);
    assert_eq!(read.faults, [], "{text:?}");
    read.entries.iter().map(shown).collect()
}

fn shown(entry: &Entry) -> String {
    let tick = if entry.done { " ✓" } else { "" };
    format!("{}:{}{}{tick}", entry.line, "  ".repeat(entry.depth), entry.title)
}

fn descriptions(text: &str) -> Vec<String> {
    read(text).entries.into_iter().map(|entry| entry.description).collect()
}

fn faults(text: &str) -> Vec<(usize, Reason)> {
    read(text).faults.iter().map(|fault| (fault.line, fault.reason)).collect()
}

#[test]
fn headings_hold_what_follows_by_their_level() {
    let text = "# Plan\n\n## First\n- a\n\n### Inner\n- b\n\n## Second\n\nThird\n=====\n- c\n";
    let expected = ["1:Plan", "3:  First", "4:    a", "6:    Inner", "7:      b", "9:  Second", "11:Third", "13:  c"];
    assert_eq!(shape(text), expected);
    assert_eq!(
        shape("### deep\n# high\n### skips a level\n## back"),
        ["1:deep", "2:high", "3:  skips a level", "4:  back"]
    );
    assert_eq!(shape("two\nlines\n===\n"), ["1:two lines"]);
}

#[test]
fn lists_nest_whatever_their_marks() {
    assert_eq!(shape("- a\n  - b\n    - c\n- d\n"), ["1:a", "2:  b", "3:    c", "4:d"]);
    assert_eq!(shape("1. a\n   * b\n   * c\n2. d\n"), ["1:a", "2:  b", "3:  c", "4:d"]);
    assert_eq!(shape("- a\n\n  - b\n\n- c\n"), ["1:a", "3:  b", "5:c"], "with blank lines between them");
    assert_eq!(shape("\n\n  - a\n\t- b\n"), ["3:a", "4:  b"], "indented by a tab");
    assert_eq!(shape("- # a\n  ## words of a\n  - b\n"), ["1:a", "3:  b"], "a heading inside a list item");
}

#[test]
fn lines_end_in_any_way() {
    for text in ["- a\r\n\r\n  - b\r\n- c", "- a\r\r  - b\r- c", "- a\n\n  - b\n- c", "- a\r\n\n  - b\r- c\n"] {
        assert_eq!(shape(text), ["1:a", "3:  b", "4:c"], "{text:?}");
    }
    assert_eq!(descriptions("- a\r\n  b\r\n  c\r\n"), ["b\nc"]);
}

#[test]
fn boxes_say_what_is_done() {
    let text = "# h\n- [ ] a\n- [x] b\n  - detail\n    - [X] more\n- c\n\n1. [x] d\n";
    assert_eq!(shape(text), ["1:h", "2:  a", "3:  b ✓", "4:    detail ✓", "5:      more ✓", "6:  c", "8:  d ✓"]);
    assert_eq!(shape("- [x] a\n\n- [ ] b\n"), ["1:a ✓", "3:b"], "with blank lines between them");
    assert_eq!(shape("- [y] a\n- \\[x] b\n"), ["1:[y] a", "2:[x] b"], "no boxes");
    assert_eq!(shape("- [ ] a\n  - [x] b\n"), ["1:a", "2:  b ✓"], "some of it is done");
}

#[test]
fn a_ticked_box_above_an_open_one_is_a_fault_of_its_line() {
    let text = "- [x] a\n  - [ ] b\n  - [x] c\n    - [ ] d\n  - [ ] e\n";
    assert_eq!(faults(text), [(1, Reason::BadValue), (3, Reason::BadValue)]);
    assert_eq!(read(text).faults[0].message, "its box is ticked, yet line 2 beneath it is open");
    assert_eq!(faults("- [x] a\n  - detail\n    - [ ] b\n"), [(2, Reason::BadValue)], "by way of one without a box");
}

#[test]
fn titles_are_the_words_of_the_first_line() {
    for (text, title) in [
        ("- **bold** and *thin* ~~gone~~", "bold and thin gone"),
        ("- `code` and [a link](https://example.com \"t\")", "code and a link"),
        ("- ![a picture](p.png) of it", "a picture of it"),
        ("- Vec<T> &amp; \\*stars\\*", "Vec<T> & *stars*"),
        ("- a <!-- remark --> b", "a  b"),
        ("- <https://example.com>", "https://example.com"),
        ("# a `b` *c* #", "a b c"),
        ("- first\n  second", "first"),
        ("-\n  on the next line", "on the next line"),
        ("- first  \n  second", "first"),
    ] {
        assert_eq!(read(text).entries[0].title, title, "{text:?}");
    }
}

#[test]
fn what_lies_beneath_is_the_description_as_it_was_written() {
    assert_eq!(
        descriptions("# h\nsome *words*\nof two lines\n\nand more\n"),
        ["some *words*\nof two lines\n\nand more"]
    );
    assert_eq!(descriptions("- a\n  goes on\n  and on\n- b\n"), ["goes on\nand on", ""]);
    assert_eq!(descriptions("- a\n\n  \\* one\n\n  two **bold**\n"), ["\\* one\n\ntwo **bold**"]);
    assert_eq!(
        descriptions("1. a\n\n   ```rust\n   fn x() {\n       y();\n   }\n   ```\n"),
        ["```rust\nfn x() {\n    y();\n}\n```"]
    );
    assert_eq!(descriptions("- a\n\n      indented code\n"), ["    indented code"]);
    assert_eq!(descriptions("- [ ] a\n\n  under a box\n"), ["under a box"]);
    assert_eq!(descriptions("- a\n\n\tby a tab\n"), ["  by a tab"], "what a tab is wider than the indentation");
    assert_eq!(
        descriptions("# h\n> - quoted\n>   - deep\n\n| a | b |\n|---|---|\n"),
        ["> - quoted\n>   - deep\n\n| a | b |\n|---|---|"]
    );
    assert_eq!(descriptions("- a\n  - b\n\n  of a again\n- c\n"), ["of a again", "", ""]);
    assert_eq!(
        descriptions("# h\nbefore\n\n- a\n\nbetween\n\n***\n\nafter\n"),
        ["before\n\nbetween\n\n***\n\nafter", ""]
    );
    assert_eq!(descriptions("# h\n<div>\nraw\n</div>\n"), ["<div>\nraw\n</div>"]);
    assert_eq!(descriptions("- a\n  ```\n  - no item\n  ```\n  text\n"), ["```\n- no item\n```\ntext"]);
}

#[test]
fn what_belongs_to_the_file_is_passed_over() {
    assert_eq!(shape("---\ntitle: x\n- y: 1\n---\n# h\n"), ["5:h"]);
    assert_eq!(shape("---\ntitle: x\n---"), [""; 0]);
    assert_eq!(shape("---\n\n# h\n\n---\n\n# i\n"), ["3:h", "7:i"], "rules between sections");
    assert_eq!(shape("<!-- a remark -->\n\n- a\n"), ["3:a"]);
    assert_eq!(shape(""), [""; 0]);
}

#[test]
fn text_that_belongs_to_nothing_is_a_fault() {
    assert_eq!(faults("words\n\n> quote\n\n- a\n"), [(1, Reason::BadValue), (3, Reason::BadValue)]);
}

#[test]
fn an_entry_that_begins_with_no_words_has_no_title() {
    for text in ["-\n", "- [ ]\n", "- - a\n", "- ```\n  code\n  ```\n\n  words\n", "#\n", "- > quote\n"] {
        assert_eq!(read(text).entries[0].title.trim(), "", "{text:?}");
    }
}

#[test]
fn no_more_is_read_than_one_call_may_make() {
    let text = "- a\n".repeat(limits::BATCH);
    assert_eq!(shape(&text).len(), limits::BATCH);
    let many = "- a\n".repeat(60_000);
    assert_eq!(faults(&many), [(limits::BATCH + 1, Reason::BatchTooLarge)]);
    assert_eq!(read(&many).entries.len(), limits::BATCH);
}

#[test]
fn nesting_without_measure_is_not_followed() {
    for mark in ["- ", "> ", ">", "1. ", "+\t", "* - "] {
        let bomb = format!("# h\n{}{}", mark.repeat(100_000 / mark.len()), "\n".repeat(100_000));
        assert_eq!(faults(&bomb), [(2, Reason::TooDeep)], "{mark:?}");
    }
    // The most that is followed, with the blank lines that are dear.
    let deepest = format!("{}x{}", "- ".repeat(limits::MARKER_COLUMN / 2), "\n".repeat(200_000));
    assert_eq!(faults(&deepest), [(1, Reason::BatchTooLarge)]);
    let stairs: Vec<String> = (0..256).map(|step| " ".repeat(step * 2) + "- x\n").collect();
    assert_eq!(read(&stairs.concat()).entries.last().map(|entry| entry.depth), Some(limits::BATCH - 1));
    assert_eq!(faults(&format!("# h\n{}no list\n{}\n", " ".repeat(600), "-".repeat(600))), [], "only marks count");
}

#[test]
fn marks_that_never_close_are_words() {
    for mark in ["[", "*a ", "_a", "`", "<!--", "![[](", "~~x ", "&#", "\\", "<a ", "](", "**a *b "] {
        let text = format!("# {}", mark.repeat(limits::TEXT_BYTES / mark.len() - 2));
        assert_eq!(read(&text).entries.len(), 1, "{mark:?}");
    }
}

#[test]
fn one_refusal_tells_every_fault_in_the_order_of_the_lines() {
    let fault = |line| Fault::new(line, Reason::Blank, "the title must not be blank");
    let error = refused(vec![fault(12), Fault::new(3, Reason::TooDeep, "too deep")]);
    assert_eq!(
        (error.code, error.reason, error.field.as_deref()),
        (Code::Validation, Reason::TooDeep, Some("markdown"))
    );
    assert_eq!(error.message, "line 3: too deep; line 12: the title must not be blank");
    let error = refused((1..=25).map(fault).collect());
    assert!(error.message.contains("line 20: ") && !error.message.contains("line 21: "), "{}", error.message);
    assert!(error.message.ends_with("; and 5 more"), "{}", error.message);
}
