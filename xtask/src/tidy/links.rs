//! Links between the pages of the repository lead somewhere: to a file or folder that is there, and to a heading it has.

use std::collections::BTreeMap;

use super::File;

pub(super) fn check(files: &[File]) -> Vec<String> {
    let pages: BTreeMap<&str, &str> = files.iter().map(|file| (file.path.as_str(), file.text.as_str())).collect();
    let markdown = files.iter().filter(|file| file.is("md"));
    markdown.flat_map(|file| links(&file.text).filter_map(|link| broken(file, link, &pages))).collect()
}

/// What stands in round brackets after square ones, outside of code.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let outside = text.split("```").step_by(2).flat_map(|part| part.split('`').step_by(2));
    outside.flat_map(|part| part.split("](").skip(1)).filter_map(|rest| Some(rest.split_once(')')?.0))
}

fn broken(file: &File, link: &str, pages: &BTreeMap<&str, &str>) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (place, heading) = link.split_once('#').map_or((link, None), |(place, heading)| (place, Some(heading)));
    let target = if place.is_empty() { file.path.clone() } else { resolve(&file.path, place) };
    let folder = format!("{}/", target.trim_end_matches('/'));
    let is_there = pages.contains_key(target.as_str()) || pages.keys().any(|path| path.starts_with(&folder));
    let has_heading = |heading: &str| {
        let text = pages.get(target.as_str()).copied().unwrap_or_default();
        text.lines().filter_map(|line| line.strip_prefix('#')).any(|line| anchor(line) == heading)
    };
    if is_there && heading.is_none_or(has_heading) {
        return None;
    }
    Some(format!("{}: the link to {link} leads nowhere", file.path))
}

/// A path beside or above a file, from the root of the repository.
fn resolve(from: &str, place: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in place.split('/') {
        match part {
            ".." => _ = parts.pop(),
            "." | "" => {}
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// What a heading is called in an address.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> usize {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        check(&[file("docs/guides/a.md", text), file("docs/b.md", "# B\n\n## What, now?\n"), file("src/c.rs", "")])
            .len()
    }

    #[test]
    fn links_lead_somewhere() {
        for good in [
            "[b](../b.md)",
            "[b](../b.md#what-now)",
            "[c](../../src/c.rs)",
            "[folder](../../src/)",
            "[out](https://example.org/x)",
            "# Here\n[here](#here)",
            "`[a](b)`",
            "```\n[a](b)\n```",
        ] {
            assert_eq!(found(good), 0, "{good}");
        }
        for bad in ["[b](b.md)", "[b](../b.md#else)", "[c](../../src/d.rs)", "[here](#there)", "`x` [b](b.md)"] {
            assert_eq!(found(bad), 1, "{bad}");
        }
    }
}
