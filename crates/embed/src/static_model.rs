//! A static model in a folder: `tokenizer.json`, `model.safetensors` with a table `embeddings`, and `config.json`.
//!
//! The vector of a text is the mean of its pieces' rows. That is far from a large model, and enough to find what was said in
//! other words; it costs microseconds and needs no server.

use std::path::Path;

use async_trait::async_trait;
use docket_core::knowledge::{EmbedError, Embedder, Patience, normalised};
use docket_core::limits;
use serde::Deserialize;

use crate::SetupError;
use crate::tensors::{Table, table};
use crate::word_piece::WordPiece;

/// Pieces of a text that are looked at.
const PIECES: usize = 512;
/// Largest file that is read, in bytes.
const FILE_BYTES: u64 = 2 * 1024 * 1024 * 1024;

/// A model in memory.
#[derive(Debug)]
pub struct StaticModel {
    name: String,
    pieces: WordPiece,
    table: Table,
    normalise: bool,
}

#[derive(Default, Deserialize)]
struct Config {
    #[serde(default)]
    normalize: Option<bool>,
}

impl StaticModel {
    /// Reads a folder, once. Its vectors are known by the folder's name and what is in its files, so that another model in its
    /// place makes its own.
    pub fn open(folder: &Path) -> Result<Self, SetupError> {
        let bad = |file: &str, what: &str| SetupError(format!("{}: {what}", folder.join(file).display()));
        let read = |file: &str| {
            let path = folder.join(file);
            let length = std::fs::metadata(&path).map_err(|error| bad(file, &error.to_string()))?.len();
            if length > FILE_BYTES {
                return Err(bad(file, &format!("it is longer than {FILE_BYTES} bytes")));
            }
            std::fs::read(&path).map_err(|error| bad(file, &error.to_string()))
        };
        let (cutter, numbers) = (read("tokenizer.json")?, read("model.safetensors")?);
        let mark = fingerprint([&cutter, &numbers]);
        let pieces = WordPiece::read(&cutter).map_err(|what| bad("tokenizer.json", &what))?;
        let table = table(&numbers, "embeddings").map_err(|what| bad("model.safetensors", &what))?;
        if table.rows() < pieces.size() {
            return Err(bad("model.safetensors", "it has fewer rows than the tokenizer has pieces"));
        }
        if table.width > limits::VECTOR_NUMBERS {
            return Err(bad("model.safetensors", &format!("its rows are longer than {}", limits::VECTOR_NUMBERS)));
        }
        let config: Config = match read("config.json") {
            Ok(json) => serde_json::from_slice(&json).map_err(|_| bad("config.json", "it is not JSON"))?,
            // Not all models have one.
            Err(_) => Config::default(),
        };
        let called = folder.file_name().map_or_else(|| "model".into(), |name| name.to_string_lossy().into_owned());
        let name = format!("folder:{called}:{mark:016x}:{}x{}", table.rows(), table.width);
        Ok(Self { name, pieces, table, normalise: config.normalize.unwrap_or(true) })
    }

    fn vector(&self, text: &str) -> Vec<f32> {
        let mut sum = vec![0.0_f32; self.table.width];
        let mut count = 0.0_f32;
        for row in self.pieces.pieces(text, PIECES).into_iter().filter_map(|piece| self.table.row(piece)) {
            sum.iter_mut().zip(row).for_each(|(sum, number)| *sum += number);
            count += 1.0;
        }
        if count > 0.0 {
            for sum in &mut sum {
                *sum /= count;
            }
        }
        if self.normalise { normalised(&sum).unwrap_or(sum) } else { sum }
    }
}

/// FNV-1a over files, eight bytes at a time: it tells two models apart, and need not withstand anybody.
fn fingerprint<'f>(files: impl IntoIterator<Item = &'f Vec<u8>>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for file in files {
        for eight in file.chunks(8) {
            let word = eight.iter().fold(0_u64, |word, byte| (word << 8) | u64::from(*byte));
            hash = (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        }
        hash = (hash ^ 0xff).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash
}

#[async_trait]
impl Embedder for StaticModel {
    fn model(&self) -> &str {
        &self.name
    }

    async fn embed(&self, texts: &[String], _patience: Patience) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(texts.iter().map(|text| self.vector(text)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with four words, of which two mean nearly the same.
    fn folder(rows: &[[f32; 2]]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let vocabulary = r#"{"[UNK]":0,"car":1,"automobile":2,"river":3}"#;
        let tokenizer = format!(
            r#"{{"normalizer":{{"type":"BertNormalizer","lowercase":true}},"model":{{"type":"WordPiece","vocab":{vocabulary}}}}}"#
        );
        let header = format!(
            r#"{{"embeddings":{{"dtype":"F32","shape":[{},2],"data_offsets":[0,{}]}}}}"#,
            rows.len(),
            rows.len() * 8
        );
        let mut tensors = (header.len() as u64).to_le_bytes().to_vec();
        tensors.extend_from_slice(header.as_bytes());
        tensors.extend(rows.iter().flatten().flat_map(|number| number.to_le_bytes()));
        for (file, content) in [
            ("tokenizer.json", tokenizer.into_bytes()),
            ("model.safetensors", tensors),
            ("config.json", br#"{"normalize":true,"model_type":"model2vec"}"#.to_vec()),
        ] {
            std::fs::write(folder.path().join(file), content).expect("a file");
        }
        folder
    }

    #[tokio::test]
    async fn what_means_the_same_lies_near() {
        let folder = folder(&[[0.0, 0.0], [1.0, 0.1], [0.9, 0.2], [-0.1, 1.0]]);
        let model = StaticModel::open(folder.path()).expect("a model");
        let texts = ["The CAR", "automobile", "river", "nothing known"].map(str::to_owned);
        let vectors = model.embed(&texts, Patience::Little).await.expect("vectors");
        let near = |a: usize, b: usize| vectors[a].iter().zip(&vectors[b]).map(|(a, b)| a * b).sum::<f32>();
        assert!(near(0, 1) > 0.95 && near(0, 2) < 0.1, "{vectors:?}");
        assert_eq!(vectors[3], [0.0, 0.0], "nothing known points nowhere");
        assert!(model.model().ends_with(":4x2"), "{}", model.model());
        let same_size = self::folder(&[[0.0, 0.0], [1.0, 0.1], [0.9, 0.2], [-0.1, 0.9]]);
        let moved = folder.path().with_extension("moved");
        std::fs::rename(folder.path(), &moved).expect("moved away");
        std::fs::rename(same_size.path(), folder.path()).expect("put in its place");
        let other = StaticModel::open(folder.path()).expect("a model");
        assert_ne!(model.model(), other.model(), "another model in the same place");
        std::fs::remove_dir_all(moved).expect("gone");
    }

    #[test]
    fn a_folder_that_does_not_fit_is_told_by_its_file() {
        let small = folder(&[[0.0, 0.0], [1.0, 0.0]]);
        let error = StaticModel::open(small.path()).expect_err("too few rows").to_string();
        assert!(error.contains("model.safetensors") && error.contains("fewer rows"), "{error}");
        std::fs::remove_file(small.path().join("tokenizer.json")).expect("gone");
        let error = StaticModel::open(small.path()).expect_err("no tokenizer").to_string();
        assert!(error.contains("tokenizer.json"), "{error}");
    }
}
