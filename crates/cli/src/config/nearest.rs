//! The name that was probably meant.

/// The known name that `text` is probably a slip of: at most a third of its letters differ.
pub(crate) fn nearest<'k>(text: &str, known: &[&'k str]) -> Option<&'k str> {
    /// Longer words are no slip of a name of ours, and comparing them would take long.
    const LONGEST: usize = 64;
    let wanted: Vec<char> = text.to_lowercase().replace('-', "_").chars().take(LONGEST + 1).collect();
    if wanted.len() > LONGEST {
        return None;
    }
    let distance = |name: &str| {
        let name: Vec<char> = name.to_lowercase().replace('-', "_").chars().collect();
        let distance = distance(&wanted, &name);
        (distance <= (name.len().max(wanted.len()) / 3).max(1)).then_some(distance)
    };
    known
        .iter()
        .filter_map(|name| Some((distance(name)?, *name)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// How many letters must be changed, added, removed or swapped with their neighbour to make one word of the other.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (row, letter) in a.iter().enumerate() {
        let mut this = vec![row + 1];
        for (column, other) in b.iter().enumerate() {
            let changed = last[column] + usize::from(letter != other);
            let mut best = changed.min(last[column + 1] + 1).min(this[column] + 1);
            let swapped = row > 0 && column > 0 && a[row - 1] == *other && b[column - 1] == *letter;
            if swapped {
                best = best.min(before_last[column - 1] + 1);
            }
            this.push(best);
        }
        before_last = std::mem::replace(&mut last, this);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_what_was_meant() {
        let known = ["transitions", "require_review", "max_depth", "gates"];
        for (written, meant) in [
            ("transition", Some("transitions")),
            ("require-reviews", Some("require_review")),
            ("maxdepth", Some("max_depth")),
            ("gtaes", Some("gates")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(written, &known), meant, "{written}");
        }
        assert_eq!(nearest(&"x".repeat(100_000), &known), None);
    }
}
