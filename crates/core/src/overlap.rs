//! Whether two pieces of work would get in each other's way.

use crate::model::{Item, ItemId, Name};
use crate::store::Busy;

/// The live claim that `item` would collide with, if any.
pub fn collision<'b>(item: &Item, busy: impl IntoIterator<Item = &'b Busy>) -> Option<ItemId> {
    busy.into_iter()
        .filter(|other| other.item != item.id && other.project == item.project)
        .find(|other| {
            item.needs.iter().any(|need| other.needs.contains(need))
                || item.touches.iter().any(|mine| other.touches.iter().any(|theirs| globs_overlap(mine, theirs)))
        })
        .map(|other| other.item)
}

/// Whether some path could match both globs. `*` and `?` stay inside one segment, `**` spans segments; a glob that
/// names a folder covers what is beneath it. Never says no when a path could match both.
fn globs_overlap(a: &Name, b: &Name) -> bool {
    let a: Vec<&str> = segments(a.as_str());
    let b: Vec<&str> = segments(b.as_str());
    paths_overlap(&a, &b)
}

fn segments(glob: &str) -> Vec<&str> {
    glob.split('/').filter(|segment| !segment.is_empty() && *segment != ".").collect()
}

fn paths_overlap(a: &[&str], b: &[&str]) -> bool {
    match (a.split_first(), b.split_first()) {
        // One ends: what is beneath it is covered too.
        (None, _) | (_, None) => true,
        (Some((&"**", rest)), _) => {
            paths_overlap(rest, b) || b.iter().enumerate().any(|(i, _)| paths_overlap(rest, &b[i + 1..]))
        }
        (_, Some((&"**", _))) => paths_overlap(b, a),
        (Some((first_a, rest_a)), Some((first_b, rest_b))) => {
            segment_overlap(first_a.as_bytes(), first_b.as_bytes()) && paths_overlap(rest_a, rest_b)
        }
    }
}

fn segment_overlap(a: &[u8], b: &[u8]) -> bool {
    // One row of the table "a[i..] and b[j..] can match the same text", from the end.
    let mut next = vec![false; b.len() + 1];
    for i in (0..=a.len()).rev() {
        let mut row = vec![false; b.len() + 1];
        for j in (0..=b.len()).rev() {
            row[j] = match (a.get(i), b.get(j)) {
                (None, None) => true,
                (Some(b'*'), _) => next[j] || (j < b.len() && row[j + 1]),
                (_, Some(b'*')) => row[j + 1] || (i < a.len() && next[j]),
                (Some(x), Some(y)) => (x == y || *x == b'?' || *y == b'?') && next[j + 1],
                (Some(_), None) | (None, Some(_)) => false,
            };
        }
        next = row;
    }
    next[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overlap(a: &str, b: &str) -> bool {
        let (a, b) = (Name::parse(a).expect("a glob"), Name::parse(b).expect("a glob"));
        let forward = globs_overlap(&a, &b);
        assert_eq!(forward, globs_overlap(&b, &a), "the answer depends on the order of {a} and {b}");
        forward
    }

    #[test]
    fn globs_overlap_when_a_path_could_match_both() {
        for (a, b) in [
            ("src/a.rs", "src/a.rs"),
            ("src/*.rs", "src/a.rs"),
            ("src/**", "src/deep/er/a.rs"),
            ("**/*.md", "docs/guide.md"),
            ("src", "src/a.rs"),
            ("src/*a*", "src/*b*"),
            ("src/**/x.rs", "src/x.rs"),
            ("./src/a.rs", "src/a.rs"),
        ] {
            assert!(overlap(a, b), "{a} and {b}");
        }
        for (a, b) in [("src/a.rs", "src/b.rs"), ("src/*.rs", "src/*.md"), ("docs/**", "src/**"), ("src/a?", "src/abc")]
        {
            assert!(!overlap(a, b), "{a} and {b}");
        }
    }
}
