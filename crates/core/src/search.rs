//! Words to search by. Both stores index what is folded here, so that they find the same.

use std::collections::BTreeSet;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::limits;
use crate::model::{Entry, Item, Tag};

/// Most words of one question about knowledge, where each only adds to what is found.
const TERMS: usize = 16;
/// Longest word kept; the rest of a longer one is cut off on both sides of the comparison.
const TERM_CHARS: usize = 64;

/// Text as it is indexed: words in lower case, without accents, single spaces between.
pub fn fold(text: &str) -> String {
    words(text).collect::<Vec<_>>().join(" ")
}

/// The words that an item is found by.
pub fn filed(item: &Item) -> String {
    fold(&format!("{} {}", item.title, item.summary))
}

/// A question as words that must each begin a word of the text, each once. Empty when nothing can be searched for. None is
/// left out: without it more would be found than was asked for.
pub fn terms(question: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    words(question).filter(|word| seen.insert(word.clone())).collect()
}

/// The words that an entry of the knowledge is found by, each once, and whether it is in the title or among the tags.
/// Whole words, without the endings that make a plural, and without those that say nothing.
pub fn entry_words(entry: &Entry) -> Vec<(String, bool)> {
    let tags: Vec<&str> = entry.tags.iter().map(Tag::as_str).collect();
    let heading = telling(&format!("{} {}", entry.title, tags.join(" ")));
    let mut seen: BTreeSet<String> = heading.iter().cloned().collect();
    let mut found: Vec<(String, bool)> = seen.iter().map(|word| (word.clone(), true)).collect();
    for word in telling(entry.body.as_str()) {
        if found.len() >= limits::ENTRY_WORDS {
            break;
        }
        if seen.insert(word.clone()) {
            found.push((word, false));
        }
    }
    found
}

/// A question about knowledge as words: each once, in order.
pub fn question_words(question: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in telling(question) {
        if found.len() >= TERMS {
            break;
        }
        if !found.contains(&word) {
            found.push(word);
        }
    }
    found
}

/// Words that say something.
fn telling(text: &str) -> Vec<String> {
    let pieces = words(text).flat_map(|word| pieces(&word));
    pieces.map(|word| singular(&word)).filter(|word| word.chars().count() > 1 && !is_filler(word)).collect()
}

/// A word as it is looked up. Where a script leaves no spaces between words, every two letters that follow each other are one: so
/// what is asked for is found inside of a sentence.
fn pieces(word: &str) -> Vec<String> {
    if !word.chars().any(is_unspaced) {
        return vec![word.to_owned()];
    }
    let letters: Vec<char> = word.chars().collect();
    let runs = letters.chunk_by(|one, next| is_unspaced(*one) == is_unspaced(*next));
    runs.flat_map(|run| match run {
        [first, _, ..] if is_unspaced(*first) => run.windows(2).map(String::from_iter).collect(),
        run => vec![String::from_iter(run)],
    })
    .collect()
}

/// Han and kana.
fn is_unspaced(letter: char) -> bool {
    matches!(letter,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3134f}')
}

/// A word without the ending of an English plural. The same is done on both sides of a comparison, so that a word of
/// another language loses nothing by it.
fn singular(word: &str) -> String {
    // Where a plural needs an e to be spoken. After a single s, a z or another ch the e may as well be the word's own: `cases`, `caches`.
    const SPOKEN: [&str; 7] = ["ss", "sh", "x", "zz", "tch", "rch", "nch"];
    if let Some(stem) = word.strip_suffix("ies").filter(|stem| stem.len() > 2) {
        return format!("{stem}y");
    }
    let spoken = |stem: &&str| stem.len() > 2 && SPOKEN.iter().any(|end| stem.ends_with(end));
    if let Some(stem) = word.strip_suffix("es").filter(spoken) {
        return stem.to_owned();
    }
    let plural = word.strip_suffix('s').filter(|stem| stem.len() > 2);
    let plural = plural.filter(|stem| !["s", "u", "i"].iter().any(|end| stem.ends_with(end)));
    plural.unwrap_or(word).to_owned()
}

/// Words of English so common that they say nothing.
fn is_filler(word: &str) -> bool {
    const FILLERS: [&str; 48] = [
        "about", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be", "because", "been", "but", "by",
        "can", "do", "doe", "for", "from", "had", "has", "have", "how", "if", "in", "into", "is", "it", "not", "of",
        "on", "or", "so", "than", "that", "the", "their", "them", "then", "there", "this", "to", "was", "when",
        "which", "with", "you",
    ];
    FILLERS.binary_search(&word).is_ok()
}

/// Text in lower case and without accents, otherwise as it is.
pub fn unaccented(text: &str) -> String {
    text.nfkd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase).collect()
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
        assert_eq!(terms("Jwt jwt JWT handler"), ["jwt", "handler"]);
        let many: Vec<String> = (0..40).map(|number| format!("word{number}")).collect();
        assert_eq!(terms(&many.join(" ")), many, "none is left out");
    }

    #[test]
    fn a_question_about_knowledge_keeps_what_says_something() {
        assert_eq!(question_words("How are the retries of the queues handled?"), ["retry", "queue", "handled"]);
        assert_eq!(question_words("status bus class"), ["status", "bus", "class"]);
        assert!(question_words("the of and is").is_empty());
    }
}
