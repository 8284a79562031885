//! How each entry of a batch ended, as plain JSON: what was made, or `{"error": …}`.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::Error;

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Each<T> {
    Failed { error: Error },
    Done(T),
}

pub(super) fn serialize<T: Serialize, S: Serializer>(
    entries: &[Result<T, Error>],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(entries.iter().map(|entry| match entry {
        Ok(done) => Each::Done(done),
        Err(error) => Each::Failed { error: error.clone() },
    }))
}

pub(super) fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Result<T, Error>>, D::Error> {
    let entries: Vec<Each<T>> = Vec::deserialize(deserializer)?;
    let ended = |entry| match entry {
        Each::Done(done) => Ok(done),
        Each::Failed { error } => Err(error),
    };
    Ok(entries.into_iter().map(ended).collect())
}
