//! Stored answers.

use docket_core::store::{AnswerKey, StoreError, StoredAnswer};

use super::Cells;
use crate::error::corrupt;

/// Reads digest, answer and expiry; the key is the one that was asked for.
pub(crate) fn read_answer(cells: &mut Cells<'_>, key: &AnswerKey) -> Result<StoredAnswer, StoreError> {
    let digest: &[u8] = cells.get()?;
    Ok(StoredAnswer {
        key: key.clone(),
        digest: digest.try_into().map_err(|_| corrupt("a digest has not 32 bytes"))?,
        answer: cells.json()?,
        expires_at: cells.time()?,
    })
}
