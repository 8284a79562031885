//! Words to search by. Both stores index what is folded here, so that they find the same.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Most words of one question.
const TERMS: usize = 16;
/// Longest word kept; the rest of a longer one is cut off on both sides of the comparison.
const TERM_CHARS: usize = 64;

/// Text as it is indexed: words in lower case, without accents, single spaces between.
pub fn fold(text: &str) -> String {
    words(text).collect::<Vec<_>>().join(" ")
}

/// A question as words that must each begin a word of the text. Empty when nothing can be searched for.
pub fn terms(question: &str) -> Vec<String> {
    words(question).take(TERMS).collect()
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let folded: String = if text.is_ascii() {
        text.to_ascii_lowercase()
    } else {
        // A sigma that ends a word is the same letter; one database knows that by itself and another does not.
        let same = |c| if c == 'ς' { 'σ' } else { c };
        text.nfkd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase).map(same).collect()
    };
    folded
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(|word| word.chars().take(TERM_CHARS).collect())
        .collect::<Vec<String>>()
        .into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_folded_alike_however_they_were_typed() {
        assert_eq!(fold("Änderung: JWT-Handler (v2)"), "anderung jwt handler v2");
        assert_eq!(fold("A\u{308}nderung"), fold("Änderung"));
        assert_eq!(fold("Σίσυφος"), fold("ΣΊΣΥΦΟΣ"));
        assert_eq!(terms("  \"); DROP TABLE "), ["drop", "table"]);
        assert!(terms("***").is_empty());
    }
}
