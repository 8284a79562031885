//! The nearest known name to one that is not known.

/// The known name that a caller most likely meant, if any is near enough.
pub fn nearest<'k>(given: &str, known: &[&'k str]) -> Option<&'k str> {
    // Longer input is no slip of the pen, and the comparison is quadratic.
    if given.len() > 64 {
        return None;
    }
    let plain = plain(given);
    known
        .iter()
        .map(|name| (distance(&plain, &self::plain(name)), *name))
        .filter(|(distance, name)| *distance <= (name.len() / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Without case and separators: `parent_id` is `parentId`.
fn plain(name: &str) -> Vec<char> {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

/// Edits from one to the other, a swap of neighbours counting as one.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(b.len() + 1);
        row.push(i + 1);
        for (j, to) in b.iter().enumerate() {
            let mut best = (last[j] + usize::from(from != to)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *from == b[j - 1] && a[i - 1] == *to {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_name_and_nonsense_finds_none() {
        let known = ["ttlSeconds", "itemId", "parentId", "id", "tags"];
        assert_eq!(nearest("ttlSecond", &known), Some("ttlSeconds"));
        assert_eq!(nearest("parent_id", &known), Some("parentId"));
        assert_eq!(nearest("tgas", &known), Some("tags"));
        assert_eq!(nearest("di", &known), Some("id"));
        assert_eq!(nearest("colour", &known), None);
        assert_eq!(nearest(&"x".repeat(10_000), &known), None);
    }
}
