//! Cuts a text into the pieces that a vocabulary knows, as models of the BERT family do: words apart at spaces and
//! punctuation, then of each word the longest beginning that is known, and so on with the rest.

use std::collections::HashMap;

use serde::Deserialize;

/// Longest word that is cut; a longer one is unknown.
const WORD_CHARS: usize = 100;

/// A vocabulary.
#[derive(Debug)]
pub(crate) struct WordPiece {
    vocabulary: HashMap<String, usize>,
    /// What stands before a piece that goes on with a word.
    prefix: String,
    lower: bool,
}

#[derive(Deserialize)]
struct File {
    model: Model,
    #[serde(default)]
    normalizer: Option<Normalizer>,
}

#[derive(Deserialize)]
struct Model {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default)]
    continuing_subword_prefix: Option<String>,
    vocab: serde_json::Value,
}

#[derive(Deserialize)]
struct Normalizer {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    lowercase: bool,
}

impl WordPiece {
    /// Reads `tokenizer.json`.
    pub(crate) fn read(json: &[u8]) -> Result<Self, String> {
        let file: File = serde_json::from_slice(json).map_err(|_| "it is no description of a tokenizer".to_owned())?;
        let kind = file.model.kind.as_deref().unwrap_or("WordPiece");
        let normalizer = file.normalizer.as_ref().map(|normalizer| normalizer.kind.as_str());
        if kind != "WordPiece" || !matches!(normalizer, None | Some("BertNormalizer" | "Lowercase")) {
            let found = normalizer.unwrap_or("none");
            return Err(format!("it is a {kind} tokenizer with the normalizer {found}; WordPiece as in BERT is read"));
        }
        let vocabulary: HashMap<String, usize> =
            serde_json::from_value(file.model.vocab).map_err(|_| "its vocabulary is no list of words".to_owned())?;
        let lower = file.normalizer.is_some_and(|normalizer| normalizer.lowercase || normalizer.kind == "Lowercase");
        let prefix = file.model.continuing_subword_prefix.unwrap_or_else(|| "##".to_owned());
        Ok(Self { vocabulary, prefix, lower })
    }

    /// The highest number of a piece, and one more.
    pub(crate) fn size(&self) -> usize {
        self.vocabulary.values().max().map_or(0, |highest| highest + 1)
    }

    /// The numbers of the pieces of a text, at most so many. Words that are unknown are left out.
    pub(crate) fn pieces(&self, text: &str, most: usize) -> Vec<usize> {
        let text = if self.lower { docket_core::search::unaccented(text) } else { text.to_owned() };
        let mut found = Vec::new();
        for word in words(&text) {
            if found.len() >= most {
                break;
            }
            found.extend(self.cut(&word).unwrap_or_default());
        }
        found.truncate(most);
        found
    }

    /// The pieces of a word; nothing where some part of it is unknown.
    fn cut(&self, word: &str) -> Option<Vec<usize>> {
        if word.chars().count() > WORD_CHARS {
            return None;
        }
        let mut pieces = Vec::new();
        let mut rest = word;
        while !rest.is_empty() {
            let ends = rest.char_indices().map(|(place, c)| place + c.len_utf8()).collect::<Vec<_>>();
            let known = ends.iter().rev().find_map(|end| {
                let piece = rest.get(..*end)?;
                let piece = if pieces.is_empty() { piece.to_owned() } else { format!("{}{piece}", self.prefix) };
                self.vocabulary.get(&piece).map(|number| (*end, *number))
            });
            let (end, number) = known?;
            pieces.push(number);
            rest = rest.get(end..)?;
        }
        Some(pieces)
    }
}

/// Words apart at white space; punctuation and characters of scripts without spaces are words of their own.
fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut word = String::new();
    for c in text.chars().filter(|c| !c.is_control() || c.is_whitespace()) {
        let alone = is_punctuation(c) || is_ideograph(c);
        if (c.is_whitespace() || alone) && !word.is_empty() {
            found.push(std::mem::take(&mut word));
        }
        if alone {
            found.push(c.to_string());
        } else if !c.is_whitespace() {
            word.push(c);
        }
    }
    if !word.is_empty() {
        found.push(word);
    }
    found
}

fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation() || (!c.is_ascii() && !c.is_alphanumeric() && !c.is_whitespace())
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_into_the_longest_known_pieces() {
        let json = br###"{"normalizer":{"type":"BertNormalizer","lowercase":true},"model":{"type":"WordPiece","vocab":
            {"[UNK]":0,"un":1,"##aff":2,"##able":3,"naive":4,"!":5,"##a":6}}}"###;
        let pieces = WordPiece::read(json).expect("a vocabulary");
        assert_eq!(pieces.pieces("Unaffable! na\u{ef}ve", 99), [1, 2, 3, 5, 4]);
        assert_eq!(pieces.pieces("unknown Un", 99), [1], "a word with an unknown part is left out");
        assert_eq!(pieces.pieces("un un un", 2), [1, 1]);
        assert_eq!(pieces.size(), 7);
        for other in ["{}", r#"{"model":{"type":"BPE","vocab":{}}}"#, r#"{"model":{"type":"WordPiece","vocab":[]}}"#] {
            assert!(WordPiece::read(other.as_bytes()).is_err(), "{other}");
        }
    }
}
