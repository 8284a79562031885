//! Pages of text beside the reference: how agents work here, what is stable. The composition root brings the texts; here they
//! are made readable in a browser, without a script and without a word from the network.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};

use crate::app::Shared;
use crate::docs::POLICY;
use crate::failure::Failure;
use docket_core::Error;

/// A page of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Where it is: `/docs/{name}`.
    pub name: String,
    /// What it is called.
    pub title: String,
    /// Whom it is for, in a line.
    pub about: String,
    /// What it says, in Markdown: headings, paragraphs, lists of one level, tables, code in a line and bold words.
    pub text: &'static str,
}

/// One of the pages.
pub(crate) async fn show(State(shared): State<Arc<Shared>>, Path(name): Path<String>) -> Response {
    let Some(page) = shared.pages.iter().find(|page| page.name == name) else {
        return Failure::from(Error::not_found("there is no such page: /docs tells what there is")).into_response();
    };
    let head = [(CONTENT_TYPE, "text/html; charset=utf-8"), (CONTENT_SECURITY_POLICY, POLICY)];
    (head, whole(page, &shared.pages)).into_response()
}

/// The ways to all pages.
pub(crate) fn ways(pages: &[Page]) -> String {
    let mut ways = String::new();
    for page in pages {
        _ = write!(ways, " <a href=\"/docs/{}\">{}</a>", page.name, inline(&page.title));
    }
    ways
}

fn whole(page: &Page, all: &[Page]) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Docket: {}</title>\n\
         <link rel=\"stylesheet\" href=\"/docs/page.css\">\n</head>\n<body class=\"text\">\n<header><a href=\"/docs\">REST interface</a>{}</header>\n\
         <main>\n<p>{}</p>\n{}</main>\n</body>\n</html>\n",
        inline(&page.title),
        ways(all),
        inline(&page.about),
        html(page.text)
    )
}

/// What the lines before belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Nothing,
    Paragraph,
    Bullets,
    Numbers,
    Table,
}

impl Open {
    fn end(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Paragraph => "</p>\n",
            Self::Bullets => "</li>\n</ul>\n",
            Self::Numbers => "</li>\n</ol>\n",
            Self::Table => "</table>\n",
        }
    }
}

/// The pages' Markdown as HTML.
fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let mut open = Open::Nothing;
    for line in text.lines().map(str::trim) {
        if line.is_empty() {
            out.push_str(open.end());
            open = Open::Nothing;
        } else if let Some((level, title)) = heading(line) {
            out.push_str(open.end());
            open = Open::Nothing;
            _ = writeln!(out, "<h{level}>{}</h{level}>", inline(title));
        } else if line.starts_with('|') {
            row(&mut out, &mut open, line);
        } else if let Some((list, words)) = entry(line) {
            if open == list {
                out.push_str("</li>\n<li>");
            } else {
                out.push_str(open.end());
                out.push_str(if list == Open::Bullets { "<ul>\n<li>" } else { "<ol>\n<li>" });
                open = list;
            }
            out.push_str(&inline(words));
        } else {
            // A line goes on where the one before stopped.
            if matches!(open, Open::Nothing | Open::Table) {
                out.push_str(open.end());
                out.push_str("<p>");
                open = Open::Paragraph;
            } else {
                out.push('\n');
            }
            out.push_str(&inline(line));
        }
    }
    out.push_str(open.end());
    out
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let title = line.get(level..)?.strip_prefix(' ')?;
    (1..=6).contains(&level).then_some((level, title))
}

fn entry(line: &str) -> Option<(Open, &str)> {
    if let Some(words) = line.strip_prefix("- ") {
        return Some((Open::Bullets, words));
    }
    let (number, words) = line.split_once(". ")?;
    let counts = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    counts.then_some((Open::Numbers, words))
}

/// A row of a table: the first is its head, and the line beneath it says nothing.
fn row(out: &mut String, open: &mut Open, line: &str) {
    if line.bytes().all(|byte| matches!(byte, b'|' | b'-' | b':' | b' ')) {
        return;
    }
    let mut cell = "td";
    if *open != Open::Table {
        out.push_str(open.end());
        out.push_str("<table>\n");
        *open = Open::Table;
        cell = "th";
    }
    out.push_str("<tr>");
    for words in line.trim_matches('|').split('|') {
        _ = write!(out, "<{cell}>{}</{cell}>", inline(words.trim()));
    }
    out.push_str("</tr>\n");
}

/// The words of a line: code between backticks, bold between pairs of stars, and nothing of it taken for HTML.
fn inline(words: &str) -> String {
    let mut out = String::with_capacity(words.len() + 16);
    for (index, part) in words.split('`').enumerate() {
        if index % 2 == 1 {
            _ = write!(out, "<code>{}</code>", escaped(part));
            continue;
        }
        for (index, part) in part.split("**").enumerate() {
            if index % 2 == 1 {
                _ = write!(out, "<strong>{}</strong>", escaped(part));
            } else {
                out.push_str(&escaped(part));
            }
        }
    }
    out
}

fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_markdown_becomes_html() {
        let text = "# A <title>\n\nA line\nand `code <b>` in **it**.\n- one\n  goes on\n- two\n\n1. first\n2. second\n\n\
                    | a | b |\n| --- | --- |\n| `x` | y & z |\nafter\n## End";
        let expected = "<h1>A &lt;title&gt;</h1>\n<p>A line\nand <code>code &lt;b&gt;</code> in <strong>it</strong>.</p>\n\
                        <ul>\n<li>one\ngoes on</li>\n<li>two</li>\n</ul>\n<ol>\n<li>first</li>\n<li>second</li>\n</ol>\n\
                        <table>\n<tr><th>a</th><th>b</th></tr>\n<tr><td><code>x</code></td><td>y &amp; z</td></tr>\n\
                        </table>\n<p>after</p>\n<h2>End</h2>\n";
        assert_eq!(html(text), expected);
    }

    #[test]
    fn a_page_names_the_others() {
        let page = |name: &str, title: &str| Page {
            name: name.to_owned(),
            title: title.to_owned(),
            about: "For `y`.".to_owned(),
            text: "x",
        };
        let all = [page("a", "First & best"), page("b", "Second")];
        let text = whole(&all[1], &all);
        assert!(
            text.contains("<title>Docket: Second</title>") && text.contains("<p>For <code>y</code>.</p>\n<p>x</p>"),
            "{text}"
        );
        assert!(text.contains("<a href=\"/docs/a\">First &amp; best</a>"), "{text}");
    }
}
